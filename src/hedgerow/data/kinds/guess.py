"""What a column is taken for, with the reason: by its entries, and by the words of its name where entries could be several things.

In this order: gaps; truths; codes (leading zeros, or a name such as zip); moments; numbers; names. Whole numbers then are a
row number or identifiers, years, codes or ratings, counts, or measurements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import pdtrc

from hedgerow.data.kinds.dates import DAY, epoch_unit, find_order, read_clock, read_moment
from hedgerow.data.kinds.numbers import Manner, find_manner
from hedgerow.data.kinds.raw import Raw
from hedgerow.data.kinds.words import FALSE, TRUE, hints, is_gap
from hedgerow.data.tables import FloatArray
from hedgerow.errors import require

__all__ = ["Guess", "floats", "guess", "levels_of"]

Guess = tuple[str, str, Mapping[str, Any]]
"""Kind, reason, and the plain data by which new rows are read."""

AS_IS: Mapping[str, Any] = {"read": "as is"}
#: Whole numbers are taken for counts up to this mean, if they reach down to 1 or 0: beyond it a Gaussian does as well.
LARGEST_MEAN = 10.0
#: Consecutive whole numbers from 1 up are taken for codes or ratings up to this many.
MOST_CODES = 10
#: Of more than the few below, the largest must have this share of the rows that the commonest has: counts thin out towards it.
TOP_TO_MODE = 0.25
#: So few different whole numbers, each in ten rows on average, are codes even with gaps between them.
FEW_CODES = 5
#: Names are identifiers if so large a share of the rows (half, if the column's name says so) has one of its own; so few are levels.
MOST_NAMES = 20
#: Of more names than that, those that this share of the rows (and this many) have are levels of their own, the others one together.
MOSTLY = 0.9
COMMON_SHARE, COMMON_ROWS = 0.01, 5
WORDS_OF_A_SENTENCE = 4
LARGEST, SMALLEST = 1e100, 1e-100  # squares of these are still numbers
EXACT = 2.0**53
MOST_BEYOND = 5.0  # rows that a law of counts may promise beyond the largest
CYCLES = {
    "hour": (24.0, 0, 24),
    "month": (12.0, 1, 12),
    "weekday": (7.0, 0, 7),
    "day of year": (365.2425, 1, 366),
    "degrees": (360.0, 0, 360),
}
TURNS = {"hour": DAY, "weekday": 7 * DAY, "month": 365.2425 * DAY}


def guess(raw: Raw, name: str | int, owner: str) -> Guess:
    """What a column is taken for."""
    if raw.kind is not None:
        return raw.kind, raw.why, AS_IS if raw.form != "texts" else {"read": "levels", "levels": list(raw.texts), "rest": False}
    if raw.form == "unreadable":
        return "drop", f"{raw.why}: neither numbers nor names", AS_IS
    if raw.levels is not None:
        how = AS_IS if raw.form == "numbers" else {"read": "levels", "levels": list(raw.levels), "rest": False}
        return "category", f"declared as categories, {len(raw.levels)} different ones", how
    if raw.form == "texts":
        return _texts(raw, name, owner)
    seen = raw.values[~np.isnan(raw.values)]
    if len(seen) == 0:
        return "drop", "no entry at all", AS_IS
    if raw.form == "truths":
        return "boolean", "yes or no", AS_IS
    if raw.form == "moments":
        return _moments(raw.values, {"read": "moments"}, "dates")
    if raw.form == "spans":
        return _numbers(raw.values, set(), AS_IS, f"X[{name!r}]", owner, "spans of time, in days")
    place = f"X[:, {name}]" if isinstance(name, int) else f"X[{name!r}]"
    return _numbers(raw.values, hints(name), AS_IS, place, owner)


def floats(raw: Raw, how: Mapping[str, Any]) -> FloatArray:
    """The entries of a column as numbers, NaN where one is missing or cannot be read so."""
    if raw.form != "texts":
        values: FloatArray = raw.values if raw.form != "unreadable" else np.full(len(raw.values), np.nan)
        if how["read"] != "moments" or raw.form == "moments":
            return values
        return _from_digits(values) if how.get("digits") else values * (1e6 * how.get("unit", 1.0))
    read: Any
    if how["read"] == "moments":
        unit = how.get("unit")
        read = (lambda text: _scaled(text, 1e6 * unit)) if unit else (lambda text: read_moment(text, how.get("day first", False)))
    elif how["read"] == "clock":
        read = read_clock
    elif how["read"] == "truths":
        yes, no = set(how["true"]), set(how["false"])
        rest = 0.0 if how.get("rest") else None
        read = lambda text: 1.0 if text.lower() in yes else 0.0 if text.lower() in no else rest  # noqa: E731
    else:
        read = Manner(**{key: how[key] for key in ("decimal", "thousands", "unit", "scaled") if key in how}).read
    gone = how["read"] == "truths" and how.get("rest")
    found = [read(text) if gone or not is_gap(text, among_numbers=text.lower() not in TRUE) else None for text in raw.texts]
    table: FloatArray = np.array([*(np.nan if value is None else value for value in found), 0.0 if gone else np.nan], dtype=np.float64)
    return np.asarray(table[raw.values] * float(how.get("scale", 1.0)))


def _from_digits(values: FloatArray) -> FloatArray:
    """Moments of numbers such as 20240131."""
    different, places = np.unique(values, return_inverse=True)
    read = [None if number != number else read_moment(f"{number:.0f}") for number in different]
    table: FloatArray = np.array([np.nan if moment is None else moment for moment in read])
    return table[places]


def _scaled(text: str, unit: float) -> float | None:
    number = Manner().read(text)
    return None if number is None else number * unit


def levels_of(raw: Raw) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The different texts of a column that stand for something, and the rows of each."""
    counts = np.bincount(raw.values[raw.values >= 0], minlength=len(raw.texts))
    kept = [place for place, text in enumerate(raw.texts) if counts[place] and not is_gap(text)]
    kept.sort(key=lambda place: raw.texts[place])
    return [raw.texts[place] for place in kept], counts[kept]


