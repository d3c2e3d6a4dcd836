"""The marginal Gibbs sampler of N15 section 2.2 in plain Python, with the updates of u and the hyper-
parameters.

State: a partition of the rows as a list of frozensets, u, and the values of α, σ, τ. `log_marginal(c)` is
log p(X_c) for a frozenset c of row numbers. The model asks for two weights only (N15 eq. 6): `log_old(m)`
of joining a cluster of m points and `log_new(K)` of opening one beside K others, so any law with such a
predictive rule can be swept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hedgerow.reference import prior
from hedgerow.reference.slicing import slice_step

__all__ = [
    "clusters_of",
    "labels_of",
    "nrm_weights",
    "py_weights",
    "sweep",
    "update_alpha",
    "update_fraction",
    "update_positive",
    "update_u",
]

Cluster = frozenset[int]
LogMarginal = Callable[[Cluster], float]
Weights = tuple[Callable[[int], float], Callable[[int], float]]


def clusters_of(labels: Sequence[int] | NDArray[np.int32]) -> list[Cluster]:
    """The clusters of a labelling, as sets of row numbers."""
    members: dict[int, list[int]] = {}
    for i, label in enumerate(labels):
        members.setdefault(int(label), []).append(i)
    return [frozenset(m) for m in members.values()]


def labels_of(clusters: Sequence[Cluster], n: int) -> NDArray[np.int32]:
    """Canonical labels of a list of clusters over rows 0..n-1."""
    labels = np.empty(n, dtype=np.int32)
    for name, cluster in enumerate(sorted(clusters, key=min)):
        for i in cluster:
            labels[i] = name
    return labels


def sweep(
    clusters: Sequence[Cluster],
    log_marginal: LogMarginal,
    log_old: Callable[[int], float],
    log_new: Callable[[int], float],
    rng: Generator,
) -> list[Cluster]:
    """Take every row out in a random order and put it back by its full conditional (N15 section 2.2)."""
    clusters = list(clusters)
    for i in rng.permutation(sum(len(c) for c in clusters)).tolist():
        alone = frozenset((i,))
        clusters = [rest for c in clusters if (rest := c - alone)]
        weights = [log_old(len(c)) + log_marginal(c | alone) - log_marginal(c) for c in clusters]
        weights.append(log_new(len(clusters)) + log_marginal(alone))
        k = _draw(weights, rng)
        if k == len(clusters):
            clusters.append(alone)
        else:
            clusters[k] = clusters[k] | alone
    return clusters


def _draw(log_weights: Sequence[float], rng: Generator) -> int:
    """An index with probability proportional to exp(log_weights)."""
    top = max(log_weights)
    weights = [math.exp(w - top) for w in log_weights]
    target = rng.random() * sum(weights)
    for k, weight in enumerate(weights):
        target -= weight
        if target < 0:
            return k
    return len(weights) - 1


def nrm_weights(u: float, alpha: float, sigma: float, tau: float) -> Weights:
    """`log_old` and `log_new` of a normalized random measure given u (N15 eq. 6); K plays no part."""
    rate = math.log(u + tau)
    new = math.log(alpha) + (sigma - 1) * rate
    return lambda m: math.log(m - sigma) - rate, lambda K: new


def py_weights(theta: float, sigma: float) -> Weights:
    """The same for Pitman-Yor with u and α integrated out: m - σ against θ + σK; σ = 0 is the Dirichlet
    process."""
    return lambda m: math.log(m - sigma), lambda K: math.log(theta + sigma * K)


def update_u(u: float, n: int, K: int, alpha: float, sigma: float, tau: float, rng: Generator) -> float:
    """u | Π by a slice step on v = log u."""
    return update_positive(u, lambda v: float(prior.u_log_density(v, n, K, alpha, sigma, tau)), rng)


def update_alpha(K: int, u: float, sigma: float, tau: float, law: tuple[float, float], rng: Generator) -> float:
    """α | Π, u of a normalized random measure: a Gamma draw (A14 suppl. eq. 64)."""
    shape, rate = prior.alpha_conditional(K, u, sigma, tau, *law)
    return float(rng.gamma(shape) / rate)


def update_positive(x: float, log_density_of_log: Callable[[float], float], rng: Generator) -> float:
    """A slice step for a positive x, given the log density of log x (the Jacobian is the density's
    business)."""
    return math.exp(slice_step(log_density_of_log, math.log(x), rng))


def update_fraction(x: float, log_density_of_logit: Callable[[float], float], rng: Generator) -> float:
    """A slice step for an x in (0, 1), given the log density of logit x."""
    return 1 / (1 + math.exp(-slice_step(log_density_of_logit, math.log(x) - math.log1p(-x), rng)))
