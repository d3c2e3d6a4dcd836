"""The exam for columns of levels and counts and for mixed tables: exact posteriors, joint laws, planted errors.

Seeds are fixed; each report raises a false alarm with probability 1e-4 at most (see `hedgerow.testing.kernel`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow import likelihoods
from hedgerow.kernels import KERNELS, Gibbs, Kernel, TreeGuided, smc
from hedgerow.likelihoods import Bernoulli, Categorical, Likelihood, Multinomial, Poisson
from hedgerow.mixture import Mixture
from hedgerow.priors import DP, NGG, PitmanYor, Prior
from hedgerow.testing import check_kernel, check_likelihood, exact_posterior, geweke

NAN = float("nan")
MANY = np.array([[100, 31], [118, 20], [95, 25], [140, NAN], [131, 40], [150, 33]])
# Chosen so that the posterior is spread over dozens of partitions.
SEEN_ELSEWHERE = ("GaussianWishart", "GaussianDiagonal", "Multinomial")  # in `test_exam.py`
LIKELIHOODS: dict[str, tuple[Likelihood, Any]] = {
    kind.__name__: case
    for kind in likelihoods.LIKELIHOODS
    if kind.__name__ not in SEEN_ELSEWHERE and (case := kind.example()) is not None
}
LIKELIHOODS["Poisson, many"] = Poisson([9.0, 6.0], [0.08, 0.2]), MANY
PRIORS: dict[str, Prior] = {
    "NGG": NGG(0.7, 0.3, 1.5),
    "DP": DP(0.8),
    "PitmanYor": PitmanYor(0.6, 0.3),
}
EXAMINEES: dict[str, Kernel] = {kernel.__name__: kernel() for kernel in KERNELS if kernel.exact} | {"recasts": TreeGuided.examples()[1]}


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("kernel", EXAMINEES)
def test_kernel(kernel: str, likelihood: str) -> None:
    family, X = LIKELIHOODS[likelihood]
    model = Mixture(PRIORS["NGG"], family)
    exact = exact_posterior(model, X)
    assert exact.probabilities.max() < 0.5
    check_kernel(EXAMINEES[kernel], model, X).raise_if_failed()


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("prior", ["DP", "PitmanYor"])
def test_gibbs_under_other_priors(prior: str, likelihood: str) -> None:
    family, X = LIKELIHOODS[likelihood]
    check_kernel(Gibbs(), Mixture(PRIORS[prior], family), X).raise_if_failed()


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_evidence(likelihood: str) -> None:
    """The estimate of p(X) by sequential Monte Carlo is unbiased."""
    family, X = LIKELIHOODS[likelihood]
    model = Mixture(PRIORS["PitmanYor"], family).resolve(X)
    exact = exact_posterior(model, X).log_evidence
    ratios = [np.exp(smc(model, X, particles=20, seed=seed).log_evidence - exact) for seed in range(300)]
    assert abs(np.mean(ratios) - 1) < 4.5 * np.std(ratios) / np.sqrt(300)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_likelihood(likelihood: str) -> None:
    check_likelihood(*LIKELIHOODS[likelihood], draws=600).raise_if_failed()


@pytest.mark.parametrize("likelihood", ["Bernoulli", "Categorical", "Poisson", "Product"])
def test_geweke(likelihood: str) -> None:
    family, X = LIKELIHOODS[likelihood]
    model = Mixture(PRIORS["NGG"], family.resolve(X))
    geweke(Gibbs(), model, 7, replicates=50, steps=12, prior_draws=800).raise_if_failed()


# ---- planted errors must be found ----


class WrongSimulation(Poisson):
    """Simulates with rates of another base measure than it says."""

    def simulate(self, labels: Any, rng: np.random.Generator) -> Any:
        """Rates half as large as they should be."""
        return Poisson(self.a, 2 * np.asarray(self.b)).simulate(labels, rng)


class WrongPosterior(Bernoulli):
    """Draws parameters without looking at the last row."""

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> Any:
        """As if the last row were not there."""
        return super().sample_posterior(X[: max(len(X) - 1, 0)], rng)


class WrongMarginal(Categorical):
    """Binds half the weights it has."""

    def bind(self, X: Any, power: float = 1.0) -> Any:
        """With every weight halved."""
        beta, levels = self._values()
        return Categorical([0.5 * part for part in beta], levels).bind(X)


@pytest.mark.parametrize(
    ("planted", "X"),
    [
        (WrongSimulation([0.8, 1.6], [0.5, 0.7]), LIKELIHOODS["Poisson"][1]),
        (WrongPosterior([0.6, 1.5, 0.4], [0.9, 0.5, 0.4]), LIKELIHOODS["Bernoulli"][1]),
        (WrongMarginal(((0.4, 0.9, 0.3), 0.5)), LIKELIHOODS["Categorical"][1]),
    ],
    ids=lambda x: type(x).__name__,
)
def test_planted_errors_are_found(planted: Likelihood, X: Any) -> None:
    assert not check_likelihood(planted, X, draws=2000).passed


# Sums beyond 65,535, where the core's table of counts takes 32 bits instead of 16, and alike enough that no one partition has it all.
LONG = np.array([[30000, 20, 3], [45000, 31, 2], [20000, 12, 4], [50000, 40, 1], [40000, 9, 9]])


@pytest.mark.parametrize("kernel", ["Gibbs", "TreeGuided", "SplitMerge"])
def test_counts_that_need_more_than_sixteen_bits(kernel: str) -> None:
    model = Mixture(DP(1.0), Multinomial(0.3))
    assert np.sort(exact_posterior(model, LONG).probabilities)[-3] > 0.1  # three partitions share it
    check_kernel(EXAMINEES[kernel], model, LONG).raise_if_failed()
