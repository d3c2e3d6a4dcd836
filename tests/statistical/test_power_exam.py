"""The exam at powers below 1: every kernel and likelihood against the enumerated target, planted errors, and what uses the draws.

Rows are farther apart than in `test_exam.py`, so that a fraction of each still tells partitions apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import hedgerow as hr
from hedgerow.kernels import KERNELS, Kernel, TreeGuided
from hedgerow.likelihoods import LIKELIHOODS as FAMILIES
from hedgerow.likelihoods import Likelihood
from hedgerow.reference import gibbs
from hedgerow.testing import ReferenceGibbs, check_kernel, check_likelihood, exact_posterior
from hedgerow.testing.driving import KernelDraws
from hedgerow.trees import TreeStream

POWERS = (0.3, 0.05)
PRIOR = hr.NGG(0.7, 0.3, 1.5)
EXAMINEES: dict[str, Kernel] = {kind.__name__: kind.examples()[0] for kind in KERNELS if kind.exact} | {
    "recasts": TreeGuided.examples()[1]
}


def sums(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), np.abs(X).sum(axis=1)])


def exponential(s: np.ndarray) -> np.ndarray:
    """Waiting times with a Gamma(2, 1) law on their rate."""
    return np.asarray(gammaln(2 + s[:, 0]) - (2 + s[:, 0]) * np.log(1 + s[:, 1]))


def farther(kind: type[Likelihood]) -> tuple[Likelihood, Any] | None:
    """The example of a class with its rows farther apart: columns said again and again, or larger counts."""
    if kind is hr.Custom:
        return hr.Custom(sums, exponential, scales=True), np.array([[0.1], [0.2], [0.4], [30.0], [90.0], [60.0]])
    case = kind.example()
    assert case is not None
    family, X = case
    if not family.allows_power:
        return None
    match family:
        case hr.Multinomial():
            return family, 12 * X
        case hr.Poisson():
            return family, 9 * X
        case hr.GaussianDiagonal():
            return family, 6 * X
        case hr.Bernoulli():
            return hr.Bernoulli(np.tile(family.a, 8), np.tile(family.b, 8)), np.tile(X, 8)
        case hr.Categorical():
            return hr.Categorical(family.beta * 8), [8 * row for row in X]
    return family, X


CASES = {kind.__name__: case for kind in FAMILIES if (case := farther(kind)) is not None}


def table() -> list[Any]:
    """Everything at both powers, at the second every kernel with one likelihood and Gibbs with all, the rest when there is time.

    `Custom` has no atoms for `Slice`.
    """

    def waits(k: int, kernel: str, i: int, power: float) -> bool:
        return power != POWERS[0] and kernel != "Gibbs" and i != k % len(CASES)

    return [
        pytest.param(kernel, name, power, marks=[pytest.mark.slow] if waits(k, kernel, i, power) else [])
        for power in POWERS
        for k, kernel in enumerate(EXAMINEES)
        for i, name in enumerate(CASES)
        if not (kernel == "Slice" and not CASES[name][0].has_atoms)
    ]


@pytest.mark.parametrize(("kernel", "likelihood", "power"), table())
def test_kernel(kernel: str, likelihood: str, power: float) -> None:
    family, X = CASES[likelihood]
    model = hr.Mixture(PRIOR, family, power=power)
    assert exact_posterior(model, X).probabilities.max() < 0.7
    check_kernel(EXAMINEES[kernel], model, X).raise_if_failed()


@pytest.mark.parametrize("power", [1.0, *POWERS])
@pytest.mark.parametrize("likelihood", CASES)
def test_likelihood_is_its_twin(likelihood: str, power: float) -> None:
    family, X = CASES[likelihood]
    check_likelihood(family, X, draws=100, power=power, simulates=False, samples=False).raise_if_failed()


@pytest.mark.parametrize("likelihood", CASES)
def test_a_power_of_one_is_no_power(likelihood: str) -> None:
    family, X = CASES[likelihood]
    assert hr.Mixture(PRIOR, family, power=1.0) == hr.Mixture(PRIOR, family)
    labels = np.array([0, 0, 1, 1, 2, 2])
    plain, near = (hr.Mixture(PRIOR, family, power=p).log_joint(X, labels, u=1.2) for p in (1.0, 1 - 1e-12))
    assert near == pytest.approx(plain, abs=1e-8)


def test_counts_beyond_sixteen_bits() -> None:
    """Where the looked-up factors end, Stirling's formula goes on."""
    family, X = CASES["Multinomial"]
    check_likelihood(family, 3000 * np.asarray(X), draws=100, power=0.3).raise_if_failed()


# ---- planted errors


class WrongPower(ReferenceGibbs):
    """Rows worth a little more than was asked for."""

    def run(self, model: Any, *args: Any, **options: Any) -> KernelDraws:
        return super().run(replace(model, power=1.5 * model.power), *args, **options)


