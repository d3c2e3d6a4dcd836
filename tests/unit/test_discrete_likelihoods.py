"""Bernoulli, Categorical, Poisson: marginals against twin and integrals, draws, defaults, levels, bad input."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from tests.checks import near

from hedgerow.data import as_labels
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import Bernoulli, Categorical, Poisson
from hedgerow.reference.likelihoods import (
    bernoulli_log_marginal,
    categorical_log_marginal,
    poisson_log_marginal,
)

NAN, INF = float("nan"), float("inf")
SEED = st.integers(0, 2**32 - 1)
HOUSE = re.compile(r"^(\w+)\((?P<name>[^=]+)=(?P<value>.+)\): (?P=name) must .+\. Got (?P=value)\.$", re.DOTALL)


def random_labels(rng: np.random.Generator, n: int) -> npt.NDArray[np.int32]:
    return as_labels(rng.integers(0, 1 + rng.integers(n), size=n), n, "test")


def by_cluster(function: Any, X: npt.NDArray[Any], labels: npt.NDArray[np.int32]) -> list[float]:
    return [function(X[labels == c]) for c in range(labels.max() + 1)]


# Marginals: the core against the twin


@given(SEED, st.integers(1, 25), st.integers(1, 9), st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=60, deadline=None)
def test_bernoulli_equals_the_twin(seed: int, n: int, d: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    X, labels = (rng.random((n, d)) < rng.random(d)).astype(float), random_labels(rng, n)
    X[rng.random((n, d)) < missing] = NAN
    a, b = rng.gamma(1, size=d) + 1e-3, rng.gamma(1, size=d) + 1e-3
    found = Bernoulli(a, b).bind(X).log_marginals(labels)
    expected = by_cluster(lambda rows: bernoulli_log_marginal(rows, a, b), X, labels)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(SEED, st.integers(1, 25), st.integers(1, 6), st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=60, deadline=None)
def test_categorical_equals_the_twin(seed: int, n: int, d: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, size=d)
    X, labels = np.column_stack([rng.integers(0, L, n) for L in sizes]).astype(float), random_labels(rng, n)
    X[rng.random((n, d)) < missing] = NAN
    beta = [rng.gamma(1, size=L) + 1e-3 for L in sizes]
    model = Categorical(beta, [range(L) for L in sizes])
    expected = by_cluster(lambda rows: categorical_log_marginal(rows, beta), X, labels)
    np.testing.assert_allclose(model.bind(X).log_marginals(labels), expected, rtol=1e-9, atol=1e-9)
    names = Categorical(beta, [[f"level {i}" for i in range(L)] for L in sizes])
    text = np.full(X.shape, None, dtype=object)
    for i, j in np.argwhere(~np.isnan(X)):
        text[i, j] = f"level {int(X[i, j])}"
    np.testing.assert_array_equal(names.check(text), X)
    np.testing.assert_allclose(names.bind(text).log_marginals(labels), expected, rtol=1e-9, atol=1e-9)


@given(SEED, st.integers(1, 25), st.integers(1, 6), st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=60, deadline=None)
def test_poisson_equals_the_twin(seed: int, n: int, d: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.choice([0.2, 3.0, 40.0, 1e5], size=(n, d))).astype(float)
    labels = random_labels(rng, n)
    X[rng.random((n, d)) < missing] = NAN
    a, b = rng.gamma(1, size=d) + 1e-3, rng.gamma(1, size=d) + 1e-3
    found = Poisson(a, b).bind(X).log_marginals(labels)
    expected = by_cluster(lambda rows: poisson_log_marginal(rows, a, b), X, labels)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


# Marginals: against integrals that know nothing of conjugacy


def test_marginals_are_integrals() -> None:
    x, a, b = np.array([[1.0], [0.0], [NAN], [1.0]]), 0.7, 1.9
    value, _ = integrate.quad(lambda p: p**2 * (1 - p) * stats.beta.pdf(p, a, b), 0, 1)
    assert Bernoulli([a], [b]).log_marginal(x) == pytest.approx(np.log(value), abs=1e-7)

    x, a, b = np.array([[3.0], [0.0], [NAN], [7.0]]), 1.3, 0.4
    seen = x[~np.isnan(x)]
    value, _ = integrate.quad(lambda rate: stats.poisson.pmf(seen, rate).prod() * stats.gamma.pdf(rate, a, scale=1 / b), 0, 60)
    assert Poisson([a], [b]).log_marginal(x) == pytest.approx(np.log(value), abs=1e-7)

    weights = np.array([0.8, 1.5, 0.6])
    codes = [["x"], ["z"], ["x"], [None], ["y"]]

    def integrand(p: float, q: float) -> float:
        theta = np.array([p, q, 1 - p - q])
        return float(theta[0] ** 2 * theta[1] * theta[2] * stats.dirichlet.pdf(theta, weights))

    value, _ = integrate.dblquad(integrand, 0, 1, 0, lambda q: 1 - q)
    model = Categorical([weights], [["x", "y", "z"]])
    assert model.log_marginal(codes) == pytest.approx(np.log(value), abs=1e-5)


def test_log_densities_against_scipy() -> None:
    rng = np.random.default_rng(1)
    X = np.array([[1.0, 0.0], [NAN, 1.0], [0.0, NAN]])
    coins = Bernoulli().resolve(X)
    theta = coins.sample_posterior(X, rng)
    expected = np.nansum(stats.bernoulli.logpmf(np.nan_to_num(X), np.exp(theta.log_one)) * ~np.isnan(X), axis=1)
    np.testing.assert_allclose(coins.log_density(theta, X), expected)

    X = np.array([[4.0, 0.0], [NAN, 900.0], [2.0, NAN]])
    counts = Poisson().resolve(X)
    log_rates = counts.sample_posterior(X, rng)
    parts = np.where(np.isnan(X), 0.0, stats.poisson.logpmf(np.nan_to_num(X), np.exp(log_rates)))
    np.testing.assert_allclose(counts.log_density(log_rates, X), parts.sum(axis=1))

    rows = [["a", 5], [None, 7], ["b", None]]
    levels = Categorical().resolve(rows)
    first, second = levels.sample_posterior(rows, rng)
    np.testing.assert_allclose(np.exp(first).sum(), 1)
    np.testing.assert_allclose(levels.log_density((first, second), rows), [first[0] + second[0], second[1], first[1]])


# Draws


def test_posterior_draws_have_the_right_moments() -> None:
    rng = np.random.default_rng(2)
    X = np.array([[1.0, NAN], [1.0, NAN], [0.0, NAN]])
    coins = Bernoulli([0.5, 2.0], [1.5, 1.0])
    near(np.exp([coins.sample_posterior(X, rng).log_one for _ in range(4000)]), [2.5 / 5, 2 / 3])
    near(np.exp([coins.sample_posterior(X[:0], rng).log_zero for _ in range(4000)]), [1.5 / 2, 1 / 3])

    counts = Poisson([0.5, 2.0], [1.5, 4.0])
    near(np.exp([counts.sample_posterior(3 * X, rng) for _ in range(4000)]), [6.5 / 4.5, 2 / 4])
    near(np.exp([counts.sample_posterior(X[:0], rng) for _ in range(4000)]), [0.5 / 1.5, 2 / 4])

    levels = Categorical(((0.5, 1.0, 2.0),), (("a", "b", "c"),))
    near(
        np.exp([levels.sample_posterior([["c"], [None], ["c"]], rng)[0] for _ in range(4000)]),
        np.array([0.5, 1, 4]) / 5.5,
    )
    near(
        np.exp([levels.sample_posterior(np.empty((0, 1)), rng)[0] for _ in range(4000)]),
        np.array([0.5, 1, 2]) / 3.5,
    )


def test_simulated_rows_follow_the_marginal() -> None:
    """Rows 0 and 1 share a cluster, row 2 does not: second moments of the base measure."""
    rng, labels = np.random.default_rng(3), [0, 0, 1]
    a, b = 0.6, 1.4
    coins = np.array([Bernoulli([a], [b]).simulate(labels, rng)[:, 0] for _ in range(4000)])
    near(coins[:, 0] * coins[:, 1], a * (a + 1) / ((a + b) * (a + b + 1)))
    near(coins[:, 0] * coins[:, 2], (a / (a + b)) ** 2)

    counts = np.array([Poisson([a], [b]).simulate(labels, rng)[:, 0] for _ in range(4000)])
    near(counts[:, 0], a / b)
    near(counts[:, 0] * counts[:, 1], a * (a + 1) / b**2)
    near(counts[:, 0] * counts[:, 2], (a / b) ** 2)

    weights = np.array([0.2, 0.5, 1.3])
    levels = Categorical((tuple(weights),), ((7, 3, 5),))
    draws = np.array([levels.simulate(labels, rng)[:, 0] for _ in range(4000)])
    assert set(draws.ravel()) == {3.0, 5.0, 7.0}
    same = (weights * (weights + 1)).sum() / (weights.sum() * (weights.sum() + 1))
    near(draws[:, 0] == draws[:, 1], same)
    near(draws[:, 0] == draws[:, 2], ((weights / weights.sum()) ** 2).sum())


def test_tiny_weights_do_not_underflow() -> None:
    rng = np.random.default_rng(4)
    tiny = Categorical(1e-5, [range(500)]).resolve([[3]])
    assert np.isfinite(tiny.sample_posterior(np.empty((0, 1)), rng)[0]).all()
    assert np.isfinite(tiny.simulate([0, 0, 1], rng)).all()
    assert all(np.isfinite(part).all() for part in Bernoulli([1e-8], [1e-8]).sample_posterior(np.empty((0, 1)), rng))
    assert np.isfinite(Poisson([1e-8], [1.0]).sample_posterior(np.empty((0, 1)), rng)).all()
    X = [[0], [1], [1]]
    assert np.isfinite(Bernoulli(1e-30, 1e-30).resolve(X).bind(X).log_marginals(np.zeros(3, np.int32))).all()


def test_rates_beyond_simulation_are_refused() -> None:
    with pytest.raises(ParameterError, match="b must give rates"):
        Poisson([1e3], [1e-12]).simulate([0], np.random.default_rng(0))


# Defaults


def test_defaults() -> None:
    X = np.array([[0, 0, 1, NAN], [0, 1, 1, NAN], [0, NAN, 1, NAN]])
    coins = Bernoulli().resolve(X)
    np.testing.assert_allclose(coins.a, [0.5 / 4, 1.5 / 3, 3.5 / 4, 0.5])
    np.testing.assert_allclose(coins.a + coins.b, 1)
    np.testing.assert_array_equal(Bernoulli(a=2.0).resolve(X).a, [2, 2, 2, 2])
    counts = Poisson().resolve(np.column_stack([X, [4, 5, 9]]))
    np.testing.assert_array_equal(counts.a, 1)
    np.testing.assert_allclose(1 / counts.b, [0.5 / 3, 0.5, 1, 1, 6])
    np.testing.assert_allclose(Poisson(a=3.0).resolve(X).b[:3], [18, 6, 3])
    levels = Categorical().resolve([["a", 1], ["a", 2], ["b", None]])
    np.testing.assert_allclose(levels.beta[0], [2.5 / 4, 1.5 / 4])
    np.testing.assert_allclose(levels.beta[1], [0.5, 0.5])
    assert Categorical(0.1).resolve([["a", 1], ["b", 1]]).beta == ((0.1, 0.1), (0.1,))
    assert Categorical([0.1, 2]).resolve([["a", 1], ["b", 1]]).beta == ((0.1, 0.1), (2.0,))
    for model in (coins, counts, levels):
        assert model.is_resolved


def test_columns_that_do_not_vary_hardly_tell_partitions_apart() -> None:
    zeros, one, many = np.zeros((40, 1)), np.zeros(40, np.int32), np.arange(40, dtype=np.int32)
    for family in (Bernoulli, Poisson, Categorical):
        bound = family().resolve(zeros).bind(zeros)
        assert abs(bound.log_marginals(one).sum() - bound.log_marginals(many).sum()) < 0.5


def test_missing_entries_say_nothing() -> None:
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, (6, 2)).astype(float)
    X[3] = NAN
    for family in (Bernoulli, Poisson, Categorical):
        model = family().resolve(X)
        assert model.log_marginal(X) == pytest.approx(model.log_marginal(np.delete(X, 3, axis=0)))
        assert model.log_marginal(X[3:4]) == 0.0
        empty = np.column_stack([X, np.full(6, NAN)])
        assert family().resolve(empty).log_marginal(empty) == pytest.approx(model.log_marginal(X))
        assert np.isfinite(np.nan_to_num(family().resolve(empty).simulate([0, 1], rng))).all()
