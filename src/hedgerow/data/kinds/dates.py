"""Texts and numbers as moments: the ways in which dates, clocks, spans and epochs are written, as microseconds since 1970.

A whole column has one order of day, month and year: a first number above 12 tells; where none does, points mean the day first and
strokes the month. Years of two digits stand last, unless the first number can be no day or takes half as many values as the last.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hedgerow.data.kinds.numbers import PLAIN
from hedgerow.data.kinds.words import MONTHS, is_gap

__all__ = [
    "DAY",
    "YEAR",
    "Order",
    "epoch_unit",
    "find_order",
    "plain_letters",
    "read_clock",
    "read_moment",
    "read_span",
    "read_yearless",
]

Order = bool | str
"""Whether the day comes before the month; "year": the year in two digits before both."""
DAY = 86_400_000_000  # microseconds
YEAR = 365.2425 * DAY
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\.?"
_MINUTES = r"(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?P<part>[.,][0-9]+)?)?"
_CLOCK = rf"(?P<hour>[0-9]{{1,2}}):{_MINUTES}\s*(?P<half>[ap]\.?m\.?)?"
_ZONE = r"\s*(?:z|utc|gmt|bst|cest|cet|[ecmp][ds]t|ist|jst|msk|[+-][0-9]{2}:?[0-9]{2})?"
_WORD = r"(?:[a-z]{2,12}\.?,?\s+)?"  # a weekday, or on
_OF = r"[-\s.,/]*(?:de\s+|del\s+|of\s+)?"
_REST = rf"(?:(?:t|,?\s+|:){_CLOCK}{_ZONE})?"
_YEAR = r"(?P<y>[0-9]{4}|[0-9]{2})"
_DAY = r"(?P<b>[0-9]{1,2})(?:st|nd|rd|th|er|º)?"
_FORMS = {
    "year first": re.compile(rf"(?P<y>[0-9]{{4}})(?P<mark>[-/.])(?P<a>[0-9]{{1,2}})[-/.](?P<b>[0-9]{{1,2}}){_REST}"),
    "year last": re.compile(rf"(?P<a>[0-9]{{1,2}})(?P<mark>[-/.])(?P<b>[0-9]{{1,2}})[-/.]{_YEAR}{_REST}"),
    "day, name": re.compile(rf"{_WORD}{_DAY}{_OF}{_MONTH}{_OF}{_YEAR}{_REST}"),
    "name, day": re.compile(rf"{_WORD}{_MONTH}[-\s]*{_DAY},?\s+(?P<y>[0-9]{{4}}){_REST}"),
    "name, clock": re.compile(rf"{_WORD}{_MONTH}\s+{_DAY},?\s+{_CLOCK}{_ZONE}\s+(?P<y>[0-9]{{4}})"),
    "name, year": re.compile(rf"{_MONTH}{_OF}(?P<y>[0-9]{{4}})"),
    "year, month": re.compile(r"(?P<y>[0-9]{4})(?:[-/](?P<a>[0-9]{1,2})|\.(?P<a2>0[1-9]|1[0-2]))"),
    "month, year": re.compile(r"(?P<a>0?[1-9]|1[0-2])[-/.](?P<y>[0-9]{4})"),
    "digits": re.compile(r"(?P<y>[0-9]{4})(?P<a>[0-9]{2})(?P<b>[0-9]{2})"),
    "stamp": re.compile(
        r"(?P<y>[0-9]{4})-?(?P<a>[0-9]{2})-?(?P<b>[0-9]{2})[t_-]?(?P<hour>[0-9]{2})-?(?P<minute>[0-9]{2})-?(?P<second>[0-9]{2})?z?"
    ),
    "week": re.compile(r"(?P<y>[0-9]{4})-?w(?P<week>[0-9]{2})(?:-?(?P<of_week>[1-7]))?"),
    "quarter": re.compile(r"(?:(?P<y>[0-9]{4})[-\s/]?q(?P<quarter>[1-4])|q(?P<quarter2>[1-4])[-\s/]?(?P<y2>[0-9]{4}))"),
    "signs": re.compile(r"(?P<y>[0-9]{4})\s?[年년]\s?(?P<a>[0-9]{1,2})\s?[月월](?:\s?(?P<b>[0-9]{1,2})\s?[日일])?"),
}
_YEARLESS = (
    re.compile(rf"(?P<b>[0-9]{{1,2}})[-\s.]+{_MONTH}"),
    re.compile(rf"{_MONTH}[-\s]+(?P<b>[0-9]{{1,2}})"),
    re.compile(r"(?P<b>[0-9]{1,2})\.(?P<a>[0-9]{1,2})\."),
)
_ALONE = (
    re.compile(_CLOCK),
    re.compile(r"(?P<hour>[0-9]{1,2})\s*(?P<half>[ap]\.?m\.?)"),
    re.compile(r"(?P<hour>[0-9]{1,2})\s?h\s?(?P<minute>[0-5][0-9])"),
)
_DAYS_AND_CLOCK = re.compile(rf"(?:(?P<days>[0-9]+)\s*(?:days?|d),?\s+)?(?P<hour>[0-9]+):{_MINUTES}")
_ISO_SPAN = re.compile(r"p(?:([0-9.]+)w)?(?:([0-9.]+)d)?(?:t(?:([0-9.]+)h)?(?:([0-9.]+)m)?(?:([0-9.]+)s)?)?")
_PIECE = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*([a-z]+)\.?(?:,?\s*(?:and|und|et|y)?\s*)")
_SECONDS = {
    **dict.fromkeys(("ms", "msec"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "sek"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "minuten"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "std", "stunden"), 3600.0),
    **dict.fromkeys(("d", "day", "days", "tag", "tage"), 86_400.0),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), 604_800.0),
    **dict.fromkeys(("mo", "mos", "mth", "mths", "month", "months", "monat", "monate"), 365.2425 * 86_400 / 12),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years", "jahr", "jahre"), 365.2425 * 86_400),
}
_LONGEST = 60
SOME = 200  # texts are looked at first
#: Numbers that may be dates as well: digits alone, or a year and a month with a point between.
_PLAIN_MOMENT = re.compile(r"[0-9]{8}|[0-9]{12}|[0-9]{14}|[0-9]{4}\.(?:0[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])\.[0-9]{4}")
#: Seconds since 1970: from 2000 to 2035 numbers are taken for moments by themselves, from 1975 to 2100 where a name says so.
_LONGEST_SPAN = 15 * 365 * 86_400  # numbers that go over more years are anything
_SURE, _POSSIBLE = (946_684_800, 2_051_222_400), (157_766_400, 4_102_444_800)


def find_order(texts: Sequence[str], counts: Sequence[int]) -> tuple[str, Order] | None:
    """ "dates", "clock", "yearless" or "spans" if nine rows of ten are such, and the order of their parts; None if they are none."""
    kept = [(text, count) for text, count in zip(texts, counts, strict=True) if not is_gap(text, among_numbers=True)]
    total = sum(count for _, count in kept)

    some = [text for text, _ in kept[:: max(1, len(kept) // SOME)]]

    def mostly(read: Callable[[str], float | None]) -> bool:
        if sum(read(text) is not None for text in some) < len(some) / 4:  # long columns of anything else cost little
            return False
        return sum(count for text, count in kept if read(text) is not None) >= 0.9 * total > 0

    if mostly(read_clock):
        return "clock", False
    for order in _orders([text for text, _ in kept]):
        if mostly(lambda text, order=order: read_moment(text, order)):  # type: ignore[misc]
            return "dates", order
    if mostly(read_yearless):
        return "yearless", False
    return ("spans", False) if mostly(read_span) else None


def _orders(texts: Sequence[str]) -> tuple[Order, ...]:
    """Whether the day comes first, the likelier answer first; only one where some number can be no month."""
    found = [match for text in texts[:10_000] if len(text) <= _LONGEST and (match := _FORMS["year last"].fullmatch(text.lower()))]
    parts = [(int(match["a"]), int(match["b"]), int(match["y"])) for match in found if len(match["y"]) == 2]
    if len(parts) == len(found) > 0:
        firsts, seconds, lasts = (set(numbers) for numbers in zip(*parts, strict=True))
        can_be = max(seconds) <= 12 and max(lasts) <= 31 and 0 not in lasts
        if can_be and (0 in firsts or max(firsts) > 31 or len(lasts) >= 2 * len(firsts)):
            return ("year",)
    first, second = any(int(match["a"]) > 12 for match in found), any(int(match["b"]) > 12 for match in found)
    if first != second:
        return (first,)
    points = any(match["mark"] == "." for match in found)
    return (points, not points)


def plain_letters(text: str) -> str:
    """Small letters without accents."""
    small = text.lower().strip()
    if small.isascii():
        return small
    return unicodedata.normalize("NFC", "".join(c for c in unicodedata.normalize("NFD", small) if not unicodedata.combining(c)))


def read_moment(text: str, day_first: Order = False) -> int | None:
    """Microseconds since 1970 of a date with or without a clock; None for a text that is none."""
    if len(text) > _LONGEST or (PLAIN.fullmatch(text) and not _PLAIN_MOMENT.fullmatch(text)):
        return None
    small = plain_letters(text)
    for name, form in _FORMS.items():
        match = form.fullmatch(small)
        if match is not None:
            return _moment(match, day_first if name == "year last" else False)
    return None


def read_yearless(text: str) -> int | None:
    """Microseconds since the first of January of a day without a year; None for a text that is none."""
    small = plain_letters(text) if len(text) <= _LONGEST else ""
    match = next((match for form in _YEARLESS if (match := form.fullmatch(small))), None)
    if match is None:
        return None
    month = MONTHS[match["month"]] if "month" in match.groupdict() else int(match["a"])
    try:
        date = datetime.date(2000, month, int(match["b"]))
    except ValueError:
        return None
    return (date - datetime.date(2000, 1, 1)).days * DAY


def read_span(text: str) -> float | None:
    """Microseconds of a span of time: 26:10:05, 2 days 03:00:00, 6h 23m, PT5H4M; None for a text that is none."""
    small = text.lower().strip() if len(text) <= _LONGEST else ""
    match = _DAYS_AND_CLOCK.fullmatch(small)
    if match is not None:
        if int(match["minute"]) > 59 or int(match["second"] or 0) > 59:
            return None
        part = float((match["part"] or "0").replace(",", "."))
        hours = 24 * int(match["days"] or 0) + int(match["hour"])
        return 1e6 * (3600 * hours + 60 * int(match["minute"]) + int(match["second"] or 0) + part)
    match = _ISO_SPAN.fullmatch(small)
    if match is not None and any(match.groups()):
        worth = (604_800.0, 86_400.0, 3600.0, 60.0, 1.0)
        return sum(1e6 * one * number for one, given in zip(worth, match.groups(), strict=True) if (number := _float(given)))
    pieces = _PIECE.findall(small)
    if not pieces or _PIECE.sub("", small) or any(unit not in _SECONDS for _, unit in pieces):
        return None
    return sum(1e6 * _SECONDS[unit] * _float(number) for number, unit in pieces)


def _float(number: str | None) -> float:
    try:
        return float((number or "0").replace(",", "."))
    except ValueError:
        return 0.0


def _moment(match: re.Match[str], order: Order) -> int | None:
    parts = {name: given for name, given in match.groupdict().items() if given is not None}
    year, month, day = parts.get("y") or parts["y2"], parts.get("a") or parts.get("a2"), parts.get("b")
    if "month" in parts:
        month = str(MONTHS[parts["month"]])
    elif order == "year":
        year, month, day = str(month), day, year
    elif order:
        month, day = day, month
    quarter = parts.get("quarter") or parts.get("quarter2")
    if quarter:
        month = str(3 * int(quarter) - 2)
    number = int(year)
    if len(year) <= 2:
        number += 2000 if number < 69 else 1900
    try:
        if "week" in parts:
            date = datetime.date.fromisocalendar(number, int(parts["week"]), int(parts.get("of_week", 1)))
        else:
            date = datetime.date(number, int(month or 1), int(day or 1))
    except ValueError:
        return None
    if not (1900 <= number < 2100 if "mark" not in parts and "month" not in parts else 1500 <= number <= 2300):  # anything in digits
        return None
    clock = _microseconds(parts) if parts.get("hour") else 0
    return None if clock is None else (date - datetime.date(1970, 1, 1)).days * DAY + clock


def read_clock(text: str) -> int | None:
    """Microseconds since midnight of a clock without a date."""
    small = text.lower().strip() if len(text) <= _LONGEST and not PLAIN.fullmatch(text) else ""
    match = next((match for form in _ALONE if (match := form.fullmatch(small))), None)
    return None if match is None else _microseconds(match.groupdict())


def _microseconds(parts: Mapping[str, str | None]) -> int | None:
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    half = (parts.get("half") or "")[:1]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour == 24 and minute == second == 0:
        hour = 0
    if hour > 23 or minute > 59 or second > 60:
        return None
    part = float("0." + str(parts["part"])[1:]) if parts.get("part") else 0.0
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
