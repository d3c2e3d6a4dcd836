"""Hyper-parameters as they are given: numbers, vectors and what arithmetic can bear of them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from hedgerow.arguments import as_float
from hedgerow.data.views import LARGEST
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, Likelihood

__all__ = ["as_float_array", "as_number", "as_vector", "check_given", "spread_out"]

#: Differences of lnΓ keep five digits after the point up to here; no belief is worth so many observations.
MOST = 1e10


def check_given(likelihood: Likelihood, **checks: Callable[[str, str, Any], object]) -> None:
    """Put what its check makes of a hyper-parameter that was given in the place of it; the dataclass is frozen."""
    owner = type(likelihood).__name__
    for name, check in checks.items():
        value = getattr(likelihood, name)
        if value is not None:
            object.__setattr__(likelihood, name, check(owner, name, value))


def as_number(owner: str, name: str, value: Any, low: float, *, square: bool = False) -> float:
    """A finite number above `low` that arithmetic can bear; `square` for what is in squared units of X."""
    good = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    wanted = "be a finite number" if low == -np.inf else f"be a finite number above {low:g}"
    require(good, owner, name, value, wanted)
    number = as_float(value)
    require(bool(np.isfinite(number)) and number > low, owner, name, value, wanted)
    _check_range(owner, name, value, np.array([number]), low, square)
    return number


def as_vector(owner: str, name: str, value: Any, low: float, *, square: bool = False) -> float | FloatArray:
    """A finite number above `low`, or a read-only vector of such numbers, one per column."""
    if np.ndim(value) == 0:
        return as_number(owner, name, value, low, square=square)
    array = as_float_array(owner, name, value)
    wanted = "be a number, or one finite number per column"
    require(array.ndim == 1 and len(array) > 0 and bool(np.isfinite(array).all()), owner, name, value, wanted)
    require(bool((array > low).all()), owner, name, value, f"be above {low:g} in every column")
    _check_range(owner, name, value, array, low, square)
    return array


def _check_range(owner: str, name: str, value: object, array: FloatArray, low: float, square: bool) -> None:
    """Refuse a hyper-parameter whose products with others leave the floats (X itself ends at `LARGEST`), or whose lnΓ costs digits."""
    most = LARGEST**2.5 if square else LARGEST if low == -np.inf else MOST
    least = -most if low == -np.inf else 0.0 if square else 1 / LARGEST
    wanted = f"be at most {most:.0e} in magnitude" if least <= 0 else f"lie between {least:.0e} and {most:.0e}"
    require(bool(((array >= least) & (array <= most)).all()), owner, name, value, wanted)


def as_float_array(owner: str, name: str, value: object) -> FloatArray:
    """A read-only float64 copy of a hyper-parameter."""
    array = np.asarray(value)
    require(array.dtype.kind in "fiu", owner, name, value, "hold real numbers")
    array = np.array(array, dtype=np.float64)
    array.setflags(write=False)
    return array


def spread_out(value: Any, d: int) -> FloatArray:
    """A number or vector as a read-only vector of d entries."""
    array = np.array(np.broadcast_to(value, (d,)), dtype=np.float64)
    array.setflags(write=False)
    return array
