"""Reads whatever users call a table (arrays, lists, data frames) into one float64 matrix with column names.

Nothing here imports pandas, polars or PyArrow: a frame is recognised by what it can do, and read column by
column, so that a column of text is named in the error instead of turning the whole frame into objects.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.arguments import NUMBER, as_float, is_gap
from hedgerow.data.frame import Frame, Series
from hedgerow.errors import ParameterError, require

__all__ = [
    "FloatArray",
    "Names",
    "any_array",
    "as_frame",
    "entry_place",
    "feature_names",
    "frame_columns",
    "read_matrix",
    "refuse_texts",
    "take_rows",
]

FloatArray = npt.NDArray[np.float64]
Names = tuple[str, ...] | None

RESHAPE = (
    "be two-dimensional, rows for observations and columns for measurements: "
    "use X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row"
)
TEXTS = (
    "be counts of words where rows are texts: CountVectorizer().fit_transform(X) of scikit-learn counts them, "
    "and hedgerow.data.read those of a folder of texts or of a column of a file"
)
COLLECT = "be a table, not the plan of one: X.collect() makes it"
EQUAL_COLUMNS = "have columns of equal length, each a list of entries"
EQUAL_ROWS = "be a matrix of numbers with rows of equal length"
NOT_NUMBERS = {
    "c": "hold real numbers, not complex ones",
    **dict.fromkeys("UST", "hold numbers, not text"),
    "M": "hold numbers, not dates",
    "m": "hold numbers, not time spans",
}


def feature_names(X: object) -> Names:
    """The column names of a data frame or PyArrow table; None for anything without names.

    Parameters
    ----------
    X : table

    Returns
    -------
    tuple of str, or None

    >>> feature_names([[1.0, 2.0]]) is None
    True
    """
    frame = _columns(X)
    return None if frame is None else tuple(str(name) for name in frame[0])


def entry_place(row: int, column: int, names: Names) -> str:
    """Words for one entry of X.

    >>> entry_place(3, 1, ("height", "age"))
    "row 3, column 1 'age', counted from 0"
    """
    label = f" {names[column]!r}" if names is not None else ""
    return f"row {row}, column {column}{label}, counted from 0"


def read_matrix(X: object, owner: str) -> tuple[FloatArray, Names]:
    """A C-contiguous float64 matrix and its column names; missing entries (None, NA, masked) become NaN.

    Accepts NumPy arrays (masked ones too), nested lists, and pandas, polars or PyArrow tables. Booleans
    count as 0 and 1. Text, complex numbers, dates and ragged rows are refused, naming the place.
    The memory of a C-contiguous float64 array is shared, not copied.
    """
    require(not sparse.issparse(X), owner, "X", X, "be dense: X.toarray() if its zeros are measurements")
    require(not hasattr(X, "collect"), owner, "X", X, COLLECT)  # polars' lazy frames
    frame = _columns(X)
    names: Names = None
    if frame is None:
        values = _read_array(X, owner)
    else:
        names = tuple(str(name) for name in frame[0])
        values = _read_frame(frame[1], names, owner)
    require(values.ndim == 2, owner, "X", X, RESHAPE)
    require(values.shape[0] > 0, owner, "X", X, "have at least one row")
    require(values.shape[1] > 0, owner, "X", X, "have at least one column")
    return np.ascontiguousarray(values), names


def frame_columns(X: Any, owner: str) -> tuple[tuple[str, ...], list[Any]] | None:
    """Names and columns of a frame that has both columns and rows; None for what is no frame."""
    require(not hasattr(X, "collect"), owner, "X", X, COLLECT)
    frame = _columns(X)
    if frame is None:
        return None
    require(len(frame[0]) > 0, owner, "X", X, "have at least one column")
    require(len(frame[1][0]) > 0, owner, "X", X, "have at least one row")
    return tuple(str(name) for name in frame[0]), frame[1]


def as_frame(X: Any, owner: str) -> Any:
    """A mapping of columns, or an array with named fields, as a `Frame`; any other table as it is.

    >>> as_frame({"height": [1.5, 2.5], "colour": ["red", "blue"]}, "propose").column_names
    ['height', 'colour']
    """
    if isinstance(X, str | bytes | os.PathLike):
        require(False, owner, "X", X, "be a table, not text: hedgerow.data.read(path) reads one from a file")
    refuse_texts(X, owner)
    if isinstance(X, Mapping) and not sparse.issparse(X):  # one of SciPy's sparse formats is a dictionary
        names, columns = list(X), [any_array(column, owner, "be columns of entries") for column in X.values()]
    elif isinstance(X, np.ndarray) and X.dtype.names is not None and X.ndim == 1:
        names, columns = list(X.dtype.names), [X[name] for name in X.dtype.names]
    else:
        return X
    require(
        len({len(column) for column in columns if column.ndim == 1}) == 1 and all(c.ndim == 1 for c in columns),
        owner,
        "X",
        X,
        EQUAL_COLUMNS,
    )
    return Frame([str(name) for name in names], [Series(column) for column in columns])


def refuse_texts(X: Any, owner: str) -> None:
    """An error that says what to do with texts, one a row, most of them of several words."""
    flat = isinstance(X, list | tuple) or getattr(X, "ndim", None) == 1
    if not flat or (hasattr(X, "dtype") and getattr(X.dtype, "names", None) is not None):
        return
    texts = [entry for entry in islice(X, 100) if isinstance(entry, str)]  # the others are gaps, or rows of a table
    require(2 * sum(len(text.split()) > 1 for text in texts) <= len(texts), owner, "X", X, TEXTS)


def row_count(X: Any) -> int:
    """Rows of a table of any kind."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(X: Any, rows: npt.NDArray[np.int64] | None) -> Any:
    """Some rows of a table of any kind, as often as they are asked for; all of them for None."""
    if rows is None or X is None:
        return X
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[rows]
    if hasattr(X, "column_names"):  # PyArrow, and Frame
        return X.take(rows)
    if sparse.issparse(X):
        return sparse.csr_array(X)[rows]
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X[rows]  # NumPy, polars


