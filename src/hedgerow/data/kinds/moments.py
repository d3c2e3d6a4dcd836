"""Moments and points of a cycle: what numbers and moments of a column say about when, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.data.kinds.dates import DAY, YEAR, epoch_unit, read_moment
from hedgerow.data.kinds.raw import Guess
from hedgerow.data.kinds.words import MONTHS, WEEKDAYS
from hedgerow.data.tables import FloatArray

__all__ = ["CLOCK_NUMBERS", "CYCLES", "NAMED", "TURNS", "from_digits", "like_clocks", "moments", "when_numbers"]

CYCLES = {
    "hour": (24.0, 0, 24),
    "month": (12.0, 1, 12),
    "weekday": (7.0, 0, 7),
    "day of year": (365.2425, 1, 366),
    "degrees": (360.0, 0, 360),
}
TURNS = {"hour": DAY, "weekday": 7 * DAY, "month": YEAR}
NAMED = {"month": MONTHS, "weekday": WEEKDAYS}
#: Days as spreadsheets count them, from 1954 to 2119, under a name such as date.
SHEET_DAYS, SHEET_START = (20_000, 80_000), -25_569 * DAY
#: 20240131 and 20240131235959.
DIGITS = ((19_000_101, 20_991_231), (19_000_101_000_000, 20_991_231_235_959))
CLOCK_NUMBERS = "clocks without a colon, as the name says: points on a circle"
LEAST_CLOCKS = 10  # different ones


def like_clocks(seen: FloatArray, said: set[str]) -> bool:
    """Whether numbers under a name such as time are clocks without a colon: 930 and 1745."""
    whole = "time" in said and bool((seen == np.floor(seen)).all() and (seen >= 0).all() and (seen <= 2400).all())
    return whole and bool((seen % 100 < 60).all() and seen.max() >= 1000) and len(np.unique(seen)) >= LEAST_CLOCKS


def moments(values: FloatArray, how: Mapping[str, Any], what: str) -> Guess:
    """Moments: what has passed since the first, and what repeats, as points on a circle where rows crowd at some of them."""
    seen = values[~np.isnan(values)]
    if len(np.unique(seen)) <= 1:
        return "drop", "the same in every row" if len(seen) else "no entry at all", how
    first, span = float(seen.min()), float(seen.max() - seen.min())
    steps = np.diff(seen)
    even = len(seen) > 2 and bool((steps > 0).all()) and bool(np.ptp(steps) <= 0.11 * steps.mean())  # months differ by a tenth
    turns = [word for word, turn in TURNS.items() if span >= 2 * turn and _crowds(seen, turn) and _finer(seen, word)]
    parts = [*([] if even else ["days since the first"]), *turns]
    if not parts:
        return "id", f"{what}, one after the other in equal steps, like a row number", how
    told = f"{what}: {', '.join(parts)}" + (" (in equal steps from row to row)" if even else "")
    return "time", told, {**how, "first": first, "elapsed": not even, "turns": turns}


def _finer(seen: FloatArray, word: str) -> bool:
    """Whether moments tell more than whole turns: dates without a clock have no hour."""
    return word != "hour" or bool((seen % DAY != seen[0] % DAY).any())


def _crowds(seen: FloatArray, turn: float) -> bool:
    """Whether rows crowd at one or two ends of a circle: by Rayleigh's test, one in a thousand."""
    angle = 2 * np.pi * (seen % turn) / turn
    return any(len(seen) * abs(np.exp(1j * k * angle).mean()) ** 2 > 6.9 for k in (1, 2))


def from_digits(values: FloatArray) -> FloatArray:
    """Moments of numbers such as 20240131."""
    different, places = np.unique(values, return_inverse=True)
    read = [None if number != number else read_moment(f"{number:.0f}") for number in different]
    table: FloatArray = np.array([np.nan if moment is None else moment for moment in read])
    return table[places]


def when_numbers(values: FloatArray, said: set[str], how: Mapping[str, Any]) -> Guess | None:
    """Numbers that say when: times since 1970, days of a spreadsheet, dates and clocks in digits, hours, months; None for others."""
    seen = values[~np.isnan(values)]
    low, high, gaps = float(seen.min()), float(seen.max()), {"gaps": how["gaps"]} if "gaps" in how else {}
    unit = epoch_unit(seen, bool(said & {"time", "date"}))
    if unit is not None:
        many = {1.0: "", 1e-3: "milli", 1e-6: "micro", 1e-9: "nano"}[unit]
        return moments(values * (1e6 * unit), {"read": "moments", "unit": unit, **gaps}, f"{many}seconds since 1970")
    if "date" in said and SHEET_DAYS[0] <= low and high <= SHEET_DAYS[1]:
        sheet = {"read": "moments", "unit": DAY / 1e6, "origin": SHEET_START, **gaps}
        return moments(values * DAY + SHEET_START, sheet, "days as spreadsheets count them")
    if any(first <= low and high <= last for first, last in DIGITS):
        read = from_digits(values)
        if not np.isnan(read[~np.isnan(values)]).any():
            return moments(read, {"read": "moments", "digits": True, **gaps}, "dates written as digits")
    if like_clocks(seen, said):
        return "cycle", CLOCK_NUMBERS, {**how, "hours and minutes": True, "period": 1440.0}
    for word in sorted(said & set(CYCLES)):
        period, first, last = CYCLES[word]
        if first <= low and high <= last and len(np.unique(seen)) > 2:
            return "cycle", f"{word}, as the name says: points on a circle", {**how, "period": period}
    return None
