"""Log marginal likelihoods log p(X_c) of the conjugate families, in NumPy, one cluster at a time.

p(X_c) = ∫ H(dθ) Π_{i∈c} L(x_i|θ)^power (N15 section 2.1 at power 1). Argument names are the symbols of each base
measure H; every function returns 0 for a cluster without rows. A power below 1 shrinks every sufficient statistic by that
factor, the number of rows among them (Miller & Dunson 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.special import betaln, gammaln

from hedgerow.reference.gaussian import gaussian_wishart_log_marginal

__all__ = [
    "bernoulli_log_marginal",
    "categorical_log_marginal",
    "gaussian_diagonal_log_marginal",
    "gaussian_wishart_log_marginal",
    "multinomial_log_marginal",
    "nips2015_gaussian_wishart",
    "poisson_log_marginal",
    "product_log_marginal",
]

Floats = NDArray[np.float64]


def nips2015_gaussian_wishart(X: ArrayLike) -> tuple[Floats, float, float, Floats]:
    """The data-driven base measure of N15 section 4: mean, r = 0.1, nu = d+6, psi = Σ/(10 det Σ)^(1/d)."""
    X = np.asarray(X, float)
    d = X.shape[1]
    covariance = np.atleast_2d(np.cov(X, rowvar=False))
    log_det = np.linalg.slogdet(covariance)[1]
    return X.mean(axis=0), 0.1, d + 6.0, covariance * np.exp(-(np.log(10) + log_det) / d)


def gaussian_diagonal_log_marginal(
    X: ArrayLike, mean: ArrayLike, r: ArrayLike, a: ArrayLike, b: ArrayLike, power: float = 1.0
) -> float:
    """Independent Gaussian columns, H_j = N(μ_j | mean_j, 1/(r_j λ_j)) · Gamma(λ_j | a_j, rate b_j); NaN =
    missing.

    A missing entry is left out of its column, which is its integral over the likelihood. With n entries
    present: r' = r+n, a' = a+n/2, b' = b + S/2 + r n (x̄-m)²/(2r') and log p = -(n/2) log 2π + ½ log(r/r')
    + a log b - a' log b' + lnΓ(a') - lnΓ(a).
    """
    X = np.asarray(X, float)
    d = X.shape[1]
    mean, r, a, b = (np.broadcast_to(np.asarray(x, float), (d,)) for x in (mean, r, a, b))
    total = 0.0
    for j in range(d):
        x = X[:, j][~np.isnan(X[:, j])]
        if x.size == 0:
            continue
        n = power * x.size
        rate = b[j] + 0.5 * power * np.sum((x - x.mean()) ** 2) + 0.5 * r[j] * n * (x.mean() - mean[j]) ** 2 / (r[j] + n)
        shape = a[j] + 0.5 * n
        total += (
            -0.5 * n * np.log(2 * np.pi)
            + 0.5 * np.log(r[j] / (r[j] + n))
            + a[j] * np.log(b[j])
            - shape * np.log(rate)
            + gammaln(shape)
            - gammaln(a[j])
        )
    return float(total)


def multinomial_log_marginal(X: Any, beta: float, power: float = 1.0) -> float:
    """Count rows, H = symmetric Dirichlet(beta) over the columns, multinomial coefficients included.

    X is a dense array or a SciPy sparse matrix of counts. With column totals N_j and total N:
    log p = Σ_i [lnΓ(N_i+1) - Σ_j lnΓ(x_ij+1)] + lnΓ(dβ) - lnΓ(dβ+N) + Σ_j [lnΓ(β+N_j) - lnΓ(β)].
    """
    d = X.shape[1]
    counts = X.data if issparse(X) else np.asarray(X, float).ravel()
    row_totals = np.asarray(X.sum(axis=1), float).ravel()
    column_totals = np.asarray(X.sum(axis=0), float).ravel()
    coefficient = gammaln(row_totals + 1).sum() - gammaln(np.asarray(counts, float) + 1).sum()
    seen = power * column_totals[column_totals > 0]
    dirichlet = gammaln(d * beta) - gammaln(d * beta + seen.sum()) + (gammaln(beta + seen) - gammaln(beta)).sum()
    return float(power * coefficient + dirichlet)


def bernoulli_log_marginal(X: ArrayLike, a: ArrayLike, b: ArrayLike, power: float = 1.0) -> float:
    """Independent columns of 0 and 1, H_j = Beta(a_j, b_j); NaN = missing.

    With n₁ ones and n₀ zeros present: log p = ln B(a+n₁, b+n₀) - ln B(a, b).
    """
    X = np.asarray(X, float)
    ones, zeros = power * (X == 1).sum(axis=0), power * (X == 0).sum(axis=0)
    a, b = np.asarray(a, float), np.asarray(b, float)
    return float((betaln(a + ones, b + zeros) - betaln(a, b)).sum())


def categorical_log_marginal(codes: ArrayLike, beta: Sequence[ArrayLike], power: float = 1.0) -> float:
    """Independent columns of levels 0, 1, ..., H_j = Dirichlet(beta[j]); NaN or negative = missing.

    With n_l entries of level l present, n in all, and B = Σ_l β_l:
    log p = lnΓ(B) - lnΓ(B+n) + Σ_l [lnΓ(β_l+n_l) - lnΓ(β_l)].
    """
    table = np.asarray(codes, float)
    total = 0.0
    for j, column in enumerate(beta):
        weights = np.asarray(column, float)
        counts = power * np.array([(table[:, j] == level).sum() for level in range(weights.size)], float)
        total += gammaln(weights.sum()) - gammaln(weights.sum() + counts.sum()) if weights.size else 0.0
        total += (gammaln(weights + counts) - gammaln(weights)).sum()
    return float(total)


def poisson_log_marginal(X: ArrayLike, a: ArrayLike, b: ArrayLike, power: float = 1.0) -> float:
    """Independent columns of counts, H_j = Gamma(a_j, rate b_j); NaN = missing.

    With n counts of sum S present:
    log p = a log b - lnΓ(a) + lnΓ(a+S) - (a+S) log(b+n) - Σ_i lnΓ(x_i+1).
    """
    X = np.asarray(X, float)
    n, total = power * (~np.isnan(X)).sum(axis=0), power * np.nansum(X, axis=0)
    a, b = np.asarray(a, float), np.asarray(b, float)
    rates = a * np.log(b) - gammaln(a) + gammaln(a + total) - (a + total) * np.log(b + n)
    return float(np.broadcast_to(rates, total.shape).sum() - power * np.nansum(gammaln(X + 1)))


def product_log_marginal(X: ArrayLike, parts: Sequence[tuple[Sequence[int], Callable[[Floats], float]]]) -> float:
    """Groups of columns that are independent given the cluster: the sum of their log marginals.

    `parts` holds pairs of columns and the function from their rows to their log marginal.
    """
    X = np.asarray(X, float)
    return float(sum(log_marginal(X[:, list(columns)]) for columns, log_marginal in parts))
