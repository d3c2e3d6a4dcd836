"""The ladder sits the exam: unbiased normalisers at every rung, weighted draws, planted errors; one seed, one answer; stopped runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.kernels import Kernel
from hedgerow.sampling import population
from hedgerow.sampling.population import Climb
from hedgerow.testing import check_weighted, exact_posterior

PLANE = np.array([[-2.2, 0.3], [-1.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [2.0, 0.5], [2.6, 0.1]])
GAUSSIAN = hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2))
COUNTS = np.array([[5, 0, 1], [4, 1, 0], [0, 6, 1], [1, 5, 2], [0, 1, 7], [2, 2, 2]])
POWERS = [0.1, 0.3, 0.6]
MODELS: dict[str, tuple[hr.Mixture, Any]] = {
    "DP": (hr.Mixture(hr.DP(0.8), GAUSSIAN), PLANE),
    "NGG": (hr.Mixture(hr.NGG(0.7, 0.3, 1.5), GAUSSIAN), PLANE),
    "Stable": (hr.Mixture(hr.Stable(1.3, 0.45), GAUSSIAN), PLANE),
    "PitmanYor": (hr.Mixture(hr.PitmanYor(0.6, 0.3), hr.Multinomial(0.5)), COUNTS),
    "DP sampled": (hr.Mixture(hr.DP(hr.Gamma(2, 2)), hr.Poisson(1.0, 0.5)), COUNTS),
    "NGG sampled": (hr.Mixture(hr.NGG(hr.Gamma(2, 2), hr.Beta(2, 2)), GAUSSIAN), PLANE),
    "coarsened": (hr.Mixture(hr.DP(0.8), GAUSSIAN, power=0.7), PLANE),
}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads cost more than they save on six rows, and change nothing."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)


def climb(model: hr.Mixture, X: Any, seed: int, kernel: Kernel | None = None, powers: Any = POWERS) -> hr.LadderResult:
    return hr.ladder(model, X, particles=8, powers=powers, kernel=kernel, seed=seed)


@pytest.mark.parametrize("name", MODELS)
def test_exam(name: str) -> None:
    model, X = MODELS[name]
    check_weighted(lambda seed: climb(model, X, seed, hr.Gibbs()), model, X, runs=150).raise_if_failed()


def test_own_kernel_sits_the_exam() -> None:
    """Guides are grown from the rows, no number of moves depends on where a particle is."""
    model, X = MODELS["NGG sampled"]
    check_weighted(lambda seed: climb(model, X, seed), model, X, runs=150).raise_if_failed()


def test_every_rung_has_its_normaliser() -> None:
    model, X = MODELS["NGG"]
    wanted = [exact_posterior(replace(model, power=power), X).log_evidence for power in (*POWERS, 1.0)]
    found = np.array([climb(model, X, seed, hr.Gibbs()).log_normalizers for seed in range(150)])
    ratio = np.exp(found - wanted)
    # Means of 150 unbiased ratios; four standard errors are a false alarm of 6e-5 for each rung.
    assert (np.abs(ratio.mean(axis=0) - 1) < 4 * ratio.std(axis=0, ddof=1) / np.sqrt(len(ratio))).all()


def test_chosen_rungs_are_consistent() -> None:
    """Rungs that depend on the particles cost a bias that many particles make small beside the standard error."""
    model, X = MODELS["NGG"]
    exact = exact_posterior(model, X)
    found = hr.ladder(model, X, particles=200, kernel=hr.Gibbs(), seed=1)
    assert len(found.powers) >= 50
    assert (np.diff(found.powers) > 0).all()
    assert found.powers[-1] == 1
    # Four of its own standard errors, a tenth of a nat each at the most, are a false alarm of 6e-5.
    assert abs(found.log_evidence - exact.log_evidence) < 4 * found.log_evidence_se < 0.4
    K = exact.n_clusters
    spread = np.sqrt((exact.expect(K**2) - exact.expect(K) ** 2) * (found.weights**2).sum())
    # Moved at fifty rungs, particles are next to independent.
    assert abs(found.weights @ found.n_clusters - exact.expect(K)) < 4 * spread


class ForgetsWeights(Climb):
    """Resampled by nobody's weight."""

    def climb(self, *args: Any) -> Any:
        resample, population.systematic = population.systematic, lambda weights, uniform: np.arange(len(weights))
        try:
            return super().climb(*args)
        finally:
            population.systematic = resample


class LeavesAWeightOut(Climb):
    """The step from the prior to the first rung has none."""

    def climb(self, particles: Any, rungs: Any, power: float, stop: Any) -> Any:
        if not rungs.powers:
            particles = replace(particles, log_likelihood=self.log_likelihoods(particles, power))
        return super().climb(particles, rungs, power, stop)


class WeighsAfterMoving(Climb):
    """The weight is taken at the partition before the last rung's moves, not at the one that is there."""

    def climb(self, particles: Any, rungs: Any, power: float, stop: Any) -> Any:
        done = super().climb(particles, rungs, power, stop)
        return replace(done[0], log_likelihood=self.log_likelihoods(particles, power)), done[1]


