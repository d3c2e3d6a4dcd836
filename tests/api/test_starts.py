"""The first partition of every chain: words, labels, one of either per chain, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr


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
