"""ESS, R-hat, Monte-Carlo error and intervals: equal to ArviZ, and defined where ArviZ has no answer."""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.summaries import ess_bulk, ess_mean, ess_tail, hdi, mcse_mean, rhat

needs_arviz = pytest.mark.skipif(importlib.util.find_spec("arviz") is None, reason="arviz is not installed")
ALL = [rhat, ess_bulk, ess_tail, ess_mean, mcse_mean]


def arviz() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # announces the next major version at import
        import arviz as az
    return az


def traces(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    chains, draws = int(rng.integers(2, 6)), int(rng.integers(4, 400))
    noise = rng.normal(size=(chains, draws))
    slow, fast = noise.copy(), noise.copy()
    for t in range(1, draws):
        slow[:, t] += 0.95 * slow[:, t - 1]
        fast[:, t] -= 0.7 * fast[:, t - 1]
    return {
        "independent": noise,
        "slow": slow,
        "antithetic": fast,
        "whole numbers": np.round(2 * noise),
        "apart": noise + np.arange(chains)[:, None],
        "heavy tail": np.tan(1.5 * np.tanh(noise)),
        "drift": noise + np.linspace(0, 3, draws),
    }


@needs_arviz
@pytest.mark.parametrize("seed", range(12))
def test_equal_to_arviz(seed: int) -> None:
    az = arviz()
    for name, trace in traces(seed).items():
        theirs = {
            rhat: float(az.rhat(trace)),
            ess_bulk: float(az.ess(trace, method="bulk")),
            ess_tail: float(az.ess(trace, method="tail")),
            ess_mean: float(az.ess(trace, method="mean")),
            mcse_mean: float(az.mcse({"x": trace}, method="mean")["x"]),
        }
        for ours, value in theirs.items():
            assert ours(trace) == pytest.approx(value, rel=1e-8), (name, ours.__name__, trace.shape)
        assert hdi(trace, 0.9) == pytest.approx(tuple(az.hdi(trace.ravel(), 0.9)))


@needs_arviz
def test_short_chains_equal_to_arviz() -> None:
    """Among them some whose sum of autocorrelations goes on to the end and ends below zero."""
    rng = np.random.default_rng(0)
    for trace in rng.normal(size=(300, 2, 12)):
        assert ess_mean(trace) == pytest.approx(float(arviz().ess(trace, method="mean")), rel=1e-8)


@needs_arviz
def test_single_chain_equal_to_arviz_where_it_answers() -> None:
    az = arviz()
    trace = traces(3)["slow"][0]
    assert ess_bulk(trace) == pytest.approx(float(az.ess(trace[None], method="bulk")), rel=1e-8)
    assert math.isfinite(rhat(trace))  # ArviZ wants two chains; the two halves of one can be compared too


def test_good_and_bad_chains_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    good = rng.normal(size=(4, 1000))
    assert rhat(good) < 1.01
    assert 3000 < ess_bulk(good) < 5500
    assert rhat(good + 2 * np.arange(4)[:, None]) > 1.5
    assert rhat(good * np.array([1, 1, 1, 5])[:, None]) > 1.1  # same centre, other spread: the folded value sees it
    walk = np.cumsum(good, axis=1)
    assert ess_bulk(walk) < 40
    assert rhat(walk) > 1.1


def test_a_trace_that_never_changes() -> None:
    still = np.full((4, 50), 3.7)
    assert rhat(still) == 1.0
    assert ess_bulk(still) == ess_tail(still) == ess_mean(still) == 200.0
    assert mcse_mean(still) == pytest.approx(0.0, abs=1e-15)
    assert hdi(still) == (3.7, 3.7)


def test_chains_that_stand_still_apart() -> None:
    apart = np.repeat([[0.1], [0.1], [0.3]], 50, axis=1)
    assert rhat(apart) == math.inf
    assert 0 < ess_bulk(apart) < 10


def test_a_rare_excursion_keeps_finite_answers() -> None:
    rare = np.zeros((2, 100))
    rare[0, 10] = 1.0
    for function in ALL:
        assert math.isfinite(function(rare)), function.__name__


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("trace", [np.zeros((2, 3)), np.array([[1.0, np.nan, 2.0, 3.0]] * 2), np.array([[1.0, np.inf, 2.0, 3.0]] * 2)])
def test_nothing_to_say_is_nan_without_a_warning(function: Callable[[Any], float], trace: np.ndarray) -> None:
    assert math.isnan(function(trace))


def test_shapes_and_shares_are_refused_in_words() -> None:
    with pytest.raises(ParameterError, match=r"rhat\(trace=.*trace must have the shape \(chain, draw\)"):
        rhat(np.zeros((2, 3, 4)))
    with pytest.raises(ParameterError, match=r"prob must lie in \(0, 1\)"):
        hdi(np.zeros((2, 10)), 1.0)
