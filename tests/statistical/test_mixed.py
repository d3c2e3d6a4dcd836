"""Dependent measures: every kernel against the enumerated posterior over two and three groups, ξ fixed and sampled.

The verdict: independent chains give independent averages of the frequency of each partition, so their mean has a t law round the
exact probability; Bonferroni over the partitions compared keeps false alarms of a test below 1e-4.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import hedgerow as hr
from hedgerow import _core
from hedgerow.kernels import Tempered
from hedgerow.reference import mixed
from hedgerow.sampling import Chain
from hedgerow.testing import enumerate_partitions

X = np.array([[-1.0, 0.2], [-0.7, -0.3], [0.4, 0.5], [1.1, 0.0], [0.9, -0.6]])
FAMILY = hr.GaussianWishart(mean=[0, 0], r=0.4, nu=4, psi=0.6 * np.eye(2))
PARTITIONS = enumerate_partitions(len(X))
LIKELIHOOD = FAMILY.bind(X)
LOG_LIKELIHOOD = np.array([LIKELIHOOD.log_marginals(p).sum() for p in PARTITIONS])
TWO = (np.array([1, 1, 2, 2, 2]), np.array([[1.0, 0.3], [0.2, 1.0]]))
THREE = (np.array([1, 3, 2, 2, 3]), np.array([[1.0, 0.3], [0.2, 1.0], [0.5, 0.0]]))
CATERPILLAR = np.array([[3, 0, 1, 2], [5, 4, 2, 3], [6, 2, 3, 4], [7, 1, 4, 5]], float)
KERNELS = {
    "Tempered": Tempered([0.4], hr.Gibbs()),
    "Gibbs": hr.Gibbs(),
    "Gibbs, explicit bases": hr.Gibbs(collapse=False),
    "SplitMerge": hr.SplitMerge(scans=2, subset=2),
    "TreeGuided": hr.TreeGuided(guides=CATERPILLAR, sweep_rate=0.0, global_moves=6, single_moves=0),
    "TreeGuided, singles": hr.TreeGuided(sweep_rate=0.0, global_moves=0, single_moves=15),
    "TreeGuided, grown": hr.TreeGuided(global_moves=3, recasts=0),
}


def counts_of(labels: np.ndarray, times: np.ndarray, groups: int) -> np.ndarray:
    counts = np.zeros((labels.max() + 1, groups))
    np.add.at(counts, (labels, np.unique(times, return_inverse=True)[1]), 1)
    return counts


def log_prior(prior: hr.NGG, q: np.ndarray, times: np.ndarray, xi: np.ndarray) -> np.ndarray:
    alpha, sigma, tau = prior.measure(prior.values())
    return np.array([mixed.log_mixed_joint(counts_of(p, times, len(q)), xi, q, alpha, sigma, tau) for p in PARTITIONS])


def exact(prior: hr.NGG, q: np.ndarray, times: np.ndarray, xi: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Probabilities of all partitions and the log evidence; ξ integrated over a grid of logs when it is None."""
    joint = (log_prior(prior, q, times, xi) if xi is not None else integrated(prior)) + LOG_LIKELIHOOD
    total = logsumexp(joint)
    return np.exp(joint - total), float(total)


@functools.cache
def integrated(prior: hr.NGG, step: float = 0.7) -> np.ndarray:
    """log p(Π) for two groups: the trapezoid rule over log ξ, smooth and gone at the ends, where it converges geometrically."""
    times, q = TWO
    grid = np.arange(-11.9, 12.0, step)
    table = [log_prior(prior, q, times, np.exp([a, b])) + a + b for a in grid for b in grid]
    return logsumexp(table, axis=0) + 2 * np.log(step)


def frequencies(model: hr.Mixture, kernel: hr.Kernel, times: np.ndarray, xi: np.ndarray | None) -> np.ndarray:
    """(chains, partitions): the share of each partition in each of many independent chains."""
    place = {tuple(p): i for i, p in enumerate(PARTITIONS.tolist())}
    out = np.zeros((40, len(PARTITIONS)))
    for sequence, row in enumerate(out):
        start = {"u": np.ones(len(np.unique(times))) if xi is None else xi}
        labels = PARTITIONS[(7 * sequence) % len(PARTITIONS)]
        chain = Chain(model, X, kernel, labels=labels, seed=11, sequence=sequence, start=start, times=times, update_u=xi is None)
        chain.run(50)
        for labels, count in zip(*np.unique(chain.run(500).labels, axis=0, return_counts=True), strict=True):
            row[place[tuple(labels.tolist())]] = count / 500
    return out


def assert_agrees(found: np.ndarray, probabilities: np.ndarray) -> None:
    often = probabilities * 500 >= 5
    found = np.column_stack([found[:, often], found[:, ~often].sum(axis=1)])
    expected = np.append(probabilities[often], probabilities[~often].sum())
    spread = np.maximum(found.std(axis=0, ddof=1), np.sqrt(expected * (1 - expected) / 500))
    score = np.abs(found.mean(axis=0) - expected) / spread * np.sqrt(len(found))
    assert score.max() < stats.t.isf(1e-4 / 2 / len(expected), df=len(found) - 1)


