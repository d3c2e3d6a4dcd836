"""The words that tell a branch or a cluster from the rest of the corpus."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from hedgerow.report.payload import CountsPart

__all__ = ["node_words", "top_words"]

WORDS = 10


def top_words(counts: CountsPart, labels: NDArray[np.int64], most: int = WORDS) -> list[list[str]]:
    """The most telling words of every cluster."""
    matrix = _matrix(counts)
    k = int(labels.max()) + 1
    member = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(k, len(labels)))
    sums = sparse.csr_array(member @ matrix)
    overall = _shares(np.asarray(matrix.sum(axis=0)).ravel())
    return [[str(counts.words[w]) for w in _telling(np.asarray(sums[[c]].todense()).ravel(), overall, most)] for c in range(k)]


def node_words(
    counts: CountsPart, spans: tuple[Any, Any, Any, Any] | None, most: int = WORDS
) -> tuple[list[str], NDArray[np.int64] | None]:
    """The words in use, and for every node of a preorder forest its telling ones as places in that list.

    `spans` are (order, start, stop, right) of the forest; -1 fills rows with fewer words. Sums run up the
    tree, so that a node costs one addition of its children.
    """
    if spans is None:
        return [], None
    order, start, stop, right = spans
    matrix = _matrix(counts)
    overall = _shares(np.asarray(matrix.sum(axis=0)).ravel())
    sums: dict[int, NDArray[np.float64]] = {}
    table = np.full((len(start), most), -1, dtype=np.int64)
    for node in range(len(start) - 1, -1, -1):
        if right[node] > 0:
            sums[node] = sums.pop(node + 1) + sums.pop(int(right[node]))
        else:
            rows = matrix[order[start[node] : stop[node]]]
            sums[node] = np.asarray(rows.sum(axis=0), dtype=np.float64).ravel()
        chosen = _telling(sums[node], overall, most)
        table[node, : len(chosen)] = chosen
    used, places = np.unique(table, return_inverse=True)
    table = places.reshape(table.shape) - (1 if used[0] < 0 else 0)
    return [str(counts.words[w]) for w in used if w >= 0], table


def _telling(sums: ArrayLike, overall: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Words by p log(p/q): more frequent here than overall; of the whole corpus, the most frequent."""
    share = _shares(np.asarray(sums, dtype=np.float64))
    seen = np.flatnonzero(share > overall)
    if not len(seen):
        return np.argsort(-share, kind="stable")[: min(most, int(np.count_nonzero(share)))]
    score = share[seen] * np.log(share[seen] / overall[seen])
    return seen[np.argsort(-score, kind="stable")[:most]]


def _shares(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    total = float(sums.sum())
    return sums / total if total > 0 else np.zeros_like(sums)


def _matrix(counts: CountsPart) -> Any:
    indptr = np.asarray(counts.indptr, dtype=np.int64)
    parts = (np.asarray(counts.counts, dtype=np.float64), np.asarray(counts.indices, dtype=np.int64), indptr)
    return sparse.csr_array(parts, shape=(len(indptr) - 1, len(counts.words)))
