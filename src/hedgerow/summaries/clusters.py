"""What the clusters of a partition are like, and how sure each point's place is.

Both take draws (..., n) and one partition (n,), usually the point estimate; neither makes an n × n matrix.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from hedgerow.errors import require
from hedgerow.summaries.coclustering import home_affinity
from hedgerow.summaries.partitions import Labels, as_partition
from hedgerow.summaries.table import Table

__all__ = ["Uncertainty", "cluster_table", "rows_by_cluster", "uncertainty"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Per point: `doubt` and `probability`, both (n,).

    `doubt` is one minus the mean co-clustering probability with the other points of its cluster; for a point alone
    in its cluster, one minus the probability of being alone. `probability` is the share of its own cluster in its mean
    co-clustering with all clusters, the weight `predict_proba` would give it there.

    Attributes
    ----------
    labels : (n,) int32
        The partition.
    doubt, probability : (n,)

    >>> uncertainty([[0, 0, 1], [0, 1, 1]], [0, 0, 1]).doubt.tolist()
    [0.5, 0.5, 0.5]
    """

    labels: Labels
    doubt: Array
    probability: Array

    def __repr__(self) -> str:
        return (
            f"Uncertainty({self.labels.size} points, mean doubt {self.doubt.mean():.3f}, "
            f"{int((self.probability < 0.5).sum())} points with less than even odds)"
        )


def uncertainty(labels: npt.ArrayLike, partition: npt.ArrayLike) -> Uncertainty:
    """How sure each point's place in `partition` is, over the draws.

    Parameters
    ----------
    labels, partition : as for `cluster_affinity`

    Returns
    -------
    Uncertainty

    >>> uncertainty([[0, 0, 1], [0, 1, 1]], [0, 0, 1]).probability.round(2).tolist()
    [1.0, 0.5, 0.67]
    """
    n = np.shape(labels)[-1]
    own = as_partition(partition, "uncertainty", "partition", n)
    at_home, total = home_affinity(labels, own)
    probability = np.divide(at_home, total, out=np.ones(n), where=total > 0)
    return Uncertainty(own, 1.0 - at_home, probability)


def cluster_table(
    X: Any,
    partition: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    top: int = 5,
) -> Table:
    """One row a cluster, largest first: label, size, share, mean, spread, top columns, stability.

    Dense data (n, d): `mean` and `spread` (standard deviation) of every column, NaN entries left out; `top` lists
    the columns whose mean stands out most, in standard deviations of the whole. Sparse counts: `mean` and `spread` of
    the row totals, and the columns that tell the cluster's rows from all rows best (their share of the
    Kullback-Leibler divergence). `stability`, where draws are given, is the mean co-clustering probability of the
    cluster's pairs; for a cluster of one point, the probability that it is alone.

    Parameters
    ----------
    X : (n, d) numbers or sparse counts
    partition : (n,)
    labels : (..., n), optional
        Draws, for `stability`.
    names : sequence of str, optional
        Of the columns.
    top : int

    Returns
    -------
    Table

    >>> cluster_table([[1.0], [2.0], [9.0]], [0, 0, 1])["size"].tolist()
    [2, 1]
    """
    data: Any = csr_array(X) if issparse(X) else np.asarray(X, dtype=np.float64)
    require(data.ndim == 2, "cluster_table", "X", X, "have the shape (n, columns)")
    n, width = data.shape
    own = as_partition(partition, "cluster_table", "partition", n)
    require(top >= 0, "cluster_table", "top", top, "not be negative")
    words = [str(name) for name in names] if names is not None else [f"x{j}" for j in range(width)]
    require(len(words) == width, "cluster_table", "names", names, f"name the {width} columns of X")
    sizes = np.bincount(own)
    order = np.argsort(-sizes, kind="stable")
    describe = _describe_counts if issparse(X) else _describe_dense
    mean, spread, score = describe(data, own, sizes)
    columns: dict[str, npt.ArrayLike] = {
        "cluster": order,
        "size": sizes[order],
        "share": sizes[order] / n,
        "mean": mean[order],
        "spread": spread[order],
    }
    if top:
        columns["top"] = np.array([_best(score[k], words, top) for k in order])
    if labels is not None:
        at_home = home_affinity(labels, own)[0]
        columns["stability"] = (np.bincount(own, weights=at_home) / sizes)[order]
    parts = {} if issparse(X) else {"mean": words, "spread": words}
    return Table(columns, title=f"{sizes.size} clusters of {n} points", parts=parts)


def _describe_dense(X: Array, own: Labels, sizes: npt.NDArray[np.intp]) -> tuple[Array, Array, Array]:
    mean = np.empty((sizes.size, X.shape[1]))
    spread = np.empty_like(mean)
    with warnings.catch_warnings():  # a column that is missing throughout a cluster has no mean there: NaN
        warnings.simplefilter("ignore", RuntimeWarning)
        for k, rows in enumerate(rows_by_cluster(own)):
            inside = X[rows]
            mean[k] = np.nanmean(inside, axis=0)
            spread[k] = np.nanstd(inside, axis=0)
        centre, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        score = np.abs(mean - centre) / np.where(scale > 0, scale, 1.0)
    return mean, spread, np.nan_to_num(score, nan=0.0)


def rows_by_cluster(own: Labels) -> list[npt.NDArray[np.intp]]:
    """The rows of each cluster, in order."""
    return np.split(np.argsort(own, kind="stable"), np.cumsum(np.bincount(own))[:-1])


def _describe_counts(X: csr_array, own: Labels, sizes: npt.NDArray[np.intp]) -> tuple[Array, Array, Array]:
    n = X.shape[0]
    totals = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    mean = np.bincount(own, weights=totals) / sizes
    spread = np.sqrt(np.bincount(own, weights=(totals - mean[own]) ** 2) / sizes)
    member = csr_array((np.ones(n), (own, np.arange(n))), shape=(sizes.size, n))
    counts = np.asarray((member @ X).todense(), dtype=np.float64)
    overall = counts.sum(axis=0) / max(counts.sum(), 1.0)
    inside = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    ratio = np.divide(inside, overall, out=np.ones_like(inside), where=inside > 0)
    return mean, spread, inside * np.log(ratio)


def _best(score: Array, words: list[str], top: int) -> str:
    order = np.argsort(-score, kind="stable")[:top]
    return ", ".join(words[j] for j in order if score[j] > 0)
