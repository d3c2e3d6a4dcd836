"""One-dimensional slice sampling by doubling and shrinking (Neal 2003, sections 4.1 and 4.2, figures 4 to 6)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator

__all__ = ["slice_step"]


def slice_step(log_density: Callable[[float], float], x: float, rng: Generator, width: float = 2.0, doublings: int = 200) -> float:
    """One update of x that leaves exp(log_density) invariant; `width` is the first guess of the slice's
    length.

    The interval is doubled until both its ends lie outside the slice, at most `doublings` times. A proposal
    counts only if doubling from it could have found the same interval, which keeps the update reversible
    whatever the limit.
    """
    level = log_density(x) + math.log1p(-rng.random())

    def inside(at: float) -> bool:
        with np.errstate(all="ignore"):  # far out a density may leave the floats: it is 0 there
            return log_density(at) > level

    left = x - width * rng.random()
    right = left + width
    for _ in range(doublings):
        if not inside(left) and not inside(right):
            break
        if rng.random() < 0.5:
            left -= right - left
        else:
            right += right - left
    low, high = left, right
    while True:
        proposal = low + (high - low) * rng.random()
        if inside(proposal) and _reversible(inside, x, proposal, left, right, width):
            return proposal
        if proposal < x:
            low = proposal
        else:
            high = proposal


def _reversible(inside: Callable[[float], bool], x: float, proposal: float, left: float, right: float, width: float) -> bool:
    """Whether doubling from the proposal would not have stopped before it reached (left, right)."""
    apart = False
    while right - left > 1.1 * width:
        middle = (left + right) / 2
        if not left < middle < right:  # floats are farther apart than the width
            break
        apart = apart or (x < middle) != (proposal < middle)
        if proposal < middle:
            right = middle
        else:
            left = middle
        if apart and not inside(left) and not inside(right):
            return False
    return True
