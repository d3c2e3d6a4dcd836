"""The partition laws in NumPy: Laplace exponent, cluster weights, joint density with u, conditionals of the
rest.

Model (Lee & Choi 2014, "A14", section 2.1; Lee & Choi 2015, "N15", eq. 4). A completely random measure with
Lévy intensity

    ρ(dw) = α / Γ(1-σ) · w^(-1-σ) · e^(-τ w) dw,      α > 0, 0 ≤ σ < 1, τ ≥ 0 (τ > 0 when σ = 0)

is normalised and n points are drawn from it. Ties make a partition Π with cluster sizes |c|; u is the
auxiliary variable with u | total mass T ~ Gamma(n, T). Argument names are the symbols: `u`, `alpha` = α,
`sigma` = σ, `tau` = τ, `theta` = θ of Pitman-Yor, `sizes` = the |c|, n = their sum.

Every function broadcasts over arrays of u and of the parameters; `sizes` is one partition's sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel, gammaln

__all__ = [
    "alpha_conditional",
    "log_dp_partition",
    "log_joint_at_log",
    "log_joint_u",
    "log_kappa",
    "log_new",
    "log_old",
    "log_psi_at_log",
    "log_py_joint_at_log",
    "log_py_partition",
    "psi",
    "psi_at_log",
    "sigma_log_density",
    "tau_log_density",
    "u_log_density",
]

Floats = NDArray[np.float64]


def psi(u: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Any:
    """Laplace exponent ψ(u) = (α/σ)((τ+u)^σ - τ^σ), or α log(1+u/τ) at σ = 0 (N15 eq. 5)."""
    with np.errstate(divide="ignore"):
        return psi_at_log(np.log(u), alpha, sigma, tau)


def psi_at_log(v: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Any:
    """ψ(e^v), for u beyond the floats too, and for α below them as long as the product is one."""
    with np.errstate(over="ignore"):  # ψ = inf is then the right answer
        return np.exp(np.log(alpha) + log_psi_at_log(v, sigma, tau))


def log_psi_at_log(v: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Any:
    """log(ψ(e^v)/α): τ^σ L·(e^(σL)-1)/(σL) in logs with L = log(1+u/τ), which is exact through σ = 0."""
    sigma, v = np.asarray(sigma, float), np.asarray(v, float)
    if np.ndim(tau) == 0 and tau == 0:
        return sigma * v - np.log(sigma)
    stretch = np.logaddexp(v - np.log(tau), 0.0)
    power = sigma * stretch
    with np.errstate(divide="ignore"):
        small = np.log(stretch) + np.log(exprel(np.minimum(power, 1.0)))
        large = power + np.log1p(-np.exp(-np.maximum(power, 1.0))) - np.log(sigma)
    return sigma * np.log(tau) + np.where(power < 1.0, small, large)


def log_kappa(m: ArrayLike, u: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Any:
    """Log of κ(m,u) = ∫ w^m e^(-uw) ρ(dw) = α Γ(m-σ)/Γ(1-σ) (u+τ)^(σ-m) (N15 eq. 5, A14 suppl. eq. 57)."""
    m, sigma = np.asarray(m, float), np.asarray(sigma, float)
    rate = np.log(np.add(u, tau))
    return np.log(alpha) + gammaln(m - sigma) - gammaln(1 - sigma) - (m - sigma) * rate


def log_old(m: ArrayLike, u: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Any:
    """Log weight of joining a cluster of m points: κ(m+1,u)/κ(m,u) = (m-σ)/(u+τ) (N15 eq. 6)."""
    return np.log(np.subtract(m, sigma)) - np.log(np.add(u, tau))


def log_new(u: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Any:
    """Log weight of opening a cluster: κ(1,u) = α (u+τ)^(σ-1) (N15 eq. 6)."""
    return np.log(alpha) + (np.asarray(sigma, float) - 1) * np.log(np.add(u, tau))


def log_joint_u(sizes: ArrayLike, u: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Any:
    """Log of p(Π, u) = u^(n-1) e^(-ψ(u)) / Γ(n) · Π_c κ(|c|,u) (N15 eq. 4)."""
    return log_joint_at_log(sizes, np.log(u), alpha, sigma, tau)


def log_joint_at_log(sizes: ArrayLike, v: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Any:
    """Log of p(Π, u) at u = e^v (a density in u, not in v), for u beyond the floats too.

    Π_c κ(|c|,u) is written out: α^K (u+τ)^(σK-n) Π_c Γ(|c|-σ)/Γ(1-σ); and u^(n-1) (u+τ)^(-n) as (1+τ/u)^(-n)/u,
    as n log u has no digits left where log u is large.
    """
    sizes, sigma, v = np.asarray(sizes), np.asarray(sigma, float), np.asarray(v, float)
    n, K = sizes.sum(), sizes.size
    with np.errstate(divide="ignore"):
        more = np.logaddexp(0.0, np.log(tau) - v)  # log((u+τ)/u)
    shapes = sum(gammaln(m - sigma) for m in sizes) - K * gammaln(1 - sigma)
    front = -v - n * more - psi_at_log(v, alpha, sigma, tau) - gammaln(n)
    return front + K * np.log(alpha) + sigma * K * (v + more) + shapes


def log_dp_partition(sizes: ArrayLike, alpha: ArrayLike) -> Any:
    """Log of the Dirichlet process' p(Π) = Γ(α)/Γ(α+n) Π_c α Γ(|c|), u integrated out (A14 suppl. eq. 15)."""
    sizes, alpha = np.asarray(sizes, float), np.asarray(alpha, float)
    return gammaln(alpha) - gammaln(alpha + sizes.sum()) + sizes.size * np.log(alpha) + gammaln(sizes).sum()


