"""Conditional: the options of the distributed sampler."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.arguments import check_whole, real_number
from hedgerow.errors import require

__all__ = ["Conditional"]


@dataclass(frozen=True)
class Conditional:
    """How a distributed chain moves: conditional sweeps, visits to a few rows, and splits and merges that scouts point to.

    Parameters
    ----------
    scouts : int
        Rows drawn once whose copies the coordinator keeps; a tree over them says which splits and merges to propose.
    pairs : int
        Pairs of scouts drawn in every iteration. A pair in one cluster asks for a split, a pair in two for a merge; pairs that meet
        a cluster already taken are passed over.
    scans : int
        Passes over the rows that refine the two halves before the one that counts.
    visits : int, optional
        Rows, drawn in every iteration, that are resampled one by one with parameters integrated out. New clusters begin there, so half
        of them are drawn from the fiftieth of the rows that fit the clusters of the scouts least. By default a twenty-fifth of
        the rows, at least 2,000 and at most 20,000.
    even_share : float
        Share of pairs whose halves are drawn without looking at the rows: hopeless as splits of large clusters, they are what
        lets two clusters in one place merge.

    >>> Conditional(pairs=8).visits_of(100_000)
    4000
    """

    scouts: int = 5000
    pairs: int = 24
    scans: int = 1
    visits: int | None = None
    even_share: float = 0.25

    def __post_init__(self) -> None:
        """Check the options."""
        owner = "Conditional"
        for name, low in (("scouts", 2), ("pairs", 0), ("scans", 0), ("visits", 0)):
            check_whole(owner, name, getattr(self, name), low, none=name == "visits")
        require(0 <= real_number(self.even_share) <= 1, owner, "even_share", self.even_share, "lie in [0, 1]")

    def visits_of(self, n: int) -> int:
        """Rows visited in an iteration over n rows.

        Parameters
        ----------
        n : int

        Returns
        -------
        int
        """
        return min(max(n // 25, 2_000), 20_000) if self.visits is None else self.visits
