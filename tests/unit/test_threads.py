"""Objects that threads share: a stream takes their calls in turn, results give every thread the same answers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np

import hedgerow as hr
from hedgerow.trees import TreeStream

MODEL = hr.Mixture(hr.NGG(1.0, 0.2, 1.0), hr.GaussianWishart())
X = hr.data.ring13(seed=0, n=390)[0]


def at_once(work: Callable[[int], object], threads: int = 4) -> list[object]:
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(threads)))


def test_a_stream_fed_and_asked_by_many_threads() -> None:
    stream = TreeStream(MODEL, seed=0)
    stream.add(X)

    def work(index: int) -> None:
        for i in range(10):
            if index % 2:
                stream.add(X[30 * i : 30 * i + 30])
            else:
                weights = stream.predict_log_weights(X[:50])
                assert np.isfinite(weights).all()
                stream.to_forest()[0].validate()
                assert len(stream.labels) <= stream.n_seen
                stream.events_since(0)

    at_once(work)
    assert stream.n_seen == len(X) + 2 * 300
    assert stream.cluster_sizes.sum() == stream.n_seen
    stream.to_forest()[0].validate()
    for copy in (pickle.loads(pickle.dumps(stream)), deepcopy(stream)):
        np.testing.assert_array_equal(copy.add(X), deepcopy(stream).add(X))


def test_chains_and_predictions_do_not_depend_on_who_else_runs() -> None:
    def draw(_: int = 0) -> tuple[bytes, bytes]:
        post = hr.sample(MODEL, X, draws=5, warmup=5, chains=2, seed=1)
        return post.labels.tobytes(), post.log_density(X[:20]).tobytes()

    alone = draw()
    assert at_once(draw) == [alone] * 4
    shared = hr.sample(MODEL, X, draws=5, warmup=5, chains=2, seed=1)
    expected = shared.predict_proba(X[:20]).tobytes()
    assert at_once(lambda _: shared.predict_proba(X[:20]).tobytes()) == [expected] * 4