def log_py_partition(sizes: ArrayLike, theta: ArrayLike, sigma: ArrayLike) -> Any:
    """Log of the Pitman-Yor p(Π) = Γ(θ)/Γ(θ+n) · σ^K Γ(θ/σ+K)/Γ(θ/σ) · Π_c Γ(|c|-σ)/Γ(1-σ), θ > 0.

    This is NGG(α, σ, 1) with α ~ Gamma(θ/σ, rate 1/σ) and with α and u integrated out (Pitman & Yor 1997).
    """
    sizes = np.asarray(sizes, float)
    theta, sigma = np.asarray(theta, float), np.asarray(sigma, float)
    return gammaln(theta) - gammaln(theta + sizes.sum()) + _py_clusters(sizes, theta, sigma)


def log_py_joint_at_log(sizes: ArrayLike, v: ArrayLike, theta: ArrayLike, sigma: ArrayLike) -> Any:
    """Log of the Pitman-Yor p(Π, u) at u = e^v, α integrated out: u is Beta-prime(n, θ) whatever the
    partition."""
    sizes = np.asarray(sizes, float)
    theta, sigma = np.asarray(theta, float), np.asarray(sigma, float)
    n = sizes.sum()
    front = np.multiply(n - 1, v) - (n + theta) * np.logaddexp(v, 0.0) - gammaln(n)
    return front + _py_clusters(sizes, theta, sigma)


def _py_clusters(sizes: Floats, theta: Floats, sigma: Floats) -> Any:
    """The factors of the Pitman-Yor law that look at the clusters: Π_{k<K} (θ+kσ) times the rising
    factorials."""
    total = np.zeros(np.broadcast_shapes(theta.shape, sigma.shape))
    for k in range(sizes.size):
        total = total + np.log(theta + k * sigma)
    for m in sizes:
        total = total + gammaln(m - sigma) - gammaln(1 - sigma)
    return total[()]


def u_log_density(v: ArrayLike, n: int, K: int, alpha: ArrayLike, sigma: ArrayLike, tau: ArrayLike) -> Any:
    """Log density of v = log u given Π, up to a constant: n v - ψ(u) - (n-σK) log(u+τ).

    It is the conditional of N15 eq. 4 with the Jacobian e^v included, hence n and not n-1.
    """
    rate = v if np.ndim(tau) == 0 and tau == 0 else np.logaddexp(v, np.log(tau))
    return np.multiply(n, v) - psi_at_log(v, alpha, sigma, tau) - (n - np.multiply(sigma, K)) * rate


def alpha_conditional(K: int, u: float, sigma: float, tau: float, a: float, b: float) -> tuple[float, float]:
    """Shape and rate of α | Π, u under a Gamma(a, rate b) law: a + K and b + ψ(u)/α (A14 suppl. eq. 64)."""
    return a + K, b + float(psi(u, 1.0, sigma, tau))


def sigma_log_density(logit: float, sizes: ArrayLike, u: float, alpha: float, tau: float, a: float, b: float) -> float:
    """Log density of logit σ given Π and u under a Beta(a, b) law, up to a constant (A14 suppl. eq. 67)."""
    sigma = 1 / (1 + np.exp(-logit))
    return _beta_law(logit, a, b) + float(log_joint_u(sizes, u, alpha, sigma, tau))


def tau_log_density(log_tau: float, sizes: ArrayLike, u: float, alpha: float, sigma: float, a: float, b: float) -> float:
    """Log density of log τ given Π and u under a Gamma(a, rate b) law, up to a constant (A14 suppl. eq.
    66)."""
    return _gamma_law(log_tau, a, b) + float(log_joint_u(sizes, u, alpha, sigma, np.exp(log_tau)))


def _gamma_law(log_x: float, a: float, b: float) -> float:
    """Gamma(a, rate b) on the log scale, Jacobian included, up to a constant: x^a e^(-bx)."""
    return float(a * log_x - b * np.exp(log_x))


def _beta_law(logit: float, a: float, b: float) -> float:
    """Beta(a, b) on the logit scale, Jacobian included, up to a constant: x^a (1-x)^b."""
    return float(-a * np.logaddexp(0, -logit) - b * np.logaddexp(0, logit))
