"""Points: draws over many rows, where rows that no draw takes apart count as one.

A shard makes its own points from its own labels; points of several shards are joined into those of all rows, numbered by first
appearance as if the rows had been in one place. What summaries ask of draws is then a matter of points and of how many rows are behind
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import require
from hedgerow.summaries.partitions import Labels, as_draws, canonical, merge_points

__all__ = ["Points"]


@dataclass(frozen=True, eq=False)
class Points:
    """Draws (D, m) over points, the rows behind each point, and the point of every row.

    Attributes
    ----------
    draws : (D, m)
        Canonical, in the type that they came in.
    copies : (m,) int64
    place : (n,) int

    >>> points = Points.of([[0, 0, 0, 1], [0, 0, 1, 1]])
    >>> points.draws.tolist(), points.copies.tolist(), points.place.tolist()
    ([[0, 0, 1], [0, 1, 1]], [2, 1, 1], [0, 0, 1, 2])
    """

    draws: npt.NDArray[Any]
    copies: npt.NDArray[np.int64]
    place: npt.NDArray[np.intp]

    @classmethod
    def of(cls, labels: npt.ArrayLike, owner: str = "Points") -> Points:
        """Those of draws (..., n)."""
        return cls(*merge_points(as_draws(labels, owner)))

    @classmethod
    def join(cls, parts: Sequence[tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.intp]]]) -> Points:
        """Those of shards one after the other: labels (D, m) that mean the same cluster in all of them, copies, places."""
        labels = np.concatenate([part[0] for part in parts], axis=1)
        rows = np.concatenate([part[1] for part in parts])
        draws, copies, place = merge_points(canonical(labels), rows)
        first = np.cumsum([0, *(part[0].shape[1] for part in parts)])
        return cls(draws, copies, np.concatenate([place[start + part[2]] for start, part in zip(first, parts, strict=False)]))

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.place)

    def of_rows(self, rows: npt.NDArray[Any]) -> Labels:
        """Canonical draws (D, rows) of some of the rows."""
        return canonical(self.draws[:, self.place[rows]])

    def cut(self, partition: Labels) -> tuple[Points, Labels]:
        """Points that neither a draw nor a partition (n,) takes apart, and the cluster of the partition that each is in."""
        require(partition.shape == (self.n,), "Points", "partition", partition, f"have an entry for each of the {self.n} rows")
        own = np.empty(self.copies.size, np.int32)
        own[self.place] = partition
        if np.array_equal(own[self.place], partition):
            return self, own
        key = self.place.astype(np.int64) * (int(partition.max()) + 1) + partition
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        place, first = rank[place.ravel()], first[order]
        return Points(np.ascontiguousarray(self.draws[:, self.place[first]]), np.bincount(place), place), partition[first]
