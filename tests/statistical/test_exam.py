"""The exam: every kernel against the enumerated posterior, for every prior, likelihood and choice of what moves.

A new exact kernel sits it by being in `hedgerow.kernels.KERNELS`, with the variants that its `examples` give; a new prior by
being in `hedgerow.priors.PRIORS`. Seeds are fixed; each report raises a false alarm with probability 1e-4 at most (see
`hedgerow.testing.kernel`).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from hedgerow import priors
from hedgerow.kernels import KERNELS, Gibbs, Kernel, Slice, SplitMerge, Tempered, TreeGuided, cycle, mix
from hedgerow.likelihoods import Bernoulli, GaussianDiagonal, GaussianWishart, Likelihood, Multinomial
from hedgerow.mixture import Mixture
from hedgerow.priors import DP, NGG, Beta, Gamma, PitmanYor, Prior
from hedgerow.testing import (
    PythonKernel,
    ReferenceGibbs,
    check_kernel,
    check_likelihood,
    enumerate_partitions,
    exact_posterior,
    geweke,
)
from hedgerow.testing import exact as integrals

# Hyper-parameters fixed, and sampled. Priors with groups sit their own exam (`test_mixed.py`).
PRIORS: dict[str, tuple[Prior, Prior]] = {kind.__name__: kind.examples() for kind in priors.PRIORS if not kind.grouped}
# Columns of levels and counts, and mixed tables, sit the rest of it in `test_discrete_exam.py`.
LIKELIHOODS: dict[str, tuple[Likelihood, Any]] = {
    kind.__name__: case for kind in (GaussianWishart, GaussianDiagonal, Multinomial) if (case := kind.example()) is not None
}
PLANE, GAPS = LIKELIHOODS["GaussianWishart"][1], LIKELIHOODS["GaussianDiagonal"][1]
EXAMINED: tuple[type[Kernel], ...] = (*KERNELS, Tempered)
EXAMINEES: dict[str, Kernel | PythonKernel] = {
    kind.__name__ if i == 0 else repr(kernel): kernel for kind in EXAMINED if kind.exact for i, kernel in enumerate(kind.examples())
}
EXAMINEES["mix(TreeGuided, Gibbs)"] = mix(TreeGuided(), Gibbs(), weights=(0.1, 0.9))
EXAMINEES["cycle(SplitMerge, TreeGuided)"] = cycle(SplitMerge(), TreeGuided())
U = 1.7


def cases() -> Iterator[tuple[str, str, bool, bool]]:
    """(prior, likelihood, u fixed, hyper-parameters sampled).

    With u fixed and hyper-parameters sampled DP and PitmanYor are left out: their updates draw u on the way, so
    there is no such chain.
    """
    for prior, likelihood, fixed_u, sampled in itertools.product(PRIORS, LIKELIHOODS, (False, True), (False, True)):
        if not (fixed_u and sampled and PRIORS[prior][0].u_integrates):
            yield prior, likelihood, fixed_u, sampled


def name_of(case: tuple[str, str, bool, bool]) -> str:
    prior, likelihood, fixed_u, sampled = case
    return f"{prior}-{likelihood}-{'u fixed' if fixed_u else 'u free'}-{'sampled' if sampled else 'fixed'}"


def sit(kernel: Kernel | PythonKernel, case: tuple[str, str, bool, bool], **budget: int) -> None:
    prior, likelihood, fixed_u, sampled = case
    family, X = LIKELIHOODS[likelihood]
    model = Mixture(PRIORS[prior][sampled], family)
    check_kernel(kernel, model, X, u=U if fixed_u else None, **budget).raise_if_failed()


def table() -> Iterator[Any]:
    """Gibbs sits every case; the others a quarter of them, and the rest when there is time."""
    for kernel in EXAMINEES:
        for i, case in enumerate(cases()):
            rest = kernel != "Gibbs" and i % 4
            yield pytest.param(kernel, case, id=f"{kernel}-{name_of(case)}", marks=[pytest.mark.slow] if rest else [])


@pytest.mark.parametrize(("kernel", "case"), list(table()))
def test_kernel(kernel: str, case: tuple[str, str, bool, bool]) -> None:
    sit(EXAMINEES[kernel], case)


# What sweeps and other moves would cover up: each of these is far off when the named part of its kernel is wrong.
ROWS = np.array([[0, 1], [0, 1], [1, 0], [1, 1], [0, 0], [1, 0]])
FALSE_TREE = np.array([[0, 1, 0, 2], [6, 2, 1, 3], [3, 4, 2, 2], [8, 5, 3, 3], [7, 9, 4, 6]], float)
BARE: dict[str, tuple[Kernel, Mixture, Any, int]] = {
    "SplitMerge, the way back": (SplitMerge(scans=0, subset=1), Mixture(DP(0.8), LIKELIHOODS["GaussianWishart"][0]), PLANE, 300),
    "Slice, rows that found no cluster": (Slice(), Mixture(DP(1.0), Bernoulli(50.0, 50.0)), ROWS, 5000),
    "Slice, the spread of its atoms": (
        Slice(),
        Mixture(DP(1.0), GaussianWishart(mean=[1.5], r=5.0, nu=8.0, psi=4.0)),
        np.array([[0.0], [0.5], [1.0], [2.0], [2.5], [4.0]]),
        3000,
    ),
    # Clusters of three rows, two on one side of the tree and one on the other: pairs of seeds from either corner, four to one.
    "TreeGuided, seeds from both corners": (
        TreeGuided(guides=FALSE_TREE, sweep_rate=0.0, global_moves=2, single_moves=0),
        Mixture(DP(0.3), Bernoulli(0.2, 0.2)),
        np.array([[0], [0], [1], [1], [1], [0]]),
        10_000,
    ),
}


@pytest.mark.parametrize("case", BARE)
def test_bare_moves(case: str) -> None:
    kernel, model, X, iterations = BARE[case]
    check_kernel(kernel, model, X, iterations=iterations).raise_if_failed()


# The reference is slow: one row in seven of the table, every prior, likelihood and choice among them.
@pytest.mark.parametrize("case", list(cases())[::7], ids=name_of)
def test_reference_gibbs(case: tuple[str, str, bool, bool]) -> None:
    sit(ReferenceGibbs(), case, replicates=32, iterations=150, warmup=30)


@pytest.mark.parametrize("prior", PRIORS)
def test_geweke(prior: str) -> None:
    model = Mixture(PRIORS[prior][1], LIKELIHOODS["GaussianDiagonal"][0].resolve(GAPS))
    geweke(Gibbs(), model, 8, replicates=60, steps=15, prior_draws=1500).raise_if_failed()


def test_geweke_with_counts() -> None:
    model = Mixture(PRIORS["NGG"][0], Multinomial(0.6, columns=4))
    geweke(Gibbs(), model, 6, replicates=50, steps=12, prior_draws=1000).raise_if_failed()


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_likelihood(likelihood: str) -> None:
    check_likelihood(*LIKELIHOODS[likelihood], draws=600).raise_if_failed()


# ---- the ground it stands on ----


def test_enumeration_is_complete_and_in_order() -> None:
    bell = [1, 2, 5, 15, 52, 203, 877, 4140]
    for n, count in enumerate(bell, start=1):
        rows = enumerate_partitions(n)
        assert rows.shape == (count, n)
        assert len({tuple(r) for r in rows.tolist()}) == count
        assert all(row[0] == 0 and all(row[i] <= max(row[:i]) + 1 for i in range(1, n)) for row in rows.tolist())
        assert rows.tolist() == sorted(rows.tolist())


def test_exact_posterior_by_hand() -> None:
    X = PLANE[:3]
    family = LIKELIHOODS["GaussianWishart"][0]
    model = Mixture(DP(0.8), family)
    exact = exact_posterior(model, X)
    joints = [model.log_joint(X, labels) for labels in exact.partitions]
    np.testing.assert_allclose(exact.log_joint, joints, rtol=1e-12)
    assert exact.log_evidence == pytest.approx(logsumexp(joints))
    assert exact.probabilities.sum() == pytest.approx(1)
    given_u = exact_posterior(Mixture(NGG(0.7, 0.3), family), X, u=U)
    wanted = [Mixture(NGG(0.7, 0.3), family).log_joint(X, labels, u=U) for labels in given_u.partitions]
    np.testing.assert_allclose(given_u.log_joint, wanted, rtol=1e-12)


def test_integrals_agree_with_the_closed_forms() -> None:
    family, X = LIKELIHOODS["GaussianWishart"]
    theta, sigma = 0.9, 0.35
    # Pitman-Yor through NGG: α and u by quadrature against neither
    through = exact_posterior(Mixture(NGG(Gamma(theta / sigma, 1 / sigma), sigma), family), X)
    direct = exact_posterior(Mixture(PitmanYor(theta, sigma), family), X)
    np.testing.assert_allclose(through.log_joint, direct.log_joint, atol=1e-7)
    # NGG at σ = 0 is the Dirichlet process by another name, and all but that a hair above 0, where u is kept
    gone = exact_posterior(Mixture(DP(0.8), family), X)
    same = exact_posterior(Mixture(NGG(0.8, 0.0, 2.0), family), X)
    np.testing.assert_allclose(same.log_joint, gone.log_joint, atol=1e-12)
    kept = exact_posterior(Mixture(NGG(0.8, 1e-10, 2.0), family), X)
    np.testing.assert_allclose(kept.log_joint, gone.log_joint, atol=1e-8)
    # a law held at a value is that value
    held = exact_posterior(Mixture(NGG(Gamma(2, 2), Beta(2, 2)), family), X, alpha=0.7, sigma=0.3)
    fixed = exact_posterior(Mixture(NGG(0.7, 0.3), family), X)
    np.testing.assert_allclose(held.log_joint, fixed.log_joint, atol=1e-12)


def test_moments_of_sampled_alpha_against_plain_integration() -> None:
    family, X = LIKELIHOODS["Multinomial"]
    exact = exact_posterior(Mixture(DP(Gamma(2, 2)), family), X)
    v = np.linspace(-14, 4, 2001)
    weights = [exact_posterior(Mixture(DP(float(a)), family), X).log_evidence + 2 * np.log(a) - 2 * a for a in np.exp(v[::20])]
    w = np.exp(np.array(weights) - max(weights))
    for moment in exact.moments:
        assert moment.mean == pytest.approx(float(w @ moment.evaluate(np.exp(v[::20])) / w.sum()), abs=1e-6)


def test_an_integral_out_of_reach_is_refused() -> None:
    # α below every float with a probability of a thousandth
    family, X = LIKELIHOODS["GaussianWishart"]
    with pytest.raises(ArithmeticError, match="the quadrature is off by"):
        exact_posterior(Mixture(NGG(Gamma(0.01, 0.01), 0.05), family), X)


def test_a_moment_that_is_not_a_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = integrals._Integral.moments

    def last_lost(self: Any, centres: Any) -> Any:
        *others, last = moments(self, centres)
        return [*others, dataclasses.replace(last, mean=np.nan)]

    monkeypatch.setattr(integrals._Integral, "moments", last_lost)
    family, X = LIKELIHOODS["GaussianWishart"]
    with pytest.raises(ArithmeticError, match="the quadrature is off by nan"):
        exact_posterior(Mixture(NGG(0.7, 0.3), family), X)
