"""A column read as somebody says it is: the same reading as a guess makes, or an error if its entries are nothing of the kind."""

from __future__ import annotations

import re

import numpy as np

from hedgerow.data.kinds.compound import find_compound
from hedgerow.data.kinds.dates import DAY, YEAR, Order, epoch_unit, find_order, plain_letters, read_span
from hedgerow.data.kinds.guess import AS_IS, floats, levels_of
from hedgerow.data.kinds.moments import CYCLES, NAMED, TURNS
from hedgerow.data.kinds.numbers import Manner, find_manner
from hedgerow.data.kinds.raw import Guess, Raw
from hedgerow.data.kinds.words import FALSE, TRUE, hints
from hedgerow.errors import ParameterError, require

__all__ = ["KINDS", "force"]

KINDS = ("number", "count", "category", "boolean", "time", "cycle", "text", "id", "drop")
_PERIODS = (1.0, 7.0, 12.0, 24.0, 31.0, 60.0, 100.0, 360.0, 366.0)
GIVEN = "as given"


def force(raw: Raw, name: str | int, said: str) -> Guess:
    """How a column is read as the kind that was said."""
    word, _, length = re.sub(r"[\s:(]+", " ", str(said).strip().lower()).rstrip(")").partition(" ")
    require(word in KINDS, "columns", str(name), said, f"be one of {', '.join(KINDS)}")
    if word in ("text", "id", "drop"):
        how = {"read": "levels", "levels": [], "rest": False} if raw.form == "texts" else AS_IS
        return word, GIVEN, how
    require(raw.form != "unreadable", "columns", str(name), said, f"be drop: the column has {raw.why}")
    if word == "category":
        return _category(raw, name)
    if word == "boolean":
        return _boolean(raw, name)
    if word == "time":
        return _time(raw, name)
    return _number(raw, name, word, length)


def _refuse(name: str | int, kind: str, wanted: str, got: str) -> ParameterError:
    return ParameterError(f"columns({name!r}: {kind!r}): the column must {wanted}. Got {got}.")


def _category(raw: Raw, name: str | int) -> Guess:
    if raw.form == "texts":
        levels = list(raw.levels) if raw.levels is not None else levels_of(raw)[0]
        return "category", f"{GIVEN}, {len(levels)} different ones", {"read": "levels", "levels": levels, "rest": False}
    seen = np.unique(raw.values[~np.isnan(raw.values)])
    if (seen == np.floor(seen)).all() and (np.abs(seen) <= 2.0**53).all():
        return "category", f"{GIVEN}, {len(seen)} different ones", AS_IS
    return (
        "category",
        f"{GIVEN}, {len(seen)} different ones",
        {"read": "levels", "levels": [repr(float(x)) for x in seen], "rest": False},
    )


def _boolean(raw: Raw, name: str | int) -> Guess:
    if raw.form != "texts":
        seen = np.unique(raw.values[~np.isnan(raw.values)])
        if len(seen) != 2:
            raise _refuse(name, "boolean", "have two different entries", str(len(seen)))
        return "boolean", f"{GIVEN}: {seen[1]:g} is yes", {**AS_IS, "pair": seen.tolist()}
    texts = levels_of(raw)[0]
    small = {text.lower() for text in texts}
    yes, no = small & TRUE, small & FALSE
    if small - yes - no:
        if len(small) != 2:
            raise _refuse(name, "boolean", "have two different entries", str(len(small)))
        yes, no = {max(small)}, {min(small)}
    return "boolean", f"{GIVEN}: {', '.join(sorted(yes))} is yes", {"read": "truths", "true": sorted(yes), "false": sorted(no)}


