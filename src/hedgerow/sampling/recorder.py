"""Recorder: where draws go while chains run, and what is there when they stop early."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ParameterError
from hedgerow.sampling.chain import Block

__all__ = ["Recorder"]

_TRACES = ("log_joint", "n_clusters", "u", "alpha", "sigma", "tau", "theta")


class Recorder:
    """Draws of all chains in memory, filled block by block."""

    def __init__(self, chains: int, draws: int, n: int) -> None:
        _check_memory(chains, draws, n)
        self._labels = np.empty((chains, draws, n), np.int32)
        self._traces: dict[str, npt.NDArray[np.float64]] = {}
        self._stats: dict[str, npt.NDArray[np.float64]] = {}
        self._filled = np.zeros(chains, int)

    def add(self, chain: int, block: Block) -> None:
        """Keep a block of draws of one chain."""
        first = self._filled[chain]
        rows = slice(first, first + len(block))
        self._labels[chain, rows] = block.labels
        for name in _TRACES:
            self._put(self._traces, name, chain, rows, getattr(block, name))
        for name, values in block.stats.items():
            self._put(self._stats, name, chain, rows, values)
        self._filled[chain] += len(block)

    def _put(
        self, store: dict[str, npt.NDArray[np.float64]], name: str, chain: int, rows: slice, values: npt.NDArray[Any]
    ) -> None:
        if name not in store:
            store[name] = np.full((*self._labels.shape[:2], *values.shape[1:]), np.nan)
        store[name][chain, rows] = values

    @property
    def complete(self) -> bool:
        """Whether every chain has all its draws."""
        return bool((self._filled == self._labels.shape[1]).all())

    def kept(self) -> tuple[npt.NDArray[np.intp], int]:
        """Chains and draws that make a full rectangle: all of them, or the most there is after an early stop."""
        longest = int(self._filled.max(initial=0))
        if longest == 0:
            return np.array([], np.intp), 0
        counts = [(int((self._filled >= d).sum()) * d, d) for d in range(1, longest + 1)]
        draws = max(counts)[1]
        return np.flatnonzero(self._filled >= draws), draws

    def arrays(self) -> tuple[npt.NDArray[np.int32], dict[str, npt.NDArray[np.float64]], dict[str, npt.NDArray[np.float64]]]:
        """Labels, traces and kernel statistics of the rectangle."""
        chains, draws = self.kept()
        labels = self._labels if self.complete else self._labels[chains, :draws].copy()
        traces = {name: values[chains, :draws] for name, values in self._traces.items()}
        stats = {name: values[chains, :draws] for name, values in self._stats.items()}
        return labels, traces, stats


def _check_memory(chains: int, draws: int, n: int) -> None:
    """Refuse a run whose labels cannot fit before it starts, not after hours."""
    needed = 4 * chains * draws * n
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if needed > 0.8 * there:
        raise ParameterError(
            f"sample(draws={draws}, chains={chains}): the labels of {n} rows need {needed / 2**30:.1f} GiB and this "
            f"machine has {there / 2**30:.1f} GiB. Ask for fewer draws or chains, and use thin= to keep "
            f"them far apart."
        )