class MovesAtTheTop(Climb):
    """Moves at every rung leave the last target invariant."""

    def _move(self, particles: Any, parents: Any, power: float, index: int, stop: Any) -> Any:
        labels, measure, _ = super()._move(particles, parents, self.model.power, index, stop)
        moved = replace(particles, labels=labels)
        return labels, measure, self.log_likelihoods(moved, power)


@pytest.mark.parametrize("planted", [ForgetsWeights, LeavesAWeightOut, WeighsAfterMoving, MovesAtTheTop])
def test_planted_errors_are_caught(planted: type[Climb], monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = MODELS["DP"]
    monkeypatch.setattr("hedgerow.sampling.climbing.Climb", planted)
    monkeypatch.setattr(population, "RESAMPLE", 0.99)
    powers = [0.5]  # steps that are long enough for what is left out to count
    assert not check_weighted(lambda seed: climb(model, X, seed, hr.Gibbs(), powers), model, X, runs=300).passed


def test_nothing_planted_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = MODELS["DP"]
    monkeypatch.setattr(population, "RESAMPLE", 0.99)
    check_weighted(lambda seed: climb(model, X, seed, hr.Gibbs(), [0.5]), model, X, runs=300).raise_if_failed()


def same(one: hr.LadderResult, two: hr.LadderResult) -> bool:
    arrays = ("labels", "weights", "log_joint", "log_u", "alpha", "powers", "log_normalizers", "effective")
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in arrays)


def test_a_seed_decides_everything_whatever_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianWishart()), hr.data.ring13(n=65).X
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("os.cpu_count", lambda threads=threads: threads)
        found.append(hr.ladder(model, X, particles=6, seed=5))
    assert same(*found)
    assert not same(found[0], hr.ladder(model, X, particles=6, seed=6))


class KilledError(Exception):
    """In the place of a kill."""


def test_a_stopped_run_goes_on_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianWishart()), hr.data.ring13(n=65).X
    monkeypatch.setattr("hedgerow.sampling.climbing.SECONDS", 0.0)
    whole = hr.ladder(model, X, particles=6, seed=5)
    climb, file = Climb.climb, tmp_path / "run.ladder"

    def killed(self: Climb, particles: Any, rungs: Any, power: float, stop: Any) -> Any:
        if len(rungs.powers) == 20:
            raise KilledError
        return climb(self, particles, rungs, power, stop)

    monkeypatch.setattr(Climb, "climb", killed)
    with pytest.raises(KilledError):
        hr.ladder(model, X, particles=6, seed=5, checkpoint=file)
    monkeypatch.setattr(Climb, "climb", climb)
    assert same(whole, hr.ladder(model, X, particles=6, checkpoint=file))
    assert same(whole, hr.ladder(model, X, particles=6, checkpoint=file))  # a finished one comes back as it is
    for options in ({"particles": 7}, {"moves": 2}, {"seed": 6}, {"kernel": hr.Gibbs()}, {"powers": [0.5]}):
        with pytest.raises(hr.ParameterError, match="checkpoint must be a new file or one of this run"):
            hr.ladder(model, X, **({"particles": 6, "checkpoint": file} | options))
    with pytest.raises(hr.ParameterError, match="Got other data"):
        hr.ladder(model.resolve(X), X + 1e-9, particles=6, checkpoint=file)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(hr.ParameterError):
        hr.ladder(model, X, particles=6, checkpoint=file)


def test_stopped_by_hand_it_gives_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = hr.Mixture(hr.DP(), hr.GaussianWishart()), hr.data.ring13(n=65).X
    climb = Climb.climb

    def stopped(self: Climb, particles: Any, rungs: Any, power: float, stop: Any) -> Any:
        stop.asked = stop.interrupted = len(rungs.powers) == 20
        return climb(self, particles, rungs, power, stop)

    monkeypatch.setattr(Climb, "climb", stopped)
    found = hr.ladder(model, X, particles=4, seed=0)
    assert len(found.powers) == 20
    assert found.run["interrupted"]
    assert found.model.power == found.powers[-1] < 1
    assert found.log_joint[0] == pytest.approx(found.model.log_joint(X, found.labels[0]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("particles", 1),
        ("moves", 0),
        ("rungs", 0),
        ("share", 1.0),
        ("seed", -1),
        ("model", "DP"),
        ("powers", [0.0, 0.5]),
        ("powers", [0.5, 1.5]),
        ("kernel", hr.TreeGuided()),
        ("kernel", hr.cycle(hr.Gibbs(), hr.TreeGuided())),
        ("kernel", hr.TreeGuidedPublished()),
        ("kernel", "Gibbs"),
    ],
)
def test_bad_arguments(name: str, value: object) -> None:
    arguments = {"model": MODELS["DP"][0], name: value}
    model = arguments.pop("model")
    with pytest.raises(hr.ParameterError, match=f"ladder\\({name}="):
        hr.ladder(model, PLANE, **arguments)


def test_what_cannot_climb_is_refused() -> None:
    with pytest.raises(hr.ParameterError, match="without groups"):
        hr.ladder(hr.Mixture(hr.MixedNRM(hr.DP(), decay=0.5), GAUSSIAN), PLANE)
    gap = np.array(PLANE)
    gap[0, 0] = np.nan
    with pytest.raises(hr.ParameterError, match="no missing entries"):
        hr.ladder(hr.Mixture(hr.DP(), hr.GaussianWishart()), gap)
