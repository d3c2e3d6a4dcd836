"""What a posterior asks of the rows of a shard: copies of some, moments of its columns, rows nearest to the middle, densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.posterior.columns import shown_rows
from hedgerow.posterior.sharded_labels import KnownClusters
from hedgerow.priors.state import packed
from hedgerow.summaries.moments import CountMoments, Moments, moments_of
from hedgerow.summaries.profiles import nearest

__all__ = ["LeftOut", "Nearest", "ShardMoments", "TakeRows", "Tallied", "Tally", "Width"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Width:
    """How many columns there are."""

    def __call__(self, X: Any) -> int:
        """The number of columns."""
        return int(X.shape[1])


@dataclass(frozen=True, eq=False)
class TakeRows:
    """Copies of rows."""

    rows: npt.NDArray[np.intp]

    def __call__(self, X: Any) -> Any:
        """The rows."""
        return X[self.rows]


@dataclass(frozen=True, eq=False)
class ShardMoments:
    """Moments of the columns as tables show them, by cluster."""

    model: Mixture
    own: IntArray
    clusters: int
    columns: Sequence[str]

    def __call__(self, X: Any) -> tuple[Moments | CountMoments, list[str]]:
        """Moments, and the names of the columns."""
        shown, names = shown_rows(X, self.model, list(self.columns))
        return moments_of(shown, self.own, self.clusters), names


@dataclass(frozen=True, eq=False)
class Nearest:
    """The row of every cluster that is nearest to its mean."""

    model: Mixture
    own: IntArray
    columns: Sequence[str]
    mean: FloatArray
    spread: FloatArray

    def __call__(self, X: Any) -> tuple[npt.NDArray[np.intp], FloatArray]:
        """Rows and how near they are."""
        shown, _ = shown_rows(X, self.model, list(self.columns))
        return nearest(np.asarray(shown, np.float64), self.own, self.mean, self.spread)


class Tallied(NamedTuple):
    """Clusters of draws in one shard, and one of its rows."""

    draws: list[KnownClusters]
    row: Any


@dataclass(frozen=True, eq=False)
class Tally:
    """Add up the clusters of draws."""

    model: Mixture
    labels: Sequence[npt.NDArray[Any]]
    counts: Sequence[int]

    def __call__(self, X: Any) -> Tallied:
        """Sizes and packed statistics of every draw."""
        if X.shape[0] == 0:
            return Tallied([KnownClusters(np.zeros(0), np.zeros(k + 1, np.int64), np.zeros(k, np.int64)) for k in self.counts], None)
        bound = self.model.likelihood.bind(X)
        wanted = "have no missing entries in correlated columns: how they were filled in is not kept with the draws"
        require(bound.n_imputed == 0, "DistributedPosterior.outlier_scores", "rows", f"{bound.n_imputed} rows with gaps", wanted)
        shard = _core.Shard(bound, 0, 0)
        found = []
        for labels, k in zip(self.labels, self.counts, strict=True):
            shard.set_labels(np.ascontiguousarray(labels, np.int32))
            answer = shard.tally(k)
            found.append(KnownClusters(answer["numbers"], answer["start"], answer["count"]))
        return Tallied(found, X[:1])


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Density of every row given the others, averaged over draws of which clusters and labels are known."""

    model: Mixture
    n: int
    clusters: Sequence[KnownClusters]
    labels: Sequence[npt.NDArray[Any]]
    states: Sequence[dict[str, Any]]

    def __call__(self, X: Any) -> FloatArray:
        """Logarithms."""
        total = np.full(X.shape[0], -np.inf)
        if X.shape[0] == 0:
            return total
        bound = self.model.likelihood.bind(X)
        measure = _core.Measure(self.model.prior.to_core(), self.n)
        for known, labels, state in zip(self.clusters, self.labels, self.states, strict=True):
            measure.set_state(packed(state))
            own = np.ascontiguousarray(labels, np.int32)
            total = np.logaddexp(total, _core.left_out_known(bound, measure, known.numbers, known.start, known.sizes, own))
        return np.asarray(total - np.log(len(self.clusters)))
