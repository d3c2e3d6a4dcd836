"""A posterior over shards answers as one in memory does on the same draws: every method, for dense rows, levels and counts."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse

import hedgerow as hr
from hedgerow.distributed import DistributedPosterior, attach, sample
from hedgerow.summaries.points import Points

mpl.use("Agg")
CUTS = [40, 41, 150]
SETTINGS: dict[str, Any] = {"kernel": hr.distributed.Conditional(scouts=100, pairs=8), "draws": 12, "warmup": 6, "chains": 2, "seed": 3}


def rows_of(kind: str) -> tuple[hr.Mixture, Any]:
    rng = np.random.default_rng(0)
    prior = hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 3))
    if kind == "GaussianWishart":
        return hr.Mixture(prior, hr.GaussianWishart()), hr.data.ring13(n=208, seed=1).X
    if kind == "Multinomial":
        return hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.Multinomial(0.5)), sparse.csr_array(rng.poisson([3.0, 1, 0.2, 0.5, 2], (208, 5)))
    if kind == "power":  # statistics are packed at the power, densities of new rows are the likelihood's own
        return hr.Mixture(prior, hr.GaussianWishart(), power=0.8), hr.data.ring13(n=208, seed=1).X
    X = np.column_stack([rng.normal(size=208) + 4 * (np.arange(208) % 3), np.arange(208) % 3, rng.poisson(3.0, 208)]).astype(float)
    X[::17, 0] = np.nan
    X[5::29, 1] = np.nan
    parts = [([0], hr.GaussianDiagonal()), ([1], hr.Categorical()), ([2], hr.Poisson())]
    return hr.Mixture(prior, hr.Product(parts)), X


@pytest.fixture(scope="module", params=["GaussianWishart", "Multinomial", "Product", "power"])
def both(request) -> tuple[DistributedPosterior, hr.Posterior]:
    model, X = rows_of(request.param)
    cuts = [0, *CUTS, X.shape[0]]
    shards = [X[a:b] for a, b in pairwise(cuts)]
    far = sample(model, shards, **SETTINGS)
    labels = np.array([[far.labels(d, c) for d in range(far.draws)] for c in range(far.chains)])
    near = hr.Posterior(labels=labels, log_joint=far.log_joint, X=far.model.likelihood.check(X), model=far.model, **far.traces())
    return far, near


def assert_same_table(a: Any, b: Any) -> None:
    assert a.title == b.title
    assert list(a) == list(b)
    for name in a:
        if np.asarray(a[name]).dtype.kind in "fc":
            np.testing.assert_allclose(a[name], b[name], rtol=1e-9, atol=1e-12, err_msg=name)
        else:
            assert np.asarray(a[name]).tolist() == np.asarray(b[name]).tolist(), name


def test_traces_and_summary(both) -> None:
    far, near = both
    assert (far.chains, far.draws, far.n, far.sampled()) == (near.chains, near.draws, near.n, near.sampled())
    np.testing.assert_array_equal(far.n_clusters, near.n_clusters)
    assert_same_table(far.summary(), near.summary())
    assert far.summary().note == near.summary().note


@pytest.mark.parametrize("loss", ["vi", "binder", "omari"])
def test_estimates(both, loss) -> None:
    far, near = both
    for options in ({}, {"max_draws": 7}, {"min_size": 3}) if loss == "vi" else ({},):
        found, wanted = far.point_estimate(loss, **options), near.point_estimate(loss, **options)
        np.testing.assert_array_equal(found.labels, wanted.labels)
        assert found.expected_loss == pytest.approx(wanted.expected_loss, abs=1e-12)
        assert (found.n_clusters, found.limits, found.unlimited) == (wanted.n_clusters, wanted.limits, wanted.unlimited)
    ball, wanted_ball = far.credible_ball(loss=loss), near.credible_ball(loss=loss)
    assert ball.radius == pytest.approx(wanted_ball.radius, abs=1e-12)
    np.testing.assert_allclose(ball.distances, wanted_ball.distances.ravel(), atol=1e-12)
    for name in ("centre", "horizontal", "upper", "lower"):
        np.testing.assert_array_equal(getattr(ball, name), getattr(wanted_ball, name), err_msg=name)


@pytest.mark.parametrize("own", [False, True], ids=["point estimate", "a partition of one's own"])
def test_how_sure_and_what_like(both, own) -> None:
    far, near = both
    partition = np.arange(far.n) % 4 if own else None
    for name in ("doubt", "probability"):
        np.testing.assert_allclose(getattr(far.uncertainty(partition), name), getattr(near.uncertainty(partition), name), atol=1e-12)
    names = [f"column {j}" for j in range(near.X.shape[1])]
    assert_same_table(far.cluster_table(partition, names=names), near.cluster_table(partition, names=names))
    ours, theirs = far.profiles(partition, names=names), near.profiles(partition, names=names)
    assert_same_table(ours.clusters, theirs.clusters)
    assert_same_table(ours.columns, theirs.columns)
    assert [[str(f) for f in facts] for facts in ours.facts] == [[str(f) for f in facts] for facts in theirs.facts]


def test_similarity_and_the_best_draw(both) -> None:
    far, near = both
    rows, columns = [3, 100, 207, 3], [0, 40, 41]
    np.testing.assert_array_equal(far.similarity(rows, columns), near.similarity(rows, columns))
    np.testing.assert_array_equal(far.similarity(rows), near.similarity(rows))
    np.testing.assert_allclose(far.similarity(), near.similarity(), rtol=1e-6)
    np.testing.assert_array_equal(far.best_so_far(), near.best_so_far())
    best, wanted = far.map_draw(), near.map_draw()
    assert (best.chain, best.draw, best.log_joint) == (wanted.chain, wanted.draw, wanted.log_joint)
    np.testing.assert_array_equal(best.labels, wanted.labels)


def test_new_rows(both) -> None:
    far, near = both
    new = near.X[[0, 50, 100, 200, 5, 17]]
    for options in ({}, {"max_draws": 5}):
        np.testing.assert_allclose(far.log_density(new, **options), near.log_density(new, **options), rtol=1e-9)
        np.testing.assert_allclose(far.predict_proba(new, **options), near.predict_proba(new, **options), atol=1e-9)
        np.testing.assert_array_equal(far.predict(new, **options), near.predict(new, **options))
    few, wanted = far.predict_proba(new, top=2), near.predict_proba(new, top=2)
    np.testing.assert_allclose(few.toarray(), wanted.toarray(), atol=1e-9)
    with pytest.raises(hr.ParameterError, match="times"):
        far.log_density(new, times=np.arange(6))
    partition = np.arange(far.n) % 4
    np.testing.assert_allclose(far.predict_proba(new, partition=partition), near.predict_proba(new, partition=partition), atol=1e-9)


def test_outlier_scores(both) -> None:
    far, near = both
    for draws in (5, None):
        np.testing.assert_allclose(far.outlier_scores(max_draws=draws), near.outlier_scores(max_draws=draws), atol=1e-12)


def test_outlier_scores_of_gaps_are_refused_in_words() -> None:
    model, X = rows_of("GaussianWishart")
    X = X.copy()
    X[60, 1] = np.nan
    far = sample(model, np.split(X, [50]), **(SETTINGS | {"draws": 2}))
    wanted = r"shards\[1\] \(array\): .*rows must have no missing entries in correlated columns.* Got '1 rows with gaps'"
    with pytest.raises(hr.ParameterError, match=wanted):
        far.outlier_scores()


def test_equals_come_in_one_order() -> None:
    """Levels of two are as telling as each other, and rows may be as near to a middle, to the last bit or but one."""
    model = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.Categorical())
    X = np.random.default_rng(0).integers(0, 3, (90, 3)).astype(float)
    for cuts in ([1, 40], [3, 50, 51], [7, 30, 60]):
        far = sample(model, np.split(X, cuts), **(SETTINGS | {"draws": 3}))
        labels = np.array([[far.labels(d, c) for d in range(far.draws)] for c in range(far.chains)])
        near = hr.Posterior(labels=labels, log_joint=far.log_joint, X=far.model.likelihood.check(X), model=far.model, **far.traces())
        partition = np.arange(90) % 4
        assert_same_table(far.profiles(partition).clusters, near.profiles(partition).clusters)
        assert_same_table(far.profiles(partition).columns, near.profiles(partition).columns)
        assert_same_table(far.cluster_table(partition), near.cluster_table(partition))


def test_saved_and_loaded(both, tmp_path) -> None:
    far, near = both
    far.save(tmp_path / "post.hedge")
    read = hr.load(tmp_path / "post.hedge")
    assert isinstance(read, DistributedPosterior)
    np.testing.assert_array_equal(read.labels(3, 1), far.labels(3, 1))
    assert repr(read.model) == repr(far.model)
    np.testing.assert_array_equal(read.point_estimate().labels, near.point_estimate().labels)
    np.testing.assert_array_equal(read.predict_proba(near.X[:3]), far.predict_proba(near.X[:3]))
    with pytest.raises(hr.ParameterError, match=r"attach\(posterior, shards\) says where they are"):
        read.cluster_table()
    cuts = [0, *CUTS, near.n]
    shards = [near.X[a:b] for a, b in pairwise(cuts)]
    assert_same_table(attach(read, shards).cluster_table(), near.cluster_table())
    with pytest.raises(hr.ParameterError, match="be the shards of the posterior: 40 rows here"):
        attach(read, [shards[1], shards[0], *shards[2:]]).cluster_table()
    with pytest.raises(hr.ParameterError, match="be the 4 shards of the posterior"):
        attach(read, shards[:2])


def test_handed_on(both, tmp_path) -> None:
    far, near = both
    pytest.importorskip("arviz")
    found = far.to_arviz()
    np.testing.assert_array_equal(found.posterior["labels"], near.labels)
    page = far.report(tmp_path / "report.html", title="Shards", rows=[f"plant {i}" for i in range(far.n)]).read_text()
    assert "<title>Shards" in page
    assert "plant 207" in page
    post, rows = far.sampled_rows(60)
    assert 40 < len(rows) < 80
    np.testing.assert_array_equal(post.labels[1, 4], hr.summaries.canonical(near.labels[1, 4][rows]))
    figures = [far.plot_trace(), far.plot_n_clusters(), far.plot_similarity(), far.plot_tree(), far.plot_scatter()]
    assert all(figure is not None for figure in figures)


def test_the_report_says_what_it_shows(tmp_path, monkeypatch) -> None:
    model, X = rows_of("GaussianWishart")
    monkeypatch.setattr("hedgerow.posterior.sharded._SAMPLE", 50)
    monkeypatch.setattr(DistributedPosterior.sampled_rows, "__defaults__", (50,))
    far = sample(model, np.array_split(X, 3), **SETTINGS)
    page = far.report(tmp_path / "report.html").read_text()
    assert "of the 208 rows, drawn at random within clusters" in page


def test_points_of_parts_are_the_points_of_all() -> None:
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 3, (5, 200))
    labels[:, :3] = [[0, 1, 2]] * 5
    whole = Points.of(labels)
    parts = []
    for part in np.split(labels, [50, 50, 120], axis=1):
        own, copies, place = (part[:, :0], np.zeros(0, int), np.zeros(0, int)) if part.size == 0 else _merged(part)
        parts.append((own, copies, place))
    joined = Points.join(parts)
    for name in ("draws", "copies", "place"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name), err_msg=name)


def _merged(part: np.ndarray) -> Any:
    from hedgerow.summaries.partitions import merge_points

    return merge_points(part)


def test_refused(tmp_path) -> None:
    model, X = rows_of("GaussianWishart")
    far = sample(model, [X], **(SETTINGS | {"labels": "none", "draws": 2}))
    with pytest.raises(hr.ParameterError, match="labels of draws must have been kept"):
        far.point_estimate()
    assert far.log_density(X[:2]).shape == (2,)
    with pytest.raises(hr.ParameterError, match="chain must be a chain, 0 to 1"):
        far.labels(0, 2)
    with pytest.raises(hr.ParameterError, match="posterior must be a DistributedPosterior"):
        attach("post", [X])


@pytest.mark.parametrize("named", [False, True], ids=["rows by number", "rows with names"])
def test_the_report_is_that_of_memory(both, named, tmp_path) -> None:
    """Every word of the page but the record of the run, and every number that its pictures are drawn from."""
    far, near = both
    near = replace(near, run=far.run)
    columns = [f"column {j}" for j in range(near.X.shape[1])] if named else None
    given: dict[str, Any] = {"names": columns, "rows": [f"plant {i}" for i in range(far.n)] if named else None}
    (words, data), (wanted_words, wanted) = (
        parts_of(post.report(tmp_path / f"{post.__class__.__name__}.html", title="Shards", **given).read_text()) for post in (far, near)
    )
    assert words == wanted_words
    assert ("plant 17" in json.dumps(data)) == named
    assert_same_data(data, wanted, "page")


def parts_of(page: str) -> tuple[str, Any]:
    """The page without its data, and the data."""
    before, data, after = re.split(r'(?<=<script type="application/json" id="data">)(.*?)(?=</script>)', page, maxsplit=1, flags=re.S)
    return before + after, json.loads(data)


def assert_same_data(ours: Any, theirs: Any, where: str) -> None:
    """Arrays to the last bits but few, for sums of shards are rounded in another order; all else alike."""
    if isinstance(ours, dict) and set(ours) == {"type", "data"} == set(theirs):
        assert ours["type"] == theirs["type"], where
        one, other = (np.frombuffer(base64.b64decode(part["data"]), "<" + part["type"]) for part in (ours, theirs))
        np.testing.assert_allclose(one, other, rtol=1e-6 if ours["type"] == "f4" else 1e-9, atol=1e-12, err_msg=where)
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs), where
        for name, part in ours.items():
            assert_same_data(part, theirs[name], f"{where}.{name}")
    elif isinstance(ours, list):
        assert len(ours) == len(theirs), where
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same_data(one, other, f"{where}[{i}]")
    else:
        assert ours == (pytest.approx(theirs, rel=1e-9) if isinstance(theirs, float) else theirs), where