def _texts(raw: Raw, name: str | int, owner: str) -> Guess:
    texts, counts = levels_of(raw)
    if not texts:
        return "drop", "no entry at all", AS_IS
    told = [text for text in texts if not is_gap(text, among_numbers=text.lower() not in TRUE)]
    small = {text.lower() for text in told}
    if small and small <= TRUE | FALSE and small & TRUE and small & FALSE:
        return (
            "boolean",
            f"yes or no ({', '.join(told[:4])})",
            {"read": "truths", "true": sorted(small & TRUE), "false": sorted(small & FALSE)},
        )
    if len(texts) == 1 and int(counts[0]) < len(raw.values) and texts[0].lower() in TRUE | {"x"}:
        return (
            "boolean",
            f"{texts[0]!r} or nothing: taken for yes and no",
            {"read": "truths", "true": [texts[0].lower()], "false": [], "rest": True},
        )
    said = hints(name)
    digits = [text for text in told if re.fullmatch("[0-9]+", text)]
    if len(digits) > 0.8 * len(told) and any(text[0] == "0" and len(text) > 1 for text in digits):
        return _names(texts, counts, "codes in digits, some with a leading 0", said)
    if told and len(digits) == len(told) and "code" in said:
        return _names(texts, counts, "codes in digits, as the name says", said)
    found = find_order(texts, counts.tolist())
    if found is not None and found[0] == "clock":
        if "span" in said:
            return "number", "spans of time, as the name says: seconds", {"read": "clock", "scale": 1e-6}
        how = {"read": "clock", "period": float(DAY)}
        return "cycle", "times of day: points on a circle", how
    if found is not None and not ({"id", "code"} & said and all(text.isdigit() for text in told)):
        how = {"read": "moments", "day first": found[1]}
        return _moments(floats(raw, how), how, f"dates{_order_said(told, found[1])}")
    manner = find_manner(texts, counts.tolist())
    if manner is not None:
        return _number_texts(raw, manner, said, f"X[{name!r}]", owner)
    return _names(texts, counts, "names", said)


