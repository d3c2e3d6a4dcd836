"""Missing entries from end to end: a gap in a new row is what is left when the entry is summed or integrated out."""

from __future__ import annotations

import csv

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.estimators import BayesianHierarchicalClustering, HedgerowClusterer, IncrementalBHC

NAN = float("nan")
SHORT = {"draws": 15, "warmup": 15, "chains": 2, "seed": 0, "progress": False}
RNG = np.random.default_rng(1)
SIDE = np.repeat([0, 1], 20)
LINE = np.linspace(-60, 60, 4001)


def gaps(X: np.ndarray) -> np.ndarray:
    """Some entries gone, and one row altogether."""
    X = np.array(X, dtype=float)
    X[RNG.random(X.shape) < 0.15] = NAN
    X[7] = NAN
    return X


# a likelihood, data with gaps, and the values over which an entry of column 0 is summed, with their weights
FAMILIES = {
    "GaussianDiagonal": (hr.GaussianDiagonal(), gaps(RNG.normal(4 * SIDE[:, None], 1.0, (40, 2))), LINE, np.diff(LINE).mean()),
    "Poisson": (hr.Poisson(), gaps(RNG.poisson(1 + 6 * SIDE[:, None], (40, 2))), np.arange(400), 1.0),
    "Bernoulli": (hr.Bernoulli(), gaps(RNG.random((40, 2)) < 0.2 + 0.6 * SIDE[:, None]), np.arange(2), 1.0),
    "Categorical": (hr.Categorical(), gaps(RNG.integers(0, 2, (40, 2)) + SIDE[:, None]), np.arange(3), 1.0),
}
PARTS = {0: hr.GaussianDiagonal(), 1: hr.Poisson(), 2: hr.Bernoulli(), 3: hr.Categorical()}
MIXED = np.column_stack([X[:, 0] for _, X, _, _ in FAMILIES.values()])
FAMILIES["Product"] = (hr.Product(PARTS), MIXED, LINE, np.diff(LINE).mean())


@pytest.mark.parametrize("name", FAMILIES)
def test_a_gap_is_an_entry_summed_out(name: str) -> None:
    likelihood, X, values, weight = FAMILIES[name]
    post = hr.sample(hr.Mixture(hr.NGG(), likelihood), X, **SHORT)
    row = X[0].copy()
    row[np.isnan(row)] = 1.0
    filled = np.tile(row, (len(values), 1))
    filled[:, 0] = values
    row[0] = NAN
    total = np.log(weight) + np.logaddexp.reduce(post.log_density(filled))
    assert post.log_density(row[None])[0] == pytest.approx(total, abs=2e-3 if name in ("GaussianDiagonal", "Product") else 1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_row_of_gaps_is_placed_by_the_prior_alone(name: str) -> None:
    likelihood, X, *_ = FAMILIES[name]
    post = hr.sample(hr.Mixture(hr.DP(1.0), likelihood), X, **SHORT)
    empty = np.full((1, X.shape[1]), NAN)
    assert post.log_density(empty)[0] == pytest.approx(0.0, abs=1e-9)
    assert post.predict_proba(empty)[0, -1] == pytest.approx(1.0 / (1.0 + len(X)))  # alpha / (alpha + n)


@pytest.mark.parametrize("name", FAMILIES)
def test_gaps_through_estimators_trees_and_pictures(name: str, tmp_path) -> None:
    likelihood, X, *_ = FAMILIES[name]
    found = HedgerowClusterer(likelihood=likelihood, draws=15, warmup=15, chains=2, random_state=0).fit(X)
    assert found.__sklearn_tags__().input_tags.allow_nan
    assert found.predict(X).shape == (40,)
    assert np.allclose(found.predict_proba(X).sum(axis=1), 1.0)
    assert np.isfinite(found.score_samples(X)).all()
    assert BayesianHierarchicalClustering(likelihood=likelihood).fit(X).labels_.shape == (40,)
    online = IncrementalBHC(likelihood=likelihood, random_state=0).partial_fit(X[::2]).partial_fit(X[1::2])
    assert np.isfinite(online.score_samples(X)).all()
    post = found.posterior_
    assert "clusters" in str(post.cluster_table())
    post.plot_scatter()
    post.plot_pairs(list(range(X.shape[1])))
    assert post.report(tmp_path / "report.html").stat().st_size > 10_000


def test_gaps_from_the_command_line(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {
            "length": FAMILIES["GaussianDiagonal"][1][:, 0],
            "visits": FAMILIES["Poisson"][1][:, 0],
            "colour": np.where(SIDE == 0, "red", "blue"),
        }
    )
    frame.loc[3, "colour"] = None
    frame.to_csv("table.csv", index=False)
    assert main(["fit", "table.csv", "--draws", "15", "--warmup", "15", "--chains", "2", "--seed", "1", "--quiet"]) == 0
    assert "GaussianWishart" in capsys.readouterr().out  # a gap takes no columns apart
    frame.iloc[:8].to_csv("new.csv", index=False)
    assert main(["predict", "table-run", "new.csv", "--out", "labels.csv"]) == 0
    with open("labels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert all(np.isfinite(float(row["log_density"])) for row in rows)


def test_columns_that_correlate_take_gaps_but_nothing_infinite() -> None:
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart())
    assert hr.sample(model, [[0.0, NAN], [1.0, 2.0], [1.5, 2.5]], **SHORT).n == 3
    with pytest.raises(hr.ParameterError, match=r"X\[0, 1\] must be finite"):
        hr.sample(model, [[0.0, np.inf], [1.0, 2.0]], **SHORT)
