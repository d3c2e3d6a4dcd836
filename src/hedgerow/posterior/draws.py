"""Draws: the arrays a posterior is made of, checked once so that everything above can rely on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.copies import Copies, copies_at
from hedgerow.data.groups import read_levels
from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.posterior.traced import TRACES, FloatArray, IntArray, Traced
from hedgerow.priors.state import LISTS, takes_u
from hedgerow.summaries.narrow import NarrowLabels, as_stored, at_rows, keep
from hedgerow.summaries.partitions import count_clusters

__all__ = ["TRACES", "Draws", "FloatArray", "IntArray"]


@takes_u
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Draws(Traced):
    """What the chains left behind.

    `labels` (chain, draw, n) are canonical; more than 33 million of them are `NarrowLabels`, which answer as an array does and take a
    byte or two each. `log_joint`, `n_clusters` and the traces that the prior has are (chain, draw).
    Under a `MixedNRM` prior log_u has a third axis over groups and alpha one over basis measures, and `times` holds the group of
    every row. `X` is the data as the likelihood checked it, `model` the resolved mixture, `run` the record of the run. Where some rows
    are exact copies of others that count once, `place` says where each row stands among those that the model saw.
    """

    labels: IntArray
    X: Any
    times: npt.NDArray[Any] | None = None
    place: npt.NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Check that all arrays speak of the same draws and rows."""
        put = object.__setattr__  # the dataclass is frozen
        given: Any = self.labels
        labels = given if isinstance(given, NarrowLabels) else np.asarray(given)
        good = labels.ndim == 3 and labels.size > 0
        require(good, "Posterior", "labels", self.labels, "have the shape (chain, draw, row), with at least one of each")
        put(self, "labels", keep(labels))
        counted = count_clusters(self.labels)
        if self.n_clusters is not None:
            agrees = np.array_equal(np.asarray(self.n_clusters), counted)
            require(agrees, "Posterior", "n_clusters", self.n_clusters, "be the numbers of clusters of the labels")
        put(self, "n_clusters", counted)
        put(self, "log_joint", self._trace("log_joint", self.log_joint, exact=True))
        for name in TRACES:
            if getattr(self, name) is not None:
                put(self, name, self._trace(name, getattr(self, name), exact=name not in LISTS))
        stats = {name: self._trace(f"sample_stats[{name!r}]", stat, exact=True) for name, stat in self.sample_stats.items()}
        put(self, "sample_stats", stats)
        put(self, "run", dict(self.run))
        rows = np.shape(self.X)[:1] if not hasattr(self.X, "shape") else self.X.shape[:1]
        require(rows == (self.n,), "Posterior", "X", self.X, f"have the {self.n} rows of the labels")
        require(self.model is None or isinstance(self.model, Mixture), "Posterior", "model", self.model, "be a Mixture")
        if self.times is not None:
            levels, codes = read_levels(self.times, self.n, "Posterior")
            put(self, "times", levels.names[codes])
        if self.place is not None:
            put(self, "place", self._check_place())

    def _check_place(self) -> npt.NDArray[np.int64]:
        wanted = f"number the rows that count as they come, for each of the {self.n} rows"
        copies = copies_at(self.place, self.n)
        require(copies is not None, "Posterior", "place", self.place, wanted)
        assert copies is not None
        together = _core.stand_together(as_stored(self.labels), copies.kept[copies.place].astype(np.int32))
        require(together, "Posterior", "labels", self.labels, "put copies of a row into its cluster")
        return copies.place

    def seen(self) -> Draws:
        """These draws of the rows that the model saw: one of each, where some are copies."""
        if self.place is None:
            return self
        first = Copies.at(self.place).kept
        times = None if self.times is None else self.times[first]
        kept: dict[str, Any] = {"log_joint": self.log_joint, "model": self.model, "run": self.run, **self.traces()}
        return Draws(labels=at_rows(self.labels, first), X=self.X[first], times=times, **kept)

    def _trace(self, name: str, values: Any, *, exact: bool) -> FloatArray:
        trace = np.asarray(values, dtype=np.float64)
        shape = self.labels.shape[:2]
        good = trace.shape == shape or (not exact and trace.ndim == 3 and trace.shape[:2] == shape)
        require(good, "Posterior", name, trace, f"have the shape (chain, draw) = {shape}")
        return trace

    @property
    def n(self) -> int:
        """Rows of the data."""
        return int(self.labels.shape[2])
