"""How often rows are together, against brute force: clusters wide and narrow, tiles, what is too large, what is refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.unit.test_summaries import noisy_draws

from hedgerow import _core
from hedgerow.errors import ParameterError
from hedgerow.summaries import (
    canonical,
    similarity,
)
from hedgerow.summaries import coclustering as coclustering_module


def together(stack: np.ndarray) -> np.ndarray:
    return np.mean(stack[:, :, None] == stack[:, None, :], axis=0)


@pytest.mark.parametrize("clusters", [1, 2, 8, 40, 400])
def test_similarity_counts_pairs_whether_clusters_are_wide_or_narrow(clusters: int) -> None:
    rng = np.random.default_rng(clusters)
    stack = noisy_draws(rng, 25, 300, clusters, 0.2)
    found = similarity(stack)
    assert found.dtype == np.float32
    assert np.allclose(found, together(stack), atol=1e-6)
    assert np.array_equal(found, found.T)
    rows, columns = rng.choice(300, 20), rng.choice(300, 30)
    block = similarity(stack.reshape(5, 5, 300), rows=rows, columns=columns)
    assert np.allclose(block, together(stack)[np.ix_(rows, columns)], atol=1e-6)


def test_similarity_mixes_wide_and_narrow_clusters_in_one_draw() -> None:
    rng = np.random.default_rng(5)
    stack = np.where(rng.random((30, 400)) < 0.5, 0, rng.integers(1, 120, (30, 400)))
    assert np.allclose(similarity(stack), together(stack), atol=1e-6)


@pytest.mark.parametrize(("draws", "n", "clusters", "noise"), [(17, 150, 12, 0.5), (1000, 70, 3, 0.0), (1500, 33, 300, 0.5)])
def test_similarity_in_tiles_of_points_and_stretches_of_draws(draws: int, n: int, clusters: int, noise: float) -> None:
    stack = canonical(noisy_draws(np.random.default_rng(6), draws, n, clusters, noise))
    assert np.allclose(similarity(stack), together(stack), atol=1e-6)
    assert np.allclose(similarity(stack, rows=[3, 4]), together(stack)[[3, 4]], atol=1e-6)
    for threads in (1, 3):
        assert np.array_equal(_core.together(np.ascontiguousarray(stack), threads) * np.float32(1.0 / draws), similarity(stack))


def test_a_large_matrix_must_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = np.zeros((2, 20_001), dtype=np.int32)
    with pytest.raises(ParameterError, match=r"at most 20000 points .*1\.6 GB.*rows=.*dense=True"):
        similarity(stack)
    assert similarity(stack, rows=[0, 20_000]).shape == (2, 20_001)
    monkeypatch.setattr(coclustering_module, "_DENSE_LIMIT", 10)
    small = np.arange(12)[None] // 4
    with pytest.raises(ParameterError, match="dense=True"):
        similarity(small)
    assert np.array_equal(similarity(small, dense=True), together(small))


def test_similarity_of_5000_points_in_little_memory() -> None:
    stack = canonical(noisy_draws(np.random.default_rng(7), 200, 5000, 40, 0.2))
    tracemalloc.start()
    similarity(stack)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 700e6  # does not grow with the number of draws: they are worked on in blocks


@pytest.mark.parametrize(("rows", "words"), [([9], "lie within"), ([[1]], "list of point"), ([0.5], "list of point")])
def test_bad_rows_are_refused(rows: list[object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        similarity(np.zeros((2, 9), dtype=int), rows=rows)


def test_a_block_of_the_similarity_is_that_of_the_whole_on_either_way(monkeypatch) -> None:
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 4, (30, 40))
    whole = similarity(labels)
    rows, columns = [3, 17, 3, -1], [0, 39, 5]
    for few in (512, 0):
        monkeypatch.setattr("hedgerow.summaries.coclustering._FEW_POINTS", few)
        monkeypatch.setattr("hedgerow.summaries.coclustering._MORE_PAIRS", 16 if few else 0)
        np.testing.assert_array_equal(similarity(labels, rows=rows, columns=columns), whole[np.ix_(rows, columns)])
        np.testing.assert_array_equal(similarity(labels, rows=rows), whole[rows])
