"""Scores of the greedy search: draws against the estimate, counted once and kept up to date.

State: the estimate's labels and, for every cluster l of every draw d (a "row"), how many of its points lie in each
cluster k of the estimate (a "column"): counts[row, k]. Taking point i out of its cluster and putting it into k
changes the expected loss by

    vi, binder   h(n_k) − 2 Σ_d w_d h(n_dk),     h(x) = f(x + 1) − f(x),  n_dk = counts[row of i in draw d, k]
    omari        through Σ_d w_d ARI_d, whose pair sums grow by n_dk and n_k

so a point is scored against all clusters by summing D rows of a table. Points of one cluster
share most rows, so the rows of a chunk of points are gathered once and stay in the cache. A draw's cluster of one
point never holds anything but the point being scored, so all of them share row 0, kept at zero.

The hot routines, should they ever move to the compiled core, are `CountTable.scores` and `CountTable._shift`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from hedgerow.summaries.distances import Loss, count_function, marginal_sums
from hedgerow.summaries.partitions import Labels, canonical

__all__ = ["NOWHERE", "CountTable", "start_table"]

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NOWHERE = -1  # the label of a point that has been taken out

_ALL = slice(None)


class CountTable(ABC):
    """Counts of draws' clusters against the estimate's clusters, kept up to date point by point."""

    tolerance: float  # a smaller gain is rounding

    def __init__(self, draws: Labels, weights: Array, max_clusters: int) -> None:
        self.n_draws, self.n = draws.shape
        self.weights = weights
        self.max_clusters = max_clusters
        self.rows, self.n_rows = _rows_of(draws)
        self.labels = np.full(self.n, NOWHERE, dtype=np.int64)
        self.sizes = np.zeros(0, dtype=np.int64)
        self.counts = np.zeros((self.n_rows, 0), dtype=np.int32)

    @property
    def width(self) -> int:
        """Columns, occupied or free."""
        return self.sizes.size

    def load(self, labels: Labels) -> None:
        """Start from a partition; label -1 leaves a point out."""
        present = labels[labels >= 0]
        width = min(self.max_clusters, (int(present.max()) + 1 if present.size else 0) + 1)
        self.labels = labels.astype(np.int64)
        self.sizes = np.bincount(present, minlength=width)
        self.counts = np.zeros((self.n_rows, width), dtype=np.int32)
        for k in range(width):
            members = self.rows[labels == k]
            self.counts[:, k] = np.bincount(members.ravel(), minlength=self.n_rows)
        self.counts[0] = 0
        self._refresh()

    def leave_room(self) -> None:
        """See that one column is free, as long as the estimate may have more clusters."""
        if self.width < self.max_clusters and (self.width == 0 or bool(self.sizes.all())):
            self._widen(min(self.max_clusters, self.width + 1 + self.width // 4))

    def drop_empty(self) -> None:
        """Close the gaps between columns when there are many: a free column costs as much as an occupied one."""
        free = int((self.sizes == 0).sum())
        if free > 2 + self.width // 8:
            self.load(canonical(self.labels))

    def take_out(self, i: int) -> int:
        """Take point i out of its cluster; returns that cluster."""
        k = int(self.labels[i])
        self._shift(i, k, -1)
        self.sizes[k] -= 1
        self.labels[i] = NOWHERE
        return k

    def place(self, i: int, k: int) -> None:
        """Put a point that is out into column k."""
        self._shift(i, k, +1)
        self.sizes[k] += 1
        self.labels[i] = k

    @abstractmethod
    def scores(self, points: Ints) -> Array:
        """Objective after putting each point into each column, up to a constant of the point: (m, width).

        A point that sits in a cluster is scored as if it had been taken out first.
        """

    @abstractmethod
    def score(self, i: int, columns: Ints | slice = _ALL) -> Array:
        """The scores of one point, for some columns only if asked."""

    @abstractmethod
    def objective(self) -> float:
        """What the scores are differences of, up to a constant of the table; lower is better."""

    @abstractmethod
    def _refresh(self) -> None:
        """Recompute what is derived from labels and counts."""

    @abstractmethod
    def _shift(self, i: int, k: int, by: int) -> None:
        """Add point i to the counts of column k (`by` = 1) or remove it (-1); sizes still stand as before."""

    def _local(self, points: Ints) -> tuple[csr_array, Ints]:
        """Which rows a chunk touches, and the weighted incidence (points × those rows)."""
        rows = self.rows[points]
        touched = np.zeros(self.n_rows, dtype=bool)
        touched[rows] = True
        number = np.cumsum(touched) - 1
        ends = np.arange(points.size + 1) * self.n_draws
        data = np.broadcast_to(self.weights, rows.shape).ravel()
        local = np.flatnonzero(touched)
        return csr_array((data, number[rows].ravel(), ends), shape=(points.size, local.size)), local

    def _widen(self, width: int) -> None:
        more = width - self.width
        self.counts = np.hstack((self.counts, np.zeros((self.n_rows, more), dtype=np.int32)))
        self.sizes = np.concatenate((self.sizes, np.zeros(more, dtype=np.int64)))


class _Separable(CountTable):
    """Variation of information and Binder: the loss is a sum over clusters, so gains are table look-ups."""

    tolerance = 1e-8

    def __init__(self, draws: Labels, weights: Array, max_clusters: int, loss: Loss) -> None:
        super().__init__(draws, weights, max_clusters)
        self.step = np.diff(count_function(loss, self.n + 1))  # h(x) = f(x + 1) − f(x)
        self.value = 0.0
        self.gain = np.zeros((self.n_rows, 0))

    def scores(self, points: Ints) -> Array:
        incidence, local = self._local(points)
        out: Array = self.step[self.sizes] - 2.0 * (incidence @ self.gain[local])
        own = self.labels[points]
        sits = np.flatnonzero(own >= 0)
        k = own[sits]
        without = np.maximum(self.counts[self.rows[points[sits]], k[:, None]] - 1, 0)
        out[sits, k] = self.step[self.sizes[k] - 1] - 2.0 * (self.step[without] @ self.weights)
        return out

    def score(self, i: int, columns: Ints | slice = _ALL) -> Array:
        rows = self.rows[i]
        met = self.gain[rows] if isinstance(columns, slice) else self.gain[rows[:, None], columns]
        out: Array = self.step[self.sizes[columns]] - 2.0 * (self.weights @ met)
        k = int(self.labels[i])
        if k >= 0:
            without = np.maximum(self.counts[rows, k] - 1, 0)
            here = self.step[self.sizes[k] - 1] - 2.0 * float(self.weights @ self.step[without])
            out[np.arange(self.width)[columns] == k] = here
        return out

    def objective(self) -> float:
        return self.value

    def _refresh(self) -> None:
        self.gain = self.step[self.counts]

    def _shift(self, i: int, k: int, by: int) -> None:
        rows = self.rows[i]
        others = self.counts[rows, k] - (by < 0)
        now = others + (by > 0)
        singleton = rows == 0
        others[singleton] = 0
        now[singleton] = 0
        size = int(self.sizes[k]) - (by < 0)
        self.value += by * float(self.step[size] - 2.0 * (self.weights @ self.step[others]))
        self.counts[rows, k] = now
        self.gain[rows, k] = self.step[now]

    def _widen(self, width: int) -> None:
        more = width - self.width
        super()._widen(width)
        self.gain = np.hstack((self.gain, np.full((self.n_rows, more), self.step[0])))


class _Omari(CountTable):
    """One minus the adjusted Rand index: not a sum over clusters, but a function of pair sums per draw.

    A point without a place counts as a cluster of its own, which adds no pair.
    """

    tolerance = 1e-13

    def __init__(self, draws: Labels, weights: Array, max_clusters: int) -> None:
        super().__init__(draws, weights, max_clusters)
        self.all_pairs = max(1.0, self.n * (self.n - 1) / 2.0)
        self.draw_pairs = (marginal_sums(draws, count_function("omari", self.n)) - self.n) / 2.0
        self.row_draw = np.zeros(self.n_rows, dtype=np.int64)
        self.row_draw[self.rows] = np.arange(self.n_draws)
        self.joint_pairs: Array = np.zeros(self.n_draws)
        self.own_pairs = 0.0

    def scores(self, points: Ints) -> Array:
        out = np.empty((points.size, self.width))
        own = self.labels[points]
        for k in np.unique(own):
            group = np.flatnonzero(own == k)
            incidence, local = self._local(points[group])
            per_pair, constant = self._weigh(int(k), _ALL)
            met = incidence @ (self.counts[local] * per_pair[self.row_draw[local]])
            out[group] = constant - met
            if k < 0:
                out[group] -= (self.weights * self.joint_pairs) @ per_pair
                continue
            here = np.maximum(self.counts[self.rows[points[group]], k] - 1, 0)
            out[group] -= (self.weights * (self.joint_pairs - here)) @ per_pair
            out[group, k] = constant[k] - (self.weights * self.joint_pairs) @ per_pair[:, k]
        return out

    def score(self, i: int, columns: Ints | slice = _ALL) -> Array:
        rows = self.rows[i]
        k = int(self.labels[i])
        per_pair, constant = self._weigh(k, columns)
        joint = self.joint_pairs
        at = np.arange(self.width)[columns]
        met = self.counts[rows[:, None], at].astype(np.float64)
        if k >= 0:
            here = np.maximum(self.counts[rows, k] - 1, 0)
            joint = joint - here
            met[:, at == k] = here[:, None]
        met += joint[:, None]
        met *= per_pair
        out: Array = constant - self.weights @ met
        return out

    def objective(self) -> float:
        expected = self.draw_pairs * self.own_pairs / self.all_pairs
        room = (self.draw_pairs + self.own_pairs) / 2.0 - expected
        fits = room > 1e-12 * self.all_pairs
        rand = np.divide(self.joint_pairs - expected, room, out=np.ones_like(room), where=fits)
        return -float(self.weights @ rand)

    def _weigh(self, k: int, columns: Ints | slice) -> tuple[Array, Array]:
        """For a point taken out of column k: what one joint pair is worth, (D, columns), and the rest of the loss."""
        sizes = self.sizes.astype(np.float64)
        own = self.own_pairs
        if k >= 0:
            sizes[k] -= 1.0
            own -= float(sizes[k])
        after = own + sizes[columns]
        expected = np.outer(self.draw_pairs, after) / self.all_pairs
        room = (self.draw_pairs[:, None] + after) / 2.0 - expected
        fits = room > 1e-12 * self.all_pairs
        per_pair = np.divide(1.0, room, out=np.zeros_like(room), where=fits)
        return per_pair, self.weights @ (per_pair * expected - ~fits)

    def _refresh(self) -> None:
        table = self.counts.astype(np.float64)
        within = (table * (table - 1.0)).sum(axis=1) / 2.0
        per_draw = np.bincount(self.row_draw[1:], weights=within[1:], minlength=self.n_draws)
        self.joint_pairs = per_draw.astype(np.float64)
        self.own_pairs = float((self.sizes * (self.sizes - 1)).sum() / 2)

    def _shift(self, i: int, k: int, by: int) -> None:
        rows = self.rows[i]
        others = self.counts[rows, k] - (by < 0)
        now = others + (by > 0)
        singleton = rows == 0
        others[singleton] = 0
        now[singleton] = 0
        self.joint_pairs += by * others
        self.own_pairs += by * (int(self.sizes[k]) - (by < 0))
        self.counts[rows, k] = now


def start_table(draws: Labels, weights: Array, loss: Loss, max_clusters: int) -> CountTable:
    """The search state for a loss, empty."""
    if loss == "omari":
        return _Omari(draws, weights, max_clusters)
    return _Separable(draws, weights, max_clusters, loss)


def _rows_of(draws: Labels) -> tuple[Ints, int]:
    """Row of every point in every draw, (n, D): the draw's clusters numbered on, singletons all at row 0."""
    n_draws, n = draws.shape
    rows = np.empty((n, n_draws), dtype=np.int64)
    used = 1
    for d in range(n_draws):
        shared = np.bincount(draws[d]) > 1
        number = np.where(shared, used + np.cumsum(shared) - 1, 0)
        rows[:, d] = number[draws[d]]
        used += int(shared.sum())
    return rows, used
