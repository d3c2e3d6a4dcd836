"""The run behind levels: one power after the other, each begun where its finer neighbour ended.

A level's draws depend on the seed, its power and the neighbour that it began from, on nothing else: a run that is taken up again gives
the draws that it would have given. The halves of the rows that measure its strength begin at the level's own clusters, and leave what
their rows alone do not hold together or apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.data.copies import Copies
from hedgerow.data.tables import take_rows
from hedgerow.kernels import Kernel
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior, placement
from hedgerow.resolution.level import Level
from hedgerow.resolution.strength import Rows, agreement, fineness, half_power, split_rows
from hedgerow.sampling import sample
from hedgerow.sampling.progress import Update

__all__ = ["Ladder", "Plan", "next_power"]

DOWN = 0.5  # from one power to the next
FASTEST = 1 / 4  # a power far too small leaves the prior alone, whose draws have clusters again
STILL = 0.8  # of the clusters left: the next step is a longer one
HALF_DRAWS, HALF_MOST, HALF_ROWS = 15, 150, 60_000  # draws of a half, more of them while rows x draws stay below the last
HALF_RESTARTS = 2
WHOLE = 0.95  # strength of a single cluster: below it, one is left by a hair
SAME_FINENESS = 0.05  # of the logarithm: a half as fine as the whole


@dataclass(frozen=True)
class Plan:
    """The numbers of a run: draws and warm-up of a level, chains, ways of halving the rows, rows halved at the most, the seed."""

    draws: int
    warmup: int
    chains: int
    splits: int
    max_rows: int
    seed: int


class Ladder:
    """A resolved model and checked rows, ready to be sampled at any power; copies of rows are put with them."""

    def __init__(self, model: Mixture, X: Any, times: Any, kernel: Kernel | None, plan: Plan, copies: Copies | None = None) -> None:
        self.X, self.times, self.kernel, self.plan = X, times, kernel, plan
        self.copies = copies if copies is None or times is None else copies.within(times, "levels")
        own = None if self.copies is None else self.copies.kept
        self.model = model.resolve(take_rows(X, own))
        # Of the rows that count, as are the halves.
        self.data = self.model.likelihood.check(take_rows(X, own))
        self.data_times = times if self.copies is None or times is None else self.copies.times(times)
        self.n = int(self.data.shape[0])
        grouping = self.model.prior.group(self.data_times, self.n, "levels")
        groups = None if grouping is None else grouping.codes
        self.halves = split_rows(self.n, plan.splits, plan.max_rows, plan.seed, groups)
        self.rows_halved = 0 if not self.halves else sum(len(half) for half in self.halves[0])

    @property
    def steps(self) -> int:
        """Iterations of one level, those of halves counted by their rows."""
        halves = self.plan.splits * (self.plan.warmup // 2 + _half_draws(self.rows_halved // 2)) * self.rows_halved / max(self.n, 1)
        return int(self.plan.chains * (self.plan.warmup + self.plan.draws) + halves)

    def level(self, power: float, finer: Level | None, tell: Callable[[int, int, float], None]) -> Level | None:
        """The level of one power; None where it was stopped, whatever was going on."""
        try:
            return self._level(power, finer, tell)
        except KeyboardInterrupt:
            return None

    def _level(self, power: float, finer: Level | None, tell: Callable[[int, int, float], None]) -> Level | None:
        plan = self.plan
        seed = np.random.SeedSequence([plan.seed, int(np.float64(power).view(np.uint64))])
        own, *others = (int(s) for s in seed.generate_state(1 + 2 * plan.splits, np.uint64) >> np.uint64(1))
        seen: dict[int, int] = {}

        def count(update: Update) -> None:
            seen[update.chain] = update.done
            tell(sum(seen.values()), update.n_clusters, update.log_joint)

        warmup = plan.warmup * (2 if finer is None else 1)
        start = "sequential" if finer is None else finer.posterior.labels[:, -1]
        post = self._sample(power, self.X, self.times, start, plan.draws, warmup, plan.chains, own, count, self.copies)
        if post is None:
            return None
        done = plan.chains * (plan.warmup + plan.draws)
        strengths, weakest = np.empty((plan.splits, 2)), np.empty((plan.splits, 2))
        best = post.point_estimate()
        if best.stopped:  # by Ctrl-C: another search would end elsewhere
            return None
        labels = best.labels if self.copies is None else best.labels[self.copies.kept]
        for split, rows in enumerate(self.halves):
            for half, where in enumerate(rows):
                told = self._foretell(power, labels, where, rows[1 - half], others[2 * split + half])
                if told is None:
                    return None
                strengths[split, half], weakest[split, half] = agreement(labels[rows[1 - half]], told)
            tell(done + (split + 1) * (self.steps - done) // plan.splits, 0, 0.0)
        return Level(power, post, strengths, weakest)

    def _sample(
        self,
        power: float,
        X: Any,
        times: Any,
        init: Any,
        draws: int,
        warmup: int,
        chains: int,
        seed: int,
        count: Callable[[Update], None] | None,
        copies: Copies | None = None,
    ) -> Posterior | None:
        post = sample(
            replace(self.model, power=power),
            X,
            kernel=self.kernel,
            draws=draws,
            warmup=warmup,
            chains=chains,
            seed=seed,
            init=init,
            times=times,
            copies=copies,
            callbacks=() if count is None else (count,),
            progress=False,
        )
        return None if post.run.get("interrupted") else post

    def _foretell(
        self, power: float, labels: npt.NDArray[np.int32], rows: Rows, others: Rows, seed: int
    ) -> npt.NDArray[np.float64] | None:
        """How likely each of the `others` is in each cluster of `rows` alone; None where that was stopped.

        A half that is coarser than the level is sampled again at the power where it is worth as much; the fit nearer to the level in
        fineness counts (`strength`).
        """
        times = None if self.data_times is None else np.asarray(self.data_times)
        own_times = None if times is None else times[rows]
        wanted = float(np.log(fineness(labels)))
        fits: list[tuple[float, Posterior, npt.NDArray[np.int32]]] = []
        for at in (power, half_power(power, len(rows), self.n)):
            post = self._sample(
                at, self.data[rows], own_times, labels[rows], _half_draws(len(rows)), self.plan.warmup // 2, 1, seed, None
            )
            if post is None:
                return None
            best = post.point_estimate(restarts=HALF_RESTARTS)
            if best.stopped:
                return None
            found = best.labels
            coarser = wanted - float(np.log(fineness(found)))
            fits.append((abs(coarser), post, found))
            if coarser <= SAME_FINENESS or power == 1:
                break
        _, post, found = min(fits, key=lambda fit: fit[0])
        return placement(post, found, self.data[others], times=None if times is None else times[others])


def _half_draws(rows: int) -> int:
    """Draws of a half: of few rows many, since a short chain of them at a small power is hardly more than one draw."""
    return int(min(HALF_MOST, max(HALF_DRAWS, HALF_ROWS // max(rows, 1))))


def next_power(powers: list[float], clusters: list[int], most: int, coarsest: float = 1.0) -> float | None:
    """The next power to look at, given those seen from fine to coarse with their numbers of clusters; None when done.

    Down by halves until one cluster is left that halves leave whole (`coarsest` is the strength of the last level), faster while next
    to nothing changes; then, while there is room, between the two neighbours whose numbers of clusters are farthest apart.
    """
    if not powers or len(powers) >= most:
        return None
    if clusters[-1] > 1 or coarsest < WHOLE:
        step = DOWN
        for before, after in itertools.pairwise(clusters):
            step = max(step**2, FASTEST) if after >= STILL * before else DOWN
        return powers[-1] * step
    gaps = [np.log(a / b) if a > b + 1 else 0.0 for a, b in itertools.pairwise(clusters)]
    if not gaps or max(gaps) == 0:
        return None
    widest = int(np.argmax(gaps))
    return float(np.sqrt(powers[widest] * powers[widest + 1]))
