"""The report page: its size, its structure, what it escapes, and what it leaves out."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import linkage

from hedgerow import plots
from hedgerow.errors import ParameterError
from hedgerow.plots.palette import CLUSTER_COLORS
from hedgerow.report import report_html, write_report
from hedgerow.report.pack import MOST_POINTS, MOST_TERMINALS, encode_numbers, flatten_tree, pack, shown_columns
from hedgerow.report.page import asset
from hedgerow.report.payload import (
    ColumnsPart,
    CountsPart,
    DrawsPart,
    PointsPart,
    ReportPayload,
    SimilarityPart,
    TreePart,
)

NASTY = "</script><script>alert(1)</script><!--&\"'`$title"


def tree_of(X: Any, cut: float) -> TreePart:
    n = len(X)
    Z = linkage(X, "average")
    leaf = np.full(n, -1)
    left, right = (np.concatenate([leaf, Z[:, side].astype(int)]) for side in (0, 1))
    size = np.concatenate([np.ones(n, dtype=int), Z[:, 3].astype(int)])
    log_d = np.concatenate([np.full(n, -np.inf), 20 * (Z[:, 2] - cut)])
    roots = np.array([2 * n - 2])
    scale = plots.tree_heights(left, right, roots, size, log_d)
    return TreePart(left, right, roots, size, log_d, scale.height, scale.cut, scale.ticks)


def payload_of(n: int = 120, clusters: int = 5, chains: int = 4, draws: int = 200, d: int = 2) -> ReportPayload:
    """Every part filled."""
    rng = np.random.default_rng(0)
    z = np.concatenate([np.arange(clusters), rng.integers(clusters, size=n - clusters)])
    X = 4 * rng.normal(size=(clusters, d))[z] + 0.2 * rng.normal(size=(n, d))
    similarity = np.equal.outer(z, z) * 0.9 + 0.05
    tree = tree_of(X, 1.5)
    order = plots.leaf_order(tree.left, tree.right, tree.roots)
    place = plots.plane(X)
    k = clusters + rng.poisson(0.5, size=(chains, draws))
    counts = sparse.csr_array(rng.poisson(0.3, size=(n, 30)))
    return ReportPayload(
        "A report",
        PointsPart(z, 0.4 * rng.random(n), [f"row {i}" for i in range(n)], place.points, place.axes, place.note),
        tree=tree,
        draws=DrawsPart(
            k,
            {"log joint": rng.normal(size=(chains, draws)), "clusters": k.astype(float)},
            {"log joint": 1.0},
            {},
        ),
        columns=ColumnsPart(X, [f"column {j}" for j in range(d)]),
        counts=CountsPart(counts.indptr, counts.indices, counts.data, [f"word{w}" for w in range(30)]),
        similarity=SimilarityPart(*plots.block_means(similarity, order, 300), order),
        run={"seed": 0, "kernel": "Gibbs()"},
        notes=["A note."],
        estimate="one of least expected loss",
    )


class Structure(HTMLParser):
    """Checks that tags nest, and collects ids, links and the text of scripts."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.references: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((given, ""))
        self.ids += [str(given["id"])] if "id" in given else []
        self.links += [str(given[name]) for name in ("href", "src") if name in given]
        self.references += [str(given["aria-labelledby"])] if "aria-labelledby" in given else []
        assert not any(name.startswith("on") or name == "style" for name in given), given

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self.open and self.open[-1] != "style":
            self.text.append(data)


def parse(page: str) -> Structure:
    found = Structure()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


def data_of(page: str) -> dict[str, Any]:
    (text,) = (text for given, text in parse(page).scripts if given.get("id") == "data")
    data: dict[str, Any] = json.loads(text)
    return data


def unpack(packed: dict[str, str]) -> Any:
    return np.frombuffer(base64.b64decode(packed["data"]), dtype="<" + packed["type"])


