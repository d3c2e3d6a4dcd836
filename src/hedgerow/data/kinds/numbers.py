"""Texts as numbers, as a person reads them: decimal commas, thousands, currencies, per cent, units.

One manner must fit a whole column, since `1,234` alone could be either of two numbers. A manner is plain data, so that new rows
are read as the first ones were.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.data.kinds.words import is_gap

__all__ = ["PLAIN", "Manner", "find_manner"]

#: Numbers as programs write them. Columns of measurements are nothing else, and as many texts as rows.
PLAIN = re.compile(r"(?P<sign>[+-])?(?P<digits>[0-9]+(?:\.[0-9]+)?)(?P<power>[eE][+-]?[0-9]+)?")

_SPACES = "   "
_GROUPING = f"'’_{_SPACES}"
_NUMBER = re.compile(
    rf"(?P<before>[^0-9.,+\-−()]*)(?P<open>\()?(?P<sign>[+\-−])?(?P<before2>[^0-9.,+\-−()]*)"
    rf"(?P<digits>(?:[0-9]+(?:[.,{_GROUPING}][0-9]+)*[.,]?|[.,][0-9]+))(?P<power>[eE][+-]?[0-9]+)?(?P<after>[^0-9()]*)(?P<close>\))?(?P<after2>[^0-9]*)"
)
_ABOUT = re.compile(r"^(?:[<>≤≥~≈]=?|ca\.|circa|about|approx\.?)\s*")
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "bn": 1e9}
_CURRENCIES = {"USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "BRL", "ZAR"}
_CURRENCIES |= {"US$", "A$", "C$", "R$", "RS", "RS.", "KR", "KR.", "FR", "FR."}
_LONGEST = 60  # characters: nobody writes longer numbers
_LONGEST_UNIT = 12


@dataclass(frozen=True)
class Manner:
    """How the numbers of a column are written."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    """What stands before or after every number, such as a currency."""
    scaled: bool = False
    """Whether k, M and B behind a number stand for thousands, millions and billions."""

    def read(self, text: str) -> float | None:
        """The number; None for a text that is none."""
        if self.decimal == "." and not self.thousands and len(text) <= _LONGEST and PLAIN.fullmatch(text):
            number = float(text)
            return None if math.isinf(number) else number
        found = _parts(text)
        if found is None:
            return None
        digits, power, negative, unit = found
        scale = 1.0
        if self.scaled and unit.lower() in _SCALES:
            scale = _SCALES[unit.lower()]
        elif unit not in ("", self.unit):
            return None
        if self.thousands:
            whole, mark, rest = digits.partition(self.decimal)
            groups = re.split(f"[{re.escape(self.thousands)}]", whole)
            if len(groups) > 1 and not (all(len(group) == 3 for group in groups[1:]) and 1 <= len(groups[0]) <= 3):
                return None
            digits = "".join(groups) + mark + rest
        digits = digits.replace(self.decimal, ".", 1) if self.decimal != "." else digits
        try:
            number = float(digits + power)
        except ValueError:
            return None
        if number in (float("inf"), float("-inf")):
            return None
        return scale * (-number if negative else number)

    def said(self) -> str:
        """What is unusual about it, in words."""
        told = []
        if self.decimal == ",":
            told.append("with decimal commas")
        if self.thousands:
            told.append(f"with thousands set apart by {'spaces' if self.thousands[0] in _SPACES else repr(self.thousands[0])}")
        if self.unit:
            told.append(f"in {self.unit}")
        return " ".join(told)


def _parts(text: str) -> tuple[str, str, bool, str] | None:
    """Digits with their marks, power of ten, whether negative, and the unit."""
    if len(text) > _LONGEST:
        return None
    plain = PLAIN.fullmatch(text)
    if plain is not None:
        sign, digits, power = plain.groups()
        return digits, power or "", sign == "-", ""
    found = _NUMBER.fullmatch(_ABOUT.sub("", text.strip()))
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    before = [found["before"].strip(), found["before2"].strip()]
    after = [found["after"].strip(), found["after2"].strip()]
    if after[-1] == "" and after[0] in ("-", "−"):  # 12,50-
        return found["digits"], found["power"] or "", True, "".join(before)
    units = [unit for unit in (*before, *after) if unit]
    if len(units) == 2 and "".join(before) and "".join(after).lower() in _SCALES:
        units = units[1:]  # $ 12 M
    if any(character.isalpha() for character in "".join(before)) and "".join(before).upper() not in _CURRENCIES:
        return None  # Room 12 is a name
    if len(units) > 1 or any(len(unit) > _LONGEST_UNIT or re.search(r"[-/:#]$|^[-/:#]", unit) for unit in units):
        return None
    negative = bool(found["open"]) or found["sign"] in ("-", "−")
    return found["digits"], found["power"] or "", negative, units[0] if units else ""


def find_manner(texts: Sequence[str], counts: Sequence[int]) -> tuple[Manner, list[str]] | None:
    """How most of these different texts are numbers, and those that then are none; None if they are not numbers.

    Eight rows of ten must be numbers, gaps aside, and what is left must be few words without a digit: gaps under other names.
    """
    kept = [(text, count) for text, count in zip(texts, counts, strict=True) if not is_gap(text, among_numbers=True)]
    parts = [(found, count) for text, count in kept if (found := _parts(text)) is not None]
    if not parts:
        return None
    total = sum(count for _, count in kept)
    if sum(count for text, count in kept if _ABOUT.match(text)) > total / 2:
        return None  # <=50K and >50K are two levels
    units = Counter({unit: 0 for (_, _, _, unit), _ in parts})
    for (_, _, _, unit), count in parts:
        units[unit] += count
    scaled = len([unit for unit in units if unit]) > 0 and {unit.lower() for unit in units} <= set(_SCALES) and len(units) > 1
    unit = max((unit for unit in units if unit), key=lambda one: units[one], default="")
    manner = Manner(*_marks([digits for (digits, _, _, _), _ in parts]), "" if scaled else unit, scaled)
    if units[""] and unit and not scaled and units[unit] < units[""]:
        manner = Manner(manner.decimal, manner.thousands)
    numbers = [manner.read(text) is not None for text, _ in kept]
    others = [text for (text, _), number in zip(kept, numbers, strict=True) if not number]
    good = sum(count for (_, count), number in zip(kept, numbers, strict=True) if number)
    few = len(others) <= 3 and not any(character.isdigit() for text in others for character in text)
    return (manner, others) if good >= 0.8 * total and (few or good >= 0.98 * total) else None


def _marks(digits: Sequence[str]) -> tuple[str, str]:
    """The decimal mark and what sets thousands apart."""
    grouping = "".join(sorted({mark for text in digits for mark in text if mark in _GROUPING}))
    both = [text for text in digits if "." in text and "," in text]
    if both:
        last = Counter("." if text.rfind(".") > text.rfind(",") else "," for text in both)
        decimal = max(".,", key=lambda mark: last[mark])
        return decimal, ("," if decimal == "." else ".") + grouping
    commas = [text for text in digits if "," in text]
    dots = [text for text in digits if "." in text]
    if commas and dots:  # 1,234 and 0.5 in one column: dots end whole numbers, unless they come in threes only and commas do not
        grouped = all(re.fullmatch(r"[0-9]{1,3}(\.[0-9]{3})+", text) for text in dots) and any(
            not _grouped(text, ",") for text in commas
        )
        return (",", "." + grouping) if grouped else (".", "," + grouping)
    if commas:
        return (".", "," + grouping) if all(_grouped(text, ",") for text in commas) else (",", grouping)
    if any(text.count(".") > 1 for text in dots):
        return ",", "." + grouping
    return ".", grouping


def _grouped(text: str, mark: str) -> bool:
    """Whether a mark stands where thousands end: 1,234 and 12,345,678 but not 0,123."""
    return re.fullmatch(rf"[1-9][0-9]{{0,2}}({re.escape(mark)}[0-9]{{3}})+", re.sub(f"[{_GROUPING}]", "", text)) is not None
