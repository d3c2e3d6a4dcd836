"""The first partition of every chain: words, labels, one of either per chain, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from hedgerow.sampling import Chain, starts
from hedgerow.sampling.blocks import Begin, News, Pace, Round
from hedgerow.sampling.interrupts import Stop
from hedgerow.sampling.plan import Plan, read_plan
from hedgerow.sampling.threads import run_in_threads


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return hr.data.ring13(seed=0, n=130)[0]


@pytest.fixture(scope="module")
def model() -> hr.Mixture:
    return hr.Mixture(hr.NGG(alpha=1.0, sigma=0.2, tau=1.0), hr.GaussianWishart())


def first_counts(model: hr.Mixture, X: Any, init: Any, chains: int = 2) -> list[int]:
    """Clusters of the first draw when nothing but one row can move."""
    post = hr.sample(model, X, kernel=hr.Gibbs(subset=1), draws=1, warmup=0, chains=chains, seed=0, init=init)
    return [int(k) for k in post.n_clusters[:, 0]]


def test_starts_by_word(model, X) -> None:
    assert all(k in (1, 2) for k in first_counts(model, X, "one"))
    assert all(k in (len(X), len(X) - 1) for k in first_counts(model, X, "singletons"))
    assert all(5 < k < 40 for k in first_counts(model, X, "sequential"))


def test_starts_from_trees(model, X) -> None:
    grown = [hr.sample(model, X, kernel=hr.Gibbs(subset=1), draws=1, warmup=0, chains=3, seed=s, init="ibhc") for s in (0, 0, 1)]
    np.testing.assert_array_equal(grown[0].labels, grown[1].labels)
    assert all(5 <= k <= 25 for post in grown for k in post.n_clusters[:, 0])
    assert len({labels.tobytes() for post in grown for labels in post.labels[:, 0]}) > 1  # every chain grows its own
    rough = first_counts(model, X, "rough")
    assert all(k > 3 for k in rough)
    high, low = grown[0].log_joint[0, 0], hr.sample(model, X, draws=1, warmup=0, chains=1, seed=0, init="one", kernel=hr.Gibbs(1))
    assert high > low.log_joint[0, 0]


def test_starts_from_trees_over_times(X) -> None:
    mixed = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 1.0), basis=[1, 2], decay=0.5), hr.GaussianWishart())
    times = np.arange(130) % 2 + 1
    post = hr.sample(mixed, X, kernel=hr.Gibbs(), draws=2, warmup=0, chains=2, seed=0, init=["ibhc", "rough"], times=times)
    assert post.log_u.shape == (2, 2, 2)


def test_starts_by_labels_of_any_kind(model, X) -> None:
    labels = hr.data.ring13(seed=0, n=130)[1]
    whole = first_counts(model, X, labels)
    assert all(abs(k - 13) <= 1 for k in whole)
    assert first_counts(model, X, list(labels)) == whole
    assert first_counts(model, X, labels * 10 - 3) == whole  # only which rows share a label matters
    assert first_counts(model, X, np.array(["abcdefghijklm"[k] for k in labels])) == whole


def test_starts_one_per_chain(model, X) -> None:
    labels = hr.data.ring13(seed=0, n=130)[1]
    ones, halves = np.zeros(130, int), np.arange(130) % 2
    a, b = first_counts(model, X, [ones, labels])
    assert a <= 2
    assert abs(b - 13) <= 1
    assert first_counts(model, X, np.stack([ones, labels])) == [a, b]
    a, b, c = first_counts(model, X, ["one", "singletons", halves], chains=3)
    assert a <= 2
    assert b >= 129
    assert abs(c - 2) <= 1


@pytest.mark.parametrize(
    ("init", "words"),
    [
        ("kmeans", "be one of sequential, ibhc, rough, one, singletons"),
        (["one"], r"have one entry per chain \(2\)"),
        (["one", 3], "one-dimensional"),
        (np.zeros(7, int), "130 rows"),
        (np.zeros((3, 130), int), r"one entry per chain \(2\)"),
        (np.zeros((2, 7), int), "130 rows"),
        ([[0, 1], [0]], "130 rows"),
        (np.zeros((2, 2, 130), int), "must be one of"),
        (np.full(130, 0.5), "whole number"),
        (None, "must be one of"),
        (3, "must be one of"),
    ],
    ids=str,
)
def test_starts_refused(model, X, init, words) -> None:
    with pytest.raises(hr.ParameterError, match=words):
        hr.sample(model, X, chains=2, init=init)


def test_where_clusters_are_very_many_chains_start_from_trees() -> None:
    """The first thousands of rows are of as many clusters, and are taken for a few wide ones."""
    rng = np.random.default_rng(1)
    truth = rng.permutation(np.arange(8000) % 800)
    X = rng.uniform(0, 10, (800, 6))[truth] + rng.normal(0, 0.3, (8000, 6))
    model = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianWishart()).resolve(X)
    near = hr.sample(model, X, draws=5, warmup=15, chains=2, seed=0)
    assert min(adjusted_rand_score(truth, labels) for labels in near.labels[:, -1]) > 0.9
    assert (near.labels[0, -1] != near.labels[1, -1]).any()  # each chain from its own
    known = hr.sample(model, X, draws=5, warmup=15, chains=2, seed=0, init=truth)
    assert near.log_joint[:, -1].mean() > known.log_joint[:, -1].mean() - 100  # of 85,000
    again = hr.sample(model, X, draws=5, warmup=15, chains=2, seed=0)
    np.testing.assert_array_equal(again.labels, near.labels)


@pytest.fixture
def many(monkeypatch) -> np.ndarray:
    """Rows of clusters that overlap, so many that samples of 400 and 1,600 of them come first."""
    monkeypatch.setattr(starts, "_LEAST", 6400)
    monkeypatch.setattr(starts, "_SAMPLE", 400)
    rng = np.random.default_rng(3)
    return rng.normal(0, 3, (30, 3))[rng.integers(30, size=6400)] + rng.normal(size=(6400, 3))


OVERLAPPING = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianWishart())


def plan_for(X: np.ndarray, **more: Any) -> Plan:
    given = {"kernel": None, "init": "sequential", "times": None, "draws": 4, "warmup": 4, "chains": 2, "thin": 1, "seed": 0} | more
    return read_plan(OVERLAPPING, X, given.pop("kernel"), given.pop("init"), given.pop("times"), **given)


def test_of_very_many_rows_samples_come_first(many, monkeypatch) -> None:
    plan = plan_for(many)
    bound = plan.bind()
    settled = [plan.open(index, bound) for index in (0, 1, 0)]
    assert all(chain.settled for chain in settled)
    labels = [chain.here().labels[0] for chain in settled]
    assert (labels[0] != labels[1]).any()  # each chain from samples of its own
    np.testing.assert_array_equal(labels[0], labels[2])
    few = plan_for(many[:6399])
    assert not few.open(0, few.bind()).settled
    lengths = [plan_for(X, draws=None, until=hr.Agreement(), warmup=100).warmup for X in (many, many[:6399])]
    assert 2 * lengths[0] == lengths[1]
    monkeypatch.setattr(starts, "_LEAST", 10**9)
    plain = plan_for(many).open(0, bound)
    assert not plain.settled
    for chain in (settled[0], plain):
        chain.warm_up(4, 0, 4)
    assert settled[0].log_mass() > plain.log_mass() + 50  # as far as a warm-up ten times as long


def test_a_start_by_samples_can_be_stopped(many) -> None:
    plan = plan_for(many)
    for patience in (0, 70):
        asked: list[None] = []

        def stopped(asked: list[None] = asked, patience: int = patience) -> bool:
            asked.append(None)
            return len(asked) > patience

        chain = plan.open(0, plan.bind(), None, stopped)
        assert len(asked) <= patience + 3
        assert chain.here().labels.shape == (1, 6400)


@pytest.mark.parametrize("lasting", [True, False])
def test_a_start_that_was_cut_short_is_not_stored(many, lasting) -> None:
    """Where another session would go on from it."""

    class Soon(Stop):
        reads = 0

        @property
        def asked(self) -> bool:
            self.reads += 1
            return self.reads > 5

        @asked.setter
        def asked(self, value: bool) -> None:
            pass

    stored: list[News] = []
    plan, stop = plan_for(many, chains=1), Soon()
    run_in_threads(plan.bind(), Round(plan, [Begin()], Pace(True), stored.append, lambda news: None, stop, lasting))
    assert stop.reads < 20
    assert len(stored) == (0 if lasting else 1)


def test_a_run_that_began_by_samples_goes_on_alike(many, tmp_path) -> None:
    whole = hr.sample(OVERLAPPING, many, draws=6, warmup=4, chains=2, seed=0)
    hr.sample(OVERLAPPING, many, draws=3, warmup=4, chains=2, seed=0, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(hr.resume(tmp_path / "run", draws=6).labels, whole.labels)
    plan = plan_for(many)
    state = plan.open(0, plan.bind()).state()
    assert plan.open(0, plan.bind(), state).settled  # a longer warm-up keeps the start too


def test_other_starts_and_times_have_no_samples(many) -> None:
    times = np.arange(6400) % 2
    mixed = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 1.0), basis=[0, 1], decay=0.5), hr.GaussianWishart())
    for plan in (
        plan_for(many, init="one"),
        read_plan(mixed, many, None, "sequential", times, draws=1, warmup=1, chains=1, thin=1, seed=0),
    ):
        assert not plan.samples(0)


def test_no_tree_takes_the_place_of_a_settled_start(model, X) -> None:
    still = hr.TreeGuided(global_moves=0, single_moves=1, recasts=0, sweep_rate=0)  # moves only after the warm-up
    halves = np.arange(130) % 2
    for settled in (False, True):
        chain = Chain(model, X, still, labels=halves, seed=0)
        chain.spread(halves)
        chain.settled = settled
        chain.warm_up(1, 0, 1)
        assert (chain.here().labels[0] == halves).all() == settled


@pytest.mark.parametrize("labels", [[0, 1], [0, 2, -1], [0, -2, 1], [0.0, 1.0, -1.0], [-1, -1, 1]], ids=str)
def test_what_cannot_be_spread(model, labels) -> None:
    chain = Chain(model, [[0.0], [1.0], [2.0]], hr.Gibbs(), seed=0)
    with pytest.raises(hr.ParameterError, match=r"Chain.spread\(labels="):
        chain.spread(labels)
