"""Draws over rows in shards: traces, where the labels are, and who has the rows.

Each shard merges its rows that no draw takes apart, and the points of all shards are put together (`hedgerow.summaries.points`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import is_whole
from hedgerow.docstrings import explained
from hedgerow.errors import ParameterError, require
from hedgerow.posterior.sharded_labels import Joined, KeptLabels, KnownClusters, Rows, Work, join, read_labels
from hedgerow.posterior.traced import IntArray, Traced
from hedgerow.summaries.partitions import canonical
from hedgerow.summaries.points import Points

__all__ = ["OWNER", "ShardedDraws"]

OWNER = "DistributedPosterior"

_of_a_draw = partial(explained, "draw : int\n    Position of the draw; the last by default.\nchain : int")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ShardedDraws(Traced):
    """What the chains over shards left behind."""

    shard_rows: tuple[int, ...]
    kept: KeptLabels
    clusters: Mapping[int, KnownClusters] = field(default_factory=dict)
    rows: Rows | None = None

    @property
    def n(self) -> int:
        """Rows of all shards."""
        return sum(self.shard_rows)

    @cached_property
    def _ends(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.shard_rows)

    # ---- labels

    @_of_a_draw("list of arrays")
    def shard_labels(self, draw: int = -1, chain: int = 0) -> list[npt.NDArray[Any]]:
        """Labels of a draw, one array per shard; a number means the same cluster in all of them."""
        owner = f"{OWNER}.labels"
        require(is_whole(draw) and -self.draws <= draw < self.draws, owner, "draw", draw, f"be a draw, 0 to {self.draws - 1}")
        require(is_whole(chain) and 0 <= chain < self.chains, owner, "chain", chain, f"be a chain, 0 to {self.chains - 1}")
        position = chain * self.draws + draw % self.draws
        if position not in self.kept.positions:
            wanted = "draw must be one whose labels were kept: sample with labels='all'"
            raise ParameterError(f"{owner}(draw={draw}): {wanted}. Got {draw}.")
        return [read_labels(self.kept, position, shard, rows) for shard, rows in enumerate(self.shard_rows)]

    @_of_a_draw("(n,) int32")
    def labels(self, draw: int = -1, chain: int = 0) -> IntArray:
        """Labels of a draw over all rows, shard after shard, numbered in order of first appearance."""
        return canonical(np.concatenate(self.shard_labels(draw, chain)).astype(np.int32))

    def points(self) -> Points:
        """The draws whose labels were kept, with rows that none of them takes apart counted as one; what summaries are made from.

        Returns
        -------
        hedgerow.summaries.points.Points
        """
        return self._joined.points

    @cached_property
    def _joined(self) -> Joined:
        return join(self.kept, self._positions(), self.shard_rows)

    # ---- for those below

    def _positions(self) -> Sequence[int]:
        positions = self.kept.positions
        if len(positions) == 0:
            raise ParameterError(f"{OWNER}: labels of draws must have been kept. Got none: sample with labels='all'.")
        return positions

    def _draw(self, chain: int, draw: int) -> IntArray:
        return self.labels(draw, chain)

    @property
    def _labelled(self) -> Points:
        return self._joined.points

    def _cut(self, partition: IntArray) -> list[IntArray]:
        """A partition shard by shard."""
        return np.split(partition, self._ends[:-1])

    def _state(self, position: int) -> dict[str, Any]:
        """The measure in a draw."""
        return {name: trace.ravel()[position] for name, trace in self.traces().items()}

    def _ask(self, works: Sequence[Work], owner: str) -> list[Any]:
        if self.rows is None:
            wanted = "the rows must be within reach: hedgerow.distributed.attach(posterior, shards) says where they are"
            raise ParameterError(f"{OWNER}.{owner}(): {wanted}.")
        return self.rows.each(works)
