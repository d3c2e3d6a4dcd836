"""SplitMerge: Jain and Neal's split–merge with restricted Gibbs scans, for normalized random measures.

Two rows are drawn at random. If they share a cluster it is proposed to split it, otherwise to merge the two. The split comes
from a launch state made by `scans` Gibbs scans restricted to the rows concerned, and the ratio is exact (Jain & Neal
2004). A Gibbs sweep follows, as in the papers.
"""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow import _core
from hedgerow.arguments import check_whole
from hedgerow.kernels.base import Kernel, Site, check_subset, plain_numbers

__all__ = ["SplitMerge"]


@dataclass(frozen=True)
class SplitMerge(Kernel):
    """One split–merge proposal and one Gibbs sweep an iteration.

    Parameters
    ----------
    scans : int
        Restricted Gibbs scans that make the launch state.
    subset : int, optional
        Rows in the Gibbs sweep, drawn uniformly (the papers' SM_sub). By default all rows.

    >>> SplitMerge(scans=5)
    SplitMerge(scans=5, subset=None)
    """

    scans: int = 10
    subset: int | None = None

    def __post_init__(self) -> None:
        """Refuse what are not counts."""
        plain_numbers(self)
        check_whole("SplitMerge", "scans", self.scans, 0)
        check_subset("SplitMerge", self.subset)

    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe."""
        return _core.split_merge(self.scans, self.subset or 0)
