"""Frame: the named columns of a file, known to the house by the methods that a PyArrow table has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Frame", "Series"]


@dataclass(frozen=True, eq=False)
class Series:
    """One column: numbers, dates or objects with NaN, NaT or None where an entry is missing, or texts that the rows point at."""

    values: npt.NDArray[Any]
    texts: Sequence[str] | None = None
    """If given, `values` are places in it, -1 where an entry is missing."""
    declared: bool = False
    """Whether the file lists the texts as all that there can be."""
    kind: str | None = None
    """What the column is, where that was found out: number, count, category or boolean."""
    why: str = ""
    """The reason for its kind."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self.values.dtype if self.texts is None else np.dtype(object)

    def __len__(self) -> int:
        return len(self.values)

    def to_numpy(self) -> npt.NDArray[Any]:
        """The entries."""
        return self.values if self.texts is None else np.array([*self.texts, None], dtype=object)[self.values]


@dataclass(frozen=True, eq=False)
class Frame:
    """Named columns.

    >>> frame = Frame(["height", "colour"], [Series(np.array([1.5, 2.5])), Series(np.array([0, -1]), ["red"])])
    >>> frame.shape
    (2, 2)
    >>> frame.column("colour").to_numpy()
    array(['red', None], dtype=object)
    """

    column_names: list[str]
    columns: list[Series]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.columns[0]) if self.columns else 0, len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def column(self, name: str) -> Series:
        """The column of this name."""
        return self.columns[self.column_names.index(name)]

    def select(self, wanted: Sequence[str | int]) -> Frame:
        """Some of the columns, by name or position."""
        places = [self.column_names.index(item) if isinstance(item, str) else int(item) for item in wanted]
        return Frame([self.column_names[i] for i in places], [self.columns[i] for i in places])

    def take(self, rows: npt.ArrayLike) -> Frame:
        """Some of the rows."""
        return Frame(self.column_names, [replace(c, values=c.values[np.asarray(rows)]) for c in self.columns])
