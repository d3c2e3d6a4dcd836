"""Co-clustering probabilities: how often two points share a cluster over the draws.

S[i, j] = (1/D) #{d : label_d(i) = label_d(j)}. Labels are laid out point by point in as few bytes as hold them, and those of two
points compared many at a time (`together` in the core); a block of the matrix is a product of one-hot columns.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from hedgerow import _core
from hedgerow.errors import ParameterError, require
from hedgerow.summaries.narrow import NarrowLabels, as_points, as_stored
from hedgerow.summaries.partitions import Labels, as_draws, as_partition, canonical, count_clusters, merge_points
from hedgerow.summaries.points import Points

__all__ = ["cluster_affinity", "home_affinity", "similarity"]

Array32 = npt.NDArray[np.float32]
Array = npt.NDArray[np.float64]

_DENSE_LIMIT = 20_000  # points; n × n in float32 is 1.6 GB there
_BYTES = 64 << 20  # scratch of one block of columns
_FEW_POINTS, _MORE_PAIRS = 512, 16  # all pairs of so many points, or so many pairs for one asked for, cost less than one-hot products
_WORTH_A_THREAD = 1 << 20
_MAX_DRAWS = 1 << 24  # float32 counts are whole numbers up to here


def similarity(
    labels: npt.ArrayLike | Points,
    *,
    rows: npt.ArrayLike | None = None,
    columns: npt.ArrayLike | None = None,
    dense: bool = False,
) -> Array32:
    """Probability that two points share a cluster, estimated from draws (..., n): float32.

    Without `rows` and `columns` the whole symmetric matrix (n, n). Beyond 20,000 points that is refused unless
    `dense=True`; ask for the points of interest instead: `rows=` and `columns=` are point indices, and the answer is
    the block (rows, columns). Leaving one out means all points on that side.

    Parameters
    ----------
    labels : (..., n) or Points
        Draws.
    rows, columns : sequences of int, optional
    dense : bool

    Returns
    -------
    (rows, columns) float32

    >>> similarity([[0, 0, 1], [0, 1, 1]]).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    place = None
    if isinstance(labels, Points):
        draws, place = labels.draws, labels.place
    else:
        draws = as_stored(labels) if isinstance(labels, NarrowLabels) else as_draws(labels, "similarity")
    n_draws, n = len(draws), draws.shape[1] if place is None else len(place)
    require(n_draws < _MAX_DRAWS, "similarity", "labels", labels, f"hold fewer than {_MAX_DRAWS} draws")
    if rows is None and columns is None:
        if n > _DENSE_LIMIT and not dense:
            raise ParameterError(
                f"similarity(labels=<{n} points>): labels must have at most {_DENSE_LIMIT} points for the whole "
                f"n × n matrix ({4e-9 * n * n:.1f} GB). Got {n}. Pass rows= (and columns=) for a block of it, or "
                "dense=True for all of it."
            )
        whole = _whole(draws)
        return whole if place is None else whole[np.ix_(place, place)]
    left, right = _indices(rows, n, "rows"), _indices(columns, n, "columns")
    points, both = np.unique(np.concatenate([left, right]), return_inverse=True)
    if points.size <= _FEW_POINTS or points.size**2 <= _MORE_PAIRS * left.size * right.size:  # all pairs of them are few enough
        whole = _whole(canonical(draws[:, points if place is None else place[points]]))
        return whole[np.ix_(both[: left.size], both[left.size :])]
    asked = np.concatenate([left, right])
    taken = draws[:, asked if place is None else place[asked]].astype(np.int32, copy=False)
    merged, _, of_asked = merge_points(taken)  # each worked out once
    (left, up), (right, across) = (np.unique(side, return_inverse=True) for side in np.split(of_asked, [left.size]))
    return _block(merged, left, right)[up][:, across]