class TestPage:
    def test_size_at_a_thousand_points(self, tmp_path: Path) -> None:
        path = write_report(tmp_path / "report.html", payload_of(1000, 13, 4, 1000, 8))
        assert path.stat().st_size < 1_000_000  # 2 MB allowed

    def test_structure(self) -> None:
        page = report_html(payload_of())
        found = parse(page)
        assert page.startswith("<!DOCTYPE html>")
        assert len(found.ids) == len(set(found.ids))
        assert set(found.references) <= set(found.ids)
        anchors = [link[1:] for link in found.links if link.startswith("#")]
        assert set(anchors) <= set(found.ids)
        assert [link for link in found.links if not link.startswith("#")] == ["data:,"]
        assert len(found.scripts) == 3

    def test_policy_lists_exactly_the_scripts_and_the_style(self) -> None:
        page = report_html(payload_of())
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy is not None
        assert "default-src 'none'" in policy[1]
        style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
        assert style is not None
        texts = [style[1], *(text for given, text in parse(page).scripts if "type" not in given)]
        for text in texts:
            assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy[1]
        assert policy[1].count("sha256-") == 3
        assert "unsafe" not in policy[1]

    def test_the_same_payload_makes_the_same_page(self) -> None:
        assert report_html(payload_of()) == report_html(payload_of())

    def test_licence_of_the_library_travels_along(self) -> None:
        page = report_html(payload_of())
        assert "Mike Bostock" in page
        assert "Robert Penner" in page

    def test_assets_cannot_end_their_element(self) -> None:
        for name in (
            "d3.min.js",
            "core.js",
            "tree.js",
            "scatter.js",
            "panel.js",
            "charts.js",
            "similarity.js",
            "start.js",
        ):
            assert "</script" not in asset(name).lower()
            assert "<!--" not in asset(name)
        assert "*/" not in asset("d3.LICENSE.txt")

    def test_colours_are_those_of_the_plots(self) -> None:
        found = re.search(r"CLUSTER_COLORS = \[(.*?)\]", asset("core.js"))
        assert found is not None
        assert tuple(json.loads(f"[{found[1]}]")) == CLUSTER_COLORS


class TestEscaping:
    def nasty(self) -> ReportPayload:
        base = payload_of(40, 3)
        assert base.draws is not None
        assert base.columns is not None
        assert base.counts is not None
        return dataclasses.replace(
            base,
            title=NASTY,
            points=dataclasses.replace(base.points, names=[NASTY] * 40, axes=(NASTY, NASTY), note=NASTY),
            draws=dataclasses.replace(base.draws, quantities={NASTY: base.draws.quantities["log joint"]}, rhat={NASTY: 1.0}),
            columns=dataclasses.replace(base.columns, names=[NASTY, NASTY]),
            counts=dataclasses.replace(base.counts, words=[f"{NASTY}{w}" for w in range(30)]),
            run={NASTY: NASTY},
            notes=[NASTY],
            estimate=NASTY,
        )

    def test_hostile_strings_stay_strings(self) -> None:
        page = report_html(self.nasty())
        assert "<script>alert" not in page
        assert "<!--" not in page.partition("<body>")[2].partition('<script type="application/json"')[0]
        found = parse(page)
        assert len(found.scripts) == 3
        assert any(NASTY in text for text in found.text)
        data = data_of(page)
        assert data["columns"]["names"] == [NASTY, NASTY]
        assert data["scatter"]["axes"] == [NASTY, NASTY]
        assert data["points"]["names"][0] == NASTY
        assert data["draws"]["traces"][0]["name"] == NASTY

    def test_data_block_holds_no_markup_at_all(self) -> None:
        (text,) = (text for given, text in parse(report_html(self.nasty())).scripts if given.get("id") == "data")
        assert not set(text) & set("<>&")


SECTIONS = {
    "tree": {"tree", "tree-in"},
    "draws": {"number", "chains", "counts"},
    "similarity": {"together", "similarity"},
}


