"""propose: one model for a table wherever it is asked for, its scores, and tables of every awkward kind."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.data import digits, documents, iris, wine
from hedgerow.summaries import ari

QUICK = {"draws": 40, "warmup": 60, "chains": 1, "seed": 0, "progress": False}


def test_what_a_proposal_holds() -> None:
    proposal = hr.propose(iris().X)
    assert proposal.mixture.is_resolved
    assert not proposal.likelihood.is_resolved
    assert hr.sample(proposal.mixture, proposal.X, **{**QUICK, "draws": 2}).n == 150
    scores = proposal.scores
    assert scores["candidate"].tolist() == ["full covariances", "columns apart", "leading directions"]
    assert scores["chosen"].tolist() == ["yes", "", ""]
    assert scores["log density"][0] > scores["log density"][1]
    assert proposal.to_pandas().shape == (3, 4)
    text = str(proposal)
    assert "full covariances" in text
    assert "in steps of 0.1" in text
    assert "<td>columns apart</td>" in proposal._repr_html_()
    assert hr.propose(iris().X, prior=hr.DP(2.0)).mixture.prior == hr.DP(2.0)
    with pytest.raises(hr.ParameterError, match="be a prior such as DP"):
        hr.propose(iris().X, prior=hr.GaussianWishart())  # type: ignore[arg-type]


def test_a_table_has_one_model_everywhere(tmp_path, monkeypatch) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "code": rng.integers(1, 5, 90),
            "visits": rng.poisson(2.0, 90),
            "height": np.round(rng.normal(170, 9, 90)),
            "colour": rng.choice(["red", "blue"], 90),
            "same": 3,
        }
    )
    proposed = hr.propose(table).mixture.likelihood
    fitted = hr.HedgerowClusterer(draws=2, warmup=2, chains=1, random_state=0).fit(table)
    assert fitted.model_.likelihood == proposed
    trees = hr.BayesianHierarchicalClustering(random_state=0).fit(table)
    assert trees.model_.likelihood == proposed
    table.to_csv(tmp_path / "table.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert main(["fit", "table.csv", "--draws", "2", "--warmup", "2", "--chains", "1", "--seed", "0", "--quiet"]) == 0
    stored = hr.load(tmp_path / "table-run" / "run.hedge").model.likelihood
    read = hr.propose(hr.data.read(tmp_path / "table.csv")).mixture.likelihood
    assert stored == read
    assert [type(part) for part in stored.factors()] == [type(part) for part in proposed.factors()]
    numbers = table[["code", "visits", "height"]].to_numpy(float)
    assert hr.HedgerowClusterer(draws=2, warmup=2, chains=1).fit(numbers).model_.likelihood == hr.propose(numbers).mixture.likelihood


def test_new_rows_come_as_the_table_came() -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"price": [f"{p:.2f} €" for p in rng.gamma(4, 9, 60)], "kind": rng.choice(["a", "b", "c"], 60)})
    post = hr.propose(table).sample(**{**QUICK, "draws": 3})
    assert np.isfinite(post.log_density(table[:4])).all()


def test_columns_that_no_likelihood_takes_may_be_left_out() -> None:
    """A calendar beside measurements: it is like a row number, and frames hold it as dates, which likelihoods refuse."""
    X = np.random.default_rng(3).normal(np.repeat([0.0, 9.0], 30)[:, None], 1.0, (60, 2))
    days = pd.date_range("2024-01-01", periods=60)
    for calendar in (days, days.to_period("D"), [[1]] * 60):
        table = pd.DataFrame({"x": X[:, 0], "calendar": calendar, "y": X[:, 1]})
        columns = {"calendar": "drop"} if isinstance(calendar, list) else None
        proposal = hr.propose(table, columns)
        assert {name for reason in proposal.reasons if reason.choice == "left out" for name in reason.columns} == {"calendar"}
        assert proposal.sample(**QUICK).point_estimate().n_clusters == 2
    table["calendar"] = days
    fitted = hr.HedgerowClusterer(draws=20, warmup=20, chains=1, random_state=0).fit(table)
    np.testing.assert_array_equal(fitted.predict(table.head(3)), fitted.labels_[:3])


def test_tables_of_every_form() -> None:
    columns = {"height": np.arange(40.0) ** 2, "colour": ["red", "blue"] * 20}
    frame = pd.DataFrame(columns)
    wanted = hr.propose(frame).mixture.likelihood
    for table in (columns, frame.to_records(index=False), pl.DataFrame(columns)):
        assert hr.propose(table).mixture.likelihood == wanted
    refused = [
        ({"a": [1, 2], "b": [1]}, "have columns of equal length"),
        ({}, "have columns of equal length"),
        ({"a": "xyz"}, "be columns of entries"),
        ("table.csv", "hedgerow.data.read.path. reads one"),
        (Path("table.csv"), "hedgerow.data.read.path. reads one"),
    ]
    for table, words in refused:
        with pytest.raises(hr.ParameterError, match=words):
            hr.propose(table)
    with pytest.raises(hr.ParameterError, match=r"propose\(X\[:, 0\]=inf\)"):
        hr.propose(np.array([[np.inf], [1.0]]))


def test_what_is_left_out_means_the_same_in_sample() -> None:
    """The rule of NIPS 2015 gives 137 clusters of 178 wines."""
    made = wine()
    model = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianWishart())
    found = hr.sample(model, made.X, **QUICK).point_estimate()
    assert ari(found.labels, made.labels) > 0.7
    assert hr.GaussianWishart().resolve(made.X) == hr.Mixture(hr.DP(), hr.GaussianWishart()).resolve(made.X).likelihood


@pytest.mark.parametrize(("made", "least"), [(iris, 0.85), (wine, 0.75), (digits, 0.6)])
def test_the_default_answer_is_a_good_answer(made, least) -> None:
    table = made()
    short = {"warmup": 30, "draws": 10, "chains": 1} if made is digits else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of ten draws
        labels = hr.HedgerowClusterer(random_state=0, **short).fit(table.X).labels_
    assert ari(labels, table.labels) > least


AWKWARD = {
    "one row": np.random.default_rng(0).normal(size=(1, 3)),
    "two rows": np.random.default_rng(0).normal(size=(2, 3)),
    "constant": np.ones((5, 2)),
    "a constant column": np.column_stack([np.arange(20.0) ** 1.5, np.ones(20)]),
    "copies": np.repeat([[1.5, 2.5], [7.25, 1.0]], 20, axis=0),
    "far away": np.random.default_rng(0).normal(size=(40, 2)) + 1e9,
    "far away on a grid": np.round(np.random.default_rng(0).normal(size=(40, 2)) * 50) + 1e9,
    "tiny": np.random.default_rng(0).normal(size=(40, 2)) * 1e-80,
    "large": np.random.default_rng(0).normal(size=(40, 2)) * 1e90,
    "beyond squares in a column": np.column_stack([np.random.default_rng(0).normal(size=40), np.linspace(1, 2, 40) * 1e200]),
    "columns that add up": np.random.default_rng(0).normal(size=(60, 2)) @ np.array([[1.0, 0, 1], [0, 1, 1]]),
    "a gap": np.where(np.arange(80).reshape(40, 2) == 7, np.nan, np.random.default_rng(0).normal(size=(40, 2))),
    "a column of gaps": np.column_stack([np.random.default_rng(0).normal(size=40), np.full(40, np.nan)]),
    "more columns than rows": np.random.default_rng(0).normal(size=(10, 30)),
    "an outlier": np.r_[np.random.default_rng(0).normal(size=(40, 1)), [[1e12]]],
    "spikes": np.where(np.random.default_rng(0).random((90, 3)) < 0.3, 0.0, np.random.default_rng(1).normal(5, 1, (90, 3))),
    "texts": [["a", "x y"], ["b", "x"], ["a", "x"]] * 5,
    "counts of words": documents(n=20, words=50).X,
    "sparse": sparse.csr_array(np.eye(12)),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_tables_of_every_awkward_kind(name: str) -> None:
    X = AWKWARD[name]
    proposal = hr.propose(X)
    str(proposal)
    post = proposal.sample(draws=3, warmup=3, chains=1, seed=0, progress=False)
    assert np.isfinite(post.log_joint).all()
    assert np.isfinite(post.log_density(proposal.X)).all()


def test_long_tables_are_looked_at_in_part() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-500, 500, (300_000, 2)).astype(float)
    proposal = hr.propose(X)
    assert "in steps of 1" in proposal.explained()
    assert len(proposal.scores["candidate"]) == 2
