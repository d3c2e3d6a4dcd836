"""Posterior: what it says of its draws, and what it foretells."""

from __future__ import annotations

import dataclasses
import importlib.util
import pickle
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, sparse

from hedgerow.errors import MissingExtraError, ParameterError
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Multinomial
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior, predictive
from hedgerow.priors import DP, NGG, NIG, MixedNRM, PitmanYor, Stable
from hedgerow.summaries import similarity
from hedgerow.testing import enumerate_partitions

# the draws


def test_draws_are_checked_and_canonical(post: Posterior) -> None:
    assert post.labels.dtype == np.int32
    assert (post.chains, post.draws, post.n) == (2, 30, 20)
    assert np.array_equal(post.n_clusters, post.labels.max(axis=2) + 1)
    assert post.theta is None
    renamed = dataclasses.replace(post, labels=7 - post.labels)
    assert np.array_equal(renamed.labels, post.labels)
    again = pickle.loads(pickle.dumps(post))
    assert np.array_equal(again.labels, post.labels)
    assert again.model == post.model


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("labels", np.zeros((3, 4), dtype=int), r"labels must have the shape \(chain, draw, row\)"),
        ("log_joint", np.zeros((2, 29)), r"log_joint must have the shape \(chain, draw\) = \(2, 30\)"),
        ("log_u", np.zeros(60), r"log_u must have the shape"),
        ("sample_stats", {"x": np.zeros(3)}, r"sample_stats\['x'\] must have the shape"),
        ("n_clusters", np.ones((2, 30)), "n_clusters must be the numbers of clusters of the labels"),
        ("X", np.zeros((19, 2)), "X must have the 20 rows of the labels"),
        ("model", "NGG", "model must be a Mixture"),
        ("times", np.arange(3), "times must have one entry for each of the 20 rows"),
    ],
)
def test_draws_that_do_not_fit_are_refused(post: Posterior, field: str, value: Any, words: str) -> None:
    given = {f.name: getattr(post, f.name) for f in dataclasses.fields(post) if f.init}
    with pytest.raises(ParameterError, match=words):
        Posterior(**{**given, field: value})


# what it says


def test_summary_rows_columns_and_verdict(post: Posterior) -> None:
    table = post.summary(0.9)
    assert table["quantity"].tolist() == ["log_joint", "n_clusters", "log_u", "alpha", "sigma"]
    assert list(table) == ["quantity", "mean", "sd", "hdi_low", "hdi_high", "mcse", "ess_bulk", "ess_tail", "r_hat"]
    assert table["mean"][2] == pytest.approx(post.log_u.mean())  # type: ignore[union-attr]
    assert "run longer" in str(table)  # 60 draws are few
    assert "90%" in table.title


def test_verdict_follows_the_chains(make: Any, post: Posterior) -> None:
    rng = np.random.default_rng(0)
    model = Mixture(DP(1.0), GaussianWishart())
    labels = (rng.random((4, 1000, 20)) < 0.5).astype(int)
    good = make(model, post.X, labels, log_joint=rng.normal(size=(4, 1000)))
    assert "chains agree" in good.summary().note
    assert good.summary()["quantity"].tolist() == ["log_joint", "n_clusters"]  # alpha is fixed, u integrates out
    bad = dataclasses.replace(good, log_joint=good.log_joint + np.arange(4)[:, None])
    assert "do not agree yet" in bad.summary().note
    assert "log_joint" in bad.summary().note
    short = dataclasses.replace(
        good, **{name: getattr(good, name)[:, :2] for name in ("labels", "log_joint", "n_clusters", "log_u", "alpha", "sigma", "tau")}
    )
    assert "Too few draws" in short.summary().note


def test_summary_of_components_shows_the_worst(post: Posterior) -> None:
    rng = np.random.default_rng(0)
    log_u = np.log(rng.gamma(2, 1, (2, 30, 25)))
    log_u[1, :, 17] += 2
    rows = dataclasses.replace(post, log_u=log_u).summary()["quantity"].tolist()
    assert sum(name.startswith("log_u[") for name in rows) == 10
    assert "log_u[17]" in rows


