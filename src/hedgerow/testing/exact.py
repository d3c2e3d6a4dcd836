"""Exact posteriors of small data sets: all partitions enumerated, u and sampled hyper-parameters by
quadrature.

p(Π | X) ∝ Π_c p(X_c) · ∫ p(Π, u | η) p(η) du dη, with η the sampled hyper-parameters. The prior's integral
depends on the cluster sizes only, so it is done once per multiset of sizes, on a tensor grid: each law
brings its own rule (`wide_rule`), and u has a trapezoidal rule on a scale on which its
density falls off exponentially,

    u = τ (exp(e^y) - 1), y = x - e^(-x),        or        u = (σ e^y / α)^(1/σ), y = sinh(x), when τ = 0,

between bounds found by scanning. α under a law is then placed by the law it has given u, Gamma(a + K, b + ψ(u)/α):
where the law is vague both range over hundreds of orders of magnitude, and only α u^σ is known. The integral is
repeated on finer and finer grids until two agree, and the prior summed over all partitions must be 1; the
largest difference found is `quadrature_error`, and a posterior for which it does not become small is refused
rather than returned. Priors with a closed form (`u_integrates`) need no grid for u.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp

from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.priors import Law, Prior
from hedgerow.reference.prior import log_psi_at_log
from hedgerow.testing.partitions import (
    enumerate_partitions,
    partition_index,
    partition_log_likelihoods,
    size_types,
)

__all__ = ["ExactPosterior", "Moment", "exact_posterior", "log_prior_by_type", "prior_moments"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]

POINTS = {False: (20, 28, 56, 112, 224), True: (28, 40, 80, 160, 320)}
"""Nodes of the grids, each finer than the one before, for laws on the positive line and on (0, 1)."""
POINTS_ALPHA = (52, 64, 72, 80, 96)
"""The same for α given u."""
POINTS_U = ((300, 400, 800, 1600, 3200), (150, 200, 260, 320, 400), (70, 96, 130, 160, 200), (52, 72, 100, 130, 160))
"""The same for u, by the number of sampled hyper-parameters."""
MOST_NODES = 8_000_000
"""Of a whole grid; a finer one is not tried."""
LARGEST_DIFFERENCE = 1e-4
"""Between two grids, in any probability; the finer one's own error is smaller by orders of magnitude."""
DROP = 32.0
LARGEST_X = 36.0
"""log u up to e^36; beyond that it has no digits left to give."""
LEAST_ALPHA = 1e-290


class Centre(NamedTuple):
    """Median and spread of the logarithm of a positive variable."""

    median: float
    width: float


@dataclass(frozen=True)
class Moment:
    """Posterior mean and variance of a bounded function of u or of a hyper-parameter.

    The function is y/(y+c), y = x^(1/width), for positive variables: log c and the width are the median and the
    spread of log x, the latter at least 1. It is x itself for those in (0, 1), which have no centre. It is taken
    to the given power.
    """

    name: str
    centre: Centre | None
    power: int
    mean: float
    variance: float

    def evaluate(self, x: ArrayLike) -> Floats:
        """The function at x."""
        x = np.asarray(x, float)
        return _bounded(x, None) ** self.power if self.centre is None else self.evaluate_log(np.log(x))

    def evaluate_log(self, log_x: ArrayLike) -> Floats:
        """The function of a positive variable at e^log_x, which need not be a float."""
        return _bounded(np.asarray(log_x, float), self.centre) ** self.power


@dataclass(frozen=True)
class ExactPosterior:
    """The posterior of a small data set, partition by partition.

    Attributes
    ----------
    partitions : (Bell(n), n) int32
    log_joint : (Bell(n),)
        With u and the sampled hyper-parameters integrated out.
    moments : tuple of Moment
        Of u and the hyper-parameters.
    quadrature_error : float
        How far two rules of integration are apart.

    >>> import hedgerow as hr
    >>> exact = exact_posterior(hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [0.1], [9.0]])
    >>> 1 < exact.expect(exact.n_clusters) < 3, exact.index([[0, 0, 1]])
    (True, array([1]))
    """

    partitions: Labels
    log_joint: Floats
    """log p(Π, X), or log p(Π, u, X) when u was fixed; sampled hyper-parameters integrated out."""
    moments: tuple[Moment, ...]
    quadrature_error: float

    @property
    def log_evidence(self) -> float:
        """log p(X), or log p(X, u)."""
        return float(logsumexp(self.log_joint))

    @property
    def probabilities(self) -> Floats:
        """p(Π | X) in the order of `partitions`."""
        return np.asarray(np.exp(self.log_joint - self.log_evidence))

    @property
    def n_clusters(self) -> NDArray[np.int64]:
        """The number of clusters of every partition."""
        return np.asarray(self.partitions.max(axis=1) + 1, dtype=np.int64)

    def expect(self, values: ArrayLike) -> float:
        """Posterior mean of a function given by its value at every partition.

        Parameters
        ----------
        values : (Bell(n),)

        Returns
        -------
        float
        """
        return float(self.probabilities @ np.asarray(values, float))

    def index(self, labels: ArrayLike) -> NDArray[np.intp]:
        """Where canonical labellings stand in `partitions`.

        Parameters
        ----------
        labels : (..., n)

        Returns
        -------
        (...) of int
        """
        return partition_index(self.partitions, labels)


