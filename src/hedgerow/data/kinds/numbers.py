"""Texts as numbers, as a person reads them: decimal commas, thousands, currencies, per cent, units, powers of ten, marks of footnotes.

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

__all__ = ["PLAIN", "Manner", "find_manner", "limits", "why_no_number"]

#: Numbers as programs write them. Columns of measurements are nothing else, and as many texts as rows.
PLAIN = re.compile(r"(?P<sign>[+-])?(?P<digits>[0-9]+(?:\.[0-9]+)?)(?P<power>[eE][+-]?[0-9]+)?")

_SPACES = " \u00a0\u2009\u202f"
_GROUPING = f"'’_{_SPACES}"
_NUMBER = re.compile(
    rf"(?P<before>[^0-9.,+\-−()]*)(?P<open>\()?(?P<sign>[+\-−])?(?P<before2>[^0-9.,+\-−()]*)"
    rf"(?P<digits>(?:[0-9]+(?:[.,{_GROUPING}][0-9]+)*[.,]?|[.,][0-9]+))(?P<power>[eE][+-]?[0-9]+)?(?P<after>[^0-9()]*)(?P<close>\))?(?P<after2>[^0-9]*)"
)
_LIMIT = re.compile(r"^[<>≤≥]=?\s*")
_ABOUT = re.compile(r"^(?:[<>≤≥~≈]=?|(?:ca\.?|circa|about|approx\.?|from|up to|over|under|ab)(?![a-z]))\s*", re.IGNORECASE)
#: Marks of footnotes, and what is said of an error behind a number.
_FOOTNOTE = re.compile(r"(?<=[0-9%])\s*(?:[*†‡§¹²³⁴⁵⁶⁷⁸⁹]+|(?:\[[0-9a-z]{1,3}\])+)$")
_ERROR = re.compile(r"\s*(?:±|\+/-|\+-)\s*[0-9.,]+")
_POWER = re.compile(r"(?<=[0-9])\s*(?:[×x·*]\s*10\s*(?:\^|\*\*)\s*\(?([+\-−]?[0-9]{1,3})\)?|[dD]([+-][0-9]{2,3})$)")
_PAIR = re.compile(r"(?:point\s*)?\(?\s*[+\-−]?[0-9]+(?:\.[0-9]+)?\s*[,;/:x×\s]\s*[+\-−]?[0-9]+(?:\.[0-9]+)?\s*\)?", re.IGNORECASE)
_OUT_OF = re.compile(r"\s*(?:/|\b(?:out\s+)?of\b|\bvon\b)\s*([0-9]+)$", re.IGNORECASE)
#: Units of one kind, which may stand in one column; of the first, that nothing stands for one.
_FAMILIES: tuple[dict[str, float], ...] = (
    {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "bn": 1e9, "thousand": 1e3, "mio": 1e6, "million": 1e6, "mrd": 1e9, "billion": 1e9},
    {"b": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30},
    {"mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6},
    {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3},
    {"ml": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1.0},
    {"y": 1.0, "yr": 1.0, "yrs": 1.0, "year": 1.0, "years": 1.0, "years old": 1.0, "y.o.": 1.0},
)
_SCALES = _FAMILIES[0]
#: So few different texts with a sign of comparison are levels: <=50K and >50K.
_FEW_LEVELS = 10
_CURRENCIES = {"USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "BRL", "ZAR"}
_CURRENCIES |= {"US$", "A$", "C$", "R$", "RS", "RS.", "KR", "KR.", "FR", "FR."}
_LONGEST = 60  # characters: nobody writes longer numbers
_LONGEST_UNIT = 12
_NO_UNIT = re.compile(r"[-/:#]$|^[-:#]|^/(?![0-9])")


@dataclass(frozen=True)
class Manner:
    """How the numbers of a column are written."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    """What stands before or after every number, such as a currency."""
    scaled: bool = False
    """Whether k, M and B behind a number stand for thousands, millions and billions; with a unit, whether others of its kind are
    brought to it, as g to kg."""

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
        family = _family(self.unit) if self.scaled else {}
        if unit.lower() in family:
            scale = family[unit.lower()] / family[self.unit.lower()]
        elif unit not in ("", self.unit):
            return None
        if len(self.decimal) > 1:  # both marks
            digits = digits.replace(",", ".")
        decimal = self.decimal[0]
        if self.thousands:
            whole, mark, rest = digits.partition(decimal)
            groups = re.split(f"[{re.escape(self.thousands)}]", whole)
            if len(groups) > 1 and not _in_groups([len(group) for group in groups]):
                return None
            digits = "".join(groups) + mark + rest
        digits = digits.replace(decimal, ".", 1) if decimal != "." else digits
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
        if len(self.decimal) > 1:
            told.append("with decimal points and commas")
        if self.thousands:
            told.append(f"with thousands set apart by {'spaces' if self.thousands[0] in _SPACES else repr(self.thousands[0])}")
        if self.unit:
            told.append(f"out of {self.unit[1:]}" if self.unit.startswith("/") else f"in {self.unit}")
            told.extend(["(other units of its kind brought to it)"] * self.scaled)
        return " ".join(told)


def _parts(text: str) -> tuple[str, str, bool, str] | None:
    """Digits with their marks, power of ten, whether negative, and the unit."""
    if len(text) > _LONGEST:
        return None
    plain = PLAIN.fullmatch(text)
    if plain is not None:
        sign, digits, power = plain.groups()
        return digits, power or "", sign == "-", ""
    text = _POWER.sub(lambda m: "e" + (m[1] or m[2]).replace("−", "-"), _ERROR.sub("", _FOOTNOTE.sub("", _ABOUT.sub("", text.strip()))))
    out_of = _OUT_OF.search(text)
    if out_of is not None:
        text = text[: out_of.start()]
    found = _NUMBER.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    before = [found["before"].strip(), found["before2"].strip()]
    after = [found["after"].strip(), found["after2"].strip()]
    if after[-1] == "" and after[0] in ("-", "−"):  # 12,50-
        return found["digits"], found["power"] or "", True, "".join(before)
    units = [unit for unit in (*before, *after, *([f"/{out_of[1]}"] if out_of else [])) if unit]
    if len(units) == 2 and "".join(before) and "".join(after).lower() in _SCALES:
        units = units[1:]  # $ 12 M
    if any(character.isalpha() for character in "".join(before)) and "".join(before).upper() not in _CURRENCIES:
        return None  # Room 12 is a name
    if len(units) > 1 or any(len(unit) > _LONGEST_UNIT or _NO_UNIT.search(unit) for unit in units):
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
    if len(kept) <= _FEW_LEVELS and sum(count for text, count in kept if _LIMIT.match(text)) > total / 2:
        return None  # <=50K and >50K are two levels
    units = Counter({unit: 0 for (_, _, _, unit), _ in parts})
    for (_, _, _, unit), count in parts:
        units[unit] += count
    small, several = {unit.lower() for unit in units}, len(units) > 1
    unit = max((unit for unit in units if unit), key=lambda one: units[one], default="")
    if several and unit and small <= set(_SCALES):
        unit = ""
    scaled = several and small <= set(_family(unit))
    manner = Manner(*_marks([digits for (digits, _, _, _), _ in parts]), unit, scaled)
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
        odd = any(not _grouped(text, ",") for text in commas)
        grouped = odd and all(re.fullmatch(r"[0-9]{1,3}(\.[0-9]{3})+", text) for text in dots)
        if odd and not grouped and all(text.count(".") + text.count(",") == 1 for text in (*commas, *dots)):
            return ".,", grouping
        return (",", "." + grouping) if grouped else (".", "," + grouping)
    if commas:
        return (".", "," + grouping) if all(_grouped(text, ",") for text in commas) else (",", grouping)
    if any(text.count(".") > 1 for text in dots):
        return ",", "." + grouping
    return ".", grouping


def _family(unit: str) -> dict[str, float]:
    """The units of the kind of one, with what each is worth; of none, thousands and millions."""
    return _SCALES if not unit else next((family for family in _FAMILIES[1:] if unit.lower() in family), {})


def _in_groups(lengths: Sequence[int]) -> bool:
    """Whether digits stand in threes, or as lakh and crore in twos before the last three."""
    first, middle, last = lengths[0], set(lengths[1:-1]), lengths[-1]
    return last == 3 and ((middle <= {3} and 1 <= first <= 3) or (middle == {2} and 1 <= first <= 2))


def limits(texts: Sequence[str]) -> list[str]:
    """Those of the texts that only say on which side of a number theirs lies."""
    return [text for text in texts if _LIMIT.match(text) and _parts(text) is not None]


def why_no_number(texts: Sequence[str], counts: Sequence[int]) -> str:
    """What keeps numbers from being read where most rows hold some: two in an entry, or units that cannot be brought together."""
    total = sum(counts)
    if sum(count for text, count in zip(texts, counts, strict=True) if _PAIR.fullmatch(text.strip())) >= 0.9 * total > 0:
        return f"two numbers in one entry ({texts[0]!r}): two columns would say more"
    found = [(parts[3], count) for text, count in zip(texts, counts, strict=True) if (parts := _parts(text)) is not None]
    units = sorted({unit for unit, _ in found if unit})
    if sum(count for _, count in found) >= 0.9 * total > 0 and 2 <= len(units) <= 5:
        return f"numbers in several units ({', '.join(units)})"
    return ""


def _grouped(text: str, mark: str) -> bool:
    """Whether a mark stands where thousands end: 1,234 and 12,345,678 (or 1,23,45,678) but not 0,123."""
    groups = re.sub(f"[{_GROUPING}]", "", text).split(mark)
    return len(groups) > 1 and "".join(groups).isdigit() and groups[0][:1] not in ("", "0") and _in_groups([len(g) for g in groups])
