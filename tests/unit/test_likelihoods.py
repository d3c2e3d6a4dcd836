"""Likelihoods: marginals against integrals and the readable twin, draws against moments, defaults, values."""

from __future__ import annotations

import dataclasses
import doctest
import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, sparse, stats
from scipy.special import gammaln
from tests.checks import near

from hedgerow.data import as_labels, documents, ring13
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Likelihood, Multinomial
from hedgerow.likelihoods import gaussian_diagonal as gaussian_diagonal_module
from hedgerow.likelihoods import gaussian_wishart as gaussian_wishart_module
from hedgerow.likelihoods import multinomial as multinomial_module
from hedgerow.reference.likelihoods import (
    gaussian_diagonal_log_marginal,
    gaussian_wishart_log_marginal,
    multinomial_log_marginal,
)

NAN = float("nan")
SEED = st.integers(0, 2**32 - 1)


def random_labels(rng: np.random.Generator, n: int) -> npt.NDArray[np.int32]:
    return as_labels(rng.integers(0, 1 + rng.integers(n), size=n), n, "test")


def random_psd(rng: np.random.Generator, d: int) -> npt.NDArray[np.float64]:
    A = rng.standard_normal((d, d + 1))
    return A @ A.T + 0.1 * np.eye(d)


# Marginals: the core against the twin


