"""Half-lives of the rows of a stream, and the clock that they may be told by.

Every row lives on its own: when it comes it is given a time to live, exponential with the half-life asked for, so of rows of age a a
share 2^(−a/half-life) is still there. Those are clustered as if there had never been others: deleting points at random leaves a
Dirichlet process, and every exchangeable partition of this house, what it was (Caron, Davy & Doucet, UAI 2007).
"""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import real_number
from hedgerow.errors import ParameterError

__all__ = ["as_text", "read_half_life", "read_when"]

FloatArray = npt.NDArray[np.float64]

SECONDS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
WANTED = f"be a number of rows above 0, a time such as '10min' ({', '.join(SECONDS)}) or a timedelta, or None"


def read_half_life(forget: Any, owner: str) -> tuple[float, bool]:
    """The half-life, and whether it is one of time, in seconds; 0 rows for None.

    >>> read_half_life("10min", "TreeStream"), read_half_life(5000, "TreeStream")
    ((600.0, True), (5000.0, False))
    """
    if forget is None:
        return 0.0, False
    clock, value = True, math.nan
    if isinstance(forget, str):
        found = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([a-z]*)\s*", forget)
        if found is not None and found[2] in ("", *SECONDS):
            clock = found[2] != ""
            value = _number(found[1]) * SECONDS.get(found[2], 1.0)
    elif isinstance(forget, (datetime.timedelta, np.timedelta64)):
        value = float(np.timedelta64(forget) / np.timedelta64(1, "s"))
    else:
        clock, value = False, real_number(forget)
    if not (math.isfinite(value) and 0 < value <= 1e15):
        raise ParameterError(f"{owner}(forget={forget!r}): forget must {WANTED}. Got {forget!r}.")
    return value, clock


def as_text(forget: Any) -> Any:
    """The same half-life as a number or a text, for files."""
    if isinstance(forget, (datetime.timedelta, np.timedelta64)):
        return f"{read_half_life(forget, 'forget')[0]!r}s"
    return forget


def read_when(when: Any, n: int, owner: str, clock: bool) -> FloatArray | None:
    """Seconds on the clock for n rows; None where ages are counted in rows."""
    if not clock:
        if when is not None:
            raise ParameterError(f"{owner}(when=...): when must be left out unless forget is a time, such as '10min'.")
        return None
    if when is None:
        raise ParameterError(f"{owner}(when=None): when must be given, one time for each row: forget is a time.")
    try:
        times = np.atleast_1d(np.asarray(when))
        if times.dtype.kind == "M":
            seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
            seconds[np.isnat(times)] = np.nan
        elif times.dtype.kind in "OUS":
            seconds = np.array([_seconds(one) for one in times.tolist()])
        else:
            seconds = times.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"{owner}(when=...): when must hold numbers of seconds or dates with times. {error}.") from error
    if seconds.shape != (n,) or not np.isfinite(seconds).all() or not (np.abs(seconds) <= 1e15).all():
        raise ParameterError(f"{owner}(when=...): when must be one finite time for each of the {n} rows. Got shape {seconds.shape}.")
    return np.ascontiguousarray(seconds)


def _seconds(one: Any) -> float:
    if isinstance(one, str):
        try:
            return float(one)
        except ValueError:
            one = datetime.datetime.fromisoformat(one)
    if isinstance(one, datetime.datetime):
        return (one if one.tzinfo is not None else one.replace(tzinfo=datetime.UTC)).timestamp()
    if isinstance(one, datetime.date):
        return datetime.datetime(one.year, one.month, one.day, tzinfo=datetime.UTC).timestamp()
    return float(one)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