def test_summaries_speak_of_the_draws(post: Posterior) -> None:
    assert np.allclose(post.similarity(), similarity(post.labels))
    assert post.similarity(rows=[0, 5]).shape == (2, 20)
    found = post.point_estimate()
    assert found.labels.tolist() == [0] * 12 + [1] * 8
    assert post.point_estimate() is found
    assert post.point_estimate("binder").loss == "binder"
    assert np.array_equal(post.credible_ball(0.9).centre, found.labels)
    assert post.credible_ball(0.9, "binder", centre=np.zeros(20)).centre.max() == 0
    assert np.argmax(post.uncertainty().doubt) == 5
    table = post.cluster_table(names=["left", "right"])
    assert table["size"].tolist() == [12, 8]
    assert table["stability"][1] < 1
    assert post.cluster_table(np.zeros(20, dtype=int))["size"].tolist() == [20]
    with pytest.raises(ParameterError, match="partition must be one partition of 20 points"):
        post.uncertainty([0, 1])


def test_map_draw_is_where_the_log_joint_is_highest(post: Posterior) -> None:
    found = post.map_draw()
    assert found.log_joint == post.log_joint.max()
    assert post.log_joint[found.chain, found.draw] == found.log_joint
    assert np.array_equal(found.labels, post.labels[found.chain, found.draw])
    assert f"chain {found.chain}" in repr(found)


def test_how_it_shows_itself(post: Posterior) -> None:
    assert repr(post) == "Posterior(NGG × GaussianWishart: 2 chains × 30 draws of 20 rows, 2 to 3 clusters)"
    assert "stopped early" in repr(dataclasses.replace(post, run={"interrupted": True}))
    page = post._repr_html_()
    assert "clusters in 20 points." in page
    assert page.endswith("<p>Posterior(NGG × GaussianWishart: 2 chains × 30 draws of 20 rows, 2 to 3 clusters)</p>")


