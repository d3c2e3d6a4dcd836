"""Splits and merges that a distributed chain proposes, what a pass over their rows finds, and the new numbers of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from hedgerow import _core
from hedgerow.distributed.scouts import Pair

__all__ = ["Proposal", "Scan", "compacted", "log_even"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(eq=False)
class Proposal:
    """A split of `clusters[0]`, or a merge of the two clusters that hold the anchors."""

    pair: Pair
    clusters: tuple[int, ...]
    log_share: tuple[float, float] = (0.0, 0.0)

    @property
    def splits(self) -> bool:
        """Whether the anchors are together now."""
        return len(self.clusters) == 1


class Scan(NamedTuple):
    """What a pass over the rows of proposals has found, by proposal, or by proposal and side."""

    log_q: FloatArray
    counts: LongArray
    sides: _core.Ledger


def compacted(sizes: LongArray) -> IntArray:
    """New numbers without the empty; an empty one's is never used, but by rows whose own new label follows."""
    return np.where(sizes > 0, np.cumsum(sizes > 0) - 1, 0).astype(np.int32)


def log_even(a: int, b: int) -> float:
    """Probability of these sides when each row but the anchors takes side 0 with a probability that is uniform itself."""
    return float(gammaln(a) + gammaln(b) - gammaln(a + b))
