"""Columns set aside: those about which the clusters of the others say nothing, and no others."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.proposing import aside
from hedgerow.summaries import ari

DATA = Path(os.environ.get("HEDGEROW_DATA", "../shared/data")) / "everyday"


def animals(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Three kinds, each with two sexes that differ in weight, an island that depends on the kind, and a year that on nothing."""
    rng = np.random.default_rng(seed)
    kind, sex = rng.integers(0, 3, n), rng.integers(0, 2, n)
    centres = np.array([[40.0, 18.0, 3.5], [50.0, 18.5, 3.8], [47.0, 15.0, 5.0]])
    body = centres[kind] + rng.normal(size=(n, 3)) * [2.0, 0.8, 0.3] + sex[:, None] * [2.0, 0.8, 0.4]
    table = pd.DataFrame(body.round(2), columns=["length", "depth", "mass"])
    table["island"] = np.array(["Biscoe", "Dream", "Torgersen"])[np.where(rng.random(n) < 0.8, kind, rng.integers(0, 3, n))]
    table["sex"] = np.array(["female", "male"])[sex]
    table["season"] = rng.choice(["spring", "summer", "autumn"], n)
    return table, kind


def left_out(proposal: hr.Proposal) -> set[str | int]:
    return {name for reason in proposal.reasons if reason.choice == "left out" for name in reason.columns}


def test_a_column_that_stands_by_itself_is_set_aside_and_said() -> None:
    table, kind = animals()
    proposal = hr.propose(table)
    assert left_out(proposal) == {"sex", "season"}
    assert "set aside: the clusters of the other columns say nothing about it (odds" in str(proposal)
    labels = proposal.sample(draws=60, warmup=100, chains=1, seed=0, progress=False).point_estimate().labels
    wanted = hr.propose(table, {"sex": "category", "season": "category"})
    assert left_out(wanted) == set()
    split = wanted.sample(draws=60, warmup=100, chains=1, seed=0, progress=False).point_estimate().labels
    assert ari(labels, kind) > 0.9 > ari(split, kind)


def test_the_estimator_and_typed_tables_set_the_same_aside() -> None:
    table, _ = animals()
    table["sex"] = np.where(table["sex"] == "male", "yes", "no")  # read as truths, so the table is not taken as it is
    proposed = hr.propose(table).mixture.likelihood
    assert hr.HedgerowClusterer(draws=2, warmup=2, chains=1, random_state=0).fit(table).model_.likelihood == proposed
    said = hr.data.understand(table, {"sex": "boolean"})
    assert left_out(hr.propose(said.table(table))) == {"season"}  # what was said stays said
    assert left_out(hr.propose(hr.data.understand(table).table(table))) == {"sex", "season"}


def test_new_rows_need_not_have_what_was_set_aside() -> None:
    table, _ = animals()
    post = hr.propose(table).sample(draws=10, warmup=20, chains=1, seed=0, progress=False)
    few = table.head(5)
    assert post.predict(few.drop(columns=["sex", "season"])).tolist() == post.predict(few).tolist()


def test_columns_that_tell_stay() -> None:
    rng = np.random.default_rng(2)
    kind = rng.integers(0, 3, 200)
    codes = (rng.random((200, 8)) < np.array([0.1, 0.5, 0.9])[kind][:, None]).astype(int)
    assert left_out(hr.propose(codes)) == set()
    noise = rng.integers(0, 2, (200, 2))
    assert left_out(hr.propose(np.hstack([codes, noise]))) == {8, 9}


@pytest.mark.parametrize("seed", range(4))
def test_gaps_change_nothing_of_it(seed: int) -> None:
    table, _ = animals(n=240, seed=seed)
    gaps = np.random.default_rng(seed).random(table.shape) < 0.1
    assert {"season"} <= left_out(hr.propose(table)) == left_out(hr.propose(table.mask(gaps)))


class Stray:
    """`ibhc`, whose trees from some seeds go wrong: their clusters are those of the column that is judged."""

    def __init__(self, labels: np.ndarray, wrong: set[int]) -> None:
        self.labels, self.wrong = labels, wrong
        self.seeds: list[int] = []

    def __call__(self, *given: Any, seed: int, **named: Any) -> Any:
        self.seeds.append(seed)
        forest = hr.ibhc(*given, seed=seed, **named)
        return SimpleNamespace(labels=self.labels) if seed in self.wrong else forest


