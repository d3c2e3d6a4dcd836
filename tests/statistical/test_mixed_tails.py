"""Two groups over two basis measures of a Dirichlet process whose mass is small or vague: ξ beyond every float, draws and evidence.

The exact posterior sums over all partitions and the basis measures of their clusters, integrates α in closed form, and ξ over the
ratio of the two and their scale, the latter by log log(1 + ξ), on which its tail falls exponentially.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import hedgerow as hr
from hedgerow import _core
from hedgerow.sampling import Chain
from hedgerow.testing import enumerate_partitions

X = np.array([[0, 1], [0, 1], [1, 0], [1, 1]])
TIMES = np.array([0, 1, 1, 0])
FAMILY = hr.Bernoulli(0.5, 0.5).resolve(X)
PARTITIONS = enumerate_partitions(len(X))
NEAR = np.array([[1.0, 0.3], [0.2, 1.0]])
APART = np.eye(2)
VAGUE = hr.Gamma(0.1, 0.1)


def log_prior(counts: np.ndarray, q: np.ndarray, alpha: float | hr.Gamma, nodes: int) -> float:
    """log p(Π) of clusters with these counts by group; ξ_1 = e^s, ξ_2 = e^(s+d), τ = 1."""
    # Without mixing ξ_2 has a scale of its own: then it is the one of a measure by itself, and p(Π) a product.
    a, b = (alpha.a, alpha.b) if isinstance(alpha, hr.Gamma) else (0.0, 0.0)
    y = np.linspace(-9, np.log(60 / alpha) if b == 0 else 30 / (2 * a), 4 * nodes)[:, None]
    d = np.linspace(-32, 32, nodes)[None, :]
    s = np.where(y < 3, np.log(np.expm1(np.exp(np.minimum(y, 3)))), np.exp(y))  # log(e^(e^y) − 1)
    slope = np.exp(y) - s + y  # log ds/dy = log(e^y (1 + e^(-s)))
    with np.errstate(over="ignore", divide="ignore"):
        over = np.array([np.logaddexp(np.logaddexp(np.log(q[0, r]), np.log(q[1, r]) + d), -s) for r in (0, 1)])  # log((ξ̄_r+1)/ξ_1)
        front = counts.sum(axis=0)[1] * d + slope - gammaln(counts.sum(axis=0)).sum()
        terms = []
        for z in itertools.product((0, 1), repeat=len(counts)):
            total = front
            for c, r in zip(counts, z, strict=True):
                total = total + np.where(c > 0, c * np.log(q[:, r]), 0.0).sum() + gammaln(c.sum()) - c.sum() * over[r]
            for r in (0, 1):
                k = z.count(r)
                if b == 0:
                    total = total + k * np.log(alpha) - alpha * (over[r] + s)
                else:
                    total = total + a * np.log(b) - gammaln(a) + gammaln(a + k) - (a + k) * np.log(b + over[r] + s)
            terms.append(logsumexp(total))
    return float(logsumexp(terms) + np.log(y[1, 0] - y[0, 0]) + np.log(d[0, 1] - d[0, 0]))


def apart(counts: np.ndarray, alpha: float | hr.Gamma) -> float:
    """The same where nothing mixes: two Dirichlet processes."""
    if (counts.min(axis=1) > 0).any():
        return -np.inf
    return sum(
        float(_dirichlet(tuple(sorted(column[column > 0].tolist())), alpha)) for column in counts.T
    )  # fmt: skip


@functools.cache
def _dirichlet(sizes: tuple[int, ...], alpha: float | hr.Gamma) -> float:
    from hedgerow.testing.exact import log_prior_by_type

    return float(log_prior_by_type(hr.DP(alpha), [np.array(sizes)])[0])


@functools.cache
def exact(mixing: str, alpha: float | hr.Gamma, nodes: int = 160) -> tuple[np.ndarray, float]:
    """Probabilities of all partitions, and the log evidence."""
    bound = FAMILY.bind(X)
    joint = []
    for labels in PARTITIONS:
        counts = np.zeros((labels.max() + 1, 2))
        np.add.at(counts, (labels, TIMES), 1)
        prior = log_prior(counts, NEAR, alpha, nodes) if mixing == "near" else apart(counts, alpha)
        joint.append(prior + float(bound.log_marginals(labels).sum()))
    total = float(logsumexp(joint))
    return np.exp(np.array(joint) - total), total


CASES = [("near", 0.003), ("near", VAGUE), ("apart", 0.003), ("apart", VAGUE)]


def prior_of(mixing: str, alpha: float | hr.Gamma) -> hr.MixedNRM:
    return hr.MixedNRM(hr.DP(alpha), q=NEAR if mixing == "near" else APART)


@pytest.mark.parametrize("draws", [32 * 150, pytest.param(400_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("mixing", "alpha"), CASES)
def test_draws(mixing: str, alpha: float | hr.Gamma, draws: int) -> None:
    p, _ = exact(mixing, alpha)
    model = hr.Mixture(prior_of(mixing, alpha), FAMILY)
    found = np.zeros((32, len(PARTITIONS)))
    code = 5 ** np.arange(len(X))
    where = {int(key): i for i, key in enumerate(PARTITIONS @ code)}
    first = np.array([0, 1, 1, 0])  # possible under every mixing
    for sequence, row in enumerate(found):
        chain = Chain(model, X, hr.Gibbs(), labels=first, seed=3, sequence=sequence, times=TIMES)
        chain.warm_up(300, 0, 300)
        for key, count in zip(*np.unique(chain.run(draws // 32, 10).labels @ code, return_counts=True), strict=True):
            row[where[int(key)]] = count / (draws // 32)
    error = np.maximum(found.std(axis=0, ddof=1) / np.sqrt(32), np.sqrt(p * (1 - p) / draws))
    score = np.abs(found.mean(axis=0) - p)[p * draws > 5] / error[p * draws > 5]
    print(f"{mixing}, {alpha}: |z| {score.max():.2f}")
    assert score.max() < 4  # of some ten comparisons, with seeds that are fixed


def test_heights_beyond_reach_are_let_go() -> None:
    """log u is exponential of rate α here, as far as can be told; above 1e8 it is held, and comes back as often as it should."""
    alpha, chains, share = 3e-8, 24, []
    model = hr.Mixture(hr.MixedNRM(hr.DP(alpha), q=[[1.0]]), FAMILY)
    for sequence in range(chains):
        chain = Chain(model, X, hr.Gibbs(), labels=np.zeros(4, int), seed=1, sequence=sequence, times=np.zeros(4, int))
        chain.run(20)
        share.append((chain.run(2000).log_u > 1e8).mean())
    # five standard errors over the chains
    assert np.mean(share) == pytest.approx(np.exp(-alpha * 1e8), abs=5 * np.std(share, ddof=1) / np.sqrt(chains))


@pytest.mark.parametrize(("mixing", "alpha"), CASES)
def test_evidence(mixing: str, alpha: float | hr.Gamma) -> None:
    prior = prior_of(mixing, alpha)
    grouping = prior.group(TIMES, len(X))
    core, bound = prior.to_core(grouping), FAMILY.bind(X)
    runs = [_core.smc(bound, core, grouping.codes, 20, 0.5, seed, 0, True)["log_evidence"] for seed in range(400)]
    ratio = np.exp(np.array(runs) - exact(mixing, alpha)[1])
    assert abs(ratio.mean() - 1.0) < 4.0 * ratio.std(ddof=1) / np.sqrt(len(ratio))


def test_the_grid_is_fine_enough_and_wide_enough() -> None:
    for alpha in (0.003, VAGUE):
        p, evidence = exact("near", alpha)
        finer, again = exact("near", alpha, 240)
        np.testing.assert_allclose(p, finer, atol=1e-5)
        assert evidence == pytest.approx(again, abs=1e-5)
        counts = [np.zeros((labels.max() + 1, 2)) for labels in PARTITIONS]
        for table, labels in zip(counts, PARTITIONS, strict=True):
            np.add.at(table, (labels, TIMES), 1)
        assert sum(np.exp(log_prior(table, NEAR, alpha, 160)) for table in counts) == pytest.approx(1, abs=1e-5)
