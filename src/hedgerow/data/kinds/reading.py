"""Reading: the kinds of a table's columns, with reasons, and how these and other rows become columns that a likelihood takes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hedgerow.data.frame import Frame, Series
from hedgerow.data.kinds.force import force
from hedgerow.data.kinds.guess import FEW_CODES, floats, guess, letters
from hedgerow.data.kinds.moments import TURNS
from hedgerow.data.kinds.numbers import Manner
from hedgerow.data.kinds.raw import Guess, Raw, raw_columns
from hedgerow.data.kinds.words import is_gap
from hedgerow.data.tables import FloatArray
from hedgerow.errors import ParameterError, require

__all__ = ["COS", "LEFT_OUT", "SIN", "ColumnKind", "Lost", "Reading", "is_typed", "said_of", "understand"]

OWNER = "understand"
LEFT_OUT = ("text", "id", "drop")
COS, SIN = " (cos)", " (sin)"  # ends of the names of the two columns of a circle
DAY = 86_400_000_000.0
#: Whole numbers are on a common scale, not counts, if at least half of so many columns end at the same number and
#: so large a share of their entries sits there: counts thin out towards their largest, scales do not.
LEAST_SCALED, SHARE_AT_THE_TOP, ENTRIES_TO_TELL, MOST_LEVELS = 4, 0.02, 200, 10


Lost = dict[str, tuple[int, str]]


@dataclass(frozen=True)
class ColumnKind:
    """What one column was taken for.

    Attributes
    ----------
    name : str or int
    kind : str
        number, count, category, boolean, time, cycle, text, id or drop.
    why : str
        The reason, in words.
    how : mapping
        What reading new rows needs to know.
    given : bool
        Whether the kind was said and not guessed.
    plain : bool
        Whether entries can stay as they are: used so, or passed over if the column is left out.

    >>> kind = understand([["1.5"], ["2.5"]]).columns[0]
    >>> kind.kind, kind.given
    ('number', False)
    """

    name: str | int
    kind: str
    why: str
    how: Mapping[str, Any]
    """By what new rows are read the same way: plain data."""
    given: bool = False
    """Whether the kind was said and not guessed."""
    plain: bool = False
    """Whether a likelihood can take the column as the table has it."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the columns that come of it: none if it is left out, several for moments and cycles."""
        if self.kind in LEFT_OUT:
            return ()
        if self.kind == "cycle":
            return (f"{self.name}{COS}", f"{self.name}{SIN}")
        if self.kind == "time":
            turns = tuple(f"{self.name}: {turn}{f}" for turn in self.how["turns"] for f in (COS, SIN))
            return (*((str(self.name),) if self.how["elapsed"] else ()), *turns)
        return (str(self.name),)


@dataclass(frozen=True, repr=False)
class Reading:
    """The kinds of all columns; print it to read them with their reasons.

    Attributes
    ----------
    columns : tuple of ColumnKind

    >>> rows = [["1.5", "yes"], ["2.5", "no"], ["?", "no"]]
    >>> reading = Reading.from_json(understand(rows).to_json())
    >>> [column.kind for column in reading.columns]
    ['number', 'boolean']
    >>> reading.table(rows).shape, sorted(reading.read(rows)[1])
    ((3, 2), [])
    """

    columns: tuple[ColumnKind, ...]

    @cached_property
    def plain(self) -> bool:
        """Whether likelihoods can take the table that was understood as it is: nothing but leaving columns out has to be done."""
        return all(column.plain for column in self.columns)

    def __str__(self) -> str:
        """A line for every column."""
        rows = [(str(column.name), column.kind, column.why) for column in self.columns]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {why}" for a, b, why in rows)

    __repr__ = __str__

    def table(self, X: Any) -> Frame:
        """Rows as columns of their kinds; entries that could not be read are gaps, and a warning counts them.

        X is the table that was understood, or one of new rows with the same columns, in any order if they have names.

        Parameters
        ----------
        X : table

        Returns
        -------
        Frame
        """
        frame, lost = self.read(X)
        if lost:
            warnings.warn(f"Taken for gaps: {said_of(lost, frame.shape[0])}.", stacklevel=2)
        return frame

    def read(self, X: Any) -> tuple[Frame, Lost]:
        """The same table, and of every column how many entries could not be read, with some of them.

        Parameters
        ----------
        X : table

        Returns
        -------
        Frame, and a dict from columns to how many entries were lost and which
        """
        found, names = raw_columns(X, OWNER)
        where = self._places(names, len(found))
        out: list[tuple[str, Series]] = []
        lost: Lost = {}
        for column, place in zip(self.columns, where, strict=True):
            if column.kind in LEFT_OUT:
                continue
            raw = found[place]
            out.extend(zip(column.parts, (replace(one, given=column.given) for one in _typed(raw, column)), strict=True))
            gone, shown = _lost(raw, column, out[-1][1])
            if gone:
                lost[str(column.name)] = (gone, shown)
        told = "; ".join(f"{column.name}: {column.why}" for column in self.columns)
        require(bool(out), OWNER, "X", names, f"have a column to cluster by ({told})")
        return Frame([name for name, _ in out], [series for _, series in out]), lost

    def _places(self, names: Sequence[str] | None, width: int) -> list[int]:
        """Where each column of this reading stands in a table."""
        if names is None or isinstance(self.columns[0].name, int):
            require(
                width == len(self.columns), OWNER, "X", width, f"have {len(self.columns)} columns, as the table that was understood"
            )
            return list(range(width))
        lacking = [str(c.name) for c in self.columns if c.kind not in LEFT_OUT and c.name not in names]
        if lacking:
            raise ParameterError(f"X must have the columns that were understood. It lacks {', '.join(lacking)}.")
        return [names.index(str(c.name)) if c.name in names else 0 for c in self.columns]

    def to_json(self) -> str:
        """As text, for files.

        Returns
        -------
        str
        """
        return json.dumps([[c.name, c.kind, c.why, dict(c.how), c.given] for c in self.columns])

    @classmethod
    def from_json(cls, text: str) -> Reading:
        """What `to_json` wrote; ParameterError for anything else.

        Parameters
        ----------
        text : str

        Returns
        -------
        Reading
        """
        try:
            rows = json.loads(text)
            if not isinstance(rows, list) or not rows:
                raise ValueError("It has no columns")
            columns = tuple(ColumnKind(name, str(kind), str(why), dict(how), bool(given)) for name, kind, why, how, given in rows)
        except (ValueError, TypeError, RecursionError) as error:
            raise ParameterError(f"Reading.from_json(text=...): text must be that of a reading. {error}.") from error
        return cls(columns)


