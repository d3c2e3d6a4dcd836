"""Coordinator: the state of a distributed chain but for its labels, and one iteration of it.

An iteration is a sweep, visits to a few rows, split and merge proposals, and an update of u and the hyper-parameters. In the sweep
weights and atoms of the clusters are drawn here, shards assign rows and answer with statistics. Visits are marginal Gibbs sampling of
rows drawn at random, done here one after the other, so that a cluster founded by one row can take in the next. Proposals follow Jain &
Neal (2004) with a launch state that passes over the shards refine and a last scan in which rows take sides independently given the
launch. See docs/explanation/distributed.md for why that is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import core_seed
from hedgerow.data.tables import stack_rows
from hedgerow.distributed.missed import taken_apart
from hedgerow.distributed.moves import Proposal, Scan, compacted, log_even
from hedgerow.distributed.options import Conditional
from hedgerow.distributed.scouts import Known, Pair, Scouts, by_shard, choose_rows, first_rows
from hedgerow.distributed.workers import Workers
from hedgerow.distributed.working_shard import Anchor, Command, Halve, Pick, Place, Renaming, Sweep, Tell
from hedgerow.mixture import Mixture
from hedgerow.posterior.sharded_labels import KnownClusters
from hedgerow.priors.state import numbers, packed, with_log_u

__all__ = ["Coordinator"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_WEIGHTS, _ATOMS, _MEASURE, _PAIRS, _VISITS, _VISITED, _SETTLED = range(7)
_DRAW, _KEEP, _EVALUATE = range(3)
_NOTHING = np.zeros(0, np.int32)
_SETTLING = 100
"""Updates of u and the hyper-parameters before the first sweep: one is not enough when u is far off, and then rows found clusters."""
_SCOUT_SCANS = 6
"""Scans over the scouts of a proposal, which cost next to nothing, before those over all its rows."""


class Coordinator:
    """One chain over the shards of a workers."""

    def __init__(
        self, workers: Workers, model: Mixture, sizes: LongArray, scouts: Scouts, seed: int, options: Conditional, known: Known
    ) -> None:
        self.workers = workers
        self.scouts = scouts
        self.known = known
        self.measure = _core.Measure(model.prior.to_core(), int(sizes.sum()))
        self.update_u = True
        self.update_hyper = True
        self.sizes: LongArray = np.zeros(0, np.int64)
        self.stats: dict[str, float] = {}
        self._model = model
        self._n = int(sizes.sum())
        self._first = first_rows(sizes)
        self._seed = seed
        self._options = options
        self._ledger = _core.Ledger(scouts.bound)
        self._names: list[Renaming] | None = None
        self._scout_labels: IntArray = np.zeros(0, np.int32)

    @property
    def n_clusters(self) -> int:
        """Clusters of the present partition."""
        return len(self.sizes)

    def log_joint(self) -> float:
        """Log joint of the present state, on the scale of `Mixture.log_joint`."""
        return float(self.measure.log_partition(self.sizes)) + float(self._ledger.log_marginals().sum())

    def values(self) -> dict[str, float]:
        """log u and the hyper-parameters."""
        return numbers(self.measure.state())

    def labels(self) -> list[npt.NDArray[Any]]:
        """Labels of every shard."""
        return [answer["labels"] for answer in self._tell(None, False)]

    def placed(self) -> list[Place]:
        """What puts the rows of every shard where they are."""
        return [Place(self.n_clusters, answer["labels"], fillings=answer["fillings"]) for answer in self._tell(None, True)]

    def write_labels(self, path: Path, *, whole: bool = False) -> list[str]:
        """Have every shard write its labels to a folder, and its fillings if the whole state is wanted; their fingerprints."""
        return [answer["fingerprint"] for answer in self._tell(path, whole)]

    def _tell(self, path: Path | None, whole: bool) -> list[dict[str, Any]]:
        answers = self.workers.ask(self._each(lambda names: Tell(names, self.n_clusters, path, whole)))
        self._names = None
        return answers

    def clusters(self) -> KnownClusters:
        """Sizes and statistics of the present clusters."""
        packed = self._ledger.pack()
        return KnownClusters(packed["numbers"], packed["start"], self.sizes)

    def state(self) -> dict[str, Any]:
        """All that `restore` needs beside the labels."""
        return self.values() | {"sizes": self.sizes} | self._ledger.pack()

    def restore(self, labels: Sequence[IntArray], fillings: Sequence[FloatArray], state: Mapping[str, Any]) -> bool:
        """Go back to a state that was left; False if these rows under these labels are not what it was about."""
        clusters = len(state["sizes"])
        answers = self.workers.ask([Place(clusters, *part) for part in zip(labels, [None] * len(labels), fillings, strict=True)])
        self._gather(answers, clusters)
        found = self._ledger.log_marginals()
        same = np.array_equal(self.sizes, state["sizes"])
        self.sizes = np.ascontiguousarray(state["sizes"], np.int64)
        self._ledger.restore(state["numbers"], state["start"])
        self._names = None
        self.measure.set_state(packed(state))
        return same and bool(np.allclose(found, self._ledger.log_marginals(), rtol=1e-6, atol=1e-3))

    def place(self, commands: Sequence[Place], start: Mapping[str, float] | None = None, *, again: int = 0) -> None:
        """First labels, and first values of u and the hyper-parameters.

        The smallest clusters, of `again` rows in all at the most, are taken apart where that is better.
        """
        answers = self.workers.ask(commands)
        self._gather(answers, commands[0].clusters)
        self._settle(0, start)
        if again > 0 and self._take_apart(again):
            self._settle(_SETTLING, start)

    def _settle(self, first: int, start: Mapping[str, float] | None) -> None:
        if start is None:
            for number in range(first, first + _SETTLING):
                self.measure.update(self.sizes, self._word(0, _SETTLED + number), True, True)
            return
        self.measure.set_state(packed(self.values() | with_log_u(start)))

    def _take_apart(self, most: int) -> bool:
        order = np.argsort(self.sizes, kind="stable")
        small = np.zeros(self.n_clusters, np.bool_)
        small[order[np.cumsum(self.sizes[order]) <= most]] = True
        answers = self.workers.ask(self._each(lambda names: Pick(names, small)))
        self._names = None
        labels = np.concatenate([answer["labels"] for answer in answers])
        if len(labels) == 0:
            return False
        data = stack_rows([answer["data"] for answer in answers if len(answer["rows"])])
        now, pieces = taken_apart(self._model, data, labels, self.n_clusters, self.measure, self._seed)
        if len(pieces.target) == 0:
            return False
        same = np.arange(self.n_clusters, dtype=np.int32)
        self.sizes = pieces.put_into(self._ledger, self.sizes)
        ends = np.cumsum([len(answer["rows"]) for answer in answers])[:-1]
        parts = zip(answers, np.split(labels, ends), np.split(now, ends), strict=True)
        self._names = [Renaming(same, same, answer["rows"][a != b], b[a != b]) for answer, a, b in parts]
        return True

    def step(self, iteration: int) -> None:
        """Iterations are numbered from 1; the number decides all random numbers."""
        self.stats = {}
        packed = self._ledger.pack()
        self._ledger.restore(packed["numbers"], packed["start"])  # from here on as a run that is taken up again
        visited = self._sweep(iteration)
        self._visit(iteration, *visited)
        self._split_and_merge(iteration)
        if self.update_u or self.update_hyper:
            self.measure.update(self.sizes, self._word(iteration, _MEASURE), self.update_u, self.update_hyper)

    def _word(self, iteration: int, purpose: int) -> int:
        return core_seed([self._seed, iteration, purpose])

    def _each(self, make: Callable[[Renaming | None], Command]) -> list[Command]:
        """A command for every shard that carries the numbers its clusters have been given meanwhile."""
        if self._names is None:
            return [make(None) for _ in self.workers.sources]
        return [make(names) for names in self._names]

    def _sweep(self, iteration: int) -> tuple[LongArray, list[IntArray], IntArray, Any]:
        """All labels given weights and atoms. Returns the rows to be visited: global and local numbers, labels, and the rows bound."""
        visits = self._options.visits_of(self._n)
        plain = by_shard(choose_rows(self._n, (visits + 1) // 2, [self._seed, iteration, _VISITED]), self._first)
        strange = np.diff(np.round(np.append(self._first, self._n) / self._n * (visits // 2))).astype(int).tolist()
        anchors = self.workers.ask(self._each(lambda names: Anchor(names, self.n_clusters, self._n, iteration)))
        log_weight, log_alone = self.measure.log_weights(self.sizes, self._word(iteration, _WEIGHTS))
        command = {
            "anchor": np.minimum.reduce([answer["anchor"] for answer in anchors]),
            "sizes": self.sizes,
            "log_weight": log_weight,
            "atoms": self._ledger.draw_atoms(self._word(iteration, _ATOMS)),
            "log_alone": log_alone,
            "iteration": iteration,
            "seed": self._seed,
        }
        answers = self.workers.ask([Sweep(**command, visited=rows, strangers=s) for rows, s in zip(plain, strange, strict=True)])
        self._gather(answers, self.n_clusters)
        assert self._names is not None
        named = list(zip(self._names, answers, strict=True))
        self._scout_labels = np.concatenate([names.first[answer["scouts"]] for names, answer in named])
        self.stats["moved"] = float(sum(answer["moved"] for answer in answers))
        self.stats["founded"] = float(sum(len(answer["founders"]) for answer in answers))
        labels = np.concatenate([names.first[answer["visited"]] for names, answer in named])
        local = [answer["rows"] for answer in answers]
        rows = np.concatenate([part + first for part, first in zip(local, self._first, strict=True)])
        if len(rows) == 0:
            return rows, local, labels, None
        bound = self._model.bind(stack_rows([answer["data"] for answer in answers if answer["data"].shape[0]]))
        bound.fill(np.concatenate([answer["fillings"] for answer in answers]))
        return rows, local, labels, bound

    def _gather(self, answers: Sequence[dict[str, Any]], known: int) -> None:
        """Clusters `known` and new ones from what the shards say, those left empty dropped, in an order that no workers changes."""
        fresh = [len(answer.get("founders", ())) for answer in answers]
        starts = known + np.cumsum([0, *fresh])
        targets = [np.r_[:known, start : start + count] for start, count in zip(starts, fresh, strict=False)]
        sizes = np.zeros(starts[-1], np.int64)
        for answer, target in zip(answers, targets, strict=True):
            sizes[target] += answer["count"]
        compact = compacted(sizes)
        self.sizes = sizes[sizes > 0]
        self._ledger.reset(len(self.sizes))
        self._names = []
        for answer, target in zip(answers, targets, strict=True):
            numbers = compact[target]
            self._ledger.fold(answer["numbers"], answer["start"], numbers)
            self._names.append(Renaming(numbers, numbers, _NOTHING, _NOTHING))

    # ---- rows one by one

    def _visit(self, iteration: int, rows: LongArray, local: Sequence[IntArray], labels: IntArray, bound: Any) -> None:
        """Marginal Gibbs sampling of rows that no state has chosen; new clusters come into being here."""
        if len(rows) == 0:
            return
        assert self._names is not None
        packed = self._ledger.pack()
        word = self._word(iteration, _VISITS)
        found = _core.visit(bound, self.measure, packed["numbers"], packed["start"], self.sizes, labels, word)
        self.stats["visits_moved"] = float(found["moved"])
        compact = compacted(found["count"])
        self.sizes = found["count"][found["count"] > 0]
        self._ledger.reset(len(self.sizes))
        self._ledger.fold(found["numbers"], found["start"], compact)
        moved = found["labels"] != labels
        now = compact[found["labels"]]
        ends = np.cumsum([len(part) for part in local])[:-1]
        parts = zip(self._names, local, np.split(moved, ends), np.split(now, ends), strict=True)
        self._names = [Renaming(compact[n.first], compact[n.second], part[gone], new[gone]) for n, part, gone, new in parts]
        self._scout_labels = compact[self._scout_labels]
        _, scouts, visited = np.intersect1d(self.scouts.rows, rows, assume_unique=True, return_indices=True)
        self._scout_labels[scouts] = now[visited]

    # ---- split and merge

    def _split_and_merge(self, iteration: int) -> None:
        scans = self._options.scans
        rng = np.random.default_rng([self._seed, iteration, _PAIRS])
        proposals = self._choose(self.scouts.draw_pairs(rng, self._options.pairs, self._options.even_share))
        chances = np.log(rng.random(len(proposals)))
        for proposal, share in zip(proposals, rng.random(len(proposals)).tolist(), strict=True):
            if proposal.pair.even:
                proposal.log_share = (float(np.log(share)), float(np.log1p(-share)))
        guided = [p for p in proposals if not p.pair.even]
        launch = self._launch(guided, rng)
        for scan in range(scans if guided else 0):
            launch = self._scan(guided, launch, [_DRAW] * len(guided), iteration, scan).sides
        halved = [p for p in proposals if p.splits or not p.pair.even]
        acts = [_KEEP if p.splits else _EVALUATE for p in halved]
        whole = _core.Ledger(self.scouts.bound)
        whole.reset(2 * len(halved))
        where = {id(p): i for i, p in enumerate(guided)}
        for i, p in enumerate(halved):
            if not p.pair.even:
                for side in (0, 1):
                    whole.load(2 * i + side, launch, 2 * where[id(p)] + side)
        empty = Scan(np.zeros(0), np.zeros(0, np.int64), whole)
        self._judge(proposals, halved, self._scan(halved, whole, acts, iteration, scans) if halved else empty, chances)

    def _choose(self, pairs: Sequence[Pair]) -> list[Proposal]:
        """Pairs in turn, but for those that meet a cluster that an earlier one has taken."""
        taken: set[int] = set()
        chosen = []
        for pair in pairs:
            clusters = tuple(dict.fromkeys((int(self._scout_labels[pair.first]), int(self._scout_labels[pair.second]))))
            if taken.isdisjoint(clusters):
                taken.update(clusters)
                chosen.append(Proposal(pair, clusters))
        return chosen

    def _launch(self, guided: Sequence[Proposal], rng: np.random.Generator) -> _core.Ledger:
        """The first two sides of each proposal: its scouts near either anchor, then all its scouts as those draw them.

        A function of the rows of the proposal's clusters together, of the pair and of fresh random numbers: the same for a split
        as for the merge that undoes it.
        """
        ledger = _core.Ledger(self.scouts.bound)
        ledger.reset(2 * len(guided))
        for i, (p, word) in enumerate(zip(guided, rng.integers(2**63, size=len(guided)).tolist(), strict=True)):
            inside = (self._scout_labels == p.clusters[0]) | (self._scout_labels == p.clusters[-1])
            rows = np.flatnonzero(inside).astype(np.int32)
            near = [part[inside[part]] for part in (p.pair.near_first, p.pair.near_second)]
            if p.pair.carve:
                inside[near[1]] = False
                near[0] = np.flatnonzero(inside).astype(np.int32)
            for side in (0, 1):
                ledger.add_rows(2 * i + side, np.ascontiguousarray(near[side]))
            p.log_share = (0.0, ledger.halve(2 * i, 2 * i + 1, rows, p.pair.first, p.pair.second, _SCOUT_SCANS, word))
        return ledger

    def _scan(self, proposals: Sequence[Proposal], launch: _core.Ledger, acts: Sequence[int], iteration: int, scan: int) -> Scan:
        """One pass over the rows; shares become those of the sides drawn."""
        role = np.full(self.n_clusters, -1, np.int32)
        side = np.zeros(self.n_clusters, np.int32)
        for i, p in enumerate(proposals):
            role[list(p.clusters)] = i
            side[p.clusters[-1]] = 0 if p.splits else 1
        packed = launch.pack()
        command = {
            "role": role,
            "side": side,
            "act": np.array(acts, np.int32),
            "even": np.array([p.pair.even for p in proposals], np.int32),
            "anchor": self.scouts.rows[[row for p in proposals for row in (p.pair.first, p.pair.second)]],
            "log_share": np.array([share for p in proposals for share in p.log_share]),
            "numbers": packed["numbers"],
            "start": packed["start"],
            "iteration": iteration,
            "scan": scan,
        }
        answers = self.workers.ask(self._each(lambda names: Halve(names, **command)))
        self._names = None
        sides = _core.Ledger(self.scouts.bound)
        sides.reset(2 * len(proposals))
        log_q = np.zeros(len(proposals))
        counts = np.zeros(2 * len(proposals), np.int64)
        everything = np.arange(2 * len(proposals), dtype=np.int32)
        for answer in answers:
            log_q += answer["log_q"]
            counts += answer["count"]
            sides.fold(answer["numbers"], answer["start"], everything)
        for i, p in enumerate(proposals):
            if acts[i] == _DRAW:
                p.log_share = (float(np.log(counts[2 * i])), float(np.log(counts[2 * i + 1])))
        return Scan(log_q, counts, sides)

    def _judge(self, proposals: Sequence[Proposal], halved: Sequence[Proposal], scan: Scan, chances: FloatArray) -> None:
        """Accept or reject every proposal, and give the clusters their new numbers."""
        where = {id(p): i for i, p in enumerate(halved)}
        log_phi = self.measure.log_kappa(self.sizes) + self._ledger.log_marginals()
        log_marginal = scan.sides.log_marginals()
        K = self.n_clusters
        first, second = np.arange(K, dtype=np.int32), np.arange(K, dtype=np.int32)
        found: list[tuple[_core.Ledger, int, int]] = [(self._ledger, c, int(self.sizes[c])) for c in range(K)]
        counts = {"splits": 0.0, "merges": 0.0, "splits_accepted": 0.0, "merges_accepted": 0.0}
        gone: list[int] = []
        for p, chance in zip(proposals, chances.tolist(), strict=True):
            kind = "splits" if p.splits else "merges"
            counts[kind] += 1
            c = p.clusters[0]
            if p.splits:
                i = where[id(p)]
                a, b = (int(x) for x in scan.counts[2 * i : 2 * i + 2])
                apart = float(self.measure.log_kappa(np.array([a, b], np.int64)).sum() + log_marginal[2 * i : 2 * i + 2].sum())
                q = log_even(a, b) if p.pair.even else float(scan.log_q[i])
                if chance >= apart - float(log_phi[c]) - q:
                    continue
                found[c] = (scan.sides, 2 * i, a)
                second[c] = len(found)
                found.append((scan.sides, 2 * i + 1, b))
            else:
                other = p.clusters[1]
                a, b = int(self.sizes[c]), int(self.sizes[other])
                together = float(self.measure.log_kappa(np.array([a + b], np.int64))[0])
                together += float(self._ledger.log_merged(c, np.array([other], np.int32))[0])
                q = log_even(a, b) if p.pair.even else float(scan.log_q[where[id(p)]])
                if chance >= together - float(log_phi[c] + log_phi[other]) + q:
                    continue
                self._ledger.merge(c, other)
                found[c] = (self._ledger, c, a + b)
                first[other] = second[other] = c
                gone.append(other)
            counts[f"{kind}_accepted"] += 1
        self.stats |= counts
        if counts["splits_accepted"] + counts["merges_accepted"] > 0:
            self._renumber(first, second, found, set(gone))

    def _renumber(self, first: IntArray, second: IntArray, found: Sequence[tuple[_core.Ledger, int, int]], gone: set[int]) -> None:
        kept = [c for c in range(len(found)) if c not in gone]
        compact = np.full(len(found), -1, np.int32)
        compact[kept] = np.arange(len(kept), dtype=np.int32)
        ledger = _core.Ledger(self.scouts.bound)
        ledger.reset(len(kept))
        for at, c in enumerate(kept):
            ledger.load(at, found[c][0], found[c][1])
        self.sizes = np.array([found[c][2] for c in kept], np.int64)
        self._ledger = ledger
        one, two = compact[first], compact[second]
        if self._names is None:
            self._names = [Renaming(one, two, _NOTHING, _NOTHING)] * len(self.workers.sources)
        else:  # the sweep's numbers have not reached the shards yet, so nothing was split
            self._names = [Renaming(one[n.first], two[n.second], n.rows, one[n.labels]) for n in self._names]
