"""cycle(...) and mix(...): kernels made of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow import _core
from hedgerow.arguments import real_number
from hedgerow.errors import require
from hedgerow.kernels.base import Kernel, Site

__all__ = ["Cycle", "Mix", "cycle", "mix"]


@dataclass(frozen=True)
class Cycle(Kernel):
    """Every part once an iteration, in order.

    Parameters
    ----------
    parts : tuple of kernels

    >>> from hedgerow.kernels import Gibbs, SplitMerge
    >>> len(Cycle((SplitMerge(), Gibbs())).parts)
    2
    """

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        """Refuse what are not kernels."""
        _check_parts("cycle", self.parts)

    @property
    def adapts(self) -> bool:
        """Whether a part does."""
        return any(part.adapts for part in self.parts)

    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe."""
        return _core.cycle([part.to_core(site) for part in self.parts])


@dataclass(frozen=True)
class Mix(Kernel):
    """One part an iteration, drawn with these weights.

    Parameters
    ----------
    parts : tuple of kernels
    weights : tuple of float
        How often each is drawn.

    >>> from hedgerow.kernels import Gibbs, SplitMerge
    >>> Mix((SplitMerge(), Gibbs()), (1.0, 3.0)).weights
    (1.0, 3.0)
    """

    parts: tuple[Kernel, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what are not kernels, and weights that are none."""
        _check_parts("mix", self.parts)
        listed = isinstance(self.weights, list | tuple) and all(0 <= real_number(weight) < float("inf") for weight in self.weights)
        good = listed and len(self.weights) == len(self.parts) and sum(self.weights) > 0
        require(good, "mix", "weights", self.weights, "be one number from 0 up per kernel, not all 0")

    @property
    def adapts(self) -> bool:
        """Whether a part does."""
        return any(part.adapts for part in self.parts)

    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe."""
        return _core.mix([part.to_core(site) for part in self.parts], list(self.weights))


def cycle(*kernels: Kernel) -> Cycle:
    """A kernel that runs all of these in turn; `cycle(SplitMerge(), Gibbs())`.

    Parameters
    ----------
    *kernels : Kernel

    Returns
    -------
    Cycle

    >>> from hedgerow.kernels import Gibbs, SplitMerge
    >>> cycle(SplitMerge(scans=5), Gibbs()).exact
    True
    """
    return Cycle(tuple(kernels))


def mix(*kernels: Kernel, weights: tuple[float, ...] | None = None) -> Mix:
    """A kernel that runs one of these at random an iteration, evenly or with `weights`.

    Parameters
    ----------
    *kernels : Kernel
    weights : tuple of float, optional
        How often each is drawn; evenly by default.

    Returns
    -------
    Mix

    >>> from hedgerow.kernels import Gibbs, SplitMerge
    >>> mix(SplitMerge(), Gibbs(), weights=(0.25, 0.75)).weights
    (0.25, 0.75)
    """
    listed = weights is None or isinstance(weights, Sequence | np.ndarray)
    require(listed, "mix", "weights", weights, "be one number from 0 up per kernel, not all 0")
    return Mix(tuple(kernels), (1.0,) * len(kernels) if weights is None else tuple(weights))


def _check_parts(owner: str, parts: tuple[Kernel, ...]) -> None:
    good = len(parts) > 0 and all(isinstance(part, Kernel) for part in parts)
    require(good, owner, "kernels", parts, "be one or more kernels such as Gibbs()")
