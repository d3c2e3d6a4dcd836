"""Kinds of columns: any table in, out come typed columns with the kind of each and the reason for it.

    reading = understand(X, columns={"zip": "category"})    # every column: kind, reason, how it is read
    table = reading.table(X)                                # a Frame of typed columns
    table = reading.table(new)                              # other rows, read the same way

What a likelihood has to know:

- Every column of ``reading.table(X)`` has a ``kind``: ``number``, ``count``, ``category`` or ``boolean``, and a ``why``. Moments
  and cycles have become numbers, several to a column; identifiers, sentences and what was dropped are gone.
- ``number``, ``count`` and ``boolean`` are float64 with NaN for a gap; ``boolean`` is 0 and 1. ``category`` is texts that rows point
  at, with their levels declared, or float64 where the levels are whole numbers.
- ``understand`` of such a table finds the same kinds again, so it may be handed to anybody who guesses.
- ``reading.columns`` has a `ColumnKind` for every column of X, those left out too; ``parts`` names the columns that came of it.
- ``reading.plain`` says that likelihoods can take X as it is, its columns by their own names or positions.
- A reading is plain data (``to_json``, ``from_json``), so that a file of new rows is read years later as the first one was.

The rules are those of `guess`; ``columns=`` overrides each in one word (`KINDS`).
"""

from __future__ import annotations

from hedgerow.data.kinds.force import KINDS
from hedgerow.data.kinds.reading import COS, LEFT_OUT, SIN, ColumnKind, Lost, Reading, is_typed, said_of, understand

__all__ = ["COS", "KINDS", "LEFT_OUT", "SIN", "ColumnKind", "Lost", "Reading", "is_typed", "said_of", "understand"]