def _time(raw: Raw, name: str | int) -> Guess:
    how: dict[str, object] = {"read": "moments"}
    if raw.form == "texts":
        texts, counts = levels_of(raw)
        found = find_order(texts, counts.tolist())
        circle = _circle_of(found, texts)
        if circle is not None:
            return circle
        how["day first"] = found[1] if found is not None else False
        if found is None and find_manner(texts, counts.tolist()) is not None:
            how = {"read": "moments", "unit": 1.0}
            seen = floats(raw, how) / 1e6
            seen = seen[~np.isnan(seen)]
            how["unit"] = (epoch_unit(seen, named=True) if len(seen) else None) or 1.0
    elif raw.form == "numbers":
        seen = raw.values[~np.isnan(raw.values)]
        how["unit"] = (epoch_unit(seen, named=True) if len(seen) else None) or 1.0
    values = floats(raw, how)
    seen = values[~np.isnan(values)]
    if not len(seen):
        raise _refuse(name, "time", "hold dates, times or seconds since 1970", "none that can be read")
    span = float(np.ptp(seen))
    turns = [word for word, turn in TURNS.items() if span >= 2 * turn and (word != "hour" or (seen % DAY != seen[0] % DAY).any())]
    return (
        "time",
        f"{GIVEN}: {', '.join(['days since the first', *turns])}",
        {**how, "first": float(seen.min()), "elapsed": True, "turns": turns},
    )


def _circle_of(order: tuple[str, Order] | None, texts: list[str]) -> Guess | None:
    """Times of day, days without a year and names of months and weekdays as points on a circle; None for other texts."""
    if order is not None and order[0] == "clock":
        return "cycle", f"{GIVEN}: times of day, points on a circle", {"read": "clock", "period": float(DAY)}
    if order is not None and order[0] == "yearless":
        return "cycle", f"{GIVEN}: days without a year, points on a circle", {"read": "yearless", "period": YEAR}
    named = next((what for what, names in NAMED.items() if {plain_letters(text) for text in texts} <= set(names)), None)
    if named is None:
        return None
    how = {"read": "named", "names": named, "period": float(max(NAMED[named].values()))}
    return "cycle", f"{GIVEN}: names of {named}s, points on a circle", how


def _number(raw: Raw, name: str | int, word: str, length: str) -> Guess:
    how: dict[str, object] = dict(AS_IS)
    if raw.form == "texts":
        texts, counts = levels_of(raw)
        found = find_manner(texts, counts.tolist())
        manner = found[0] if found is not None else Manner()
        order = find_order(texts, counts.tolist()) if found is None else None
        circle = _circle_of(order, texts) if word == "cycle" else None
        if circle is not None:
            return circle
        if word == "number" and order is not None and order[0] in ("clock", "spans"):
            read = "spans" if all(read_span(text) is not None for text in texts) else order[0]
            return "number", f"{GIVEN}: seconds", {"read": read, "scale": 1e-6}
        parts = find_compound(texts, counts.tolist()) if found is None and word == "number" else None
        if parts is not None:
            return "number", f"{GIVEN}: {parts[1]}", {"read": parts[0]}
        how = {
            "read": "numbers",
            "decimal": manner.decimal,
            "thousands": manner.thousands,
            "unit": manner.unit,
            "scaled": manner.scaled,
        }
    values = floats(raw, how)
    seen = values[np.isfinite(values)]
    if not len(seen):
        raise _refuse(name, word, "hold numbers", "none that can be read")
    if word != "cycle":
        return word, GIVEN, how
    period = _period(name, seen, length)
    return "cycle", f"{GIVEN}: points on a circle of {period:g}", {**how, "period": period}


def _period(name: str | int, seen: np.ndarray, length: str) -> float:
    """The length of a cycle: as said, as the name says, else the shortest usual one that holds all entries."""
    if length:
        try:
            period = float(length)
        except ValueError:
            period = 0.0
        require(period > 0, "columns", str(name), f"cycle {length}", "have a length above 0, as in cycle 24")
        return period
    for word in sorted(hints(name) & set(CYCLES)):
        return CYCLES[word][0]
    fitting = [period for period in _PERIODS if seen.max() <= period]
    require(bool(fitting) and float(seen.min()) >= 0, "columns", str(name), "cycle", "say its length, as in cycle 500")
    return fitting[0]
