"""What draws over rows in shards say: summaries of labels, from points (`hedgerow.summaries.points`).

Each shard merges its rows that no draw takes apart, and the points of all shards are put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ParameterError, require
from hedgerow.mixture import Mixture
from hedgerow.plots import cluster_posterior
from hedgerow.posterior import convergence, pictures
from hedgerow.posterior.elsewhere import Joined, KeptLabels, KnownClusters, Rows, Work, join, read_labels
from hedgerow.posterior.summarised import MapDraw
from hedgerow.posterior.traced import IntArray, Traced
from hedgerow.summaries import ball, coclustering, estimate
from hedgerow.summaries.clusters import Uncertainty, uncertainty
from hedgerow.summaries.distances import Loss
from hedgerow.summaries.partitions import as_partition, canonical
from hedgerow.summaries.points import Points
from hedgerow.summaries.table import Table

__all__ = ["OWNER", "ShardedSummaries"]

OWNER = "DistributedPosterior"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ShardedSummaries(Traced):
    """Draws over shards, with what is asked of their labels."""

    shard_rows: tuple[int, ...]
    kept: KeptLabels
    clusters: Mapping[int, KnownClusters] = field(default_factory=dict)
    rows: Rows | None = None
    _found: dict[Any, Any] = field(default_factory=dict, init=False)

    @property
    def n(self) -> int:
        """Rows of all shards."""
        return sum(self.shard_rows)

    @cached_property
    def _ends(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.shard_rows)

    # ---- labels

    def shard_labels(self, draw: int = -1, chain: int = 0) -> list[npt.NDArray[Any]]:
        """Labels of a draw, one array per shard; a number means the same cluster in all of them.

        Parameters
        ----------
        draw : int
            Position of the draw; the last by default.
        chain : int

        Returns
        -------
        list of arrays
        """
        owner = f"{OWNER}.labels"
        require(-self.draws <= draw < self.draws, owner, "draw", draw, f"be a draw, 0 to {self.draws - 1}")
        require(0 <= chain < self.chains, owner, "chain", chain, f"be a chain, 0 to {self.chains - 1}")
        position = chain * self.draws + draw % self.draws
        if position not in self.kept.positions:
            wanted = "draw must be one whose labels were kept: sample with labels='all'"
            raise ParameterError(f"{owner}(draw={draw}): {wanted}. Got {draw}.")
        return [read_labels(self.kept, position, shard, rows) for shard, rows in enumerate(self.shard_rows)]

    def labels(self, draw: int = -1, chain: int = 0) -> IntArray:
        """Labels of a draw over all rows, shard after shard, numbered in order of first appearance.

        Parameters
        ----------
        draw : int
            Position of the draw; the last by default.
        chain : int

        Returns
        -------
        (n,) int32
        """
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
        positions = self.kept.positions
        if len(positions) == 0:
            raise ParameterError(f"{OWNER}.point_estimate(): labels of draws must have been kept. Got none: sample with labels='all'.")
        return join(self.kept, positions, self.shard_rows)

    # ---- what draws say

    def summary(self, prob: float = 0.94) -> Table:
        """See `Posterior.summary`.

        Parameters
        ----------
        prob : float

        Returns
        -------
        Table
        """
        return convergence.summary(self, prob)

    def point_estimate(self, loss: Loss = "vi", **options: Any) -> estimate.PointEstimate:
        """See `Posterior.point_estimate`; over the draws whose labels were kept.

        Parameters
        ----------
        loss : str
        **options
            weight, max_clusters, min_size, within, restarts, seed, max_draws.

        Returns
        -------
        PointEstimate
        """
        key = (loss, *sorted(options.items()))
        if key not in self._found:
            self._found[key] = estimate.point_estimate(self._joined.points, loss, **options)
        found: estimate.PointEstimate = self._found[key]
        return found

    def credible_ball(self, prob: float = 0.95, loss: Loss = "vi", *, centre: npt.ArrayLike | None = None) -> ball.CredibleBall:
        """See `Posterior.credible_ball`; distances of the draws whose labels were kept, in one row.

        Parameters
        ----------
        prob : float
        loss : str
        centre : (n,), optional

        Returns
        -------
        CredibleBall
        """
        middle = self.point_estimate(loss).labels if centre is None else centre
        return ball.credible_ball(self._joined.points, middle, prob, loss)

    def uncertainty(self, partition: npt.ArrayLike | None = None) -> Uncertainty:
        """See `Posterior.uncertainty`.

        Parameters
        ----------
        partition : (n,), optional

        Returns
        -------
        Uncertainty
        """
        return uncertainty(self._joined.points, self._partition(partition, "uncertainty"))

    def similarity(self, rows: npt.ArrayLike, columns: npt.ArrayLike | None = None) -> npt.NDArray[np.float32]:
        """Probability that two rows share a cluster, for the rows and columns that are named; `columns` are `rows` if left out.

        Parameters
        ----------
        rows, columns : sequences of int

        Returns
        -------
        (rows, columns) float32
        """
        left = np.asarray(rows, np.intp)
        right = left if columns is None else np.asarray(columns, np.intp)
        draws = self._joined.points.of_rows(np.concatenate([left, right]))
        where = np.arange(len(left) + len(right))
        return coclustering.similarity(draws, rows=where[: len(left)], columns=where[len(left) :])

    def map_draw(self) -> MapDraw:
        """See `Posterior.map_draw`; among the draws whose labels were kept.

        Returns
        -------
        MapDraw
        """
        positions = np.asarray(self.kept.positions, np.intp)
        require(len(positions) > 0, f"{OWNER}.map_draw", "labels", "none", "have been kept: sample with labels='all'")
        best = int(positions[np.argmax(self.log_joint.ravel()[positions])])
        chain, draw = divmod(best, self.draws)
        return MapDraw(self.labels(draw, chain), float(self.log_joint[chain, draw]), chain, draw)

    def plot_trace(self, quantity: str = "log_joint", *, ax: Any = None) -> Any:
        """See `Posterior.plot_trace`.

        Parameters
        ----------
        quantity : str
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        return pictures.draw_trace(self, quantity, ax)

    def plot_n_clusters(self, *, ax: Any = None) -> Any:
        """See `Posterior.plot_n_clusters`.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        return cluster_posterior(self.n_clusters, ax=ax)

    # ---- for those below

    def _partition(self, partition: npt.ArrayLike | None, owner: str) -> IntArray:
        if partition is None:
            return self.point_estimate().labels
        require(not isinstance(partition, str), owner, "partition", partition, "be labels, one for each row")
        return as_partition(partition, owner, "partition", self.n)

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

    def _model(self, owner: str) -> Mixture:
        if self.model is None:
            raise ParameterError(f"{OWNER}.{owner}(): the posterior must have its model: load it with load(path, model=...).")
        return self.model
