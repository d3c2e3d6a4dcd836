"""Planted errors: small mistakes in samplers and likelihoods, each of which the exam must catch.

A check that passes everything is worse than none. Each class below is wrong in one small way, as real code gets
wrong; the correct ones, run by the same calls, pass.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hedgerow.likelihoods import GaussianDiagonal
from hedgerow.mixture import Mixture
from hedgerow.priors import NGG, Beta, Gamma
from hedgerow.reference import gibbs
from hedgerow.reference import prior as law_of
from hedgerow.testing import KernelDraws, ReferenceGibbs, check_kernel, check_likelihood, geweke

X = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.8, -0.6], [1.4, 0.5]])
LIKELIHOOD = GaussianDiagonal(mean=[0, 0], r=0.3, a=1.5, b=0.25).resolve(X)
FIXED = Mixture(NGG(0.8, 0.4), LIKELIHOOD)
SAMPLED = Mixture(NGG(Gamma(2, 2), Beta(2, 2)), LIKELIHOOD)
SAMPLED_TAU = Mixture(NGG(0.8, 0.4, Gamma(2, 2)), LIKELIHOOD)
BUDGET = {"replicates": 24, "iterations": 160, "warmup": 15}


class ForgetsSigma(ReferenceGibbs):
    """Joins a cluster with weight |c|, not |c| - σ."""

    def weights(self, prior: Any, u: float, values: Any, update_u: bool) -> Any:
        alpha, sigma, tau = prior.measure(values)
        _, log_new = gibbs.nrm_weights(u, alpha, sigma, tau)
        return lambda m: math.log(m) - math.log(u + tau), log_new


class CountsItself(ReferenceGibbs):
    """Does not take the row out of its cluster's size before weighing."""

    def weights(self, prior: Any, u: float, values: Any, update_u: bool) -> Any:
        log_old, log_new = gibbs.nrm_weights(u, *prior.measure(values))
        return lambda m: log_old(m + 1), log_new


class NewClusterForFree(ReferenceGibbs):
    """Opens a cluster with weight α, without (u+τ)^(σ-1)."""

    def weights(self, prior: Any, u: float, values: Any, update_u: bool) -> Any:
        log_old, _ = gibbs.nrm_weights(u, *prior.measure(values))
        return log_old, lambda K: math.log(values["alpha"])


class NoJacobian(ReferenceGibbs):
    """Updates log u with the density of u."""

    def move_u(self, u: float, n: int, K: int, measure: Any, rng: Any) -> float:
        return gibbs.update_positive(u, lambda v: float(law_of.u_log_density(v, n, K, *measure)) - v, rng)


class FactorPerCluster(ReferenceGibbs):
    """Every cluster's marginal likelihood is a quarter too large."""

    def log_marginal(self, value: float) -> float:
        return value + math.log(1.25)


class ForgetsPsiInAlpha(ReferenceGibbs):
    """α | Π, u without the exponent in its rate."""

    def move_measure(self, name: str, law: Any, measure: Any, sizes: Any, u: float, rng: Any) -> float:
        if name == "alpha":
            return float(rng.gamma(law[0] + len(sizes)) / (law[1] + 1.0))
        return super().move_measure(name, law, measure, sizes, u, rng)


class OneClusterShortInAlpha(ReferenceGibbs):
    """α | Π, u with K - 1 in its shape."""

    def move_measure(self, name: str, law: Any, measure: Any, sizes: Any, u: float, rng: Any) -> float:
        if name == "alpha":
            return gibbs.update_alpha(len(sizes) - 1, u, measure[1], measure[2], law, rng)
        return super().move_measure(name, law, measure, sizes, u, rng)


class SigmaWithoutJacobian(ReferenceGibbs):
    """Updates logit σ with the density of σ."""

    def move_measure(self, name: str, law: Any, measure: Any, sizes: Any, u: float, rng: Any) -> float:
        if name == "sigma":
            law = (law[0] - 1, law[1] - 1)
        return super().move_measure(name, law, measure, sizes, u, rng)


class TauWithoutJacobian(ReferenceGibbs):
    """Updates log τ with the density of τ."""

    def move_measure(self, name: str, law: Any, measure: Any, sizes: Any, u: float, rng: Any) -> float:
        return super().move_measure(name, (law[0] - 1, law[1]), measure, sizes, u, rng)


class NeverMoves(ReferenceGibbs):
    """Leaves every law invariant, and stays where it is."""

    def run(self, model: Any, X: Any, labels: Any, u: float, iterations: int, rng: Any, **rest: Any) -> KernelDraws:
        return KernelDraws(np.tile(labels, (iterations, 1)), np.full(iterations, u), {})


class ChoosesByState(ReferenceGibbs):
    """Resamples only the rows of the largest cluster: which rows move depends on the state."""

    def run(self, model: Any, X: Any, labels: Any, u: float, iterations: int, rng: Any, **rest: Any) -> KernelDraws:
        kept, us = [], []
        for _ in range(iterations):
            before = labels
            largest = before == np.argmax(np.bincount(before))
            draws = super().run(model, X, labels, u, 1, rng, **rest)
            after, u = draws.labels[0], float(draws.u[0])
            # Keep a row's move only if it was in the largest cluster: the others return to their own.
            names = np.where(largest, after + 100, before)
            labels = np.unique(names, return_inverse=True)[1]
            labels = gibbs.labels_of(gibbs.clusters_of(labels), len(labels))
            kept.append(labels)
            us.append(u)
        return KernelDraws(np.array(kept), np.array(us), {})


