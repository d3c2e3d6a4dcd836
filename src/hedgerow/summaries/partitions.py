"""Partitions as label arrays: canonical numbering, validation, stacked one-hot columns.

A partition of n points is an integer array (n,). Canonical labels are numbered 0, 1, ... in order of first
appearance, so two arrays are equal exactly when the partitions are. Draws are stacked on leading axes: (..., n), and canonical.
A partition for people is numbered by size, the largest cluster first (`by_size`); one that is given keeps its numbers where
these are 0, 1, ..., so that what is said of cluster 2 is said of the rows labelled 2.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.errors import ParameterError, require

__all__ = [
    "Labels",
    "as_draws",
    "as_partition",
    "by_size",
    "canonical",
    "count_clusters",
    "count_clusters_of",
    "is_canonical",
    "least_size",
    "merge_points",
    "unique_draws",
    "wide",
]

Labels = npt.NDArray[np.int32]

_BLOCK = 1 << 22  # labels worked on at a time: bounds the scratch memory, fits the cache well enough


def is_canonical(labels: npt.ArrayLike) -> bool:
    """Whether every partition on the last axis is numbered in order of first appearance.

    Parameters
    ----------
    labels : (..., n)

    Returns
    -------
    bool

    >>> is_canonical([0, 1, 0]), is_canonical([1, 0, 1])
    (True, False)
    """
    array = np.asarray(labels)
    narrow = array.ndim > 0 and array.dtype in (np.uint8, np.uint16)  # as many draws are kept: no copy is made of them
    flat = _flatten(array if narrow else _integers(labels, "is_canonical"))
    if flat.dtype in (np.uint8, np.uint16, np.int32) and flat.flags.c_contiguous and flat.shape[1] > 0:
        return bool(_core.are_canonical(flat))
    step = max(1, _BLOCK // max(1, flat.shape[1]))
    return all(_rows_canonical(flat[start : start + step]) for start in range(0, flat.shape[0], step))


def canonical(labels: npt.ArrayLike) -> Labels:
    """Renumber every partition on the last axis in order of first appearance: int32, same shape.

    Any integers are accepted as labels. Canonical input is returned as it is when it is int32 already, as a
    new array otherwise.

    Parameters
    ----------
    labels : (..., n)

    Returns
    -------
    (..., n) int32

    >>> canonical([5, 5, 2])
    array([0, 0, 1], dtype=int32)
    """
    array = _integers(labels, "canonical")
    flat = _flatten(array)
    if is_canonical(flat):
        return array.astype(np.int32, copy=False)
    out = np.empty(flat.shape, dtype=np.int32)
    step = max(1, _BLOCK // max(1, flat.shape[1]))
    for start in range(0, flat.shape[0], step):
        out[start : start + step] = _renumber(flat[start : start + step])
    return out.reshape(array.shape)


def by_size(labels: npt.ArrayLike) -> Labels:
    """Renumber one partition (n,) by the size of its clusters, the largest 0; equals in order of first appearance.

    Labels below 0 are no cluster: rows that belong nowhere become -1.

    Parameters
    ----------
    labels : (n,) int

    Returns
    -------
    ndarray, (n,) int32

    >>> by_size([5, 2, 2, -1, 7]).tolist()
    [1, 0, 0, -1, 2]
    """
    array = _integers(labels, "by_size")
    require(array.ndim == 1, "by_size", "labels", array, "be one partition: (n,)")
    out = np.full(array.shape, -1, dtype=np.int32)
    placed = array >= 0
    if placed.any():
        own = canonical(array[placed])
        order = np.argsort(-np.bincount(own), kind="stable")
        rank = np.empty(order.size, dtype=np.int32)
        rank[order] = np.arange(order.size, dtype=np.int32)
        out[placed] = rank[own]
    return out


def count_clusters(labels: Any) -> npt.NDArray[np.int32]:
    """Clusters of each canonical partition on the last axis."""
    counts: npt.NDArray[np.int32] = labels.max(axis=-1).astype(np.int32) + np.int32(1)
    return counts


def least_size(n: int) -> int:
    """Rows from which a cluster is one of a size: two, and 1% of them."""
    return max(2, -(-n // 100))


def count_clusters_of(draws: Labels, size: int, copies: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Clusters with at least `size` rows of each canonical partition (D, points); `copies` are the rows behind each point."""
    return np.array([np.count_nonzero(np.bincount(draw, copies) >= size) for draw in draws], dtype=np.int32)


def wide(labels: npt.NDArray[Any]) -> Labels:
    """Labels as int32."""
    return labels.astype(np.int32, copy=False)


def as_draws(labels: npt.ArrayLike, owner: str) -> Labels:
    """Draws on any leading axes as one canonical array (D, n), C-contiguous."""
    array = _integers(labels, owner)
    require(array.ndim >= 2, owner, "labels", array, "have the draws on its leading axes: (..., n)")
    require(array.size > 0, owner, "labels", array, "hold at least one draw of at least one point")
    return np.ascontiguousarray(_flatten(canonical(array)))


