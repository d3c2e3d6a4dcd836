"""What posteriors and forests put into their reports: the tree of the posterior, blocks, names, records."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from hedgerow.data import documents, ring13
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import Categorical, GaussianWishart, Multinomial, Product
from hedgerow.mixture import Mixture
from hedgerow.plots import cut_clusters, leaf_order
from hedgerow.posterior import Posterior, reporting
from hedgerow.posterior.columns import column_names, shown_columns
from hedgerow.priors import DP
from hedgerow.sampling import sample
from hedgerow.summaries import similarity
from hedgerow.trees import ibhc

MODEL = Mixture(DP(1.0), GaussianWishart())


@pytest.fixture(scope="module")
def post() -> Posterior:
    return sample(MODEL, ring13(260).X, draws=30, warmup=20, chains=2, seed=0, progress=False)


def payload(post: Posterior, **options):
    given = {"title": "T", "names": None, "rows": None} | options
    return reporting.payload_of(post, post.point_estimate(), **given)


def test_the_tree_is_that_of_the_posterior(post: Posterior) -> None:
    tree = payload(post).tree
    assert tree is not None
    n = post.n
    left, right, size = (np.asarray(a) for a in (tree.left, tree.right, tree.size))
    assert np.array_equal(np.sort(leaf_order(left, right, tree.roots)), np.arange(n))
    assert size[int(np.atleast_1d(tree.roots)[0])] == n
    # Every join stands at the mean probability that its two sides share a cluster.
    S = similarity(post.labels).astype(float)
    below: dict[int, list[int]] = {i: [i] for i in range(n)}
    for node in range(n, 2 * n - 1):
        a, b = below[int(left[node])], below[int(right[node])]
        below[node] = a + b
        together = np.clip(S[np.ix_(a, b)].mean(), reporting.LEAST, 1 - reporting.LEAST)
        assert np.asarray(tree.log_d)[node] == pytest.approx(np.log(1 / together - 1), abs=1e-3)
    cut = cut_clusters(left, right, tree.roots, tree.log_d)
    assert len(cut) == post.point_estimate().n_clusters


def test_sampled_blocks_agree_with_whole_ones(post: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = payload(post)
    monkeypatch.setattr(reporting, "LARGEST_TREE", 10)
    monkeypatch.setattr(reporting, "SAMPLED_ROWS", 130)
    monkeypatch.setattr(reporting, "BLOCKS", 13)
    sampled = payload(post)
    assert sampled.tree is not None  # now the model's own trees
    assert sampled.similarity is not None
    order = np.asarray(sampled.similarity.order)
    assert np.array_equal(np.sort(order), np.arange(post.n))
    S = similarity(post.labels).astype(float)[np.ix_(order, order)]
    edges = np.asarray(sampled.similarity.edges)
    exact = np.array([[S[a:b, c:d].mean() for c, d in pairwise(edges)] for a, b in pairwise(edges)])
    assert np.abs(np.asarray(sampled.similarity.blocks) - exact).max() < 0.25
    assert np.asarray(whole.similarity.blocks).shape == (260, 260)  # type: ignore[union-attr]
    assert sampled.notes == []
    monkeypatch.setattr(reporting, "LARGEST_GROWN", 20)
    without = payload(post)
    assert (without.tree, without.notes) == (None, ["No tree is drawn: it would be of more than 20 rows."])


def test_words_numbers_and_record(post: Posterior) -> None:
    told = payload(post, rows=[f"row {i}" for i in range(post.n)], names=["east", "north"])
    assert told.points.names is not None
    assert told.points.axes == ("east", "north")
    assert told.draws is not None
    assert set(told.draws.rhat) == {"log joint", "number of clusters"}
    assert told.run["prior"] == "DP(alpha=1.0)"
    assert told.run["draws"] == "30 in each of 2 chains, after 20 of warm-up"
    assert "columns" not in told.run
    lead, sentences = reporting.findings(post, post.point_estimate())
    assert lead == "13 clusters in 260 points."
    assert any("hains" in sentence.text for sentence in sentences)


def test_stopped_runs_say_so(post: Posterior) -> None:
    stopped = dataclasses.replace(post, run={**post.run, "interrupted": True, "draws": 100, "chains": 4})
    assert payload(stopped).notes == ["The run was stopped early: 30 of 100 draws of 2 of 4 chains were kept."]


def test_report_is_one_page(post: Posterior, tmp_path) -> None:
    page = post.report(tmp_path / "r.html", title="Ring", loss="binder")
    text = page.read_text()
    assert "Ring" in text
    assert "Binder loss" in text
    assert len(text) < 2e6
    with pytest.raises(ParameterError, match="name the 2 columns"):
        post.report(tmp_path / "r.html", names=["one"])


def test_counts_show_their_words(tmp_path) -> None:
    toy = documents(40, 50, 2)
    post = sample(Mixture(DP(1.0), Multinomial()), toy.X, draws=10, warmup=5, chains=2, seed=0, progress=False)
    told = payload(post, names=[f"word{j}" for j in range(50)])
    assert told.columns is None
    assert told.counts is not None
    assert "word3" in post.report(tmp_path / "r.html", names=[f"word{j}" for j in range(50)]).read_text()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n: int, tmp_path) -> None:
    post = sample(MODEL, ring13(n).X, draws=3, warmup=0, chains=1, seed=0, progress=False)
    assert post.report(tmp_path / "r.html").stat().st_size > 10_000


def test_missing_column_and_levels() -> None:
    X = np.array([[1.0, 0.0], [2.0, 1.0], [np.nan, 2.0], [4.0, np.nan]])
    levels = Categorical(levels=((1.0, 2.0, 4.0), ("red", "green", "blue")))
    model = Mixture(DP(1.0), Product(((("size", "colour"), levels),), columns=("size", "colour")).resolve(X))
    post = Posterior(labels=np.zeros((1, 5, 4), int), log_joint=np.zeros((1, 5)), X=X, model=model)
    values, names = shown_columns(post)
    assert names == ["size=1", "size=2", "size=4", "colour=red", "colour=green", "colour=blue"]
    np.testing.assert_array_equal(values[:, 0], [1, 0, np.nan, 0])
    np.testing.assert_array_equal(values[:, 4], [0, 1, 0, np.nan])
    assert column_names(post) == ["size", "colour"]
    table = post.cluster_table(np.zeros(4, int))
    assert table["mean"][0][0] == pytest.approx(1 / 3)


def test_forest_report(tmp_path) -> None:
    X = ring13(130).X
    forest = ibhc(MODEL, X, seed=0)
    alone = forest.report(tmp_path / "a.html").read_text()
    full = forest.report(tmp_path / "b.html", X, names=["east", "north"], rows=[f"r{i}" for i in range(130)]).read_text()
    assert "clusters in 130 points" in alone
    assert "north" in full
    assert "r129" in full
    with pytest.raises(ParameterError, match="have the 130 rows"):
        forest.report(tmp_path / "b.html", X[:5])
    toy = documents(30, 20, 2)
    counts = ibhc(Mixture(DP(1.0), Multinomial()), toy.X, seed=0)
    assert counts.report(tmp_path / "c.html", sparse.csr_array(toy.X)).exists()
