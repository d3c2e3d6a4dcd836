"""ladder(): weighted draws and the evidence, by a population that climbs from the prior to the posterior through powers between.

Between powers 0 and 1 clusters part one after the other. Where a population climbs, moved by an exact kernel at every rung, heavier
modes win their share by weight (sequential Monte Carlo; `hedgerow.sampling.population` has the equations).
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow import _core
from hedgerow.arguments import check_seed, check_whole, real_number
from hedgerow.errors import require
from hedgerow.kernels import Kernel, Site, SplitMerge, TreeGuided, cycle
from hedgerow.kernels.smc import FloatArray, WeightedDraws, descent_error
from hedgerow.mixture import LEAST_POWER, Mixture
from hedgerow.sampling.interrupts import Stop, heed_interrupts
from hedgerow.sampling.ladder_file import read_ladder, write_ladder
from hedgerow.sampling.population import Climb, Population, Rungs
from hedgerow.sampling.progress import Progress, Update, open_progress
from hedgerow.trees import ibhc
from hedgerow.writing import check_target

__all__ = ["LadderResult", "ladder"]

OWNER = "ladder"
GUIDES, GLOBAL_MOVES, SCANS = 2, 10, 3  # of the kernel by default
LEAST_RUNGS = 50
SECONDS = 10.0  # between two states in a file
BARS = 1000  # steps of the bar, along the square root of the power, as rungs go


@dataclass(frozen=True, repr=False)
class LadderResult(WeightedDraws):
    """Weighted draws at the power that a population has climbed to, with the record of its rungs, from `ladder`.

    `model.power` is that power: below the one asked for where the run was stopped. `log_evidence_se` comes from the particles' lines
    of descent (Lee & Whiteley 2018), where 1 means that all particles descend from one draw of the prior and it is not known: ask
    for more particles, or compare runs with different seeds.

    Attributes
    ----------
    log_evidence, log_evidence_se : float
        Log of the normaliser at that power, log p(X) at power 1, and its standard error.
    labels : (particles, n) int32
    weights, log_joint, log_u, alpha, sigma, tau, theta : (particles,)
        Weight, log joint and state of every particle.
    model : Mixture
    powers, log_normalizers, effective : (rungs,)
        Power of every rung, the logarithm of its target's normaliser, and the effective number of particles after reweighting.
    run : dict
        Seed, kernel, particles, moves, seconds, whether it was interrupted.

    >>> import hedgerow as hr
    >>> found = hr.ladder(hr.Mixture(hr.DP(), hr.GaussianWishart()), hr.data.ring13(n=26).X, particles=8, seed=0)
    >>> found.labels.shape, float(found.powers[-1]), found.effective.shape == found.log_normalizers.shape
    ((8, 26), 1.0, True)
    """

    powers: FloatArray
    log_normalizers: FloatArray
    effective: FloatArray
    run: dict[str, Any] = field(repr=False)


def ladder(
    model: Mixture,
    X: Any,
    *,
    particles: int = 32,
    moves: int = 1,
    powers: Sequence[float] | None = None,
    rungs: int = LEAST_RUNGS,
    share: float = 0.9,
    kernel: Kernel | None = None,
    seed: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> LadderResult:
    """Climb from the prior to the posterior through powers of the likelihood, with weights.

    Every particle is an exact draw of the prior at first. At every rung all are reweighted by the ratio of the two targets at their
    partition, resampled where few of them count, and moved by a kernel that leaves the target of that rung invariant. With `powers`
    given the estimate of the normaliser is unbiased; rungs that are chosen on the way make it consistent only, with a bias that
    falls with the number of particles.

    Parameters
    ----------
    model : Mixture
        Its power, 1 if nothing is said, is the last rung. Priors with groups are refused, and rows with entries to be filled in.
    X : table
    particles : int
        More of them tell the masses of modes better; they are moved in threads.
    moves : int
        Iterations of the kernel at every rung.
    powers : sequence of float, optional
        The rungs; the model's power is added where it is missing. Left out, each is as far from the one before as `rungs` and `share`
        let it be.
    rungs : int
        At least so many, evenly on the scale of the power's square root.
    share : float in (0, 1)
        Of the particles that stay effective from rung to rung.
    kernel : Kernel, optional
        One that nothing adapts, such as `SplitMerge()`. By default splits and merges along trees that are grown once for all particles,
        one split or merge of a random pair, and a sweep.
    seed : int, optional
        Decides everything, whatever the number of threads.
    checkpoint : path, optional
        A file with the present population. Where it exists already the run goes on from it and gives what it would have given; a file
        of another run is refused.
    progress : bool, optional
        A bar on the error stream; by default when it is a terminal.

    Chains of one run that start at draws of one population (``sample(..., init=found.draw(4))``) share what it found: that they
    agree proves less than if each had climbed by itself.

    Ctrl-C gives back the population of the last rung that was finished, at its power.

    Returns
    -------
    LadderResult

    >>> import hedgerow as hr
    >>> X = hr.data.ring13(n=39).X
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    >>> found = ladder(model, X, particles=8, seed=0)
    >>> post = hr.sample(model, X, init=found.draw(2, seed=0), chains=2, draws=5, warmup=5, seed=0)
    >>> post.labels.shape
    (2, 5, 39)
    """
    clock = time.perf_counter()
    _check_numbers(particles=particles, moves=moves, rungs=rungs)
    good = 0 < real_number(share) < 1
    require(good, OWNER, "share", share, "be a number between 0 and 1")
    check_seed(OWNER, seed)
    model, data = _read_model(model, X)
    given = None if powers is None else _read_powers(powers, model.power)
    file = None if checkpoint is None else check_target(checkpoint, OWNER, "checkpoint")
    begun = None if file is None or not file.exists() else read_ladder(file)
    if seed is None:
        seed = secrets.randbits(48) if begun is None else begun.seed
    kernel = _own_kernel(model, data, int(seed)) if kernel is None else _read_kernel(kernel)
    plan = {"powers": given, "rungs": int(rungs), "share": float(share)}
    with Climb(model, data, kernel, particles=int(particles), moves=int(moves), seed=int(seed)) as climb:
        if begun is not None:
            begun.check(climb, plan)
        run = _Run(climb, plan, file)
        with heed_interrupts(run.stop), open_progress(progress, 1, BARS, "ladder") as bars:
            run.go(None if begun is None else begun.population, Rungs() if begun is None else begun.rungs, bars)
        return run.result(round(time.perf_counter() - clock, 3))


class _Run:
    """One call of `ladder`, from the prior or a stored population to the last rung."""

    def __init__(self, climb: Climb, plan: dict[str, Any], file: Path | None) -> None:
        self.climb, self.plan, self.file = climb, plan, file
        self.stop = Stop()
        self.population: Population | None = None
        self.rungs = Rungs()

    def go(self, population: Population | None, rungs: Rungs, bars: Progress) -> None:
        """Rung after rung until the top, or until somebody stops it."""
        self.population, self.rungs = population, rungs
        last = time.monotonic()
        while self.rungs.power < self.climb.model.power and not self.stop.asked:
            if self.population is None:
                self.population = self.climb.begin()
            climbed = self.climb.climb(self.population, self.rungs, self.next_power(), self.stop)
            if climbed is None:
                break
            self.population, self.rungs = climbed
            done = round(BARS * float(np.sqrt(self.rungs.power / self.climb.model.power)))
            clusters = float(np.exp(self.population.log_weights) @ (self.population.labels.max(axis=1) + 1))
            bars.show(Update(0, done, BARS, False, round(clusters), float(self.population.log_likelihood.mean())))
            if self.file is not None and time.monotonic() - last >= SECONDS:
                write_ladder(self.file, self.climb, self.plan, self.population, self.rungs)
                last = time.monotonic()
        if self.population is None or not self.rungs.powers:
            raise KeyboardInterrupt
        if self.file is not None:
            write_ladder(self.file, self.climb, self.plan, self.population, self.rungs)

    def next_power(self) -> float:
        """Given, or chosen now."""
        if self.plan["powers"] is not None:
            return float(self.plan["powers"][len(self.rungs.powers)])
        assert self.population is not None
        return self.climb.next_power(self.population, self.rungs, self.plan["rungs"], self.plan["share"])

    def result(self, seconds: float) -> LadderResult:
        """The population with the record of the run."""
        climb, population, rungs = self.climb, self.population, self.rungs
        assert population is not None
        weights = np.exp(population.log_weights)
        model = replace(climb.model, power=rungs.power)
        return LadderResult(
            log_evidence=rungs.log_normalizers[-1],
            log_evidence_se=descent_error(weights, population.first, sum(rungs.resampled)),
            labels=population.labels,
            weights=weights / weights.sum(),
            log_joint=climb.log_joints(population, rungs.power),
            model=model,
            powers=np.array(rungs.powers),
            log_normalizers=np.array(rungs.log_normalizers),
            effective=np.array(rungs.effective),
            run={
                "seed": climb.seed,
                "kernel": repr(climb.kernel),
                "particles": climb.particles,
                "moves": climb.moves,
                "seconds": seconds,
                "interrupted": rungs.power < climb.model.power,
            },
            **population.measure,
        )


class _Shared(Kernel):
    """The default kernel: its compiled recipe is made once, trees and all, and serves every particle."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._recipe: _core.Kernel | None = None

    def __repr__(self) -> str:
        return repr(self.kernel)

    def to_core(self, site: Site) -> _core.Kernel:
        """The recipe, which depends on the rows alone."""
        if self._recipe is None:
            self._recipe = self.kernel.to_core(site)
        return self._recipe


