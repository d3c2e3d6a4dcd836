"""Expected numbers of clusters: closed forms, and quadrature for the normalized generalized gamma process.

In the continuous-time urn (`hedgerow.priors.urns`) clusters open as a Poisson process with mean ψ(u), so
K(u) - ψ(u) is a martingale and, stopped at the n-th arrival U_n,

    E K_n = E ψ(U_n),          U_n = G_n / T,    G_n ~ Gamma(n, 1),    T = total mass of the measure.

Given β = α τ^σ/σ (the law depends on α and τ through β only, so τ = 1 here) T is a positive stable variable
tilted by e^(-T). Kanter (1975) writes the stable variable as β^(1/σ) (A(φ)/E)^((1-σ)/σ) with φ uniform on
(0, π), E a standard exponential and A Zolotarev's function, so E K_n is an integral over (φ, log E) of a
smooth positive function, done by trapezoidal rules on scales on which it decays exponentially. Against
exact enumeration and against finer rules the relative error stays below 1e-7 for 0.01 ≤ σ ≤ 0.99 and n up
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
    return np.asarray(1 + alpha * (digamma(alpha + n) - digamma(alpha + 1)))


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
        total = total + weight * (digamma(x + m + sigma * node) - digamma(x + sigma * node))
    return np.asarray(sigma * total)


def ngg_expected(n: int, sigma: float, log_beta: ArrayLike) -> Floats:
    """Normalized generalized gamma, 0 < σ < 1, for every log β in the array."""
    shape = np.shape(log_beta)
    flat = np.atleast_1d(np.asarray(log_beta, float)).ravel()
    low, high = float(flat.min()), float(flat.max())
    if flat.size <= CHEBYSHEV_POINTS:
        return np.reshape([_ngg_at(n, sigma, x) for x in flat], shape)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    nodes = np.cos(np.pi * (np.arange(CHEBYSHEV_POINTS) + 0.5) / CHEBYSHEV_POINTS)
    tops = [_ngg_at(n, sigma, middle + half * x) for x in nodes]
    series = np.polynomial.chebyshev.chebfit(nodes, np.log(tops), CHEBYSHEV_POINTS - 1)
    return np.reshape(np.exp(np.polynomial.chebyshev.chebval((flat - middle) / half, series)), shape)


CHEBYSHEV_POINTS = 40
"""More values of β than this are read off an interpolant through as many."""


def _ngg_at(n: int, sigma: float, log_beta: float) -> float:
    """E ψ(G_n/T) for one β: the average of E[ψ(G_n/T) | T] over the tilted stable T."""
    log_mass, log_weight = _tilted_stable(sigma, log_beta)
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    # E[ψ | T] depends on T alone and is smooth: a spline through a few hundred values stands in for it.
    q = _unbend(log_mass)
    knots = np.arange(q.min() - 0.1, q.max() + 0.15, 0.05)
    spline = CubicSpline(knots, _log_mean_exponent(n, sigma, _bend(knots)))
    return float(np.sum(weight * np.exp(log_beta + spline(q))) / weight.sum())


def _bend(q: Floats) -> Floats:
    """y = q - e^(-q): steps of unit size for y above -1, growing with |y| below."""
    return np.asarray(q - np.exp(-q))


def _unbend(y: Floats) -> Floats:
    """The inverse of `_bend`: q = y + ω(-y), ω the Wright omega function."""
    return np.asarray(y + wrightomega(-y))


def _log_mean_exponent(n: int, sigma: float, log_mass: Floats) -> Floats:
    """log E[(1 + G_n/T)^σ - 1] for each log T, by the trapezoidal rule in log G_n."""
    centre, scale = math.log(n), 1 / math.sqrt(n)
    t = np.linspace(centre - 40 / n - 9 * scale, centre + min(9.5 * scale, 4.0), 150)
    weight = np.exp(n * (t - centre) - n * np.expm1(t - centre))
    weight /= weight.sum()
    power = sigma * np.logaddexp(0, t[:, None] - log_mass)
    top = power.max(axis=0)
    large = np.log(weight @ (np.exp(power - top) - np.exp(-top))) + top
    small = np.log(weight @ np.expm1(np.minimum(power, 1.0)))
    return np.asarray(np.where(top < 1, small, large))


def _tilted_stable(sigma: float, log_beta: float) -> tuple[Floats, Floats]:
    """A grid of log T and the log weights (unnormalised) of the tilted stable law on it.

    At each angle the log density in x = log E, x - e^x - T(x) with T = e^(c - ax) and a = (1-σ)/σ, is
    concave: its top is bracketed in closed form and its edges are found by bisection. The grid in between
    is even in x when a < 1; otherwise T moves faster than E and the grid follows log T through `_bend`.
    """
    a = (1 - sigma) / sigma
    k = np.linspace(-28.0, 28.0, 180)
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
    grid = np.linspace(0, 1, 110)[:, None]
    if a < 1:
        x = left + (right - left) * grid
        y = c - a * x
        log_step = np.log(right - left)
    else:
        low, high = _unbend(c - a * right), _unbend(c - a * left)
        q = low + (high - low) * grid
        y = _bend(q)
        x = (c - y) / a
        log_step = np.log1p(np.exp(-q)) + np.log(high - low)
    return y, log_angle + x - np.exp(x) - np.exp(y) + log_step


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