def exact_posterior(model: Any, X: Any, u: float | None = None, **values: float) -> ExactPosterior:
    """The posterior of `model` (a `Mixture`) on X by enumeration; at most 11 rows, and 8 or fewer to be
    quick.

    With u given, everything is conditional on it; otherwise u is integrated out. Hyper-parameters named in
    `values` are held at that value, those with a law are integrated over it, the rest are fixed by the prior.

    Parameters
    ----------
    model : Mixture
    X : table
    u : float, optional
    **values : float
        Hyper-parameters by name.

    Returns
    -------
    ExactPosterior

    >>> import hedgerow as hr
    >>> exact_posterior(hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [0.1], [9.0]]).probabilities.shape
    (5,)
    """
    require(isinstance(model, Mixture), "exact_posterior", "model", model, "be a Mixture")
    model = model.resolve(X)
    X = model.likelihood.check(X)
    partitions = enumerate_partitions(X.shape[0])
    types, which = size_types(partitions)
    log_likelihood = partition_log_likelihoods(model, X, partitions)
    # Partitions of one type share their prior: the posterior of u and η needs the likelihood by type only.
    by_type = np.array([logsumexp(log_likelihood[which == t]) for t in range(len(types))])
    fine, error = _integrate(model.prior, types, by_type, u, values, 0), np.inf
    for grid in range(1, len(POINTS_ALPHA)):
        if error < LARGEST_DIFFERENCE or _nodes(model.prior, u, values, grid) > MOST_NODES:
            break
        coarse, fine = fine, _integrate(model.prior, types, by_type, u, values, grid)
        error = _difference(fine, coarse, by_type)
        if u is None:
            error = float(np.maximum(error, abs(np.exp(fine.log_prior)[which].sum() - 1)))  # not `max`, which passes NaN over
    if not error < LARGEST_DIFFERENCE:
        raise ArithmeticError(
            f"exact_posterior: the quadrature is off by {error:.2g} for {model.prior!r}; a law this wide needs "
            f"another tool than enumeration."
        )
    return ExactPosterior(partitions, fine.log_prior[which] + log_likelihood, fine.moments(fine.centres()), error)


def _difference(fine: _Integral, coarse: _Integral, by_type: Floats) -> float:
    """The largest difference between two grids in the posterior, the evidence and the moments."""
    here, there = fine.log_prior + by_type, coarse.log_prior + by_type
    gaps: list[Any] = [_normalised(here) - _normalised(there), logsumexp(here) - logsumexp(there)]
    centres = fine.centres()
    gaps += [a.mean - b.mean for a, b in zip(fine.moments(centres), coarse.moments(centres), strict=True)]
    return float(np.max([np.abs(gap).max() for gap in gaps]))


def _nodes(prior: Prior, u: float | None, fixed: Mapping[str, float], grid: int) -> int:
    """How many nodes a grid has."""
    laws = [law for name, law in prior.laws().items() if name not in fixed]
    along_u = 1 if u is not None or prior.u_integrates else POINTS_U[min(len(laws), 3)][grid]
    return along_u * math.prod(POINTS[law.unit][min(grid, 2)] for law in laws)


def log_prior_by_type(prior: Prior, types: list[NDArray[np.int64]], u: float | None = None, **values: float) -> Floats:
    """log p(Π) (or log p(Π, u) at a fixed u) of partitions with these sizes, the laws integrated out."""
    return _integrate(prior, types, np.zeros(len(types)), u, values, 1).log_prior


