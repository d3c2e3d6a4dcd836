"""Full Gaussian clusters with missing entries: every kernel against partitions whose gaps are integrated by quadrature.

The planted errors are those of a sampler that draws missing entries almost from the right law.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import hedgerow as hr
from hedgerow.data.views import canonical
from hedgerow.reference import gaussian as twin
from hedgerow.testing import KernelDraws, check_kernel, exact_posterior, geweke
from hedgerow.testing.driving import drive

NAN = float("nan")
X = np.array([[-1.2, 0.3], [-0.9, NAN], [NAN, 0.2], [0.2, -0.6], [1.0, 0.5]])
LIKELIHOOD = hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=[[0.5, 0.2], [0.2, 0.5]])
DP = hr.Mixture(hr.DP(1.0), LIKELIHOOD)
THREE = np.array([[-1.2, 0.3, NAN], [-0.9, NAN, 0.1], [0.1, 0.2, 0.4], [0.2, -0.6, NAN]])
KERNELS = [
    hr.Gibbs(),
    hr.SplitMerge(),
    hr.Slice(),
    hr.TreeGuided(),
    hr.TreeGuided.examples()[1],
    hr.cycle(hr.SplitMerge(), hr.Gibbs(subset=2)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_kernels_with_gaps_are_exact(kernel: Any) -> None:
    report = check_kernel(kernel, DP, X, warmup=30)
    assert report.passed, report


def test_three_gaps_under_another_prior() -> None:
    model = hr.Mixture(hr.NGG(hr.Gamma(2, 2), 0.4), hr.GaussianWishart(mean=[0, 0, 0], r=0.3, nu=5, psi=0.5))
    report = check_kernel(hr.Gibbs(), model, THREE, warmup=30)
    assert report.passed, report


@pytest.mark.parametrize("where", ["row", "column"])
def test_a_row_or_a_column_of_gaps_is_no_matter(where: str) -> None:
    empty = np.vstack([X[[0, 3, 4]], [NAN, NAN]]) if where == "row" else np.column_stack([X[[0, 3, 4], 0], np.full(3, NAN)])
    report = check_kernel(hr.Gibbs(), DP, empty, warmup=30)
    assert report.passed, report


def test_a_product_with_gaps_is_exact() -> None:
    product = hr.Product({(0, 1): LIKELIHOOD, (2,): hr.Bernoulli([0.5], [0.5])}).resolve(np.column_stack([X, [0, 1, 1, 0, 1]]))
    report = check_kernel(hr.Gibbs(), hr.Mixture(hr.DP(1.0), product), np.column_stack([X, [0, 1, 1, 0, 1]]), warmup=30)
    assert report.passed, report


def test_a_new_row_has_the_density_that_enumeration_gives() -> None:
    """Rows with gaps on both sides; a row of gaps has density 1. The spread over seeds is 0.004 nats."""
    new = np.array([[0.4, -0.2], [NAN, 0.3], [NAN, NAN]])
    post = hr.sample(DP, X, kernel=hr.Gibbs(), draws=3000, warmup=100, chains=1, seed=3, progress=False)
    before = exact_posterior(DP, X).log_evidence
    exact = [exact_posterior(DP, np.vstack([X, row])).log_evidence - before for row in new]
    np.testing.assert_allclose(post.log_density(new), exact, atol=0.02)


FAR = np.array([[-4.2, 1.3], [-3.9, NAN], [NAN, 1.2], [4.0, -1.5]])


def at_powers() -> list[Any]:
    """Everything at the first power and Gibbs at the second; the rest when there is time."""
    return [
        pytest.param(kernel, power, marks=[pytest.mark.slow] if power < 0.1 and kernel is not KERNELS[0] else [])
        for power in (0.3, 0.05)
        for kernel in KERNELS
    ]


@pytest.mark.parametrize(("kernel", "power"), at_powers(), ids=lambda value: str(value).partition("(")[0])
def test_kernels_with_gaps_at_a_power_are_exact(kernel: Any, power: float) -> None:
    """Missing entries are those of the cluster as far as the row counts, and else the base measure's: see the twin."""
    report = check_kernel(kernel, hr.Mixture(hr.DP(1.0), LIKELIHOOD, power=power), FAR, warmup=30)
    assert report.passed, report


def test_evidence_at_a_power_is_that_of_enumeration() -> None:
    model = hr.Mixture(hr.DP(1.0), LIKELIHOOD, power=0.3)
    exact = exact_posterior(model, FAR)
    assert exact.probabilities.max() < 0.7
    ratios = [np.exp(hr.smc(model, FAR, particles=20, seed=seed).log_evidence - exact.log_evidence) for seed in range(100)]
    assert abs(np.mean(ratios) - 1) < 4.5 * np.std(ratios) / np.sqrt(len(ratios))


