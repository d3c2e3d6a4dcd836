"""Preparation: how one column of measurements becomes a column that a bell curve suits, and back, with the log Jacobian.

Scales are onto the whole line and increasing, so every law on the new scale is one on the old:

    log          y = log x                                                              x above 0
    yeo-johnson  y = ((1 + x / size)^shape - 1) / shape                                 x from 0 up, shape in [0, 2]
                 y = -((1 - x / size)^(2 - shape) - 1) / (2 - shape)                    x below 0

with logarithms where an exponent is 0 (Yeo & Johnson, Biometrika 2000).

An entry on a grid (whole numbers, two decimals) stands for an interval: a measurement somewhere within half a unit of it.
`off_the_grid` says where, by a hash of the row, so that the answer depends on nothing else: not on the order of the rows, nor on
what other rows there are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from hedgerow.data.views import LARGEST
from hedgerow.docstrings import explained
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.hyperparameters import as_number

__all__ = ["Preparation", "off_the_grid", "row_words"]

OWNER = "Preparation"
SCALES = ("as is", "log", "yeo-johnson")
WordArray = npt.NDArray[np.uint64]
#: How near to a multiple of the unit an entry counts as on the grid; noise keeps further off, so that it is never added twice.
NEAR = 1e-6
LEAST_NOISE = 1e-4
#: Multiples of the unit beyond this may be off the grid by rounding alone.
MOST_UNITS = 1e9
GOLDEN = 0x9E3779B97F4A7C15  # the step of splitmix64


_of_column = explained("x : (n,) numbers", "(n,) float array")


@dataclass(frozen=True, repr=False)
class Preparation:
    """What is done to one column of measurements before its likelihood sees it.

    Parameters
    ----------
    unit : number from 0 up, default 0
        The resolution of the column: entries that are multiples of it stand for a measurement within half a unit. 0 for none.
    scale : "as is", "log" or "yeo-johnson", default "as is"
        The scale on which the column is measured.
    shape : number in [0, 2], default 1
        The exponent of the Yeo-Johnson scale: 1 changes nothing, less pulls in a long tail to the right.
    size : number above 0, default 1
        What the Yeo-Johnson scale counts as 1.
    spikes : numbers, default none
        Values that many rows share exactly, such as a 0 for "none": whether a row has one of them is a code of its own, and no
        measurement.

    >>> column, x = Preparation(scale="log", spikes=(7.0,)), np.array([1.0, 7.0, 100.0])
    >>> column.forward(x).round(3).tolist(), column.codes(x).tolist()
    ([0.0, nan, 4.605], [0.0, 1.0, 0.0])
    >>> column.backward(np.array([0.0])).tolist(), column.log_slope(x).round(3).tolist(), column.plain
    ([1.0], [-0.0, 0.0, -4.605], False)
    """

    unit: float = 0.0
    scale: str = "as is"
    shape: float = 1.0
    size: float = 1.0
    spikes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check each part."""
        put = object.__setattr__  # the dataclass is frozen
        for name, low, high in (("unit", 0.0, LARGEST), ("shape", 0.0, 2.0), ("size", 1 / LARGEST, LARGEST)):
            value = as_number(OWNER, name, getattr(self, name), -np.inf)
            require(low <= value <= high, OWNER, name, value, f"lie in [{low:g}, {high:g}]")
            put(self, name, value)
        good = isinstance(self.scale, str) and self.scale in SCALES
        require(good, OWNER, "scale", self.scale, 'be "as is", "log" or "yeo-johnson"')
        good = isinstance(self.spikes, list | tuple)
        require(good, OWNER, "spikes", self.spikes, "be a sequence of different numbers")
        spikes = tuple(as_number(OWNER, "spikes", value, -np.inf) for value in self.spikes)
        require(len(set(spikes)) == len(spikes), OWNER, "spikes", self.spikes, "be a sequence of different numbers")
        put(self, "spikes", spikes)

    def __repr__(self) -> str:
        """The call that makes it, without what is left as it is."""
        given = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Preparation({', '.join(given)})"

    @property
    def plain(self) -> bool:
        """Whether it does nothing."""
        return self == Preparation()

    @_of_column
    def codes(self, x: FloatArray) -> FloatArray:
        """Which spike each entry is, from 1 up; 0 for a measurement, NaN where one is missing."""
        out = np.where(np.isnan(x), np.nan, 0.0)
        for place, value in enumerate(self.spikes):
            out[x == value] = place + 1.0
        return out

    @_of_column
    def forward(self, x: FloatArray) -> FloatArray:
        """A column on its scale; NaN where an entry is missing, a spike, or cannot be on the scale."""
        x = np.where(np.isin(x, self.spikes), np.nan, x) if self.spikes else x
        if self.scale == "as is":
            return x
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            if self.scale == "log":
                return np.asarray(np.where(x > 0, np.log(np.maximum(x, np.finfo(float).tiny)), np.nan) + 0 * x)
            v = x / self.size
            return np.where(v >= 0, _power(v, self.shape), -_power(-v, 2 - self.shape))

    def backward(self, y: FloatArray) -> FloatArray:
        """A column on its scale back in its own unit.

        Parameters
        ----------
        y : (n,) numbers

        Returns
        -------
        (n,) float array
        """
        if self.scale == "as is":
            return y
        with np.errstate(over="ignore"):
            if self.scale == "log":
                return np.asarray(np.exp(y))
            return self.size * np.where(y >= 0, _root(np.maximum(y, 0), self.shape), -_root(np.maximum(-y, 0), 2 - self.shape))

    @_of_column
    def log_slope(self, x: FloatArray) -> FloatArray:
        """log dy/dx of every entry; 0 where there is no measurement."""
        if self.scale == "as is":
            return np.zeros(len(x))
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.scale == "log":
                slope = -np.log(x)
            else:
                slope = (self.shape - 1) * np.sign(x) * np.log1p(np.abs(x / self.size)) - np.log(self.size)
        return np.where(np.isnan(self.forward(x)), 0.0, slope)


