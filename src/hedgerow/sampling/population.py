"""A population that climbs the powers of the likelihood: weights, rungs, resampling, and moves by exact kernels.

    target at power p:      π_p(Π, u, η) ∝ p(Π, u, η) ∏_c p_p(X_c),   Z_p its sum;   p = 0 is the prior, Z_0 = 1
    weight from p to p':    ∏_c p_p'(X_c) / p_p(X_c)   at the same partition,   whose mean under π_p is Z_p' / Z_p

after Del Moral, Doucet & Jasra (2006). Particles begin as exact draws of the prior, so that no normaliser is left unknown. Where rungs
are chosen on the way, they are so near that the conditional effective share (Zhou, Johansen & Aston 2016) of one reweighting stays
high, and never farther apart than those of p = (k / rungs)²: particles that are still alike know nothing of what lies ahead. What a
particle does at a rung depends on the seed, the rung and its place, never on threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.kernels import Kernel
from hedgerow.mixture import LEAST_POWER, Mixture
from hedgerow.priors.state import NAMES, with_log_u
from hedgerow.sampling.chain import Chain
from hedgerow.sampling.interrupts import Stop

__all__ = ["Climb", "Population", "Rungs", "conditional_share", "systematic"]

FloatArray = npt.NDArray[np.float64]
RESAMPLE = 0.5  # of the particles: fewer effective ones are resampled
HALVINGS = 12  # of a step that is too long
LONGER = 2.0  # a step beside the one before, at the most
PRIOR, TURN = range(2)  # what random numbers outside of chains are for


@dataclass(frozen=True, eq=False)
class Population:
    """Weighted particles at one power.

    Attributes
    ----------
    labels : (particles, n) int32
    measure : dict
        log u and hyper-parameters by name, (particles,) each.
    log_weights : (particles,)
        Of weights that sum to 1.
    log_likelihood : (particles,)
        The sum of log marginals at the power of the population.
    first : (particles,)
        The draw of the prior that each descends from.
    """

    labels: npt.NDArray[np.int32]
    measure: dict[str, FloatArray]
    log_weights: FloatArray
    log_likelihood: FloatArray
    first: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rungs:
    """What was climbed: power, log Z_p, effective particles after reweighting, and whether they were resampled, of every rung."""

    powers: tuple[float, ...] = ()
    log_normalizers: tuple[float, ...] = ()
    effective: tuple[float, ...] = ()
    resampled: tuple[bool, ...] = ()

    @property
    def power(self) -> float:
        """Where the population stands; 0 is the prior."""
        return self.powers[-1] if self.powers else 0.0

    @property
    def step(self) -> float | None:
        """The last step up."""
        return None if not self.powers else self.powers[-1] - (self.powers[-2] if len(self.powers) > 1 else 0.0)

    def add(self, power: float, log_ratio: float, effective: float, resampled: bool) -> Rungs:
        """One rung higher."""
        total = (self.log_normalizers[-1] if self.log_normalizers else 0.0) + log_ratio
        return Rungs((*self.powers, power), (*self.log_normalizers, total), (*self.effective, effective), (*self.resampled, resampled))


class Climb:
    """A resolved model on checked rows, a kernel, and the numbers that decide every particle."""

    def __init__(self, model: Mixture, data: Any, kernel: Kernel, *, particles: int, moves: int, seed: int) -> None:
        self.model, self.data, self.kernel = model, data, kernel
        self.particles, self.moves, self.seed = particles, moves, seed
        self.n = int(data.shape[0])
        self.names = tuple(name for name in NAMES if name in model.prior.carried() or name in model.prior.auxiliaries)
        threads = 1 if model.bind(data).serial else min(particles, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __enter__(self) -> Self:
        """Threads are there until the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def begin(self) -> Population:
        """Exact draws of the prior, which is the target at power 0."""
        labels = np.empty((self.particles, self.n), np.int32)
        measure = {name: np.empty(self.particles) for name in self.names}
        for i in range(self.particles):
            drawn = self.model.prior.sample_joint(self.n, self._numbers(PRIOR, i))
            labels[i] = drawn.labels
            values = with_log_u({"u": drawn.u, **drawn.values})
            fixed = self.model.prior.measure(values)
            values = dict(zip(("alpha", "sigma", "tau"), fixed, strict=True)) | values
            for name in self.names:
                measure[name][i] = values[name]
        even = np.full(self.particles, -np.log(self.particles))
        return Population(labels, measure, even, np.zeros(self.particles), np.arange(self.particles))

    def next_power(self, population: Population, rungs: Rungs, least: int, share: float) -> float:
        """The farthest power whose reweighting keeps this share of the particles, by halving what is too long; `least` rungs in all."""
        here, top = rungs.power, self.model.power
        far = top * min(1.0, np.sqrt(here / top) + 1.0 / least) ** 2
        if rungs.step is not None:
            far = min(far, here + LONGER * rungs.step)
        for _ in range(HALVINGS):
            steps = self.log_likelihoods(population, max(far, LEAST_POWER)) - population.log_likelihood
            if conditional_share(population.log_weights, steps) >= share:
                break
            far = 0.5 * (here + far)
        return float(max(far, LEAST_POWER))

    def climb(self, population: Population, rungs: Rungs, power: float, stop: Stop) -> tuple[Population, Rungs] | None:
        """Reweight to this power, resample if few particles count, and move all of them there; None where that was stopped."""
        index = len(rungs.powers)
        there = self.log_likelihoods(population, power)
        log_weights = population.log_weights + there - population.log_likelihood
        log_ratio = float(np.logaddexp.reduce(log_weights))
        log_weights = log_weights - log_ratio
        weights = np.exp(log_weights)
        effective = float(1.0 / (weights**2).sum())
        resampled = effective < RESAMPLE * self.particles
        parents = np.arange(self.particles)
        if resampled:
            parents = systematic(weights, self._numbers(TURN, index).random())
            log_weights = np.full(self.particles, -np.log(self.particles))
        moved = self._move(population, parents, power, index, stop)
        if moved is None:
            return None
        labels, measure, log_likelihood = moved
        rungs = rungs.add(power, log_ratio, effective, resampled)
        return Population(labels, measure, log_weights, log_likelihood, population.first[parents]), rungs

    def log_likelihoods(self, population: Population, power: float) -> FloatArray:
        """Sums of log marginals of every particle at a power."""
        bound = self._bound(power)
        return np.array(self._each(lambda i: float(bound.log_marginals(population.labels[i]).sum())))

    def log_joints(self, population: Population, power: float) -> FloatArray:
        """Log joint of every particle at a power."""
        model, bound = replace(self.model, power=power), self._bound(power)
        return np.array(self._each(lambda i: self._open(population, i, model, bound, 0).log_joint()))

    def _move(
        self, population: Population, parents: npt.NDArray[np.int64], power: float, index: int, stop: Stop
    ) -> tuple[npt.NDArray[np.int32], dict[str, FloatArray], FloatArray] | None:
        """Every particle from its parent by `moves` iterations of the kernel at this power."""
        model, bound = replace(self.model, power=power), self._bound(power)
        labels = np.empty_like(population.labels)
        measure = {name: np.empty(self.particles) for name in self.names}

        def move(i: int) -> float:
            if stop.asked:
                return np.nan
            chain = self._open(population, int(parents[i]), model, bound, index * self.particles + i)
            block = chain.run(1, self.moves)
            labels[i] = block.labels[0]
            for name in self.names:
                measure[name][i] = getattr(block, name)[0]
            return float(bound.log_marginals(labels[i]).sum())

        log_likelihood = np.array(self._each(move))
        return None if np.isnan(log_likelihood).any() else (labels, measure, log_likelihood)

    def _open(self, population: Population, i: int, model: Mixture, bound: _core.Likelihood, sequence: int) -> Chain:
        """A chain at a particle, with random numbers of its own."""
        start = {name: population.measure[name][i] for name in self.names}
        return Chain(
            model, self.data, self.kernel, labels=population.labels[i], seed=self.seed, sequence=sequence, start=start, bound=bound
        )

    def _bound(self, power: float) -> _core.Likelihood:
        return replace(self.model, power=power).bind(self.data)

    def _each(self, work: Callable[[int], float]) -> Sequence[float]:
        """Something of every particle, in threads."""
        if self._pool is None:
            return [work(i) for i in range(self.particles)]
        return list(self._pool.map(work, range(self.particles)))

    def _numbers(self, what: int, index: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(what, index)))


def conditional_share(log_weights: FloatArray, log_steps: FloatArray) -> float:
    """(Σ W w)² / Σ W w² in (0, 1], W the weights so far, which sum to 1, and w the factors that they are multiplied by.

    >>> conditional_share(np.log([0.5, 0.5]), np.array([0.0, 0.0]))
    1.0
    """
    first = float(np.logaddexp.reduce(log_weights + log_steps))
    second = float(np.logaddexp.reduce(log_weights + 2.0 * log_steps))
    return float(np.exp(min(2.0 * first - second, 0.0)))


def systematic(weights: Iterable[float], uniform: float) -> npt.NDArray[np.int64]:
    """Systematic resampling: particle i is taken floor or ceiling of N weights[i] times.

    >>> systematic([0.5, 0.25, 0.25, 0.0], 0.5)
    array([0, 0, 1, 2])
    """
    steps = np.cumsum(np.asarray(weights, float))
    places = (uniform + np.arange(len(steps))) / len(steps) * steps[-1]
    found = np.searchsorted(steps, places, side="right")
    return np.asarray(np.minimum(found, len(steps) - 1), dtype=np.int64)
