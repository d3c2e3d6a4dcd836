"""Rounds of a run, and blocks: a chain run in stretches of about a tenth of a second, so that whoever waits hears of it often."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.sampling.chain import Block, Chain
from hedgerow.sampling.interrupts import Stop
from hedgerow.sampling.plan import Plan
from hedgerow.sampling.progress import Update

__all__ = ["Begin", "News", "Pace", "Round", "run_blocks"]

_BLOCK_SECONDS = 0.1
_BLOCK_BYTES = 4 << 20  # labels of a block at the most: some blocks wait to be stored where drawing is faster than that
_MOST_BYTES = 16 << 20  # labels of a chain that wait for its next state

State = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Begin:
    """Where a chain sets out: iterations done before, and its state then (None at the very start)."""

    done: int = 0
    state: State | None = None


@dataclass(frozen=True, eq=False)
class News:
    """A block of a chain, if it drew one, and the chain's state after it, if it was time for one."""

    update: Update
    block: Block | None
    state: State | None


@dataclass(frozen=True)
class Pace:
    """How often a chain's state is wanted: never, every so many seconds, or at a pace that suits any length of run.

    That pace is every 10 seconds at first and every two-hundredth of the time run so far later on, at most 5 minutes: a
    run that is killed loses half a percent, and a week's run makes some thousands of files.
    """

    wanted: bool
    every: float | None = None

    def due(self, since: float, running: float, waiting_bytes: int) -> bool:
        """Whether to take the state now: `since` the last one, `running` in all, with draws waiting to be stored."""
        every = min(max(10.0, 0.005 * running), 300.0) if self.every is None else self.every
        return self.wanted and (since >= every or waiting_bytes >= _MOST_BYTES)


@dataclass(frozen=True, eq=False)
class Round:
    """What is to be run from where, until all of it is done or `stop` is asked for, and what becomes of what is drawn.

    `store` keeps a block, `tell` shows it and asks callbacks. `lasting`: another session goes on from what is stored, so that nothing
    of it may hang on when this one was stopped.
    """

    plan: Plan
    begins: Sequence[Begin]
    pace: Pace
    store: Callable[[News], None]
    tell: Callable[[News], None]
    stop: Stop
    lasting: bool = False


def run_blocks(plan: Plan, index: int, chain: Chain, done: int) -> Iterator[tuple[Update, Block | None]]:
    """Blocks of one chain until its plan is done; the sizes depend on the clock, the draws do not."""
    size = 1
    if done >= plan.warmup:
        chain.end_warm_up()
    while done < plan.total:
        clock = time.perf_counter()
        warming_up = done < plan.warmup
        block = None
        if warming_up:
            size = min(size, plan.warmup - done)
            chain.warm_up(size, done, plan.warmup)
            done += size
            if done == plan.warmup:
                chain.end_warm_up()
        else:
            size = max(1, min(size, _BLOCK_BYTES // (4 * max(plan.n, 1)), (plan.total - done) // plan.thin))
            block = chain.run(size, plan.thin)
            done += size * plan.thin
        yield Update(index, done, plan.total, warming_up, chain.n_clusters, chain.log_joint()), block
        seconds = max(time.perf_counter() - clock, 1e-6)
        size = max(1, min(4 * size, int(size * _BLOCK_SECONDS / seconds)))
