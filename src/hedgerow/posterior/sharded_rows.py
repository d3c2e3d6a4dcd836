"""What a posterior over shards knows of its rows, and of new ones.

What concerns rows is done where they are, and moments come back. New rows are held against the clusters' statistics, which every draw
keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.errors import ParameterError
from hedgerow.posterior import prediction
from hedgerow.posterior.access import Columns
from hedgerow.posterior.columns import names_of
from hedgerow.posterior.shard_work import LeftOut, Nearest, ShardMoments, Tally, Width
from hedgerow.posterior.sharded_draws import OWNER, ShardedDraws
from hedgerow.posterior.sharded_labels import KnownClusters, read_labels
from hedgerow.posterior.traced import FloatArray, IntArray, need_model
from hedgerow.priors.state import packed
from hedgerow.summaries.moments import CountMoments, Moments

__all__ = ["ShardedRows"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ShardedRows(ShardedDraws):
    """Draws over shards, with what is done on rows."""

    def _columns(self, own: IntArray, names: Sequence[str] | None, owner: str) -> Columns:
        width = max(self._ask([Width()] * len(self.shard_rows), owner))
        given, k, parts = names_of(self, width, names), int(own.max()) + 1, self._cut(own)
        answers = self._ask([ShardMoments(need_model(self, f"{OWNER}.{owner}"), part, k, given) for part in parts], owner)
        own_moments = [answer[0] for answer in answers]
        moments = (Moments if isinstance(own_moments[0], Moments) else CountMoments).join(own_moments)

        def nearest(found: Moments) -> npt.NDArray[np.intp]:
            works = [Nearest(need_model(self, f"{OWNER}.{owner}"), part, given, *found.shown()) for part in parts]
            return self._nearest_of(self._ask(works, owner))

        return Columns(moments, answers[0][1], nearest)

    def _nearest_of(self, answers: list[Any]) -> npt.NDArray[np.intp]:
        first = (self._ends - np.asarray(self.shard_rows))[np.asarray(self.shard_rows) > 0]
        away = np.stack([answer[1] for answer in answers])
        rows = np.stack([answer[0] + start for answer, start in zip(answers, first, strict=True)])
        best = np.argmin(away, axis=0)
        return np.asarray(rows[best, np.arange(len(best))])

    def _left_out(self, max_draws: int | None) -> FloatArray:
        owner, known = "outlier_scores", self._positions()
        chosen = [known[i] for i in prediction.some_of(len(known), prediction.left_out_draws(self, max_draws))]
        labels = [[read_labels(self.kept, at, shard, rows) for at in chosen] for shard, rows in enumerate(self.shard_rows)]
        clusters = self._tallied(chosen, labels, owner)
        states = [self._state(at) for at in chosen]
        works = [LeftOut(need_model(self, f"{OWNER}.{owner}"), self.n, clusters, part, states) for part in labels]
        return np.concatenate(self._ask(works, owner))

    def _tallied(self, chosen: Sequence[int], labels: Sequence[Sequence[Any]], owner: str) -> list[KnownClusters]:
        """Clusters of draws, added up from the rows: what a row is taken out of must have it."""
        model, counts = need_model(self, f"{OWNER}.{owner}"), self.n_clusters.ravel()[list(chosen)].tolist()
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

    def _membership(
        self, own: IntArray, X: Any, times: Any, max_draws: int | None, reduce: prediction.Reduce | None = None
    ) -> list[Any]:
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

        fresh = self._fresh(X, times)
        blocks = (prediction.shares(overlaps(fresh[part]), sizes) for part in prediction.blocks_of(self, fresh.shape[0]))
        return [block if reduce is None else reduce(block) for block in blocks]

    def _log_density(self, X: Any, times: Any, max_draws: int | None) -> FloatArray:
        """Over all draws, whether or not their labels were kept."""
        known = sorted(self.clusters)
        chosen = [known[i] for i in prediction.some_of(len(known), max_draws)]
        fresh = self._fresh(X, times)
        parts = prediction.blocks_of(self, fresh.shape[0])
        return np.concatenate([prediction.mean_density(self._weights(fresh[part], chosen)) for part in parts])

    def _fresh(self, X: Any, times: Any) -> Any:
        fresh = prediction.new_rows(self, X)
        need_model(self, "predict").prior.group(times, fresh.shape[0], "predict")  # refuses times: no prior here has a use for them
        return fresh

    def _weights(self, fresh: Any, positions: Sequence[int]) -> Iterator[FloatArray]:
        """log[weight × density] of new rows for every cluster, by the chain's numbers, and a new one."""
        model = prediction.model_of(self)
        bound = model.likelihood.bind(fresh)  # densities of new rows are those of the likelihood itself, whatever the power
        packed_by = None if model.power == 1 else model.bind(fresh[:1])
        measure = _core.Measure(model.prior.to_core(), self.n)
        for position in positions:
            known = self.clusters[position]
            try:
                measure.set_state(packed(self._state(position)))
                weights = _core.predictive_known(bound, measure, known.numbers, known.start, known.sizes, packed_by)
            except ValueError as error:  # a file can hold numbers that are no statistics of this model
                wanted = "the state and the statistics of its clusters must be those of its model"
                raise ParameterError(f"{OWNER}.predict(): {wanted}. Got, in draw {position}: {error}.") from error
            yield weights
