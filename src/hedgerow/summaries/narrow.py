"""NarrowLabels: labels of very many rows and draws, kept in one or two bytes each and handed out as int32.

It stands in for an array where that would be large: a part asked for by index is an int32 array of its own, and whatever else is done
with it, arithmetic or a method of arrays, is done with all of it widened for as long as that takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from hedgerow.summaries.partitions import Labels, as_draws, canonical, is_canonical, merge_points
from hedgerow.summaries.points import Points

__all__ = ["MANY", "NarrowLabels", "as_points", "as_stored", "at_rows", "keep", "label_type", "narrowed"]

MANY = 1 << 25  # labels; up to so many are an int32 array
_TYPES: tuple[type[np.uint8 | np.uint16 | np.int32], ...] = (np.uint8, np.uint16, np.int32)


def label_type(size: int, highest: int) -> npt.DTypeLike:
    """What so many labels are kept as, none larger than `highest`."""
    return np.int32 if size <= MANY else next(t for t in _TYPES if highest <= np.iinfo(t).max)


def narrowed(labels: Any) -> npt.NDArray[Any]:
    """Labels in the smallest unsigned type that holds them, as files have them."""
    stored: npt.NDArray[Any] = labels.stored if isinstance(labels, NarrowLabels) else labels
    highest = int(stored.max())
    return stored.astype(next(t for t in (np.uint8, np.uint16, np.uint32) if highest <= np.iinfo(t).max), copy=False)


class NarrowLabels(NDArrayOperatorsMixin):
    """Canonical labels (..., n) in a narrow type.

    Parameters
    ----------
    stored : (..., n) uint8, uint16 or int32
        Canonical.

    >>> kept = NarrowLabels(np.array([[[0, 0, 1], [0, 1, 1]]], dtype=np.uint8))
    >>> kept.shape, kept[0, 1].dtype, int(kept.max()), (kept == kept[0, 0]).tolist()
    ((1, 2, 3), dtype('int32'), 1, [[[True, True, True], [True, False, True]]])
    """

    dtype = np.dtype(np.int32)

    def __init__(self, stored: npt.NDArray[Any]) -> None:
        self.stored = stored
        self.shape, self.ndim, self.size, self.nbytes = stored.shape, stored.ndim, stored.size, stored.nbytes

    @cached_property
    def points(self) -> Points:
        """The rows that no draw takes apart, as one each; worked out once."""
        return Points(*merge_points(self.stored.reshape(-1, self.shape[-1])))

    def max(self, axis: int | None = None) -> Any:
        """The largest label, of all or along an axis."""
        return np.asarray(self.stored.max(axis=axis)).astype(np.int32)[()]

    def __len__(self) -> int:
        return len(self.stored)

    def __iter__(self) -> Iterator[Labels]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        part = self.stored[key]
        return part.astype(np.int32)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("labels that are kept narrow cannot be had as an array without a copy")
        return self.stored.astype(np.int32 if dtype is None else dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        wide = [np.asarray(one) if isinstance(one, NarrowLabels) else one for one in inputs]
        return getattr(ufunc, method)(*wide, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "stored":
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __repr__(self) -> str:
        return f"NarrowLabels({' × '.join(map(str, self.shape))}, {self.stored.itemsize} bytes each)"


def keep(labels: Any) -> Any:
    """Canonical labels: an int32 array, or kept narrow where there are many."""
    if isinstance(labels, NarrowLabels):
        return labels
    array = np.asarray(labels)
    if array.size <= MANY or array.dtype.kind not in "iu":
        return canonical(array)
    flat = array.reshape(-1, array.shape[-1])
    top = max(_highest(draw) for draw in flat)
    narrow = label_type(array.size, top)
    if array.dtype == narrow and is_canonical(flat):
        return NarrowLabels(array)
    stored = np.empty(flat.shape, narrow)
    for to, draw in zip(stored, flat, strict=True):
        to[:] = canonical(draw)
    return NarrowLabels(stored.reshape(array.shape))


def at_rows(labels: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Labels of some rows, as narrow as they are kept; clusters must appear among these in the order they have among all."""
    if isinstance(labels, NarrowLabels):
        return NarrowLabels(np.take(labels.stored, rows, axis=-1))
    return np.take(labels, rows, axis=-1)


def _highest(draw: npt.NDArray[Any]) -> int:
    """The largest label that a draw has once it is canonical, or more."""
    low, high = int(draw.min()), int(draw.max())
    return high if low == 0 and high < draw.size else draw.size - 1


def as_stored(labels: Any) -> npt.NDArray[Any]:
    """Draws (D, n) in the type that they are kept in."""
    stored: npt.NDArray[Any] = labels.stored if isinstance(labels, NarrowLabels) else labels
    return stored.reshape(-1, stored.shape[-1])


def as_points(labels: Any, owner: str) -> Points:
    """Points as they are, or draws on any leading axes with the rows that none takes apart as one."""
    if isinstance(labels, Points):
        return labels
    return labels.points if isinstance(labels, NarrowLabels) else Points(*merge_points(as_draws(labels, owner)))
