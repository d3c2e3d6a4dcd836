"""Distances, point estimates and credible balls, against brute force and other libraries."""

from __future__ import annotations

import dataclasses
import itertools
import time
import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, mutual_info_score

from hedgerow import _core
from hedgerow.errors import ParameterError
from hedgerow.summaries import (
    ari,
    binder,
    canonical,
    credible_ball,
    distance,
    point_estimate,
    uncertainty,
    vi,
)
from hedgerow.summaries.distances import LOSSES as KINDS
from hedgerow.summaries.distances import count_function
from hedgerow.summaries.partitions import merge_points

LOSSES = tuple(KINDS)


def all_partitions(n: int) -> np.ndarray:
    grown = [[0]]
    for _ in range(n - 1):
        grown = [[*labels, k] for labels in grown for k in range(max(labels) + 2)]
    return np.array(grown, dtype=np.int32)


def noisy_draws(rng: np.random.Generator, draws: int, n: int, clusters: int, noise: float) -> np.ndarray:
    stack = np.repeat(rng.integers(0, clusters, n)[None], draws, axis=0)
    moved = rng.random((draws, n)) < noise
    stack[moved] = rng.integers(0, clusters + 1, int(moved.sum()))
    return stack


# distances


@pytest.mark.parametrize(("n", "clusters"), [(1, 1), (2, 2), (7, 3), (60, 60), (500, 7), (300, 200), (900, 600)])
def test_distances_agree_with_scikit_learn(n: int, clusters: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(5):
        a, b = rng.integers(0, clusters, n), rng.integers(0, max(1, clusters // 2), n)
        entropy = [-sum(p * np.log(p) for p in np.unique(x, return_counts=True)[1] / n) for x in (a, b)]
        assert vi(a, b) == pytest.approx(sum(entropy) - 2 * mutual_info_score(a, b), abs=1e-9)
        assert ari(a, b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-10)
        assert binder(a, b) == pytest.approx(np.mean((a[:, None] == a) != (b[:, None] == b)), abs=1e-12)


def test_distances_of_stacks_are_tables() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, (2, 3, 20)), rng.integers(0, 5, (4, 20))
    table = vi(a, b)
    assert table.shape == (2, 3, 4)
    assert table[1, 2, 3] == pytest.approx(vi(a[1, 2], b[3]))
    assert vi(a[0, 0], b).shape == (4,)
    assert np.ndim(vi(a[0, 0], b[0])) == 0


def test_trivial_partitions_score_as_they_should() -> None:
    one, apart = np.zeros(6, dtype=int), np.arange(6)
    assert ari(one, one) == ari(apart, apart) == 1
    assert ari(one, apart) == 0
    assert vi(one, apart) == pytest.approx(np.log(6))
    assert binder(one, apart) == pytest.approx(1 - 1 / 6)


@pytest.mark.parametrize("clusters", [(3, 3), (150, 150), (1, 200), (200, 7)])
def test_joint_sums_by_tables_and_by_clusters_agree_with_the_definition(clusters: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    copies = rng.integers(1, 4, 200)
    f = np.arange(copies.sum() + 1.0) ** 1.5
    partition = canonical(rng.integers(0, clusters[0], 200))
    stack = canonical(rng.integers(0, clusters[1], (30, 200)))
    joint = (1000 * partition + stack).repeat(copies, axis=1)
    by_hand = [f[np.unique(row, return_counts=True)[1]].sum() for row in joint]
    sums = _core.JointSums(stack, copies, f)
    assert np.allclose(sums.run(partition), by_hand)
    assert np.allclose(sums.run(partition, 12), by_hand[12:])


def test_distances_refuse_what_does_not_match() -> None:
    with pytest.raises(ParameterError, match=r"distance\(b=.*b must partition the 3 points of a"):
        vi([0, 0, 1], [0, 1])
    with pytest.raises(ParameterError, match="loss must be one of 'vi', 'binder', 'omari'"):
        distance([0, 1], [0, 1], "mse")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="labels must be integers"):
        vi([0.5, 1.0], [0, 1])


# point estimates


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(8))
def test_estimate_is_the_optimum_among_all_partitions_of_8(loss: str, seed: int) -> None:
    rng = np.random.default_rng([seed, LOSSES.index(loss)])
    stack = noisy_draws(rng, int(rng.integers(2, 40)), 8, int(rng.integers(1, 7)), float(rng.uniform(0.1, 1)))
    every = all_partitions(8)
    assert len(every) == 4140
    best = distance(every, stack, loss).mean(axis=1).min()  # type: ignore[arg-type]
    found = point_estimate(stack, loss, within=None)  # type: ignore[arg-type]
    assert found.expected_loss == pytest.approx(best, abs=1e-9)
    assert found.expected_loss == pytest.approx(float(np.mean(distance(found.labels, stack, loss))))  # type: ignore[arg-type]
    assert found.n_clusters == found.labels.max() + 1


@pytest.mark.parametrize("loss", LOSSES)
def test_estimate_beats_every_draw_and_finds_the_planted_partition(loss: str) -> None:
    rng = np.random.default_rng(2)
    stack = noisy_draws(rng, 150, 600, 9, 0.15)
    found = point_estimate(stack, loss, within=None, restarts=2)  # type: ignore[arg-type]
    assert found.expected_loss < distance(stack, stack, loss).mean(axis=1).min()  # type: ignore[arg-type]
    planted = np.array([np.bincount(column).argmax() for column in stack.T])
    assert ari(found.labels, planted) > 0.99
    assert point_estimate(stack, loss, within=None, restarts=2).expected_loss == found.expected_loss  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", LOSSES)
def test_no_single_move_improves_the_estimate(loss: str) -> None:
    rng = np.random.default_rng(3)
    stack = noisy_draws(rng, 40, 40, 5, 0.5)
    found = point_estimate(stack, loss, within=None, restarts=2)  # type: ignore[arg-type]
    for i, k in itertools.product(range(40), range(found.n_clusters + 1)):
        moved = found.labels.copy()
        moved[i] = k
        assert np.mean(distance(moved, stack, loss)) >= found.expected_loss - 1e-9  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", LOSSES)
def test_points_that_no_draw_takes_apart_are_searched_as_one(loss: str) -> None:
    """Every row twice or more: at rest against moves of single rows, and the optimum of the brute force."""
    rng = np.random.default_rng([11, LOSSES.index(loss)])
    every = all_partitions(7)
    for _ in range(10):
        few = noisy_draws(rng, int(rng.integers(2, 12)), 4, 3, 0.7)
        stack = few[:, [0, 0, 1, 2, 2, 2, 3]]
        best = distance(every, stack, loss).mean(axis=1).min()  # type: ignore[arg-type]
        assert point_estimate(stack, loss, within=None).expected_loss == pytest.approx(best, abs=1e-12)  # type: ignore[arg-type]
    stack = noisy_draws(rng, 30, 25, 5, 0.4)[:, np.sort(rng.integers(0, 25, 60))]
    found = point_estimate(stack, loss, within=None)  # type: ignore[arg-type]
    for i, k in itertools.product(range(60), range(found.n_clusters + 1)):
        moved = found.labels.copy()
        moved[i] = k
        assert np.mean(distance(moved, stack, loss)) >= found.expected_loss - 1e-9  # type: ignore[arg-type]


def test_merged_points_are_those_with_equal_labels_in_every_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = canonical(noisy_draws(np.random.default_rng(0), 6, 300, 3, 0.3))
    merged, copies, place = merge_points(stack)
    assert np.array_equal(merged[:, place], stack)
    assert merged.shape[1] == len(np.unique(stack, axis=1).T) == place.max() + 1
    assert np.array_equal(copies, np.bincount(place))
    assert np.array_equal(canonical(place), place)
    monkeypatch.setattr("hedgerow._core.point_keys", lambda draws: np.zeros(draws.shape[1], np.uint64))  # every hash the same
    again = merge_points(stack)
    assert all(np.array_equal(a, b) for a, b in zip(again, (merged, copies, place), strict=True))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_search_never_ends_higher_than_it_began(loss: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        n = int(rng.integers(1, 60))
        stack = canonical(noisy_draws(rng, int(rng.integers(1, 30)), n, int(rng.integers(1, 20)), float(rng.uniform(0, 1))))
        copies = rng.integers(1, 5, n)
        weights = rng.dirichlet(np.ones(len(stack)))
        search = _core.PartitionSearch(stack, copies, weights, count_function(loss, int(copies.sum())), KINDS[loss].adjusted)
        start = canonical(rng.integers(0, 8, n))
        search.start_at(start)
        assert np.array_equal(search.labels, start)
        search.descend(0, 0)
        whole = stack.repeat(copies, axis=1)
        before, after = (weights @ distance(x.repeat(copies), whole, loss) for x in (start, search.labels))  # type: ignore[arg-type]
        assert after <= before + 1e-12


def test_the_search_refuses_what_does_not_match() -> None:
    stack, one = np.zeros((2, 3), dtype=np.int32), np.ones(3, dtype=np.int64)
    half = np.full(2, 0.5)
    f = count_function("vi", 3)
    for draws, copies, weights, values in (
        (stack, one[:2], half, f),
        (stack, 0 * one, half, f),
        (stack, one, half[:1], f),
        (stack, one, half, f[:3]),
        (stack - 1, one, half, f),
        (stack + 3, one, half, f),
        (stack[:0], one, half[:0], f),
    ):
        with pytest.raises(ValueError, match="must"):
            _core.PartitionSearch(draws, copies, weights, values)
    search = _core.PartitionSearch(stack, one, half, f)
    for labels in ([0, 1], [0, 1, 3], [0, -1, 0]):
        with pytest.raises(ValueError, match="labels must"):
            search.start_at(np.array(labels, dtype=np.int32))
    with pytest.raises(ValueError, match="f must have an entry"):
        _core.JointSums(stack, one, np.zeros(3))
    sums = _core.JointSums(stack, one, np.zeros(4))
    with pytest.raises(ValueError, match="partition must"):
        sums.run(np.zeros(2, dtype=np.int32))
    with pytest.raises(ValueError, match="first must"):
        sums.run(np.zeros(3, dtype=np.int32), 5)


def test_many_rows_take_seconds_and_no_square_of_memory() -> None:
    """Twenty clusters of 100,000 rows, one row in twenty in doubt between two of them."""
    rng = np.random.default_rng(0)
    n, draws = 100_000, 60
    truth = rng.integers(0, 20, n).astype(np.int32)
    stack = np.repeat(truth[None], draws, axis=0)
    doubtful = rng.choice(n, n // 20, replace=False)
    odds = rng.uniform(0, 0.45, doubtful.size)
    stack[:, doubtful] = np.where(rng.random((draws, doubtful.size)) < odds, (truth[doubtful] + 1) % 20, truth[doubtful])
    clock = time.process_time()
    tracemalloc.start()
    found = point_estimate(stack)
    ball = credible_ball(stack, found.labels)
    doubt = uncertainty(stack, found.labels).doubt
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.process_time() - clock < 30  # 2 s on a free machine
    assert peak < 300e6
    assert ari(found.labels, truth) > 0.999
    assert found.expected_loss < vi(stack[:1], stack).mean()
    assert ball.inside.sum() >= 0.95 * draws
    assert doubt[doubtful].mean() > 0.15 > 0.05 > np.delete(doubt, doubtful).mean()


def test_estimate_of_draws_that_agree() -> None:
    same = np.tile([0, 1, 0, 2], (50, 1))
    for loss in LOSSES:
        found = point_estimate(same, loss)  # type: ignore[arg-type]
        assert found.expected_loss == pytest.approx(0, abs=1e-12)
        assert found.labels.tolist() == [0, 1, 0, 2]
    assert point_estimate(np.zeros((3, 1), dtype=int)).n_clusters == 1
    assert point_estimate(np.tile(np.arange(30), (4, 1))).n_clusters == 30


def test_draws_are_thinned_evenly_when_there_are_many() -> None:
    stack = np.repeat([[0, 0, 1], [0, 1, 1]], [300, 100], axis=0)
    thinned = point_estimate(stack, max_draws=8)
    assert thinned.expected_loss == pytest.approx(2 / 8 * vi(stack[0], stack[-1]))
    assert point_estimate(stack, max_draws=None).expected_loss == pytest.approx(0.25 * vi(stack[0], stack[-1]))


def test_the_seed_decides() -> None:
    stack = noisy_draws(np.random.default_rng(8), 40, 200, 12, 0.5)
    found = [point_estimate(stack, restarts=3, seed=seed) for seed in (1, 1, 2)]
    assert np.array_equal(found[0].labels, found[1].labels)
    assert found[0].expected_loss == found[1].expected_loss
    assert max(f.expected_loss for f in found) <= vi(stack, stack).mean(axis=1).min() + 1e-12
    with pytest.raises(ParameterError, match="seed must be a whole number from 0 up"):
        point_estimate(stack, seed=-1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"restarts": 0}, r"point_estimate\(restarts=0\): restarts must be a whole number from 1 to"),
        ({"loss": "zero-one"}, r"point_estimate\(loss='zero-one'\): loss must be one of"),
        ({"max_draws": 0}, r"max_draws must be a whole number from 1 up, or None"),
    ],
)
def test_bad_arguments_of_the_estimate(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        point_estimate(np.zeros((3, 4), dtype=int), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [np.zeros((0, 4), dtype=int), np.zeros(4, dtype=int), np.array([["a", "b"]])])
def test_labels_that_are_not_draws(labels: np.ndarray) -> None:
    with pytest.raises(ParameterError, match=r"point_estimate\(labels="):
        point_estimate(labels)


def test_results_are_frozen() -> None:
    found = point_estimate(np.zeros((3, 4), dtype=int))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.loss = "binder"  # type: ignore[misc]
    assert "1 clusters of 4 points" in repr(found)
    labels, expected = found
    assert labels is found.labels
    assert expected == found.expected_loss


# credible ball


def test_ball_by_hand() -> None:
    centre = np.array([0, 0, 0, 1, 1, 1])
    near, few, many, far = [0, 0, 0, 1, 1, 2], [0] * 6, [0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1]
    stack = np.array([centre] * 12 + [near] * 4 + [few] * 2 + [many] + [far])
    order = np.argsort(vi(centre, np.array([centre, near, few, many, far])))
    assert order.tolist() == [0, 1, 2, 3, 4]
    ball = credible_ball(stack.reshape(2, 10, 6), centre, 0.9)
    assert ball.radius == pytest.approx(float(vi(centre, few)))
    assert ball.share == pytest.approx(0.9)
    assert ball.inside.shape == ball.distances.shape == (2, 10)
    assert ball.horizontal.tolist() == [few]
    assert ball.upper.tolist() == [few]
    assert ball.lower.tolist() == [near]
    wide = credible_ball(stack, centre, 0.95)
    assert wide.lower.tolist() == wide.horizontal.tolist() == [many]
    assert "95% of the draws" in repr(wide)


def test_ball_keeps_ties() -> None:
    centre = np.array([0, 0, 1, 1])
    stack = np.array([[0, 1, 2, 2], [0, 0, 1, 2], [0, 0, 1, 1]])
    ball = credible_ball(stack, centre, 0.5)
    assert ball.share == 1.0
    assert sorted(map(tuple, ball.horizontal.tolist())) == [(0, 0, 1, 2), (0, 1, 2, 2)]
    with pytest.raises(ParameterError, match="centre must be one partition of 4 points"):
        credible_ball(stack, [0, 1])
    with pytest.raises(ParameterError, match=r"prob must lie in \(0, 1\)"):
        credible_ball(stack, centre, 1.5)


def test_bounds_of_the_ball_are_the_farthest_of_their_number_of_clusters() -> None:
    centre = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    two_near, two_far = [0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1]
    four_near, four_far = [0, 0, 0, 1, 2, 2, 2, 3], [0, 0, 1, 1, 2, 2, 3, 3]
    four_tied = [0, 1, 1, 0, 2, 3, 2, 3]
    three = [0, 1, 2, 0, 1, 2, 0, 1]  # farther than all of them, with a number of clusters between
    stack = np.array([two_near, two_far, three, four_near, four_far, four_tied, centre])
    far = vi(centre, stack)
    assert far[0] < far[1]
    assert far[3] < far[4] == pytest.approx(far[5])
    assert far.argmax() == 2
    for order in (slice(None), slice(None, None, -1)):
        ball = credible_ball(stack[order], centre, 0.99)
        assert ball.upper.tolist() == [two_far]
        assert sorted(map(tuple, ball.lower.tolist())) == [tuple(four_far), tuple(four_tied)]
        assert ball.horizontal.tolist() == [three]


# per-point uncertainty


def test_uncertainty_by_hand() -> None:
    stack = np.array([[0, 0, 0, 1, 2], [0, 0, 0, 1, 2], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1]])
    found = uncertainty(stack, [0, 0, 0, 1, 2])
    assert found.doubt == pytest.approx([1 - (1 + 0.5) / 2, 1 - (1 + 0.5) / 2, 0.5, 1 - 0.5, 1 - 0.75])
    # Point 2 keeps the company of {0, 1} half the time, of 3 half the time, of 4 a quarter of the time.
    assert found.probability[2] == pytest.approx(0.5 / (0.5 + 0.5 + 0.25))
    assert "5 points" in repr(found)
    sure = uncertainty(stack[:1], stack[0])
    assert sure.doubt == pytest.approx(np.zeros(5))
    assert sure.probability == pytest.approx(np.ones(5))
