"""Numbers written in parts: feet and inches, degrees and minutes, whole numbers with fractions, places (1st, #2), ratios (5 : 1).

Each way is a reader by name, for a whole column: one entry alone could be many things.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from hedgerow.data.kinds.words import is_gap

__all__ = ["COMPOUND", "find_compound"]

_INCHES = re.compile(
    r"(?P<minus>-)?(?P<feet>[0-9]+)\s*(?:'|’|′|ft\.?|feet|foot)\s*"
    r"(?:(?P<inches>[0-9]+(?:\.[0-9]+)?)\s*(?:\"|”|″|''|in\.?|inch|inches)?)?",
    re.IGNORECASE,
)
_DEGREES = re.compile(
    r"(?P<before>[nsew])?\s*(?P<minus>[-−])?(?P<degrees>[0-9]{1,3}(?:\.[0-9]+)?)\s*(?:°|º|deg\.?)\s*"
    r"(?:(?P<minutes>[0-9]{1,2}(?:\.[0-9]+)?)\s*(?:'|’|′|min\.?)\s*)?"
    r"(?:(?P<seconds>[0-9]{1,2}(?:\.[0-9]+)?)\s*(?:\"|”|″|''|sec\.?)\s*)?(?P<after>[nsew])?",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?:#|№|no\.?|nr\.?)\s*(?P<number>[0-9]+)|(?P<place>[0-9]+)\s*(?:st|nd|rd|th)", re.IGNORECASE)
_FRACTION = re.compile(
    r"(?P<minus>-)?(?:(?P<whole>[0-9]+)(?:\s+|-|(?=[½⅓⅔¼¾⅛⅜⅝⅞])|$))?(?:(?P<over>[0-9]+)\s*[/⁄]\s*(?P<under>[0-9]+)|(?P<sign>[½⅓⅔¼¾⅛⅜⅝⅞]))?"
)
_SIGNS = {"½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "⅛": 1 / 8, "⅜": 3 / 8, "⅝": 5 / 8, "⅞": 7 / 8}
_RATIO = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?::|\bto\b)\s*1|1\s*(?::|\bin\b)\s*(?P<under>[0-9]+(?:\.[0-9]+)?)")
_LONGEST = 40


def _inches(text: str) -> float | None:
    found = _INCHES.fullmatch(text)
    if found is None or float(found["inches"] or 0) >= 12:
        return None
    return (-1 if found["minus"] else 1) * (12 * float(found["feet"]) + float(found["inches"] or 0))


def _degrees(text: str) -> float | None:
    found = _DEGREES.fullmatch(text)
    if found is None or bool(found["before"]) == bool(found["after"]) or (found["seconds"] and not found["minutes"]):
        return None
    minutes, seconds, degrees = float(found["minutes"] or 0), float(found["seconds"] or 0), float(found["degrees"])
    if minutes >= 60 or seconds >= 60 or degrees > 180 or found["minus"]:
        return None
    below = (found["before"] or found["after"]).lower() in "sw"
    return (-1 if below else 1) * (degrees + minutes / 60 + seconds / 3600)


def _place(text: str) -> float | None:
    found = _PLACE.fullmatch(text)
    return None if found is None else float(found["number"] or found["place"])


def _fraction(text: str) -> float | None:
    found = _FRACTION.fullmatch(text) if text else None
    if found is None:
        return None
    part = _SIGNS[found["sign"]] if found["sign"] else 0.0
    if found["over"]:
        if not 0 < int(found["over"]) < int(found["under"]) <= 64:
            return None
        part = int(found["over"]) / int(found["under"])
    return (-1 if found["minus"] else 1) * (float(found["whole"] or 0) + part)


def _ratio(text: str) -> float | None:
    found = _RATIO.fullmatch(text)
    if found is None:
        return None
    return float(found["number"]) if found["number"] else 1 / float(found["under"]) if float(found["under"]) else None


def _of(read: Callable[[str], float | None]) -> Callable[[str], float | None]:
    return lambda text: read(text.strip()) if len(text) <= _LONGEST else None


#: Readers by name, and what is said of a column that is read so.
COMPOUND: Mapping[str, Callable[[str], float | None]] = {
    "feet and inches": _of(_inches),
    "degrees": _of(_degrees),
    "places": _of(_place),
    "fractions": _of(_fraction),
    "ratios": _of(_ratio),
}
_SAID = {
    "feet and inches": "feet and inches: in inches",
    "degrees": "degrees of latitude or longitude, south and west below 0",
    "places": "places in an order",
    "fractions": "numbers with fractions",
    "ratios": "ratios to 1",
}
#: Of a column of fractions some must have a whole number before them: 1/2 alone is a day or a score as well.
_MIXED = re.compile(r"[0-9]+(?:\s+|-)[0-9]+\s*[/⁄]|[½⅓⅔¼¾⅛⅜⅝⅞]")


def find_compound(texts: Sequence[str], counts: Sequence[int]) -> tuple[str, str] | None:
    """The reader that 98 rows of 100 go by, gaps aside, and what is said of it; None if there is none.

    >>> find_compound(['6 ft 4 in', "5'11"], [1, 1])
    ('feet and inches', 'feet and inches: in inches')
    """
    kept = [(text, count) for text, count in zip(texts, counts, strict=True) if not is_gap(text, among_numbers=True)]
    total = sum(count for _, count in kept)
    for name, read in COMPOUND.items():
        if not kept or all(read(text) is None for text, _ in kept[:3]):
            continue
        if name == "fractions" and not any(_MIXED.search(text) for text, _ in kept):
            continue
        if sum(count for text, count in kept if read(text) is not None) >= 0.98 * total:
            return name, _SAID[name]
    return None
