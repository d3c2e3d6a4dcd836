"""Tables of mixed columns: each column as numbers or as names, with the levels its type declares.

A column of names becomes numbers 0, 1, ... into its list of levels, so that a checked table of any kind is one
float64 matrix with NaN where an entry is missing (None, NaN, NA, NaT, masked).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.arguments import NUMBER, as_float
from hedgerow.data.frame import Series
from hedgerow.data.tables import (
    COLLECT,
    EQUAL_ROWS,
    RESHAPE,
    FloatArray,
    Names,
    _columns,
    any_array,
    entry_place,
    feature_names,
    frame_columns,
)
from hedgerow.errors import require

__all__ = ["Column", "Level", "level_names", "pick_columns", "read_columns", "refuse_entries", "table_shape"]

Level = str | int | float | bool

DENSE = "be dense: X.toarray() if its zeros are measurements"
UNREADABLE = {
    "c": "hold real numbers or names, not complex numbers",
    "M": "hold numbers or names, not dates",
    "m": "hold numbers or names, not time spans",
}


@dataclass(frozen=True)
class Column:
    """One column of a table.

    `values` holds its numbers, or positions in `names` for a column of names. `declared` are the levels that
    the column's type lists, whether they occur or not: a pandas or polars categorical, or booleans.
    """

    place: str
    values: FloatArray
    names: tuple[str, ...] | None = None
    declared: tuple[Level, ...] | None = None
    boolean: bool = False

    def entry(self, row: int) -> Level:
        """What stood in this row, for an error."""
        value = self.values[row]
        return float(value) if self.names is None else self.names[int(value)]


def read_columns(X: object, owner: str) -> tuple[list[Column], Names]:
    """The columns of any table, and their names if it has any.

    >>> columns, names = read_columns([[1.5, "red"], [2.5, None]], "Categorical")
    >>> columns[1].names, columns[1].values
    (('red',), array([ 0., nan]))
    """
    require(not sparse.issparse(X), owner, "X", X, DENSE)
    if (frame := frame_columns(X, owner)) is not None:
        names, series = frame
        return [_read_series(column, f"X[{name!r}]", owner) for column, name in zip(series, names, strict=True)], names
    array = _as_array(X, owner)
    require(array.ndim == 2, owner, "X", X, RESHAPE)
    require(array.shape[0] > 0, owner, "X", X, "have at least one row")
    require(array.shape[1] > 0, owner, "X", X, "have at least one column")
    return [_read_array(array[:, j], f"X[:, {j}]", owner) for j in range(array.shape[1])], None


def table_shape(X: object, owner: str) -> tuple[int, int]:
    """Rows and columns of any table.

    >>> table_shape([[1, "a"], [2, "b"]], "Product")
    (2, 2)
    """
    require(not sparse.issparse(X), owner, "X", X, DENSE)
    require(not hasattr(X, "collect"), owner, "X", X, COLLECT)
    frame = _columns(X)
    if frame is not None:
        require(len(frame[0]) > 0, owner, "X", X, "have at least one column")
        return len(frame[1][0]), len(frame[0])
    array = _as_array(X, owner)
    require(array.ndim == 2, owner, "X", X, RESHAPE)
    return int(array.shape[0]), int(array.shape[1])


def pick_columns(X: Any, positions: list[int], owner: str) -> Any:
    """Some columns of any table, as a table of the same kind."""
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[:, positions]
    if hasattr(X, "get_columns"):  # polars
        return X[:, positions]
    if hasattr(X, "column_names"):  # PyArrow
        return X.select(positions)
    return _as_array(X, owner)[:, positions]


def level_names(levels: tuple[Level, ...]) -> bool:
    """Whether these levels are names; otherwise they are numbers."""
    return len(levels) > 0 and isinstance(levels[0], str)


def refuse_entries(values: FloatArray, fine: npt.NDArray[np.bool_], wanted: str, X: object, owner: str) -> None:
    """Refuse the first entry of a checked matrix that is not fine, in the house's form."""
    if fine.all():
        return
    row, column = (int(i) for i in np.argwhere(~fine)[0])
    entry = float(values[row, column])
    place = entry_place(row, column, feature_names(X))
    require(False, owner, f"X[{row}, {column}]", entry, f"{wanted} ({place})")


def _as_array(X: object, owner: str) -> npt.NDArray[Any]:
    """Anything that is not a frame as a NumPy array, objects where NumPy would turn numbers into text."""
    if isinstance(X, np.ma.MaskedArray):
        values: npt.NDArray[Any] = np.array(X.data, dtype=np.float64 if X.dtype.kind in "fiu" else object)
        values[np.ma.getmaskarray(X)] = np.nan
        return values
    if isinstance(X, np.ndarray):
        return np.asarray(X)  # np.matrix has columns that are matrices
    return any_array(X, owner, "be a table, not text")