@pytest.mark.parametrize(("wrong", "grown", "silent"), [(set(), 3, True), ({0}, 5, True), ({0, 2}, 5, True), ({0, 1, 2}, 3, False)])
def test_a_tree_that_goes_wrong_is_outvoted(wrong: set[int], grown: int, silent: bool, monkeypatch) -> None:
    rng = np.random.default_rng(8)
    kind, sex = rng.integers(0, 2, 120), rng.integers(0, 2, 120)
    data = np.column_stack([6.0 * kind[:, None] + rng.normal(size=(120, 2)), sex])
    likelihood = hr.Product({(0, 1): hr.GaussianWishart(), 2: hr.Bernoulli()}).resolve(data)
    trees = Stray(sex, wrong)
    monkeypatch.setattr(aside, "ibhc", trees)
    [gain] = aside.evidence(likelihood, data, [0, 1], [[2]])
    assert trees.seeds == list(range(grown))
    assert (gain < -aside.LEAST_EVIDENCE) == silent
    assert set(aside.bystanders(likelihood, data)) == ({2} if silent else set())


@pytest.mark.parametrize("rows", [3, 9, 60])
def test_without_clusters_nothing_is_set_aside(rows: int) -> None:
    """One cluster of the others says as much about a column as none; a few rows can show nothing."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.choice(list("xy"), rows), "b": rng.normal(size=rows).round(3), "c": rng.normal(size=rows).round(3)})
    table.loc[0, "a"] = "x"
    assert "set aside" not in hr.propose(table).explained()


def test_two_columns_and_those_that_vary_together_are_never_judged() -> None:
    rng = np.random.default_rng(4)
    far = np.repeat([0.0, 9.0], 60)[:, None] + rng.normal(size=(120, 1))
    pair = hr.Product({0: hr.GaussianDiagonal(), 1: hr.Bernoulli()})
    rows = np.hstack([far, rng.integers(0, 2, (120, 1))])
    assert aside.bystanders(pair.resolve(rows), rows) == {}
    three = np.hstack([far, far + rng.normal(size=(120, 1)), rng.normal(size=(120, 1))])
    assert aside.bystanders(hr.GaussianWishart().resolve(three), three) == {}
    apart = hr.GaussianDiagonal().resolve(three)
    assert set(aside.bystanders(apart, three)) == {2}


def test_many_columns_are_judged_by_a_bounded_number_of_trees(monkeypatch) -> None:
    rng = np.random.default_rng(5)
    kind = rng.integers(0, 2, 120)
    told = (rng.random((120, 20)) < np.array([0.1, 0.9])[kind][:, None]).astype(float)
    data = np.hstack([told, rng.integers(0, 2, (120, 20))])
    built: list[int] = []

    def counted(*given: Any, **named: Any) -> hr.Forest:
        built.append(1)
        return hr.ibhc(*given, **named)

    monkeypatch.setattr(aside, "MOST_LEFT_OUT", 7)
    monkeypatch.setattr(aside, "ibhc", counted)
    found = aside.bystanders(hr.Bernoulli().resolve(data), data)
    assert 7 * aside.ENOUGH <= len(built) <= 7 * aside.TREES
    assert set(found) <= set(range(20, 40))
    assert len(found) > 10


def test_when_a_row_was_measured_is_set_aside_where_clusters_say_nothing_about_it() -> None:
    rng = np.random.default_rng(6)
    kind = np.repeat([0, 1], 80)
    body = pd.DataFrame(rng.normal(size=(160, 2)) + 5.0 * kind[:, None], columns=["x", "y"])
    moments = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 8760, 160), unit="h")
    day = {"hour": rng.integers(0, 24, 160), "month": rng.integers(1, 13, 160), "when": moments}
    for name, entries in day.items():
        proposal = hr.propose(body.assign(**{name: entries}))
        assert name in left_out(proposal)
        labels = proposal.sample(draws=40, warmup=80, chains=1, seed=0, progress=False).point_estimate().labels
        assert ari(labels, kind) > 0.95
        assert (
            left_out(hr.propose(body.assign(**{name: entries}), {name: "cycle 24" if name == "hour" else "time"})) == set()
            or name == "month"
        )
    told = body.assign(hour=np.where(kind, rng.integers(8, 12, 160), rng.integers(18, 22, 160)))
    assert left_out(hr.propose(told)) == set()
    night = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 365, 160) * 24 + told["hour"], unit="h")
    reasons = {reason.columns: reason.choice for reason in hr.propose(body.assign(when=night)).reasons}
    assert "left out" not in {choice for columns, choice in reasons.items() if "when: hour (cos)" in columns}
    assert "answer of its own" not in hr.propose(told).explained()  # points on a circle have no spikes


def test_a_moment_beside_a_measurement_with_an_answer_of_its_own_is_judged() -> None:
    """A law of moments given measurements needs rows with all of these: a spike is none."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 3, 300)
    table = pd.DataFrame(rng.normal(size=(300, 2)) + 5.0 * kind[:, None], columns=["x", "y"])
    spent = np.exp(rng.normal(1.0 + 2 * kind, 0.4)).round(2)
    table["spent"] = np.where(rng.random(300) < 0.3, 0.0, spent)
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, 300), unit="D")
    proposal = hr.propose(table)
    assert "0 taken for an answer of its own" in proposal.explained()
    assert left_out(proposal) == {"since"}
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 50, 300) + 500 * kind, unit="D")
    assert left_out(hr.propose(table)) == set()


