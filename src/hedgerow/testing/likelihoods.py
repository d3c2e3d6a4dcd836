"""check_likelihood: is a likelihood a marginal of independent rows, and do its answers agree with each other?

Two identities carry the statistical part; both compare means of functions between 0 and 1, so nothing can
be spoilt by a heavy tail. Let r = p(A∪B) / (p(A) p(B)) for the rows A and B of two small groups. Then

    E[1/(1+r)] over groups simulated as one cluster  =  E[r/(1+r)] over groups simulated as two,

which fails when the marginal likelihood has a wrong factor, wrong shape, or another law than `simulate`.
And with w = L(x|θ) / p(x|X_c),

    E[w/(1+w)] over θ | X_c  =  E[1/(1+w)] over θ | X_c, x,

which ties `sample_posterior` and `log_density` to the marginal likelihood.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import expit

from hedgerow import _core
from hedgerow.arguments import check_flag, check_seed, check_whole, real_number
from hedgerow.errors import require
from hedgerow.likelihoods import Likelihood
from hedgerow.likelihoods.base import bind_at
from hedgerow.priors import DP
from hedgerow.priors.state import packed
from hedgerow.summaries.partitions import canonical
from hedgerow.testing.report import Findings, Report

__all__ = ["check_likelihood"]


def check_likelihood(
    likelihood: Likelihood,
    X: Any,
    *,
    draws: int = 1000,
    seed: int = 0,
    level: float = 1e-4,
    simulates: bool = True,
    samples: bool = True,
    power: float = 1.0,
) -> Report:
    """Conformance of a likelihood on the rows of X (a dozen is enough).

    Parameters
    ----------
    likelihood : Likelihood
        Resolved with X if it is not.
    X : array-like
    draws : int
        Simulated groups of rows; half as many parameters are drawn.
    seed, level : as for `check_kernel`
    simulates, samples : bool
        Whether it offers `simulate`, and `sample_posterior` with `log_density`; a `Custom` one may not.
    power : float
        Raise every density to it. Below 1 p(X) is no density of X, so that what concerns `simulate` and `sample_posterior`
        is left out.

    Returns
    -------
    Report

    >>> import hedgerow as hr
    >>> check_likelihood(hr.GaussianWishart(), hr.data.iris().X[:8], draws=200).passed
    True
    """
    owner = "check_likelihood"
    require(isinstance(likelihood, Likelihood), owner, "likelihood", likelihood, "be a likelihood such as GaussianWishart()")
    check_whole(owner, "draws", draws, 2)
    check_seed(owner, seed, none=False)
    for name, flag in (("simulates", simulates), ("samples", samples)):
        check_flag(owner, name, flag)
    require(0 < real_number(power) <= 1, owner, "power", power, "lie in (0, 1]")
    model = likelihood.resolve(X)
    X = model.check(X)
    rng = np.random.default_rng([seed, 5])
    findings = Findings(level)
    _exchangeable(findings, model, X, rng, power)
    _chain_rule(findings, model, X, power)
    if simulates and power == 1:
        for sizes in ((1, 1), (2, 1), (3, 2)):
            _one_or_two(findings, model, sizes, draws, rng)
    if samples and power == 1:
        for n_old in sorted({0, min(1, X.shape[0] - 1), min(3, X.shape[0] - 1)}):
            _parameters(findings, model, X, n_old, draws // 2, rng)
    return findings.report(f"check_likelihood({model!r})", draws=float(draws))


def _exchangeable(findings: Findings, model: Any, X: Any, rng: Generator, power: float) -> None:
    """The order of the rows and the names of the clusters do not matter; the reference agrees."""
    n = X.shape[0]
    findings.hold("is_resolved after resolve", bool(model.is_resolved))
    findings.agree("n_rows", model.bind(X).n_rows, n, 0.0)
    for _ in range(4):
        labels = canonical(rng.integers(0, max(2, n // 3), n))
        K = int(labels.max()) + 1
        found = bind_at(model, X, power).log_marginals(labels)
        order, names = rng.permutation(n), rng.permutation(K).astype(np.int32)
        shuffled = bind_at(model, X[order], power).log_marginals(labels[order])
        findings.agree("order of the rows", shuffled, found, 1e-9)
        renamed = bind_at(model, X, power).log_marginals(names[labels])
        findings.agree("names of the clusters", renamed[names], found, 1e-9)
        apart = [model.log_marginal(X[np.flatnonzero(labels == c)], power) for c in range(K)]
        findings.agree("log_marginal of each cluster alone", apart, found, 1e-9)
        twin = [model.reference(X[np.flatnonzero(labels == c)], power) for c in range(K)]
        if None not in twin:
            findings.agree("the reference's log marginals", found, twin, 1e-9)


def _chain_rule(findings: Findings, model: Any, X: Any, power: float) -> None:
    """Σ log p(x_i | x_<i) = log p(X), the terms from the compiled core's own predictive density."""
    bound: Any = bind_at(model, X, power)
    if not isinstance(bound, _core.Likelihood):
        return
    n = X.shape[0]
    single = bound.log_single()
    findings.agree("rows alone", bound.log_marginals(np.arange(n, dtype=np.int32)), single, 1e-9)
    prior = DP(1.0).to_core()
    total = float(single[0])
    for i in range(1, n):
        now = bind_at(model, X[: i + 1], power)
        state = packed({"log_u": 0.0, "alpha": 1.0, "sigma": 0.0, "tau": 1.0})
        joining, opening = _core.Foresight(now, i, np.zeros(i, dtype=np.int32), prior, state).weights()[0]
        # Dirichlet process weights, α = 1: i for the cluster, 1 for a new one.
        total += float(joining - opening) - np.log(i) + float(single[i])
    findings.agree("chain rule of the predictive density", total, model.log_marginal(X, power), 1e-9)


def _one_or_two(findings: Findings, model: Any, sizes: tuple[int, int], draws: int, rng: Generator) -> None:
    """The first identity of the module: pairs of groups simulated as one cluster and as two."""
    first, second = sizes
    whole = np.repeat(np.arange(draws, dtype=np.int32), first + second)
    side = np.tile(np.repeat([0, 1], [first, second]), draws)
    apart = (2 * whole + side).astype(np.int32)
    scores = []
    for labels in (whole, apart):
        bound = model.bind(model.simulate(labels, rng))
        parts = bound.log_marginals(apart).reshape(draws, 2).sum(axis=1)
        scores.append(bound.log_marginals(whole) - parts)
    findings.two_means(f"simulated groups of {first} and {second}", expit(-scores[0]), expit(scores[1]))


def _parameters(findings: Findings, model: Any, X: Any, n_old: int, draws: int, rng: Generator) -> None:
    """The second identity of the module: parameters given the first rows, and given one row more."""
    both = X[: n_old + 1]
    predictive = model.log_marginal(both) - (model.log_marginal(X[:n_old]) if n_old else 0.0)
    new = X[n_old : n_old + 1]

    def scores(rows: Any) -> Any:
        thetas = (model.sample_posterior(rows, rng) for _ in range(draws))
        return np.array([float(model.log_density(theta, new)[0]) - predictive for theta in thetas])

    without, given = scores(X[:n_old]), scores(both)
    findings.two_means(f"parameters given {n_old} rows and one more", expit(without), expit(-given))
