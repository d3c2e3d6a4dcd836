"""Point estimates that do not surprise: limits to the number of clusters, weights, small clusters, numbers by size, outliers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from tests.unit.test_summaries import all_partitions, noisy_draws

import hedgerow as hr
from hedgerow import _core
from hedgerow.data import ring13
from hedgerow.errors import ParameterError
from hedgerow.summaries import by_size, canonical, cluster_table, estimate, point_estimate, vi
from hedgerow.summaries.distances import LOSSES, count_function, expected_losses


def doubtful_draws(rng: np.random.Generator, draws: int = 60) -> np.ndarray:
    """Two firm clusters and twelve rows that sit in one of many small ones, each time in another company."""
    firm = np.repeat([0, 1], 20)
    return np.array([np.concatenate([firm, 2 + rng.integers(0, 5, 12)]) for _ in range(draws)])


def generalised(a: np.ndarray, b: np.ndarray, weight: float, loss: str) -> float:
    """The weighted loss of estimate a against draw b, from the definition."""
    n = len(a)
    f = count_function(loss, n)  # type: ignore[arg-type]
    joint = f[np.unique(a * n + b, return_counts=True)[1]].sum()
    return float(
        ((2 - weight) * f[np.bincount(a)].sum() + weight * f[np.bincount(b)].sum() - 2 * joint) / (n if loss == "vi" else n * n)
    )


def test_the_number_of_clusters_is_one_that_the_draws_have() -> None:
    stack = doubtful_draws(np.random.default_rng(0))
    free = point_estimate(stack, within=None)
    counts = [len(np.unique(draw)) for draw in stack]
    assert free.n_clusters > max(counts)  # doubtful rows end up alone: this is what surprises
    held = point_estimate(stack)
    low, high = np.quantile(counts, [0.025, 0.975], method="inverted_cdf")
    assert low <= held.n_clusters <= high
    assert held.limits == (low, high)
    assert held.unlimited == free.n_clusters
    assert held.expected_loss > free.expected_loss
    assert f"without that limit {free.n_clusters}" in held.words
    assert "as 95% of the draws have" in held.words
    assert "limit" not in free.words


def test_no_row_is_set_apart_because_draws_set_others_apart() -> None:
    """Every draw has a cluster more than the estimate, each time another row."""
    stack = np.repeat(np.repeat([0, 1], 15)[None], 30, axis=0)
    stack[np.arange(30), np.arange(30)] = 2
    found = point_estimate(stack)
    assert np.bincount(found.labels).tolist() == [15, 15]
    assert found.limits is None


def test_clusters_without_a_firm_boundary_are_those_of_a_draw() -> None:
    """Two clusters in every draw, parted anywhere: one cluster is nearest to all of them, and no draw has it."""
    stack = (np.arange(200) >= np.arange(20, 181)[:, None]).astype(int)
    assert point_estimate(stack, within=None).n_clusters == 1
    found = point_estimate(stack)
    assert np.bincount(found.labels).min() > 60
    assert (found.labels == canonical(stack)).all(axis=1).any() or (found.labels == 1 - canonical(stack)).all(axis=1).any()
    assert (found.limits, found.unlimited, found.large) == ((2, 2), 1, (2, 2))
    told = "among those near draws with at least 2 clusters of 2 rows or more, as 95% of the draws have (without that limit 1)"
    assert told in found.words
    assert point_estimate(stack, weight=1.2).n_clusters == 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_the_held_estimate_is_the_optimum_within_its_limits(loss: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 5])
    stack = noisy_draws(rng, 25, 7, 5, 0.8)
    every = all_partitions(7)
    expected = np.array([np.mean(hr.summaries.distance(one, stack, loss)) for one in every])  # type: ignore[arg-type]
    for most in (1, 2, 3):
        found = point_estimate(stack, loss, max_clusters=most, restarts=24)  # type: ignore[arg-type]
        assert found.n_clusters <= most
        assert found.expected_loss == pytest.approx(expected[every.max(axis=1) < most].min(), abs=1e-9)


@pytest.mark.parametrize("loss", [loss for loss, kind in LOSSES.items() if not kind.adjusted])
@pytest.mark.parametrize("weight", [0.3, 0.8, 1.5, 1.9])
def test_the_weighted_loss_is_that_of_the_definition_and_least(loss: str, weight: float) -> None:
    rng = np.random.default_rng(7)
    stack = noisy_draws(rng, 20, 7, 4, 0.6)
    found = point_estimate(stack, loss, weight=weight, within=None)  # type: ignore[arg-type]
    mean = [np.mean([generalised(one, draw, weight, loss) for draw in canonical(stack)]) for one in all_partitions(7)]
    assert found.expected_loss == pytest.approx(min(mean), abs=1e-9)
    own = np.mean([generalised(found.labels, draw, weight, loss) for draw in canonical(stack)])
    assert found.expected_loss == pytest.approx(own, abs=1e-9)


def test_a_heavier_weight_gives_fewer_clusters() -> None:
    stack = noisy_draws(np.random.default_rng(1), 60, 80, 8, 0.5)
    counts = [point_estimate(stack, weight=weight, within=None).n_clusters for weight in (0.4, 1.0, 1.6)]
    assert counts[0] > counts[1] > counts[2]
    assert point_estimate(stack, weight=1.6).n_clusters == counts[2]  # the lower limit does not stand in the way of what was asked


def test_small_clusters_are_left_out_only_when_asked() -> None:
    stack = doubtful_draws(np.random.default_rng(0))
    assert point_estimate(stack).labels.min() == 0
    found = point_estimate(stack, min_size=10)
    assert found.n_clusters == 2
    assert set(found.labels) == {-1, 0, 1}
    assert (found.labels[40:] == -1).all()
    assert "12 rows of smaller clusters" in found.words


def test_very_many_clusters_are_joined_down() -> None:
    """More columns than are paired at once, and a limit far below."""
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(4), 500)
    stack = np.array([truth * 1000 + rng.integers(0, 450, 2000) for _ in range(12)])
    found = point_estimate(stack, max_clusters=4, restarts=2)
    assert found.n_clusters <= 4
    assert vi(found.labels, truth) < 0.1


@pytest.mark.parametrize("loss", LOSSES)
def test_descents_over_many_points_are_begun_and_the_best_finished(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = noisy_draws(np.random.default_rng(3), 40, 150, clusters=6, noise=0.3)
    followed = point_estimate(stack, loss, within=None, seed=1)  # type: ignore[arg-type]
    monkeypatch.setattr("hedgerow.summaries.estimate._MANY", 0)
    begun = point_estimate(stack, loss, within=None, seed=1)  # type: ignore[arg-type]
    assert begun.expected_loss == pytest.approx(followed.expected_loss, rel=0.01)
    np.testing.assert_array_equal(point_estimate(stack, loss, within=None, seed=1).labels, begun.labels)  # type: ignore[arg-type]
    monkeypatch.setattr("hedgerow.summaries.estimate._FIRST", 0)  # where no sweep is made before, the best two make all of them
    assert point_estimate(stack, loss, within=None, seed=1).expected_loss <= 1.05 * followed.expected_loss  # type: ignore[arg-type]


def test_clusters_are_numbered_by_size() -> None:
    labels = [4, 4, 9, 9, 9, 0]
    assert by_size(labels).tolist() == [1, 1, 0, 0, 0, 2]
    assert by_size([3, 1, 3, 1]).tolist() == [0, 1, 0, 1]  # equals in order of first appearance
    stack = np.repeat([labels], 5, axis=0)
    assert point_estimate(stack).labels.tolist() == by_size(labels).tolist()


def test_what_is_said_of_a_cluster_is_said_of_the_rows_with_its_number() -> None:
    labels = np.array([1, 1, 0, 0, 0, 2])
    X = np.arange(6.0)[:, None]
    table = cluster_table(X, labels)
    for cluster, mean in zip(table["cluster"], table["mean"], strict=True):
        assert mean == pytest.approx(X[labels == cluster].mean())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"weight": 0.0}, "weight must lie between 0 and 2"),
        ({"loss": "omari", "weight": 1.2}, "weight must be 1 for omari"),
        ({"max_clusters": 0}, "max_clusters must be a whole number from 1 up"),
        ({"min_size": 0}, "min_size must be a whole number from 1 up"),
        ({"within": 1.5}, "within must lie in"),
    ],
)
def test_bad_limits_are_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        point_estimate(np.zeros((2, 3), dtype=int), **arguments)  # type: ignore[arg-type]


def left_out_by_hand(post: hr.Posterior, chain: int, draw: int) -> np.ndarray:
    """Density of every row given the rest of the draw, from log joints of the model: p(all) / Σ over places of the row."""
    model, X, labels = post.model, post.X, post.labels[chain, draw]
    assert model is not None
    alpha = float(post.alpha[chain, draw])
    out = np.empty(len(X))
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        places = [*np.unique(labels[rest]), labels.max() + 1]
        weight = np.array([np.sum(labels[rest] == k) if k <= labels.max() else alpha for k in places], dtype=float)
        bound = model.likelihood.bind(X)
        own = []
        for k in places:
            others = rest[labels[rest] == k]
            pair = [bound.log_marginals(np.where(np.isin(np.arange(len(X)), rows), 0, 1)) for rows in (np.append(others, i), others)]
            own.append(pair[0][0] - (pair[1][0] if len(others) else 0.0))
        out[i] = np.logaddexp.reduce(np.log(weight / weight.sum()) + np.array(own))
    return out


def test_the_density_without_the_row_is_that_of_the_definition() -> None:
    X = np.random.default_rng(0).normal(size=(8, 2))
    X[7] += 40.0
    post = hr.sample(hr.Mixture(hr.DP(alpha=1.0), hr.GaussianDiagonal()), X, draws=2, warmup=20, chains=1, seed=0, progress=False)
    from hedgerow.posterior.prediction import left_out_density

    wanted = np.logaddexp(left_out_by_hand(post, 0, 0), left_out_by_hand(post, 0, 1)) - np.log(2)
    found = left_out_density(post)
    assert found == pytest.approx(wanted, abs=1e-8)
    scores = post.outlier_scores()
    assert scores == pytest.approx((rankdata(-wanted) - 1) / 7)
    assert scores[7] == 1.0  # though it has a cluster of its own, in which it is at home


def test_the_estimator_knows_outliers_and_numbers_by_size() -> None:
    X, _, _ = ring13(n=130)
    X = np.vstack([X, [[40.0, 40.0]]])
    found = hr.HedgerowClusterer(draws=60, warmup=60, chains=2, random_state=0).fit(X)
    assert found.outlier_scores_.shape == (131,)
    assert found.outlier_scores_.argmax() == 130
    sizes = np.bincount(found.labels_)
    assert (np.diff(sizes) <= 0).all()
    weight = np.ones(131)
    weight[:3] = 0, 2, 2
    again = hr.HedgerowClusterer(draws=30, warmup=30, chains=1, random_state=0).fit(X, sample_weight=weight)
    assert again.outlier_scores_[0] == 0.0
    assert again.outlier_scores_.argmax() == 130


def test_the_core_refuses_limits_that_cannot_be() -> None:
    search = _core.PartitionSearch(np.zeros((1, 2), np.int32), np.ones(2, np.int64), np.ones(1), np.arange(3.0))
    for low, high in ((0, 2), (3, 2)):
        with pytest.raises(ValueError, match="limits"):
            search.limit(low, high)
    with pytest.raises(ValueError, match="most"):
        search.join_down(0)
    with pytest.raises(ValueError, match="joining"):
        _core.PartitionSearch(np.zeros((1, 2), np.int32), np.ones(2, np.int64), np.ones(1), np.arange(3.0), joining=2.0)


def test_rounding_does_not_choose_between_equals(monkeypatch) -> None:
    """Losses that are equal but for the order in which a processor adds name the same partition."""
    rng = np.random.default_rng(4)
    stacks = [rng.integers(0, 3, (4, 6)) for _ in range(40)]
    wanted = [point_estimate(stack).labels for stack in stacks]
    from hedgerow.summaries import estimate as module

    for name in ("expected_loss", "expected_losses"):
        exact = getattr(module, name)
        noisy = lambda *given, exact=exact: exact(*given) * (1 + 4e-16 * rng.integers(-2, 3, np.shape(exact(*given))))  # noqa: E731
        monkeypatch.setattr(module, name, noisy)
    for stack, labels in zip(stacks, wanted, strict=True):
        np.testing.assert_array_equal(point_estimate(stack).labels, labels)


@pytest.mark.parametrize("many", [1 << 21, 0])
def test_draws_stand_in_for_the_rest_only_where_clusters_would_be_lost(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two clusters parted anywhere are those of a draw; rows in doubt beside them are where most draws have them."""
    rng = np.random.default_rng(0)
    parted = (np.arange(200) >= np.arange(5, 196)[:, None]).astype(int)
    others = np.repeat([2, 3, 4], 40)[None].repeat(len(parted), axis=0)
    doubtful = np.arange(120) % 4 == 0
    others[:, doubtful] = np.where(rng.random((len(parted), 30)) < 0.25, rng.integers(2, 5, (len(parted), 30)), others[:, doubtful])
    stack = np.concatenate([parted, others], axis=1)
    monkeypatch.setattr(estimate, "_MANY", many)  # of points and draws, from which only the best descents are followed to the end
    found = point_estimate(stack)
    assert (found.large, found.unlimited) == ((5, 4), 4)
    best = expected_losses(stack.astype(np.int32), np.ones(320, np.int64), np.full(len(stack), 1 / len(stack)), "vi", 1.0, None).min()
    assert found.expected_loss < 0.95 * best
    assert canonical(found.labels[200:]).tolist() == np.repeat([0, 1, 2], 40).tolist()
    assert (canonical(found.labels[:200]) == canonical(parted)).all(axis=1).any()


def test_points_that_are_held_stay() -> None:
    stack = np.repeat([[0, 0, 0, 1, 1, 1]], 3, axis=0)
    search = _core.PartitionSearch(stack.astype(np.int32), np.ones(6, np.int64), np.full(3, 1 / 3), count_function("vi", 6))
    search.start_at(np.array([0, 0, 1, 1, 1, 0], np.int32))
    search.hold(np.array([5], np.int32))
    search.descend(0, 0, 10, 0)
    assert canonical(search.labels).tolist() == [0, 0, 0, 1, 1, 0]
    with pytest.raises(ValueError, match="must be there"):
        search.hold(np.array([6], np.int32))
