"""check_prior: is a prior a law of exchangeable partitions, and do all its answers tell of the same one?"""

from __future__ import annotations

import pickle

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from hedgerow.arguments import check_seed, check_whole
from hedgerow.errors import require
from hedgerow.kernels import Gibbs
from hedgerow.likelihoods import GaussianDiagonal
from hedgerow.mixture import Mixture
from hedgerow.priors import Prior
from hedgerow.sampling import Chain
from hedgerow.summaries.partitions import is_canonical
from hedgerow.testing.exact import log_prior_by_type, prior_moments
from hedgerow.testing.partitions import enumerate_partitions, partition_index, size_types
from hedgerow.testing.report import Findings, Report

__all__ = ["check_prior"]


def check_prior(prior: Prior, *, n: int = 6, draws: int = 3000, seed: int = 0, level: float = 1e-4) -> Report:
    """Conformance of a prior: normalisation, consistency, closed forms, expectations, draws, the compiled
    twin.

    Parameters
    ----------
    prior : Prior
    n : int
        Partitions of up to n points are enumerated.
    draws : int
        Draws of `sample_joint` compared with the enumeration.
    seed, level : as for `check_kernel`

    Returns
    -------
    Report

    >>> from hedgerow import DP
    >>> check_prior(DP(), n=4, draws=500).passed
    True
    """
    require(isinstance(prior, Prior), "check_prior", "prior", prior, "be a prior such as DP()")
    check_whole("check_prior", "n", n, 2, 12)
    check_whole("check_prior", "draws", draws, 100)
    check_seed("check_prior", seed, none=False)
    findings = Findings(level)
    closed = prior.u_integrates and not prior.laws()
    tolerance = 1e-9 if closed else 1e-6
    _law(findings, prior, n, tolerance)
    _shape(findings, prior)
    if prior.u_integrates:
        _closed_form(findings, prior)
    _draws(findings, prior, draws, seed)
    _twin(findings, prior, seed)
    return findings.report(f"check_prior({prior!r})", draws=float(draws))


def _law(findings: Findings, prior: Prior, n: int, tolerance: float) -> None:
    """Probabilities sum to 1; dropping the last point gives the law of one point less; expected clusters."""
    smaller: NDArray[np.float64] | None = None
    previous = enumerate_partitions(1)
    for m in range(1, n + 1):
        partitions = enumerate_partitions(m)
        types, which = size_types(partitions)
        p = np.exp(log_prior_by_type(prior, types))[which]
        findings.agree(f"total probability of the partitions of {m}", p.sum(), 1.0, tolerance)
        if smaller is not None:
            parent = partition_index(previous, partitions[:, :-1])
            summed = np.bincount(parent, weights=p, minlength=len(previous))
            findings.agree(f"partitions of {m} without the last point", summed, smaller, tolerance)
        expected = float(p @ (partitions.max(axis=1) + 1))
        findings.agree(f"expected_clusters({m})", prior.expected_clusters(m), expected, max(tolerance, 1e-7))
        smaller, previous = p, partitions


def _shape(findings: Findings, prior: Prior) -> None:
    """Sizes in any order, arrays of u, and the value object's manners."""
    base = prior.log_partition([3, 1, 2], u=0.7)
    findings.agree("order of the sizes", prior.log_partition([2, 3, 1], u=0.7), base, 1e-12)
    u = np.array([0.2, 0.7, 30.0])
    one_by_one = [prior.log_partition([3, 1, 2], u=float(x)) for x in u]
    findings.agree("an array of u", prior.log_partition([3, 1, 2], u=u), one_by_one, 1e-12)
    findings.agree("log_u for u", prior.log_partition([3, 1, 2], log_u=np.log(u)), one_by_one, 1e-12)
    findings.hold("survives pickling, equal and with the same hash", _same(pickle.loads(pickle.dumps(prior)), prior))
    findings.hold("laws are of known hyper-parameters", set(prior.laws()) <= set(prior.values()))


def _same(a: Prior, b: Prior) -> bool:
    return a == b and hash(a) == hash(b) and repr(a) == repr(b)


def _closed_form(findings: Findings, prior: Prior) -> None:
    """p(Π) = ∫ p(Π, u) du, on the scale u = exp(e^x) - 1."""
    x = np.linspace(-12, 8, 6001)
    stretch = np.exp(x)
    log_u = stretch + np.log(-np.expm1(-stretch))
    for sizes in ([4], [2, 1, 1], [3, 2]):
        terms = prior.log_partition(sizes, log_u=log_u) + stretch + x
        findings.agree(
            f"closed form for sizes {sizes}",
            prior.log_partition(sizes),
            float(logsumexp(terms) + np.log(x[1] - x[0])),
            1e-6,
        )


def _draws(findings: Findings, prior: Prior, draws: int, seed: int) -> None:
    """Frequencies of the partitions of 4, expected clusters of 60, u, the laws, seeds."""
    rng = np.random.default_rng([seed, 3])
    few = [prior.sample_joint(4, rng) for _ in range(draws)]
    partitions = enumerate_partitions(4)
    types, which = size_types(partitions)
    p = np.exp(log_prior_by_type(prior, types))[which]
    index = partition_index(partitions, np.stack([d.labels for d in few]))
    for row, chance in enumerate(p):
        if chance * draws >= 20:
            what = f"draws of {partitions[row].tolist()}"
            findings.mean(what, index == row, float(chance), float(chance * (1 - chance)))
    for moment in prior_moments(prior, 4):
        traces = [d.u if moment.name == "u" else d.values[moment.name] for d in few]
        findings.mean(f"E[f({moment.name})^{moment.power}]", moment.evaluate(traces), moment.mean)
    many = [prior.sample_partition(60, rng) for _ in range(draws // 4)]
    findings.hold("draws are canonical labels", bool(is_canonical(np.stack(many))))
    findings.mean("clusters of 60", [d.max() + 1 for d in many], prior.expected_clusters(60))
    same = np.array_equal(prior.sample_partition(50, seed), prior.sample_partition(50, seed))
    findings.hold("same seed, same partition", same)


def _twin(findings: Findings, prior: Prior, seed: int) -> None:
    """The compiled core's log p(Π, u), read off the log joint of a chain that has not moved."""
    model = Mixture(prior, GaussianDiagonal(mean=[0.0], r=[1.0], a=[1.0], b=[1.0]))
    rng = np.random.default_rng([seed, 4])
    X = rng.normal(size=(7, 1))
    bound = model.bind(X)
    found, wanted = [], []
    for _ in range(5):
        draw = prior.sample_joint(7, rng)
        u = float(min(max(draw.u, 1e-8), 1e8))
        moving = {name: draw.values[name] for name in (*prior.laws(), *prior.auxiliaries)}
        chain = Chain(model, X, Gibbs(), labels=draw.labels, seed=1, start={"u": u, **moving})
        found.append(chain.log_joint() - float(bound.log_marginals(draw.labels).sum()))
        values = {name: draw.values[name] for name in prior.values()}
        here = None if prior.u_integrates else u
        wanted.append(float(prior.log_partition(np.bincount(draw.labels), here, **values)))
    findings.agree("the compiled core's log p(Π, u)", found, wanted, 1e-9)
