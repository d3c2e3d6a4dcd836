"""Co-clustering probabilities: how often two points share a cluster over the draws.

S[i, j] = (1/D) #{d : label_d(i) = label_d(j)} = (1/D) (Z Zᵀ)[i, j], with Z the one-hot columns of all draws side by
side. Wide columns (clusters with a good share of the points) go through one matrix product in float32, which
is exact for counts below 2^24; the pairs inside narrow clusters are counted one by one, because a product would
spend its time on zeros. Either way costs at most about n²/22 counted pairs or 22 dense columns a draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import ssyrk
from scipy.sparse import csr_array

from hedgerow.errors import ParameterError, require
from hedgerow.summaries.partitions import Labels, as_draws, as_partition, count_clusters, merge_points
from hedgerow.summaries.points import Points

__all__ = ["cluster_affinity", "home_affinity", "similarity"]

Array32 = npt.NDArray[np.float32]
Array = npt.NDArray[np.float64]

_DENSE_LIMIT = 20_000  # points; n × n in float32 is 1.6 GB there
_WIDE = 22  # a cluster of more than n/22 points is cheaper as a dense column (measured)
_PAIRS = 1 << 16  # pairs listed at a time: their index arrays stay in the cache
_BYTES = 64 << 20  # scratch of one block of columns
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
    draws = as_draws(labels, "similarity")
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
    merged, _, place = merge_points(draws[:, np.concatenate([left, right])])  # each of them worked out once
    (left, up), (right, across) = (np.unique(side, return_inverse=True) for side in np.split(place, [left.size]))
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
    merged, home = _cut(labels, partition)
    return np.concatenate([block for _, block in _affinities(merged, home)])[merged.place]


def home_affinity(labels: npt.ArrayLike | Points, partition: npt.ArrayLike) -> tuple[Array, Array]:
    """Of `cluster_affinity` what each point has with its own cluster, and with all clusters together: (n,) each."""
    merged, home = _cut(labels, partition)
    at_home, total = np.empty(home.size), np.empty(home.size)
    for part, block in _affinities(merged, home):
        at_home[part] = block[np.arange(len(block)), home[part]]
        total[part] = block.sum(axis=1)
    return at_home[merged.place], total[merged.place]


def _cut(labels: npt.ArrayLike | Points, partition: npt.ArrayLike) -> tuple[Points, npt.NDArray[np.int64]]:
    known = labels if isinstance(labels, Points) else Points.of(labels, "cluster_affinity")
    merged, home = known.cut(as_partition(partition, "cluster_affinity", "partition", known.n))
    return merged, home.astype(np.int64)


def _affinities(merged: Points, home: npt.NDArray[np.int64]) -> Iterator[tuple[slice, Array]]:
    """Block by block the points, each in cluster `home` of the partition, and their affinities (points, K)."""
    n_draws, k = len(merged.draws), int(home.max()) + 1
    sizes = np.bincount(home, weights=merged.copies.astype(np.float64), minlength=k).astype(np.float64)
    tables = []
    for draw in merged.draws:
        width = int(draw.max()) + 1
        tables.append(np.bincount(draw * k + home, weights=merged.copies, minlength=width * k).reshape(width, k))
    singles = [table.sum(axis=1) == 1 for table in tables]
    step = max(1, _BYTES // (8 * k))
    for start in range(0, home.size, step):
        part = slice(start, min(start + step, home.size))
        own, rows = home[part], np.arange(part.stop - start)
        total, alone = np.zeros((rows.size, k)), np.zeros(rows.size)
        for draw, table, single in zip(merged.draws, tables, singles, strict=True):
            total += table[draw[part]]
            alone += single[draw[part]]
        total[rows, own] -= n_draws
        company = np.broadcast_to(sizes, (rows.size, k)).copy()
        company[rows, own] -= 1.0
        affinity: Array = total / np.maximum(company, 1.0) / n_draws
        lone = sizes[own] == 1
        affinity[rows[lone], own[lone]] = alone[lone] / n_draws
        yield part, affinity


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
