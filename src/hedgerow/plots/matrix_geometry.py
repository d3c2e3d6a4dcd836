"""Which row of a similarity matrix goes where: orders, block averages, cluster borders; no drawing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from hedgerow.errors import require

__all__ = ["block_means", "cluster_runs", "seriate"]

OPTIMAL_LIMIT = 1_500  # optimal leaf ordering is cubic in the worst case


def seriate(similarity: ArrayLike) -> NDArray[np.int64]:
    """An order with similar rows side by side: average linkage, leaves best ordered if n <= 1,500.

    Parameters
    ----------
    similarity : (n, n)

    Returns
    -------
    (n,) int64

    >>> len(seriate([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]]))
    3
    """
    similarity = _as_square("seriate", similarity)
    if len(similarity) < 3:
        return np.arange(len(similarity))
    distance = np.maximum(1.0 - (similarity + similarity.T) / 2.0, 0.0)
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(distance, checks=False)
    tree = linkage(condensed, "average")
    if len(similarity) <= OPTIMAL_LIMIT:
        tree = optimal_leaf_ordering(tree, condensed)
    return np.asarray(leaves_list(tree), dtype=np.int64)


def block_means(similarity: ArrayLike, order: ArrayLike, cells: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The matrix in `order`, averaged into at most `cells` x `cells` blocks, and the blocks' edges in rows.

    Averages, not samples: a thin cluster may pale but never vanishes.

    Parameters
    ----------
    similarity : (n, n)
    order : (n,) of int
    cells : int

    Returns
    -------
    (cells, cells) float64 and (cells + 1,) int64

    >>> block_means(np.eye(4), [0, 1, 2, 3], 2)[0].tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    similarity = _as_square("block_means", similarity)
    order = np.asarray(order, dtype=np.int64)
    n = len(similarity)
    require(
        np.array_equal(np.sort(order), np.arange(n)),
        "block_means",
        "order",
        order,
        f"list 0..{n - 1} once each",
    )
    require(cells >= 1, "block_means", "cells", cells, "be at least 1")
    k = min(cells, n)
    edges = (np.arange(k + 1) * n) // max(k, 1)
    counts = np.diff(edges).astype(np.float64)
    sums = np.add.reduceat(similarity[order], edges[:-1], axis=0)[:, order]
    sums = np.add.reduceat(sums, edges[:-1], axis=1)
    return np.asarray(sums / np.outer(counts, counts), dtype=np.float64), edges


def cluster_runs(labels: ArrayLike, order: ArrayLike) -> list[tuple[int, int, int]]:
    """Stretches (start, stop, cluster) of equal labels along `order`.

    Parameters
    ----------
    labels : (n,)
    order : (n,) of int

    Returns
    -------
    list of (start, stop, cluster)

    >>> cluster_runs([0, 1, 0], [0, 2, 1])
    [(0, 2, 0), (2, 3, 1)]
    """
    along = np.asarray(labels, dtype=np.int64)[np.asarray(order, dtype=np.int64)]
    if not len(along):
        return []
    starts = np.concatenate([[0], np.flatnonzero(np.diff(along)) + 1])
    stops = np.concatenate([starts[1:], [len(along)]])
    return [(int(a), int(b), int(along[a])) for a, b in zip(starts, stops, strict=True)]


def _as_square(owner: str, similarity: ArrayLike) -> NDArray[np.float64]:
    similarity = np.asarray(similarity, dtype=np.float64)
    square = similarity.ndim == 2 and similarity.shape[0] == similarity.shape[1]
    require(square, owner, "similarity", similarity, "be a square matrix")
    return similarity
