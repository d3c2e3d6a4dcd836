"""What an argument may be: asked before anything is done, and refused in the house's words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from hedgerow.errors import require

__all__ = [
    "NUMBER",
    "as_float",
    "check_choice",
    "check_flag",
    "check_names",
    "check_seed",
    "check_whole",
    "core_seed",
    "generator",
    "is_gap",
    "is_whole",
    "numbers_of",
    "real_number",
    "wholes_of",
]

LONGEST = 2**31 - 1
"""Whole numbers that the core counts to."""
NUMBER = Real | Decimal | np.bool_
"""What may stand in an array of objects for a number."""
LARGEST_EXACT = 2.0**53
"""Floats below it tell neighbouring whole numbers apart."""


def real_number(value: object) -> float:
    """The value as a float; NaN for anything that is not a real number (a text, a flag, an array).

    >>> real_number(2), real_number("2")
    (2.0, nan)
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return math.nan
    return as_float(value)


def as_float(number: Any) -> float:
    """A number of any kind as a float.

    >>> as_float(10**400)
    inf
    """
    try:
        return float(number)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, NumPy's included, and not a truth value.

    >>> is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_whole(owner: str, name: str, value: object, low: int = 1, high: int = LONGEST, *, none: bool = False) -> None:
    """Refuse what is no whole number from `low` to `high`; `none` lets None pass.

    >>> check_whole("sample", "draws", 0)
    Traceback (most recent call last):
        ...
    hedgerow.errors.ParameterError: sample(draws=0): draws must be a whole number from 1 up. Got 0.
    """
    if none and value is None:
        return
    upto = f"to {high:,}" if high != LONGEST or real_number(value) > high else "up"
    wanted = f"be a whole number from {low:,} {upto}" + (", or None" if none else "")
    require(is_whole(value) and low <= int(value) <= high, owner, name, value, wanted)  # type: ignore[call-overload]


def check_seed(owner: str, seed: object, *, none: bool = True, bits: int | None = None) -> None:
    """Refuse what is no seed: a whole number from 0 up, of at most so many bits, or None.

    >>> check_seed("sample", 7)
    """
    if none and seed is None:
        return
    wanted = "be a whole number from 0 up" + (", or None" if none else "")
    require(is_whole(seed) and int(seed) >= 0, owner, "seed", seed, wanted)  # type: ignore[call-overload]
    require(bits is None or int(seed) < 2**bits, owner, "seed", seed, f"be below 2^{bits}")  # type: ignore[call-overload]


def core_seed(seed: int | Sequence[int] | None, key: tuple[int, ...] = ()) -> int:
    """One word of 64 bits, as the core takes it, from a seed of any size or several together; another one for each key.

    >>> core_seed(7) == core_seed([7]) != core_seed(7, (1,))
    True
    """
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0])


def generator(owner: str, seed: object) -> Generator:
    """A generator as it is, or one from a seed.

    >>> int(generator("ring13", 3).integers(10))
    8
    """
    if isinstance(seed, Generator):
        return seed
    good = seed is None or (is_whole(seed) and int(seed) >= 0)  # type: ignore[call-overload]
    require(good, owner, "seed", seed, "be a whole number from 0 up, a NumPy generator, or None")
    return np.random.default_rng(seed)  # type: ignore[arg-type]


def numbers_of(owner: str, name: str, values: object) -> npt.NDArray[np.float64]:
    """An array of numbers, None and pandas' NA as NaN; texts, other objects and ragged lists are refused.

    >>> numbers_of("rhat", "trace", [1, None])
    array([ 1., nan])
    """
    return _array(owner, name, values, "numbers")


def wholes_of(owner: str, name: str, values: object) -> npt.NDArray[np.int64]:
    """An array of whole numbers, of floats without a fraction too.

    >>> wholes_of("dendrogram", "left", [-1, 2])
    array([-1,  2])
    """
    wanted = "whole numbers"
    array = np.asarray(values) if isinstance(values, np.ndarray) and values.dtype.kind in "iu" else _array(owner, name, values, wanted)
    whole = array.dtype.kind in "iu" or bool(np.all((np.abs(array) < LARGEST_EXACT) & (array == np.round(array))))
    require(whole, owner, name, values, f"be an array of {wanted}")
    return array.astype(np.int64, copy=False)


def _array(owner: str, name: str, values: object, words: str) -> npt.NDArray[np.float64]:
    """As floats."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.asarray("")
    entries = array.ravel() if array.dtype.kind == "O" else ()
    good = array.dtype.kind in "fiubO" and all(isinstance(entry, NUMBER) or is_gap(entry) for entry in entries)
    require(good, owner, name, values, f"be an array of {words}")
    if array.dtype.kind == "O":
        floats = [math.nan if is_gap(entry) else as_float(entry) for entry in entries]
        return np.array(floats, dtype=np.float64).reshape(array.shape)
    return array.astype(np.float64, copy=False)


def is_gap(entry: object) -> bool:
    """Whether an entry of an array of objects stands for one that is not there.

    >>> is_gap(None), is_gap("")
    (True, False)
    """
    return entry is None or type(entry).__name__ == "NAType"


def check_choice(owner: str, name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse what is none of some words.

    >>> check_choice("sample", "backend", "threads", ["threads", "joblib"])
    """
    known = list(choices)
    require(isinstance(value, str) and value in known, owner, name, value, "be one of " + ", ".join(map(repr, known)))


def check_flag(owner: str, name: str, value: object) -> None:
    """Refuse what is neither True nor False.

    >>> check_flag("Gibbs", "collapse", True)
    """
    require(isinstance(value, bool | np.bool_), owner, name, value, "be True or False")


def check_names(owner: str, name: str, names: object, count: int, what: str) -> None:
    """Refuse names that are not as many as there are things to name; None passes.

    >>> check_names("report", "names", ["a", "b"], 2, "columns of X")
    """
    if names is None:
        return
    listed = hasattr(names, "__len__") and hasattr(names, "__getitem__") and not isinstance(names, str | bytes | Mapping)
    good = listed and len(getattr(names, "shape", (0,))) == 1 and len(names) == count  # type: ignore[arg-type]
    require(good, owner, name, names, f"name the {count} {what}")
