"""Partitions, by hypothesis: canonical labels, distances as metrics, similarity, estimates no worse than any draw."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hedgerow.summaries import (
    ari,
    binder,
    by_size,
    canonical,
    cluster_affinity,
    credible_ball,
    distance,
    is_canonical,
    omari,
    point_estimate,
    similarity,
    vi,
)
from hedgerow.summaries.distances import LOSSES
from hedgerow.summaries.partitions import unique_draws

labels = hnp.arrays(np.int64, st.integers(1, 12), elements=st.integers(-3, 5))


@st.composite
def draws(draw: st.DrawFn, most: int = 9) -> np.ndarray:
    shape = (draw(st.integers(1, 8)), draw(st.integers(1, most)))
    return draw(hnp.arrays(np.int64, shape, elements=st.integers(0, draw(st.integers(0, 5)))))


@st.composite
def three(draw: st.DrawFn) -> np.ndarray:
    n = draw(st.integers(1, 10))
    return draw(hnp.arrays(np.int64, (3, n), elements=st.integers(0, 4)))


def together(partition: np.ndarray) -> np.ndarray:
    return partition[:, None] == partition[None, :]


@given(labels)
def test_canonical_keeps_the_partition_and_is_first_appearance(raw: np.ndarray) -> None:
    result = canonical(raw)
    assert result.dtype == np.int32
    assert np.array_equal(together(result), together(raw))
    seen: list[int] = list(dict.fromkeys(result.tolist()))
    assert seen == list(range(len(seen)))
    assert is_canonical(result)
    assert canonical(result) is result


@given(labels, st.randoms(use_true_random=False))
def test_canonical_forgets_the_names(raw: np.ndarray, random: object) -> None:
    names = np.unique(raw)
    renamed = np.random.default_rng(random.randrange(1000)).permutation(1000 * np.arange(names.size) - 7)  # type: ignore[attr-defined]
    assert np.array_equal(canonical(raw), canonical(renamed[np.searchsorted(names, raw)]))


@given(draws())
def test_canonical_of_a_stack_is_the_stack_of_canonicals(stack: np.ndarray) -> None:
    assert np.array_equal(canonical(stack), np.array([canonical(row) for row in stack]))
    deep = canonical(stack[None, :, :])
    assert deep.shape == (1, *stack.shape)


@given(labels)
def test_is_canonical_only_of_canonical(raw: np.ndarray) -> None:
    assert is_canonical(raw) == np.array_equal(raw, canonical(raw))


@given(three())
def test_distances_are_metrics(partitions: np.ndarray) -> None:
    a, b, c = partitions
    for metric in (vi, binder):
        assert metric(a, a) == 0 or abs(metric(a, a)) < 1e-12
        assert np.isclose(metric(a, b), metric(b, a))
        assert metric(a, b) >= -1e-12
        assert metric(a, c) <= metric(a, b) + metric(b, c) + 1e-9
        if not np.array_equal(canonical(a), canonical(b)):
            assert metric(a, b) > 1e-9
    assert np.isclose(ari(a, b), ari(b, a))
    assert np.isclose(ari(a, a), 1.0)
    assert np.isclose(omari(a, b), 1.0 - ari(a, b))


@given(three())
def test_binder_counts_disagreeing_pairs(partitions: np.ndarray) -> None:
    a, b, _ = partitions
    assert np.isclose(binder(a, b), np.mean(together(a) != together(b)))


@given(draws())
def test_similarity_is_the_mean_of_the_indicators(stack: np.ndarray) -> None:
    expected = np.mean([together(row) for row in stack], axis=0)
    assert np.allclose(similarity(stack), expected, atol=1e-6)
    assert np.allclose(similarity(stack, rows=[0, -1]), expected[[0, -1]], atol=1e-6)


@given(draws())
def test_affinity_is_the_mean_similarity_to_the_others_of_a_cluster(stack: np.ndarray) -> None:
    matrix = np.mean([together(row) for row in stack], axis=0)
    partition = canonical(stack[0])
    found = cluster_affinity(stack, partition)
    for i in range(stack.shape[1]):
        for k in range(int(partition.max()) + 1):
            others = np.flatnonzero((partition == k) & (np.arange(partition.size) != i))
            alone = np.mean([np.sum(row == row[i]) == 1 for row in stack])
            assert np.isclose(found[i, k], matrix[i, others].mean() if others.size else alone)


@settings(max_examples=40, deadline=None)
@given(draws(), st.sampled_from(sorted(LOSSES)))
def test_the_estimate_is_never_worse_than_a_draw(stack: np.ndarray, loss: str) -> None:
    found = point_estimate(stack, loss, within=None, restarts=2)  # type: ignore[arg-type]
    assert np.array_equal(found.labels, by_size(found.labels))
    assert np.isclose(found.expected_loss, np.mean(distance(found.labels, stack, loss)))  # type: ignore[arg-type]
    assert found.expected_loss <= distance(stack, stack, loss).mean(axis=1).min() + 1e-9  # type: ignore[arg-type]


@given(draws(), st.floats(0.05, 0.95))
def test_the_ball_holds_its_share_and_no_smaller_one_does(stack: np.ndarray, prob: float) -> None:
    ball = credible_ball(stack, stack[0], prob)
    assert ball.share >= prob - 1e-9
    assert np.mean(ball.distances < ball.radius - 1e-9) < prob
    assert np.array_equal(ball.inside, ball.distances <= ball.radius + 1e-12)
    for bound in (ball.horizontal, ball.upper, ball.lower):
        assert np.all(vi(ball.centre, bound) <= ball.radius + 1e-9)


@given(draws())
def test_unique_draws_keep_every_share(stack: np.ndarray) -> None:
    rows = canonical(stack)
    distinct, weights = unique_draws(rows)
    assert np.isclose(weights.sum(), 1.0)
    assert np.array_equal(distinct[0], rows[0])
    for row, weight in zip(distinct, weights, strict=True):
        assert np.isclose(weight, np.mean((rows == row).all(axis=1)))
