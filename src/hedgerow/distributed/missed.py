"""Missed: clusters too small for a sample of the rows to show.

They are looked for among the rows that fit the clusters of the sample least: trees are grown over those alone. A root c of m rows
becomes a cluster where the log joint gains by it,

    log κ(m, u) + log p(X_c)  >  Σ_{i in c} log Σ_k (s n_k − σ) p(x_i | X_k) + log(κ(n + 1, u) / ((n − σ) κ(n, u))),

with the clusters k of the sample, of n_k rows, and s rows behind each of the sample. Small clusters that the sample took for one are
taken apart afterwards: trees over all rows of the cluster, whose roots replace it where the log joint gains. Scouts, a few thousand of
all rows, could not propose that: there are none or one in each. The start is no part of the sampler's law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.tables import stack_rows
from hedgerow.distributed.scouts import Known
from hedgerow.mixture import Mixture
from hedgerow.priors.state import numbers as values_of
from hedgerow.priors.state import packed
from hedgerow.trees.forest import NODES, Forest

__all__ = ["Pieces", "taken_apart", "with_missed"]

_LARGE = 1 << 20
_FEWEST = 6
"""Rows of a cluster that may be two."""
_REVISIONS = 2

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


class Pieces(NamedTuple):
    """Clusters that others have come apart into: the number that each is to have, rows, and packed statistics."""

    target: IntArray
    sizes: LongArray
    numbers: npt.NDArray[np.float64]
    start: LongArray

    def put_into(self, ledger: Any, sizes: LongArray) -> LongArray:
        """Give a ledger of all clusters these in the place of the ones that came apart; the new sizes."""
        whole, known = ledger.pack(), len(sizes)
        kept = np.arange(known, dtype=np.int32)
        kept[self.target[self.target < known]] = -1
        ledger.reset(max(known, int(self.target.max()) + 1))
        ledger.fold(whole["numbers"], whole["start"], kept)
        ledger.fold(self.numbers, self.start, self.target)
        out = np.concatenate([sizes, np.zeros(ledger.size - known, np.int64)])
        out[self.target] = self.sizes
        return out


def with_missed(
    model: Mixture, known: Known, answers: Sequence[Mapping[str, Any]], n: int, scale: float, values: Mapping[str, float], seed: int
) -> Known:
    """The clusters of the sample, and those of the rows that `Mark` answered with; `scale` is how many rows are behind each sampled."""
    parts = [answer for answer in answers if len(answer["fit"])]
    if not parts:
        return known
    bound = model.bind(stack_rows([answer["data"] for answer in parts]))
    if bound.n_imputed:
        return known
    measure = _core.Measure(model.prior.to_core(), n)
    measure.set_state(packed(values))
    labels = _grown(model, bound, values, seed, 0)
    count = np.bincount(labels)
    large = measure.log_kappa(np.array([_LARGE, _LARGE + 1], np.int64))
    join = float(large[1] - large[0]) - float(np.log(_LARGE - values.get("sigma", 0.0)))
    alone = bound.log_marginals(np.arange(len(labels), dtype=np.int32))
    elsewhere = np.concatenate([answer["fit"] for answer in parts]) + alone + np.log(scale) + join
    gain = measure.log_kappa(count.astype(np.int64)) + bound.log_marginals(labels) - np.bincount(labels, elsewhere)
    shard = _core.Shard(bound, 0, 0)
    shard.set_labels(labels)
    found = shard.tally(len(count))
    kept = np.flatnonzero((gain > 0.0) & (count > 1))
    numbers = [known[0], *(found["numbers"][found["start"][c] : found["start"][c + 1]] for c in kept.tolist())]
    ends = known[1][-1] + np.cumsum(np.diff(found["start"])[kept])
    return np.concatenate(numbers), np.concatenate([known[1], ends]), np.concatenate([known[2], np.log(count[kept] / scale)])


def taken_apart(model: Mixture, data: Any, labels: IntArray, clusters: int, measure: Any, seed: int) -> tuple[IntArray, Pieces]:
    """New labels of rows whose clusters are better as several, the numbers from `clusters` up being new; rows with gaps stay."""
    now, whole = labels.copy(), model.bind(data)
    pieces: list[tuple[int, int]] = []  # its new number, and its size
    packs: list[npt.NDArray[np.float64]] = []
    values = values_of(measure.state())
    order = np.argsort(labels, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if whole.n_imputed == 0 else []:
        if len(rows) < _FEWEST:
            continue
        bound, c = model.bind(data[rows]), int(labels[rows[0]])
        parts = _grown(model, bound, values, seed, _REVISIONS)
        count = np.bincount(parts).astype(np.int64)
        together = float(measure.log_kappa(np.array([len(rows)], np.int64))[0]) + float(bound.log_marginals(np.zeros_like(parts))[0])
        if len(count) == 1 or float(measure.log_kappa(count).sum() + bound.log_marginals(parts).sum()) <= together:
            continue
        shard = _core.Shard(bound, 0, 0)
        shard.set_labels(parts)
        found = shard.tally(len(count))
        new = clusters + len(pieces) - len({number for number, _ in pieces if number < clusters})
        target = np.concatenate([[c], np.arange(new, new + len(count) - 1)]).astype(np.int32)
        now[rows] = target[parts]
        pieces += zip(target.tolist(), count.tolist(), strict=True)
        packs += [found["numbers"][found["start"][i] : found["start"][i + 1]] for i in range(len(count))]
    start = np.cumsum([0, *(len(part) for part in packs)]).astype(np.int64)
    told = np.array(pieces, np.int64).reshape(-1, 2)
    return now, Pieces(told[:, 0].astype(np.int32), told[:, 1], np.concatenate([np.zeros(0), *packs]), start)


def _grown(model: Mixture, bound: Any, values: Mapping[str, float], seed: int, revisions: int) -> IntArray:
    """Clusters of all rows by trees of their own, looked at again so many times."""
    trees = _core.TreeBuilder(bound, model.prior.to_core(), None, None, None, seed, 0)
    trees.set_state(packed(values))
    trees.ibhc("reinsert")
    for _ in range(revisions):
        trees.revise("reinsert")
    arrays = trees.arrays()
    return np.ascontiguousarray(Forest(**{name: arrays[name] for name in NODES}).labels, np.int32)