def understand(X: Any, columns: Mapping[Any, str] | None = None, *, owner: str = OWNER) -> Reading:
    """Find out what the columns of a table hold, and why.

    Parameters
    ----------
    X : table
        A data frame of pandas, polars or PyArrow, a `Frame`, an array, or a list of rows; entries may be texts.
    columns : mapping, default all guessed
        From columns (names, or positions in a table without) to what they are: number, count, category, boolean, time, cycle (or
        ``cycle 24`` with its length), text, id, drop.
    owner : str
        Who asks, for the words of errors.

    Returns
    -------
    Reading
        The kind and reason of every column; ``reading.table(X)`` has the columns as likelihoods take them.

    >>> table = [["a7", "1.234,5", "2024-05-01", "yes"], ["b2", "999,0", "2024-05-09", "no"], ["c5", "5,25", "2024-07-01", "unknown"]]
    >>> understand(table, {2: "drop"})
    0  id       3 different names in 3 rows, like identifiers
    1  number   numbers with decimal commas with thousands set apart by '.'
    2  drop     as given
    3  boolean  yes or no (no, yes)
    """
    found, names = raw_columns(X, owner)
    labels: Sequence[str | int] = names if names is not None else range(len(found))
    good = columns is None or isinstance(columns, Mapping)
    require(good, owner, "columns", columns, 'be a mapping such as {"zip": "category"}, or None')
    # Names of frames are texts by now, also where they were numbers.
    given = {str(name) if name not in labels and str(name) in labels else name: kind for name, kind in (columns or {}).items()}
    for name in given:
        require(
            name in labels, owner, "columns", name, f"name columns of X, which are {', '.join(str(label) for label in labels)[:200]}"
        )
    read: list[ColumnKind] = []
    for raw, label in zip(found, labels, strict=True):
        chosen: Guess = force(raw, label, given[label]) if label in given else guess(raw, label, owner)
        read.append(ColumnKind(label, *chosen, label in given or raw.given, _is_plain(raw, chosen[0], chosen[2])))
    return Reading(tuple(_as_a_codebook(_on_a_scale(read, found), found)))


def is_typed(X: Any) -> bool:
    """Whether a table is one that `Reading.table` made."""
    return isinstance(X, Frame) and all(column.kind is not None for column in X.columns)


def said_of(lost: Lost, n: int) -> str:
    """What could not be read, in words."""
    return "; ".join(f"{name}: {count:,} of {n:,} entries{shown}" for name, (count, shown) in lost.items())


def _is_plain(raw: Raw, kind: str, how: Mapping[str, Any]) -> bool:
    """Whether a likelihood can take a column as the table has it, or go past it if it is left out."""
    if kind in LEFT_OUT:
        return raw.form in ("numbers", "truths") or (raw.form == "texts" and raw.exact)
    if how["read"] == "levels":
        return raw.form == "texts" and raw.exact and not how["rest"] and set(raw.texts) <= set(how["levels"])
    return (
        how["read"] == "as is"
        and raw.form in ("numbers", "truths")
        and kind not in ("cycle", "time")
        and not {"pair", "gaps"} & set(how)
    )


