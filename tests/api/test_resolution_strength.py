"""How firm clusters are: the ladder of powers, halves of the rows, agreement of labels and of pairs."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.resolution.ladder import next_power
from hedgerow.resolution.strength import agreement, fineness, half_power, split_rows
from hedgerow.summaries import canonical


def test_the_ladder_goes_down_by_halves_and_then_between() -> None:
    assert next_power([1.0], [20], 8) == 0.5
    assert next_power([1.0, 0.5], [20, 10], 8) == 0.25
    assert next_power([1.0, 0.5, 0.125], [20, 19, 18], 8) == 0.125 / 4  # next to nothing changed: a longer step
    assert next_power([1.0, 0.5, 0.25], [20, 10, 1], 8) == pytest.approx(np.sqrt(0.125))
    assert next_power([1.0, 0.5, 0.25], [20, 10, 1], 3) is None
    assert next_power([1.0, 0.5], [2, 1], 8) is None
    assert next_power([1.0], [1], 8) is None
    assert next_power([1.0, 0.5], [20, 1], 8, 0.93) == 0.25  # one cluster by a hair
    assert next_power([1.0, 0.5], [2, 1], 8, 0.96) is None
    assert next_power([1.0, 0.5], [2, 1], 8, float("nan")) is None


def hard(labels: np.ndarray) -> np.ndarray:
    return np.eye(labels.max() + 1)[labels]


def test_strength_of_labels_is_the_adjusted_rand_index() -> None:
    rng = np.random.default_rng(0)
    own, other = (canonical(rng.integers(0, 4, 60)) for _ in range(2))
    other[:30] = own[:30]
    for a, b in ((own, other), (other, own), (own, own)):
        assert agreement(a, hard(b))[0] == pytest.approx(hr.summaries.ari(a, b))
    apart = np.arange(6, dtype=np.int32)
    assert agreement(apart, hard(apart))[0] == 1.0
    assert agreement(apart // 3, np.ones((6, 1)))[0] == 0.0  # all in one: says nothing of two
    one = np.zeros(6, np.int32)
    assert agreement(one, np.ones((6, 1))) == (1.0, 1.0)
    assert agreement(one, hard(apart // 3))[0] == pytest.approx(2 * 3 * 2 / (6 * 5))  # the pairs that stay together


def test_small_clusters_beside_a_large_one_are_asked_too() -> None:
    own = np.repeat([0, 1, 2], [900, 50, 50]).astype(np.int32)
    half = np.concatenate([own[:900], 1 + np.arange(100) % 2])  # either tail has half of either
    assert hr.summaries.ari(own, half) > 0.95
    kept = 2 * 25 * 24 / (50 * 49)
    strength, weakest = agreement(own, hard(half))
    assert strength == pytest.approx((1 + 2 * kept) / 3)
    assert weakest == pytest.approx(kept)


def test_strength_counts_pairs_by_probability() -> None:
    rng = np.random.default_rng(1)
    own, shares = canonical(rng.integers(0, 3, 12)), rng.dirichlet(np.ones(4), 12)
    together = shares @ shares.T
    above = np.triu(np.ones((12, 12), bool), 1)
    same = own[:, None] == own[None]
    a, b, j, m = (above & same).sum(), together[above].sum(), together[above & same].sum(), above.sum()
    strength, weakest = agreement(own, shares)
    beyond = (j - a * b / m) / ((a + b) / 2 - a * b / m)
    kept = [together[above & same & (own == k)[:, None]].mean() for k in range(3)]
    assert strength == pytest.approx(min(beyond, np.mean(kept)))
    assert weakest == pytest.approx(min(kept))


def test_pieces_of_one_blob_are_weak_though_every_half_finds_them() -> None:
    """A normal cut in two at its middle: halves agree on the cut, and rows do not know their side."""
    x = np.random.default_rng(0).normal(size=4000)
    side = 1 / (1 + np.exp(-2.2 * x))  # two normal pieces with their means at +-0.8 and their own spread
    cut = (x > 0).astype(np.int32)
    assert agreement(cut, hard((side > 0.5).astype(int)))[0] > 0.99
    assert agreement(cut, np.column_stack([1 - side, side]))[0] < 0.6


def test_fineness_hardly_counts_splinters() -> None:
    assert fineness(np.repeat([0, 1, 2], 10).astype(np.int32)) == pytest.approx(3.0)
    assert fineness(np.array([0] * 999 + [1], np.int32)) == pytest.approx(1.0, abs=0.01)


def test_halves_are_worth_what_the_whole_is() -> None:
    for power in (0.9, 0.3, 1e-3):
        worth = power / (1 - power) * 100
        assert half_power(power, 50, 100) == pytest.approx(worth / (worth + 50))
    assert half_power(1.0, 50, 100) == 1.0


def test_halves_do_not_meet_and_know_every_group() -> None:
    groups = np.repeat([0, 1, 2], [30, 5, 1]).astype(np.int32)
    for a, b in split_rows(36, 3, 100, 0, groups):
        assert not set(a) & set(b)
        assert set(groups[a]) == set(groups[b]) == {0, 1}
    a, b = split_rows(1000, 1, 100, 0, None)[0]
    assert len(a) == len(b) == 50
