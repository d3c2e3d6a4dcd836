"""Exact draws of random partitions, one point after the other, in O(n) steps.

Pitman-Yor and the Dirichlet process have their urn: with i points in K clusters the next one opens a
cluster with probability (θ + σK)/(θ + i), else it joins c with probability ∝ |c| - σ.

A normalized random measure has none without u, but it has one in continuous time. Let points arrive on an
atom of mass w at rate w, from time u = 0 on. Given the past, new clusters open at rate ψ'(u) = α(u+τ)^(σ-1)
whatever happened before, and cluster c grows at rate (|c|-σ)/(u+τ); the n-th arrival time is the auxiliary
variable u (James, Lijoi & Prünster 2009). In s = log(u+τ) the clusters grow at the constant rate i - σK
altogether, and the next opening is at distance log(1 + σE/h)/σ with h = α(u+τ)^σ and E a standard
exponential. So each step is a race of two exponentials, and h is multiplied by e^(σ·Δs).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

__all__ = ["draw_measure_urn", "draw_two_parameter_urn"]

Labels = NDArray[np.int32]

LARGEST_LOG = 690.0
"""exp of this and of its negative are floats: u beyond them (α or σ near 0) is reported as that."""


def _pick(target: float, surplus: int, repeats: list[int], sigma: float) -> int:
    """The cluster at `target`, uniform in [0, i - σK): |c| - σ = (|c|-1) + (1-σ), point by point then by
    cluster."""
    if target < surplus:
        return repeats[int(target)]
    return int((target - surplus) / (1 - sigma))


def draw_two_parameter_urn(n: int, theta: float, sigma: float, rng: Generator) -> Labels:
    """Labels of a Pitman-Yor(θ, σ) partition; σ = 0 is the Dirichlet process with α = θ."""
    labels, repeats, K = [0], list[int](), 1
    for i, (coin, place) in enumerate(rng.random((n - 1, 2)).tolist(), start=1):
        if coin * (theta + i) < theta + sigma * K:
            labels.append(K)
            K += 1
        else:
            k = min(_pick(place * (i - sigma * K), i - K, repeats, sigma), K - 1)
            labels.append(k)
            repeats.append(k)
    return np.array(labels, dtype=np.int32)


def draw_measure_urn(n: int, alpha: float, sigma: float, tau: float, rng: Generator) -> tuple[Labels, float]:
    """Labels and u of a normalized random measure with parameters (α, σ, τ)."""
    first = float(rng.standard_exponential())
    h = alpha * tau**sigma if tau > 0 else 0.0
    stretch = _opening(first, h, sigma) if tau > 0 else 0.0
    h += sigma * first
    labels, repeats, K = [0], list[int](), 1
    waits = rng.standard_exponential((n - 1, 2)).tolist()
    places = rng.random(n - 1).tolist()
    for i in range(1, n):
        to_open, to_grow = waits[i - 1]
        weight = i - sigma * K
        step_open, step_grow = _opening(to_open, h, sigma), to_grow / weight
        if step_open < step_grow:
            h += sigma * to_open
            stretch += step_open
            labels.append(K)
            K += 1
        else:
            h *= math.exp(sigma * step_grow)
            stretch += step_grow
            k = min(_pick(places[i - 1] * weight, i - K, repeats, sigma), K - 1)
            labels.append(k)
            repeats.append(k)
    if tau > 0:
        log_u = math.log(tau) + (math.log(math.expm1(stretch)) if stretch < LARGEST_LOG else stretch)
    else:
        log_u = math.log(h / alpha) / sigma
    return np.array(labels, dtype=np.int32), math.exp(min(max(log_u, -LARGEST_LOG), LARGEST_LOG))


def _opening(wait: float, h: float, sigma: float) -> float:
    """Distance in log(u+τ) to the next opening after an exponential wait of `wait`."""
    return math.log1p(sigma * wait / h) / sigma if sigma > 0 else wait / h