def prior_moments(prior: Prior, n: int) -> tuple[Moment, ...]:
    """Moments of u and of the sampled hyper-parameters under the prior, for n points."""
    types, which = size_types(enumerate_partitions(n))
    integral = _integrate(prior, types, np.log(np.bincount(which)), None, {}, 1)
    return integral.moments(integral.centres())


@dataclass(frozen=True)
class _Integral:
    """The prior of every type, and the posterior weights of the grid's nodes.

    `nodes` holds σ as it is and the positive variables by their logs.
    """

    log_prior: Floats
    nodes: dict[str, Floats]
    weights: Floats

    def centres(self) -> dict[str, Centre | None]:
        """Where the variables lie on the log scale; None for those in (0, 1)."""
        return {name: None if name == "sigma" else _centre(x, self.weights) for name, x in self.nodes.items()}

    def moments(self, centres: Mapping[str, Centre | None]) -> tuple[Moment, ...]:
        """Mean and variance of the first two powers of each variable's bounded function."""
        found = []
        for name, x in self.nodes.items():
            for power in (1, 2):
                value = _bounded(x, centres[name]) ** power
                mean = float(np.sum(self.weights * value))
                square = float(np.sum(self.weights * value**2))
                found.append(Moment(name, centres[name], power, mean, max(square - mean**2, 0.0)))
        return tuple(found)


def _bounded(x: Floats, centre: Centre | None) -> Floats:
    """x itself, or the function of `Moment` when x is the log of a positive variable."""
    return x if centre is None else np.asarray(expit((x - centre.median) / centre.width))


def _centre(x: Floats, weights: Floats) -> Centre:
    """Median and half the distance of the quartiles, at least 1: a narrower function would fall between nodes."""
    order = np.argsort(x, axis=None)
    at = np.searchsorted(np.cumsum(weights.ravel()[order]), (0.25, 0.5, 0.75))
    low, median, high = x.ravel()[order][np.minimum(at, order.size - 1)]
    return Centre(float(median), max(1.0, float(high - low) / 2))


def _normalised(log_weights: Floats) -> Floats:
    return np.asarray(np.exp(log_weights - logsumexp(log_weights)))


def _integrate(
    prior: Prior,
    types: list[NDArray[np.int64]],
    log_likelihood: Floats,
    u: float | None,
    fixed: Mapping[str, float],
    grid: int,
) -> _Integral:
    """Sum p(Π, u | η) over the grid for every type; grid 0 is the coarsest."""
    laws = {name: law for name, law in prior.laws().items() if name not in fixed}
    given_u = None if prior.u_integrates else laws.get("alpha")
    nodes, log_weight = _law_grid(laws, grid, skip="alpha" if given_u is not None else None)
    values: dict[str, Any] = dict(fixed) | nodes
    variables = {}
    log_u: Any = None if u is None else np.log(u)
    if u is None and not prior.u_integrates:
        log_u, log_step = _u_grid(prior, types, values, given_u, len(laws), POINTS_U[min(len(laws), 3)][grid])
        log_weight = log_weight + log_step
        variables["u"] = log_u
    if given_u is not None:
        axis = 1 + list(laws).index("alpha")
        values["alpha"], log_step = _alpha_grid(prior, values, given_u, log_u, axis, len(laws), POINTS_ALPHA[grid])
        log_weight = log_weight + log_step
    variables |= {name: values[name] if name == "sigma" else np.log(values[name]) for name in laws}
    log_prior = np.empty(len(types))
    total, top = np.zeros(()), -np.inf
    for t, sizes in enumerate(types):
        terms = np.asarray(prior.log_partition(sizes, log_u=log_u, **values) + log_weight)
        log_prior[t] = logsumexp(terms)
        peak = float(terms.max()) + log_likelihood[t]
        higher = max(top, peak)
        total = total * np.exp(top - higher) + np.exp(terms + (log_likelihood[t] - higher))
        top = higher
    weights = total / total.sum()
    return _Integral(log_prior, {k: np.broadcast_to(x, weights.shape) for k, x in variables.items()}, weights)


def _law_grid(laws: Mapping[str, Law], grid: int, skip: str | None) -> tuple[dict[str, Floats], Floats]:
    """The tensor grid of the sampled hyper-parameters, one axis each after a first axis left for u."""
    nodes: dict[str, Floats] = {}
    log_weight = np.zeros((1,) * (len(laws) + 1))
    for axis, (name, law) in enumerate(laws.items(), start=1):
        if name == skip:
            continue
        x, w = law.wide_rule(POINTS[law.unit][grid])
        shape = [1] * (len(laws) + 1)
        shape[axis] = len(x)
        nodes[name] = x.reshape(shape)
        log_weight = log_weight + np.log(np.maximum(w, 1e-300)).reshape(shape)
    return nodes, log_weight


