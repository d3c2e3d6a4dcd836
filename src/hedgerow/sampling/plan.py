"""Plan: everything that decides the draws of a run, and nothing about where or when it runs.

A plan can be pickled and stored; chains made from it are the same wherever they are made.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import check_flag, check_seed, check_whole
from hedgerow.data.copies import Copies, check_copies
from hedgerow.data.groups import read_levels
from hedgerow.data.tables import feature_names, take_rows
from hedgerow.errors import require
from hedgerow.kernels import Kernel, Tempered, TreeGuided
from hedgerow.mixture import Mixture
from hedgerow.sampling.agreement import Agreement, Course
from hedgerow.sampling.chain import Chain
from hedgerow.sampling.starts import Start, first_labels, read_starts, samples_pay
from hedgerow.summaries.narrow import at_rows

__all__ = ["Plan", "read_plan"]

DRAWS, WARMUP = 1000, 500  # unless asked for otherwise


@dataclass(frozen=True, eq=False)
class Plan:
    """A resolved model, checked data, a kernel, the starts and the numbers of a run."""

    model: Mixture
    data: Any
    kernel: Kernel
    starts: tuple[Start, ...]
    times: npt.NDArray[Any] | None
    draws: int
    warmup: int
    chains: int
    thin: int
    seed: int
    columns: tuple[str, ...] | None = None  # names of the columns of X, for tables and pictures; no draw depends on them
    until: Agreement | None = None  # a run of open length: `warmup` and `draws` are then those of the round that `course` is in
    course: Course | None = None
    independent: bool = False  # chains of a run of open length share nothing, not even where they set out
    place: npt.NDArray[np.int64] | None = None  # of every row of the table among those of `data`, where some are copies of others

    def at(self, course: Course) -> Plan:
        """The plan of another round."""
        return replace(self, course=course, warmup=course.warmup, draws=course.draws)

    @property
    def total(self) -> int:
        """Iterations of each chain."""
        return self.warmup + self.draws * self.thin

    @property
    def n(self) -> int:
        """Rows of the data."""
        return int(self.data.shape[0])

    def whole(self, labels: Any) -> dict[str, Any]:
        """Labels, data and times of all rows of the table, with the places of copies: what a posterior is made of."""
        place, times = self.place, self.times
        if place is None:
            return {"labels": labels, "X": self.data, "times": times}
        own = None if times is None else times[place]
        return {"labels": at_rows(labels, place), "X": self.data[place], "times": own, "place": place}

    def bind(self) -> _core.Likelihood:
        """The likelihood bound to the data; chains in one process share it."""
        return self.model.bind(self.data)

    def open(
        self, index: int, bound: _core.Likelihood, state: Mapping[str, Any] | None = None, stopped: Callable[[], bool] = lambda: False
    ) -> Chain:
        """A chain at its start, or where `state` was taken. A start by samples ends early once `stopped`."""
        by_samples = self.samples(index)
        labels: npt.NDArray[np.int32] | None = np.zeros(self.n, np.int32)
        if state is None:
            labels = first_labels(
                self.starts[index], self.model, self.data, self.times, self.seed, index, by_samples=by_samples, stopped=stopped
            )
        chain = Chain(
            self.model,
            self.data,
            self.kernel,
            labels=np.zeros(self.n, np.int32) if by_samples else labels,
            seed=self.seed,
            sequence=index,
            times=self.times,
            bound=bound,
        )
        if state is not None:
            chain.restore(state)
        if by_samples and state is None:
            assert labels is not None
            chain.spread(labels)
        elif by_samples:
            chain.settled = True
        return chain

    def samples(self, index: int) -> bool:
        """Whether chains over samples of the rows come before chain `index`."""
        start = self.starts[index]
        return isinstance(start, str) and start == "sequential" and self.samples_pay

    @cached_property
    def samples_pay(self) -> bool:
        """Whether they come before chains that begin sequentially."""
        return samples_pay(self.model, self.data, self.times)


def read_plan(
    model: Mixture,
    X: Any,
    kernel: Kernel | None,
    init: Any,
    times: Any,
    *,
    draws: int | None,
    warmup: int | None,
    chains: int,
    thin: int,
    seed: int | None,
    until: Agreement | None = None,
    temper: Any = None,
    independent: bool = False,
    copies: Copies | None = None,
) -> Plan:
    """The plan behind the arguments of `sample`, or a refusal."""
    require(until is None or isinstance(until, Agreement), "sample", "until", until, "be an Agreement, or None")
    alone = until is None or draws is None
    require(alone, "sample", "draws", draws, "be left out beside until=, whose max_draws says how many at the most")
    draws, warmup = DRAWS if draws is None else draws, WARMUP if warmup is None else warmup
    for name, value, least in (("draws", draws, 1), ("warmup", warmup, 0), ("chains", chains, 1), ("thin", thin, 1)):
        check_whole("sample", name, value, least)
    check_seed("sample", seed)
    check_flag("sample", "independent", independent)
    require(isinstance(model, Mixture), "sample", "model", model, "be a Mixture")
    kernel = TreeGuided() if kernel is None else kernel
    require(isinstance(kernel, Kernel), "sample", "kernel", kernel, "be a kernel such as TreeGuided()")
    kernel = kernel if temper is None else Tempered(temper, kernel)
    names = feature_names(X)
    check_copies("sample", copies, X)
    if copies is not None:
        X, init, times, copies = _kept(X, init, times, copies)
    model = model.resolve(X)  # before the check, which drops the names of columns and levels
    data = _own(model.likelihood.check(X))
    n = int(data.shape[0])
    if model.prior.group(times, n, "sample") is not None:
        levels, codes = read_levels(times, n, "sample")
        times = levels.names[codes]
    plan = Plan(
        model=model,
        data=data,
        kernel=kernel,
        starts=tuple(read_starts(init, int(chains), n)),
        times=times,
        draws=int(draws),
        warmup=int(warmup),
        chains=int(chains),
        thin=int(thin),
        seed=secrets.randbits(48) if seed is None else int(seed),
        columns=names,
        until=until,
        independent=bool(independent),
        place=None if copies is None else copies.place,
    )
    ahead = until is not None and all(plan.samples(index) for index in range(plan.chains))
    return plan if until is None else plan.at(Course.begin(until, plan.warmup, ahead))


def _kept(X: Any, init: Any, times: Any, copies: Copies) -> tuple[Any, Any, Any, Copies]:
    """Rows, starts and times of the rows that count; equal rows of two times are two observations."""
    if times is not None:
        copies = copies.within(times, "sample")
        times = copies.times(times)
    return take_rows(X, copies.kept), copies.start(init), times, copies


def _own(data: Any) -> Any:
    """Data that nobody will change: the posterior predicts from them later. What cannot be written to is shared, as memory maps are."""
    return data.copy() if isinstance(data, np.ndarray) and data.flags.writeable else data