def _order_said(texts: Sequence[str], day_first: bool) -> str:
    last = any(re.match(r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.]", text) for text in texts)
    return "" if not last else ", the day first" if day_first else ", the month first"


def _number_texts(raw: Raw, found: tuple[Manner, list[str]], said: set[str], place: str, owner: str) -> Guess:
    manner, others = found
    how = {"read": "numbers", "decimal": manner.decimal, "thousands": manner.thousands, "unit": manner.unit, "scaled": manner.scaled}
    values = floats(raw, how)
    plain = manner == Manner()
    kind, why, extra = _numbers(values, said, how, place, owner, "" if plain else f"numbers {manner.said()}")
    gaps = [text for text in raw.texts if text and text.lower() not in ("na", "nan") and is_gap(text, among_numbers=True)] + others
    if gaps and kind not in ("drop", "id"):
        why += f"; {', '.join(repr(text) for text in gaps[:4])}{', ...' if len(gaps) > 4 else ''} taken for gaps"
    return kind, why, extra


def _names(texts: list[str], counts: npt.NDArray[np.int64], what: str, said: set[str]) -> Guess:
    """Names: levels, identifiers, or sentences."""
    different, n = len(texts), int(counts.sum())
    how = {"read": "levels", "levels": texts, "rest": False}
    if different == 1:
        return "drop", "the same in every row", how
    if different > n / 2 and np.mean([len(text.split()) for text in texts[:1000]]) >= WORDS_OF_A_SENTENCE:
        return (
            "text",
            f"{different} different texts, most of several words: sentences, which clustering by words alone could use (text)",
            how,
        )
    if (different == n > 2) or (different > MOST_NAMES and different > (0.5 if "id" in said else MOSTLY) * n):
        return "id", f"{different} different {what} in {n} rows, like identifiers", how
    if different <= MOST_NAMES:
        return "category", f"{what}, {different} different ones", how
    least = max(COMMON_ROWS, COMMON_SHARE * n)
    common = [text for text, count in zip(texts, counts, strict=True) if count >= least]
    if not common:
        return "drop", f"{different} different {what}, each in a few rows only", how
    if len(common) == different:
        return "category", f"{what}, {different} different ones", how
    why = f"{what}, {different} different ones; the {different - len(common)} in fewer than {least:.0f} rows are taken together"
    return "category", why, {"read": "levels", "levels": common, "rest": True}


def _numbers(values: FloatArray, said: set[str], how: Mapping[str, Any], place: str, owner: str, what: str = "") -> Guess:
    """Numbers: truths, identifiers, codes, moments, points of a cycle, counts or measurements."""
    seen = values[~np.isnan(values)]
    require(bool(np.isfinite(seen).all()), owner, place, np.inf, "be finite")
    different, n = len(np.unique(seen)), len(seen)
    if different <= 1:
        return "drop", "the same in every row" if n else "no entry at all", how
    low, high = float(seen.min()), float(seen.max())
    if max(-low, high) > LARGEST or high - low < SMALLEST:
        return "drop", f"numbers from {low:g} to {high:g}, which arithmetic cannot square", how
    if low == 0 and high == 1 and different == 2:
        return "boolean", "only 0 and 1", how
    unit = epoch_unit(seen, "time" in said)
    if unit is not None:
        moments = {"read": "moments", "unit": unit}
        return _moments(
            values * (1e6 * unit), moments, f"{ {1.0: '', 1e-3: 'milli', 1e-6: 'micro', 1e-9: 'nano'}[unit] }seconds since 1970"
        )
    if low >= 19_000_101 and high <= 20_991_231:
        digits = {"read": "moments", "digits": True}
        moments_seen = floats(Raw("numbers", seen), digits)
        if not np.isnan(moments_seen).any():
            return _moments(floats(Raw("numbers", values), digits), digits, "dates written as digits")
    for word in sorted(said & set(CYCLES)):
        period, first, last = CYCLES[word]
        if first <= low and high <= last and different > 2:
            return "cycle", f"{word}, as the name says: points on a circle", {**how, "period": period}
    if not (seen == np.floor(seen)).all():
        return "number", what or "measurements", how
    kind, why = _whole_numbers(seen, different, said)
    return kind, f"{what}: {why}" if what else why, how


def _whole_numbers(seen: FloatArray, different: int, said: set[str]) -> tuple[str, str]:
    low, high, mean, n = float(seen.min()), float(seen.max()), float(seen.mean()), len(seen)
    between = f"whole numbers from {low:g} to {high:g}"
    if "code" in said:
        if different > MOST_NAMES and different > n / 2:
            return "id", f"{different} different codes in {n} rows, like identifiers"
        return ("category", f"codes, as the name says ({between})") if high <= EXACT else ("drop", f"codes beyond 2**53 ({between})")
    years = low >= 1500 and high <= 2100 and ("year" in said or (low >= 1900 and high <= 2050))
    if years and n >= 3 * different and different <= MOST_CODES:
        return "category", f"{different} different years"
    if years and ("year" in said or different < n):
        return "number", f"years from {low:g} to {high:g}"
    reason = _identifier(seen, different, said)
    if reason:
        return "id", reason
    dense = different == high - low + 1
    crowded = different <= FEW_CODES or float((seen == high).sum()) >= TOP_TO_MODE * float(np.unique(seen, return_counts=True)[1].max())
    if high <= EXACT and (different == 2 or (low > 0 and dense and crowded and different <= MOST_CODES and n >= 2 * different)):
        return "category", f"{different} different {between}: taken for codes or ratings"
    if low > 0 and different <= FEW_CODES and n >= 10 * different and high <= EXACT:
        return "category", f"only {different} different {between}: taken for codes"
    if low >= 0 and _like_counts(seen, different, mean):
        return "count", f"{between}, mean {mean:.1f}: taken for counts"
    if low >= 0 and different <= MOST_CODES and n >= 10 * different and high <= EXACT:
        return "category", f"only {different} different {between}, where counts would go on: taken for codes or ratings"
    reason = "some negative" if low < 0 else f"mean {mean:.0f}" if 100 <= mean < 1e6 else f"mean {mean:.3g}"
    return "number", f"measurements ({between}, {reason})"


def _identifier(seen: FloatArray, different: int, said: set[str]) -> str:
    """Why these whole numbers are like identifiers; empty if they are not."""
    n = len(seen)
    if different == n > 2 and (np.diff(seen) == 1).all():
        return "counts up by one from row to row, like a row number"
    if "id" in said and different > n / 2 and n > 2:
        return f"{different} different numbers in {n} rows, and a name that says so: identifiers"
    rises = n >= 10 and bool((np.diff(seen) > 0).all())
    if rises and seen[-1] - seen[0] < 3 * n:
        return "goes up from row to row with few numbers left out, like a row number"
    digits = np.floor(np.log10(np.maximum(np.abs(seen), 1)))
    if n >= 20 and different == n and digits.min() == digits.max() >= 6 and not (seen % 100 == 0).mean() > 0.1:
        return f"{n} different numbers of {int(digits[0]) + 1} digits, like identifiers"
    return ""


def _like_counts(seen: FloatArray, different: int, mean: float) -> bool:
    """Whether whole numbers from 0 up look counted: they reach down to 1 or 0, lean to the right and thin out towards their largest.

    Of laws of counts with a mean Poisson's has the lightest tail; where it promises rows beyond the largest, a scale ends there.
    """
    low, high, n = float(seen.min()), float(seen.max()), len(seen)
    if low > 1 or mean > LARGEST_MEAN:
        return False
    if n < 30:
        return True
    if n * pdtrc(high, mean) > MOST_BEYOND:
        return False
    variance = float(seen.var())
    leans_left = float(((seen - mean) ** 3).mean()) < -0.5 * variance**1.5
    crowded = different >= 8 and float((seen > 0.75 * high).mean()) > 0.15
    return not leans_left and not crowded and variance > 0.4 * mean


def _moments(values: FloatArray, how: Mapping[str, Any], what: str) -> Guess:
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
