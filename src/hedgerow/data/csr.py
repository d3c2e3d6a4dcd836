"""Sparse rows from stored parts, checked before SciPy sees them: its loops believe indices, and shapes cost memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["read_csr"]

_MOST_COLUMNS = 1 << 26  # statistics of a cluster may take a number for each


def read_csr(data: npt.NDArray[Any], indices: npt.NDArray[Any], indptr: npt.NDArray[Any], shape: Sequence[Any]) -> Any:
    """A CSR array; ValueError for parts that do not make one."""
    if len(shape) != 2 or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("a shape that is none")
    rows, columns = shape
    plain = data.dtype.kind in "biuf" and all(part.ndim == 1 for part in (data, indices, indptr))
    if not plain or indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError("parts of a sparse table of other types")
    if len(indptr) != rows + 1 or len(data) != len(indices) or columns > _MOST_COLUMNS:
        raise ValueError("parts of a sparse table of other lengths")
    ends = indptr.astype(np.int64)
    if int(ends[0]) != 0 or int(ends[-1]) != len(data) or (np.diff(ends) < 0).any():
        raise ValueError("row ends that are out of order")
    places = indices.astype(np.int64)
    if len(places) and not (places.min() >= 0 and places.max() < columns):
        raise ValueError("columns beyond the table")
    return sparse.csr_array((data, places, ends), shape=(rows, columns))
