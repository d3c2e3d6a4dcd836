"""Groups: the times or places of rows, read into numbered groups in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ParameterError, require

__all__ = ["Levels", "read_levels"]


@dataclass(frozen=True)
class Levels:
    """Distinct times (or places) in order, and where each stands.

    `names` are the values as given, (T,) or (T, p) for coordinates; `places` are the numbers distances are measured with: the
    values themselves if they are numbers or coordinates, otherwise 1, 2, ... in sorted order.
    """

    names: npt.NDArray[Any]
    places: npt.NDArray[np.float64]

    def __len__(self) -> int:
        """Number of groups."""
        return len(self.names)


def read_levels(times: object, n: int | None, owner: str) -> tuple[Levels, npt.NDArray[np.int32]]:
    """The levels of `times` and the group number of every row.

    `times` holds one number, date or label per row, or a row of coordinates each.
    """
    array = _as_array(times, owner)
    require(array.ndim in (1, 2), owner, "times", times, "have one entry, or one row of coordinates, per row of X")
    require(len(array) > 0, owner, "times", times, "not be empty")
    require(n is None or len(array) == n, owner, "times", times, f"have one entry for each of the {n} rows of X")
    if array.dtype.kind == "f":
        require(bool(np.isfinite(array).all()), owner, "times", times, "have no missing or infinite entry")
    if array.dtype.kind in "mM":
        require(not bool(np.isnat(array).any()), owner, "times", times, "have no missing entry")
    if array.ndim == 2:
        require(array.dtype.kind in "iuf", owner, "times", times, "be numbers where they are coordinates")
        names, codes = np.unique(array, axis=0, return_inverse=True)
        return Levels(names, names.astype(float)), codes.reshape(-1).astype(np.int32)
    names, codes = np.unique(array, return_inverse=True)
    is_number = names.dtype.kind in "iuf"
    places = names.astype(float) if is_number else np.arange(1.0, len(names) + 1.0)
    return Levels(names, places), codes.reshape(-1).astype(np.int32)


def _as_array(times: object, owner: str) -> npt.NDArray[Any]:
    array = np.asarray(getattr(times, "to_numpy", lambda: times)())
    if array.dtype.kind in "US" and isinstance(times, list | tuple):
        array = np.asarray(times, dtype=object)  # NumPy turns numbers among names into names without a word
    if array.dtype.kind == "O":
        entries = array.reshape(-1).tolist()
        if all(isinstance(entry, str) for entry in entries):
            return np.asarray(entries).reshape(array.shape)
        try:
            return np.array(entries, dtype="datetime64[us]").reshape(array.shape)
        except (ValueError, TypeError, OverflowError):
            raise ParameterError(
                f"{owner}(times=...): times must be numbers, dates or names, all of one kind. Got "
                f"{sorted({type(entry).__name__ for entry in entries})}."
            ) from None
    require(array.dtype.kind in "iufUSMmb", owner, "times", times, "be numbers, dates or names")
    return array
