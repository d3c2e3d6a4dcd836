"""Dependent partition laws in NumPy: mixed normalized random measures over T groups and R basis measures.

Model (A14 section 2.3 and suppl. section 4). Group t draws its n_t points from the normalised measure
μ_t = Σ_r q[t,r] ν_r; the ν_r are independent, with the intensities of `hedgerow.reference.prior` and their
own `alpha[r]`, `sigma[r]`, `tau[r]` (numbers are shared by all r). `xi[t]` is the group's auxiliary
variable and ξ̄_r = Σ_t q[t,r] ξ_t (A14 eq. 16 prints ξ_r inside that sum; the supplement's eq. 40 has ξ_t,
which is used here).

A cluster is described by its row of group counts: `counts[c, t]` points of group t. Which basis measure a
cluster came from (z_c) is summed out (A14 eq. 31) unless a function takes `z`. R = T = 1 with q = 1 is the
plain law.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from hedgerow.reference.prior import psi

__all__ = ["log_cluster_terms", "log_cluster_terms_at_log", "log_cluster_weight", "log_mixed_joint", "log_mixed_joint_z", "xi_bar"]

Floats = NDArray[np.float64]


def xi_bar(xi: ArrayLike, q: ArrayLike) -> Floats:
    """ξ̄_r = Σ_t q[t,r] ξ_t, one per basis measure."""
    return np.asarray(np.asarray(xi, float) @ np.asarray(q, float))


def log_cluster_terms(counts: ArrayLike, xi: ArrayLike, q: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Floats:
    """log(q̄[c,r] κ_r(|c|, ξ̄_r)) for every cluster (rows of `counts`) and basis measure: shape (K, R).

    log q̄[c,r] = Σ_t counts[c,t] log q[t,r]; a zero q forbids the pair only where the cluster has such
    points.
    """
    with np.errstate(divide="ignore"):
        return log_cluster_terms_at_log(counts, np.log(xi), q, alpha, sigma, tau)


def log_cluster_terms_at_log(
    counts: ArrayLike, log_xi: ArrayLike, q: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike
) -> Floats:
    """The same at log ξ, for ξ beyond the floats too."""
    counts, q = np.atleast_2d(np.asarray(counts, float)), np.asarray(q, float)
    sigma = np.asarray(sigma, float)
    with np.errstate(divide="ignore"):
        log_q = np.log(q)
        log_rate = np.logaddexp(logsumexp(log_q + np.asarray(log_xi, float)[:, None], axis=0), np.log(tau))
    present = counts[:, :, None] > 0
    log_q_bar = np.where(present, counts[:, :, None] * np.where(present, log_q, 0.0), 0.0).sum(axis=1)
    sizes = counts.sum(axis=1)[:, None]
    return np.asarray(log_q_bar + np.log(alpha) + gammaln(sizes - sigma) - gammaln(1 - sigma) - (sizes - sigma) * log_rate)


def log_cluster_weight(counts: ArrayLike, xi: ArrayLike, q: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Floats:
    """log Σ_r q̄[c,r] κ_r(|c|, ξ̄_r) per cluster: the prior's part of φ(X_c | h_c) (A14 eq. 31)."""
    return np.asarray(logsumexp(log_cluster_terms(counts, xi, q, alpha, sigma, tau), axis=1))


def log_mixed_joint(counts: ArrayLike, xi: ArrayLike, q: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> float:
    """Log of p(Π, ξ), z summed out: the factors of A14 eq. 14 with eq. 31 for the clusters."""
    weights = log_cluster_weight(counts, xi, q, alpha, sigma, tau)
    return _log_group_factors(counts, xi, q, alpha, sigma, tau) + float(weights.sum())


def log_mixed_joint_z(
    counts: ArrayLike,
    z: ArrayLike,
    xi: ArrayLike,
    q: ArrayLike,
    alpha: ArrayLike,
    sigma: ArrayLike,
    tau: ArrayLike,
) -> float:
    """Log of p(Π, z, ξ), with the basis measure z[c] of every cluster given (A14 eq. 14)."""
    terms = log_cluster_terms(counts, xi, q, alpha, sigma, tau)
    chosen = np.take_along_axis(terms, np.asarray(z, int)[:, None], axis=1)
    return _log_group_factors(counts, xi, q, alpha, sigma, tau) + float(chosen.sum())


def _log_group_factors(counts: ArrayLike, xi: ArrayLike, q: ArrayLike, alpha: Any, sigma: Any, tau: Any) -> float:
    """Σ_t [(n_t-1) log ξ_t - lnΓ(n_t)] - Σ_r ψ_r(ξ̄_r)."""
    group_sizes = np.atleast_2d(np.asarray(counts, float)).sum(axis=0)
    bar = xi_bar(xi, q)
    groups = (group_sizes - 1) * np.log(np.asarray(xi, float)) - gammaln(group_sizes)
    exponents = np.broadcast_to(psi(bar, alpha, sigma, tau), bar.shape)
    return float(groups.sum() - exponents.sum())
