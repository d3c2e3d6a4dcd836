"""Teaching: before anything is kept, chains stuck where there is next to no mass go on from where there is more.

Chains that their warm-ups leave far apart compare where they stand by the estimate of mass that the warm-up itself uses
(`Gibbs::log_mass`: log p(x, c) − Σᵢ log p(cᵢ | the rest)), averaged over some draws of each. Where one is clearly lighter, partitions
are made of the clusters of several (`hedgerow.sampling.crossing`) and weighed alike. Who stands, beyond the error of the two
averages, where there is less than a twentieth of the mass about the heaviest goes on from a state as heavy, with random numbers of his
own; who does not stays, as draws belong there too. Chains far behind are known by a few draws. What follows at once is thrown away, and
nothing is handed over after the first draw that is kept: kept draws come from the exact kernel alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.sampling.agreement import Course
from hedgerow.sampling.blocks import Begin
from hedgerow.sampling.crossing import Member, search
from hedgerow.sampling.plan import Plan
from hedgerow.sampling.threads import threads_for

__all__ = ["Lesson", "compare", "learn", "lesson_among", "lesson_of", "taught"]

WEIGHED, GAP = 12, 2  # states of each chain that are weighed, and iterations from one to the next
FEW = 4  # of them, after which those far behind are weighed no more
FAR = 8.0  # standard errors, which so few say badly
WORTH = 0.5  # of an independent one, each of them
ERRORS = 2.0  # standard errors of the difference
LEAST = math.log(20.0)  # and how much lighter a chain must be beyond them


@dataclass(frozen=True)
class Lesson:
    """Which chains go on from where others stand, or from a partition made of those of several.

    `teacher` is the heaviest chain, none if it goes on from elsewhere itself; `made` says whether places were made, `places` where each
    pupil goes on.
    """

    teacher: int | None
    pupils: tuple[int, ...]
    made: bool = False
    places: tuple[Member, ...] = field(default=(), compare=False)


def learn(plan: Plan, begins: Sequence[Begin], otherwise: Course, stopped: Callable[[], bool]) -> tuple[list[Begin], Course | None]:
    """Where chains set out, and for which round: `otherwise` if they have nothing to learn, none if they were stopped meanwhile."""
    lesson = compare(plan, begins, stopped)
    if stopped():
        return list(begins), None
    if lesson is None:
        return list(begins), otherwise
    assert plan.course is not None
    assert plan.until is not None
    return taught(begins, lesson), plan.course.after_lesson(plan.until, lesson.teacher, lesson.pupils, lesson.made)


def compare(plan: Plan, begins: Sequence[Begin], stopped: Callable[[], bool]) -> Lesson | None:
    """What chains have to learn where they stand now, which is where they stay; None if nothing, or if it was stopped."""
    bound = plan.bind()
    with ThreadPoolExecutor(threads_for(plan, bound)) as pool:
        chains = _own_places(plan, bound, begins, pool, stopped)
        if stopped() or lesson_of([one.masses for one in chains]) is None:
            return None
        found = [one for one in search(plan, bound, chains, pool, stopped) if one.made]
        masses = list(pool.map(lambda one: _weigh(plan, bound, stopped, WEIGHED, one.index, one.state), found))
    made = [replace(one, masses=tuple(weights), state=state) for one, (weights, state) in zip(found, masses, strict=True)]
    return None if stopped() else lesson_among(chains, made)


def _own_places(
    plan: Plan, bound: _core.Likelihood, begins: Sequence[Begin], pool: Executor, stopped: Callable[[], bool]
) -> list[Member]:
    """Where each chain stands and the masses about its next draws, few of them for those far behind."""
    states = [begin.state for begin in begins]
    masses: list[list[float]] = [[] for _ in begins]
    near = list(range(plan.chains))
    for count in (FEW, WEIGHED - FEW):
        weighed = pool.map(partial(_weigh, plan, bound, stopped, count), near, [states[index] for index in near])
        for index, (found, state) in zip(near, weighed, strict=True):
            masses[index] += found
            states[index] = state
        if stopped():
            break
        best, lighter = _lighter(masses, FAR)
        near = [index for index in range(plan.chains) if not lighter[index]]
        if near == [best]:
            break
    return [Member(index, state or {}, tuple(masses[index])) for index, state in enumerate(states)]


def _weigh(
    plan: Plan, bound: _core.Likelihood, stopped: Callable[[], bool], count: int, index: int, state: dict[str, Any] | None
) -> tuple[list[float], dict[str, Any]]:
    """So many masses of a chain that goes on from a state, fewer if it was stopped, and where it stands then."""
    chain = plan.open(index, bound, state)
    masses: list[float] = []
    while len(masses) < count and not stopped():
        chain.run(1, GAP)
        masses.append(chain.log_mass())
    return masses, chain.state()


def _lighter(masses: Sequence[Sequence[float]], errors: float) -> tuple[int, npt.NDArray[np.bool_]]:
    """The heaviest chain, and which are lighter by more than so many standard errors."""
    mean = np.array([np.mean(one) for one in masses])
    error = np.array([np.var(one, ddof=1) / (WORTH * len(one)) for one in masses])
    best = int(mean.argmax())
    return best, mean[best] - mean > LEAST + errors * np.sqrt(error + error[best])


def lesson_of(masses: Sequence[Sequence[float]]) -> Lesson | None:
    """The heaviest chain and those clearly lighter, from masses of the draws of each; None if there are none.

    >>> lesson_of([[0.0, 1.0, 0.5], [40.0, 41.0, 42.0], [41.0, 40.0, 41.0]])
    Lesson(teacher=1, pupils=(0,), made=False, places=())
    """
    best, lighter = _lighter(masses, ERRORS)
    pupils = tuple(int(index) for index in np.flatnonzero(lighter))
    return Lesson(best, pupils) if pupils else None


def lesson_among(chains: Sequence[Member], made: Sequence[Member]) -> Lesson | None:
    """Which chains are clearly lighter than the heaviest of all, and for each in turn another of the places that are not."""
    every = [*chains, *made]
    best, lighter = _lighter([one.masses for one in every], ERRORS)
    pupils = tuple(int(index) for index in np.flatnonzero(lighter[: len(chains)]))
    if not pupils:
        return None
    heavy = sorted((i for i in np.flatnonzero(~lighter)), key=lambda i: -every[i].mass)
    givers = [every[i] for i in heavy if every[i].made] or [every[best]]
    places = tuple(givers[turn % len(givers)] for turn in range(len(pupils)))
    teacher = max(range(len(chains)), key=lambda index: chains[index].mass)
    return Lesson(None if teacher in pupils else teacher, pupils, givers[0].made, places)


def taught(begins: Sequence[Begin], lesson: Lesson) -> list[Begin]:
    """Where the chains set out after a lesson: pupils with the state and memory of their place, but random numbers of their own."""
    given = list(begins)
    for index, place in zip(lesson.pupils, lesson.places, strict=True):
        own = given[index].state
        assert own is not None
        given[index] = replace(given[index], state={**place.state, "rng": own["rng"]})
    return given
