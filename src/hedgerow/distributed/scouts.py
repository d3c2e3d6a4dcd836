"""Scouts: a few rows drawn once, whose copies the coordinator keeps, with a guide tree over them.

They decide which splits and merges are proposed, and nothing else: which rows are scouts, the tree over them and the law of the pairs
drawn from it depend on the data and the seed, never on the partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.tables import stack_rows
from hedgerow.distributed.workers import Workers
from hedgerow.distributed.working_shard import Fetch
from hedgerow.mixture import Mixture
from hedgerow.trees import Forest, guide

__all__ = ["Known", "Pair", "Scouts", "by_shard", "choose_rows", "fetch_rows", "first_rows"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Known = tuple[FloatArray, LongArray, FloatArray]
"""Clusters as shards are told of them: packed statistics, where each begins, and log sizes."""


@dataclass(frozen=True)
class Pair:
    """Two scouts that a split must separate, or a merge bring together, and the scouts near each of them in the tree."""

    first: int
    second: int
    near_first: IntArray
    near_second: IntArray
    even: bool
    """The sides are drawn without looking at the rows."""
    carve: bool
    """The first side starts as everything that is not near the second scout."""


@dataclass(frozen=True, eq=False)
class Layout:
    """One tree over the scouts, depth first: the scouts below node v are `order[first[v] : first[v] + size[v]]`."""

    left: IntArray
    right: IntArray
    size: IntArray
    first: IntArray
    order: IntArray

    @classmethod
    def of(cls, tree: Forest) -> Layout:
        """Of a forest with a single root, whose children come before parents."""
        first = np.zeros(len(tree.left), np.int32)
        for v in range(len(tree.left) - 1, tree.n - 1, -1):
            left, right = tree.left[v], tree.right[v]
            first[left], first[right] = first[v], first[v] + tree.size[left]
        return cls(tree.left, tree.right, tree.size, first, np.argsort(first[: tree.n]).astype(np.int32))


@dataclass(frozen=True, eq=False)
class Scouts:
    """The rows by global number, their data under the likelihood, and the tree."""

    rows: LongArray
    bound: _core.Likelihood
    tree: Layout | None
    laws: tuple[FloatArray, FloatArray] | None
    """Cumulative probabilities of the inner nodes, for pairs that look at rows and for even ones."""
    clusters: IntArray
    """Labels of the scouts by the tree, cut where it says so."""

    @classmethod
    def gather(cls, model: Mixture, rows: LongArray, data: Any, seed: int) -> Scouts:
        """Scouts with their tree."""
        bound = model.bind(data)
        if len(rows) < 2:
            return cls(rows, bound, None, None, np.zeros(len(rows), np.int32))
        forest = guide(model, data, seed=seed)
        tree = Layout.of(forest)
        inner = np.arange(len(rows), len(forest.left))
        doubt = 1.0 - forest.prob_merged[inner]
        plain = np.full(len(inner), 1.0 / len(inner))
        size = tree.size.astype(float)
        pairs = size[forest.left[inner]] * size[forest.right[inner]]
        pairs /= pairs.sum()
        doubt = doubt / doubt.sum() if doubt.sum() > 0 else plain
        laws = np.cumsum(0.5 * doubt + 0.25 * plain + 0.25 * pairs), np.cumsum(0.5 * plain + 0.5 * pairs)
        clusters = forest.cut()
        if bound.n_imputed:  # once: proposals may look at any filling that does not change with the partition
            ledger = _core.Ledger(bound)
            ledger.reset(int(clusters.max()) + 1)
            ledger.fill(clusters, seed)
        return cls(rows, bound, tree, laws, clusters)

    def pack(self, labels: IntArray) -> Known:
        """Statistics and log sizes of clusters of scouts."""
        ledger = _core.Ledger(self.bound)
        ledger.reset(int(labels.max()) + 1)
        for c in range(ledger.size):
            ledger.add_rows(c, np.flatnonzero(labels == c).astype(np.int32))
        packed = ledger.pack()
        return packed["numbers"], packed["start"], np.log(np.bincount(labels))

    def draw_pairs(self, rng: np.random.Generator, count: int, even_share: float) -> list[Pair]:
        """Pairs from a law that no partition changes: a node of the tree, then a scout below each of its children."""
        if self.tree is None or self.laws is None:
            return []
        n = len(self.rows)
        draws = rng.random((count, 5))
        first, size, order = self.tree.first, self.tree.size, self.tree.order
        left, right = self.tree.left, self.tree.right
        pairs = []
        for kind, at, i, j, shape in draws.tolist():
            even = kind < even_share
            law = self.laws[int(even)]
            node = n + min(int(np.searchsorted(law, at * law[-1], side="right")), n - 2)
            near = [order[first[child] : first[child] + size[child]] for child in (left[node], right[node])]
            if shape < 0.5:
                near.reverse()
            one, other = near[0][int(i * len(near[0]))], near[1][int(j * len(near[1]))]
            pairs.append(Pair(int(one), int(other), near[0], near[1], even, 0.25 < shape < 0.75))
        return pairs


def choose_rows(n: int, count: int, seed: Sequence[int]) -> LongArray:
    """Global numbers of rows drawn without replacement, in order."""
    if count >= n:
        return np.arange(n, dtype=np.int64)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n, count, replace=False, shuffle=False)).astype(np.int64)


def first_rows(sizes: Sequence[int] | LongArray) -> LongArray:
    """The global number of the first row of every shard."""
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def by_shard(rows: LongArray, first: LongArray) -> list[IntArray]:
    """Global numbers, in order, as numbers within each shard."""
    ends = np.searchsorted(rows, first[1:])
    return [(part - start).astype(np.int32) for part, start in zip(np.split(rows, ends), first, strict=True)]


def fetch_rows(workers: Workers, rows: LongArray, first: LongArray) -> tuple[Any, list[IntArray]]:
    """Copies of rows by global number, and their numbers within each shard."""
    local = by_shard(rows, first)
    return stack_rows([answer["data"] for answer in workers.ask([Fetch(part) for part in local])]), local
