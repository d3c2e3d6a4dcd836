"""Profiles: names of clusters in the columns' own units, which columns separate, two clusters side by side."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy import sparse

import hedgerow as hr
from hedgerow.numerals import percent
from hedgerow.summaries import profiles


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    own = np.repeat([0, 1, 2], [50, 30, 20])
    X = np.column_stack(
        [
            np.array([10.0, 20.0, 10.0])[own] + rng.normal(0, 1, 100),
            rng.normal(0, 1, 100),
            (own == 2).astype(float),
            np.full(100, 7.0),
        ]
    )
    return X, own, ["length", "noise", "sex=male", "same"]


def test_names_say_direction_and_value_in_the_columns_units(table):
    X, own, names = table
    found = profiles(X, own, names=names)
    by = dict(zip(found.clusters["cluster"], found.clusters["name"], strict=True))
    assert by[1].startswith("length 2")
    assert by[1].split(";")[0].endswith(", higher")
    assert "length 10" in by[0]
    assert ", lower" in by[0]
    assert by[2].startswith("sex=male 100%")
    assert not any("same" in name or "noise" in name for name in by.values())
    assert list(found.clusters["size"]) == [50, 30, 20]


def test_importance_is_the_share_of_variance_between_clusters(table):
    X, own, names = table
    found = profiles(X, own, names=names)
    share = dict(zip(found.columns["column"], found.columns["importance"], strict=True))
    means = np.array([X[own == k, 0].mean() for k in range(3)])[own]
    assert share["length"] == pytest.approx(means.var() / X[:, 0].var())
    assert share["sex=male"] == pytest.approx(1.0)
    assert share["noise"] < 0.1
    assert share["same"] == 0.0
    assert list(found.columns["importance"]) == sorted(found.columns["importance"], reverse=True)


def test_gaps_are_left_out_and_a_cluster_without_entries_says_so(table):
    X, own, names = table
    X = X.copy()
    X[own == 1, 1] = np.nan
    X[3, 0] = np.nan
    found = profiles(X, own, names=names)
    assert np.isnan(found.clusters["mean"][1, 1])
    whole = profiles(np.delete(X, 3, axis=0)[:, :1], np.delete(own, 3), names=names[:1])
    assert found.clusters["mean"][:, 0] == pytest.approx(whole.clusters["mean"][:, 0])


def test_two_clusters_side_by_side(table):
    X, own, names = table
    found = profiles(X, own, names=names).compare(0, 1)
    assert found["column"][0] == "length"
    assert found["cluster 0"][0].startswith("10")
    assert found["apart"][0] > 5
    with pytest.raises(hr.ParameterError, match="one of the 3 clusters"):
        profiles(X, own, names=names).compare(0, 9)


def test_typical_and_doubtful_rows_go_by_their_names(table):
    X, own, names = table
    draws = np.stack([own, own, np.where(np.arange(100) == 60, 0, own)])
    rows = [f"r{i}" for i in range(100)]
    found = profiles(X, own, draws, names=names, rows=rows)
    assert found.clusters["doubtful"][1] == "r60"
    assert all(name in rows for name in found.clusters["typical"])
    assert own[int(found.clusters["typical"][2][1:])] == 2


def test_words_of_documents(tmp_path):
    own = np.array([0, 0, 0, 1, 1])
    X = sparse.csr_array(np.array([[5, 0, 1], [6, 0, 1], [4, 1, 1], [0, 7, 1], [0, 6, 1]]))
    found = profiles(X, own, names=["goal", "vote", "said"], top=1)
    assert list(found.clusters["name"]) == ["goal", "vote"]
    assert found.columns["column"][-1] == "said"
    with pytest.raises(hr.ParameterError, match="words"):
        found.compare(0, 1)


def test_a_posterior_gives_its_own(tmp_path):
    X, y = hr.data.iris()[:2]
    post = hr.sample(hr.Mixture(hr.DP(1.0), hr.GaussianWishart()), X, draws=20, warmup=20, chains=2, seed=0, progress=False)
    found = post.profiles(y, names=["sl", "sw", "pl", "pw"])
    assert "pl" in found.clusters["name"][0] or "pw" in found.clusters["name"][0]
    assert len(found.to_pandas()) == 3
    assert "cluster" in str(found)
    assert "<table>" in found._repr_html_()
    found.to_csv(tmp_path / "profiles.csv")
    with open(tmp_path / "profiles.csv", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 3


def test_a_column_of_zeros_and_ones_is_told_by_its_share() -> None:
    yes = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, np.nan])
    part = np.array([0.1, 0.2, 0.1, 0.1, 0.9, 0.8, 0.9, 0.9])
    tiny = np.array([1.0, 2.0, 1.0, 2.0, 8.0, 9.0, 8.0, 9.0]) * 1e-12
    found = profiles(np.column_stack([yes, part, tiny, np.ones(8)]), [0] * 4 + [1] * 4, names=["owns", "part", "tiny", "one"])
    assert found.shares == ("owns",)
    told = {str(fact) for facts in found.facts for fact in facts if fact.column == "owns"}
    assert told == {"owns 25%", "owns 100%"}
    side = dict(zip(found.compare(0, 1)["column"].tolist(), found.compare(0, 1)["cluster 0"].tolist(), strict=True))
    assert side["owns"] == "25%"
    assert "±" in side["part"]
    assert "±" in side["tiny"]


def test_shares_are_rounded_as_the_page_rounds_them() -> None:
    assert [percent(share) for share in (0.0, 0.004, 0.005, 0.125, 0.785, 0.996, 1.0)] == [
        "0%",
        "<1%",
        "1%",
        "13%",
        "79%",
        ">99%",
        "100%",
    ]
