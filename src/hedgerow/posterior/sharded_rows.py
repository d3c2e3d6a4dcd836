"""What a posterior over shards says of its rows, and of new ones.

What concerns rows is done where they are, and moments come back. New rows are held against the clusters' statistics, which every draw
keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from hedgerow import _core
from hedgerow.errors import ParameterError, require
from hedgerow.posterior import prediction
from hedgerow.posterior.columns import names_of
from hedgerow.posterior.elsewhere import KnownClusters, read_labels
from hedgerow.posterior.shard_work import LeftOut, Nearest, ShardMoments, Tally, Width
from hedgerow.posterior.sharded_summaries import OWNER, ShardedSummaries
from hedgerow.posterior.traced import FloatArray, IntArray
from hedgerow.priors.state import packed
from hedgerow.summaries import clusters as summaries
from hedgerow.summaries.moments import CountMoments, Moments
from hedgerow.summaries.profiles import Profiles, least_sure, profiles_of
from hedgerow.summaries.table import Table

__all__ = ["ShardedRows"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ShardedRows(ShardedSummaries):
    """Draws over shards, with what is asked of rows."""

    # ---- what clusters are like

    def cluster_table(self, partition: npt.ArrayLike | None = None, *, names: Sequence[str] | None = None, top: int = 5) -> Table:
        """See `Posterior.cluster_table`; moments of the columns are added up where the rows are.

        Parameters
        ----------
        partition : (n,), optional
        names : sequence of str, optional
        top : int

        Returns
        -------
        Table
        """
        own = self._partition(partition, "cluster_table")
        require(top >= 0, "cluster_table", "top", top, "not be negative")
        moments, shown, _ = self._moments(own, names, "cluster_table")
        return summaries.table_of(moments, summaries.stability(self._joined.points, own), names=shown, top=top)

    def profiles(
        self,
        partition: npt.ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
        top: int = 3,
    ) -> Profiles:
        """See `Posterior.profiles`; rows are numbered over all shards.

        Parameters
        ----------
        partition : (n,), optional
        names, rows : sequences of str, optional
        top : int

        Returns
        -------
        Profiles
        """
        own = self._partition(partition, "profiles")
        require(rows is None or len(rows) == self.n, "profiles", "rows", rows, f"name the {self.n} rows")
        moments, shown, given = self._moments(own, names, "profiles")
        typical = None
        if isinstance(moments, Moments):
            works = [Nearest(self._model("profiles"), part, given, *moments.shown()) for part in self._cut(own)]
            typical = self._nearest_of(self._ask(works, "profiles"))
        points = self._joined.points
        doubtful = least_sure(own, summaries.uncertainty(points, own).probability)
        return profiles_of(moments, summaries.stability(points, own), typical, doubtful, names=shown, rows=rows, top=top)

    def _nearest_of(self, answers: list[Any]) -> npt.NDArray[np.intp]:
        first = (self._ends - np.asarray(self.shard_rows))[np.asarray(self.shard_rows) > 0]
        away = np.stack([answer[1] for answer in answers])
        rows = np.stack([answer[0] + start for answer, start in zip(answers, first, strict=True)])
        best = np.argmin(away, axis=0)
        return np.asarray(rows[best, np.arange(len(best))])

    def _moments(self, own: IntArray, names: Sequence[str] | None, owner: str) -> tuple[Moments | CountMoments, list[str], list[str]]:
        """Moments by cluster, names of the columns as shown, and as they are."""
        width = max(self._ask([Width()] * len(self.shard_rows), owner))
        given, k = names_of(self, width, names), int(own.max()) + 1
        answers = self._ask([ShardMoments(self._model(owner), part, k, given) for part in self._cut(own)], owner)
        parts = [answer[0] for answer in answers]
        moments = Moments.join(parts) if isinstance(parts[0], Moments) else CountMoments.join(parts)
        return moments, answers[0][1], given

    def outlier_scores(self, *, max_draws: int | None = 50) -> FloatArray:
        """See `Posterior.outlier_scores`. Not for likelihoods that fill gaps in: the fillings of draws are not kept.

        Parameters
        ----------
        max_draws : int or None

        Returns
        -------
        (n,)
        """
        owner = "outlier_scores"
        known = self.kept.positions
        require(len(known) > 0, f"{OWNER}.{owner}", "labels", "none", "have been kept: sample with labels='all'")
        chosen = [known[i] for i in prediction.some_of(len(known), max_draws)]
        labels = [[read_labels(self.kept, at, shard, rows) for at in chosen] for shard, rows in enumerate(self.shard_rows)]
        clusters = self._tallied(chosen, labels, owner)
        states = [self._state(at) for at in chosen]
        works = [LeftOut(self._model(owner), self.n, clusters, part, states) for part in labels]
        ranks: FloatArray = rankdata(-np.concatenate(self._ask(works, owner)))
        return (ranks - 1.0) / max(self.n - 1, 1)

    def _tallied(self, chosen: Sequence[int], labels: Sequence[Sequence[Any]], owner: str) -> list[KnownClusters]:
        """Clusters of draws, added up from the rows: what a row is taken out of must have it."""
        model, counts = self._model(owner), self.n_clusters.ravel()[list(chosen)].tolist()
        answers = self._ask([Tally(model, part, counts) for part in labels], owner)
        ledger = _core.Ledger(model.likelihood.bind(next(answer.row for answer in answers if answer.row is not None)))
        found = []
        for i, k in enumerate(counts):
            ledger.reset(k)
            sizes = np.zeros(k, np.int64)
            for answer in answers:
                sizes += answer.draws[i].sizes
                ledger.fold(answer.draws[i].numbers, answer.draws[i].start, np.arange(k, dtype=np.int32))
            packs = ledger.pack()
            found.append(KnownClusters(packs["numbers"], packs["start"], sizes))
        return found

    # ---- new rows

    def predict(self, X: Any, *, partition: npt.ArrayLike | None = None, max_draws: int | None = None) -> IntArray:
        """See `Posterior.predict`.

        Parameters
        ----------
        X : table
        partition : (n,), optional
        max_draws : int, optional

        Returns
        -------
        (n_new,) int32
        """
        proba = self.predict_proba(X, partition=partition, max_draws=max_draws)
        best: IntArray = np.argmax(proba, axis=1).astype(np.int32)
        best[best == proba.shape[1] - 1] = -1
        return best

    def predict_proba(self, X: Any, *, partition: npt.ArrayLike | None = None, max_draws: int | None = None) -> FloatArray:
        """See `Posterior.predict_proba`; over the draws whose labels were kept.

        Parameters
        ----------
        X : table
        partition : (n,), optional
        max_draws : int, optional

        Returns
        -------
        (n_new, K + 1)
        """
        own = self._partition(partition, "predict_proba")
        joined, sizes = self._joined, np.bincount(own)
        cut, home = joined.points.cut(own)
        usable = [i for i, position in enumerate(joined.positions) if position in self.clusters]
        chosen = [usable[i] for i in prediction.some_of(len(usable), max_draws)]

        def overlaps(fresh: Any) -> Iterator[tuple[FloatArray, FloatArray]]:
            for i, weights in zip(chosen, self._weights(fresh, [joined.positions[i] for i in chosen]), strict=True):
                width = weights.shape[1] - 1
                cells = cut.draws[i].astype(np.int64) * sizes.size + home
                table = np.bincount(cells, weights=cut.copies, minlength=width * sizes.size)
                yield table.reshape(width, sizes.size)[joined.numbering[i]], weights

        fresh = prediction.new_rows(self, X)
        return np.concatenate([prediction.shares(overlaps(fresh[part]), sizes) for part in prediction.blocks_of(self, fresh.shape[0])])

    def log_density(self, X: Any, *, max_draws: int | None = None) -> FloatArray:
        """See `Posterior.log_density`; over all draws, whether or not their labels were kept.

        Parameters
        ----------
        X : table
        max_draws : int, optional

        Returns
        -------
        (n_new,)
        """
        known = sorted(self.clusters)
        chosen = [known[i] for i in prediction.some_of(len(known), max_draws)]
        fresh = prediction.new_rows(self, X)
        parts = prediction.blocks_of(self, fresh.shape[0])
        return np.concatenate([prediction.mean_density(self._weights(fresh[part], chosen)) for part in parts])

    def _weights(self, fresh: Any, positions: Sequence[int]) -> Iterator[FloatArray]:
        """log[weight × density] of new rows for every cluster, by the chain's numbers, and a new one."""
        model = prediction.model_of(self)
        bound = model.likelihood.bind(fresh)
        measure = _core.Measure(model.prior.to_core(), self.n)
        for position in positions:
            known = self.clusters[position]
            try:
                measure.set_state(packed(self._state(position)))
                weights = _core.predictive_known(bound, measure, known.numbers, known.start, known.sizes)
            except ValueError as error:  # a file can hold numbers that are no statistics of this model
                wanted = "the state and the statistics of its clusters must be those of its model"
                raise ParameterError(f"{OWNER}.predict(): {wanted}. Got, in draw {position}: {error}.") from error
            yield weights
