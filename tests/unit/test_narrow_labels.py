"""Labels of many draws kept narrow: they answer as an array does, and every summary of them is that of the array."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import _core, summaries
from hedgerow.summaries import narrow as narrow_module
from hedgerow.summaries.coclustering import home_affinity
from hedgerow.summaries.narrow import NarrowLabels, keep
from hedgerow.summaries.partitions import canonical, is_canonical

RNG = np.random.default_rng(0)


def draws(n: int = 120, chains: int = 2, length: int = 15, clusters: int = 6) -> np.ndarray:
    truth = RNG.integers(clusters, size=n)
    moved = RNG.random((chains, length, n)) < 0.15
    return canonical(np.where(moved, RNG.integers(clusters, size=(chains, length, n)), truth))


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """More labels than twenty are many."""
    monkeypatch.setattr(narrow_module, "MANY", 20)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(("clusters", "kind"), [(6, np.uint8), (400, np.uint16)])
def test_they_answer_as_an_array_does(clusters: int, kind: type) -> None:
    labels = draws(n=2000, length=3, clusters=clusters)
    kept = keep(labels)
    assert isinstance(kept, NarrowLabels)
    assert kept.stored.dtype == kind
    assert (kept.shape, kept.ndim, kept.size, len(kept), kept.dtype) == (labels.shape, 3, labels.size, 2, np.dtype(np.int32))
    assert kept.nbytes < labels.nbytes
    for part in (kept[1, 2], kept[:, 1:], kept[0], np.asarray(kept), next(iter(kept)), kept.reshape(-1, 2000), kept + 0):
        assert part.dtype == np.int32
    np.testing.assert_array_equal(kept[1, 2], labels[1, 2])
    np.testing.assert_array_equal(np.asarray(kept), labels)
    np.testing.assert_array_equal(kept + 1000, labels + 1000)  # no byte runs over
    np.testing.assert_array_equal(kept.max(axis=-1), labels.max(axis=-1))
    assert np.array_equal(kept == labels, np.ones(labels.shape, bool))
    assert np.array_equal(pickle.loads(pickle.dumps(kept)), labels)
    assert keep(kept) is kept


@pytest.mark.usefixtures("many")
def test_what_is_not_canonical_becomes_so() -> None:
    labels = draws() * 7 + 3
    np.testing.assert_array_equal(np.asarray(keep(labels)), canonical(labels))


def test_canonical_up_to_the_last_number_of_a_byte() -> None:
    first = np.arange(256, dtype=np.uint8)
    assert is_canonical(first)
    assert not is_canonical(first[::-1].copy())
    assert not is_canonical(np.concatenate([first[:255], first[:1], first[255:]])[1:])


@pytest.mark.parametrize("loss", ["vi", "binder", "omari"])
def test_summaries_are_those_of_the_array(loss: Any) -> None:
    labels = draws()
    kept: Any = NarrowLabels(labels.astype(np.uint8))
    mine, theirs = summaries.point_estimate(kept, loss), summaries.point_estimate(labels, loss)
    np.testing.assert_array_equal(mine.labels, theirs.labels)
    assert mine.expected_loss == theirs.expected_loss
    own = RNG.integers(5, size=120)  # takes points apart that no draw does
    for partition in (mine.labels, own):
        np.testing.assert_array_equal(summaries.cluster_affinity(kept, partition), summaries.cluster_affinity(labels, partition))
        one, other = (summaries.uncertainty(given, partition) for given in (kept, labels))
        np.testing.assert_array_equal(one.doubt, other.doubt)
        np.testing.assert_array_equal(one.probability, other.probability)
        ball, same = (summaries.credible_ball(given, partition, loss=loss) for given in (kept, labels))
        for name in ("radius", "distances", "inside", "horizontal", "upper", "lower"):
            np.testing.assert_array_equal(getattr(ball, name), getattr(same, name))
    np.testing.assert_array_equal(summaries.similarity(kept), summaries.similarity(labels))
    np.testing.assert_array_equal(
        summaries.similarity(kept, rows=[3, 5], columns=[8]), summaries.similarity(labels, rows=[3, 5], columns=[8])
    )


def test_company_at_home_is_that_of_the_whole_table() -> None:
    labels = draws()
    labels[:, :, 7] = labels.max(axis=-1) + 1  # alone in every draw
    labels = canonical(labels)
    for own in (canonical(RNG.integers(5, size=120)), canonical(labels[0, 0]), np.zeros(120, np.int32)):
        table = summaries.cluster_affinity(labels, own)
        home, total = home_affinity(labels, own)
        np.testing.assert_allclose(home, table[np.arange(120), own], atol=1e-12)
        np.testing.assert_allclose(total, table.sum(axis=1), atol=1e-12)


def test_an_error_in_the_company_would_be_seen() -> None:
    """The same with a row that counts as its own company, which is the error one would make."""
    labels = draws()
    points = narrow_module.as_points(labels, "test")
    own = canonical(labels[0, 0])
    merged, home = points.cut(own)
    with_own, *_ = _core.company(merged.draws, merged.copies, home, int(own.max()) + 1)
    sizes = np.bincount(own)
    wrong = (with_own + len(merged.draws)) / sizes[home] / len(merged.draws)
    table = summaries.cluster_affinity(labels, own)
    assert not np.allclose(wrong[merged.place], table[np.arange(120), own], atol=1e-3)


@pytest.mark.usefixtures("many")
def test_a_posterior_of_many_labels(tmp_path) -> None:
    X = np.concatenate([RNG.normal(0, 1, (30, 2)), RNG.normal(8, 1, (30, 2))])
    model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    post = hr.sample(model, X, draws=20, warmup=10, chains=2, seed=0)
    assert type(post.labels).__name__ == "NarrowLabels"
    wide = replace(post, n_clusters=None, labels=np.asarray(post.labels))
    assert wide.labels.shape == post.labels.shape == (2, 20, 60)
    post.save(tmp_path / "post.npz")
    again = hr.load(tmp_path / "post.npz")
    assert type(again.labels).__name__ == "NarrowLabels"
    np.testing.assert_array_equal(again.labels, post.labels)
    on_disk = hr.sample(model, X, draws=20, warmup=10, chains=2, seed=0, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(on_disk.labels, post.labels)
    open_end = hr.sample(model, X, until=hr.Agreement(ess=150), chains=2, seed=0)  # room for more rounds is made on the way
    assert open_end.labels.shape[:2] == open_end.log_joint.shape
    np.testing.assert_array_equal(post.predict(X), post.point_estimate().labels)
    assert post.report(tmp_path / "page.html").exists()
    assert post.to_arviz().posterior["labels"].shape == (2, 20, 60)


def test_the_core_refuses_labels_of_other_types() -> None:
    for bad in (np.zeros((2, 3), np.int64), np.zeros((2, 3), np.float64)):
        with pytest.raises(ValueError, match="uint8, uint16 or int32"):
            _core.point_keys(bad)
    with pytest.raises(ValueError, match="points - 1"):
        _core.company(np.full((2, 3), 9, np.uint8), np.ones(3, np.int64), np.zeros(3, np.int32), 1)
    with pytest.raises(ValueError, match="clusters - 1"):
        _core.company(np.zeros((2, 3), np.uint8), np.ones(3, np.int64), np.full(3, 4, np.int32), 1)
    with pytest.raises(ValueError, match="must be points"):
        _core.stand_together(np.zeros((2, 3), np.uint8), np.full(3, 3, np.int32))
