"""A small table: named columns of arrays, printed as text or HTML, turned into a data frame on request.

It is a plain dict of arrays, all of the same length; a column may be 2-D, and is then shown by its first few entries.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import check_whole
from hedgerow.errors import MissingExtraError, require

__all__ = ["Table"]

_SHOWN = 3  # entries of a 2-D column that are printed


class Table(dict[str, npt.NDArray[Any]]):
    """Named columns of equal length, with `title` above and `note` below when printed.

    Parameters
    ----------
    columns : mapping
        From names to (rows,) or (rows, entries).
    title, note : str
        Printed above and below.
    parts : mapping, optional
        Names of the entries of 2-D columns.
    decimals : mapping, optional
        How many decimals of a column of numbers are printed; four significant digits of others.

    >>> table = Table({"size": [3, 2], "mean": [[0.0, 1.0], [2.0, 3.0]]}, parts={"mean": ["x", "y"]})
    >>> list(table.flat()), table.n_rows, table.to_pandas().shape
    (['size', 'mean_x', 'mean_y'], 2, (2, 3))
    >>> table.text().splitlines()[0].split()
    ['size', 'mean', '(x,', 'y)']
    """

    def __init__(
        self,
        columns: Mapping[str, npt.ArrayLike],
        *,
        title: str = "",
        note: str = "",
        parts: Mapping[str, list[str]] | None = None,
        decimals: Mapping[str, int] | None = None,
    ) -> None:
        """`parts` names the entries of 2-D columns, for `to_pandas`."""
        super().__init__({name: np.asarray(column) for name, column in columns.items()})
        lengths = {name: len(column) for name, column in self.items()}
        require(len(set(lengths.values())) <= 1, "Table", "columns", lengths, "have equal lengths")
        self.title = title
        self.note = note
        self.parts = dict(parts or {})
        self.decimals = dict(decimals or {})

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.values()))) if self else 0

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame; a 2-D column becomes one column an entry.

        Returns
        -------
        pandas.DataFrame
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("to_pandas() needs pandas. Install it with: pip install pandas") from error
        return pandas.DataFrame(self.flat())

    def flat(self) -> dict[str, npt.NDArray[Any]]:
        """The columns with each 2-D one as one column an entry.

        Returns
        -------
        dict of (rows,) arrays
        """
        flat: dict[str, npt.NDArray[Any]] = {}
        for name, column in self.items():
            if column.ndim == 1:
                flat[name] = column
                continue
            wide = column.reshape(len(column), -1)
            parts = self.parts.get(name) or [str(j) for j in range(wide.shape[1])]
            flat.update({f"{name}_{part}": wide[:, j] for j, part in enumerate(parts)})
        return flat

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = None) -> str:
        """The table as text; where that is wider than `width`, columns stand one space apart instead of two.

        Parameters
        ----------
        width : int, optional

        Returns
        -------
        str
        """
        check_whole("Table.text", "width", width, 1, none=True)
        wide = self._text("  ")
        return wide if width is None or max(map(len, wide.splitlines()), default=0) <= width else self._text(" ")

    def _text(self, gap: str) -> str:
        cells = [[head, *self._cells(name)] for head, name in zip(self._heads(), self, strict=True)]
        widths = [max(map(len, column)) for column in cells]
        right = [column.ndim == 1 and column.dtype.kind in "iuf" for column in self.values()]
        lines = []
        for row in range(self.n_rows + 1):
            parts = [
                cell[row].rjust(width) if push else cell[row].ljust(width)
                for cell, width, push in zip(cells, widths, right, strict=True)
            ]
            lines.append(gap.join(parts).rstrip())
        return "\n".join([self.title, *lines, self.note] if self.title else [*lines, self.note]).rstrip()

    __repr__ = __str__

    def _cells(self, name: str) -> list[str]:
        places = self.decimals.get(name)
        return [_cell(value) if places is None else f"{value:.{places}f}" for value in self[name]]

    def _heads(self) -> list[str]:
        """Names of the columns, with those of the entries that a 2-D one shows; the same entries are named once."""
        heads, named = [], [list[str]()]
        for name, column in self.items():
            parts = self.parts.get(name, [])
            more = " …" if len(parts) > _SHOWN else ""
            heads.append(name if column.ndim == 1 or parts in named else f"{name} ({', '.join(parts[:_SHOWN])}{more})")
            named.append(parts)
        return heads

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._heads())
        cells = [self._cells(name) for name in self]
        rows = ("<tr>" + "".join(f"<td>{escape(column[row])}</td>" for column in cells) + "</tr>" for row in range(self.n_rows))
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{note}"


def _cell(value: Any) -> str:
    if isinstance(value, np.ndarray):
        shown = " ".join(_cell(entry) for entry in value.ravel()[:_SHOWN])
        return shown + (" …" if value.size > _SHOWN else "")
    if isinstance(value, (float, np.floating)):
        return _number(float(value))
    return str(value)


def _number(value: float) -> str:
    """Four significant digits, but never fewer than the whole part: a log joint of -1577.57 keeps its units."""
    if not np.isfinite(value):
        return str(value)
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"