def cluster_affinity(labels: npt.ArrayLike | Points, partition: npt.ArrayLike) -> Array:
    """Mean co-clustering probability of every point with the other points of every cluster: (n, K).

    The point itself does not count as its own company. A point alone in its cluster has no company there: the
    entry is then the probability that it is alone. No n × n matrix is made.

    Parameters
    ----------
    labels : (..., n)
        Draws.
    partition : (n,)

    Returns
    -------
    (n, K)

    >>> cluster_affinity([[0, 0, 1], [0, 1, 1]], [0, 0, 1]).tolist()
    [[0.5, 0.0], [0.5, 0.5], [0.25, 0.5]]
    """
    points = as_points(labels, "cluster_affinity")
    n_draws, own = len(points.draws), as_partition(partition, "cluster_affinity", "partition", points.n)
    sizes = np.bincount(own).astype(np.float64)
    k = sizes.size
    points, home = points.cut(own)
    each = np.arange(home.size)
    total = np.zeros((home.size, k))
    alone = np.zeros(home.size)
    for draw in points.draws:
        width = int(draw.max()) + 1
        codes = draw.astype(np.int64) * k + home
        table = np.bincount(codes, weights=points.copies, minlength=width * k).reshape(width, k)
        total += table[draw]
        alone += table.sum(axis=1)[draw] == 1
    total[each, home] -= n_draws
    company = np.broadcast_to(sizes, (home.size, k)).copy()
    company[each, home] -= 1.0
    affinity: Array = total / np.maximum(company, 1.0) / n_draws
    single = sizes[home] == 1
    affinity[each[single], home[single]] = alone[single] / n_draws
    return affinity[points.place]


def home_affinity(labels: npt.ArrayLike | Points, partition: npt.ArrayLike) -> tuple[Array, Array]:
    """Of every point the entry of `cluster_affinity` for its own cluster, and the sum over all clusters: (n,) both.

    No table of points and clusters is made.
    """
    points = as_points(labels, "uncertainty")
    own = as_partition(partition, "uncertainty", "partition", points.n)
    sizes = np.bincount(own)
    n_draws = len(points.draws)
    points, home = points.cut(own)
    parts = _halves(n_draws, points.copies.size)
    with ThreadPoolExecutor(len(parts)) as pool:
        sums = list(pool.map(lambda part: _core.company(points.draws[part], points.copies, home, sizes.size), parts))
    with_own, everywhere, alone = (sum(one[i] for one in sums) for i in range(3))
    at_home = np.where(sizes[home] > 1, with_own / np.maximum(sizes[home] - 1, 1), alone) / n_draws
    total = (everywhere + np.where(sizes[home] > 1, 0.0, alone)) / n_draws
    return at_home[points.place], total[points.place]


def _halves(n_draws: int, width: int) -> list[slice]:
    """The draws in two parts for two threads, where there is work for them: always the same two, so that sums are the same."""
    if n_draws * width < _WORTH_A_THREAD:
        return [slice(None)]
    return [slice(None, n_draws // 2), slice(n_draws // 2, None)]


def _indices(points: npt.ArrayLike | None, n: int, name: str) -> npt.NDArray[np.intp]:
    if points is None:
        return np.arange(n)
    array = np.asarray(points)
    require(array.ndim == 1 and array.dtype.kind in "iu", "similarity", name, points, "be a list of point indices")
    require(bool(np.all((array >= -n) & (array < n))), "similarity", name, points, f"lie within 0 to {n - 1}")
    return array.astype(np.intp) % n


def _whole(draws: npt.NDArray[Any]) -> Array32:
    """The symmetric matrix."""
    n_draws, n = draws.shape
    total: Array32 = _core.together(draws, (os.cpu_count() or 1) if n_draws * n * n > _WORTH_A_THREAD << 6 else 1)
    total *= np.float32(1.0 / n_draws)
    np.fill_diagonal(total, 1.0)
    return total


def _block(draws: Labels, left: npt.NDArray[np.intp], right: npt.NDArray[np.intp]) -> Array32:
    """A block of the matrix by sparse times dense-or-sparse products, a few draws at a time."""
    n_draws = draws.shape[0]
    counts = count_clusters(draws)
    total = np.zeros((left.size, right.size), dtype=np.float32)
    step = max(1, _BYTES // (4 * (left.size + right.size) * max(1, int(counts.max()))))
    for start in range(0, n_draws, step):
        block = draws[start : start + step]
        width = int(block.max()) + 1
        if block.shape[0] * width <= 64 * block.shape[0]:
            total += _one_hot(block[:, left], width).toarray() @ _one_hot(block[:, right], width).toarray().T
        else:
            total += (_one_hot(block[:, left], width) @ _one_hot(block[:, right], width).T).toarray()
    total *= np.float32(1.0 / n_draws)
    return total


def _one_hot(block: Labels, width: int) -> csr_array:
    n_draws, n = block.shape
    indices = (block.astype(np.int64) + np.arange(n_draws)[:, None] * width).T.ravel()
    data = np.ones(indices.size, dtype=np.float32)
    return csr_array((data, indices, np.arange(n + 1) * n_draws), shape=(n, n_draws * width))
