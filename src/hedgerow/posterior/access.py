"""Access: what every answer of a posterior is made from, wherever its labels and rows are.

Draws in memory and draws over shards each say this once; what is asked of a posterior (`Summarised`, `Pictured`, `Answers`) is written
against it, and so is the same for both.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.mixture import Mixture
from hedgerow.posterior.draws import Draws
from hedgerow.posterior.traced import FloatArray, IntArray, Names, Traced
from hedgerow.report import ReportPayload
from hedgerow.summaries.estimate import PointEstimate
from hedgerow.summaries.moments import CountMoments, Moments

__all__ = ["Access", "Columns", "Files", "View"]


class Columns(NamedTuple):
    """Moments of the columns by cluster, the names of the columns, and who finds the row nearest to the middle of each cluster."""

    moments: Moments | CountMoments
    names: list[str]
    nearest: Callable[[Moments], npt.NDArray[np.intp]]


class View(NamedTuple):
    """Draws of the rows that pictures show, and which rows these are; all of them where that is None."""

    draws: Draws
    rows: npt.NDArray[np.intp] | None = None

    def of(self, partition: IntArray) -> IntArray:
        """Labels of these rows, from labels of all."""
        return partition if self.rows is None else partition[self.rows].astype(np.int32)

    def names_of(self, names: Names) -> Names:
        """Names of these rows, from names of all."""
        return names if self.rows is None or names is None else [names[row] for row in self.rows.tolist()]


class Files(Protocol):
    """Who writes and reads a kind of posterior."""

    def save(self, draws: Any, path: str | os.PathLike[str]) -> None:
        """Write a file, whole or not at all."""

    def load_fields(self, path: str | os.PathLike[str], model: Mixture | None) -> dict[str, Any]:
        """Arguments of the constructor, from such a file."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Access(Traced, ABC):
    """Traces, with what must be known of labels and rows."""

    _files: ClassVar[Files]

    @property
    @abstractmethod
    def _labelled(self) -> Any:
        """Draws that have labels, as summaries take them: labels (..., n) or `Points`."""

    @abstractmethod
    def _positions(self) -> Sequence[int] | npt.NDArray[np.intp]:
        """Which draws these are, counted over all chains."""

    @abstractmethod
    def _draw(self, chain: int, draw: int) -> IntArray:
        """Labels (n,) of one draw."""

    @abstractmethod
    def _columns(self, own: IntArray, names: Names, owner: str) -> Columns:
        """What the columns of the data add up to in every cluster of a partition."""

    @abstractmethod
    def _view(self, own: IntArray | None) -> View:
        """The rows that pictures show: all, or a sample drawn within the clusters of a partition (the point estimate)."""

    @abstractmethod
    def _membership(
        self, own: IntArray, X: Any, times: Any, max_draws: int | None, reduce: Callable[[FloatArray], Any] | None = None
    ) -> list[Any]:
        """Probability that new rows join the clusters of a partition, or none: see `prediction.membership`."""

    @abstractmethod
    def _log_density(self, X: Any, times: Any, max_draws: int | None) -> FloatArray:
        """log p(x | data) of new rows."""

    @abstractmethod
    def _left_out(self, max_draws: int | None) -> FloatArray:
        """log p(x | the other rows) of every row of the data: see `prediction.left_out_density`."""

    @abstractmethod
    def _payload(self, found: PointEstimate, title: str, names: Names, rows: Names) -> ReportPayload:
        """Everything that a report shows."""

    @abstractmethod
    def _exported(self) -> tuple[Any, Any]:
        """Labels (chain, draw, n) and dense data that can be handed to others whole, None for what cannot."""
