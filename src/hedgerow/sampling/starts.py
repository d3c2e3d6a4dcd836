"""Starts: the first partition of every chain, from a word, labels, or one of either per chain.

Words: "sequential" allocates rows one by one from their full conditionals, "one" and "singletons" say what they are, "ibhc" takes
the clusters of one pass of incremental hierarchical clustering, and "rough" those of the papers' rough start, which puts
every row on top of the nearest tree. Where chance decides, every chain has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.data.views import as_labels
from hedgerow.errors import ParameterError, require
from hedgerow.mixture import Mixture
from hedgerow.trees import ibhc

__all__ = ["WORDS", "Start", "first_labels", "read_starts"]

WORDS = ("sequential", "ibhc", "rough", "one", "singletons")
Start = str | npt.NDArray[np.int32]


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
    start: Start, model: Mixture, data: Any, times: npt.NDArray[Any] | None, seed: int, index: int
) -> npt.NDArray[np.int32] | None:
    """Labels of a start of chain `index`; None leaves it to the chain to allocate row by row."""
    if not isinstance(start, str):
        return start
    n = int(data.shape[0])
    if start in ("ibhc", "rough"):
        own = int(np.random.SeedSequence(seed, spawn_key=(index,)).generate_state(1, np.uint64)[0])
        insert = "seq" if start == "ibhc" else "top"
        return as_labels(ibhc(model, data, passes=1, insert=insert, times=times, seed=own).labels, n, "sample")
    if start == "one":
        return np.zeros(n, np.int32)
    if start == "singletons":
        return np.arange(n, dtype=np.int32)
    return None


def _one(item: Any, n: int) -> Start:
    return _word(item) if isinstance(item, str) else as_labels(item, n, "sample")


def _one_each(items: Any, chains: int) -> Any:
    require(len(items) == chains, "sample", "init", items, f"have one entry per chain ({chains})")
    return items


def _word(word: str) -> str:
    require(word in WORDS, "sample", "init", word, f"be one of {', '.join(WORDS)}, or labels")
    return word
