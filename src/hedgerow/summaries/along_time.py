"""Clusters along time: how popular each is, when it lives, how its mean moves, with their uncertainty over draws.

Takes draws (..., n), one partition (n,) with K clusters, usually the point estimate, and the time of every row. The clusters of
a draw are not those of the partition: each counts for the cluster of the partition with which it has most rows in common
(`matched`). So where a draw splits a cluster, the pieces count together; where it joins two, the rows of the smaller count for
the larger, and the band of both widens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from hedgerow.arguments import real_number
from hedgerow.errors import require
from hedgerow.summaries.partitions import Labels, as_draws, as_partition
from hedgerow.summaries.table import Table

__all__ = ["Popularity", "Trajectories", "matched", "popularity", "trajectories"]

FloatArray = npt.NDArray[np.float64]
Names = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Popularity:
    """Shares of clusters over time.

    `mean`, `low` and `high` (T, K): the share that a cluster has among the rows of a time, over draws, with the interval that
    holds `prob` of them. `alive` (T, K): the probability that it has any row there. `born` and `died` (draw, K): position in
    `times` of the first and last time at which it has rows, -1 in draws that do not know the cluster.

    Attributes
    ----------
    times : (T,)
    labels : (n,) int32
        The partition.
    mean, low, high, alive : (T, K)
    born, died : (draw, K) int32
    prob : float

    >>> found = popularity([[0, 0, 1, 1], [0, 0, 0, 1]], [0, 0, 1, 1], [0, 1, 0, 1], [2001, 2002])
    >>> found.mean.tolist(), found.n_clusters, found.lives()["size"].tolist()
    ([[0.75, 0.25], [0.5, 0.5]], 2, [2, 2])
    """

    times: Names
    labels: Labels
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    alive: FloatArray
    born: npt.NDArray[np.int32]
    died: npt.NDArray[np.int32]
    prob: float

    @property
    def n_clusters(self) -> int:
        """Clusters of the partition."""
        return int(self.mean.shape[1])

    def lives(self) -> Table:
        """One row a cluster, largest first: size, first and last time with their intervals, share of the draws that know it.

        Times are those at the median and at the ends of the interval, among draws that know the cluster.

        Returns
        -------
        Table
        """
        sizes = np.bincount(self.labels, minlength=self.n_clusters)
        order = np.argsort(-sizes, kind="stable")
        columns: dict[str, npt.ArrayLike] = {"cluster": order, "size": sizes[order]}
        tail = (1.0 - self.prob) / 2.0
        for name, found in (("born", self.born), ("died", self.died)):
            for part, share in (("", 0.5), ("_low", tail), ("_high", 1.0 - tail)):
                places = [np.quantile(found[found[:, k] >= 0, k], share, method="inverted_cdf") if (found[:, k] >= 0).any() else -1
                          for k in order]  # fmt: skip
                columns[name + part] = self.times[np.array(places, dtype=np.intp)]
        columns["known"] = (self.born >= 0).mean(axis=0)[order]
        note = f"low and high: {100 * self.prob:g} % of the draws lie between."
        return Table(columns, title=f"{self.n_clusters} clusters over {len(self.times)} times", note=note)

    def __repr__(self) -> str:
        return f"Popularity({self.n_clusters} clusters over {len(self.times)} times)"


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """Means of clusters over time: `mean` and `sd` (T, K, columns), over the draws in which the cluster has rows at that time.

    NaN where it never has. `sd` is the uncertainty of the mean that comes from who is in the cluster, not the spread of its rows.

    Attributes
    ----------
    times : (T,)
    mean, sd : (T, K, columns)
    names : list of str
        Of the columns.

    >>> found = trajectories([[0.0], [1.0], [8.0], [9.0]], [[0, 0, 1, 1]], [0, 0, 1, 1], [0, 1, 0, 1], [2001, 2002], ["height"])
    >>> found.mean[:, :, 0].tolist()
    [[0.0, 8.0], [1.0, 9.0]]
    """

    times: Names
    mean: FloatArray
    sd: FloatArray
    names: list[str]

    def __repr__(self) -> str:
        T, K, width = self.mean.shape
        return f"Trajectories({K} clusters over {T} times, {width} columns)"


def matched(labels: npt.ArrayLike, partition: npt.ArrayLike) -> Iterator[tuple[Labels, npt.NDArray[np.intp]]]:
    """For every draw its labels (n,) and, for each of its clusters, the cluster of `partition` with most rows in common.

    Of two with as many, the one with the lower number.

    >>> [home.tolist() for _, home in matched([[0, 0, 1, 1], [0, 1, 2, 2]], [0, 0, 1, 1])]
    [[0, 1], [0, 0, 1]]
    """
    draws = as_draws(labels, "matched")
    own = as_partition(partition, "matched", "partition", draws.shape[1]).astype(np.int64)
    k = int(own.max()) + 1
    for draw in draws:
        width = int(draw.max()) + 1
        overlap = np.bincount(draw.astype(np.int64) * k + own, minlength=width * k).reshape(width, k)
        yield draw, overlap.argmax(axis=1)


def popularity(
    labels: npt.ArrayLike, partition: npt.ArrayLike, codes: npt.ArrayLike, times: npt.ArrayLike, prob: float = 0.95
) -> Popularity:
    """Popularity of the clusters of `partition` over the draws; `codes` (n,) number the rows' times, `times` names them.

    Parameters
    ----------
    labels : (..., n)
        Draws.
    partition : (n,)
    codes : (n,) of int
        Position in `times` of every row.
    times : (T,)
    prob : float

    Returns
    -------
    Popularity

    >>> popularity([[0, 0, 1, 1], [0, 0, 0, 1]], [0, 0, 1, 1], [0, 1, 0, 1], [2001, 2002]).mean.shape
    (2, 2)
    """
    owner = "popularity"
    require(0 < real_number(prob) <= 1, owner, "prob", prob, "lie in (0, 1]")
    draws = as_draws(labels, owner)
    own = as_partition(partition, owner, "partition", draws.shape[1])
    names, when, T, K = np.asarray(times), *_codes(codes, draws.shape[1], len(np.asarray(times)), owner), int(own.max()) + 1
    counts = np.stack([np.bincount(when * K + home[draw], minlength=T * K).reshape(T, K) for draw, home in matched(draws, own)])
    share = counts / np.maximum(np.bincount(when, minlength=T), 1)[:, None]
    here = counts > 0
    known = here.any(axis=1)
    born = np.where(known, here.argmax(axis=1), -1).astype(np.int32)
    died = np.where(known, T - 1 - here[:, ::-1].argmax(axis=1), -1).astype(np.int32)
    tail = (1.0 - prob) / 2.0
    low, high = np.quantile(share, (tail, 1.0 - tail), axis=0)
    return Popularity(names, own, share.mean(axis=0), low, high, here.mean(axis=0), born, died, float(prob))


def trajectories(
    X: Any, labels: npt.ArrayLike, partition: npt.ArrayLike, codes: npt.ArrayLike, times: npt.ArrayLike, names: list[str]
) -> Trajectories:
    """Mean rows of the clusters of `partition` at every time, over the draws; missing entries of X are left out.

    Parameters
    ----------
    X : (n, columns)
    labels, partition, codes, times : as for `popularity`
    names : list of str
        Of the columns.

    Returns
    -------
    Trajectories

    >>> trajectories([[0.0], [9.0]], [[0, 1]], [0, 1], [0, 0], [2001], ["height"]).mean.shape
    (1, 2, 1)
    """
    owner = "trajectories"
    draws = as_draws(labels, owner)
    own = as_partition(partition, owner, "partition", draws.shape[1])
    when, T, K = *_codes(codes, draws.shape[1], len(np.asarray(times)), owner), int(own.max()) + 1
    data: Any = csr_array(X) if issparse(X) else np.asarray(X, dtype=np.float64)
    n, width = data.shape
    there = None if issparse(X) or not np.isnan(data).any() else (~np.isnan(data)).astype(np.float64)
    # Means are squared below: taken from the middle of each column, no offset costs them their digits.
    middle = np.zeros(width) if issparse(X) else np.nan_to_num(_column_middle(data))
    data = data if issparse(X) else np.nan_to_num(data - middle)
    rows = np.arange(n + 1)
    total, square, count = (np.zeros((T * K, width)) for _ in range(3))
    for draw, home in matched(draws, own):
        cell = csr_array((np.ones(n), when * K + home[draw], rows), shape=(n, T * K)).T
        sums = _dense(cell @ data)
        entries = np.asarray(cell.sum(axis=1)).reshape(-1, 1) if there is None else _dense(cell @ there)
        mean = np.divide(sums, entries, out=np.zeros_like(sums), where=np.broadcast_to(entries > 0, sums.shape))
        total += mean
        square += mean**2
        count += entries > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        average = total / count
        sd = np.sqrt(np.maximum(square / count - average**2, 0.0))
    average += middle
    return Trajectories(np.asarray(times), average.reshape(T, K, width), sd.reshape(T, K, width), list(names))


def _codes(codes: npt.ArrayLike, n: int, T: int, owner: str) -> tuple[npt.NDArray[np.int64], int]:
    when = np.asarray(codes)
    good = when.shape == (n,) and when.dtype.kind in "iu" and T > 0 and int(when.min()) >= 0 and int(when.max()) < T
    require(good, owner, "codes", codes, f"give each of the {n} rows a time from 0 to {T - 1}")
    return when.astype(np.int64), T


def _column_middle(data: FloatArray) -> FloatArray:
    seen = np.maximum((~np.isnan(data)).sum(axis=0), 1)
    return np.asarray(np.nansum(data / seen, axis=0))


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix, dtype=np.float64)