def _own_kernel(model: Mixture, data: Any, seed: int) -> Kernel:
    """Guides from the rows alone, numbers of moves that nothing adapts: exact from the first iteration on."""
    split_merge = SplitMerge(scans=SCANS, subset=1)
    if data.shape[0] < 2:
        return SplitMerge(scans=SCANS)
    words = np.random.SeedSequence(seed, spawn_key=(GUIDES,)).generate_state(GUIDES, np.uint64) >> np.uint64(1)
    guides = [ibhc(model, data, passes=1, seed=int(word)).to_linkage() for word in words]
    return _Shared(cycle(split_merge, TreeGuided(GLOBAL_MOVES, 0, guides, anneal=False)))


def _check_numbers(**given: Any) -> None:
    least = {"particles": 2, "moves": 1, "rungs": 1}
    for name, value in given.items():
        check_whole(OWNER, name, value, least[name])


def _read_model(model: Mixture, X: Any) -> tuple[Mixture, Any]:
    """Resolved, on checked rows, and fit to be raised to powers."""
    require(isinstance(model, Mixture), OWNER, "model", model, "be a Mixture")
    able = model.likelihood.allows_power
    require(
        able, OWNER, "model", model, f"have a likelihood that can be raised to a power, which {type(model.likelihood).__name__} cannot"
    )
    require(not model.prior.grouped, OWNER, "model", model, "have a prior without groups, since particles begin as draws of it")
    model = model.resolve(X)
    data = model.likelihood.check(X)
    whole = getattr(model.bind(data), "n_imputed", 0) == 0
    require(whole, OWNER, "X", X, "have no missing entries here, where they would have to be filled in")
    return model, data


def _read_powers(powers: Sequence[float], top: float) -> list[float]:
    require(np.ndim(powers) == 1 and isinstance(powers, Sequence | np.ndarray), OWNER, "powers", powers, "be numbers, or None")
    found = sorted({real_number(power) for power in powers} | {top})
    wanted = f"lie between {LEAST_POWER:.0e} and the power of the model, {top:g}"
    require(found[0] >= LEAST_POWER and found[-1] == top, OWNER, "powers", powers, wanted)
    return found


def _read_kernel(kernel: Kernel) -> Kernel:
    require(isinstance(kernel, Kernel), OWNER, "kernel", kernel, "be a kernel such as SplitMerge()")
    require(kernel.exact, OWNER, "kernel", kernel, "be exact")
    fixed = "be one that nothing adapts, such as SplitMerge(), Gibbs(), or TreeGuided with guides and both numbers of moves given"
    require(not kernel.adapts, OWNER, "kernel", kernel, fixed)
    return kernel
