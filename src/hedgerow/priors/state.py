"""The state of a measure by name: log u of every group, α of every basis measure, σ, τ, θ.

`MeasureTraces` is the one list. Chains, posteriors, streams, trees and their files take names, shapes and ranges from it, and the core
is handed those that only some priors have. log u is what is kept: u itself leaves the floats, above and below.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LISTS", "NAMES", "VALUES", "MeasureTraces", "Value", "Values", "fits", "numbers", "packed", "takes_u", "with_log_u"]

C = TypeVar("C")


@dataclass(frozen=True)
class Value:
    """One value of the state: one for each group or basis measure, or a number; its range; and whether every prior has it."""

    per: str | None = None
    low: float = 0.0
    below: float = math.inf
    common: bool = True


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MeasureTraces:
    """The state in every draw; None where the prior has no such thing."""

    log_u: NDArray[np.float64] | None = field(default=None, metadata={"value": Value("group", low=-math.inf)})
    alpha: NDArray[np.float64] | None = field(default=None, metadata={"value": Value("basis")})
    sigma: NDArray[np.float64] | None = field(default=None, metadata={"value": Value(below=1.0)})
    tau: NDArray[np.float64] | None = field(default=None, metadata={"value": Value()})
    theta: NDArray[np.float64] | None = field(default=None, metadata={"value": Value(common=False)})

    @property
    def u(self) -> Any:
        """exp(log_u), which may be infinite; will go in 0.3."""
        return None if self.log_u is None else _exp(type(self).__name__, self.log_u)

    def traces(self) -> dict[str, NDArray[np.float64]]:
        """Those of log_u, alpha, sigma, tau and theta that the prior has."""
        present = {name: getattr(self, name) for name in NAMES}
        return Values({name: trace for name, trace in present.items() if trace is not None})


VALUES: Mapping[str, Value] = {one.name: one.metadata["value"] for one in fields(MeasureTraces)}
NAMES = tuple(VALUES)
LISTS = tuple(name for name, value in VALUES.items() if value.per is not None)


def fits(name: str, values: ArrayLike) -> bool:
    """Whether all of these are finite and in the range of the value of that name."""
    array = np.asarray(values, dtype=float)
    value = VALUES[name]
    return bool((np.isfinite(array) & (array >= value.low) & (array < value.below)).all())


def packed(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state as the core takes it: lists as arrays, the rest as numbers; what a prior has no use for is 0."""
    return {name: np.array(state[name], dtype=np.float64, ndmin=1) if name in LISTS else float(state.get(name, 0.0)) for name in NAMES}


def numbers(state: Mapping[str, Any]) -> dict[str, float]:
    """The state of a measure with one group and one basis, as numbers."""
    return {name: float(np.ravel(state[name])[0]) for name in NAMES}


def with_log_u(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The same names and values, with log_u where an older version wrote u; of a u that had left the floats, that of the nearest."""
    found = dict(stored)
    if "u" in found:
        with np.errstate(divide="ignore"):
            log_u = np.clip(np.log(np.asarray(found.pop("u"), float)), math.log(5e-324), math.log(np.finfo(float).max))
        found.setdefault("log_u", log_u)
    return found


class Values(dict[str, Any]):
    """log u and the hyper-parameters by name; "u" is answered for those who still ask."""

    def __missing__(self, name: str) -> Any:
        """exp(log_u) for "u"."""
        if name != "u" or "log_u" not in self:
            raise KeyError(name)
        return _exp("values", self["log_u"])


def _exp(owner: str, log_u: ArrayLike) -> Any:
    _tell(owner, 4)
    with np.errstate(over="ignore"):
        return np.exp(log_u)


def _tell(owner: str, level: int) -> None:
    warnings.warn(f"{owner}: u is kept as log_u, which never overflows; u will go in 0.3.", FutureWarning, stacklevel=level)


def takes_u(cls: type[C]) -> type[C]:
    """A class whose constructor has log_u, and takes u in its place for a version."""
    made: Callable[..., None] = cls.__init__

    @wraps(made)
    def __init__(self: C, *args: Any, **given: Any) -> None:  # noqa: N807
        if given.get("u") is not None:
            _tell(cls.__name__, 3)
            given.pop("log_u", None)
            given = with_log_u(given)
        given.pop("u", None)
        made(self, *args, **given)

    setattr(cls, "__init__", __init__)  # noqa: B010
    return cls
