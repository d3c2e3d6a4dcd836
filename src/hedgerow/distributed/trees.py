"""ibhc(): trees per shard, their roots joined by Bayesian hierarchical clustering on their statistics.

Every shard grows its own forest with the same u and hyper-parameters. What travels is a root's size, statistics and log φ_t; the joined
trees have φ_t(c) = φ_h(c) + φ_t(l)·φ_t(r) as always, so the product of φ_t over the roots still sums over partitions that the trees
allow, each once, and is a lower bound whatever the cuts. Shards are joined two by two, neighbours first: a fixed tree of reductions.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.distributed.crew import Crew, open_crew
from hedgerow.distributed.held import Bind, Command, Held
from hedgerow.distributed.result import DistributedForest
from hedgerow.distributed.sampler import check_model, open_shards
from hedgerow.distributed.scouts import choose_rows, fetch_rows
from hedgerow.distributed.sources import read_sources
from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.priors import Prior
from hedgerow.trees import Forest

__all__ = ["ibhc"]

OWNER = "distributed.ibhc"
IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]

_SAMPLE = 5000
"""Rows from which open hyper-parameters of the likelihood are taken."""
_ARRAYS = ("left", "right", "parent", "size", "log_phi_h", "log_phi_t", "log_d")


@dataclass(frozen=True, eq=False)
class Grow(Command):
    """One pass over the rows of a shard: its trees from nothing, or every row out and in again."""

    prior: Prior
    seed: int
    values: Mapping[str, float]
    repair: str

    def apply(self, held: Held) -> dict[str, Any]:
        """Answers with sizes, packed statistics and slacks log φ_t - log φ_h of the roots."""
        fresh = held.trees is None
        if fresh:
            held.trees = _core.TreeBuilder(held.bound, self.prior.to_core(), None, None, None, self.seed, held.source.number)
        values = dict(self.values)
        held.trees.set_state(np.array([values.pop("log_u")]), np.array([values.pop("alpha")]), **values)
        if fresh:
            held.trees.ibhc(self.repair)
        else:
            held.trees.revise(self.repair)
        arrays = held.trees.arrays()
        forest = Forest(**{name: arrays[name] for name in _ARRAYS})
        roots, held.rows = forest.roots, forest.labels
        held.core.set_labels(held.rows)
        answer: dict[str, Any] = held.core.tally(len(roots))
        return answer | {"slack": forest.log_phi_t[roots] - forest.log_phi_h[roots]}


@dataclass(frozen=True, eq=False)
class Rows(Command):
    """Say which root each row is under."""

    changes = False

    def apply(self, held: Held) -> dict[str, Any]:
        """Answers with the numbers of the roots."""
        return {"rows": held.rows}


def ibhc(
    model: Mixture,
    shards: Any,
    *,
    passes: int = 3,
    repair: str = "reinsert",
    u: float | None = None,
    seed: int | None = None,
    client: Any = None,
    labels: bool = True,
) -> DistributedForest:
    """Incremental Bayesian hierarchical clustering of rows that lie in shards.

    Parameters
    ----------
    model, shards, client :
        As in `distributed.sample`.
    passes : int
        Passes over the rows; u and the sampled hyper-parameters are drawn anew in between, given the clusters of all shards together.
        The forest of highest log joint is kept.
    repair : {"reinsert", "bhc"}
        As in `ibhc`.
    u : float, optional
        Hold u there. The Dirichlet process integrates it out and needs none.
    seed : int, optional
        Decides the order of rows, u and the hyper-parameters.
    labels : bool
        Bring the cluster of every row here: 4 bytes a row.
    """
    check_model(OWNER, model)
    whole = isinstance(passes, (int, np.integer)) and not isinstance(passes, bool)
    require(whole and passes >= 1, OWNER, "passes", passes, "be a whole number from 1 up")
    require(repair in ("reinsert", "bhc"), OWNER, "repair", repair, "be 'reinsert' or 'bhc'")
    good = u is None or (isinstance(u, (int, float)) and np.isfinite(u) and u > 0)
    require(good, OWNER, "u", u, "be a finite number above 0, or None")
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    require(seed is None or (whole and int(seed) >= 0), OWNER, "seed", seed, "be a whole number from 0 up, or None")
    used_seed = secrets.randbits(63) if seed is None else int(seed)
    crew = open_crew(OWNER, read_sources(OWNER, shards, client), client)
    try:
        return _grow(crew, model, passes, repair, u, used_seed, labels)
    finally:
        crew.close()


def _grow(crew: Crew, model: Mixture, passes: int, repair: str, u: float | None, seed: int, labels: bool) -> DistributedForest:
    sizes = open_shards(OWNER, crew, model)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    data, local = fetch_rows(crew, choose_rows(int(sizes.sum()), _SAMPLE, [seed, 1]), first)
    resolved = model.resolve(data)
    word = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    crew.ask([Bind(resolved.likelihood, int(start), word, local[i]) for i, start in enumerate(first)])
    joiner = _Joiner(resolved, data, int(sizes.sum()), u, seed)
    best: tuple[Forest, tuple[int, ...]] | None = None
    rows: list[IntArray] | None = None
    for number in range(passes):
        grown = crew.ask(Grow(resolved.prior, word, joiner.values(), repair))
        forest = joiner.join(grown)
        log_joint = joiner.log_joint(forest)
        if best is None or log_joint > joiner.best:
            joiner.best = log_joint
            best = forest, tuple(len(answer["slack"]) for answer in grown)
            rows = [answer["rows"] for answer in crew.ask(Rows())] if labels else None
        joiner.resample(forest, number + 1)
    assert best is not None
    return DistributedForest(resolved, tuple(int(n) for n in sizes), best[0], best[1], rows)


class _Joiner:
    """The measure that all shards share, and the trees over their roots."""

    def __init__(self, model: Mixture, data: Any, n: int, u: float | None, seed: int) -> None:
        self.best = -np.inf
        self._measure = _core.Measure(model.prior.to_core(), n)
        self._ledger = _core.Ledger(model.likelihood.bind(data))
        self._seed = seed
        self._move_u = u is None and not model.prior.factorizes
        self._laws = bool(model.prior.laws())
        if u is not None:
            self._measure.set_state(**(self.values() | {"log_u": float(np.log(u))}))
        elif self._move_u:
            self._measure.first_guess(self._word(0))

    def values(self) -> dict[str, float]:
        """u and the hyper-parameters as all shards are to use them."""
        state = self._measure.state()
        return {name: float(np.ravel(state[name])[0]) for name in ("log_u", "alpha", "sigma", "tau", "theta")}

    def resample(self, forest: Forest, number: int) -> None:
        """Draw u and the hyper-parameters given the roots."""
        if self._move_u or self._laws:
            self._measure.update(forest.size[forest.roots].astype(np.int64), self._word(number), self._move_u, self._laws)

    def log_joint(self, forest: Forest) -> float:
        """Log joint of the roots, with u and α integrated out where the prior can."""
        roots = forest.roots
        sizes = forest.size[roots].astype(np.int64)
        log_p = forest.log_phi_h[roots] - self._measure.log_kappa(sizes)
        return float(self._measure.log_partition(sizes)) + float(log_p.sum())

    def join(self, grown: Sequence[Mapping[str, Any]]) -> Forest:
        """One forest over the roots of all shards, neighbours joined first."""
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
        values = self.values()
        values["u"] = float(np.exp(values.pop("log_u")))
        parts = {name: getattr(trees, name)[:used] for name in _ARRAYS}
        return Forest(**parts, log_front=float(self._measure.log_front()), values=values)

    def _word(self, number: int) -> int:
        return int(np.random.SeedSequence([self._seed, number]).generate_state(1, np.uint64)[0])


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