class TestMissingParts:
    @pytest.mark.parametrize("part", SECTIONS)
    def test_a_missing_part_leaves_only_its_own_section_out(self, part: str) -> None:
        whole, less = payload_of(), dataclasses.replace(payload_of(), **{part: None})
        gone = set(parse(report_html(whole)).ids) - set(parse(report_html(less)).ids)
        assert gone >= SECTIONS[part]
        assert not gone & set().union(*(ids for other, ids in SECTIONS.items() if other != part))
        assert part not in data_of(report_html(less))

    def test_points_alone(self) -> None:
        page = report_html(ReportPayload("Three points", PointsPart([0, 0, 1])))
        found = parse(page)
        sections = [link[1:] for link in found.links if link.startswith("#") and link != "#content"]
        assert sections == ["found", "clusters"]
        assert set(data_of(page)) == {"points", "views", "shown"}
        assert "2 clusters in 3 points." in found.text

    def test_scatter_without_tree_and_tree_without_scatter(self) -> None:
        base = payload_of()
        assert "Points" in parse(report_html(dataclasses.replace(base, tree=None))).text
        flat = dataclasses.replace(base, points=dataclasses.replace(base.points, plane=None))
        found = parse(report_html(flat))
        assert "Tree" in found.text
        assert "scatter" not in found.ids
        assert "panel" in found.ids

    def test_many_clusters_fold(self) -> None:
        page = report_html(ReportPayload("Many", PointsPart(np.arange(100))))
        assert "70 smaller clusters" in parse(page).text
        assert page.count("data-cluster=") == 100


class TestPack:
    # roots 6 = ((0 1) 2) and 3; 5 = (0 1)
    HAND = TreePart(
        left=[-1, -1, -1, -1, -1, 0, 5],
        right=[-1, -1, -1, -1, -1, 1, 2],
        roots=[6, 3],
        size=[1, 1, 1, 1, 1, 2, 3],
        log_d=[0.0] * 7,
        height=[0.0] * 7,
        cut=1.0,
    )

    def test_preorder_by_hand(self) -> None:
        flat = flatten_tree(self.HAND)
        assert flat["node"].tolist() == [6, 5, 0, 1, 2, 3]
        assert flat["right"].tolist() == [4, 3, 0, 0, 0, 0]
        assert flat["roots"] == [0, 5]
        assert flat["order"].tolist() == [0, 1, 2, 3]
        assert flat["start"].tolist() == [0, 0, 0, 1, 2, 3]
        assert flat["stop"].tolist() == [3, 2, 1, 2, 3, 4]

    def test_a_large_set_is_sampled_evenly_and_its_tree_closed(self) -> None:
        n = 9_000
        leaf = np.full(n, -1)
        joins = np.arange(n, 2 * n - 1)
        size = np.concatenate([np.ones(n, dtype=int), np.arange(2, n + 1)])
        tree = TreePart(
            left=np.concatenate([leaf, [0], joins[:-1]]),
            right=np.concatenate([leaf, np.arange(1, n)]),
            roots=[2 * n - 2],
            size=size,
            log_d=-size.astype(float),
            height=np.log(size),
            cut=10.0,
        )
        labels = np.arange(n) % 3
        data = pack(ReportPayload("Large", PointsPart(labels, plane=np.zeros((n, 2))), tree=tree))
        rows = unpack(data["points"]["row"])
        assert len(rows) == MOST_POINTS
        assert np.diff(np.sort(rows)).max() <= 3
        right, start, stop = (unpack(data["tree"][name]) for name in ("right", "start", "stop"))
        assert int(np.sum(right == 0)) == MOST_TERMINALS
        assert (start[0], stop[0]) == (0, MOST_POINTS)
        inner = np.flatnonzero(right > 0)
        np.testing.assert_array_equal(start[inner], start[inner + 1])
        np.testing.assert_array_equal(stop[inner + 1], start[right[inner]])
        np.testing.assert_array_equal(stop[inner], stop[right[inner]])
        assert sorted(unpack(data["tree"]["order"])) == list(range(MOST_POINTS))

    def test_arrays_survive(self) -> None:
        payload = payload_of()
        data = data_of(report_html(payload))
        np.testing.assert_array_equal(unpack(data["views"][0]["label"]), payload.points.labels)
        plane = unpack(data["scatter"]["points"]).reshape(-1, 2)
        np.testing.assert_allclose(plane, np.asarray(payload.points.plane), rtol=1e-6)
        assert payload.similarity is not None
        blocks = np.asarray(payload.similarity.blocks)
        half = unpack(data["similarity"]["half"]) / 255
        np.testing.assert_allclose(half, blocks[np.tril_indices(len(blocks))], atol=0.002)

    def test_numbers_far_from_zero_keep_what_differs(self) -> None:
        near = np.array([[0.0, 5.0], [1.0, np.nan], [2.0, 7.0]])
        for values, kind in ((near, "f4"), (near + 1e9, "f8"), (near[:, :1] * 0 + 1e9 + 0.3, "f8")):
            packed = encode_numbers(values)
            assert packed["type"] == kind
            np.testing.assert_allclose(unpack(packed).reshape(values.shape) - np.nanmin(values), values - np.nanmin(values), atol=1e-4)

    def test_long_traces_are_thinned_but_keep_their_spike(self) -> None:
        values = np.zeros((1, 50_000))
        values[0, 33_333] = 9.0
        draws = DrawsPart(np.full((1, 50_000), 3), {"log joint": values})
        data = pack(ReportPayload("Long", PointsPart([0]), draws=draws))
        chain = data["draws"]["traces"][0]["chains"][0]
        at, value = unpack(chain["at"]), unpack(chain["value"])
        assert len(at) <= 1000
        assert at[np.argmax(value)] == 33_333

    def test_of_many_columns_the_telling_ones_are_shown(self) -> None:
        rng = np.random.default_rng(0)
        labels = np.arange(90) % 3
        X = rng.normal(size=(90, 40))
        X[:, 17] += 5 * labels
        X[4, 17] = np.nan
        X[:, 3] = 1.0
        columns = ColumnsPart(X, [str(j) for j in range(40)])
        shown = shown_columns(columns, labels)
        assert len(shown) == 12
        assert 17 in shown
        assert 3 not in shown
        told = shown_columns(columns, labels, first={"3"})
        assert {3, 17} <= set(told.tolist())
        assert len(told) == 12


