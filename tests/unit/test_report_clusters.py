"""The part of the report on clusters: what the cards and the table say; and what is folded."""

from __future__ import annotations

import re

import numpy as np

from hedgerow.report import report_html
from hedgerow.report.clusters import clusters_body
from hedgerow.report.pack import pack
from hedgerow.report.payload import ColumnsPart, PointsPart, Profile, ProfilesPart, ReportPayload


def test_levels_of_a_column_are_one_column_with_the_level_that_most_rows_have() -> None:
    labels = np.arange(600) % 2
    sea = np.where(labels == 0, "Baltic", "Black")
    sea[0] = "Ionian"
    levels = [f"sea={name}" for name in ("Baltic", "Black", "Ionian")]
    values = np.column_stack([*(sea == name.partition("=")[2] for name in levels), labels + 0.25, labels == 0]).astype(float)
    values[2:4, :3] = np.nan
    columns = ColumnsPart(values, [*levels, "depth", "open=yes"])
    body = clusters_body(ReportPayload("Seas", PointsPart(labels, np.where(np.arange(600) == 5, 0.1, 0.0)), columns=columns))
    heads = re.findall('<th scope="col">(.*?)</th>', body.replace("<wbr>", ""))
    assert heads == ["cluster", "points", "share", "certainty", "sea", "depth", "open=yes"]
    assert "<td>Baltic &gt;99%</td><td>0.25 ± 0</td><td>100%</td>" in body  # one of 299 rows is Ionian
    assert "<td>Black 100%</td><td>1.25 ± 0</td><td>0%</td>" in body
    assert "<td>100%</td><td>Baltic" in body
    assert "<td>&gt;99%</td><td>Black" in body  # a certainty of nearly all is not said to be all
    assert "of names the one that most rows have" in body


def test_a_fact_about_a_level_has_its_shares_whatever_columns_are_packed() -> None:
    labels = np.arange(40) % 2
    values = np.column_stack([labels, *np.random.default_rng(0).normal(size=(20, 40)) + 9 * labels]).astype(float)
    values[0, 0] = 1.0
    values[2, 0] = np.nan
    profiles = ProfilesPart([Profile(0, [("sex=f", "sex=f 5%", ""), ("c3", "c3 0.1", "lower")]), Profile(1)])
    columns = ColumnsPart(values, ["sex=f", *(f"c{j}" for j in range(20))])
    body = clusters_body(ReportPayload("Wide", PointsPart(labels), columns=columns, profiles=profiles))
    assert 'data-column="sex=f" data-here="0.05263" data-all="0.5385"' in body  # 1 of 19, 21 of 39
    assert body.count("data-here") == 1


def test_a_row_that_is_typical_and_doubtful_is_named_once() -> None:
    profiles = ProfilesPart([Profile(0, typical="Ann", doubtful="Ann"), Profile(1, typical="Bob", doubtful="Eve")])
    body = clusters_body(ReportPayload("People", PointsPart(np.arange(20) % 2), profiles=profiles))
    assert "typical Ann.</p>" in body
    assert "typical Bob; most doubtful Eve.</p>" in body


def test_of_few_points_more_columns_are_drawn_than_told() -> None:
    for n, drawn in ((90, 40), (2_000, 24), (9_000, 12)):
        X = np.random.default_rng(0).normal(size=(n, 60))
        X[:, 50] += 9 * (np.arange(n) % 2)
        profiles = ProfilesPart([Profile(0, [("c7", "c7 0.1", "lower")]), Profile(1)])
        columns = ColumnsPart(X, [f"c{j}" for j in range(60)])
        packed = pack(ReportPayload("Wide", PointsPart(np.arange(n) % 2), columns=columns, profiles=profiles))["columns"]
        assert len(packed["names"]) == drawn
        assert "c7" in packed["names"]  # a card has its picture
        assert len(packed["told"]) in (11, 12)  # the most telling, but for one that may have made room for c7
        assert "c50" in [packed["names"][i] for i in packed["told"]]


def test_of_a_single_cluster_nothing_is_compared() -> None:
    columns = ColumnsPart(np.arange(20.0)[:, None], ["a"])
    for labels, said, compared in (
        (np.zeros(20, dtype=int), "It has all the points.", False),
        (np.arange(20) % 2, "like the rest", True),
    ):
        profiles = ProfilesPart([Profile(c) for c in np.unique(labels)], [("a", 0.0)])
        body = clusters_body(ReportPayload("One", PointsPart(labels), columns=columns, profiles=profiles))
        assert said in body
        assert ("What separates them" in body) == compared


def test_a_long_text_of_the_run_record_is_behind_its_beginning() -> None:
    page = report_html(ReportPayload("Run", PointsPart([0, 0, 1]), run={"likelihood": "<" + 500 * "x", "seed": 1}))
    assert "<summary>&lt;" + 119 * "x" + "…</summary>&lt;" + 500 * "x" + "</details>" in page
    assert "<dd>1</dd>" in page