def _power(v: FloatArray, exponent: float) -> FloatArray:
    """((1 + v)^exponent - 1) / exponent for v from 0 up, without loss where either is small."""
    logs = np.log1p(np.maximum(v, 0))
    return np.asarray(logs if exponent == 0 else np.expm1(exponent * logs) / exponent)


def _root(y: FloatArray, exponent: float) -> FloatArray:
    return np.asarray(np.expm1(y) if exponent == 0 else np.expm1(np.log1p(exponent * y) / exponent))


def off_the_grid(X: FloatArray, columns: tuple[Preparation, ...], first: int | None = None, alone: bool = False) -> FloatArray:
    """X with every entry that is a multiple of its column's unit moved to where in its interval the measurement may have been.

    Rows that are equal get different places, in the order they come. `alone`: every row the place it would have by itself. `first`: the
    number of rows before these, where rows keep coming; their places then depend on where they stand. Moved entries are on no grid
    any more, so doing it twice is doing it once.
    """
    units = [j for j, column in enumerate(columns) if column.unit > 0]
    if not units or len(X) == 0:
        return X
    on = np.zeros(X.shape, dtype=bool)
    for j in units:
        on[:, j] = _on_grid(X[:, j], columns[j])
    if not on.any():
        return X
    words = row_words(X)
    if first is not None:
        words = _mixed(words + np.arange(first + 1, first + len(X) + 1).astype(np.uint64))
    elif not alone:
        words = _mixed(np.add(words, _occurrences(words)))
    out = X.copy()
    for j in units:
        share = (_mixed(words + np.uint64((j + 1) * GOLDEN % 2**64)) >> np.uint64(11)).astype(np.float64) * 2.0**-53 - 0.5
        share = np.where(np.abs(share) < LEAST_NOISE, LEAST_NOISE, share)
        out[:, j] = np.where(on[:, j], X[:, j] + columns[j].unit * share, X[:, j])
    return out


def _on_grid(x: FloatArray, column: Preparation) -> npt.NDArray[np.bool_]:
    """Which entries are multiples of the unit and no spikes."""
    with np.errstate(invalid="ignore", over="ignore"):
        units = x / column.unit
        on = (np.abs(units - np.round(units)) <= NEAR) & (np.abs(units) <= MOST_UNITS)
    return np.asarray(on & ~np.isin(x, column.spikes))


def _mixed(words: WordArray) -> WordArray:
    """The finaliser of splitmix64: every bit of a word on every bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


def row_words(X: FloatArray) -> WordArray:
    """A word for every row, equal for equal rows."""
    bits = np.where(np.isnan(X), np.nan, X + 0.0).view(np.uint64)  # one zero, one NaN
    words = np.zeros(len(X), dtype=np.uint64)
    for j in range(X.shape[1]):
        words = _mixed(words + bits[:, j] + np.uint64(GOLDEN))
    return words


def _occurrences(words: WordArray) -> WordArray:
    """How many rows before each have the same word."""
    order = np.argsort(words, kind="stable")
    ordered = words[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.append(starts, len(words)))
    out = np.empty(len(words), dtype=np.uint64)
    out[order] = (np.arange(len(words)) - np.repeat(starts, lengths)).astype(np.uint64)
    return out
