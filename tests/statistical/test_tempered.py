"""Parallel tempering sits the exam, its twin catches planted errors in trades, and a run of it is resumed bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.kernels import Tempered
from hedgerow.sampling import Chain
from hedgerow.testing import KernelDraws, check_kernel

PLANE = np.array([[-2.2, 0.3], [-1.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [2.0, 0.5], [2.6, 0.1]])
GAUSSIAN = hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2))
MODEL = hr.Mixture(hr.NGG(hr.Gamma(2, 2), 0.3), GAUSSIAN)
LOWER = 0.3


class Twin:
    """Two rungs, moved by `Chain` and traded here; what a planted error replaces is `log_r`."""

    def run(self, model: Any, X: Any, labels: Any, u: float, iterations: int, rng: np.random.Generator, **given: Any) -> KernelDraws:
        values, update_u = given["values"], given["update_u"]
        moving = (*model.prior.laws(), *model.prior.auxiliaries)
        start = {"u": u, **{name: values[name] for name in moving}}
        rungs = [replace(model, power=power) for power in (1.0, LOWER)]
        bound = [one.bind(X) for one in rungs]
        seed = int(rng.integers(2**31))
        chains = [
            Chain(one, X, hr.Gibbs(), labels=labels, seed=seed, sequence=i, start=start, update_u=update_u)
            for i, one in enumerate(rungs)
        ]
        kept, traces = np.empty((iterations, len(labels)), np.int32), {name: np.empty(iterations) for name in ("log_u", *moving)}
        for step in range(iterations):
            for chain in chains:
                chain.run(1)
            high, low = (chain.state() for chain in chains)
            here, there = ([float(one.log_marginals(state["labels"]).sum()) for state in (high, low)] for one in bound)
            if np.log(rng.random()) < self.log_r(here, there):
                for chain, state, other in zip(chains, (high, low), (low, high), strict=True):
                    chain.restore(state | {name: other[name] for name in ("labels", "measure")})
            now = chains[0].state()
            kept[step] = _canonical(now["labels"])
            for name, trace in traces.items():
                trace[step] = np.ravel(now["measure"][name])[0]
        return KernelDraws(kept, np.exp(traces.pop("log_u")), traces)

    def log_r(self, here: list[float], there: list[float]) -> float:
        """From log likelihoods at either power, of the upper partition and of the lower one."""
        return here[1] - here[0] - there[1] + there[0]


class AlwaysTrades(Twin):
    def log_r(self, here: list[float], there: list[float]) -> float:
        return 0.0


class LooksUpOnly(Twin):
    """The chain's own rung is weighed, the lower one is not."""

    def log_r(self, here: list[float], there: list[float]) -> float:
        return here[1] - here[0]


class GoesHalfWay(Twin):
    """The ratio of one likelihood ratio's root: trades too often."""

    def log_r(self, here: list[float], there: list[float]) -> float:
        return 0.5 * super().log_r(here, there)


def _canonical(labels: np.ndarray) -> np.ndarray:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)


BUDGET = {"replicates": 24, "iterations": 250, "warmup": 20}


def test_the_twin_passes() -> None:
    check_kernel(Twin(), MODEL, PLANE, **BUDGET).raise_if_failed()


@pytest.mark.parametrize("planted", [AlwaysTrades, LooksUpOnly, GoesHalfWay])
def test_planted_errors_are_caught(planted: type[Twin]) -> None:
    assert not check_kernel(planted(), MODEL, PLANE, **BUDGET).passed


# With one row swept an iteration, most of what moves the chain are trades: an error of theirs has nowhere to hide.
@pytest.mark.parametrize("powers", [(0.3,), (0.7, 0.4, 0.1)], ids=["two rungs", "four rungs"])
def test_bare_trades(powers: tuple[float, ...]) -> None:
    check_kernel(Tempered(powers, hr.Gibbs(subset=1)), MODEL, PLANE, iterations=1500).raise_if_failed()


def test_a_coarsened_target_keeps_its_power() -> None:
    model = hr.Mixture(hr.PitmanYor(0.6, 0.3), GAUSSIAN, power=0.6)
    check_kernel(Tempered([0.5], hr.Gibbs(subset=2)), model, PLANE, iterations=500).raise_if_failed()


