"""Custom: the docstring's family, compiled and in NumPy, against the closed form; slips named."""

from __future__ import annotations

import ctypes
import doctest
import gc
import weakref
from math import lgamma, log
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numba import cfunc
from scipy.special import gammaln

from hedgerow.errors import ParameterError
from hedgerow.likelihoods import Custom
from hedgerow.likelihoods import custom as module

A, B = 2.0, 1.0
SIGNATURE = "float64(CPointer(float64), int64)"
X = np.array([[0.5], [1.5], [40.0], [38.0], [0.1]])
LABELS = np.array([0, 0, 1, 1, 0], dtype=np.int32)


def statistics(X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.column_stack([np.ones(len(X)), X[:, 0]])


def batched(s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    n, t = s[:, 0], s[:, 1]
    return np.asarray(A * np.log(B) - gammaln(A) + gammaln(A + n) - (A + n) * np.log(B + t))


@cfunc(SIGNATURE)  # type: ignore[untyped-decorator]
def compiled(s: Any, m: int) -> float:
    n, t = s[0], s[1]
    return A * log(B) - lgamma(A) + lgamma(A + n) - (A + n) * log(B + t)


@cfunc("float64(float64, int64)")  # type: ignore[untyped-decorator]
def wrong_signature(s: float, m: int) -> float:
    return s


def expected() -> list[float]:
    return [float(batched(statistics(X[c == LABELS]).sum(axis=0)[None])[0]) for c in range(2)]


@pytest.mark.parametrize(
    "log_marginal",
    [
        batched,
        compiled,
        compiled.address,
        np.int64(compiled.address),
        module.C_FUNCTION(compiled.address),
    ],
    ids=["NumPy", "cfunc", "address", "NumPy address", "ctypes"],
)
def test_every_way_to_give_a_log_marginal(log_marginal: Any) -> None:
    model = Custom(statistics, log_marginal).resolve(X)
    np.testing.assert_allclose(model.bind(X).log_marginals(LABELS), expected(), rtol=1e-12)
    assert model.log_marginal(X[:1]) == pytest.approx(float(batched(statistics(X[:1]))[0]))


def test_statistics_are_computed_once() -> None:
    calls = []

    def counted(X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        calls.append(len(X))
        return statistics(X)

    bound = Custom(counted, batched).resolve(X).bind(X)
    for _ in range(3):
        bound.log_marginals(LABELS)
    assert calls == [5]


def test_a_compiled_function_outlives_its_name() -> None:
    def make() -> Any:
        @cfunc(SIGNATURE)  # type: ignore[untyped-decorator]
        def local(s: Any, m: int) -> float:
            return -s[1]

        return Custom(statistics, local).resolve(X).bind(X)

    bound = make()
    np.testing.assert_allclose(bound.log_marginals(LABELS), [-2.1, -78.0])


def test_a_ctypes_callback_outlives_its_name() -> None:
    """ctypes frees the code of a callback with its object, unlike Numba: an address alone would dangle."""

    class Marginal:
        def __call__(self, s: Any, m: int) -> float:
            return float(-s[1])

    function = Marginal()
    alive = weakref.ref(function)
    bound = Custom(statistics, module.C_FUNCTION(function)).resolve(X).bind(X)
    del function
    gc.collect()
    assert alive() is not None
    np.testing.assert_allclose(bound.log_marginals(LABELS), [-2.1, -78.0])


def test_resolve_keeps_everything_and_learns_the_columns() -> None:
    rng = np.random.default_rng(0)
    model = Custom(
        statistics,
        batched,
        simulate=lambda labels, rng: rng.exponential(size=(len(labels), 1)),
        sample_posterior=lambda X, rng: rng.gamma(A + len(X), 1 / (B + X.sum())),
        log_density=lambda theta, X: np.log(theta) - theta * X[:, 0],
    )
    resolved = model.resolve(X)
    assert not model.is_resolved
    assert resolved.n_columns == 1
    assert resolved == model.resolve(X)
    assert resolved != model
    assert resolved.simulate([0, 1, 1], rng).shape == (3, 1)
    assert 0 < resolved.sample_posterior(X, rng) < 1
    assert resolved.sample_posterior(X[:0], rng) > 0
    np.testing.assert_allclose(resolved.log_density(2.0, X), np.log(2) - 2 * X[:, 0])
    with pytest.raises(ParameterError, match="X must have 1 column"):
        resolved.bind(np.ones((2, 2)))


def test_what_was_not_given_is_named_when_needed() -> None:
    model, rng = Custom(statistics, batched, columns=1), np.random.default_rng(0)
    for name, call in (
        ("simulate", lambda: model.simulate([0], rng)),
        ("sample_posterior", lambda: model.sample_posterior(X, rng)),
        ("log_density", lambda: model.log_density(1.0, X)),
    ):
        with pytest.raises(ParameterError, match=f"{name} must be given"):
            call()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"statistics": 3}, "statistics must be a function of X"),
        ({"log_marginal": "log"}, "log_marginal must be a compiled function, its address, or a callable"),
        ({"log_marginal": 0}, "log_marginal must be the address of a C function"),
        ({"log_marginal": True}, "log_marginal must be a compiled function"),
        ({"log_marginal": wrong_signature}, r"signature float64\(CPointer\(float64\), int64\)"),
        ({"log_marginal": ctypes.CDLL(None).abs}, r"signature float64\(CPointer\(float64\), int64\)"),
        ({"simulate": 1}, "simulate must be a function or None"),
        ({"columns": 0}, "columns must be a whole number from 1 up"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Custom(**{"statistics": statistics, "log_marginal": batched, **arguments})


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda X: X[:, 0], "statistics must return one row of numbers for each of the 5 rows"),
        (lambda X: X[1:], "statistics must return one row of numbers for each of the 5 rows"),
        (lambda X: np.where(X > 39, np.nan, X), r"statistics\(X\)\[2, 0\] must be finite"),
    ],
)
def test_bad_statistics(function: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Custom(function, batched).resolve(X).bind(X)


@cfunc(SIGNATURE)  # type: ignore[untyped-decorator]
def never_finite(s: Any, m: int) -> float:
    return np.nan


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda s: 1.0, "log_marginal must return 2 numbers for 2 rows"),
        (lambda s: s, "log_marginal must return 2 numbers for 2 rows"),
        (lambda s: np.full(len(s), -np.inf), "log_marginal must be finite for every sum of statistics"),
        (never_finite, "log_marginal must be finite for every sum of statistics"),
    ],
)
def test_bad_log_marginals_are_met_when_binding(function: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Custom(statistics, function).resolve(X).bind(X)


def test_a_log_marginal_that_fails_later_is_still_named() -> None:
    def picky(s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.where(s[:, 0] == 2, np.nan, batched(s))

    bound = Custom(statistics, picky).resolve(X).bind(X)
    with pytest.raises(ParameterError, match="log_marginal must be finite"):
        bound.log_marginals(LABELS)


def test_docstring_example() -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
