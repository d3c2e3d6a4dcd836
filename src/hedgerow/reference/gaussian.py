"""Gaussian rows with full covariances, one cluster at a time, in NumPy; missing entries are integrated by quadrature.

Below power 1 a row with gaps counts as the integral of L(x|θ)^power · p_0(x_m | x_o)^(1 - power) over its missing entries x_m,
where p_0 is the density of one row under the base measure: the entries are the cluster's as far as the row counts, else its.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp, multigammaln
from scipy.stats import t as student

__all__ = ["entry_given_seen", "gaussian_wishart_log_marginal", "log_one_more", "wishart_after"]

Floats = NDArray[np.float64]
State = tuple[Floats, float, float, Floats]
"""A Gaussian-Wishart law: mean, r, ν, Ψ."""

QUADRATURE_NODES = 48
"""For a missing entry; twice as many change the ninth digit."""


def gaussian_wishart_log_marginal(X: ArrayLike, mean: ArrayLike, r: float, nu: float, psi: ArrayLike, power: float = 1.0) -> float:
    """Gaussian rows, H = N(μ | mean, (rΛ)^-1) · Wishart(Λ | psi^-1, nu) (A14 eq. 34-35); NaN = missing.

    With n rows of mean x̄ and scatter S: r' = r+n, ν' = ν+n, Ψ' = Ψ + S + (r n / r')(x̄-m)(x̄-m)ᵀ and
    log p = -(nd/2) log π + lnΓ_d(ν'/2) - lnΓ_d(ν/2) + (ν/2) log|Ψ| - (ν'/2) log|Ψ'| + (d/2) log(r/r').
    """
    X = np.asarray(X, float)
    base = np.asarray(mean, float), r, nu, np.asarray(psi, float)
    whole = ~np.isnan(X).any(axis=1)
    state = wishart_after(X[whole], base, power)
    n, d = power * int(whole.sum()), X.shape[1]
    log_p = (
        -0.5 * n * d * np.log(np.pi)
        + multigammaln(0.5 * (nu + n), d)
        - multigammaln(0.5 * nu, d)
        + 0.5 * nu * np.linalg.slogdet(base[3])[1]
        - 0.5 * (nu + n) * np.linalg.slogdet(state[3])[1]
        + 0.5 * d * np.log(r / (r + n))
    )
    return float(log_p) + _log_with_gaps(list(X[~whole]), state, base, power)


def wishart_after(X: Floats, state: State, power: float = 1.0) -> State:
    """The law of the parameters given whole rows."""
    if len(X) == 0:
        return state
    mean, r, nu, psi = state
    n = power * len(X)
    offset, centred = X.mean(axis=0) - mean, X - X.mean(axis=0)
    scale = psi + power * (centred.T @ centred) + r * n / (r + n) * np.outer(offset, offset)
    return mean + n / (r + n) * offset, r + n, nu + n, scale


def log_one_more(row: Floats, state: State, power: float = 1.0) -> float:
    """log ∫ p(θ) L(x|θ)^power dθ dx_m, the missing entries x_m integrated over the whole line: a density of the others at power 1."""
    mean, r, nu, psi = state
    seen = ~np.isnan(row)
    d, missing = len(row), int((~seen).sum())
    z, inner = row[seen] - mean[seen], psi[np.ix_(seen, seen)]
    rho, freedom = power * r / (r + power), nu + power - missing
    log_inner, log_all = np.linalg.slogdet(inner)[1], np.linalg.slogdet(psi)[1]
    return float(
        _log_rise(nu, power, d)
        + d / 2 * np.log(r / (r + power))
        - power * d / 2 * np.log(np.pi)
        - power / 2 * log_all
        - freedom / 2 * np.log1p(rho * (z @ np.linalg.solve(inner, z)))
        + missing / 2 * np.log(np.pi / rho)
        - (log_inner - log_all) / 2
        + gammaln(freedom / 2)
        - gammaln((nu + power) / 2)
    )


@lru_cache(maxsize=256)
def _log_rise(nu: float, more: float, d: int) -> float:
    """lnΓ_d((ν + more)/2) - lnΓ_d(ν/2), which takes SciPy longer than all the rest."""
    return float(multigammaln((nu + more) / 2, d) - multigammaln(nu / 2, d))


def entry_given_seen(row: Floats, j: int, state: State, power: float = 1.0) -> tuple[float, float, float]:
    """Location, scale and degrees of freedom of the t of missing entry j given those that are there, other missing ones left out."""
    mean, r, nu, psi = state
    seen = ~np.isnan(row)
    z, inner = row[seen] - mean[seen], psi[np.ix_(seen, seen)]
    weights = np.linalg.solve(inner, psi[seen, j])
    rho, freedom = power * r / (r + power), nu + power - int((~seen).sum())
    left = psi[j, j] - psi[seen, j] @ weights
    spread = left * (1 / rho + z @ np.linalg.solve(inner, z)) / freedom
    return float(mean[j] + weights @ z), float(np.sqrt(spread)), float(freedom)


def _log_with_gaps(rows: list[Floats], state: State, base: State, power: float) -> float:
    """log of what rows with gaps add, one after the other."""
    if not rows:
        return 0.0
    row, later = rows[0], rows[1:]
    missing = np.flatnonzero(np.isnan(row))
    if len(missing) == 0 or (power == 1 and not later):
        return log_one_more(row, state, power) + _log_with_gaps(later, wishart_after(row[None], state, power), base, power)
    j = int(missing[0])
    location, scale, freedom = entry_given_seen(row, j, state, power)
    # The mean over quantiles of the entry's own law, so that the integrand is bounded and the density cancels.
    nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
    tilt = (1 + nodes) ** 2 * (2 - nodes) / 4  # flat at both ends, where quantiles run away
    terms = []
    for value in location + scale * student.ppf(tilt, freedom):
        filled = row.copy()
        filled[j] = value
        term = _log_with_gaps([filled, *later], state, base, power) - log_one_more(filled, state, power)
        if power < 1:
            term += (1 - power) * (log_one_more(filled, base) - log_one_more(row, base))
        terms.append(term)
    log_weights = np.log(weights * 0.75 * (1 - nodes**2))
    return log_one_more(row, state, power) + float(logsumexp(log_weights + np.array(terms)))
