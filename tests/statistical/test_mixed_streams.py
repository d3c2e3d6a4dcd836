"""Groups one at a time: algorithm 3's repeats, agreement with the batch, bounded cost, and what times may be."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.trees import TreeStream

TOY = hr.data.moving_clusters(30, steps=8, seed=7, centre_sd=10.0, point_sd=1.5)
PRIOR = hr.MixedNRM(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2), 1e-3), basis=range(2, 9, 2), decay=0.2)
MODEL = hr.Mixture(PRIOR, hr.GaussianWishart(mean=TOY.X.mean(axis=0), r=1.0, nu=6.0, psi=np.cov(TOY.X.T)))


def feed(stream: TreeStream, steps: range = range(1, 9)) -> TreeStream:
    for step in steps:
        stream.add(TOY.X[TOY.times == step], TOY.times[TOY.times == step])
    return stream


@pytest.mark.parametrize("revise", [True, False])
@pytest.mark.parametrize("repeats", [1, 4])
def test_a_stream_of_groups_is_a_whole_forest(revise: bool, repeats: int) -> None:
    stream = feed(TreeStream(MODEL, revise=revise, repeats=repeats, seed=0))
    forest, points = stream.to_forest()
    forest.validate()
    np.testing.assert_array_equal(np.sort(points), np.arange(len(TOY.X)))
    assert stream.cluster_sizes.sum() == len(TOY.X)
    assert stream.log_joint == pytest.approx(forest.log_joint, rel=1e-9)
    gone = {event.cluster for event in stream.events if event.kind == "died"}
    made = {event.cluster for event in stream.events if event.kind in ("born", "split")}
    assert set(stream.cluster_ids.tolist()) <= made
    assert not set(stream.cluster_ids.tolist()) & gone


def test_groups_one_at_a_time_come_to_the_batch() -> None:
    batch = max(hr.ibhc(MODEL, TOY.X, times=TOY.times, passes=25, seed=seed).log_joint for seed in range(3))
    found = [feed(TreeStream(MODEL, repeats=5, seed=seed)).log_joint for seed in range(3)]
    assert np.median(found) > batch - 0.005 * abs(batch)


def test_repeats_go_on_exactly_from_a_file(tmp_path: Path) -> None:
    stream = feed(TreeStream(MODEL, repeats=3, seed=1), range(1, 5))
    stream.save(tmp_path / "stream.npz")
    other = TreeStream.load(tmp_path / "stream.npz")
    for one in (stream, other):
        feed(one, range(5, 9))
    np.testing.assert_array_equal(stream.labels, other.labels)
    assert stream.log_joint == other.log_joint


def test_a_group_costs_as_much_as_the_one_before() -> None:
    rng = np.random.default_rng(0)
    prior = hr.MixedNRM(hr.NGG(1.0, 0.2, 1e-3), basis=range(0, 80, 20), decay=0.1)
    stream = TreeStream(hr.Mixture(prior, hr.GaussianWishart.nips2015()), max_nodes=1000, remember=False, seed=0)
    work = []
    for step in range(60):
        before = stream.evaluations
        stream.add(rng.normal(size=(100, 2)) + 8 * rng.integers(0, 4, (100, 1)), np.full(100, step))
        work.append(stream.evaluations - before)
    assert stream.n_nodes <= 1000
    assert np.mean(work[-10:]) < 1.5 * np.mean(work[25:35])


def test_bad_repeats() -> None:
    for value in (0, 2.5, True, 10_000):
        with pytest.raises(hr.ParameterError, match="repeats must be"):
            TreeStream(MODEL, repeats=value)
    with pytest.raises(hr.ParameterError, match="repeats must be"):
        hr.IncrementalBHC(prior=PRIOR, repeats=0).partial_fit(TOY.X[:20], times=TOY.times[:20])


def test_places_with_a_kernel_of_their_own() -> None:
    rng = np.random.default_rng(1)
    places = np.repeat([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]], 12, axis=0)
    X = rng.normal(size=(36, 2)) + places
    near = hr.MixedNRM(hr.NGG(1.0, 0.3), basis=[(0.0, 0.0), (5.0, 5.0)], kernel=lambda t, r: np.exp(-np.sum((t - np.asarray(r)) ** 2)))
    q = near.group(places, 36).q
    np.testing.assert_allclose(q, [[1.0, np.exp(-50)], [np.exp(-1), np.exp(-41)], [np.exp(-50), 1.0]])
    model = hr.Mixture(near, hr.GaussianWishart.nips2015())
    forest = hr.ibhc(model, X, times=places, seed=0)
    assert forest.log_joint == pytest.approx(model.log_joint(X, forest.labels, u=np.exp(forest.values["log_u"]), times=places))
    post = hr.sample(model, X, times=places, draws=10, warmup=5, chains=1, seed=0, progress=False)
    assert np.isfinite(post.log_density(X[:3], times=places[:3])).all()
    far = hr.MixedNRM(hr.NGG(1.0, 0.3), basis=[(0.0, 0.0), (5.0, 5.0)], decay=1.0).group(places, 36).q
    np.testing.assert_allclose(far[:, 0], np.exp([0.0, -1.0, -np.sqrt(50)]))


def test_times_of_every_kind_are_the_same_groups() -> None:
    numbers = np.repeat([1, 2, 3], 8)
    days = [datetime.date(2024, 1, int(day)) for day in numbers]
    kinds = {"numbers": numbers, "dates": days, "datetime64": np.array(days, "M8[D]"), "labels": np.array(["a", "b", "c"])[numbers - 1]}
    X = np.random.default_rng(0).normal(size=(24, 2))
    model = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3), decay=0.5), hr.GaussianWishart.nips2015())
    found = {name: hr.ibhc(model, X, times=times, seed=0).log_joint for name, times in kinds.items()}
    assert len(set(found.values())) == 1


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (None, "times must be given"),
        ([1, 2], "one entry for each of the 24 rows"),
        (np.array(["2024-01-01"] * 23 + ["NaT"], "M8[D]"), "no missing entry"),
        ([1.0] * 23 + [np.nan], "no missing or infinite entry"),
        (["a"] * 23 + [1], "times must be"),
    ],
)
def test_bad_times(times: object, words: str) -> None:
    X = np.random.default_rng(0).normal(size=(24, 2))
    model = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3), decay=0.5), hr.GaussianWishart.nips2015())
    for call in (hr.ibhc, hr.sample):
        with pytest.raises(hr.ParameterError, match=words):
            call(model, X, times=times, seed=0)


def test_a_time_that_the_fit_has_not_seen_is_refused() -> None:
    X = np.random.default_rng(0).normal(size=(24, 2))
    model = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3), decay=0.5), hr.GaussianWishart.nips2015())
    post = hr.sample(model, X, times=np.repeat([1, 2], 12), draws=3, warmup=1, chains=1, seed=0, progress=False)
    with pytest.raises(hr.ParameterError, match="among the times at the fit"):
        post.log_density(X[:1], times=[3])
