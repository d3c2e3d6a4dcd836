"""Copies: rows of a table that are others written down again, and count once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow.data.groups import read_levels
from hedgerow.data.tables import row_count
from hedgerow.errors import require

__all__ = ["Copies", "check_copies", "copies_at"]

LongArray = npt.NDArray[np.int64]


class Copies(NamedTuple):
    """Which rows are kept, and the place of every row among them.

    Attributes
    ----------
    kept : (m,) int
        Rows, in order.
    place : (n,) int

    >>> Copies(np.array([0, 2]), np.array([0, 0, 1])).told()
    '1 of 3 rows is an exact copy of another: it counts once'
    >>> same = Copies.at([7, 7, 9])
    >>> same.times(["a", "a", "b"]).tolist(), same.start([0, 0, 1]).tolist(), same.within([0, 1, 0], "sample").kept.tolist()
    (['a', 'b'], [0, 1], [0, 1, 2])
    """

    kept: LongArray
    place: LongArray

    def told(self) -> str:
        """What was found, in words.

        Returns
        -------
        str
        """
        n, gone = len(self.place), len(self.place) - len(self.kept)
        are = "is an exact copy of another: it counts" if gone == 1 else "are exact copies: each counts"
        return f"{gone:,} of {n:,} rows {are} once"

    @classmethod
    def at(cls, place: Any) -> Copies:
        """From the places alone: of equal ones the first is kept.

        Parameters
        ----------
        place : (n,) or (k, n) int

        Returns
        -------
        Copies
        """
        _, first, inverse = np.unique(np.asarray(place), return_index=True, return_inverse=True, axis=-1)
        kept, order = np.sort(first), np.argsort(np.argsort(first))
        return cls(kept, order[inverse.ravel()])

    def within(self, times: Any, owner: str) -> Copies:
        """Those that have the same time too: equal rows of two times are two observations.

        Parameters
        ----------
        times : (n,)
        owner : str
            Who asks, for the error.

        Returns
        -------
        Copies
        """
        _, codes = read_levels(times, len(self.place), owner)
        return Copies.at(np.stack([self.place, codes]))

    def times(self, times: Any) -> npt.NDArray[Any]:
        """Of the rows kept.

        Parameters
        ----------
        times : (n,)

        Returns
        -------
        (m,)
        """
        found, codes = read_levels(times, len(self.place), "sample")
        return np.asarray(found.names[codes[self.kept]])

    def start(self, init: Any) -> Any:
        """Where chains begin: labels of all rows as labels of those kept, words as they are.

        Parameters
        ----------
        init : as for `hedgerow.sample`

        Returns
        -------
        as `init`
        """
        if isinstance(init, str):
            return init
        if isinstance(init, Sequence) and any(isinstance(one, str) for one in init):
            return [self.start(one) for one in init]
        n, labels = len(self.place), np.asarray(init)
        good = labels.ndim in (1, 2) and labels.shape[-1] == n
        require(good, "sample", "init", init, f"be a word, labels of the {n} rows, or one of these for each chain")
        return labels[..., self.kept]


def copies_at(place: Any, rows: int) -> Copies | None:
    """Copies from the places of so many rows; None where these do not number the rows kept as they come."""
    given = np.asarray(place)
    if rows == 0 or given.shape != (rows,) or given.dtype.kind not in "iu":
        return None
    found = Copies.at(given)
    return found if np.array_equal(found.place, given) else None


def check_copies(owner: str, copies: Any, X: Any) -> None:
    """Refuse what are no copies among the rows of a table; None passes."""
    if copies is None:
        return
    require(isinstance(copies, Copies), owner, "copies", copies, "be what propose(X).copies holds, or None")
    rows = row_count(X)
    require(np.shape(copies.place) == (rows,), owner, "copies", copies, f"have one entry for each of the {rows} rows of X")
    found = copies_at(copies.place, rows)
    good = found is not None and np.array_equal(found.kept, copies.kept)
    require(good, owner, "copies", copies, "number the rows that count as they come: Copies.at(place) makes them")
