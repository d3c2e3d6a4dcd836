"""What comes back: draws of a distributed chain, and the trees over shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.distributed.working_shard import shard_file
from hedgerow.errors import ParameterError, require
from hedgerow.mixture import Mixture
from hedgerow.priors.state import MeasureTraces
from hedgerow.summaries.partitions import canonical
from hedgerow.trees import Forest

__all__ = ["DistributedForest", "DistributedPosterior", "draw_folder"]

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class DistributedPosterior(MeasureTraces):
    """Draws of one chain; every trace has one entry per kept draw.

    Attributes
    ----------
    model : Mixture
        Resolved.
    shard_rows : tuple of int
        Rows of each shard.
    log_joint, n_clusters, log_u, alpha, sigma, tau, theta : (draws,)
    sample_stats : mapping
        What the chain counted, (draws,) each.
    run : mapping
        The record of the run.
    kept : mapping
        From draws to the labels of each shard that were kept.
    folder : path or None
        Where labels are that did not come here.

    >>> import hedgerow as hr
    >>> X = hr.data.ring13(n=130).X
    >>> post = hr.distributed.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), [X[:60], X[60:]], draws=3, warmup=3, seed=0)
    >>> post.n, post.draws, post.labels().shape, [len(labels) for labels in post.shard_labels()]
    (130, 3, (130,), [60, 70])
    """

    model: Mixture
    """The model with the likelihood's hyper-parameters resolved."""
    shard_rows: tuple[int, ...]
    log_joint: FloatArray
    n_clusters: IntArray
    sample_stats: Mapping[str, FloatArray]
    """What happened in each iteration kept, and its seconds in all and in shards."""
    run: Mapping[str, Any]
    """Seed, numbers asked for, seconds."""
    kept: Mapping[int, Sequence[npt.NDArray[Any]]] = field(default_factory=dict)
    """Labels by draw and shard, as far as they were brought here."""
    folder: Path | None = None

    @property
    def n(self) -> int:
        """Rows of all shards."""
        return sum(self.shard_rows)

    @property
    def draws(self) -> int:
        """Kept draws."""
        return len(self.log_joint)

    def shard_labels(self, draw: int = -1) -> list[npt.NDArray[Any]]:
        """Labels of a draw, one array per shard; a number means the same cluster in all of them.

        Parameters
        ----------
        draw : int
            Position of the draw; the last by default.

        Returns
        -------
        list of arrays
        """
        owner = "DistributedPosterior.labels"
        require(-self.draws <= draw < self.draws, owner, "draw", draw, f"be a draw, 0 to {self.draws - 1}")
        index = draw % self.draws
        if index in self.kept:
            return list(self.kept[index])
        if self.folder is None:
            wanted = "draw must be one whose labels were kept: sample with labels='all'"
            raise ParameterError(f"{owner}(draw={draw}): {wanted}. Got {draw}.")
        paths = [shard_file(draw_folder(self.folder, index), shard) for shard in range(len(self.shard_rows))]
        parts = [np.load(path, allow_pickle=False) for path in paths]
        for shard, (part, rows) in enumerate(zip(parts, self.shard_rows, strict=True)):
            require(part.shape == (rows,), owner, f"shard {shard}", part, f"have {rows} labels")
        return parts

    def labels(self, draw: int = -1) -> IntArray:
        """Labels of a draw over all rows, shard after shard, numbered in order of first appearance.

        Parameters
        ----------
        draw : as for `shard_labels`

        Returns
        -------
        (n,) int32
        """
        return canonical(np.concatenate(self.shard_labels(draw)).astype(np.int32))

    def __repr__(self) -> str:
        """One line."""
        return (
            f"<DistributedPosterior: {self.draws} draws of {self.n:,} rows in {len(self.shard_rows)} shards, "
            f"{self.n_clusters.min()} to {self.n_clusters.max()} clusters>"
        )


def draw_folder(folder: Path, draw: int) -> Path:
    """Where the shards write the labels of a draw."""
    return folder / f"draw-{draw:06d}"


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
