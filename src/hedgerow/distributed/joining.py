"""Joining: trees of shards, and the trees over their roots that put them together.

What travels is a root's size, statistics and log φ_t; the joined trees have φ_t(c) = φ_h(c) + φ_t(l)·φ_t(r) as always. Shards are
joined two by two, neighbours first: a fixed tree of reductions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import core_seed
from hedgerow.distributed.working_shard import Command, WorkingShard
from hedgerow.mixture import Mixture
from hedgerow.priors import Prior
from hedgerow.priors.state import Values, numbers, packed
from hedgerow.trees.forest import NODES, Forest

__all__ = ["Grow", "Joiner", "Sprout"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Planting(Command):
    """Trees over rows of a shard, by the values that all shards share."""

    seed: int
    values: Mapping[str, float]

    def planted(self, shard: WorkingShard, bound: _core.Likelihood, prior: Prior) -> _core.TreeBuilder:
        """A builder without trees yet."""
        return _core.TreeBuilder(bound, prior.to_core(), None, None, None, self.seed, shard.source.number)


@dataclass(frozen=True, eq=False, kw_only=True)
class Grow(Planting):
    """One pass over the rows of a shard: its trees from nothing, or every row out and in again."""

    prior: Prior
    repair: str

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with sizes, packed statistics and slacks log φ_t - log φ_h of the roots, and the log density of what it filled in."""
        fresh = shard.trees is None
        if fresh:
            shard.trees = self.planted(shard, shard.bound, self.prior)
        shard.trees.set_state(packed(self.values))
        if fresh:
            shard.trees.ibhc(self.repair)
        else:
            shard.trees.revise(self.repair)
        shard.rows, answer = _roots(shard.trees, shard.core)
        measure = _core.Measure(self.prior.to_core(), shard.core.n_rows)
        measure.set_state(packed(self.values))
        return answer | {"filled": measure.log_front() - shard.trees.log_front()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Sprout(Planting):
    """Trees over some of the rows, for a first look at the clusters; the shard stays as it is."""

    model: Mixture
    rows: IntArray
    changes: ClassVar[bool] = False

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers as `Grow` does."""
        if len(self.rows) == 0:
            return {"count": np.zeros(0, np.int64), "start": np.zeros(1, np.int64), "numbers": np.zeros(0), "slack": np.zeros(0)}
        bound = self.model.bind(shard.data[self.rows])
        trees = self.planted(shard, bound, self.model.prior)
        trees.set_state(packed(self.values))
        trees.ibhc("reinsert")
        return _roots(trees, _core.Shard(bound, 0, 0))[1]


def _roots(trees: _core.TreeBuilder, shard: _core.Shard) -> tuple[IntArray, dict[str, Any]]:
    """The root that each row is under; sizes, packed statistics and slacks of the roots."""
    arrays = trees.arrays()
    forest = Forest(**{name: arrays[name] for name in NODES})
    roots, rows = forest.roots, forest.labels
    shard.set_fillings(trees.fillings())
    shard.set_labels(rows)
    return rows, shard.tally(len(roots)) | {"slack": forest.log_phi_t[roots] - forest.log_phi_h[roots]}


class Joiner:
    """The measure that all shards share, and the trees over their roots."""

    def __init__(self, model: Mixture, data: Any, n: int, u: float | None, seed: int) -> None:
        self.best = -np.inf
        self._measure = _core.Measure(model.prior.to_core(), n)
        self._ledger = _core.Ledger(model.bind(data))
        self._seed = seed
        self._move_u = u is None and not model.prior.factorizes
        self._laws = bool(model.prior.laws())
        self._filled = 0.0
        if u is not None:
            self.adopt(self.values() | {"log_u": float(np.log(u))})
        elif self._move_u:
            self._measure.first_guess(self._word(0))

    def values(self) -> dict[str, float]:
        """u and the hyper-parameters as all shards are to use them."""
        return numbers(self._measure.state())

    def adopt(self, values: Mapping[str, float]) -> None:
        """Take values from elsewhere."""
        self._measure.set_state(packed(values))

    def resample(self, forest: Forest, number: int) -> None:
        """Draw u and the hyper-parameters given the roots."""
        if self._move_u or self._laws:
            self._measure.update(forest.size[forest.roots].astype(np.int64), self._word(number), self._move_u, self._laws)

    def log_joint(self, forest: Forest) -> float:
        """Log joint of the roots, with u and α integrated out where the prior can."""
        roots = forest.roots
        sizes = forest.size[roots].astype(np.int64)
        log_p = forest.log_phi_h[roots] - self._measure.log_kappa(sizes)
        return float(self._measure.log_partition(sizes)) + float(log_p.sum()) - self._filled

    def join(self, grown: Sequence[Mapping[str, Any]]) -> Forest:
        """One forest over the roots of all shards, neighbours joined first."""
        self._filled = sum(float(answer.get("filled", 0.0)) for answer in grown)
        counts = [len(answer["slack"]) for answer in grown]
        leaves = sum(counts)
        trees = _Trees(self._measure, self._ledger, leaves)
        groups: list[list[int]] = []
        at = 0
        for answer, count in zip(grown, counts, strict=True):
            groups.append(list(range(at, at + count)))
            self._ledger.fold(answer["numbers"], answer["start"], np.arange(at, at + count, dtype=np.int32))
            trees.size[at : at + count] = answer["count"]
            at += count
        trees.plant(np.concatenate([answer["slack"] for answer in grown]))
        while len(groups) > 1:
            pairs = [groups[i : i + 2] for i in range(0, len(groups), 2)]
            groups = [trees.join(pair[0] + pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
        used = trees.used
        parts = {name: getattr(trees, name)[:used] for name in NODES}
        return Forest(**parts, log_front=float(self._measure.log_front()) - self._filled, values=Values(self.values()))

    def clusters(self, forest: Forest) -> tuple[FloatArray, LongArray, FloatArray]:
        """Statistics and log sizes of the roots of the forest joined last."""
        packed, roots = self._ledger.pack(), forest.roots
        start = packed["start"]
        parts = [packed["numbers"][start[root] : start[root + 1]] for root in roots]
        ends = np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)
        return np.concatenate(parts), ends, np.log(forest.size[roots])

    def _word(self, number: int) -> int:
        return core_seed([self._seed, number])


class _Trees:
    """Trees while they grow, as the arrays of a `Forest` with room for all nodes."""

    def __init__(self, measure: _core.Measure, ledger: _core.Ledger, leaves: int) -> None:
        self._measure, self._ledger = measure, ledger
        ledger.reset(2 * leaves)
        self.used = leaves
        self.left, self.right, self.parent = (np.full(2 * leaves, -1, np.int32) for _ in range(3))
        self.size = np.zeros(2 * leaves, np.int64)
        self.log_phi_h, self.log_phi_t = np.zeros(2 * leaves), np.zeros(2 * leaves)
        self.log_d = np.full(2 * leaves, -np.inf)

    def plant(self, slack: FloatArray) -> None:
        """Potentials of the leaves."""
        n = self.used
        self.log_phi_h[:n] = self._measure.log_kappa(self.size[:n]) + self._ledger.log_marginals()[:n]
        self.log_phi_t[:n] = self.log_phi_h[:n] + slack

    def join(self, roots: Sequence[int]) -> list[int]:
        """Bayesian hierarchical clustering of these roots: the pair of least d joined while that is below 1; what is left."""
        alive = list(roots)
        table = np.full((len(alive), len(alive)), np.inf)
        for i in range(1, len(alive)):
            table[i, :i] = self._distances(alive[i], alive[:i])[0]
        while len(alive) > 1:
            at = int(np.argmin(table))
            i, j = divmod(at, len(alive))
            if not table[i, j] < 0.0:
                break
            node = self._merge(alive[i], alive[j])
            keep = [k for k in range(len(alive)) if k not in (i, j)]
            alive = [alive[k] for k in keep]
            small = table[np.ix_(keep, keep)]
            table = np.full((len(alive) + 1, len(alive) + 1), np.inf)
            table[:-1, :-1] = small
            if alive:
                table[-1, :-1] = self._distances(node, alive)[0]
            alive.append(node)
        return alive

    def _distances(self, node: int, others: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """log d of a node with each of the others, and log φ_h of what they would be together."""
        index = np.array(others, np.int32)
        together = self._measure.log_kappa(self.size[index] + self.size[node]) + self._ledger.log_merged(node, index)
        return self.log_phi_t[node] + self.log_phi_t[index] - together, together

    def _merge(self, a: int, b: int) -> int:
        node, self.used = self.used, self.used + 1
        a, b = min(a, b), max(a, b)
        self._ledger.load(node, self._ledger, a)
        self._ledger.merge(node, b)
        self.left[node], self.right[node] = a, b
        self.parent[[a, b]] = node
        self.size[node] = self.size[a] + self.size[b]
        self.log_phi_h[node] = self._measure.log_kappa(self.size[[node]])[0] + self._ledger.log_marginals()[node]
        apart = self.log_phi_t[a] + self.log_phi_t[b]
        self.log_phi_t[node] = np.logaddexp(self.log_phi_h[node], apart)
        self.log_d[node] = apart - self.log_phi_h[node]
        return node
