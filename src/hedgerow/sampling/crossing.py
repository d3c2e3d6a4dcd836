"""Crossing: chains stuck in modes of their own make others of the clusters of two, before anything is kept.

Where clusters have not their model's shape every chain finds some of them well and others badly. A search among partitions, as genetic
algorithms make it for other kinds of clustering, puts the good halves together (`hedgerow.sampling.offspring`): a child goes on as a
chain does for a few iterations, is weighed by the estimate of mass that lessons use, and takes the place of the parent it is more like
if it is the heavier. Once nothing more comes of those there are, a stranger joins them, from a warm-up of its own. The search is over
when three strangers have brought nothing, or when it has taken a few times as many iterations as the draws of the chains may take.

What is found are places to set out from, and no draws. The number of a child decides its random numbers, so nothing hangs on threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.views import canonical
from hedgerow.sampling.chain import Chain, fresh
from hedgerow.sampling.offspring import crossed, distance, grafted
from hedgerow.sampling.plan import Plan

__all__ = ["Member", "search"]

SETTLE = 8  # iterations of a child before it is weighed
WEIGHED, GAP = 4, 2  # states of it that are weighed, and iterations from one to the next
FAR_BEHIND = 5.0  # nats below its parent, at the first, from which a child is given up: about what one estimate is off by
PATIENCE = 6  # rounds without such a gain after which a stranger is asked in
STRANGERS = 3  # without a gain, after which the search is over
BELONGS, STEP = 150, 10  # iterations of a stranger's warm-up, and of one look at whether the run was stopped
WEIGHING = 3  # iterations that a weighing takes as long as, about
TIMES, DEAR = 3.0, 150.0  # the draws of the chains, and how many of them say that they are dear
GAIN = math.log(20.0)  # nats that a gain is worth going on for; less may be an error of the estimate


@dataclass(frozen=True)
class Member:
    """Where a chain could set out: the state of the chain `index`, or one made for it, and the masses about some of its draws.

    Attributes
    ----------
    index : int
        The chain whose kernel goes on from it.
    state : mapping
        As `Chain.state` gives it.
    masses : tuple of float
    made : bool
        Whether it was made of others.

    >>> Member(0, {}, (1.0, 3.0)).mass
    2.0
    """

    index: int
    state: Mapping[str, Any]
    masses: tuple[float, ...]
    made: bool = False

    @property
    def mass(self) -> float:
        """The mean of the masses."""
        return float(np.mean(self.masses))

    @property
    def labels(self) -> npt.NDArray[np.int32]:
        """Its partition."""
        return canonical(np.asarray(self.state["labels"]))


class Child(NamedTuple):
    """Who was made, for the place of which member, and the iterations that it took; none if it was given up."""

    made: Member | None
    place: int
    cost: int


def search(plan: Plan, bound: _core.Likelihood, members: Sequence[Member], pool: Executor, stopped: Callable[[], bool]) -> list[Member]:
    """The members after all crossings, each at least as heavy as it was, and strangers; as far as it came if it is stopped."""
    found, left = list(members), _affordable(plan)
    numbers = iter(range(1 << 30))
    best, strangers = max(one.mass for one in found), 0
    while left > 0 and not stopped():
        found, left = _until_nothing_comes(plan, bound, found, pool, stopped, left, numbers)
        risen = max(one.mass for one in found)
        strangers = 0 if risen > best + GAIN else strangers + 1
        best = max(best, risen)
        left -= BELONGS
        if strangers > STRANGERS or left <= 0 or stopped():
            break
        found += _stranger(plan, bound, stopped, next(numbers))
    return found


def _affordable(plan: Plan) -> int:
    """Iterations that the search may take: three times those of all draws, fewer where few draws show that an iteration is dear."""
    assert plan.until is not None
    draws = plan.until.max_draws * plan.thin
    return int(plan.chains * draws * min(TIMES, (draws / DEAR) ** 2))


def _until_nothing_comes(
    plan: Plan,
    bound: _core.Likelihood,
    members: Sequence[Member],
    pool: Executor,
    stopped: Callable[[], bool],
    left: int,
    numbers: Iterator[int],
) -> tuple[list[Member], int]:
    """Rounds of one child for every member, until some in a row were in vain, and the iterations that are left."""
    found, in_vain = list(members), 0
    while in_vain < PATIENCE and left > 0 and not stopped():
        in_vain += 1
        tasks = [(next(numbers), place) for place in range(len(found))]
        for child in list(pool.map(partial(_child, plan, bound, tuple(found), stopped), *zip(*tasks, strict=True))):
            left -= child.cost
            gain = 0.0 if child.made is None else child.made.mass - found[child.place].mass
            if child.made is not None and gain > 0:
                found[child.place] = child.made
                in_vain = 0 if gain > GAIN else in_vain
    return found, left


def _child(
    plan: Plan, bound: _core.Likelihood, members: Sequence[Member], stopped: Callable[[], bool], number: int, place: int
) -> Child:
    """A child of a member and another one by chance."""
    rng = np.random.default_rng(_words(plan, number))
    other = int((place + rng.integers(1, len(members))) % len(members))
    one, two = members[place], members[other]
    crossing = rng.random() < 0.5
    labels = (crossed if crossing else grafted)(one.labels, two.labels, rng)
    if distance(labels, one.labels) == 0 or (crossing and distance(labels, two.labels) == 0):
        return Child(None, place, 0)
    chain = plan.open(one.index, bound, {**one.state, "labels": labels, "rng": _words(plan, number)})
    chain.run(1, SETTLE)
    if stopped() or chain.log_mass() < (min(one.mass, two.mass) if crossing else one.mass) - FAR_BEHIND:
        return Child(None, place, SETTLE + WEIGHING)
    masses = _weighed(chain)
    state = chain.state()
    made = Member(one.index, state, masses, made=True)
    if crossing and distance(made.labels, two.labels) < distance(made.labels, one.labels):
        place = other
    return Child(made, place, SETTLE + WEIGHING + WEIGHED * (GAP + WEIGHING))


def _weighed(chain: Chain) -> tuple[float, ...]:
    masses = []
    for _ in range(WEIGHED):
        chain.run(1, GAP)
        masses.append(chain.log_mass())
    return tuple(masses)


def _stranger(plan: Plan, bound: _core.Likelihood, stopped: Callable[[], bool], number: int) -> list[Member]:
    """One whom nobody has met: a short warm-up from the start of a chain, with other random numbers; none if it was stopped."""
    index = number % plan.chains
    chain = plan.open(index, bound, None, stopped)
    chain.restore({**fresh(chain.state()), "rng": _words(plan, number)})
    for done in range(0, BELONGS, STEP):
        chain.warm_up(STEP, done, BELONGS)
        if stopped():
            return []
    chain.end_warm_up()
    masses = _weighed(chain)
    return [Member(index, chain.state(), masses, made=True)]


def _words(plan: Plan, number: int) -> npt.NDArray[np.uint64]:
    """Four words that random numbers begin with."""
    words = np.random.SeedSequence((plan.seed, number), spawn_key=(1,)).generate_state(4, np.uint64)
    return np.asarray(words, np.uint64)
