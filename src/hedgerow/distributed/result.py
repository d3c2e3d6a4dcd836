"""What comes back from `distributed.ibhc`: the trees over shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ParameterError
from hedgerow.mixture import Mixture
from hedgerow.summaries.partitions import canonical
from hedgerow.trees import Forest

__all__ = ["DistributedForest"]

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class DistributedForest:
    """Trees over the roots of the shards' own trees.

    Attributes
    ----------
    model, shard_rows : as of `DistributedPosterior`
    forest : Forest
        Its leaves are the roots of the shards' trees.
    shard_roots : tuple of int
        How many of them each shard has.
    rows : sequence of (rows,) int32, or None
        For every shard the root of each row.

    >>> import hedgerow as hr
    >>> X = hr.data.ring13(n=130).X
    >>> trees = hr.distributed.ibhc(hr.Mixture(hr.DP(), hr.GaussianWishart()), [X[:60], X[60:]], seed=0)
    >>> trees.n, trees.labels.shape, [len(labels) for labels in trees.shard_labels()]
    (130, (130,), [60, 70])
    """

    model: Mixture
    shard_rows: tuple[int, ...]
    forest: Forest
    """The leaves are the roots of the shards' trees, shard after shard; potentials are those of all rows below."""
    shard_roots: tuple[int, ...]
    """How many leaves each shard has."""
    rows: Sequence[IntArray] | None = None
    """For every shard, which of its own roots each row is under."""

    @property
    def n(self) -> int:
        """Rows of all shards."""
        return sum(self.shard_rows)

    @property
    def n_clusters(self) -> int:
        """Roots."""
        return self.forest.n_clusters

    @property
    def log_bound(self) -> float:
        """A lower bound of log p(X, u), or of log p(X) where u is integrated out."""
        return self.forest.log_bound

    @property
    def log_joint(self) -> float:
        """Log joint of the partition into roots."""
        return self.forest.log_joint

    def shard_labels(self) -> list[IntArray]:
        """Labels of every shard's rows; a number means the same cluster in all of them.

        Returns
        -------
        list of (rows,) int32
        """
        if self.rows is None:
            raise ParameterError("DistributedForest.labels(): the rows must have been kept. Got none: grow the trees with labels=True.")
        tops, first = self.forest.labels, np.concatenate([[0], np.cumsum(self.shard_roots)])
        return [tops[first[shard] + rows] for shard, rows in enumerate(self.rows)]

    @property
    def labels(self) -> IntArray:
        """Labels of all rows, shard after shard, numbered in order of first appearance."""
        return canonical(np.concatenate(self.shard_labels()))

    def __repr__(self) -> str:
        """One line."""
        return f"<DistributedForest: {self.n:,} rows in {len(self.shard_rows)} shards, {self.n_clusters} clusters>"
