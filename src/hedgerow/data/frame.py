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
    """One column: numbers, dates or objects with NaN, NaT or None where an entry is missing, or texts that the rows point at.

    Parameters
    ----------
    values : (n,) array
        The entries, or positions in `texts`, -1 where one is missing.
    texts : sequence of str, optional
    declared : bool
        Whether the table said that these are levels.
    kind, why : str, optional
        What the column holds, where that is known already, and how.
    given : bool
        Whether somebody said so.

    >>> Series(np.array([1, 0, -1]), ["no", "yes"]).to_numpy()
    array(['yes', 'no', None], dtype=object)
    """

    values: npt.NDArray[Any]
    texts: Sequence[str] | None = None
    """If given, `values` are places in it, -1 where an entry is missing."""
    declared: bool = False
    """Whether the file lists the texts as all that there can be."""
    kind: str | None = None
    """What the column is, where that was found out: number, count, category or boolean."""
    why: str = ""
    """The reason for its kind."""
    given: bool = False
    """Whether somebody said its kind."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self.values.dtype if self.texts is None else np.dtype(object)

    def __len__(self) -> int:
        return len(self.values)

    def to_numpy(self) -> npt.NDArray[Any]:
        """The entries.

        Returns
        -------
        (n,) array
        """
        return self.values if self.texts is None else np.array([*self.texts, None], dtype=object)[self.values]


@dataclass(frozen=True, eq=False)
class Frame:
    """Named columns.

    Parameters
    ----------
    column_names : list of str
    columns : list of Series

    >>> frame = Frame(["height", "colour"], [Series(np.array([1.5, 2.5])), Series(np.array([0, -1]), ["red"])])
    >>> frame.shape
    (2, 2)
    >>> frame.column("colour").to_numpy()
    array(['red', None], dtype=object)
    >>> frame.select(["colour"]).column_names, frame.take([1]).shape
    (['colour'], (1, 2))
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
        """The column of this name.

        Parameters
        ----------
        name : str

        Returns
        -------
        Series
        """
        return self.columns[self.column_names.index(name)]

    def select(self, wanted: Sequence[str | int]) -> Frame:
        """Some of the columns, by name or position.

        Parameters
        ----------
        wanted : sequence of names or positions

        Returns
        -------
        Frame
        """
        places = [self.column_names.index(item) if isinstance(item, str) else int(item) for item in wanted]
        return Frame([self.column_names[i] for i in places], [self.columns[i] for i in places])

    def take(self, rows: npt.ArrayLike) -> Frame:
        """Some of the rows.

        Parameters
        ----------
        rows : (m,) of int

        Returns
        -------
        Frame
        """
        return Frame(self.column_names, [replace(c, values=c.values[np.asarray(rows)]) for c in self.columns])