def _read_series(series: Any, place: str, owner: str) -> Column:
    """One column of a frame."""
    if isinstance(series, Series) and series.texts is not None:
        texts = tuple(series.texts)
        values = np.where(series.values < 0, np.nan, series.values)
        names = texts if series.declared else tuple(sorted(texts))
        return Column(place, _recode(values, texts, names), names, names if series.declared else None)
    kind = str(series.dtype) if hasattr(series, "dtype") else str(getattr(series, "type", ""))
    if kind == "category":  # pandas
        return _read_categories(list(series.cat.categories), np.asarray(series.cat.codes), place)
    if kind.startswith("Enum"):  # polars
        names = tuple(series.dtype.categories.to_list())
        column = _read_array(series.to_numpy(), place, owner)
        found = column.names or ()
        return Column(place, _recode(column.values, found, names), names, names)
    if kind.startswith("dictionary"):  # PyArrow, whose to_numpy gives a missing entry some level
        return _read_array(np.array(series.to_pylist(), dtype=object), place, owner)
    return _read_array(np.asarray(series.to_numpy()), place, owner)


def _read_categories(categories: list[Any], codes: npt.NDArray[Any], place: str) -> Column:
    """A pandas categorical; categories that are neither names nor numbers go by their text."""
    missing = codes < 0
    if categories and all(isinstance(c, Real | np.bool_) for c in categories):
        declared = tuple(_plain(c) for c in categories)
        values = np.asarray(declared, dtype=np.float64)[np.maximum(codes, 0)]
        values[missing] = np.nan
        return Column(place, values, None, declared, all(isinstance(c, bool) for c in declared))
    names = tuple(str(c) for c in categories)
    values = codes.astype(np.float64)
    values[missing] = np.nan
    return Column(place, values, names, names)


def _read_array(array: npt.NDArray[Any], place: str, owner: str) -> Column:
    """One column as NumPy has it."""
    kind = array.dtype.kind
    if kind == "b":
        return Column(place, array.astype(np.float64), None, (False, True), True)
    if kind in "fiu":
        return Column(place, np.array(array, dtype=np.float64))
    if kind in "UST":
        return _read_names(array.astype(object), np.zeros(len(array), dtype=bool), place)
    words = UNREADABLE.get(kind, f"hold numbers or names, not entries of type {array.dtype}")
    require(kind == "O", owner, place, array, words)
    missing = np.fromiter((_is_missing(entry) for entry in array), dtype=bool, count=len(array))
    present = array[~missing]
    if all(isinstance(entry, str) for entry in present) and len(present) > 0:
        return _read_names(array, missing, place)
    for row, entry in zip(np.flatnonzero(~missing), present, strict=True):
        require(not isinstance(entry, list | tuple | np.ndarray), owner, place, array, EQUAL_ROWS)
        good = isinstance(entry, NUMBER)
        wanted = "be a number, as others in its column are" if isinstance(entry, str) else "be a number or a name"
        require(good, owner, f"{place}[{row}]", entry, wanted)
    values = np.full(len(array), np.nan)
    values[~missing] = [as_float(entry) for entry in present]
    boolean = len(present) > 0 and all(isinstance(entry, bool | np.bool_) for entry in present)
    return Column(place, values, None, (False, True) if boolean else None, boolean)


def _read_names(array: npt.NDArray[Any], missing: npt.NDArray[np.bool_], place: str) -> Column:
    """A column of text: levels in alphabetical order."""
    values = np.full(len(array), np.nan)
    names = tuple(sorted({str(entry) for entry in array[~missing]}))
    index = {name: position for position, name in enumerate(names)}
    values[~missing] = [index[str(entry)] for entry in array[~missing]]
    return Column(place, values, names)


def _recode(values: FloatArray, found: tuple[str, ...], names: tuple[str, ...]) -> FloatArray:
    """Positions in `found` turned into positions in `names`, which holds them all."""
    index = {name: float(position) for position, name in enumerate(names)}
    table = np.array([*(index[name] for name in found), np.nan])
    return table[np.where(np.isnan(values), len(found), values).astype(np.int64)]


def _is_missing(entry: object) -> bool:
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, float | np.floating | Decimal) and bool(entry != entry)


def _plain(level: Any) -> Level:
    """A number as Python has it: whole numbers as int."""
    if isinstance(level, bool | np.bool_):
        return bool(level)
    return int(level) if float(level).is_integer() else float(level)