@given(SEED, st.integers(1, 25), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_gaussian_wishart_equals_the_twin(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, d)) * 3 + 1, random_labels(rng, n)
    mean, r, nu, psi = (
        rng.standard_normal(d),
        rng.gamma(1) + 0.01,
        d - 1 + rng.gamma(2) + 0.1,
        random_psd(rng, d),
    )
    found = GaussianWishart(mean, r, nu, psi).bind(X).log_marginals(labels)
    expected = [gaussian_wishart_log_marginal(X[labels == c], mean, r, nu, psi) for c in range(labels.max() + 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(SEED, st.integers(1, 25), st.integers(1, 9), st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=60, deadline=None)
def test_gaussian_diagonal_equals_the_twin(seed: int, n: int, d: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, d)) * 3 + 1, random_labels(rng, n)
    X[rng.random((n, d)) < missing] = NAN
    mean, r, a, b = rng.standard_normal(d), *(rng.gamma(1, size=d) + 0.05 for _ in range(3))
    found = GaussianDiagonal(mean, r, a, b).bind(X).log_marginals(labels)
    expected = [gaussian_diagonal_log_marginal(X[labels == c], mean, r, a, b) for c in range(labels.max() + 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(SEED, st.integers(1, 25), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_multinomial_equals_the_twin(seed: int, n: int, words: int) -> None:
    rng = np.random.default_rng(seed)
    X, labels = rng.poisson(rng.gamma(0.2, 5, size=(n, words))), random_labels(rng, n)
    beta = float(rng.gamma(1)) + 0.01
    model = Multinomial(beta).resolve(X)
    expected = [multinomial_log_marginal(X[labels == c], beta) for c in range(labels.max() + 1)]
    for data in (X, sparse.csc_array(X)):
        np.testing.assert_allclose(model.bind(data).log_marginals(labels), expected, rtol=1e-9, atol=1e-9)


# Marginals: against integrals that know nothing of conjugacy


def test_gaussian_marginals_are_integrals() -> None:
    x = np.array([[0.3], [1.1], [-0.4]])
    m, r, nu, psi = 0.2, 0.5, 3.0, 0.8

    def integrand(mu: float, precision: float) -> float:
        """Normal rows times normal-gamma base measure, in plain arithmetic: it is called a hundred thousand times."""
        squares = sum((value - mu) ** 2 for value in x[:, 0].tolist()) + r * (mu - m) ** 2
        normal = (precision / (2 * math.pi)) ** (len(x) / 2 + 0.5) * math.sqrt(r) * math.exp(-precision * squares / 2)
        shape, rate = nu / 2, psi / 2
        return normal * rate**shape / math.gamma(shape) * precision ** (shape - 1) * math.exp(-rate * precision)

    value, _ = integrate.dblquad(integrand, 0, 40, -12, 12, epsabs=1e-10)
    assert GaussianWishart([m], r, nu, [[psi]]).log_marginal(x) == pytest.approx(np.log(value), abs=1e-6)
    diagonal = GaussianDiagonal([m], r, nu / 2, psi / 2)
    assert diagonal.log_marginal(x) == pytest.approx(np.log(value), abs=1e-6)
    with_gap = np.insert(x, 1, NAN, axis=0)
    assert diagonal.log_marginal(with_gap) == pytest.approx(np.log(value), abs=1e-6)


def test_multinomial_marginal_is_an_integral() -> None:
    X, beta = np.array([[2, 1], [0, 3]]), 0.7

    def integrand(p: float) -> float:
        rows = stats.multinomial.pmf(X, X.sum(axis=1), [p, 1 - p]).prod()
        return float(rows * stats.beta.pdf(p, beta, beta))

    value, _ = integrate.quad(integrand, 0, 1)
    assert Multinomial(beta).resolve(X).log_marginal(X) == pytest.approx(np.log(value), abs=1e-7)


def test_gaussian_wishart_bayes_theorem_at_any_parameter() -> None:
    """log p(X) = log L(X | t) + log H(t) - log p(t | X), with t drawn by sample_posterior."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7, 3)) + np.array([5.0, 0.0, -5.0])
    n = len(X)
    model = GaussianWishart(r=0.3).resolve(X)
    mean, r, nu, psi = model._values()
    xbar = X.mean(axis=0)
    psi_n = psi + (X - xbar).T @ (X - xbar) + r * n / (r + n) * np.outer(xbar - mean, xbar - mean)
    mean_n = (r * mean + n * xbar) / (r + n)

    def log_base(theta: Any, mean: Any, r: float, nu: float, psi: Any) -> float:
        normal = stats.multivariate_normal.logpdf(theta.mean, mean, np.linalg.inv(r * theta.precision))
        return float(normal + stats.wishart.logpdf(theta.precision, nu, np.linalg.inv(psi)))

    for _ in range(5):
        theta = model.sample_posterior(X, rng)
        total = model.log_density(theta, X).sum() + log_base(theta, mean, r, nu, psi)
        total -= log_base(theta, mean_n, r + n, nu + n, psi_n)
        assert total == pytest.approx(model.log_marginal(X), abs=1e-8)


def test_log_densities_against_scipy() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((5, 2))
    full = GaussianWishart().resolve(X)
    theta = full.sample_posterior(X, rng)
    expected = stats.multivariate_normal.logpdf(X, theta.mean, np.linalg.inv(theta.precision))
    np.testing.assert_allclose(full.log_density(theta, X), expected)

    diagonal = GaussianDiagonal().resolve(X)
    X[2, 0] = X[3, 0] = X[3, 1] = NAN
    columns = diagonal.sample_posterior(X, rng)
    parts = stats.norm.logpdf(X, columns.mean, columns.precision**-0.5)
    np.testing.assert_allclose(diagonal.log_density(columns, X), np.nansum(parts, axis=1))

    counts = np.array([[2, 0, 1], [0, 0, 0], [0, 5, 5]])
    words = Multinomial().resolve(counts)
    log_theta = words.sample_posterior(counts, rng)
    expected = stats.multinomial.logpmf(counts, counts.sum(axis=1), np.exp(log_theta))
    np.testing.assert_allclose(words.log_density(log_theta, counts), expected, atol=1e-12)


# Draws


def test_gaussian_wishart_posterior_draws_have_the_right_moments() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((6, 2)) + 3
    model = GaussianWishart().resolve(X + 1)
    mean, r, nu, psi = model._values()
    xbar, n = X.mean(axis=0), len(X)
    psi_n = psi + (X - xbar).T @ (X - xbar) + r * n / (r + n) * np.outer(xbar - mean, xbar - mean)
    draws = [model.sample_posterior(X, rng) for _ in range(4000)]
    near([t.mean for t in draws], (r * mean + n * xbar) / (r + n))
    near([t.precision for t in draws], (nu + n) * np.linalg.inv(psi_n))
    base = [model.sample_posterior(X[:0], rng) for _ in range(4000)]
    near([t.precision for t in base], nu * np.linalg.inv(psi))
    near([np.outer(t.mean - mean, t.mean - mean) for t in base], psi / (nu - 3) / r)


def test_gaussian_diagonal_posterior_draws_have_the_right_moments() -> None:
    rng = np.random.default_rng(3)
    X = np.array([[1.0, NAN], [2.0, NAN], [4.0, NAN]])
    model = GaussianDiagonal([1.0, -1.0], 0.5, [3.0, 4.0], [2.0, 6.0])
    draws = [model.sample_posterior(X, rng) for _ in range(4000)]
    near([t.mean for t in draws], [(0.5 + 7) / 3.5, -1.0])
    b = 2 + np.sum((X[:, 0] - 7 / 3) ** 2) / 2 + 0.5 * 3 * (7 / 3 - 1) ** 2 / (2 * 3.5)
    near([t.precision for t in draws], [4.5 / b, 4 / 6])


def test_multinomial_posterior_draws_have_the_right_moments() -> None:
    rng = np.random.default_rng(4)
    X = sparse.csr_array(np.array([[3, 0, 1], [2, 0, 0]]))
    model = Multinomial(0.5).resolve(X)
    near(np.exp([model.sample_posterior(X, rng) for _ in range(4000)]), np.array([5.5, 0.5, 1.5]) / 7.5)
    near(np.exp([model.sample_posterior(X[:0], rng) for _ in range(4000)]), np.full(3, 1 / 3))
    tiny = Multinomial(1e-5, columns=1000).sample_posterior(sparse.csr_array((0, 1000)), rng)
    assert np.isfinite(tiny).all()


def test_simulated_rows_follow_the_marginal() -> None:
    """Rows 0 and 1 share a cluster, row 2 does not: second moments of the base measure."""
    rng, labels = np.random.default_rng(5), [0, 0, 1]
    psi = np.array([[2.0, 0.5], [0.5, 1.0]])
    full = GaussianWishart([1.0, 2.0], 0.5, 9.0, psi)
    draws = np.array([full.simulate(labels, rng) for _ in range(4000)])
    within = psi / (9 - 3)
    difference = draws[:, 0] - draws[:, 1]
    near(np.einsum("ti,tj->tij", difference, difference) / 2, within)
    centred = draws - [1.0, 2.0]
    near(np.einsum("ti,tj->tij", centred[:, 0], centred[:, 1]), within / 0.5)
    near(np.einsum("ti,tj->tij", centred[:, 0], centred[:, 2]), np.zeros((2, 2)))

    diagonal = GaussianDiagonal([1.0, 2.0], 0.5, 4.0, [3.0, 6.0])
    draws = np.array([diagonal.simulate(labels, rng) for _ in range(4000)])
    near((draws[:, 0] - draws[:, 1]) ** 2 / 2, [1.0, 2.0])
    near((draws[:, 0] - [1, 2]) * (draws[:, 1] - [1, 2]), [2.0, 4.0])
    near((draws[:, 0] - [1, 2]) * (draws[:, 2] - [1, 2]), [0.0, 0.0])

    counts = Multinomial(0.5, columns=3)
    draws = np.array([counts.simulate(labels, rng, totals=[1, 1, 1]).toarray() for _ in range(4000)])
    near((draws[:, 0] == draws[:, 1]).all(axis=1), (1 + 0.5) / (1 + 3 * 0.5))
    near((draws[:, 0] == draws[:, 2]).all(axis=1), 1 / 3)
    assert counts.simulate(labels, rng).sum() == 60


# Odd rows


def test_missing_entries_say_nothing() -> None:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((6, 2))
    X[3] = NAN
    model = GaussianDiagonal().resolve(X)
    np.testing.assert_allclose(model.mean, np.nanmean(X, axis=0), atol=1e-14)
    assert model.log_marginal(X) == pytest.approx(model.log_marginal(np.delete(X, 3, axis=0)))
    empty = np.column_stack([X, np.full(6, NAN)])
    assert GaussianDiagonal().resolve(empty).log_marginal(empty) == pytest.approx(model.log_marginal(X))


def test_empty_documents_and_unused_words() -> None:
    X = np.array([[1, 2, 0], [0, 0, 0]])
    model = Multinomial().resolve(X)
    assert model.log_marginal(X) == pytest.approx(model.log_marginal(X[:1]))
    assert model.log_marginal(X[1:]) == pytest.approx(0.0, abs=1e-12)
    wide = sparse.csr_array(X)
    wide.resize(2, 12_419)
    V, beta = 12_419, 0.1
    expected = np.log(3) + gammaln(V * beta) - gammaln(V * beta + 3)
    expected += gammaln(beta + 1) + gammaln(beta + 2) - 2 * gammaln(beta)
    assert Multinomial().resolve(wide).log_marginal(wide) == pytest.approx(expected)


# Values


def examples() -> list[Likelihood]:
    X = ring13(n=26).X
    return [
        GaussianWishart(),
        GaussianWishart().resolve(X),
        GaussianDiagonal(r=[1.0, 2.0]),
        GaussianDiagonal().resolve(X),
        Multinomial(0.5),
        Multinomial().resolve(documents(n=5, words=20).X),
    ]


@pytest.mark.parametrize("model", examples(), ids=repr)
def test_a_likelihood_is_a_value(model: Likelihood) -> None:
    assert pickle.loads(pickle.dumps(model)) == model
    assert dataclasses.replace(model) == model  # type: ignore[type-var]
    assert model != object()
    others = [other for other in examples() if other == model]
    assert len(others) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.r = 2.0  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="unhashable"):
        hash(model)
    for value in vars(model).values():
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable


def test_given_arrays_are_copied() -> None:
    mean = np.zeros(2)
    model = GaussianWishart(mean=mean)
    mean[0] = 9
    np.testing.assert_array_equal(model.mean, [0.0, 0.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.bind([[1, 2]]),
        lambda model: model.log_marginal([[1, 2]]),
        lambda model: model.simulate([0, 0], np.random.default_rng(0)),
        lambda model: model.sample_posterior([[1, 2]], np.random.default_rng(0)),
    ],
)
@pytest.mark.parametrize("model", [GaussianWishart(), GaussianWishart(0.0, 1.0, 5.0, 1.0), GaussianDiagonal()])
def test_open_hyper_parameters_are_named(model: Likelihood, call: Any) -> None:
    with pytest.raises(ParameterError, match=r"must be .* here: call resolve\(X\) first"):
        call(model)
    with pytest.raises(ParameterError, match=r"columns must be known here"):
        call(Multinomial())


@pytest.mark.parametrize(
    "module",
    [gaussian_wishart_module, gaussian_diagonal_module, multinomial_module],
)
def test_docstring_examples(module: Any) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