@pytest.mark.skipif(importlib.util.find_spec("arviz") is None, reason="arviz is not installed")
def test_to_arviz(post: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    data = post.to_arviz()
    assert data.posterior["labels"].dims == ("chain", "draw", "point")
    assert np.array_equal(data.posterior["labels"].values, post.labels)
    assert {"n_clusters", "log_u", "alpha", "sigma", "tau"} <= set(data.posterior)
    assert np.array_equal(data.sample_stats["lp"].values, post.log_joint)
    assert "accepted" in data.sample_stats
    assert data.observed_data["X"].shape == (20, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import arviz as az
    assert float(az.rhat(data, var_names=["alpha"])["alpha"]) == pytest.approx(float(post.summary()["r_hat"][3]))
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(MissingExtraError, match=r"hedgerow\[arviz\]"):
        post.to_arviz()


# what it foretells


def log_marginal_prior(prior: Any, sizes: list[int]) -> float:
    """log p(Π), with u integrated out by quadrature where there is no closed form."""
    if prior.u_integrates:
        return float(prior.log_partition(sizes))
    total, _ = integrate.quad(lambda v: np.exp(prior.log_partition(sizes, np.exp(v)) + v), -25, 25, limit=400)
    return float(np.log(total))


@pytest.mark.parametrize("prior", [DP(0.7), PitmanYor(0.8, 0.3), NGG(0.9, 0.4, 1.2), NIG(1.1), Stable(1.0, 0.4)])
def test_predictive_weights_are_ratios_of_joints(make: Any, prior: Any) -> None:
    rng = np.random.default_rng(2)
    X, fresh = rng.normal(size=(7, 2)), rng.normal(size=(3, 2))
    post = make(Mixture(prior, GaussianWishart()), X, [[[0, 0, 1, 1, 1, 2, 0]]])
    assert post.model is not None
    likelihood = post.model.likelihood
    [(labels, weights)] = list(predictive(post, fresh))
    assert weights.shape == (3, 4)

    def joint(data: np.ndarray, partition: np.ndarray) -> float:
        sizes = np.bincount(partition)
        data_part = sum(likelihood.log_marginal(data[partition == k]) for k in range(sizes.size))
        return log_marginal_prior(prior, sizes.tolist()) + data_part

    before = joint(X, labels)
    for i in range(3):
        for k in range(4):
            after = joint(np.vstack([X, fresh[i]]), np.append(labels, k))
            assert weights[i, k] == pytest.approx(after - before, abs=1e-6)


def test_membership_is_the_posterior_once_the_new_row_is_known(make: Any) -> None:
    """Draws in their exact proportions; then the answer must be the enumerated posterior of one row more."""
    rng = np.random.default_rng(3)
    X = np.sort(rng.normal(0, 2.5, (5, 1)), axis=0)
    model = Mixture(DP(1.0), GaussianDiagonal()).resolve(X)
    joints = {tuple(p): model.log_joint(X, p) for p in enumerate_partitions(5)}
    shares = np.exp(np.array(list(joints.values())) - np.logaddexp.reduce(list(joints.values())))
    copies = np.round(10_000 * shares).astype(int)
    stack = np.repeat(np.array(list(joints)), copies, axis=0)
    post = make(model, X, stack[None])
    x = np.array([[0.4]])
    longer = [np.asarray(p) for p in enumerate_partitions(6)]
    exact = np.array([model.log_joint(np.vstack([X, x]), p) for p in longer])
    exact = np.exp(exact - np.logaddexp.reduce(exact))
    partition = np.array([0, 0, 1, 1, 1])
    company = [sum(w for w, p in zip(exact, longer, strict=True) if p[5] == p[j]) for j in range(5)]
    alone = sum(w for w, p in zip(exact, longer, strict=True) if np.sum(p == p[5]) == 1)
    affinity = np.array([np.mean(company[:2]), np.mean(company[2:])])
    expected = np.append((1 - alone) * affinity / affinity.sum(), alone)
    proba = post.predict_proba(x, partition=partition)
    assert proba[0] == pytest.approx(expected, abs=3e-3)
    evidence = [
        np.logaddexp.reduce([model.log_joint(data, p) for p in enumerate_partitions(len(data))]) for data in (X, np.vstack([X, x]))
    ]
    assert post.log_density(x)[0] == pytest.approx(evidence[1] - evidence[0], abs=3e-3)


def test_predict_puts_rows_where_they_belong(post: Posterior) -> None:
    fresh = np.array([[-3.0, -3.0], [3.0, 3.0], [60.0, -80.0]])
    proba = post.predict_proba(fresh)
    assert proba.shape == (3, 3)
    assert proba.sum(axis=1) == pytest.approx(np.ones(3))
    assert post.predict(fresh).tolist() == [0, 1, -1]
    assert post.predict(fresh, partition=np.zeros(20, dtype=int)).tolist() == [0, 0, -1]
    density = post.log_density(fresh)
    assert density.shape == (3,)
    assert density[0] > density[2]


def test_max_draws_thins_all_chains_evenly(make: Any, post: Posterior) -> None:
    assert not np.array_equal(post.labels[0], post.labels[1])
    fresh = np.array([[-3.0, -3.0], [3.0, 3.0], [0.0, 0.5], [60.0, -80.0]])
    partition = np.repeat([0, 1], [12, 8])
    for few, kept in ((1, [0]), (4, [0, 20, 39, 59]), (7, [0, 10, 20, 30, 39, 49, 59]), (60, range(60)), (1000, range(60))):
        by_hand = [(i // 30, i % 30) for i in kept]
        traces = {name: np.array([[trace[at] for at in by_hand]]) for name, trace in post.traces().items()}
        thinned = make(post.model, post.X, np.array([[post.labels[at] for at in by_hand]]), **traces)
        assert np.array_equal(post.log_density(fresh, max_draws=few), thinned.log_density(fresh))
        found = post.predict_proba(fresh, partition=partition, max_draws=few)
        assert np.array_equal(found, thinned.predict_proba(fresh, partition=partition))
        assert np.array_equal(post.predict(fresh, partition=partition, max_draws=few), thinned.predict(fresh, partition=partition))


def test_blocks_of_new_rows_change_nothing(post: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = np.random.default_rng(0).normal(size=(11, 2))
    whole = post.predict_proba(fresh), post.log_density(fresh)
    monkeypatch.setattr("hedgerow.posterior.prediction._SUMS", 12)
    assert np.allclose(post.predict_proba(fresh), whole[0])
    assert np.allclose(post.log_density(fresh), whole[1])


def test_the_most_probable_clusters_alone(post: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = np.random.default_rng(0).normal(size=(11, 2))
    whole = post.predict_proba(fresh)
    monkeypatch.setattr("hedgerow.posterior.prediction._SUMS", 12)
    for top in (1, 2, 1000):
        few = post.predict_proba(fresh, top=top)
        assert few.shape == whole.shape
        assert (np.diff(few.indptr) == min(top, whole.shape[1])).all()
        dense = few.toarray()
        assert np.allclose(dense[dense > 0], whole[dense > 0])
        assert np.allclose(np.sort(dense, axis=1)[:, -top:], np.sort(whole, axis=1)[:, -top:])
    best = np.argmax(whole, axis=1)
    assert np.array_equal(post.predict(fresh), np.where(best == whole.shape[1] - 1, -1, best))
    with pytest.raises(ParameterError, match="top must be a whole number from 1 up"):
        post.predict_proba(fresh, top=0)


def test_threads_change_no_answer(post: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = np.random.default_rng(0).normal(size=(11, 2))
    one = post.predict_proba(fresh), post.log_density(fresh), post.outlier_scores()
    monkeypatch.setattr("hedgerow.posterior.prediction._threads", lambda rows, clusters: 3)
    for a, b in zip(one, (post.predict_proba(fresh), post.log_density(fresh), post.outlier_scores()), strict=True):
        assert np.allclose(a, b, atol=1e-12)


def test_the_order_of_the_draws_does_not_matter(make: Any) -> None:
    """Draws that foretell a row by very different densities, in both orders."""
    X = np.concatenate([np.random.default_rng(0).normal(0, 0.1, (8, 1)), [[30.0]]])
    stack = np.array([[[0] * 9, [0] * 8 + [1], [0] * 4 + [1] * 4 + [2]]])
    model = Mixture(DP(1.0), GaussianDiagonal()).resolve(X)
    fresh, partition = np.array([[0.0], [29.0], [5.0]]), np.array([0] * 8 + [1])
    forth, back = (make(model, X, order).predict_proba(fresh, partition=partition) for order in (stack, stack[:, ::-1]))
    assert np.allclose(forth, back)
    assert len({tuple(np.round(row, 3)) for row in forth}) == 3


def test_predict_on_sparse_counts(make: Any) -> None:
    counts = sparse.csr_array(np.array([[9, 0, 0], [8, 1, 0], [0, 0, 9], [0, 1, 8]]))
    post = make(Mixture(DP(1.0), Multinomial()), counts, np.tile([0, 0, 1, 1], (1, 3, 1)))
    assert post.predict(sparse.csr_matrix([[5, 0, 0], [0, 0, 5]])).tolist() == [0, 1]
    with pytest.raises(ParameterError, match="column"):
        post.predict(np.array([[1, 2]]))


def test_predict_refuses_what_does_not_fit(post: Posterior) -> None:
    with pytest.raises(ParameterError, match=r"GaussianWishart\(X=.*column"):
        post.predict(np.zeros((2, 3)))
    with pytest.raises(ParameterError, match="finite"):
        post.predict(np.array([[np.inf, 1.0]]))
    with pytest.raises(ParameterError, match="times must be left out"):
        post.predict(np.zeros((2, 2)), times=[1, 2])
    with pytest.raises(ParameterError, match="max_draws must be a whole number from 1 up"):
        post.log_density(np.zeros((2, 2)), max_draws=0)
    with pytest.raises(ParameterError, match="must have its model"):
        dataclasses.replace(post, model=None).predict(np.zeros((2, 2)))


def test_predict_with_times(make: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 1))
    times = np.array([2000, 2000, 2001, 2001, 2002, 2002])
    model = Mixture(MixedNRM(NGG(1.0, 0.3, 1.0), decay=0.5), GaussianDiagonal())
    shape = (1, 4, 3)
    post = make(
        model, X, np.tile([0, 0, 0, 1, 1, 1], (1, 4, 1)), log_u=np.log(rng.gamma(2, 1, shape)), alpha=np.ones(shape), times=times
    )
    proba = post.predict_proba(X, times=times)
    assert proba.sum(axis=1) == pytest.approx(np.ones(6))
    assert not np.allclose(proba, post.predict_proba(X, times=times[::-1].copy()))
    with pytest.raises(ParameterError, match="times must be among the times at the fit"):
        post.predict(X[:1], times=[1999])
    with pytest.raises(ParameterError, match="times must be given"):
        post.predict(X[:1])


def test_columns_of_a_frame_are_found_by_name(post: Posterior) -> None:
    names = [f"column {j}" for j in range(post.X.shape[1])]
    known = dataclasses.replace(post, run={**post.run, "columns": names})
    frame = pd.DataFrame(post.X[:4], columns=names)
    expected = post.log_density(post.X[:4])
    np.testing.assert_array_equal(known.log_density(frame), expected)
    np.testing.assert_array_equal(known.log_density(frame[names[::-1]]), expected)
    np.testing.assert_array_equal(known.predict_proba(frame[names[::-1]]), post.predict_proba(post.X[:4]))
    np.testing.assert_array_equal(known.log_density(post.X[:4]), expected)  # arrays have no names
    with pytest.raises(ParameterError, match="X must have the columns of the fit by name: column 0, column 1"):
        known.predict(frame.rename(columns={names[0]: "other"}))
