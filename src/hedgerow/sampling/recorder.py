"""Recorder: where draws go while chains run, and what is there when they stop early."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ParameterError, in_bytes
from hedgerow.sampling.agreement import Course
from hedgerow.sampling.blocks import Begin, News, Pace
from hedgerow.sampling.chain import TRACES, Block
from hedgerow.summaries.narrow import label_type

__all__ = ["JUDGED", "Arrays", "MemoryRecorder", "Recorder", "rectangle"]

JUDGED = ("log_joint", "n_clusters")
"""What chains are judged by."""
FloatArray = npt.NDArray[np.float64]
MOST_CLUSTERS = 256
"""That many fit into a byte; who has more may run out of memory later."""
Arrays = tuple[npt.NDArray[Any], dict[str, FloatArray], dict[str, FloatArray]]


class Recorder(ABC):
    """Keeps the blocks of all chains; opened for the time of the run."""

    pace: Pace = Pace(wanted=False)
    seconds_before: float = 0.0
    started: str = ""
    sessions: int = 1

    def __enter__(self) -> Self:
        """Begin to record."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let go of files, where there are any."""
        return None

    @abstractmethod
    def add(self, news: News) -> None:
        """Keep a block and, where that is wanted, the state after it."""

    @abstractmethod
    def filled(self) -> npt.NDArray[np.intp]:
        """Draws kept of each chain."""

    @abstractmethod
    def traces(self) -> dict[str, FloatArray]:
        """Log joints and numbers of clusters of the `rectangle` that was filled, one row a chain."""

    @abstractmethod
    def turn(self, course: Course, begins: Sequence[Begin] | None) -> None:
        """Another round of a run of open length; with `begins` nothing drawn so far counts, and chains set out from there."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Labels, traces and kernel statistics of the `rectangle` that was filled."""


def rectangle(filled: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], int]:
    """Chains and draws of the largest full rectangle: all of them, or the most there is after an early stop."""
    longest = int(filled.max(initial=0))
    if longest == 0:
        return np.array([], np.intp), 0
    lengths = np.unique(filled[filled > 0])
    areas = [(int((filled >= length).sum()) * int(length), int(length)) for length in lengths]
    draws = max(areas)[1]
    return np.flatnonzero(filled >= draws), draws


class MemoryRecorder(Recorder):
    """Draws of all chains in memory."""

    def __init__(self, chains: int, draws: int, n: int, *, states: bool = False) -> None:
        _check_memory(chains, draws, n)
        self.pace = Pace(wanted=states, every=math.inf)  # where the chains stand at the end of a round
        self._labels: npt.NDArray[Any] = np.empty((chains, draws, n), label_type(chains * draws * n, 0))
        self._traces: dict[str, FloatArray] = {}
        self._stats: dict[str, FloatArray] = {}
        self._filled = np.zeros(chains, np.intp)

    def add(self, news: News) -> None:
        """Keep a block of draws of one chain."""
        if news.block is not None:
            self.put(news.update.chain, news.block)

    def put(self, chain: int, block: Block) -> None:
        """Keep a block behind those of its chain that came before."""
        first = self._filled[chain]
        rows = slice(first, first + len(block))
        narrow = label_type(self._labels.size, int(block.labels.max(initial=0)))
        if np.dtype(narrow).itemsize > self._labels.itemsize:  # the first draw with so many clusters
            self._labels = self._labels.astype(narrow)
        self._labels[chain, rows] = block.labels
        for name in TRACES:
            self._put(self._traces, name, chain, rows, getattr(block, name))
        for name, values in block.stats.items():
            self._put(self._stats, name, chain, rows, values)
        self._filled[chain] += len(block)

    def _put(self, store: dict[str, FloatArray], name: str, chain: int, rows: slice, values: npt.NDArray[Any]) -> None:
        if name not in store:
            store[name] = np.full((*self._labels.shape[:2], *values.shape[1:]), np.nan)
        store[name][chain, rows] = values

    def filled(self) -> npt.NDArray[np.intp]:
        """Draws kept of each chain."""
        return self._filled

    def traces(self) -> dict[str, FloatArray]:
        """Log joints and numbers of clusters of the rectangle."""
        chains, draws = rectangle(self._filled)
        return {name: self._traces[name][chains, :draws] for name in JUDGED}

    def turn(self, course: Course, begins: Sequence[Begin] | None) -> None:
        """Make room for the draws of another round."""
        if begins is not None:
            self._filled[:] = 0
        chains, draws, n = self._labels.shape
        if course.draws <= draws:
            return
        _check_memory(chains, course.draws, n)
        more = course.draws - draws
        highest = max(int(labels[:filled].max(initial=0)) for labels, filled in zip(self._labels, self._filled, strict=True))
        wanted = label_type(chains * course.draws * n, highest)
        labels = np.empty((chains, course.draws, n), wanted)
        for chain, filled in enumerate(self._filled):
            labels[chain, :filled] = self._labels[chain, :filled]
        self._labels = labels
        for store in (self._traces, self._stats):
            for name, values in store.items():
                store[name] = np.concatenate([values, np.full((chains, more, *values.shape[2:]), np.nan)], axis=1)

    def arrays(self) -> Arrays:
        """Labels, traces and kernel statistics of the rectangle."""
        chains, draws = rectangle(self._filled)
        whole = (len(chains), draws) == self._labels.shape[:2]
        labels = self._labels if whole else self._labels[chains, :draws].copy()
        traces = {name: values[chains, :draws] for name, values in self._traces.items()}
        stats = {name: values[chains, :draws] for name, values in self._stats.items()}
        return labels, traces, stats


def _check_memory(chains: int, draws: int, n: int) -> None:
    """Refuse a run whose labels cannot fit before it starts, not after hours."""
    needed = np.dtype(label_type(chains * draws * n, min(n - 1, MOST_CLUSTERS))).itemsize * chains * draws * n
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if needed > 0.8 * there:
        raise ParameterError(
            f"sample(draws={draws}, chains={chains}): the labels of {n} rows need {in_bytes(needed)} and this "
            f"machine has {in_bytes(there)}. Ask for fewer draws or chains, use thin= to keep them far apart, or "
            f"checkpoint= to keep them on disk."
        )
