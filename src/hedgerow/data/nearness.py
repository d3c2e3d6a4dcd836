"""Rows that lie together: a region of a table.

Where clusters are so many that a thousand rows by chance are a thousand rows alone, rows of one region still are in clusters.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["region"]

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]


def region(X: FloatArray, units: FloatArray, count: int) -> IndexArray:
    """So many rows, in order, that lie together: a half of a half, and so on, cut across directions by chance, always the same.

    Parameters
    ----------
    X : (n, d)
        Without gaps.
    units : (d,)
        Of the columns.
    count : int

    Returns
    -------
    (min(count, n),) int

    >>> region(np.array([[0.0], [5.0], [0.1], [5.1]]), np.ones(1), 2).tolist() in ([0, 2], [1, 3])
    True
    """
    rng, rows = np.random.default_rng(0), np.arange(len(X))
    while len(rows) > count:
        there = X if len(rows) == len(X) else X[rows]
        kept = max(count, len(rows) // 2)
        rows = np.sort(rows[np.argpartition(there @ (rng.standard_normal(X.shape[1]) / units), kept - 1)[:kept]])
    return rows
