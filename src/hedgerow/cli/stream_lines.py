"""Lines of `hedgerow stream` as rows: JSON, or CSV under a header, whichever the first line is."""

from __future__ import annotations

import csv
import json
import math
from typing import Any

import numpy as np

from hedgerow.data.frame import Series
from hedgerow.errors import ParameterError

__all__ = ["Lines", "column_of", "is_plain"]

DELIMITERS = ",;\t|"


class Lines:
    """What the first line says of the others; every run of the command reads one first line."""

    def __init__(self) -> None:
        self._header: list[str] | None = None
        self._delimiter = ","
        self._begun = False

    def is_header(self, line: str) -> bool:
        """Whether a line is the header of a CSV file: only the first can be, when it is no JSON."""
        if self._begun or not line.strip():
            return False
        self._begun = True
        text = line.lstrip("\ufeff")
        if text.lstrip()[:1] in ("[", "{"):
            return False
        self._delimiter = max(DELIMITERS, key=text.count)
        names = [name.strip() for name in _cells(text, self._delimiter)]
        if len(names) < 2:
            return False  # a damaged line of JSON rather than a table of one column
        if "" in names or len(set(names)) < len(names) or all(_is_number(name) for name in names):
            raise ParameterError(f"stream: the first line must be JSON, or a CSV header of distinct names. Got {text.strip()[:80]!r}.")
        self._header = names
        return True

    def row(self, line: str) -> Any:
        """A list, or an object with a number, a text or None under every name."""
        if self._header is None:
            try:
                return json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ParameterError(f"a line must be JSON. {error}") from error
        cells = _cells(line, self._delimiter)
        if len(cells) != len(self._header):
            raise ParameterError(f"a line must have the {len(self._header)} fields of the header. Got {len(cells)}.")
        return {name: _value(cell) for name, cell in zip(self._header, cells, strict=True)}


def is_plain(entry: object) -> bool:
    """A finite number, a text or nothing."""
    if isinstance(entry, int):
        return abs(entry) < 1 << 1000  # finite as a float
    return entry is None or isinstance(entry, str) or (isinstance(entry, float) and math.isfinite(entry))


def column_of(entries: list[Any]) -> Series:
    """Numbers as numbers; anything else as it is, None where missing."""
    if all(entry is None or (isinstance(entry, (int, float)) and not isinstance(entry, bool)) for entry in entries):
        return Series(np.array([np.nan if entry is None else float(entry) for entry in entries]))
    objects = np.empty(len(entries), dtype=object)
    objects[:] = entries
    return Series(objects)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise ParameterError(f"a line must be CSV like the header. {error}.") from error


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _value(cell: str) -> float | str | None:
    cell = cell.strip()
    if cell == "" or cell.lower() == "nan":
        return None
    return float(cell) if _is_number(cell) else cell
