"""Prepared: scales there and back, densities in the units of the table, entries off their grids, and the rules that find all this."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import hedgerow as hr
from hedgerow.likelihoods.preparation import off_the_grid
from hedgerow.likelihoods.preparing import follows_from_others, preparation_of
from hedgerow.testing import check_likelihood

RNG = np.random.default_rng(0)
LINE = np.array([-300.0, -2.0, -0.1, 0.0, 1e-9, 0.5, 7.0, 4e4])
SCALES = [
    hr.Preparation(),
    hr.Preparation(scale="log"),
    *(hr.Preparation(scale="yeo-johnson", shape=shape, size=3.0) for shape in (0.0, 0.4, 1.0, 2.0)),
]


@pytest.mark.parametrize("column", SCALES, ids=repr)
def test_scales_go_there_and_back_with_their_slope(column: hr.Preparation) -> None:
    x = LINE[LINE > 0] if column.scale == "log" else LINE
    y = column.forward(x)
    assert (np.diff(y) > 0).all()
    np.testing.assert_allclose(column.backward(y), x, rtol=1e-9, atol=1e-12)
    step = 1e-6 * np.maximum(np.abs(x), 1e-3) if column.scale != "log" else 1e-6 * x
    slope = (column.forward(x + step) - column.forward(x - step)) / (2 * step)
    np.testing.assert_allclose(column.log_slope(x), np.log(slope), atol=1e-4)


def test_what_cannot_be_on_a_scale_is_a_gap_there() -> None:
    column = hr.Preparation(scale="log", spikes=(2.0,))
    np.testing.assert_array_equal(np.isnan(column.forward(np.array([-1.0, 0.0, 2.0, np.nan, 3.0]))), [True, True, True, True, False])
    np.testing.assert_array_equal(column.codes(np.array([1.0, 2.0, np.nan])), [0.0, 1.0, np.nan])


def test_densities_are_of_the_table_as_it_is() -> None:
    X = np.exp(RNG.normal(size=(40, 1)))
    model = hr.Mixture(hr.DP(1.0), hr.Prepared(hr.GaussianWishart(), [hr.Preparation(scale="log")]))
    post = hr.sample(model, X, draws=5, warmup=5, chains=1, seed=0, progress=False)
    total = quad(lambda x: np.exp(post.log_density(np.array([[x]]))[0]), 1e-6, 60, limit=200)[0]
    assert total == pytest.approx(1.0, abs=5e-3)  # what lies beyond, and the quadrature
    raw = post.model.log_joint(X, post.labels[0, -1])
    assert post.log_joint[0, -1] == pytest.approx(raw, rel=1e-9)


def test_conformance() -> None:
    assert check_likelihood(*hr.Prepared.example(), draws=400).passed


def test_entries_leave_the_grid_once_and_alike() -> None:
    columns = (hr.Preparation(unit=1.0), hr.Preparation(unit=0.1, spikes=(0.0,)), hr.Preparation())
    X = np.column_stack([RNG.integers(0, 3, 200), RNG.integers(0, 4, 200) / 10, RNG.normal(size=200)]).astype(float)
    X[5] = X[4]
    out = off_the_grid(X, columns)
    assert (np.abs(out - X) <= [0.5, 0.05, 0]).all()
    np.testing.assert_array_equal(out[:, 1][X[:, 1] == 0], 0.0)  # spikes are no measurements
    np.testing.assert_array_equal(off_the_grid(out, columns), out)  # twice is once
    np.testing.assert_array_equal(off_the_grid(X[:50], columns), out[:50])  # a longer table begins alike
    assert (out[5] != out[4])[0]  # equal rows part
    order = np.delete(RNG.permutation(200), [4, 5])
    order = order[(order != 4) & (order != 5)]
    np.testing.assert_array_equal(off_the_grid(X[order], columns), out[order])  # whatever the order
    alone = off_the_grid(X, columns, alone=True)
    np.testing.assert_array_equal(alone[4], alone[5])
    assert off_the_grid(X, columns, first=7)[0, 0] != off_the_grid(X, columns, first=8)[0, 0]
    spread = off_the_grid(np.zeros((20000, 1)), (hr.Preparation(unit=1.0),))[:, 0]
    assert abs(spread.mean()) < 0.01  # five standard errors of a uniform law are 0.0102
    assert spread.std() == pytest.approx(12**-0.5, rel=0.02)


def test_new_rows_are_read_one_by_one() -> None:
    X = RNG.integers(0, 40, (60, 2)).astype(float)
    model = hr.Mixture(hr.DP(1.0), hr.Prepared(hr.GaussianWishart(), [hr.Preparation(unit=1.0)] * 2))
    post = hr.sample(model, X, draws=3, warmup=3, chains=1, seed=0, progress=False)
    new = np.array([[3.0, 4.0], [3.0, 4.0], [20.0, 30.0]])
    together = post.log_density(new)
    assert together[0] == together[1]
    np.testing.assert_allclose(together[2], post.log_density(new[2:])[0], rtol=1e-12)
    values = post.profiles().clusters["mean"]
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(post.model.likelihood.shown_column(post.X, 0, "x")[0][:, 0], X[:, 0])


def test_streams_files_and_shards(tmp_path) -> None:
    X = np.round(np.exp(RNG.normal(size=(80, 2)) + 4 * RNG.integers(0, 2, (80, 1))), 2) + 0.01
    family = hr.Prepared(hr.GaussianDiagonal(), [hr.Preparation(unit=0.01, scale="log"), hr.Preparation(unit=0.01, spikes=(0.02,))])
    model = hr.Mixture(hr.DP(1.0), family)
    stream = hr.trees.TreeStream(model, seed=0)
    for part in np.split(X, 4):
        stream.add(part)
    stream.save(tmp_path / "s.hedge")
    again = hr.trees.TreeStream.load(tmp_path / "s.hedge")
    np.testing.assert_array_equal(again.predict_log_weights(X[:5]), stream.predict_log_weights(X[:5]))
    post = hr.sample(model, X, draws=3, warmup=3, chains=1, seed=0, progress=False)
    post.save(tmp_path / "p.npz")
    loaded = hr.load(tmp_path / "p.npz")
    assert loaded.model == post.model
    np.testing.assert_array_equal(loaded.log_density(X[:5]), post.log_density(X[:5]))
    shards = hr.distributed.sample(model, [X[:40], X[40:]], draws=2, warmup=2, seed=0)
    assert len(shards.labels()) == 80


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: hr.Prepared(hr.GaussianDiagonal(), []), "hold a Preparation for each column"),
        (lambda: hr.Prepared(hr.Multinomial(), [hr.Preparation()]), "be a likelihood of measurements"),
        (lambda: hr.Prepared(hr.GaussianDiagonal([0, 0]), [hr.Preparation()]), "be those of the likelihood, which has 2"),
        (lambda: hr.Prepared(hr.GaussianDiagonal(), [hr.Preparation()], hr.Categorical()), "be left out where no column has spikes"),
        (lambda: hr.Preparation(scale="sqrt"), 'be "as is", "log" or "yeo-johnson"'),
        (lambda: hr.Preparation(shape=3), "lie in .0, 2."),
        (lambda: hr.Preparation(unit=-1), "lie in .0, "),
        (lambda: hr.Preparation(spikes=(1, 1)), "be a sequence of different numbers"),
    ],
)
def test_refusals(make, words) -> None:
    with pytest.raises(hr.ParameterError, match=words):
        make()


N = 400
BELL = RNG.normal(size=N)
FOUND = {
    "measured finely": (BELL, hr.Preparation()),
    "whole numbers": (np.round(20 * BELL), hr.Preparation(unit=1.0)),
    "one decimal": (np.round(5 + BELL, 1), hr.Preparation(unit=0.1)),
    "steps of 25": (25 * np.round(100 + 8 * BELL), hr.Preparation(unit=25.0)),
    "far away": (1e9 + np.round(20 * BELL), hr.Preparation()),
    "six decimals": (np.round(BELL, 6), hr.Preparation()),
    "a long tail": (np.exp(1.5 * BELL), hr.Preparation(scale="log")),
    "none of it in one of ten": (np.where(np.arange(N) % 10 == 0, 0.0, 5 + BELL), hr.Preparation(spikes=(0.0,))),
    "constant": (np.ones(N), hr.Preparation()),
    "gaps only": (np.full(N, np.nan), hr.Preparation()),
    "two clusters": (np.where(np.arange(N) % 2, BELL, BELL + 9), hr.Preparation()),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_a_column_calls_for(name: str) -> None:
    x, wanted = FOUND[name]
    assert preparation_of(x) == wanted


def test_units_of_measurement_change_no_scale() -> None:
    for factor in (1e-6, 1e6):
        assert preparation_of(factor * np.exp(1.5 * BELL)).scale == "log"


def test_a_column_that_follows_from_others_is_found() -> None:
    X = RNG.normal(size=(100, 3))
    both = np.column_stack([X, X[:, 0] - 2 * X[:, 1] + 5, X[:, 2] * 1e6, RNG.normal(size=100)])
    assert follows_from_others(both) == [3, 4]
    assert follows_from_others(both + 1e-3 * RNG.normal(size=both.shape)) == []
    assert follows_from_others(X[:3]) == []


def test_a_column_is_looked_at_once_however_many_are_remembered(monkeypatch) -> None:
    from hedgerow.likelihoods import preparing

    looked: list[int] = []
    monkeypatch.setattr(preparing, "_known", {})
    monkeypatch.setattr(preparing, "MOST_KNOWN", 2)

    def look(x: np.ndarray, own: tuple[float, ...]) -> hr.Preparation:
        looked.append(len(x))
        return hr.Preparation(unit=float(len(x)))

    monkeypatch.setattr(preparing, "_prepared", look)
    table = np.arange(12.0).reshape(6, 2)
    column, copy = table[:, 0], table[:, 0].copy()
    assert preparation_of(column) == preparation_of(copy)
    assert looked == [6]
    for n in (5, 4, 6):
        assert preparation_of(column[:n]).unit == n
    assert looked == [6, 5, 4, 6]
