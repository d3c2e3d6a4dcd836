"""Expected numbers of clusters: closed forms, and quadrature for the normalized generalized gamma process.

In the continuous-time urn (`hedgerow.priors.urns`) clusters open as a Poisson process with mean ψ(u), so
K(u) - ψ(u) is a martingale and, stopped at the n-th arrival U_n,

    E K_n = E ψ(U_n),          U_n = G_n / T,    G_n ~ Gamma(n, 1),    T = total mass of the measure.

Given β = α τ^σ/σ (the law depends on α and τ through β only, so τ = 1 here) T is a positive stable variable
tilted by e^(-T). Kanter (1975) writes the stable variable as β^(1/σ) (A(φ)/E)^((1-σ)/σ) with φ uniform on
(0, π), E a standard exponential and A Zolotarev's function, so E K_n is an integral over (φ, log E) of a
smooth positive function, done by trapezoidal rules on scales on which it decays exponentially. Against
exact enumeration and against finer rules the relative error stays below 1e-7 for 0.003 ≤ σ ≤ 0.99 and n up
to a million.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline
from scipy.special import digamma, wrightomega

__all__ = ["dp_expected", "ngg_expected", "py_expected", "stable_expected"]

Floats = NDArray[np.float64]

LEGENDRE_NODES, LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(24)
DROP = 36.0
"""Integrands are followed down to e^-36 of their top."""


def dp_expected(n: int, alpha: ArrayLike) -> Floats:
    """Dirichlet process: α (digamma(α+n) - digamma(α))."""
    alpha = np.asarray(alpha, float)
    return np.asarray(1 + alpha * _digamma_step(alpha + 1, n - 1))


def py_expected(n: int, theta: ArrayLike, sigma: ArrayLike) -> Floats:
    """Pitman-Yor, θ > 0: (θ/σ) [(θ+σ)_n / (θ)_n - 1] (Pitman 2006, eq. 3.13)."""
    theta, sigma = np.asarray(theta, float), np.asarray(sigma, float)
    exponent = _log_rising_ratio(theta + 1, n - 1, sigma) + np.log1p(sigma / theta)
    return np.asarray(theta / sigma * np.expm1(exponent))


def stable_expected(n: int, sigma: ArrayLike) -> Floats:
    """Normalized stable: Γ(n+σ) / (Γ(n) Γ(1+σ)), the limit θ → 0 of Pitman-Yor."""
    return np.asarray(np.exp(_log_rising_ratio(np.asarray(1.0), n - 1, np.asarray(sigma, float))))


def _log_rising_ratio(x: Floats, m: int, sigma: Floats) -> Floats:
    """log[(x+σ)_m / (x)_m] = σ ∫₀¹ digamma(x+m+σt) - digamma(x+σt) dt, without cancellation; x ≥ 1."""
    total = np.zeros(np.broadcast_shapes(x.shape, sigma.shape))
    for node, weight in zip(0.5 * (LEGENDRE_NODES + 1), 0.5 * LEGENDRE_WEIGHTS, strict=True):
        total = total + weight * _digamma_step(x + sigma * node, m)
    return np.asarray(sigma * total)


def _digamma_step(x: Floats, m: int) -> Floats:
    """digamma(x+m) - digamma(x); from the asymptotic series term by term where the difference would cancel."""
    y = np.maximum(x, 1e3)
    series = np.log1p(m / y) + m / (2 * y * (y + m)) + (1 / y**2 - 1 / (y + m) ** 2) / 12
    return np.asarray(np.where(x < 1e3, digamma(x + m) - digamma(x), series))


CHEBYSHEV_POINTS = 60
"""More values of β than this are read off an interpolant through as many."""


def ngg_expected(n: int, sigma: float, log_beta: ArrayLike) -> Floats:
    """Normalized generalized gamma, 0 < σ < 1, for every log β in the array."""
    shape = np.shape(log_beta)
    # Beyond e^±40 the limits are reached: Stable below, n clusters above.
    flat = np.clip(np.atleast_1d(np.asarray(log_beta, float)).ravel(), -40.0, 40.0)
    if flat.size <= CHEBYSHEV_POINTS:
        return _ngg_at(n, sigma, flat).reshape(shape)
    middle, half = 0.5 * (flat.max() + flat.min()), 0.5 * (flat.max() - flat.min())
    nodes = np.cos(np.pi * (np.arange(CHEBYSHEV_POINTS) + 0.5) / CHEBYSHEV_POINTS)
    heights = np.log(_ngg_at(n, sigma, middle + half * nodes))
    series = np.polynomial.chebyshev.chebfit(nodes, heights, CHEBYSHEV_POINTS - 1)
    return np.reshape(np.exp(np.polynomial.chebyshev.chebval((flat - middle) / half, series)), shape)


def _ngg_at(n: int, sigma: float, log_betas: Floats) -> Floats:
    """E ψ(G_n/T) for each β: the average of E[ψ(G_n/T) | T] over the tilted stable T."""
    grids = [_tilted_stable(sigma, log_beta) for log_beta in log_betas.tolist()]
    # E[ψ | T]/β depends on T alone and is smooth: a spline through a few hundred values stands in for it.
    low, high = min(q.min() for q, _ in grids), max(q.max() for q, _ in grids)
    knots = np.arange(low - 0.1, high + 0.15, 0.05)
    spline = CubicSpline(knots, _log_mean_exponent(n, sigma, _bend(knots, (1 - sigma) / sigma)))
    means = []
    for log_beta, (q, log_weight) in zip(log_betas.tolist(), grids, strict=True):
        weight = np.exp(log_weight - log_weight.max())
        means.append(float(np.sum(weight * np.exp(log_beta + spline(q))) / weight.sum()))
    return np.array(means)


def _bend(q: Floats, a: float) -> Floats:
    """y = q - b·log(1 + e^(-q)/b), b = a-1: steps of size 1 for y above 0, growing with |y| below, up to a.

    The identity for a ≤ 1. These are the scales of e^(-T), y = log T, and of E = e^((c-y)/a).
    """
    return q if a <= 1 else np.asarray(q - (a - 1) * np.log1p(np.exp(-q) / (a - 1)))


def _unbend(y: Floats, a: float) -> Floats:
    """The inverse of `_bend` by Newton's method, from its limit for large a, q = y + ω(-y) (Wright's
    omega)."""
    if a <= 1:
        return y
    q = np.asarray(y + wrightomega(-y))
    for _ in range(40):
        z = np.exp(-q)
        step = (_bend(q, a) - y) / (1 + z / (1 + z / (a - 1)))
        q = q - step
        if np.all(np.abs(step) < 1e-12 * (1 + np.abs(q))):
            break
    return q


def _log_mean_exponent(n: int, sigma: float, log_mass: Floats) -> Floats:
    """log E[(1 + G_n/T)^σ - 1] for each log T, by the trapezoidal rule in log G_n."""
    centre, scale = math.log(n), 1 / math.sqrt(n)
    t = np.linspace(centre - 40 / n - 9 * scale, centre + min(9.5 * scale, 4.0), 150)
    weight = np.exp(n * (t - centre) - n * np.expm1(t - centre))
    weight /= weight.sum()
    power = sigma * np.logaddexp(0, t[:, None] - log_mass)
    top = power.max(axis=0)
    with np.errstate(divide="ignore"):  # where it is not the one taken
        large = np.log(weight @ (np.exp(power - top) - np.exp(-top))) + top
    small = np.log(weight @ np.expm1(np.minimum(power, 1.0)))
    return np.asarray(np.where(top < 1, small, large))


def _tilted_stable(sigma: float, log_beta: float) -> tuple[Floats, Floats]:
    """A grid of log T, unbent, and the log weights (unnormalised) of the tilted stable law on it.

    At each angle the log density in x = log E, x - e^x - T(x) with T = e^(c - ax) and a = (1-σ)/σ, is
    concave: its top is bracketed in closed form and its edges are found by bisection. The grid in between
    is even in x when a ≤ 1; otherwise T moves faster than E near T = 1, and it is even in log T, unbent.
    """
    a = (1 - sigma) / sigma
    k = np.linspace(-24.0, 24.0, 140)
    log_angle = -np.logaddexp(0, -k) - np.logaddexp(0, k)
    c = log_beta / sigma + a * _log_zolotarev(k, sigma)

    def height(x: Floats) -> Floats:
        return np.asarray(x - np.exp(x) - np.exp(c - a * x))

    start = np.maximum(0.0, (c + math.log(a)) / (1 + a))
    rising = lambda x: np.exp(x) - 1 < a * np.exp(c - a * x)  # noqa: E731
    top, _ = _bisect(rising, start, start + math.log(2))
    floor = height(top) - DROP
    with np.errstate(over="ignore"):
        _, left = _bisect(lambda x: height(x) > floor, top, top - 60)
        _, right = _bisect(lambda x: height(x) > floor, top, top + 5)
    low, high = _unbend(c - a * right, a), _unbend(c - a * left, a)
    q = low + (high - low) * np.linspace(0, 1, 100)[:, None]
    y = _bend(q, a)
    x = (c - y) / a
    log_slope = 0.0 if a <= 1 else np.log1p(1 / (np.exp(q) + 1 / (a - 1)))
    return q, log_angle + x - np.exp(x) - np.exp(y) + log_slope + np.log(high - low)


def _bisect(inside: object, good: Floats, bad: Floats) -> tuple[Floats, Floats]:
    """Halve the brackets [good, bad] 45 times; `inside` holds at good, not at bad."""
    assert callable(inside)
    for _ in range(45):
        x = 0.5 * (good + bad)
        kept = inside(x)
        good, bad = np.where(kept, x, good), np.where(kept, bad, x)
    return good, bad


def _log_zolotarev(k: Floats, sigma: float) -> Floats:
    """log A(φ) at φ = π/(1+e^(-k)), A = sin((1-σ)φ) sin(σφ)^(σ/(1-σ)) / sin(φ)^(1/(1-σ)).

    Near π the sines are taken at the complement, so that no digit is lost there.
    """
    angle, rest = np.pi / (1 + np.exp(-k)), np.pi / (1 + np.exp(k))
    low = angle <= rest
    first = np.where(low, np.sin((1 - sigma) * angle), np.sin(sigma * np.pi + (1 - sigma) * rest))
    second = np.where(low, np.sin(sigma * angle), np.sin((1 - sigma) * np.pi + sigma * rest))
    whole = np.where(low, np.sin(angle), np.sin(rest))
    return np.asarray(np.log(first / whole) + sigma / (1 - sigma) * np.log(second / whole))