class SizesShrunk(ReferenceGibbs):
    """The prior counts shares of rows, as the likelihood does."""

    def weights(self, prior: Any, u: float, values: Any, update_u: bool) -> gibbs.Weights:
        log_old, log_new = super().weights(prior, u, values, update_u)
        return (lambda size, *rest: log_old(max(1, round(0.3 * size)), *rest)), log_new


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("planted", [WrongPower, SizesShrunk])
def test_planted_errors_fail(planted: type[ReferenceGibbs], power: float) -> None:
    family, X = CASES["Poisson"]
    model = hr.Mixture(PRIOR, family, power=power)
    assert check_kernel(ReferenceGibbs(), model, X, replicates=32, iterations=150, warmup=30).passed
    assert not check_kernel(planted(), model, X, replicates=32, iterations=150, warmup=30).passed


# ---- what else uses the likelihood


@pytest.mark.parametrize("likelihood", CASES)
def test_trees_streams_and_evidence(likelihood: str) -> None:
    """Bounds stay below the enumerated evidence, streams score as the model does, and smc estimates it without bias."""
    family, X = CASES[likelihood]
    model = hr.Mixture(hr.DP(0.8), family, power=0.3).resolve(X)
    X = model.likelihood.check(X)
    exact = exact_posterior(model, X).log_evidence
    for forest in (hr.bhc(model, X, seed=0), hr.ibhc(model, X, seed=0)):
        assert forest.log_bound <= exact + 1e-9
        assert forest.log_joint == pytest.approx(model.log_joint(X, forest.labels), abs=1e-8)
    stream = TreeStream(model, seed=1)
    stream.add(X[:4])
    stream.add(X[4:])
    assert stream.log_joint == pytest.approx(model.log_joint(X, np.unique(stream.labels, return_inverse=True)[1]), abs=1e-8)
    ratios = [np.exp(hr.smc(model, X, particles=20, seed=seed).log_evidence - exact) for seed in range(200)]
    assert abs(np.mean(ratios) - 1) < 4.5 * np.std(ratios) / np.sqrt(len(ratios))


@pytest.mark.parametrize("likelihood", CASES)
def test_new_rows_meet_the_likelihood_itself(likelihood: str) -> None:
    """Densities of new rows under given draws, and of a stream's clusters, do not know the power."""
    family, X = CASES[likelihood]
    model = hr.Mixture(hr.DP(0.8), family, power=0.3).resolve(X)
    X = model.likelihood.check(X)
    post = hr.sample(model, X, draws=4, warmup=4, chains=1, seed=0, progress=False)
    plain = hr.Posterior(**{name: getattr(post, name) for name in ("labels", "log_joint", "X", "log_u", "alpha", "sigma", "tau")},
                         model=replace(model, power=1.0))  # fmt: skip
    np.testing.assert_allclose(post.log_density(X[:3]), plain.log_density(X[:3]), rtol=1e-12)
    stream = TreeStream(model, seed=1)
    stream.add(X)
    labels = np.unique(stream.labels, return_inverse=True)[1]
    alone = [model.likelihood.log_marginal(X[np.flatnonzero(labels == c)]) for c in range(labels.max() + 1)]
    with_row = [
        model.likelihood.bind(X[[*np.flatnonzero(labels == c), 0]]).log_marginals(np.zeros((labels == c).sum() + 1, np.int32))[0]
        for c in range(labels.max() + 1)
    ]
    order = np.argsort(np.unique(stream.labels))
    at = [stream.cluster_ids.tolist().index(name) for name in np.unique(stream.labels)[order]]
    sizes = np.bincount(labels)
    wanted = np.array(with_row) - np.array(alone) + np.log(sizes / (0.8 + len(labels)))
    np.testing.assert_allclose(stream.predict_log_weights(X[:1])[0, at], wanted, rtol=1e-9, atol=1e-9)


def test_shards() -> None:
    family, X = hr.Poisson(), np.random.default_rng(0).poisson(np.repeat([2.0, 30.0], 30)[:, None], (60, 3)).astype(float)
    model = hr.Mixture(hr.DP(1.0), family, power=0.3).resolve(X)
    kernel = hr.distributed.Conditional(scouts=30, pairs=4, visits=12)
    found = hr.distributed.sample(model, np.split(X, [25, 40]), kernel=kernel, draws=5, warmup=5, seed=1)
    assert model.log_joint(X, found.labels()) == pytest.approx(found.log_joint[0, -1], abs=1e-8)
    trees = hr.distributed.ibhc(model, np.split(X, [25, 40]), seed=1)
    assert model.log_joint(X, trees.labels) == pytest.approx(trees.log_joint, abs=1e-8)
    worth = hr.Mixture(hr.DP(1.0), family, worth=20.0)
    assert hr.distributed.sample(worth, np.split(X, [25, 40]), kernel=kernel, draws=1, warmup=1, seed=1).model.power == 20 / 80
