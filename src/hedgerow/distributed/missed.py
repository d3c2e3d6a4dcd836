"""Missed: clusters too small for a sample of the rows, looked for among the rows that fit the clusters of the sample least.

Trees are grown over those rows alone. A root c of m rows becomes a cluster where the log joint gains by it,

    log κ(m, u) + log p(X_c)  >  Σ_{i in c} log Σ_k (s n_k − σ) p(x_i | X_k) + log(κ(n + 1, u) / ((n − σ) κ(n, u))),

with the clusters k of the sample, of n_k rows, and s rows behind each of the sample. The start is no part of the sampler's law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow import _core
from hedgerow.distributed.scouts import Known, stack
from hedgerow.mixture import Mixture
from hedgerow.priors.state import packed
from hedgerow.trees import Forest

__all__ = ["with_missed"]

_ARRAYS = ("left", "right", "parent", "size", "log_phi_h", "log_phi_t", "log_d")
_LARGE = 1 << 20


def with_missed(
    model: Mixture, known: Known, answers: Sequence[Mapping[str, Any]], n: int, scale: float, values: Mapping[str, float], seed: int
) -> Known:
    """The clusters of the sample, and those of the rows that `Mark` answered with; `scale` is how many rows are behind each sampled."""
    parts = [answer for answer in answers if len(answer["fit"])]
    if not parts:
        return known
    bound = model.bind(stack([answer["data"] for answer in parts]))
    if bound.n_imputed:
        return known
    measure = _core.Measure(model.prior.to_core(), n)
    measure.set_state(packed(values))
    trees = _core.TreeBuilder(bound, model.prior.to_core(), None, None, None, seed, len(answers))
    trees.set_state(packed(values))
    trees.ibhc("reinsert")
    arrays = trees.arrays()
    labels = np.ascontiguousarray(Forest(**{name: arrays[name] for name in _ARRAYS}).labels, np.int32)
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