def _alpha_grid(
    prior: Prior, values: dict[str, Any], law: Law, log_u: Any, axis: int, n_laws: int, points: int
) -> tuple[Floats, Floats]:
    """Nodes α = g/(b + ψ(u)/α) with log g evenly spaced, and the log of the law's density times dα there."""
    a = law.a + 1
    log_g = np.linspace(-22 / a, 4.0, points)
    shape = [1] * (n_laws + 1)
    shape[axis] = points
    log_alpha = log_g.reshape(shape) - _log_rate(prior, values, law, log_u)
    alpha = np.exp(np.maximum(log_alpha, np.log(LEAST_ALPHA)))
    log_step = law.log_density(alpha) + log_alpha + np.log(log_g[1] - log_g[0])
    return alpha, np.where(log_alpha > np.log(LEAST_ALPHA), log_step, -np.inf)


def _log_rate(prior: Prior, values: dict[str, Any], law: Law, log_u: Any) -> Floats:
    """log(b + ψ(u)/α), the rate of α given u."""
    _, sigma, tau = prior.measure(prior.values() | values)
    return np.asarray(np.logaddexp(np.log(law.b), log_psi_at_log(log_u, sigma, tau)))


def _u_grid(
    prior: Prior, types: list[NDArray[np.int64]], values: dict[str, Any], law: Law | None, n_laws: int, points: int
) -> tuple[Floats, Floats]:
    """Nodes of log u along the first axis and log(du) there, for every node of the hyper-parameters; `law` is that of α."""
    alpha, sigma, tau = prior.measure(prior.values() | values)
    alpha, sigma, tau = (np.asarray(x, float) for x in (alpha if law is None else 1 / law.b, sigma, tau))
    column = (-1,) + (1,) * n_laws
    low, high = np.asarray(-4.0 if tau.all() else -7.0), np.asarray(LARGEST_X if tau.all() else 12.0)
    steps = np.linspace(0, 1, 300)
    log_u, log_slope = _u_at(low + (high - low) * steps.reshape(column), alpha, sigma, tau)
    kept = np.zeros(np.broadcast_shapes(log_u.shape, log_slope.shape), dtype=bool)
    for sizes in (min(types, key=len), max(types, key=len)):
        height = log_slope
        if law is not None:  # α at the top of its density, in place of the integral
            log_alpha = np.log(law.a + len(sizes)) - _log_rate(prior, values, law, log_u)
            values = values | {"alpha": np.exp(np.maximum(log_alpha, np.log(LEAST_ALPHA)))}
            height = height + law.log_density(values["alpha"]) + log_alpha
            height = np.where(log_alpha > np.log(LEAST_ALPHA), height, -np.inf)
        height = height + prior.log_partition(sizes, log_u=log_u, **values)
        kept = kept | (height > height.max(axis=0) - DROP)
    first, last = kept.argmax(axis=0), 299 - kept[::-1].argmax(axis=0)
    width = high - low
    low, high = low + width * steps[np.maximum(first - 1, 0)], low + width * steps[np.minimum(last + 1, 299)]
    x = low + (high - low) * np.linspace(0, 1, points).reshape(column)
    log_u, log_slope = _u_at(x, alpha, sigma, tau)
    return log_u, log_slope + np.log((high - low) / (points - 1))


def _u_at(x: Floats, alpha: Floats, sigma: Floats, tau: Floats) -> tuple[Floats, Floats]:
    """log u and log du/dx on the scale of the module's docstring."""
    if tau.all():
        y, log_slope = x - np.exp(-x), np.log1p(np.exp(-x))
        stretch = np.exp(y)
        # log(e^s - 1), in two forms so that neither end loses its digits
        log_u = np.log(tau) + np.where(stretch < 1, np.log(np.expm1(np.minimum(stretch, 1.0))), stretch)
        log_u = log_u + np.where(stretch < 1, 0.0, np.log1p(-np.exp(-np.maximum(stretch, 1.0))))
        return np.asarray(log_u), np.asarray(np.log(tau) + stretch + y + log_slope)
    log_u = (np.log(sigma / alpha) + np.sinh(x)) / sigma
    return np.asarray(log_u), np.asarray(log_u - np.log(sigma) + np.log(np.cosh(x)))
