"""One-dimensional slice sampling by stepping out and shrinking (Neal 2003, sections 4.1 and 4.2)."""

from __future__ import annotations

import math
from collections.abc import Callable

from numpy.random import Generator

__all__ = ["slice_step"]


def slice_step(log_density: Callable[[float], float], x: float, rng: Generator, width: float = 2.0, max_steps: int = 64) -> float:
    """One update of x that leaves exp(log_density) invariant; `width` is the first guess of the slice's
    length.

    `max_steps` bounds the stepping out on the two sides together, split at random so that the update stays
    reversible (Neal 2003, figure 3).
    """
    level = log_density(x) + math.log1p(-rng.random())
    left = x - width * rng.random()
    right = left + width
    steps_left = int(max_steps * rng.random())
    steps_right = max_steps - 1 - steps_left
    while steps_left > 0 and log_density(left) > level:
        left -= width
        steps_left -= 1
    while steps_right > 0 and log_density(right) > level:
        right += width
        steps_right -= 1
    while True:
        proposal = left + (right - left) * rng.random()
        if log_density(proposal) >= level:
            return proposal
        if proposal < x:
            left = proposal
        else:
            right = proposal
