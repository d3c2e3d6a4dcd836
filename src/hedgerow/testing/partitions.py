"""All partitions of a small set, in order, with lookup: the ground on which exact posteriors stand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.arguments import check_whole
from hedgerow.errors import require

__all__ = ["enumerate_partitions", "partition_index", "partition_log_likelihoods", "size_types"]

Labels = NDArray[np.int32]
Floats = NDArray[np.float64]

LARGEST = 11
"""678,570 partitions; 12 points would have 4.2 million."""


def enumerate_partitions(n: int) -> Labels:
    """Every partition of n points as canonical labels, in lexicographic order: shape (Bell(n), n).

    Parameters
    ----------
    n : int
        From 1 to 11.

    Returns
    -------
    (Bell(n), n) int32

    >>> enumerate_partitions(3).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    check_whole("enumerate_partitions", "n", n, 1, LARGEST)
    rows: Labels = np.zeros((1, 1), dtype=np.int32)
    for _ in range(n - 1):
        choices = rows.max(axis=1) + 2
        ends = np.cumsum(choices)
        last = np.arange(ends[-1]) - np.repeat(ends - choices, choices)
        rows = np.column_stack([np.repeat(rows, choices, axis=0), last.astype(np.int32)])
    return np.ascontiguousarray(rows)


def partition_index(partitions: Labels, labels: ArrayLike) -> NDArray[np.intp]:
    """Where each canonical labelling (rows) stands in the output of `enumerate_partitions`."""
    n = partitions.shape[1]
    powers = np.int64(n) ** np.arange(n - 1, -1, -1, dtype=np.int64)
    codes = partitions.astype(np.int64) @ powers
    wanted = np.atleast_2d(np.asarray(labels)).astype(np.int64) @ powers
    index = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    require(bool(np.all(codes[index] == wanted)), "partition_index", "labels", labels, "be canonical labels")
    return index


def size_types(partitions: Labels) -> tuple[list[NDArray[np.int64]], NDArray[np.intp]]:
    """The distinct multisets of cluster sizes, largest first, and which of them each partition has."""
    n = partitions.shape[1]
    sizes = np.stack([(partitions == k).sum(axis=1) for k in range(n)], axis=1)
    types, which = np.unique(-np.sort(-sizes, axis=1), axis=0, return_inverse=True)
    return [row[row > 0].astype(np.int64) for row in types], which.ravel()


def partition_log_likelihoods(likelihood: Any, X: Any, partitions: Labels) -> Floats:
    """Σ_c log p(X_c) for every partition, from one table of the marginals of all subsets.

    `likelihood` is resolved, or a resolved model; its `bind(X)` must have `log_marginals(labels)`, as every house likelihood does.
    """
    n = partitions.shape[1]
    table = subset_log_marginals(likelihood, X)
    require(len(table) == 2**n, "partition_log_likelihoods", "X", X, f"have {n} rows")
    bits = np.int64(1) << np.arange(n, dtype=np.int64)
    total = np.zeros(len(partitions))
    for k in range(n):
        total += table[(partitions == k) @ bits]
    return total


def subset_log_marginals(likelihood: Any, X: Any) -> Floats:
    """log p(X_c) for every subset c of the rows, indexed by its bits (row i is bit i); 0 for the empty
    set.

    Where missing entries would be filled in, from the likelihood's reference, which integrates over them.
    """
    bound = likelihood.bind(X)
    n = int(bound.n_rows)
    table = np.zeros(2**n)
    if getattr(bound, "n_imputed", 0) > 0:
        family = getattr(likelihood, "likelihood", likelihood)
        rows = family.check(X)
        for inside in range(1, 2**n):
            table[inside] = family.reference(rows[(inside >> np.arange(n)) & 1 == 1], bound.power)
        return table
    everything = 2**n - 1
    table[everything] = bound.log_marginals(np.zeros(n, dtype=np.int32))[0]
    for inside in range(1, 2 ** (n - 1)):
        labels = ((inside >> np.arange(n)) & 1).astype(np.int32)
        table[everything ^ inside], table[inside] = bound.log_marginals(labels)
    return table