def test_columns_set_aside_for_about_as_much_are_told_of_together() -> None:
    rng = np.random.default_rng(8)
    kind = rng.integers(0, 2, 120)
    shown = rng.normal(size=(120, 3)) + 4.0 * kind[:, None]
    proposal = hr.propose(np.column_stack([shown, rng.normal(size=(120, 40))]))
    aside = [reason for reason in proposal.reasons if "say nothing about it" in reason.why]
    assert sum(len(reason.columns) for reason in aside) > 30
    assert len(aside) <= 7


def test_clusters_are_expected_to_be_as_alike_as_the_rows_say() -> None:
    """A town of sixty beside a measurement says nothing; answers on a scale differ by degrees; strong codes stay worth a row."""
    rng = np.random.default_rng(1)
    kind = np.repeat([0, 1], 100)
    towns = pd.DataFrame({"town": rng.choice([f"t{i}" for i in range(60)], 200), "size": rng.normal(4.0 * kind)})
    proposal = hr.propose(towns)
    assert "clusters expected to be much alike (the shares of all rows count as" in proposal.explained()
    assert "Categorical(...)" in proposal.explained()
    assert proposal.likelihood.resolve(proposal.X) == proposal.mixture.likelihood
    assert ari(proposal.sample(draws=60, warmup=100, chains=1, seed=0, progress=False).point_estimate().labels, kind) > 0.7
    marks = np.clip(rng.normal(1.5 + 1.2 * kind[:, None], 1, (200, 8)).round(), 0, 4).astype(int)
    answers = pd.DataFrame(np.array(list("abcde"))[marks], columns=[f"q{j}" for j in range(8)])
    assert "count as 4 rows" in hr.propose(answers).explained()
    strong = (rng.random((200, 8)) < np.where(kind, 0.9, 0.1)[:, None]).astype(bool)
    assert "much alike" not in hr.propose(strong).explained()
    assert hr.HedgerowClusterer(draws=2, warmup=2, chains=1, random_state=0).fit(towns).model_.likelihood == proposal.mixture.likelihood


@pytest.mark.skipif(not (DATA / "penguins.csv").exists(), reason="the everyday tables are not there (HEDGEROW_DATA)")
def test_penguins_with_all_columns_are_species() -> None:
    frame = pd.read_csv(DATA / "penguins.csv").drop(columns="rownames", errors="ignore")
    species = pd.factorize(frame.pop("species"))[0]
    proposal = hr.propose(frame)
    assert left_out(proposal) == {"sex", "year"}
    fit = hr.HedgerowClusterer(random_state=0).fit(frame)
    assert ari(fit.labels_, species) > 0.85
    for seed in range(10):
        gaps = np.random.default_rng(seed).random(frame.shape) < 0.1
        assert left_out(hr.propose(frame.mask(gaps))) == {"sex", "year"}
