"""Streams in states that a short one never reaches: gaps that come late, and saves when it is no longer young."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.trees import TreeStream

RNG = np.random.default_rng(0)
KIND = np.repeat([0, 1, 2], 60)
CODES = np.where(RNG.random((180, 6)) < 0.85, KIND[:, None], RNG.integers(0, 3, (180, 6)))
NUMBERS = RNG.normal(2.0 * KIND[:, None], 1.0, (180, 6))
# Both have a quick way for data without gaps; equal shapes let the columns of a Gaussian share their logarithms.
FAMILIES = {
    "Categorical": (hr.Categorical(0.5, levels=[[0, 1, 2]] * 6), CODES.astype(float)),
    "GaussianDiagonal": (hr.GaussianDiagonal(mean=np.zeros(6), r=0.1, a=1.0, b=np.ones(6)), NUMBERS),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_gaps_that_come_late(name: str) -> None:
    """A first batch without gaps, which the trees have read, and a second with them."""
    family, X = FAMILIES[name]
    order = np.random.default_rng(1).permutation(180)
    first, second = X[order[:120]].copy(), X[order[120:]].copy()
    second[np.random.default_rng(2).random(second.shape) < 0.3] = np.nan
    stream = TreeStream(hr.Mixture(hr.DP(1.0), family), seed=0)
    stream.add(first)
    stream.predict_log_weights(first)
    stream.add(second)
    everything = np.vstack([first, second])
    labels = np.unique(stream.labels, return_inverse=True)[1]
    assert stream.log_joint == pytest.approx(stream.model.log_joint(everything, labels), abs=1e-8)
    weights, family = stream.predict_log_weights(second), stream.model.likelihood
    for column, cluster in enumerate(stream.cluster_ids):
        rows = everything[stream.labels == cluster]
        alone = family.log_marginal(rows) - np.log(len(rows) / 181)
        for i in range(0, 60, 7):
            joined = family.log_marginal(np.vstack([rows, second[i : i + 1]]))
            assert weights[i, column] == pytest.approx(joined - alone, abs=1e-8)
    # What a row is worth where it sits decides where it goes.
    truth = KIND[order]
    right = sum(np.bincount(truth[stream.labels == c]).max() for c in stream.cluster_ids)
    assert right > 0.85 * 180


def test_a_stream_saved_when_it_is_no_longer_young(tmp_path: Path) -> None:
    """Beyond 4,096 points old rows are looked at again one for one, from where the last look ended, doubtful ones first."""
    rng = np.random.default_rng(3)
    stream = TreeStream(hr.Mixture(hr.DP(1.0), hr.GaussianWishart(mean=[5, 5], r=0.1, nu=5, psi=np.eye(2))), seed=0)

    def batch(n: int, spread: float) -> np.ndarray:
        return 3.5 * rng.integers(0, 4, (n, 2)) + rng.normal(0.0, spread, (n, 2))

    stream.add(batch(4500, 1.0))
    for size, spread in ((300, 1.0), (700, 0.4)):  # the second shows what had been taken for one cluster to be several
        stream.add(batch(size, spread))
        stream.save(tmp_path / "stream")
        twin = TreeStream.load(tmp_path / "stream")
        was, found = (one.__getstate__()["state"] for one in (stream, twin))
        assert was.keys() == found.keys()
        for name, value in was.items():
            assert np.array_equal(value, found[name]), name
        for X in (batch(40, 1.0), batch(200, 1.0)):
            assert np.array_equal(stream.add(X), twin.add(X))
        assert stream.log_joint == twin.log_joint
        assert np.array_equal(stream.labels, twin.labels)
        assert stream.events == twin.events
    seen, _, swept, cursor = was["counters"]
    assert (seen, swept, cursor) == (5740, 4096, 1644)  # had these been 0, nothing above would tell whether they are kept
    assert was["doubtful"].size > 100
    assert was["compared"].any()


def test_a_young_stream_looks_at_all_its_rows_whenever_they_have_doubled() -> None:
    stream = TreeStream(hr.Mixture(hr.DP(1.0), FAMILIES["GaussianDiagonal"][0]), seed=0)
    swept = []
    for row in NUMBERS:
        stream.add(row[None])
        swept.append(stream.__getstate__()["state"]["counters"][2])
    assert swept == [0] * 63 + [64] * 64 + [128] * 53


def test_predictions_know_sigma() -> None:
    """A cluster of few points weighs less than its share of them."""
    family, X = FAMILIES["GaussianDiagonal"]
    stream = TreeStream(hr.Mixture(hr.NGG(1.0, 0.6), family), seed=0)
    stream.add(X[50:])
    weights, sizes = stream.predict_log_weights(X[:1])[0], stream.cluster_sizes
    worth = []
    for cluster in stream.cluster_ids:
        rows = X[50:][stream.labels == cluster]
        worth.append(np.log(len(rows) - 0.6) + family.log_marginal(np.vstack([rows, X[:1]])) - family.log_marginal(rows))
    assert len(set(sizes)) > 1
    np.testing.assert_allclose(np.diff(weights[:-1]), np.diff(worth), atol=1e-8)
