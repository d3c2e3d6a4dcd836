"""RowStore: the checked rows of a stream by number, dense or sparse, kept so that the stream can be written down."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["RowStore"]


class RowStore:
    """Rows that can be replaced; the numbers are those of the compiled core."""

    def __init__(self) -> None:
        self._dense: npt.NDArray[np.float64] | None = None
        self._sparse: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
        self._columns = 0

    def put(self, numbers: npt.NDArray[np.int32], data: Any) -> None:
        """Rows of data under these numbers, in place of what was there."""
        self._columns = int(data.shape[1])
        wanted = int(numbers.max(initial=-1)) + 1
        if sparse.issparse(data):
            data = sparse.csr_array(data)
            nothing = (np.zeros(0, data.indices.dtype), np.zeros(0, data.data.dtype))
            self._sparse += [nothing] * (wanted - len(self._sparse))
            for i, number in enumerate(numbers.tolist()):
                cells = slice(data.indptr[i], data.indptr[i + 1])
                self._sparse[number] = data.indices[cells].copy(), data.data[cells].copy()
            return
        if self._dense is None:
            self._dense = np.zeros((wanted, self._columns))
        elif wanted > len(self._dense):
            grown = np.zeros((max(wanted, len(self._dense) * 3 // 2), self._columns))
            grown[: len(self._dense)] = self._dense
            self._dense = grown
        self._dense[numbers] = data

    def take(self, n: int) -> Any:
        """Rows 0..n-1."""
        if self._dense is not None:
            return self._dense[:n].copy()
        rows = self._sparse[:n]
        indptr = np.concatenate([[0], np.cumsum([len(indices) for indices, _ in rows])])
        indices = np.concatenate([indices for indices, _ in rows])
        counts = np.concatenate([data for _, data in rows])
        return sparse.csr_array((counts, indices, indptr), shape=(n, self._columns))