def stack_rows(parts: Sequence[Any]) -> Any:
    """Arrays one below the other, sparse if the first one is."""
    return sparse.csr_array(sparse.vstack(parts)) if sparse.issparse(parts[0]) else np.concatenate(parts)


def _columns(X: Any) -> tuple[list[object], list[Any]] | None:
    """Names and columns of a frame (pandas by position, as its names may repeat), or None."""
    if isinstance(X, np.ndarray) or sparse.issparse(X) or not hasattr(X, "columns"):
        return None
    if hasattr(X, "iloc"):  # pandas
        return list(X.columns), [X.iloc[:, j] for j in range(X.shape[1])]
    if hasattr(X, "get_columns"):  # polars
        return list(X.columns), list(X.get_columns())
    if hasattr(X, "column_names"):  # PyArrow
        return list(X.column_names), list(X.columns)
    return None


def _read_frame(columns: list[Any], names: tuple[str, ...], owner: str) -> FloatArray:
    """One float64 matrix from the columns of a frame."""
    if not columns:
        return np.empty((1, 0))
    read = [_to_float(np.asarray(column.to_numpy()), f"X[{name!r}]", owner) for column, name in zip(columns, names, strict=True)]
    return np.stack(read, axis=1)


def _read_array(X: object, owner: str) -> FloatArray:
    """Any array-like as float64, of whatever dimension it has."""
    if isinstance(X, np.ma.MaskedArray):
        values = np.array(_to_float(np.asarray(X.data), "X", owner))
        values[np.ma.getmaskarray(X)] = np.nan
        return values
    return _to_float(any_array(X, owner, "be a matrix of numbers, not text"), "X", owner)


def any_array(X: object, owner: str, wanted: str) -> npt.NDArray[Any]:
    """An array-like as an array. NumPy turns [1.0, "a"] into text; kept as objects, they still tell which entry is to blame."""
    require(not isinstance(X, str | bytes), owner, "X", X, wanted)
    try:
        array = np.asarray(X)
        if array.dtype.kind not in "fiub" and isinstance(X, list | tuple):
            array = np.asarray(X, dtype=object)
    except (ValueError, TypeError):
        raise _refused(X, owner, EQUAL_ROWS) from None
    return array


def _to_float(array: npt.NDArray[Any], name: str, owner: str) -> FloatArray:
    """A float64 copy or view of a NumPy array of any type, or the house's refusal."""
    kind = array.dtype.kind
    if kind in "fiub":
        return np.asarray(array, dtype=np.float64)
    words = NOT_NUMBERS.get(kind, f"hold numbers, not entries of type {array.dtype}")
    require(kind == "O", owner, name, array, words)
    values = np.empty(array.shape, dtype=np.float64)
    flat = values.reshape(-1)
    for position, entry in enumerate(array.reshape(-1)):
        if isinstance(entry, NUMBER):
            flat[position] = as_float(entry)
        elif is_gap(entry):
            flat[position] = np.nan
        else:
            require(not isinstance(entry, list | tuple | np.ndarray), owner, name, array, EQUAL_ROWS)
            place = ", ".join(str(int(i)) for i in np.unravel_index(position, array.shape))
            require(False, owner, f"{name}[{place}]" if place else name, entry, "be a real number")
    return values


def _refused(X: object, owner: str, requirement: str) -> ParameterError:
    """The error `require` would raise, for use where another exception has to be replaced."""
    try:
        require(False, owner, "X", X, requirement)
    except ParameterError as error:
        return error
    raise AssertionError("require(False, ...) always raises")