@pytest.mark.parametrize("groups", [TWO, THREE], ids=["two groups", "three groups"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_xi_fixed(kernel: str, groups: tuple[np.ndarray, np.ndarray]) -> None:
    times, q = groups
    base, xi = hr.NGG(0.9, 0.3, 0.5), np.array([0.8, 1.7, 1.1])[: len(q)]
    model = hr.Mixture(hr.MixedNRM(base, q=q), FAMILY)
    assert_agrees(frequencies(model, KERNELS[kernel], times, xi), exact(base, q, times, xi)[0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_xi_sampled(kernel: str) -> None:
    times, q = TWO
    base = hr.NGG(0.9, 0.3, 0.5)
    model = hr.Mixture(hr.MixedNRM(base, q=q), FAMILY)
    assert_agrees(frequencies(model, KERNELS[kernel], times, None), exact(base, q, times, None)[0])


def test_explicit_bases_follow_their_clusters() -> None:
    """Where bases hardly mix, a cluster that is taken to be of another basis hardly takes a row of its own group."""
    times, q = TWO[0], np.array([[1.0, 0.02], [0.02, 1.0]])
    base, xi = hr.NGG(0.9, 0.3, 0.5), np.array([0.8, 1.7])
    model = hr.Mixture(hr.MixedNRM(base, q=q), FAMILY)
    assert_agrees(frequencies(model, hr.Gibbs(collapse=False), times, xi), exact(base, q, times, xi)[0])


@pytest.mark.parametrize("prior", [hr.NGG(0.9, 0.3, 0.5), hr.DP(hr.Gamma(1, 1))], ids=["NGG", "DP, law"])
def test_smc_knows_the_log_joint_of_its_particles(prior: hr.Prior) -> None:
    times, q = TWO
    model = hr.Mixture(hr.MixedNRM(prior, q=q), FAMILY)
    found = hr.smc(model, X, times=times, particles=12, seed=1)
    for i, labels in enumerate(found.labels):
        start = {"u": np.exp(found.log_u[i]), "alpha": found.alpha[i]}
        chain = Chain(model, X, hr.Gibbs(), labels=labels, seed=0, start=start, times=times)
        assert found.log_joint[i] == pytest.approx(chain.log_joint(), abs=1e-9)


def test_a_wrong_mixing_matrix_is_noticed() -> None:
    times, q = TWO
    base, xi = hr.NGG(0.9, 0.3, 0.5), np.array([0.8, 1.7])
    model = hr.Mixture(hr.MixedNRM(base, q=q.T), FAMILY)
    with pytest.raises(AssertionError):
        assert_agrees(frequencies(model, hr.Gibbs(), times, xi), exact(base, q, times, xi)[0])


def test_smc_evidence() -> None:
    times, q = TWO
    base = hr.NGG(0.9, 0.3, 0.5)
    prior = hr.MixedNRM(base, q=q)
    grouping = prior.group(times, len(X))
    core = prior.to_core(grouping)
    runs = [_core.smc(LIKELIHOOD, core, grouping.codes, 20, 0.5, seed, 0, True)["log_evidence"] for seed in range(1000)]
    ratio = np.exp(np.array(runs) - exact(base, q, times, None)[1])
    assert abs(ratio.mean() - 1.0) < 4.0 * ratio.std(ddof=1) / np.sqrt(len(ratio))


@pytest.mark.parametrize("kernel", ["Gibbs", "SplitMerge", "TreeGuided, grown"])
def test_one_group_and_one_basis_is_the_plain_measure(kernel: str) -> None:
    base = hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2), 0.5)
    plain = Chain(hr.Mixture(base, FAMILY), X, KERNELS[kernel], labels=np.zeros(5, int), seed=3).run(200)
    one = hr.MixedNRM(base, q=[[1.0]])
    other = Chain(hr.Mixture(one, FAMILY), X, KERNELS[kernel], labels=np.zeros(5, int), seed=3, times=np.zeros(5, int)).run(200)
    assert np.array_equal(plain.labels, other.labels)
    np.testing.assert_array_equal(plain.log_u, other.log_u[:, 0])
    np.testing.assert_array_equal(plain.alpha, other.alpha[:, 0])


def test_log_joint_is_the_reference() -> None:
    times, q = THREE
    xi = np.array([0.8, 1.7, 1.1])
    model = hr.Mixture(hr.MixedNRM(hr.NGG(0.9, 0.3, 0.5), q=q), FAMILY)
    labels = PARTITIONS[20]
    expected = log_prior(model.prior.base, q, times, xi)[20] + LOG_LIKELIHOOD[20]  # type: ignore[attr-defined]
    assert model.log_joint(X, labels, u=xi, times=times) == pytest.approx(expected)
    chain = Chain(model, X, hr.Gibbs(), labels=labels, seed=0, start={"u": xi}, times=times)
    assert chain.log_joint() == pytest.approx(expected)


def test_bases_of_little_weight_are_counted() -> None:
    """Eight basis measures whose shares of a cluster run from 1 to e^-60: those that no rounding hides are in the sum."""
    times = THREE[0]
    xi = np.array([0.8, 1.7, 1.1])
    for step in (1.0, 3.0, 9.0, 18.0):  # many, several, two and one of them within rounding of the first
        log_q = -step * np.add.outer([0.0, 0.1, 0.3], np.arange(8))
        q = np.exp(log_q)
        model = hr.Mixture(hr.MixedNRM(hr.NGG(0.9, 0.3, 0.5), q=q), FAMILY)
        expected = log_prior(model.prior.base, q, times, xi) + LOG_LIKELIHOOD  # type: ignore[attr-defined]
        chains = (Chain(model, X, hr.Gibbs(), labels=labels, seed=0, start={"u": xi}, times=times) for labels in PARTITIONS)
        found = [chain.log_joint() for chain in chains]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
