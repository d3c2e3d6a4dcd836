"""What a column is taken for, with the reason: by its entries, and by the words of its name where entries could be several things.

In this order: gaps; truths; codes (leading zeros, or a name such as zip); moments; numbers; names. Whole numbers then are a
row number or identifiers, years, codes or ratings, counts, or measurements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import pdtrc

from hedgerow.data.kinds.compound import COMPOUND, find_compound
from hedgerow.data.kinds.dates import DAY, YEAR, Order, find_order, plain_letters, read_clock, read_moment, read_span, read_yearless
from hedgerow.data.kinds.moments import CLOCK_NUMBERS, NAMED, from_digits, like_clocks, moments, when_numbers
from hedgerow.data.kinds.numbers import Manner, find_manner, limits, why_no_number
from hedgerow.data.kinds.raw import Guess, Raw
from hedgerow.data.kinds.words import FALSE, TRUE, hints, is_gap, is_truths
from hedgerow.data.tables import FloatArray
from hedgerow.errors import require

__all__ = ["Guess", "floats", "guess", "letters", "levels_of"]

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
#: Nines stand for a gap where they lie further off than all other numbers are apart, and more than one row has them.
LEAST_DIFFERENT, LEAST_NINES = 10, 2
READERS: Mapping[str, Any] = {"clock": read_clock, "spans": read_span, "yearless": read_yearless, **COMPOUND}


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
        return moments(raw.values, {"read": "moments"}, "dates")
    if raw.form == "spans":
        return _numbers(raw.values, set(), AS_IS, f"X[{name!r}]", owner, "spans of time, in days")
    place = f"X[:, {name}]" if isinstance(name, int) else f"X[{name!r}]"
    return _numbers(raw.values, hints(name), AS_IS, place, owner)


def floats(raw: Raw, how: Mapping[str, Any]) -> FloatArray:
    """The entries of a column as numbers, NaN where one is missing or cannot be read so."""
    if how.get("gaps") and raw.form == "numbers":
        raw = replace(raw, values=np.where(np.isin(raw.values, how["gaps"]), np.nan, raw.values))
    values = _read(raw, how)
    if how.get("gaps") and how["read"] == "numbers":
        values = np.where(np.isin(values, how["gaps"]), np.nan, values)
    return np.asarray(60 * (values // 100) + values % 100) if how.get("hours and minutes") else values


def _read(raw: Raw, how: Mapping[str, Any]) -> FloatArray:
    if raw.form != "texts":
        values: FloatArray = raw.values if raw.form != "unreadable" else np.full(len(raw.values), np.nan)
        if how["read"] != "moments" or raw.form == "moments":
            return values
        return from_digits(values) if how.get("digits") else values * (1e6 * how.get("unit", 1.0)) + how.get("origin", 0.0)
    read: Any
    if how["read"] == "moments":
        unit = how.get("unit")
        origin, order, gaps = how.get("origin", 0.0), how.get("day first", False), how.get("gaps", ())
        read = (lambda text: _scaled(text, 1e6 * unit, origin, gaps)) if unit else (lambda text: read_moment(text, order))
    elif how["read"] in READERS:
        read = READERS[how["read"]]
    elif how["read"] == "named":
        names = NAMED[how["names"]]
        read = lambda text: names.get(plain_letters(text))  # noqa: E731
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


def _scaled(text: str, unit: float, origin: float, gaps: Sequence[float]) -> float | None:
    number = Manner().read(text)
    return None if number is None or number in gaps else number * unit + origin


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
    yes, no = small & TRUE, small & FALSE
    how: Mapping[str, Any]
    if is_truths(small):
        how = {"read": "truths", "true": sorted(yes | small & {"1"}), "false": sorted(no | small & {"0"})}
        return "boolean", f"yes or no ({', '.join(told[:4])})", how
    if len(texts) == 1 and int(counts[0]) < len(raw.values) and texts[0].lower() in TRUE | {"x"}:
        return (
            "boolean",
            f"{texts[0]!r} or nothing: taken for yes and no",
            {"read": "truths", "true": [texts[0].lower()], "false": [], "rest": True},
        )
    said = hints(name)
    digits = [text for text in told if re.fullmatch("[0-9]+", text)]
    if told and len(digits) == len(told) and min(map(len, digits)) >= 3 and like_clocks(np.array(digits, dtype=float), said):
        return "cycle", CLOCK_NUMBERS, {"read": "numbers", "hours and minutes": True, "period": 1440.0}
    if len(digits) > 0.8 * len(told) and any(text[0] == "0" and len(text) > 1 for text in digits):
        return _names(texts, counts, "codes in digits, some with a leading 0", said)
    if told and len(digits) == len(told) and "code" in said:
        return _names(texts, counts, "codes in digits, as the name says", said)
    if "version" in said and all(re.match("v?[0-9]", text) for text in told):
        return _names(texts, counts, "versions, as the name says", said)
    for what, names in NAMED.items():
        plain = {plain_letters(text) for text in told}
        if plain <= set(names) and len({names[text] for text in plain}) > 2:
            how = {"read": "named", "names": what, "period": float(max(names.values()))}
            return "cycle", f"names of {what}s: points on a circle", how
    found = find_order(texts, counts.tolist())
    if found is not None and found[0] == "spans" and find_manner(texts, counts.tolist()) is None:
        return "number", "spans of time: seconds", {"read": "spans", "scale": 1e-6}
    if found is not None and found[0] == "yearless":
        return "cycle", "days without a year: points on a circle", {"read": "yearless", "period": YEAR}
    if found is not None and found[0] == "clock":
        if "span" in said:
            return "number", "spans of time, as the name says: seconds", {"read": "spans", "scale": 1e-6}
        how = {"read": "clock", "period": float(DAY)}
        return "cycle", "times of day: points on a circle", how
    if found is not None and found[0] == "dates" and not ({"id", "code"} & said and all(text.isdigit() for text in told)):
        how = {"read": "moments", "day first": found[1]}
        return moments(floats(raw, how), how, f"dates{_order_said(told, found[1])}")
    manner = find_manner(texts, counts.tolist())
    if manner is not None:
        return _number_texts(raw, manner, said, f"X[{name!r}]", owner)
    parts = find_compound(texts, counts.tolist())
    if parts is not None:
        how = {"read": parts[0]}
        return _numbers(floats(raw, how), said, how, f"X[{name!r}]", owner, parts[1])
    kind, why, how = _spelled(texts, counts, said)
    odd = why_no_number(texts, counts.tolist())
    return kind, f"{why}; {odd}" if odd else why, how


def _order_said(texts: Sequence[str], order: Order) -> str:
    last = any(re.match(r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.]", text) for text in texts)
    return "" if not last else ", the year first" if order == "year" else ", the day first" if order else ", the month first"


def _number_texts(raw: Raw, found: tuple[Manner, list[str]], said: set[str], place: str, owner: str) -> Guess:
    manner, others = found
    how = {"read": "numbers", "decimal": manner.decimal, "thousands": manner.thousands, "unit": manner.unit, "scaled": manner.scaled}
    values = floats(raw, how)
    plain = manner == Manner()
    kind, why, extra = _numbers(values, said, how, place, owner, "" if plain else f"numbers {manner.said()}")
    gaps = [text for text in raw.texts if text and text.lower() not in ("na", "nan") and is_gap(text, among_numbers=True)] + others
    if gaps and kind not in ("drop", "id"):
        why += f"; {', '.join(repr(text) for text in gaps[:4])}{', ...' if len(gaps) > 4 else ''} taken for gaps"
    ends = limits([text for text in raw.texts if text not in gaps])
    if ends and kind not in ("drop", "id"):
        why += f"; {', '.join(repr(text) for text in ends[:3])}{', ...' if len(ends) > 3 else ''} taken for the number itself"
    return kind, why, extra


def _spelled(texts: list[str], counts: npt.NDArray[np.int64], said: set[str]) -> Guess:
    """Names, those that differ only in case or in spaces at the ends read as one level, by its commonest spelling."""
    found = _names(texts, counts, "names", said)
    spellings: dict[str, list[int]] = {}
    for place in np.argsort(-counts, kind="stable"):
        spellings.setdefault(letters(texts[place]), []).append(int(place))
    several = [[texts[place] for place in places] for places in spellings.values() if len(places) > 1]
    if not several or found[0] in ("id", "text"):
        return found
    first = sorted(spellings.values(), key=lambda places: texts[places[0]])
    kind, why, how = _names([texts[places[0]] for places in first], np.array([counts[places].sum() for places in first]), "names", said)
    if kind in ("id", "text"):
        return found
    shown = ", ".join(repr(text) for text in several[0][:4])
    more = f" and {len(several) - 1} more such" if len(several) > 1 else ""
    return kind, f"{why}; {shown}{more} read as one: they differ in case or spaces only", {**how, "spelled": "any case"}


def letters(text: str) -> str:
    """A name without what is chance in its spelling: spaces at the ends, and case but in codes of a letter or two, such as alleles."""
    bare = text.strip()
    return bare.casefold() if len(bare) > 2 else bare


def _names(texts: list[str], counts: npt.NDArray[np.int64], what: str, said: set[str]) -> Guess:
    """Names: levels, identifiers, or sentences."""
    different, n = len(texts), int(counts.sum())
    how = {"read": "levels", "levels": texts, "rest": False}
    if different == 1:
        return "drop", "the same in every row", how
    if different > n / 2 and np.mean([_words(text) for text in texts[:1000]]) >= WORDS_OF_A_SENTENCE:
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


def _words(text: str) -> int:
    """Words of a text that hold no digit."""
    return sum(not any(character.isdigit() for character in word) for word in text.split())


def _nines(seen: FloatArray) -> list[float]:
    """Numbers such as -999 and 9999 that stand for a gap: far off, shared, and all of nines."""
    values, counts = np.unique(seen, return_counts=True)
    found: list[float] = []
    if len(values) <= LEAST_DIFFERENT:
        return found
    for end, near, count in ((values[0], values[1], counts[0]), (values[-1], values[-2], counts[-1])):
        rest = values[1:] if end == values[0] else values[:-1]
        nines = re.fullmatch("9+", f"{abs(end):.15g}") is not None and (abs(end) >= 99 or (end < 0 <= rest[0]))
        if nines and count >= LEAST_NINES and abs(end - near) > rest[-1] - rest[0]:
            found.append(float(end))
    return found


def _numbers(values: FloatArray, said: set[str], how: Mapping[str, Any], place: str, owner: str, what: str = "") -> Guess:
    """Numbers: truths, identifiers, codes, moments, points of a cycle, counts or measurements."""
    seen = values[~np.isnan(values)]
    require(bool(np.isfinite(seen).all()), owner, place, np.inf, "be finite")
    nines = _nines(seen)
    if nines:
        rest = np.where(np.isin(values, nines), np.nan, values)
        kind, why, how = _numbers(rest, said, {**how, "gaps": nines}, place, owner, what)
        return kind, f"{why}; {' and '.join(f'{value:g}' for value in nines)} taken for gaps", how
    different, n = len(np.unique(seen)), len(seen)
    if different <= 1:
        return "drop", "the same in every row" if n else "no entry at all", how
    low, high = float(seen.min()), float(seen.max())
    if max(-low, high) > LARGEST or high - low < SMALLEST:
        return "drop", f"numbers from {low:g} to {high:g}, which arithmetic cannot square", how
    if low == 0 and high == 1 and different == 2:
        return "boolean", "only 0 and 1", how
    when = when_numbers(values, said, how)
    if when is not None:
        return when
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
    # Ratings begin about 0; numbers further from it than from each other, such as ages from 18 to 25, are measured.
    near = different <= FEW_CODES or low <= high - low
    crowded = different <= FEW_CODES or float((seen == high).sum()) >= TOP_TO_MODE * float(np.unique(seen, return_counts=True)[1].max())
    if high <= EXACT and (
        different == 2 or (low > 0 and near and dense and crowded and different <= MOST_CODES and n >= 2 * different)
    ):
        return "category", f"{different} different {between}: taken for codes or ratings"
    if low > 0 and different <= FEW_CODES and n >= 10 * different and high <= EXACT:
        return "category", f"only {different} different {between}: taken for codes"
    if low >= 0 and _like_counts(seen, different, mean):
        return "count", f"{between}, mean {mean:.1f}: taken for counts"
    if low >= 0 and near and different <= MOST_CODES and n >= 10 * different and high <= EXACT:
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
    if "id" in said and different > MOST_NAMES and seen.min() in (0, 1) and different == seen.max() - seen.min() + 1:
        return f"numbers {different} groups of rows, and a name that says so: identifiers"
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
