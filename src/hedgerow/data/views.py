"""Validated views of a user's data: dense matrices, sparse counts, labels, times; else an error saying where.

Every likelihood reads X through here, so that a bad entry is met with the same words everywhere:
`GaussianWishart(X[3, 1]=nan): X[3, 1] must be finite (row 3, column 1 'age', counted from 0). Got nan.`
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.data.tables import FloatArray, Names, entry_place, read_matrix
from hedgerow.errors import require

__all__ = ["LARGEST", "as_counts", "as_dense", "as_labels", "as_times", "canonical"]

#: Beyond this a sum of squares may overflow, so a larger magnitude is refused rather than answered with inf.
LARGEST = 1e100
#: Whole numbers up to here are exact in float64.
LARGEST_COUNT = 2.0**53
LARGEST_INDEX = 2**31 - 1


def as_dense(X: object, owner: str, *, missing: bool = False, columns: int | None = None) -> FloatArray:
    """X as a C-contiguous float64 matrix of finite entries; with `missing`, NaN marks an entry not observed.

    X may be a NumPy array, nested lists, or a pandas, polars or PyArrow table. `columns`, if given, is the
    number of columns that it must have. `owner` is the name of the object that asks, for the error.

    Parameters
    ----------
    X : table
    owner : str
        Who asks, for the error.
    missing : bool
        Whether NaN is allowed.
    columns : int, optional
        How many there must be.

    Returns
    -------
    (n, d) float64

    >>> as_dense([[1, 2], [3, 4]], "GaussianWishart")
    array([[1., 2.],
           [3., 4.]])
    """
    values, names = read_matrix(X, owner)
    _check_columns(values.shape[1], columns, X, owner)
    # One pass over X decides the common case; the place is looked for only when something is wrong.
    with np.errstate(invalid="ignore"):
        fine = np.abs(values) <= LARGEST
    if missing:
        fine |= np.isnan(values)
    if not fine.all():
        row, column = (int(i) for i in np.argwhere(~fine)[0])
        entry = float(values[row, column])
        wanted = "be finite" if not np.isfinite(entry) else f"be at most {LARGEST:.0e} in magnitude"
        _refuse_entry(row, column, entry, wanted, names, owner)
    return values


def as_counts(X: object, owner: str, *, columns: int | None = None) -> sparse.csr_array:
    """X as a canonical CSR array of whole, non-negative counts in float64; sparse input is never made dense.

    Duplicate entries are summed, explicit zeros dropped, columns sorted within each row. The input is left as
    it was. Negative, fractional, missing and infinite counts are refused, naming row and column.

    Parameters
    ----------
    X : table or sparse matrix
    owner : str
        Who asks, for the error.
    columns : int, optional
        How many there must be.

    Returns
    -------
    scipy.sparse.csr_array

    >>> as_counts([[0, 2], [1, 0]], "Multinomial").nnz
    2
    """
    names: Names = None
    if sparse.issparse(X):
        counts = _read_sparse(X, owner)
    else:
        values, names = read_matrix(X, owner)
        counts = sparse.csr_array(values)
    require(counts.shape[1] <= LARGEST_INDEX, owner, "X", X, "have fewer than 2**31 columns")
    _check_columns(counts.shape[1], columns, X, owner)
    data = counts.data
    with np.errstate(invalid="ignore"):
        fine = (data >= 0) & (data <= LARGEST_COUNT) & (data == np.floor(data))
    if not fine.all():
        position = int(np.flatnonzero(~fine)[0])
        row = int(np.searchsorted(counts.indptr, position, side="right")) - 1
        column, count = int(counts.indices[position]), float(data[position])
        _refuse_entry(row, column, count, _count_fault(count), names, owner)
    counts.indptr = counts.indptr.astype(np.int64, copy=False)
    counts.indices = counts.indices.astype(np.int32, copy=False)
    return counts


def as_labels(labels: object, n: int, owner: str) -> npt.NDArray[np.int32]:
    """Cluster labels of n rows, renumbered 0, 1, ... in order of first appearance.

    Whole numbers, booleans and text are all labels; only which rows share one matters.

    Parameters
    ----------
    labels : (n,)
    n : int
        How many there must be.
    owner : str
        Who asks, for the error.

    Returns
    -------
    (n,) int32

    >>> as_labels([7, 7, 2, 7], 4, "Mixture")
    array([0, 0, 1, 0], dtype=int32)
    """
    array = _read_vector(labels, n, owner, "labels")
    kind = array.dtype.kind
    require(kind in "iubfUST", owner, "labels", labels, "be whole numbers or names")
    if kind == "f":
        with np.errstate(invalid="ignore"):
            whole = array == np.floor(array)
        whole &= np.isfinite(array)
        if not whole.all():
            row = int(np.flatnonzero(~whole)[0])
            require(False, owner, f"labels[{row}]", float(array[row]), "be a whole number")
    return canonical(array)


def canonical(labels: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """The same partition with clusters numbered 0, 1, ... in order of first appearance.

    Parameters
    ----------
    labels : (n,)

    Returns
    -------
    (n,) int32

    >>> canonical(np.array([7, 7, 2]))
    array([0, 0, 1], dtype=int32)
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return np.ascontiguousarray(rank[inverse.reshape(-1)])


