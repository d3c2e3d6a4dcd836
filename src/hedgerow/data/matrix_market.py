"""Matrix Market files, read with suspicion: what the header declares is compared with the text before memory is taken.

SciPy's reader is faster and crashes on some damaged files; what users are sent should not end their process.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["read_matrix_market"]

_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
_EMPTY = 10_000_000  # rows and columns together that a file may have beyond its bytes: they cost memory even where empty


def read_matrix_market(content: bytes) -> Any:
    """A sparse CSR array for the coordinate form, a dense one for the array form; ValueError for anything that is neither."""
    file = io.BytesIO(content)
    form, field, symmetry = _read_banner(file.readline(1000))
    line = file.readline(10_000)
    while line.startswith(b"%") or (line and not line.strip()):
        line = file.readline(10_000)
    sizes = [int(word) for word in line.split()]
    if len(sizes) != (3 if form == "coordinate" else 2) or min(sizes) < 0:
        raise ValueError("the line of sizes must hold rows, columns and, in coordinate form, entries")
    rows, columns = sizes[:2]
    if rows + columns > len(content) + _EMPTY:
        raise ValueError(f"a matrix of {rows:,} by {columns:,} is more than so few bytes make likely")
    if symmetry != "general" and rows != columns:
        raise ValueError("a symmetric matrix must be square")
    left = len(content) - file.tell()
    if form == "coordinate":
        return _read_coordinates(file, left, (rows, columns), sizes[2], field, symmetry)
    return _read_dense(file, left, (rows, columns), symmetry)


def _read_banner(line: bytes) -> tuple[str, str, str]:
    words = line.decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"] or words[2] not in ("coordinate", "array"):
        raise ValueError("the first line must be %%MatrixMarket matrix coordinate|array field symmetry")
    form, field, symmetry = words[2:]
    if field not in _FIELDS or symmetry not in _SYMMETRIES or (form == "array" and field == "pattern"):
        raise ValueError(f"entries must be {', '.join(_FIELDS)} and {', '.join(_SYMMETRIES)}")
    return form, field, symmetry


def _numbers(file: io.BytesIO, most: int) -> npt.NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty matrix is no reason to warn
        return np.loadtxt(file, dtype=np.float64, comments="%", ndmin=2, max_rows=most + 1, encoding="ascii")


def _read_coordinates(file: io.BytesIO, left: int, shape: tuple[int, int], entries: int, field: str, symmetry: str) -> Any:
    width = 2 if field == "pattern" else 3
    if 2 * width * entries > left + 2:  # a digit and what ends it for each number
        raise ValueError(f"{entries:,} entries are declared and the text is too short for them")
    table = _numbers(file, entries).reshape(-1, width)
    if len(table) != entries:
        raise ValueError(f"{entries:,} entries are declared. Got {len(table):,}" + (" or more" if len(table) > entries else ""))
    places = table[:, :2]
    if not (np.isfinite(places).all() and (places == np.floor(places)).all() and (places >= 1).all() and (places <= shape).all()):
        raise ValueError("row and column numbers must lie within the matrix, from 1 on")
    i, j = places.T.astype(np.int64) - 1
    values = np.ones(entries) if field == "pattern" else table[:, 2]
    if field == "integer" and (np.abs(values) < 2**53).all() and (values == np.floor(values)).all():
        values = values.astype(np.int64)
    if symmetry != "general":
        off = i != j
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        i, j, values = np.append(i, j[off]), np.append(j, i[off]), np.append(values, sign * values[off])
    return sparse.csr_array(sparse.coo_array((values, (i, j)), shape=shape))


def _read_dense(file: io.BytesIO, left: int, shape: tuple[int, int], symmetry: str) -> npt.NDArray[np.float64]:
    rows, columns = shape
    below = {"general": None, "symmetric": 0, "skew-symmetric": -1}[symmetry]
    entries = rows * columns if below is None else rows * (rows + 1) // 2 if below == 0 else rows * (rows - 1) // 2
    if 2 * entries > left + 2:
        raise ValueError(f"{entries:,} entries are declared and the text is too short for them")
    values = _numbers(file, entries)
    if values.shape != (entries, 1) and values.size + entries > 0:
        raise ValueError(f"{entries:,} entries are declared, one a line. Got {values.shape[0]:,} lines")
    if below is None:
        return np.ascontiguousarray(values.reshape(columns, rows).T)
    out = np.zeros(shape)
    at = np.tril_indices(rows, below)
    order = np.lexsort((at[0], at[1]))  # columns, one after the other
    out[at[0][order], at[1][order]] = values[:, 0]
    mirror = np.tril(out, -1).T
    return np.asarray(out + (mirror if symmetry == "symmetric" else -mirror))
