"""Slice: the conditional sampler, with the weights and atoms of the random measure drawn explicitly.

Given the partition and u, occupied atoms have weights Gamma(|c|−σ, u+τ) and parameters from their posterior; the
remaining jumps are a Poisson process. Slice variables below each row's weight make finitely many jumps matter (Griffin &
Walker 2011; Favaro & Teh 2013). All rows then choose an atom at once, independently.
"""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow import _core
from hedgerow.kernels.base import Kernel, Site

__all__ = ["Slice"]


@dataclass(frozen=True)
class Slice(Kernel):
    """One pass an iteration: draw the measure above the slices, then let every row choose.

    Needs a likelihood whose parameters can be drawn: all built-in ones, not `Custom`.
    """

    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe."""
        return _core.slice()
