"""sample_weight: how many times each row was observed.

A whole number w stands for w rows that are equal, 0 for a row left out: fitting X with weights is fitting X with its rows
repeated, to the bit. That has a meaning under every prior and likelihood. A share of a row has none: a likelihood raised to a
power is no law of data, and a partition of n rows has no place for half a row. So other weights are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.data.tables import take_rows
from hedgerow.errors import ParameterError, require

__all__ = ["fold_labels", "fold_means", "read_repeats", "repeat_times", "spread_connectivity"]

LongArray = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
MOST_ROWS = 2**31 - 1


def read_repeats(sample_weight: Any, n: int, owner: str) -> LongArray | None:
    """The row of X behind each row to fit; None where every row counts once."""
    if sample_weight is None:
        return None
    name = "sample_weight"
    weights = np.asarray(sample_weight)
    require(weights.dtype.kind in "biuf", owner, name, sample_weight, "be numbers, one for each row")
    require(weights.shape == (n,), owner, name, sample_weight, f"have one entry for each of the {n} rows")
    with np.errstate(invalid="ignore"):
        fine = (weights >= 0) & (weights == np.floor(weights)) & (weights <= MOST_ROWS)
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        wanted = "be a whole number from 0 up, how many times the row was observed: a share of a row has no likelihood"
        require(False, owner, f"{name}[{row}]", weights[row].item(), wanted)
    counts = weights.astype(np.int64)
    total = int(counts.sum())
    if total == 0:
        raise ParameterError(f"{owner}(sample_weight=...): sample_weight must leave a row to fit. Every entry is zero.")
    require(total <= MOST_ROWS, owner, name, sample_weight, f"add up to at most {MOST_ROWS:,} rows")
    return None if (counts == 1).all() else np.repeat(np.arange(n), counts)


def repeat_times(times: Any, rows: LongArray | None, n: int, owner: str) -> Any:
    """The times of repeated rows."""
    if times is None or rows is None:
        return times
    require(len(times) == n, owner, "times", times, f"have one entry for each of the {n} rows")
    return take_rows(times, rows)


def spread_connectivity(connectivity: Any, rows: LongArray | None) -> Any:
    """Which rows touch, for repeated rows: those of equal rows, and those whose rows touch."""
    if connectivity is None or rows is None or np.shape(connectivity)[:1] != np.shape(connectivity)[1:]:
        return connectivity  # one that is not square is refused, with words, where it is read
    whole = sparse.csr_array(connectivity, copy=True)
    touching = sparse.csr_array(whole + sparse.eye_array(whole.shape[0], format="csr"))
    return touching[rows][:, rows]


def fold_labels(labels: Labels, rows: LongArray | None, n: int) -> Labels:
    """The cluster of every row of X from those of the repeated rows: the one with most of its copies; -1 for rows left out."""
    if rows is None:
        return labels
    k = int(labels.max()) + 1
    places, counts = np.unique(rows * k + labels, return_counts=True)
    order = np.lexsort((places % k, -counts, places // k))  # of one row, most copies first; of equals, the lower number
    kept, first = np.unique(places[order] // k, return_index=True)
    found = np.full(n, -1, dtype=np.int32)
    found[kept] = (places[order] % k)[first]
    return found


def fold_means(values: FloatArray, labels: Labels, folded: Labels, rows: LongArray | None) -> FloatArray:
    """For every row of X the mean value of its copies in its cluster; 0 for rows left out."""
    if rows is None:
        return values
    own = labels == folded[rows]
    sums = np.bincount(rows[own], weights=values[own], minlength=len(folded))
    copies = np.bincount(rows[own], minlength=len(folded))
    return np.asarray(sums / np.maximum(copies, 1))
