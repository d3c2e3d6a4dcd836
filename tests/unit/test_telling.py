"""Columns that tell something among many that do not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from hedgerow.likelihoods import GaussianDiagonal, Preparation, Prepared
from hedgerow.proposing.telling import silent


def table(noise: int, n: int = 100, real: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three bell curves in a few columns, and columns of noise in units of their own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = 4.0 * rng.standard_normal((3, real))[y] + rng.standard_normal((n, real))
    return np.column_stack([X, rng.standard_normal((n, noise)) * 10.0 ** rng.integers(-2, 3, noise)]), y


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_noise_is_silent_and_the_answer_is_that_without_it(seed: int) -> None:
    X, y = table(60, seed=seed)
    law = GaussianDiagonal().resolve(X)
    assert set(silent(law, X)) == set(range(3, 63))
    found = hr.propose(X)
    gone = {column for reason in found.reasons if reason.choice == "left out" for column in reason.columns}
    assert gone == set(range(3, 63))
    run = {"draws": 60, "warmup": 60, "chains": 1, "seed": 0, "progress": False}
    without = hr.propose(X[:, :3]).sample(**run).point_estimate().labels
    assert adjusted_rand_score(without, found.sample(**run).point_estimate().labels) > 0.9
    assert adjusted_rand_score(y, without) > 0.5  # two of three in one, where they overlap


def test_columns_that_go_together_and_those_wanted_stay() -> None:
    X, _ = table(30)
    rng = np.random.default_rng(9)
    tied = X[:, 3:5] / X[:, 3:5].std(axis=0)
    X = np.column_stack([X, tied.sum(axis=1) + 0.3 * rng.standard_normal(len(X))])
    found = silent(GaussianDiagonal().resolve(X), X)
    assert not {0, 1, 2, X.shape[1] - 1} & set(found)
    assert 3 not in found or 4 not in found
    frame = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    wanted = hr.propose(frame, columns={"c20": "number"})
    assert all("c20" not in reason.columns or reason.choice != "left out" for reason in wanted.reasons)


def test_units_scales_and_gaps_change_nothing() -> None:
    X, _ = table(40)
    known = set(silent(GaussianDiagonal().resolve(X), X))
    assert set(silent(GaussianDiagonal().resolve(1e3 * X - 7), 1e3 * X - 7)) == known
    logs = np.exp(X / X.std(axis=0))
    law = Prepared(GaussianDiagonal(), [Preparation(scale="log")] * X.shape[1]).resolve(logs)
    assert set(silent(law, law.check(logs))) == known
    gaps = np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X)
    assert set(silent(GaussianDiagonal().resolve(gaps), gaps)) == known


def test_nothing_is_silent_where_nothing_tells() -> None:
    noise = np.random.default_rng(4).standard_normal((80, 40))
    assert silent(GaussianDiagonal().resolve(noise), noise) == {}
    two = table(0, real=2)[0]
    assert silent(GaussianDiagonal().resolve(two), two) == {}
    apart = np.repeat(9.0 * np.arange(3), 30)[:, None] + np.random.default_rng(5).standard_normal((90, 6))
    assert silent(GaussianDiagonal().resolve(apart), apart) == {}