def _typed(raw: Raw, column: ColumnKind) -> list[Series]:
    """The columns that come of one, as a likelihood takes them."""
    how, kind = column.how, column.kind
    if how["read"] == "levels":
        return [Series(*_levels(raw, how), declared=True, kind=kind, why=column.why)]
    values = floats(raw, how)
    if kind == "cycle":
        return _circle(values / how["period"], column.why)
    if kind == "time":
        elapsed = [Series((values - how["first"]) / DAY, kind="number", why=column.why)] if how["elapsed"] else []
        return [*elapsed, *(series for word in how["turns"] for series in _circle(values / TURNS[word], column.why))]
    if "pair" in how:
        values = np.where(values == how["pair"][1], 1.0, np.where(values == how["pair"][0], 0.0, np.nan))
    return [Series(values, kind=kind, why=column.why)]


def _circle(turns: FloatArray, why: str) -> list[Series]:
    angle = 2 * np.pi * turns
    return [Series(np.cos(angle), kind="number", why=why), Series(np.sin(angle), kind="number", why=why)]


def _levels(raw: Raw, how: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Places in the levels, -1 for a gap; what is no level is the rest of them, if they have one."""
    levels = [*how["levels"], *(["other"] if how["rest"] and "other" not in how["levels"] else [])]
    key = letters if "spelled" in how else str
    index = {key(text): place for place, text in enumerate(levels)}
    rest = index["other"] if how["rest"] else -1
    if raw.form == "texts":
        places = [-1 if is_gap(text) and key(text) not in index else index.get(key(text), rest) for text in raw.texts]
        return np.array([*places, -1], dtype=np.int32)[raw.values], levels
    plain = [None if value != value else str(int(value)) if float(value).is_integer() else repr(float(value)) for value in raw.values]
    return np.array([-1 if text is None else index.get(text, rest) for text in plain], dtype=np.int32), levels


def _lost(raw: Raw, column: ColumnKind, series: Series) -> tuple[int, str]:
    """How many entries stand for something and could not be read, but for those that the reasons tell of already; and some of them."""
    gone = series.values < 0 if series.texts is not None else np.isnan(series.values)
    if raw.form != "texts":
        was = np.isnan(raw.values) if raw.form != "unreadable" else np.zeros(len(raw.values), bool)
        return int((gone & ~was & ~np.isin(raw.values, column.how.get("gaps", ()))).sum()), ""
    counts = np.bincount(raw.values[gone & (raw.values >= 0)], minlength=len(raw.texts))
    among = column.how["read"] != "levels"
    nines = set(column.how.get("gaps", ()))
    said = [(nines and Manner().read(text) in nines) or is_gap(text, among) or repr(text) in column.why for text in raw.texts]
    strange = [p for p in range(len(raw.texts)) if counts[p] and not said[p]]
    shown = ", ".join(repr(raw.texts[p]) for p in strange[:3]) + (", ..." if len(strange) > 3 else "")
    return int(counts[strange].sum()), f" ({shown})"


def _as_a_codebook(read: list[ColumnKind], found: list[Raw]) -> list[ColumnKind]:
    """Counts of few different numbers become codes in a table where most such columns are codes."""
    guessed = [(c, raw) for c, raw in zip(read, found, strict=True) if _guessed(c, raw)]
    few = {c.name for c, raw in guessed if c.kind == "count" and _different(raw, c) <= FEW_CODES}
    codes = [c for c in read if c.kind == "category" and c.how["read"] != "levels"]
    if len(codes) < LEAST_SCALED or len(codes) < len(few):
        return read
    why = f"few different whole numbers in a table with {len(codes)} columns of codes: taken for codes too"
    return [replace(c, kind="category", why=why) if c.name in few else c for c in read]


def _guessed(column: ColumnKind, raw: Raw) -> bool:
    """Whether its kind was neither said nor found out before."""
    return not column.given and raw.kind is None


def _different(raw: Raw, column: ColumnKind) -> int:
    values = floats(raw, column.how)
    return len(np.unique(values[~np.isnan(values)]))


def _on_a_scale(read: list[ColumnKind], found: list[Raw]) -> list[ColumnKind]:
    """Counts become ratings or measurements where columns share the number at which they end, and crowd there."""
    whole = []
    for column, raw in zip(read, found, strict=True):
        if column.kind in ("count", "category", "number") and column.how["read"] in ("as is", "numbers") and _guessed(column, raw):
            seen = floats(raw, column.how)
            seen = seen[~np.isnan(seen)]
            if raw.levels is None and len(seen) and (seen >= 0).all() and (seen == np.floor(seen)).all():
                whole.append(seen)
    if len(whole) < LEAST_SCALED:
        return read
    highest = np.array([seen.max() for seen in whole])
    top, entries = float(highest.max()), np.concatenate(whole)
    crowded = len(entries) >= ENTRIES_TO_TELL and float((entries == top).mean()) >= SHARE_AT_THE_TOP
    if not (top > 2 and float((highest == top).mean()) >= 0.5 and crowded):
        return read
    scale = f"whole numbers on a scale up to {top:g} that columns share"
    to = (
        ("category", f"{scale}: taken for codes or ratings")
        if top < MOST_LEVELS
        else ("number", f"measurements ({scale}, like pixels or scores)")
    )
    return [
        replace(c, kind=to[0], why=to[1]) if c.kind == "count" and _guessed(c, raw) else c for c, raw in zip(read, found, strict=True)
    ]