class TestPayload:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"points": PointsPart([0, 2])}, "labels must be integers 0..K-1, each used"),
            ({"points": PointsPart([])}, "labels must be a vector with at least one point"),
            ({"points": PointsPart([0, 1], uncertainty=[0.1])}, r"uncertainty must have shape \(2,\)"),
            ({"points": PointsPart([0, 1], names=["a"])}, "names must name 2 points"),
            ({"columns": ColumnsPart(np.zeros((2, 3)), ["a"])}, r"columns must have shape \(120, 1\)"),
            ({"tree": TestPack.HAND}, "roots must stand over all 120 points"),
            ({"draws": DrawsPart([1, 2], {})}, r"n_clusters must have shape \(chain, draw\)"),
            ({"similarity": SimilarityPart(np.eye(500), np.arange(501), np.arange(120))}, "1 to 400 rows"),
        ],
    )
    def test_parts_that_disagree_are_refused(self, change: dict[str, Any], message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            dataclasses.replace(payload_of(), **change)


def test_names_that_moved_are_answered_with_a_warning() -> None:
    import hedgerow.posterior
    import hedgerow.report

    with pytest.warns(FutureWarning, match=r"hedgerow\.report\.TreePart is now hedgerow\.report\.payload\.TreePart"):
        assert hedgerow.report.TreePart is TreePart
    with pytest.warns(FutureWarning, match="Posterior.load"):
        assert hedgerow.posterior.load == hedgerow.posterior.Posterior.load
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = hedgerow.report.nothing_like_it
