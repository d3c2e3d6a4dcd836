"""Simulation-based calibration: the truth ranks uniformly among draws, for every hyper-parameter, K, u and the log joint.

False alarms: 1 in 10,000 for each report; seeds are fixed. `make calibrate` runs the long version.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.testing import ReferenceGibbs, SbcReport, sbc
from hedgerow.testing.driving import KernelDraws, drive

PRIORS = {
    "DP": hr.DP(hr.Gamma(1, 1)),
    "NGG": hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 3), hr.Gamma(2, 2)),
    "NIG": hr.NIG(hr.Gamma(1, 1), hr.Gamma(2, 2)),
    "Stable": hr.Stable(hr.Gamma(2, 2), hr.Beta(6, 6)),
    "PitmanYor": hr.PitmanYor(hr.Gamma(1, 1), hr.Beta(1, 3)),
}
LIKELIHOODS: dict[str, Any] = {
    "GaussianWishart": hr.GaussianWishart(mean=[0.0, 0.0], r=0.2, nu=5.0, psi=[[1.0, 0.3], [0.3, 1.0]]),
    "GaussianDiagonal": hr.GaussianDiagonal(mean=[0.0], r=[0.2], a=[2.0], b=[1.0]),
    "Multinomial": hr.Multinomial(0.5).resolve(np.full((1, 5), 4)),
    "Bernoulli": hr.Bernoulli(a=[0.5] * 4, b=[0.5] * 4),
    "Categorical": hr.Categorical(0.5).resolve(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])),
    "Poisson": hr.Poisson(a=[1.0, 1.0], b=[0.2, 0.2]),
}
KERNELS = [hr.TreeGuided(), hr.SplitMerge(scans=3), hr.cycle(hr.Gibbs(subset=4), hr.SplitMerge(scans=2))]
NGG, GAUSS = PRIORS["NGG"], LIKELIHOODS["GaussianDiagonal"]


def tell(report: SbcReport, capsys: Any) -> None:
    closest = min(report.findings, key=lambda finding: finding.p_value)  # type: ignore[return-value]
    with capsys.disabled():
        tests = len(report.findings)
        found = f"{tests} tests, smallest p {closest.p_value:.2g} ({closest.what})"
        print(f"\n{report.name}: {len(report.ranks['clusters'])} data sets, {found}", end="")


@pytest.mark.parametrize(("prior", "likelihood"), [("NGG", "GaussianDiagonal"), ("PitmanYor", "Poisson"), ("DP", "GaussianWishart")])
def test_ranks_are_uniform(prior, likelihood) -> None:
    model = hr.Mixture(PRIORS[prior], LIKELIHOODS[likelihood])
    report = sbc(hr.Gibbs(), model, 12, replicates=120).raise_if_failed()
    moving = {"log u"} if prior == "NGG" else set()
    assert set(report.ranks) == {*PRIORS[prior].laws(), "clusters", "log joint"} | moving


def test_the_default_kernel() -> None:
    sbc(hr.TreeGuided(), hr.Mixture(NGG, GAUSS), 12, replicates=80).raise_if_failed()


class AnotherLaw:
    """Draws as if α had another law than the model says."""

    def run(self, model: Any, X: Any, labels: Any, u: float, iterations: int, rng: Any, **rest: Any) -> KernelDraws:
        wrong = replace(model, prior=replace(model.prior, alpha=hr.Gamma(3, 1)))
        seed = int(rng.integers(2**31))
        return drive(hr.Gibbs(), wrong, X, labels, u, rest["values"], iterations, seed, 0, rest["update_u"])


class OverSure(hr.GaussianDiagonal):
    """Simulates what it should and believes something narrower."""

    def bind(self, X: Any, power: float = 1.0) -> Any:
        return hr.GaussianDiagonal(self.mean, self.r, self.a, 0.1 * np.asarray(self.b)).bind(X)


class StaysPut(ReferenceGibbs):
    """Moves the partition and never the hyper-parameters."""

    def move_values(self, prior: Any, values: Any, sizes: Any, u: float, rng: Any) -> dict[str, float]:
        return dict(values)


@pytest.mark.parametrize(
    ("kernel", "model", "what"),
    [
        (AnotherLaw(), hr.Mixture(NGG, GAUSS), "mean rank of alpha"),
        (hr.Gibbs(), hr.Mixture(PRIORS["DP"], OverSure([0.0], [0.2], [2.0], [1.0])), "log joint"),
        (StaysPut(), hr.Mixture(PRIORS["DP"], GAUSS), "spread of the ranks of alpha"),
    ],
)
def test_planted_errors_are_caught(kernel, model, what) -> None:
    report = sbc(kernel, model, 8, replicates=100, warmup=30, thin=6)
    assert not report.passed
    assert any(what in failure.what for failure in report.failures), report.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, "n must be a whole number from 1 up"),
        ({"replicates": 3}, "replicates must be a whole number from 20 up"),
        ({"model": hr.Mixture(hr.DP(), hr.GaussianDiagonal())}, "be resolved"),
        ({"model": hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 0.1), decay=0.3), GAUSS)}, "have a prior without groups"),
    ],
)
def test_refused(change, words) -> None:
    with pytest.raises(hr.ParameterError, match=words):
        sbc(hr.Gibbs(), **({"model": hr.Mixture(NGG, GAUSS), "n": 5} | change))


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_every_prior_with_every_likelihood(prior, likelihood, capsys) -> None:
    report = sbc(hr.Gibbs(), hr.Mixture(PRIORS[prior], LIKELIHOODS[likelihood]), 15, replicates=600, thin=20, seed=1)
    tell(report, capsys)
    report.raise_if_failed()


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("prior", ["NGG", "PitmanYor"])
def test_every_kernel(kernel, prior, capsys) -> None:
    report = sbc(kernel, hr.Mixture(PRIORS[prior], GAUSS), 15, replicates=600, thin=20, seed=2)
    tell(report, capsys)
    report.raise_if_failed()