def as_partition(labels: npt.ArrayLike, owner: str, name: str, n_points: int) -> Labels:
    """One partition of `n_points` points, with the numbers it has if they are 0, 1, ..., canonical otherwise."""
    array = _integers(labels, owner, name)
    require(array.shape == (n_points,), owner, name, array, f"be one partition of {n_points} points")
    if array.size and int(array.min()) >= 0 and int(array.max()) < n_points and bool(np.bincount(array).all()):
        return array.astype(np.int32, copy=False)
    return canonical(array)


def unique_draws(draws: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Distinct canonical draws and their shares, which sum to one.

    Peaked posteriors visit the same partition again and again; weighing it once is cheaper and exact.
    """
    seen: dict[bytes, list[int]] = {}
    for at, draw in enumerate(np.ascontiguousarray(draws)):
        seen.setdefault(blake2b(draw, digest_size=32).digest(), []).append(at)
    first, counts = [at[0] for at in seen.values()], np.array([len(at) for at in seen.values()])
    if len(first) == len(draws):
        return np.ascontiguousarray(draws), np.full(len(draws), 1 / len(draws))
    return np.ascontiguousarray(draws[first]), counts / draws.shape[0]


def merge_points(
    draws: npt.NDArray[Any], copies: npt.NDArray[np.int64] | None = None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Points that no draw takes apart, as one: canonical draws (D, m) of them, how many each stands for, and which is whose (n,).

    The points are numbered by first appearance. They are told apart by a hash of their labels, and then compared. `copies` are how many
    rows are behind each point already.
    """
    draws = np.ascontiguousarray(draws if draws.dtype in (np.uint8, np.uint16) else wide(draws))
    _, first, place = np.unique(_core.point_keys(draws), return_index=True, return_inverse=True)
    if not _core.stand_together(draws, first[place].astype(np.int32)):
        _, first, place = np.unique(draws, axis=1, return_index=True, return_inverse=True)  # two hashes met
    if first.size == draws.shape[1]:
        return draws, np.ones(first.size, np.int64) if copies is None else copies, np.arange(first.size)
    rank = np.empty(first.size, dtype=np.intp)
    order = np.argsort(first)
    rank[order] = np.arange(first.size)
    place = rank[place.ravel()]
    counts = np.bincount(place) if copies is None else np.bincount(place, weights=copies).astype(np.int64)
    return np.ascontiguousarray(draws[:, first[order]]), counts, place


def _integers(labels: npt.ArrayLike, owner: str, name: str = "labels") -> npt.NDArray[Any]:
    array = np.asarray(labels)
    if array.dtype.kind == "f" and array.size and bool(np.all(np.mod(array, 1) == 0)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub" and array.size:
        require(False, owner, name, array, "be integers")
    if array.ndim == 0:
        raise ParameterError(f"{owner}({name}=...): {name} must be an array of labels. Got a single number.")
    narrow = array.dtype.kind in "bu" or array.itemsize < 4  # int8 labels would overflow in the arithmetic
    return array.astype(np.int64) if narrow or array.size == 0 else array


def _flatten(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array.reshape(-1, array.shape[-1]) if array.size else array.reshape(0, array.shape[-1])


def _rows_canonical(rows: npt.NDArray[Any]) -> bool:
    if rows.size == 0:
        return True
    if rows[:, 0].any() or int(rows.min()) < 0:
        return False
    if rows.dtype.kind == "u":
        rows = rows.astype(np.int64 if rows.itemsize > 2 else np.int32)  # one above the highest must not be 0
    highest = np.maximum.accumulate(rows, axis=1)
    return bool(np.all(rows[:, 1:] <= highest[:, :-1] + 1))


def _renumber(rows: npt.NDArray[Any]) -> Labels:
    """Canonical labels of a block of rows.

    `first[row, label]` is filled from the last point backwards, so the earliest position stays; the rank of
    the positions within the row is the new label.
    """
    n_rows, n = rows.shape
    low = int(rows.min())
    span = int(rows.max()) - low + 1
    if span > 4 * n + 16:  # few labels, far apart: close the gaps first
        rows = np.stack([np.unique(row, return_inverse=True)[1] for row in rows])
        low, span = 0, int(rows.max()) + 1
    shifted = rows.astype(np.intp) - low
    first = np.full((n_rows, span), n, dtype=np.int32)
    which = np.arange(n_rows)[:, None]
    first[which, shifted[:, ::-1]] = np.arange(n - 1, -1, -1, dtype=np.int32)
    order = np.argsort(first, axis=1, kind="stable")
    rank = np.empty((n_rows, span), dtype=np.int32)
    rank[which, order] = np.arange(span, dtype=np.int32)
    return rank[which, shifted]