def test_trades_are_in_the_record() -> None:
    post = hr.sample(MODEL, PLANE, temper=[0.5, 0.2], draws=40, warmup=20, chains=2, seed=0)
    told = post.run["temper"]
    assert told["powers"] == [0.5, 0.2]
    assert told["traded"] == [round(float(post.sample_stats[f"trade_{k}"].mean()), 3) for k in (1, 2)]
    assert all(0 < share <= 1 for share in told["traded"])
    assert all(trips > 0 for trips in told["round_trips"])
    assert len(told["round_trips"]) == 2


@pytest.mark.parametrize("at", [5, 14, 23], ids=["warm-up", "trading warm-up", "draws"])
@pytest.mark.parametrize("kernel", [hr.TreeGuided(), hr.cycle(hr.SplitMerge(), hr.Gibbs())], ids=["TreeGuided", "cycle"])
def test_a_chain_goes_on_bit_for_bit(kernel: hr.Kernel, at: int) -> None:
    warmup, X = 18, hr.data.ring13(n=65).X
    model = hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2)), hr.GaussianWishart()).resolve(X)

    def chain() -> Chain:
        return Chain(model, X, Tempered([0.7, 0.5], kernel), labels=np.zeros(65, int), seed=4)

    def advance(one: Chain, begin: int, end: int) -> Any:
        warming = max(0, min(end, warmup) - begin)
        one.warm_up(warming, begin, warmup)
        return one.run(end - begin - warming) if end > begin + warming else None

    whole, first, second = chain(), chain(), chain()
    advance(first, 0, at)
    state = first.state()
    second.restore(state)
    advance(whole, 0, at)
    wanted, found = (advance(one, at, 60) for one in (whole, second))
    assert np.array_equal(wanted.labels, found.labels)
    assert np.array_equal(wanted.log_joint, found.log_joint)
    for name, values in wanted.stats.items():
        assert np.array_equal(values, found.stats[name], equal_nan=True)


def test_a_folder_of_it_is_resumed_bit_for_bit(tmp_path: Path) -> None:
    whole = hr.sample(MODEL, PLANE, temper=[0.5], draws=30, warmup=10, chains=2, seed=1)
    hr.sample(MODEL, PLANE, temper=[0.5], draws=12, warmup=10, chains=2, seed=1, checkpoint=tmp_path / "run")
    found = hr.resume(tmp_path / "run", draws=30)
    assert np.array_equal(whole.labels, found.labels)
    assert found.run["temper"] == whole.run["temper"]


def test_a_state_that_cannot_be_is_refused() -> None:
    chain = Chain(MODEL, PLANE, Tempered([0.5, 0.2], hr.Gibbs()), seed=0)
    chain.run(3)
    good = chain.state()
    counters, whole, real = (good[name] for name in ("kernel_counters", "kernel_whole", "kernel_real"))
    bad = [
        {"kernel_counters": np.array([7, *counters[1:]], np.int32)},
        {"kernel_counters": np.array([counters[0], 1, 1, *counters[3:]], np.int32)},
        {"kernel_counters": np.array([*counters[:-1], 2], np.int32)},
        {"kernel_whole": np.where(np.arange(len(whole)) == 2, 99, whole).astype(np.int32)},
        {"kernel_whole": whole[:-1]},
        {"kernel_real": np.where(np.arange(len(real)) == 1, -1.0, real)},
        {"kernel_real": np.append(real, 0.0)},
    ]
    for change in bad:
        with pytest.raises(hr.ParameterError, match="does not fit"):
            Chain(MODEL, PLANE, Tempered([0.5, 0.2], hr.Gibbs()), seed=0).restore(good | change)


@pytest.mark.parametrize("powers", [[], [1.0], [0.0], [0.3, 0.5], [0.5, 0.5], "0.5", [np.nan], None])
def test_powers_that_are_none_are_refused(powers: Any) -> None:
    with pytest.raises(hr.ParameterError, match=r"Tempered\(powers="):
        Tempered(powers)


def test_what_cannot_be_tempered_is_refused() -> None:
    with pytest.raises(hr.ParameterError, match="without rungs of its own"):
        hr.sample(MODEL, PLANE, kernel=Tempered([0.5]), temper=[0.5])
    with pytest.raises(hr.ParameterError, match="be exact"):
        hr.sample(MODEL, PLANE, kernel=hr.TreeGuidedPublished(), temper=[0.5])
    gaps = PLANE.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(hr.ParameterError, match="filled in"):
        hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), gaps, temper=[0.5])