def test_a_row_of_gaps_at_a_power_asks_for_degrees_of_freedom() -> None:
    thin = hr.GaussianWishart(mean=[0, 0], r=0.3, nu=1.5, psi=0.5)
    with pytest.raises(hr.ParameterError, match=r"nu must be above 1\.7 where a row is all gaps and the power is 0\.3"):
        hr.Mixture(hr.DP(1.0), thin, power=0.3).bind(np.array([[0.1, 0.2], [NAN, NAN]]))


class FillsIn:
    """Marginal Gibbs on labels and missing entries in plain Python; `scale` and `blind` plant errors in the conditional."""

    def __init__(self, scale: float = 1.0, blind: bool = False) -> None:
        self.scale, self.blind = scale, blind

    def run(self, model: Any, X: Any, labels: Any, u: float, iterations: int, rng: Generator, **given: Any) -> KernelDraws:
        values = given["values"]
        base, n = model.likelihood._values(), len(X)
        gaps = np.isnan(X)
        filled, labels = np.where(gaps, 0.0, X), np.array(labels)
        out = np.empty((iterations, n), np.int32)
        for step in range(iterations):
            for i in range(n):
                labels[i] = -1
                others = [c for c in np.unique(labels) if c >= 0]
                states = [twin.wishart_after(filled[labels == c], base) for c in others] + [base]
                weights = [np.log(np.sum(labels == c)) for c in others] + [np.log(values["alpha"])]
                log_p = np.array([w + twin.log_one_more(X[i], state) for w, state in zip(weights, states, strict=True)])
                p = np.exp(log_p - log_p.max())
                chosen = int(rng.choice(len(p), p=p / p.sum()))
                row = X[i].copy()
                for j in np.flatnonzero(gaps[i]):
                    known = np.full_like(row, NAN) if self.blind else row
                    location, spread, freedom = twin.entry_given_seen(known, int(j), states[chosen])
                    row[j] = location + self.scale * spread * rng.standard_t(freedom)
                filled[i] = row
                labels[i] = others[chosen] if chosen < len(others) else max([*others, -1]) + 1
            out[step] = canonical(labels)
        return KernelDraws(out, np.full(iterations, u), {})


@pytest.mark.parametrize(
    "planted", [FillsIn(), FillsIn(blind=True), pytest.param(FillsIn(scale=3.0), marks=pytest.mark.slow)], ids=["none", "blind", "wide"]
)
def test_filling_in_is_exact_and_errors_in_the_conditional_are_caught(planted: FillsIn) -> None:
    """Narrow clusters, whose missing entries the others tell: without the regression, or too wide, they fall out of them."""
    rows = np.array([[-1.0, -0.9], [-0.7, NAN], [NAN, -0.8], [0.9, 1.0], [1.2, NAN]])
    narrow = hr.Mixture(hr.DP(1.0), hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=[[0.5, 0.45], [0.45, 0.5]]))
    budget: dict[str, Any] = {"replicates": 12, "iterations": 150, "warmup": 10}
    assert check_kernel(planted, narrow, rows, **budget).passed == (planted.scale == 1 and not planted.blind)


HIDDEN = np.array([[0, 0], [0, 1], [1, 0], [0, 1], [0, 0], [1, 0]], dtype=bool)
NARROW = hr.Mixture(hr.DP(1.0), hr.GaussianWishart(mean=[0, 0], r=0.05, nu=6, psi=[[0.5, 0.45], [0.45, 0.5]]))


BUDGET: dict[str, Any] = {"gaps": HIDDEN, "replicates": 40, "steps": 10, "prior_draws": 1000}


class FilledOnce:
    """Gibbs sweeps over rows whose gaps were filled with the means of their columns."""

    def run(self, model: Any, X: Any, labels: Any, u: float, iterations: int, rng: Generator, **options: Any) -> KernelDraws:
        filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        seed, values = int(rng.integers(2**31)), options["values"]
        return drive(hr.Gibbs(), model, filled, labels, u, values, iterations, seed, 0, update_u=options["update_u"])


@pytest.mark.parametrize("kernel", [hr.Gibbs(), hr.TreeGuided()], ids=lambda kernel: type(kernel).__name__)
def test_the_joint_law_with_gaps_stays(kernel: Any) -> None:
    geweke(kernel, NARROW, 6, **BUDGET).raise_if_failed()


def test_the_joint_law_sees_gaps_that_were_filled_once() -> None:
    assert not geweke(FilledOnce(), NARROW, 6, **BUDGET).passed


def test_evidence_by_particles_is_that_of_enumeration() -> None:
    exact = exact_posterior(DP, X).log_evidence
    ratios = [np.exp(hr.smc(DP, X, particles=20, seed=seed).log_evidence - exact) for seed in range(200)]
    assert abs(np.mean(ratios) - 1) < 4.5 * np.std(ratios) / np.sqrt(len(ratios))
