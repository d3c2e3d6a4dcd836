"""TreeGuidedPublished: tree-guided MCMC as published (Lee & Choi 2015 and its supplement), to the letter.

It is kept because it is the paper's algorithm and finds high partitions fast. It is not a sampler: `TreeGuided` is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hedgerow import _core
from hedgerow.arguments import check_whole
from hedgerow.kernels.base import Kernel, Site, plain_numbers

__all__ = ["TreeGuidedPublished"]


@dataclass(frozen=True)
class TreeGuidedPublished(Kernel):
    """The published sampler; a mode finder that does **not** leave the posterior invariant.

    Three steps break detailed balance: a merge counts one starting cluster forwards while the split's way back sums over
    all of them; split then merge does not restore the tree that both probabilities refer to; and which rows the local
    moves resample depends on the state without correction. Measured against enumeration (six points, NGG, 203
    partitions), its draws are at a total variation of about 0.2 from the posterior where Gibbs is at 0.02, the
    Monte-Carlo noise; `tests/statistical/test_published_bias.py` runs that measurement. Use its draws as good
    partitions, not as probabilities.

    Parameters
    ----------
    G : int
        Global (split or merge) moves an iteration.
    D : int
        Nested subtree draws that choose which rows the local moves resample; larger means fewer rows.

    >>> TreeGuidedPublished(G=10).exact
    False
    """

    G: int = 20
    D: int = 2

    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse what are not counts."""
        plain_numbers(self)
        for name in ("G", "D"):
            check_whole("TreeGuidedPublished", name, getattr(self, name), 0)

    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe."""
        return _core.tree_guided_published(self.G, self.D)