@pytest.mark.parametrize(("model", "u"), [(FIXED, None), (FIXED, 1.7), (SAMPLED, None), (SAMPLED_TAU, None)])
def test_the_correct_sampler_passes(model: Mixture, u: float | None) -> None:
    check_kernel(ReferenceGibbs(), model, X, u=u, **BUDGET).raise_if_failed()


@pytest.mark.parametrize(
    ("planted", "model", "u"),
    [
        (ForgetsSigma, FIXED, 1.7),
        (ForgetsSigma, FIXED, None),
        (CountsItself, FIXED, 1.7),
        (NewClusterForFree, FIXED, 1.7),
        (NoJacobian, FIXED, None),
        (FactorPerCluster, FIXED, 1.7),
        (FactorPerCluster, FIXED, None),
        (NeverMoves, FIXED, 1.7),
        (ChoosesByState, FIXED, 1.7),
        (ForgetsPsiInAlpha, SAMPLED, None),
        (OneClusterShortInAlpha, SAMPLED, None),
        (SigmaWithoutJacobian, SAMPLED, None),
        (TauWithoutJacobian, SAMPLED_TAU, None),
    ],
)
def test_enumeration_catches(planted: type[ReferenceGibbs], model: Mixture, u: float | None) -> None:
    report = check_kernel(planted(), model, X, u=u, **BUDGET)
    assert not report.passed, report.text


class Restless(ReferenceGibbs):
    """Correct, but its draws depend on more than its seed."""

    def run(self, *args: Any, **rest: Any) -> KernelDraws:
        return super().run(*args[:-1], np.random.default_rng(), **rest)


def test_a_kernel_must_repeat_itself() -> None:
    report = check_kernel(Restless(), FIXED, X, u=1.7, replicates=4, iterations=20, warmup=5)
    assert "same seed, same draws" in {f.what for f in report.failures}


@pytest.mark.parametrize("planted", [ForgetsSigma, NoJacobian, FactorPerCluster])
def test_geweke_catches(planted: type[ReferenceGibbs]) -> None:
    report = geweke(planted(), FIXED, 7, replicates=90, steps=30, prior_draws=2500)
    assert not report.passed, report.text


def test_geweke_passes_the_correct_sampler() -> None:
    geweke(ReferenceGibbs(), FIXED, 7, replicates=60, steps=30, prior_draws=1500).raise_if_failed()


# ---- likelihoods ----


class Bound:
    """A bound likelihood in Python, with its marginals changed."""

    def __init__(self, true: Any, change: Any) -> None:
        self.n_rows, self._true, self._change = true.n_rows, true, change

    def log_marginals(self, labels: Any) -> Any:
        return self._change(self._true.log_marginals(labels), labels)


class FactorInTheMarginal(GaussianDiagonal):
    """p(X_c) a fifth too large: no predictive ratio of a non-empty cluster sees it."""

    def bind(self, X: Any, power: float = 1.0) -> Any:
        return Bound(super().bind(X), lambda value, labels: value + math.log(1.2))


class LooksAtTheOrder(GaussianDiagonal):
    """p(X_c) depends on whether row 0 is in c."""

    def bind(self, X: Any, power: float = 1.0) -> Any:
        return Bound(super().bind(X), lambda value, labels: value + 1e-6 * (np.arange(len(value)) == labels[0]))


class LooksAtTheNames(GaussianDiagonal):
    """p(X_c) depends on the cluster's number."""

    def bind(self, X: Any, power: float = 1.0) -> Any:
        return Bound(super().bind(X), lambda value, labels: value + 1e-6 * np.arange(len(value)))


class WrongShape(GaussianDiagonal):
    """A marginal with slightly fewer degrees of freedom than the law it simulates."""

    def bind(self, X: Any, power: float = 1.0) -> Any:
        return GaussianDiagonal(self.mean, self.r, 0.7 * np.asarray(self.a), self.b).bind(X)


class NarrowSimulation(GaussianDiagonal):
    """Simulates rows with too little noise."""

    def simulate(self, labels: Any, rng: Any) -> Any:
        return 0.8 * super().simulate(labels, rng)


class ForgetfulPosterior(GaussianDiagonal):
    """Draws parameters without looking at the rows."""

    def sample_posterior(self, X: Any, rng: Any) -> Any:
        return super().sample_posterior(X[:0], rng)


class LooseDensity(GaussianDiagonal):
    """log L without its last constant."""

    def log_density(self, theta: Any, X: Any) -> Any:
        return super().log_density(theta, X) + 0.5


def test_the_correct_likelihood_passes() -> None:
    check_likelihood(LIKELIHOOD, X, draws=2000).raise_if_failed()


@pytest.mark.parametrize(
    "planted",
    [
        FactorInTheMarginal,
        LooksAtTheOrder,
        LooksAtTheNames,
        WrongShape,
        NarrowSimulation,
        ForgetfulPosterior,
        LooseDensity,
    ],
)
def test_check_likelihood_catches(planted: type[GaussianDiagonal]) -> None:
    wrong = planted(LIKELIHOOD.mean, LIKELIHOOD.r, LIKELIHOOD.a, LIKELIHOOD.b)
    report = check_likelihood(wrong, X, draws=3000)
    assert not report.passed, report.text
