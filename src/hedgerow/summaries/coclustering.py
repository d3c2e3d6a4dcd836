"""Co-clustering probabilities: how often two points share a cluster over the draws.

S[i, j] = (1/D) #{d : label_d(i) = label_d(j)} = (1/D) (Z Zᵀ)[i, j], with Z the one-hot columns of all draws side by
side. Wide columns (clusters with a good share of the points) go through one matrix product in float32, which
is exact for counts below 2^24; the pairs inside narrow clusters are counted one by one, because a product would
spend its time on zeros. Either way costs at most about n²/22 counted pairs or 22 dense columns a draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import ssyrk
from scipy.sparse import csr_array

from hedgerow import _core
from hedgerow.errors import ParameterError, require
from hedgerow.summaries.kept import KeptLabels, as_points, as_stored
from hedgerow.summaries.partitions import Labels, as_draws, as_partition, count_clusters, merge_points

__all__ = ["cluster_affinity", "home_affinity", "similarity"]

Array32 = npt.NDArray[np.float32]
Array = npt.NDArray[np.float64]

_DENSE_LIMIT = 20_000  # points; n × n in float32 is 1.6 GB there
_WIDE = 22  # a cluster of more than n/22 points is cheaper as a dense column (measured)
_PAIRS = 1 << 16  # pairs listed at a time: their index arrays stay in the cache
_BYTES = 64 << 20  # scratch of one block of columns
_WORTH_A_THREAD = 1 << 20
_MAX_DRAWS = 1 << 24  # float32 counts are whole numbers up to here


def similarity(
    labels: npt.ArrayLike,
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
    labels : (..., n)
        Draws.
    rows, columns : sequences of int, optional
    dense : bool

    Returns
    -------
    (rows, columns) float32

    >>> similarity([[0, 0, 1], [0, 1, 1]]).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    narrow = isinstance(labels, KeptLabels) and not (rows is None and columns is None and dense)  # of which a block is taken
    draws: npt.NDArray[Any] = as_stored(labels) if narrow else as_draws(labels, "similarity")
    n_draws, n = draws.shape
    require(n_draws < _MAX_DRAWS, "similarity", "labels", labels, f"hold fewer than {_MAX_DRAWS} draws")
    if rows is None and columns is None:
        if n > _DENSE_LIMIT and not dense:
            raise ParameterError(
                f"similarity(labels=<{n} points>): labels must have at most {_DENSE_LIMIT} points for the whole "
                f"n × n matrix ({4e-9 * n * n:.1f} GB). Got {n}. Pass rows= (and columns=) for a block of it, or "
                "dense=True for all of it."
            )
        return _whole(draws)
    left = _indices(rows, n, "rows")
    right = _indices(columns, n, "columns")
    merged, _, place = merge_points(draws[:, np.concatenate([left, right])].astype(np.int32, copy=False))  # each worked out once
    (left, up), (right, across) = (np.unique(side, return_inverse=True) for side in np.split(place, [left.size]))
    return _block(merged, left, right)[up][:, across]


def cluster_affinity(labels: npt.ArrayLike, partition: npt.ArrayLike) -> Array:
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
    n_draws, n = len(points.draws), points.place.size
    own = as_partition(partition, "cluster_affinity", "partition", n)
    k = int(own.max()) + 1
    sizes = np.bincount(own, minlength=k).astype(np.float64)
    points, home = points.of(own)
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


def home_affinity(labels: npt.ArrayLike, own: Labels) -> tuple[Array, Array]:
    """Of every point the entry of `cluster_affinity` for its own cluster, and the sum over all clusters: (n,) both.

    No table of points and clusters is made.
    """
    points = as_points(labels, "uncertainty")
    sizes = np.bincount(own)
    n_draws = len(points.draws)
    points, home = points.of(own)
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


def _whole(draws: Labels) -> Array32:
    """The symmetric matrix; only its upper triangle is computed, in an order that keeps clusters together."""
    n_draws, n = draws.shape
    order = np.lexsort(draws[:: max(1, n_draws // 8)][::-1])  # neighbours in memory share clusters
    draws = np.ascontiguousarray(draws[:, order])
    total = np.zeros((n, n), dtype=np.float32, order="F")
    for wide, narrow in _column_blocks(draws):
        if wide.shape[1]:
            total = ssyrk(1.0, wide, beta=1.0, c=total, overwrite_c=1)
        _count_pairs(narrow, total)
    np.fill_diagonal(total, n_draws)
    total *= np.float32(1.0 / n_draws)
    result = np.empty((n, n), dtype=np.float32)
    step = max(1, _BYTES // (8 * n))
    for start in range(0, n, step):  # unsort and mirror block by block: no third n × n array
        stop = min(n, start + step)
        block = np.triu(total[start:stop, start:stop], 1)
        result[np.ix_(order[start:stop], order[start:stop])] = block + block.T
        right = total[start:stop, stop:]
        result[np.ix_(order[start:stop], order[stop:])] = right
        result[np.ix_(order[stop:], order[start:stop])] = right.T
    np.fill_diagonal(result, 1.0)
    return result


def _column_blocks(draws: Labels) -> Iterator[tuple[Array32, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]]:
    """Blocks of draws: the one-hot columns of wide clusters, and (points, cluster codes) of narrow ones sorted."""
    n_draws, n = draws.shape
    step = max(1, min(n_draws, _BYTES // (4 * n * _WIDE)))
    for start in range(0, n_draws, step):
        block = draws[start : start + step]
        width = int(block.max()) + 1
        codes = block.astype(np.int64) + np.arange(block.shape[0])[:, None] * width
        sizes = np.bincount(codes.ravel(), minlength=block.shape[0] * width)
        is_wide = sizes * _WIDE > n
        column = np.cumsum(is_wide) - 1
        wide = np.zeros((n, int(is_wide.sum())), dtype=np.float32, order="F")
        which, point = np.nonzero(is_wide[codes])
        wide[point, column[codes[which, point]]] = 1.0
        which, point = np.nonzero(~is_wide[codes])
        code = codes[which, point]
        by_code = np.argsort(code, kind="stable")
        yield wide, (point[by_code].astype(np.int64), code[by_code])


def _count_pairs(narrow: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], total: Array32) -> None:
    """Add one to the upper triangle of `total` (Fortran order) for every pair inside a narrow cluster.

    Members of a cluster lie side by side in `point`, so the partners of a position are the places from the next one
    to the end of its run. Pairs are listed a cache-full at a time.
    """
    point, code = narrow
    if code.size == 0:
        return
    flat = total.reshape(-1, order="F")  # a view: entry (i, j) sits at i + n j
    scaled = point * total.shape[0]
    position = np.arange(code.size)
    partners = np.searchsorted(code, code, side="right") - position - 1
    before = np.concatenate(([0], np.cumsum(partners)))
    cuts = np.unique(np.searchsorted(before, np.arange(0, before[-1] + _PAIRS, _PAIRS)))
    cuts[-1] = code.size
    for low, high in pairwise(cuts):
        times = partners[low:high]
        partner = np.repeat(position[low:high] + 1 - before[low:high], times)
        partner += np.arange(before[low], before[high])
        entry = scaled[partner]
        entry += np.repeat(point[low:high], times)
        np.add.at(flat, entry, np.float32(1.0))


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
