"""The start over shards: clusters that a sample of the rows has missed, or taken for one, are found before the first sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from hedgerow import _core
from hedgerow.distributed import Conditional, missed, opening, sample
from hedgerow.priors.state import packed

KERNEL = Conditional(scouts=100, pairs=4)


@pytest.fixture
def few_sprouts(monkeypatch) -> None:
    monkeypatch.setattr(opening, "_SPROUTS", 300)


def islands(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two large clusters and thirty of eight rows, far from each other, in random order."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.concatenate([np.repeat([0, 1], 1500), np.repeat(np.arange(2, 32), 8)]))
    centres = rng.uniform(-300, 300, (32, 2))
    return centres[truth] + rng.normal(size=(len(truth), 2)), truth


def model() -> hr.Mixture:
    return hr.Mixture(hr.NGG(hr.Gamma(1, 1), 0.2, 1.0), hr.GaussianWishart(mean=[0, 0], r=1e-4, nu=5, psi=2 * np.eye(2)))


def run(X: np.ndarray, **more: Any) -> hr.distributed.DistributedPosterior:
    shards = [X[:1000], X[1000:1000], X[1000:1100], X[1100:]]
    settings: dict[str, Any] = {"draws": 1, "warmup": 0, "seed": 0, "kernel": KERNEL, "callbacks": []}
    return sample(model(), shards, **(settings | more))


def test_clusters_that_the_sample_has_missed_are_there_from_the_first_iteration(few_sprouts, monkeypatch) -> None:
    X, truth = islands()
    post = run(X)
    assert adjusted_rand_score(truth, post.labels()) > 0.999
    found = post.n_clusters[0, 0]
    assert abs(found - 32) <= 3
    monkeypatch.setattr(opening, "_AGAIN", 0)
    assert run(X).log_joint[0, 0] < post.log_joint[0, 0] - 100


def test_what_is_known_of_the_clusters_is_what_the_labels_say(few_sprouts) -> None:
    X, _ = islands(1)
    post = run(X, draws=4)
    for draw in range(4):
        assert sorted(np.bincount(post.labels(draw))) == sorted(post.clusters[draw].sizes)
        values = {"alpha": post.alpha[0, draw], "u": np.exp(post.log_u[0, draw])}
        assert post.log_joint[0, draw] == pytest.approx(post.model.log_joint(X, post.labels(draw), **values), abs=1e-6)


def test_rows_of_one_label_are_taken_apart_where_that_is_better() -> None:
    X, truth = islands(2)
    labels = np.minimum(truth // 4, 3).astype(np.int32)  # 0: the large ones and two small, 1 and 2: four small ones each, 3: the rest
    whole = model()
    measure = _core.Measure(whole.prior.to_core(), len(X))
    measure.set_state(packed({"log_u": 5.0, "alpha": 1.0, "sigma": 0.2, "tau": 1.0}))
    now, pieces = missed.taken_apart(whole, X, labels, 4, measure, 0)
    assert adjusted_rand_score(truth, now) > 0.999
    assert sorted(pieces.target.tolist()) == list(range(now.max() + 1))
    np.testing.assert_array_equal(np.bincount(now)[pieces.target], pieces.sizes)
    again, none = missed.taken_apart(whole, X, now, int(now.max()) + 1, measure, 0)
    assert len(none.target) == 0
    np.testing.assert_array_equal(again, now)


def test_rows_with_gaps_stay_where_they_are(few_sprouts) -> None:
    X, _ = islands(3)
    X[::50, 0] = np.nan
    assert run(X).n_clusters[0, 0] >= 2
