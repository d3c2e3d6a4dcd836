"""Copies of rows: equal rows that are no accident count once.

Under a density two rows are never equal. Where measurements are rounded, equal rows are an accident, and are moved to where in their
intervals they may have been (`hedgerow.likelihoods.preparation`). Where a table was drawn with replacement, or pasted together from
parts that overlap, they are copies: one observation written down several times. A bell curve round each such heap has any density one
likes, so copies taken for observations are found as clusters of their own.

Accidents give themselves away: rows that agree in all columns but one are then far commoner than rows that agree in all. So equal rows
of a table with at least two columns of measurements are one row for the model where

* the copies outnumber those different rows that agree with another in all columns but one, and these are at most half;
* they are no answer of its own, as rows of a sensor that is off: a twentieth of all rows and ten times as many as others (the rule
  for spikes in a column);
* they are at least a hundredth of all rows together: fewer are an accident, or change nothing.

Each copy belongs where its row belongs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.data.copies import Copies
from hedgerow.data.kinds import LEFT_OUT, Reading
from hedgerow.data.mixed import read_columns
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.preparation import row_words

__all__ = ["copies"]

LEAST_SHARE, MOST_NEAR, LEAST_MEASURED = 0.01, 0.5, 2
ANSWER_SHARE, ANSWER_TIMES, LEAST_ANSWER = 0.05, 10, 3


def copies(table: Any, reading: Reading | None) -> Copies | None:
    """The copies in a table that was read; None if there are none to speak of.

    Parameters
    ----------
    table : table
        As the likelihood takes it.
    reading : Reading or None
        How its columns were understood.

    Returns
    -------
    Copies or None
    """
    if reading is None or sparse.issparse(table):
        return None
    columns, found = read_columns(table, "propose")
    places = {name: place for place, name in enumerate(found or ())}
    used: list[FloatArray] = []
    measured = 0
    for column in reading.columns:
        if column.kind in LEFT_OUT:
            continue
        for name in (column.name,) if reading.plain else column.parts:
            if column.kind in ("number", "time"):
                measured += 1
            used.append(columns[int(name) if found is None else places[str(name)]].values)
    if measured < LEAST_MEASURED:
        return None
    return _copies(np.column_stack(used))


def _copies(rows: FloatArray) -> Copies | None:
    n, d = rows.shape
    # A word for every entry, and their sum for the row: all columns but one are then told by a difference.
    salts: npt.NDArray[np.uint64] = np.asarray(np.random.default_rng(0).integers(0, 2**63, size=d), dtype=np.uint64)
    salts = 2 * salts + 1  # odd
    words: list[npt.NDArray[np.uint64]] = [np.multiply(row_words(np.ascontiguousarray(rows[:, [j]])), salts[j]) for j in range(d)]
    whole = np.sum(words, axis=0, dtype=np.uint64)
    _, first, inverse, counts = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    different = len(first)
    if n - different < max(LEAST_SHARE * n, 1):
        return None
    near = np.zeros(different, dtype=bool)
    for j in range(d):
        _, alike, times = np.unique((whole - words[j])[first], return_inverse=True, return_counts=True)
        near |= times[alike] > 1
    if near.sum() > MOST_NEAR * different:
        return None
    answers = (counts >= max(ANSWER_SHARE * n, LEAST_ANSWER)) & (counts >= ANSWER_TIMES * np.median(counts))
    kept, place = np.unique(np.where(answers[inverse], np.arange(n), first[inverse]), return_inverse=True)
    return Copies(kept, place) if n - len(kept) >= max(LEAST_SHARE * n, near.sum() + 1) else None