def as_times(times: object, n: int, owner: str) -> FloatArray:
    """The time (or any other one-dimensional covariate) of n rows as float64; must be finite numbers.

    Parameters
    ----------
    times : (n,)
    n, owner : as for `as_labels`

    Returns
    -------
    (n,) float64

    >>> as_times([1987, 1987, 1988], 3, "MixedNRM")
    array([1987., 1987., 1988.])
    """
    array = _read_vector(times, n, owner, "times")
    require(array.dtype.kind in "iuf", owner, "times", times, "be numbers; turn dates into numbers first")
    values = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        require(False, owner, f"times[{row}]", float(values[row]), "be finite")
    return values


def _read_sparse(X: Any, owner: str) -> sparse.csr_array:
    """A canonical float64 CSR copy of any SciPy sparse matrix or array."""
    require(X.ndim == 2, owner, "X", X, "be two-dimensional, one row per observation")
    require(X.shape[0] > 0, owner, "X", X, "have at least one row")
    require(X.shape[1] > 0, owner, "X", X, "have at least one column")
    require(X.dtype.kind in "iubf", owner, "X", X, "hold real numbers")
    require(_points_inside(X), owner, "X", X, "be whole: its indices point outside of it")
    # astype first, and always to a copy: duplicates of small integers would wrap round when summed.
    counts = sparse.csr_array(X.astype(np.float64))
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def _points_inside(X: Any) -> bool:
    """Whether the index arrays of a sparse matrix stay within it; SciPy's own routines would follow them anywhere."""
    if X.format == "coo":
        pairs = zip(X.coords, X.shape, strict=True)
        return all(i.size == 0 or bool(i.min() >= 0 and i.max() < length) for i, length in pairs)
    if X.format not in ("csr", "csc", "bsr"):
        return True
    rows, columns = (n // b for n, b in zip(X.shape, getattr(X, "blocksize", (1, 1)), strict=True))
    major, minor = (columns, rows) if X.format == "csc" else (rows, columns)
    starts, places = X.indptr, X.indices
    good = starts.shape == (major + 1,) and places.ndim == 1 and len(places) == len(X.data)
    good = good and starts[0] == 0 and starts[-1] <= len(places) and bool((starts[1:] >= starts[:-1]).all())
    return bool(good and (places.size == 0 or (places.min() >= 0 and places.max() < minor)))


def _read_vector(values: object, n: int, owner: str, name: str) -> npt.NDArray[Any]:
    """One entry per row, of whatever type NumPy finds in it."""
    require(not np.ma.is_masked(values), owner, name, values, "have no masked entry")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):
        # dtype=object accepts the rows of unequal length that NumPy has just refused.
        array = np.asarray(values, dtype=object)
    if array.dtype.kind == "O":
        entries = array.reshape(-1).tolist()
        numbers = all(isinstance(entry, int | float) for entry in entries)
        texts = all(isinstance(entry, str) for entry in entries)
        require(numbers or texts, owner, name, values, "be all numbers or all names, with none missing")
        array = np.array(entries, dtype=None if entries else np.int64).reshape(array.shape)
    require(array.ndim == 1, owner, name, values, "be one-dimensional, one entry per row of X")
    require(len(array) == n, owner, name, values, f"have one entry for each of the {n} rows of X")
    return array


def _check_columns(found: int, wanted: int | None, X: object, owner: str) -> None:
    if wanted is not None:
        plural = "column" if wanted == 1 else "columns"
        require(found == wanted, owner, "X", X, f"have {wanted} {plural}, as the model was resolved with")


def _count_fault(count: float) -> str:
    """What is wrong with a count, as the end of "X[i, j] must ..."."""
    if not np.isfinite(count):
        return "be finite"
    if count < 0:
        return "be a count, 0 or more"
    if count > LARGEST_COUNT:
        return "be at most 2**53"
    return "be a whole number"


def _refuse_entry(row: int, column: int, entry: float, wanted: str, names: Names, owner: str) -> None:
    require(False, owner, f"X[{row}, {column}]", entry, f"{wanted} ({entry_place(row, column, names)})")
