"""What the clusters of a partition are like, and how sure each point's place is.

Both take draws (..., n) and one partition (n,), usually the point estimate; neither makes an n × n matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from hedgerow.arguments import check_names, check_whole, numbers_of
from hedgerow.errors import require
from hedgerow.summaries.coclustering import home_affinity
from hedgerow.summaries.moments import CountMoments, Moments, falling, moments_of
from hedgerow.summaries.partitions import Labels, as_partition
from hedgerow.summaries.points import Points
from hedgerow.summaries.table import Table

__all__ = ["Uncertainty", "cluster_table", "stability", "table_of", "uncertainty"]

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


def uncertainty(labels: npt.ArrayLike | Points, partition: npt.ArrayLike) -> Uncertainty:
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
    at_home, total = home_affinity(labels, partition)
    own = as_partition(partition, "uncertainty", "partition", len(at_home))
    probability = np.divide(at_home, total, out=np.ones(len(own)), where=total > 0)
    return Uncertainty(own, 1.0 - at_home, np.minimum(probability, 1.0))  # the two sums are rounded apart


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
    data: Any = csr_array(X) if issparse(X) else numbers_of("cluster_table", "X", X)
    require(data.ndim == 2, "cluster_table", "X", X, "have the shape (n, columns)")
    n = data.shape[0]
    own = as_partition(partition, "cluster_table", "partition", n)
    moments = moments_of(data, own, int(own.max()) + 1)
    return table_of(moments, None if labels is None else stability(labels, own), names=names, top=top)


def stability(labels: npt.ArrayLike | Points, own: Labels) -> Array:
    """Mean co-clustering probability of the pairs of every cluster; of a row alone, the probability that it is."""
    return np.asarray(np.bincount(own, weights=home_affinity(labels, own)[0]) / np.bincount(own))


def table_of(moments: Moments | CountMoments, firm: Array | None, *, names: Sequence[str] | None, top: int) -> Table:
    """The table from moments, however these came about; `firm` is the stability."""
    dense = isinstance(moments, Moments)
    width = moments.mean.shape[1] if isinstance(moments, Moments) else moments.counts.shape[1]
    check_names("cluster_table", "names", names, width, "columns of X")
    check_whole("cluster_table", "top", top, 0)
    words = [str(name) for name in names] if names is not None else [f"x{j}" for j in range(width)]
    sizes = moments.sizes if isinstance(moments, Moments) else moments.totals.sizes
    order = np.argsort(-sizes, kind="stable")
    mean, spread, score = _describe_dense(moments) if isinstance(moments, Moments) else _describe_counts(moments)
    n = int(sizes.sum())
    columns: dict[str, npt.ArrayLike] = {
        "cluster": order,
        "size": sizes[order],
        "share": sizes[order] / n,
        "mean": mean[order],
        "spread": spread[order],
    }
    if top:
        columns["top"] = np.array([_best(score[k], words, top) for k in order])
    if firm is not None:
        columns["stability"] = firm[order]
    return Table(columns, title=f"{sizes.size} clusters of {n} points", parts={"mean": words, "spread": words} if dense else {})


def _describe_dense(moments: Moments) -> tuple[Array, Array, Array]:
    mean, spread = moments.shown()
    count, centre, m2 = moments.whole()
    scale = np.sqrt(m2 / np.maximum(count, 1))
    score = np.where(scale > 0, np.abs(mean - centre) / np.where(scale > 0, scale, 1.0), 0.0)
    return mean, spread, np.nan_to_num(score, nan=0.0)


def _describe_counts(moments: CountMoments) -> tuple[Array, Array, Array]:
    mean, spread = moments.totals.shown()
    counts = moments.counts
    overall = counts.sum(axis=0) / max(counts.sum(), 1.0)
    inside = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    ratio = np.divide(inside, overall, out=np.ones_like(inside), where=inside > 0)
    return mean[:, 0], spread[:, 0], inside * np.log(ratio)


def _best(score: Array, words: list[str], top: int) -> str:
    order = falling(score)[:top]
    return ", ".join(words[j] for j in order if score[j] > 0)
