"""Columns of any table as they are before anybody asks what they mean: numbers, truths, moments, or texts with their rows."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.data.frame import Series
from hedgerow.data.mixed import _as_array, _is_missing
from hedgerow.data.tables import RESHAPE, FloatArray, Names, frame_columns
from hedgerow.errors import require

__all__ = ["Guess", "Raw", "raw_columns"]

Guess = tuple[str, str, Mapping[str, Any]]
"""Kind, reason, and the plain data by which new rows are read."""


@dataclass(frozen=True, eq=False)
class Raw:
    """One column: `values` are numbers (NaN for a gap), or places in `texts` (-1 for a gap)."""

    form: str
    """numbers, truths, moments (microseconds since 1970), spans (days), texts or unreadable."""
    values: npt.NDArray[Any]
    texts: Sequence[str] = ()
    levels: Sequence[str] | Sequence[float] | None = None
    """All that there can be, where the type of the column lists it."""
    kind: str | None = None
    """What it is, where that was found out before."""
    why: str = ""
    exact: bool = True
    """Whether `texts` are the entries to the letter, and not numbers or texts with spaces round them."""
    given: bool = False
    """Whether somebody said what it is, before."""


def raw_columns(X: Any, owner: str) -> tuple[list[Raw], Names]:
    """The columns of a frame, array or list of rows, and their names if it has any."""
    if (frame := frame_columns(X, owner)) is not None:
        names, series = frame
        require(len(set(names)) == len(names), owner, "X", X, "have a different name for every column")
        return [_series(column) for column in series], names
    array = _as_array(X, owner)
    require(array.ndim == 2, owner, "X", X, RESHAPE)
    require(array.shape[0] > 0, owner, "X", X, "have at least one row")
    require(array.shape[1] > 0, owner, "X", X, "have at least one column")
    return [_array(array[:, j]) for j in range(array.shape[1])], None


def _series(series: Any) -> Raw:
    if isinstance(series, Series):
        found = _array(series.values) if series.texts is None else Raw("texts", series.values, series.texts)
        levels = series.texts if series.declared else None
        return Raw(found.form, found.values, found.texts, levels, series.kind, series.why or found.why, given=series.given)
    kind = str(series.dtype) if hasattr(series, "dtype") else str(getattr(series, "type", ""))
    if kind == "category":  # pandas
        return _categories(list(series.cat.categories), np.asarray(series.cat.codes))
    if kind.startswith("Enum"):  # polars
        found = _array(series.to_numpy())
        return Raw("texts", found.values, found.texts, tuple(series.dtype.categories.to_list()))
    if kind.startswith("dictionary"):  # PyArrow, whose to_numpy gives a missing entry some level
        return _array(np.array(series.to_pylist(), dtype=object))
    if kind.startswith("datetime64") and "," in kind:  # pandas with a zone: the clock on the wall
        series = series.dt.tz_localize(None)
    if kind.startswith("period"):  # pandas: a month is its first moment
        series = series.dt.to_timestamp()
    return _array(np.asarray(series.to_numpy()))


def _categories(categories: list[Any], codes: npt.NDArray[Any]) -> Raw:
    """A pandas categorical."""
    places = codes.astype(np.int32)
    if categories and all(isinstance(entry, Real | np.bool_) for entry in categories):
        numbers = np.array([*categories, np.nan], dtype=np.float64)
        truths = all(isinstance(entry, bool | np.bool_) for entry in categories)
        return Raw("truths" if truths else "numbers", numbers[places], levels=None if truths else numbers[:-1].tolist())
    texts = [str(entry) for entry in categories]
    return Raw("texts", places, texts, texts)


def _array(array: npt.NDArray[Any]) -> Raw:
    kind = array.dtype.kind
    if kind == "b":
        return Raw("truths", array.astype(np.float64))
    if kind in "fiu":
        return Raw("numbers", np.asarray(array, dtype=np.float64))
    if kind == "M":
        return Raw("moments", _from_times(array.astype("datetime64[us]")))
    if kind == "m":
        return Raw("spans", _from_times(array.astype("timedelta64[us]")) / 86_400_000_000)
    if kind in "UST":
        return _texts([str(entry) for entry in array], np.zeros(len(array), bool))
    if kind != "O":
        return Raw("unreadable", array, why=f"entries of type {array.dtype}")
    return _objects(array)


def _from_times(times: npt.NDArray[Any]) -> FloatArray:
    values = times.astype(np.int64).astype(np.float64)
    values[np.isnat(times)] = np.nan
    return values


def _objects(array: npt.NDArray[Any]) -> Raw:
    """Python objects: all truths, all numbers, all dates, or texts; numbers among texts are texts too."""
    missing = np.fromiter((_is_missing(entry) for entry in array), dtype=bool, count=len(array))
    present = array[~missing]
    values = np.full(len(array), np.nan)
    if len(present) and all(isinstance(entry, bool | np.bool_) for entry in present):
        values[~missing] = present.astype(np.float64)
        return Raw("truths", values)
    if all(isinstance(entry, Real | Decimal | np.bool_) for entry in present):
        values[~missing] = [_float(entry) for entry in present]
        return Raw("numbers", values)
    if all(isinstance(entry, datetime.date | np.datetime64) for entry in present):
        plain = [entry.replace(tzinfo=None) if isinstance(entry, datetime.datetime) else entry for entry in present]
        values[~missing] = _from_times(np.array(plain, dtype="datetime64[us]"))
        return Raw("moments", values)
    good = (str, Real, Decimal, datetime.time, datetime.date)
    strange = next((entry for entry in present if not isinstance(entry, good)), None)
    if strange is not None:
        return Raw(
            "unreadable", array, why=repr(strange) if "entry of type" in repr(strange) else f"entries of type {type(strange).__name__}"
        )
    entries = ["" if gone else str(entry).strip() for entry, gone in zip(array, missing, strict=True)]
    exact = all(gone or entry == text for entry, gone, text in zip(array, missing, entries, strict=True))
    return replace(_texts(entries, missing), exact=exact)


def _float(entry: Any) -> float:
    try:
        return float(entry)
    except OverflowError:  # a whole number of more than 308 digits
        return float("inf") if entry > 0 else float("-inf")


def _texts(entries: list[str], missing: npt.NDArray[np.bool_]) -> Raw:
    texts = sorted({entry for entry, gone in zip(entries, missing, strict=True) if not gone})
    places = {text: place for place, text in enumerate(texts)}
    values = np.array([-1 if gone else places[entry] for entry, gone in zip(entries, missing, strict=True)], dtype=np.int32)
    return Raw("texts", values, texts)
