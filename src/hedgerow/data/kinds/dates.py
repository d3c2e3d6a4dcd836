"""Texts and numbers as moments: the ways in which dates, clocks and epochs are written, as microseconds since 1970.

A whole column has one order of day and month: the first day above 12 tells; where none does, points mean the day first and
strokes the month.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hedgerow.data.kinds.numbers import PLAIN
from hedgerow.data.kinds.words import is_gap

__all__ = ["DAY", "epoch_unit", "find_order", "read_clock", "read_moment"]

DAY = 86_400_000_000  # microseconds
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
_MONTH += r"nov(?:ember)?|dec(?:ember)?)\.?"
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?P<part>[.,][0-9]+)?)?\s*(?P<half>[ap]\.?m\.?)?"
_ZONE = r"\s*(?:z|utc|gmt|[+-][0-9]{2}:?[0-9]{2})?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_REST = rf"(?:(?:t|,?\s+|:){_CLOCK}{_ZONE})?"
_FORMS = {
    "year first": re.compile(rf"(?P<y>[0-9]{{4}})(?P<mark>[-/.])(?P<a>[0-9]{{1,2}})[-/.](?P<b>[0-9]{{1,2}}){_REST}"),
    "year last": re.compile(rf"(?P<a>[0-9]{{1,2}})(?P<mark>[-/.])(?P<b>[0-9]{{1,2}})[-/.](?P<y>[0-9]{{4}}|[0-9]{{2}}){_REST}"),
    "day, name": re.compile(
        rf"{_WEEKDAY}(?P<b>[0-9]{{1,2}})(?:st|nd|rd|th)?[-\s./]*{_MONTH}[-\s.,/]*(?P<y>[0-9]{{4}}|[0-9]{{2}}){_REST}"
    ),
    "name, day": re.compile(rf"{_WEEKDAY}{_MONTH}[-\s]*(?P<b>[0-9]{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y>[0-9]{{4}}){_REST}"),
    "name, year": re.compile(rf"{_MONTH}[-\s,]*(?P<y>[0-9]{{4}})"),
    "year, month": re.compile(r"(?P<y>[0-9]{4})[-/](?P<a>[0-9]{1,2})"),
    "digits": re.compile(r"(?P<y>[0-9]{4})(?P<a>[0-9]{2})(?P<b>[0-9]{2})"),
}
_ALONE = re.compile(_CLOCK)
_LONGEST = 60
_DIGITS = 8  # of a date in digits alone: no other is a number as well
#: Seconds since 1970: from 2000 to 2035 numbers are taken for moments by themselves, from 1975 to 2100 where a name says so.
_LONGEST_SPAN = 15 * 365 * 86_400  # numbers that go over more years are anything
_SURE, _POSSIBLE = (946_684_800, 2_051_222_400), (157_766_400, 4_102_444_800)


def find_order(texts: Sequence[str], counts: Sequence[int]) -> tuple[str, bool] | None:
    """ "dates" or "clock" if nine rows of ten are such, and whether the day comes before the month; None if they are neither."""
    kept = [(text, count) for text, count in zip(texts, counts, strict=True) if not is_gap(text, among_numbers=True)]
    total = sum(count for _, count in kept)
    if not total:
        return None
    if sum(count for text, count in kept if read_clock(text) is not None) >= 0.9 * total:
        return "clock", False
    for day_first in _orders([text for text, _ in kept]):
        if sum(count for text, count in kept if read_moment(text, day_first) is not None) >= 0.9 * total:
            return "dates", day_first
    return None


def _orders(texts: Sequence[str]) -> tuple[bool, ...]:
    """Whether the day comes first, the likelier answer first; only one where some number can be no month."""
    found = [match for text in texts[:10_000] if len(text) <= _LONGEST and (match := _FORMS["year last"].fullmatch(text.lower()))]
    first, second = any(int(match["a"]) > 12 for match in found), any(int(match["b"]) > 12 for match in found)
    if first != second:
        return (first,)
    points = any(match["mark"] == "." for match in found)
    return (points, not points)


def read_moment(text: str, day_first: bool = False) -> int | None:
    """Microseconds since 1970 of a date with or without a clock; None for a text that is none."""
    if len(text) > _LONGEST or (len(text) != _DIGITS and PLAIN.fullmatch(text)):
        return None
    small = text.lower().strip()
    for name, form in _FORMS.items():
        match = form.fullmatch(small)
        if match is not None:
            return _moment(match, day_first and name == "year last")
    return None


def _moment(match: re.Match[str], day_first: bool) -> int | None:
    parts = match.groupdict()
    year = int(parts["y"])
    if len(parts["y"]) == 2:
        year += 2000 if year < 69 else 1900
    month, day = parts.get("a"), parts.get("b")
    if parts.get("month"):
        month = str(_MONTHS.index(parts["month"][:3]) + 1)
    elif day_first:
        month, day = day, month
    try:
        date = datetime.date(year, int(month or 1), int(day or 1))
    except ValueError:
        return None
    if not (1900 <= year < 2100 if "mark" not in parts and "month" not in parts else 1500 <= year <= 2300):  # digits could be anything
        return None
    clock = _microseconds(parts) if parts.get("hour") else 0
    return None if clock is None else (date - datetime.date(1970, 1, 1)).days * DAY + clock


def read_clock(text: str) -> int | None:
    """Microseconds since midnight of a clock without a date."""
    match = _ALONE.fullmatch(text.lower().strip()) if ":" in text and len(text) <= _LONGEST else None
    return None if match is None else _microseconds(match.groupdict())


def _microseconds(parts: dict[str, str | None]) -> int | None:
    hour, minute, second = int(parts["hour"] or 0), int(parts["minute"] or 0), int(parts["second"] or 0)
    half = (parts.get("half") or "")[:1]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59 or second > 60:
        return None
    part = float("0." + parts["part"][1:]) if parts.get("part") else 0.0  # type: ignore[index]
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + int(1e6 * part)


def epoch_unit(seen: npt.NDArray[np.float64], named: bool) -> float | None:
    """Seconds in a unit if all of these numbers can be times since 1970 in it; `named`: the column's name says that they are times."""
    low, high = float(seen.min()), float(seen.max())
    for unit in (1.0, 1e-3, 1e-6, 1e-9):
        first, last = _POSSIBLE if named else _SURE
        if first <= low * unit and high * unit <= last:
            likely = len(seen) >= 10 and len(np.unique(seen)) > len(seen) / 2 and (high - low) * unit < _LONGEST_SPAN
            return unit if named or likely else None
    return None
