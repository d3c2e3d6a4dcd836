"""Batches in the scikit-learn face: clusters keep their numbers, a refused batch changes nothing, threads may share."""

from __future__ import annotations

import pickle
from tempfile import TemporaryDirectory
from threading import Thread

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.estimators import IncrementalBHC


def batches(count=4, rows=120):
    rng = np.random.default_rng(1)
    for t in range(count):
        k = rng.integers(min(t + 2, 4), size=rows)
        yield rng.normal(0, 0.15, (rows, 2)) + 3.0 * np.column_stack([k % 2, k // 2])


def test_batches_keep_the_numbers_of_clusters():
    online = IncrementalBHC(random_state=0)
    sizes = []
    for batch in batches():
        online.partial_fit(batch)
        sizes.append(online.n_clusters_)
        assert len(online.labels_) == online.stream_.n_seen
        assert set(np.unique(online.labels_)) == set(online.cluster_ids_)
    assert sizes == [2, 3, 4, 4]
    corners = np.array([[0, 0], [3, 0], [0, 3], [3, 3]], dtype=float)
    numbers = online.predict(corners)
    assert sorted(numbers) == sorted(online.cluster_ids_)
    for batch in batches(6):
        online.partial_fit(batch)
    np.testing.assert_array_equal(online.predict(corners), numbers)  # for life
    proba = online.predict_proba(corners)
    assert proba.shape == (4, online.n_clusters_ + 1)
    np.testing.assert_array_equal(online.cluster_ids_[np.argmax(proba, axis=1)], numbers)
    assert online.predict([[90.0, 90.0]]).tolist() == [-1]
    assert online.score_samples(corners).min() > online.score_samples([[90.0, 90.0]])[0]


def test_events_speak_of_the_numbers():
    online = IncrementalBHC(random_state=0)
    for batch in batches():
        online.partial_fit(batch)
    alive = set()
    for event in online.events_:
        if event.kind in ("born", "split"):
            alive.add(event.cluster)
        elif event.kind in ("joined", "died"):
            alive.discard(event.cluster)
    assert alive == set(online.cluster_ids_.tolist())
    assert [event.at for event in online.events_] == sorted(event.at for event in online.events_)


def test_a_refused_batch_changes_nothing():
    online = IncrementalBHC(random_state=0)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        online.partial_fit(np.empty((3, 0)))
    assert not hasattr(online, "n_features_in_")
    first, second = list(batches(2))
    online.partial_fit(first)
    labels, events = online.labels_, online.events_
    bad = second.copy()
    bad[5, 1] = np.inf
    with pytest.raises(ParameterError, match="must be finite"):
        online.partial_fit(bad)
    with pytest.raises(ParameterError, match="X must have the 2 columns of the fit"):
        online.partial_fit(second[:, :1])
    with pytest.raises(ParameterError, match="must be finite"):
        online.fit(bad)  # not even a new start
    np.testing.assert_array_equal(online.labels_, labels)
    assert online.events_ == events
    untouched = IncrementalBHC(random_state=0).partial_fit(first).partial_fit(second)
    np.testing.assert_array_equal(online.partial_fit(second).labels_, untouched.labels_)


def test_streams_without_memory_know_the_last_batch():
    online = IncrementalBHC(remember=False, max_nodes=1000, random_state=0)
    for batch in batches(3):
        online.partial_fit(batch)
        assert online.labels_.shape == (120,)
    again = pickle.loads(pickle.dumps(online))
    more = next(batches(1))
    np.testing.assert_array_equal(again.partial_fit(more).labels_, online.partial_fit(more).labels_)


def test_threads_share_an_incremental_estimator():
    """Some feed it while others ask: all take turns, and nothing is lost."""
    X = next(batches(1))
    online = IncrementalBHC(random_state=0).fit(X)
    wrong = []  # type: ignore[var-annotated]

    def feed():
        for _ in range(5):
            online.partial_fit(X[:40])

    def ask(path):
        for _ in range(5):
            found, numbers = online.predict(X), set(range(len(online.events_) + online.n_clusters_))
            wrong.extend(set(found.tolist()) - numbers - {-1})
            online.predict_proba(X)
            online.save(path)

    with TemporaryDirectory() as folder:
        tasks = [Thread(target=feed) for _ in range(3)] + [Thread(target=ask, args=(f"{folder}/{i}.hedge",)) for i in range(3)]
        for task in tasks:
            task.start()
        for task in tasks:
            task.join()
        assert not wrong
        assert online.labels_.shape == (120 + 15 * 40,)
        assert IncrementalBHC.load(f"{folder}/0.hedge").labels_.size >= 120
