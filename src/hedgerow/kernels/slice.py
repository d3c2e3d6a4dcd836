"""Slice: the conditional sampler, with the weights and atoms of the random measure drawn explicitly.

Given the partition and u, occupied atoms have weights Gamma(|c|−σ, u+τ) and parameters from their posterior. All rows then choose
at once, independently of one another. Slice samplers (Griffin & Walker 2011; Favaro & Teh 2013) also draw the atoms without rows above
random levels, millions of them when σ is near 1; here those are integrated out, as a row's cluster of its own. The name recalls them.
"""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow import _core
from hedgerow.kernels.base import Kernel, Site

__all__ = ["Slice"]


@dataclass(frozen=True)
class Slice(Kernel):
    """One pass an iteration: draw weights and atoms of the clusters, then let every row choose.

    Needs a likelihood whose parameters can be drawn: all built-in ones, not `Custom`.

    >>> Slice().exact
    True
    """

    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe."""
        return _core.slice()
