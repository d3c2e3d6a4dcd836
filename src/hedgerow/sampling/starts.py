"""Starts: the first partition of every chain, from a word, labels, or one of either per chain.

Words: "sequential" allocates rows one by one from their full conditionals, "one" and "singletons" say what they are, "ibhc" takes
the clusters of one pass of incremental hierarchical clustering, and "rough" those of the papers' rough start, which puts
every row on top of the nearest tree. Where chance decides, every chain has its own.

Where clusters of measurements are very many, the first thousands of rows are one of each, which says nothing of clusters, and a chain
takes very long to come back from what they are taken for. "sequential" then puts rows into a stream of trees, one by one as well, which
looks at old rows again as it goes.

Of very many rows a sample tells most of what there is to be known of clusters, at a fraction of the time. "sequential" then lets a
chain of its own settle over a sample of the rows, another one over a sample four times as large that begins where the first one stood,
and so on up to a quarter of the rows. The other rows are put, one by one, where their full conditionals say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import core_seed
from hedgerow.data.nearness import region
from hedgerow.data.tables import take_rows
from hedgerow.data.views import as_labels
from hedgerow.errors import ParameterError, require
from hedgerow.kernels import TreeGuided
from hedgerow.mixture import Mixture
from hedgerow.sampling.chain import Chain
from hedgerow.trees import TreeStream, ibhc

__all__ = ["WORDS", "Start", "first_labels", "read_starts", "samples_pay"]

WORDS = ("sequential", "ibhc", "rough", "one", "singletons")
Start = str | npt.NDArray[np.int32]

_REGION = 500
"""Rows that tell whether there are very many clusters."""
_MANY, _ROWS_OF_EACH = 250, 25
"""More clusters than that, of fewer rows each, are very many."""
_LEAST = 160_000
"""Rows from which a start by samples pays; with fewer a chain over all of them is as far in as much time."""
_SAMPLE, _TIMES = 20_000, 4
"""Rows of the first sample, and by how much each further one is larger."""
_FIRST, _FURTHER = 60, 30
"""Iterations over the first sample and over each further one; too few to be heated."""


def read_starts(init: Any, chains: int, n: int) -> list[Start]:
    """One start per chain: a word of `WORDS` or canonical labels."""
    if isinstance(init, str):
        return [_word(init)] * chains
    if isinstance(init, Sequence) and any(isinstance(item, str) for item in init):
        return [_one(item, n) for item in _one_each(init, chains)]
    try:
        array = np.asarray(init)
    except ValueError:  # lists of unequal lengths
        return [_one(item, n) for item in _one_each(init, chains)]
    if array.ndim == 1:
        return [as_labels(array, n, "sample")] * chains
    if array.ndim == 2:
        return [as_labels(row, n, "sample") for row in _one_each(array, chains)]
    raise ParameterError(
        f"sample(init=...): init must be one of {', '.join(WORDS)}, labels of shape ({n},), labels of shape "
        f"({chains}, {n}), or a list with one of these per chain. Got an array of shape {array.shape}."
    )


def first_labels(
    start: Start,
    model: Mixture,
    data: Any,
    times: npt.NDArray[Any] | None,
    seed: int,
    index: int,
    by_samples: bool,
    stopped: Callable[[], bool],
) -> npt.NDArray[np.int32] | None:
    """Labels of a start of chain `index`; None leaves it to the chain to allocate row by row, and -1 single rows of a start by samples.

    Such a start ends early once `stopped`.
    """
    if not isinstance(start, str):
        return start
    n = int(data.shape[0])
    if start in ("ibhc", "rough"):
        own = core_seed(seed, (index,))
        insert = "seq" if start == "ibhc" else "top"
        return as_labels(ibhc(model, data, passes=1, insert=insert, times=times, seed=own).labels, n, "sample")
    if start == "one":
        return np.zeros(n, np.int32)
    if start == "singletons":
        return np.arange(n, dtype=np.int32)
    if by_samples:
        return _through_samples(model, data, seed, index, stopped)
    return _through_trees(model, data, seed, index) if times is None and _are_many(model, data) else None


def samples_pay(model: Mixture, data: Any, times: npt.NDArray[Any] | None) -> bool:
    """Whether chains over samples come before those that begin sequentially."""
    return times is None and int(data.shape[0]) >= _LEAST and not _are_many(model, data)


def _are_many(model: Mixture, data: Any) -> bool:
    """Whether rows of one region are in so many clusters that the table has very many; asked of measurements without gaps."""
    if not isinstance(data, np.ndarray) or data.ndim != 2 or len(data) < 2 * _REGION:
        return False
    spread = model.likelihood.expected_variances()  # within a cluster
    if spread is None or spread.shape != data.shape[1:] or not (np.isfinite(spread) & (spread > 0)).all() or np.isnan(data).any():
        return False
    found = ibhc(model, data[region(data, np.sqrt(spread), _REGION)], passes=1, seed=0).n_clusters
    return found * _ROWS_OF_EACH > _REGION and found * len(data) > _MANY * _REGION


def _through_trees(model: Mixture, data: Any, seed: int, index: int) -> npt.NDArray[np.int32]:
    own = core_seed(seed, (index,))
    order = np.random.default_rng(own).permutation(len(data))
    stream = TreeStream(model, seed=own)
    stream.add(data[order])
    labels = np.empty(len(order), np.int64)
    labels[order] = np.unique(stream.labels, return_inverse=True)[1]
    return as_labels(labels, len(order), "sample")


def _through_samples(model: Mixture, data: Any, seed: int, index: int, stopped: Callable[[], bool]) -> npt.NDArray[np.int32]:
    own = core_seed(seed, (index,))
    n = int(data.shape[0])
    order = np.random.default_rng(own).permutation(n)
    size, length = _SAMPLE, _FIRST
    found: npt.NDArray[np.int32] | None = None
    while _TIMES * size <= n and not (stopped() and found is not None):
        some = take_rows(data, order[:size])
        chain = Chain(model, some, TreeGuided(guides=1), labels=np.zeros(size, np.int32), seed=own, sequence=size)
        chain.spread(_and_others(found, size))
        for done in range(length):
            if stopped():
                break
            chain.warm_up(1, done, length)
        found = np.asarray(chain.state()["labels"], np.int32)
        size, length = _TIMES * size, _FURTHER
    labels = np.empty(n, np.int32)
    labels[order] = _and_others(found, n)
    return labels


def _and_others(labels: npt.NDArray[np.int32] | None, n: int) -> npt.NDArray[np.int32]:
    """These labels, and -1 for rows beyond them."""
    known = 0 if labels is None else len(labels)
    return np.concatenate([*([] if labels is None else [labels]), np.full(n - known, -1, np.int32)])


def _one(item: Any, n: int) -> Start:
    return _word(item) if isinstance(item, str) else as_labels(item, n, "sample")


def _one_each(items: Any, chains: int) -> Any:
    require(len(items) == chains, "sample", "init", items, f"have one entry per chain ({chains})")
    return items


def _word(word: str) -> str:
    require(word in WORDS, "sample", "init", word, f"be one of {', '.join(WORDS)}, or labels")
    return word
