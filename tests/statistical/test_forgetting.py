"""Streams that forget: how long rows live, what is clustered, and a ring that turns."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.summaries import canonical
from hedgerow.testing import exact_posterior
from hedgerow.trees import TreeStream

PLANE = hr.Mixture(hr.DP(1.0), hr.GaussianWishart(mean=[0, 0], r=0.1, nu=5, psi=0.5 * np.eye(2)))
Q = [[1.0, 0.3], [0.2, 1.0]]


def alive(stream: TreeStream) -> np.ndarray:
    """Numbers of the rows that are still there."""
    _, points = stream.to_forest()
    return np.sort(points)


def test_of_rows_of_any_age_as_many_live_as_the_half_life_says() -> None:
    rng = np.random.default_rng(0)
    stream = TreeStream(PLANE, forget=1000, seed=0)
    n = 30_000
    for _ in range(n // 1000):
        stream.add(rng.normal(0, 0.3, (1000, 2)) + 5 * rng.integers(0, 2, (1000, 1)))
    age = n - 1 - alive(stream)
    for low, high in ((0, 250), (250, 500), (500, 1000), (1000, 2000), (2000, 4000), (4000, 8000)):
        chance = 2.0 ** (-np.arange(low, high) / 1000)
        found, error = np.sum((age >= low) & (age < high)), np.sqrt(np.sum(chance * (1 - chance)))
        assert abs(found - chance.sum()) < 4.5 * error + 1, (low, high)
    assert stream.n_held == len(age)
    assert stream.n_seen == n


@pytest.mark.parametrize("seed", range(3))
def test_the_target_is_that_of_the_rows_alive_as_enumeration_has_it(seed: int) -> None:
    """log joint and predictive weights against all partitions of the few rows that are left."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1.0, (60, 2)) + 3 * rng.integers(0, 2, (60, 1))
    found = best = 0
    for run in range(12):
        stream = TreeStream(PLANE, forget=3, seed=100 * seed + run)
        for i in range(0, 60, 5):
            stream.add(X[i : i + 5])
        rows = alive(stream)
        if not 2 <= len(rows) <= 6:
            continue
        labels = stream.labels[rows]
        exact = exact_posterior(PLANE, X[rows])
        log_p = np.log(exact.probabilities[exact.index(canonical(labels))]).item()
        assert stream.log_joint - exact.log_evidence == pytest.approx(log_p, abs=1e-8)
        new = np.array([[0.5, 0.5]])
        weights = stream.predict_log_weights(new)[0]
        grown = [np.append(labels, cluster) for cluster in (*stream.cluster_ids, labels.max() + 1)]
        joint = [PLANE.log_joint(np.vstack([X[rows], new]), canonical(one)) for one in grown]
        assert weights == pytest.approx(np.array(joint) - stream.log_joint, abs=1e-8)
        whole = PLANE.log_joint(X, canonical(stream.labels))
        assert abs(stream.log_joint - whole) > 1.0  # had nothing been forgotten
        found += 1
        best += log_p > np.log(exact.probabilities.max()) - 1.0
    assert found >= 5
    assert best >= 0.8 * found


@pytest.mark.parametrize(
    ("prior", "family", "grouped"),
    [
        (hr.NGG(1.0, 0.3), hr.GaussianDiagonal(mean=[0, 0], r=0.1, a=2, b=1), False),
        (hr.PitmanYor(0.5, 0.3), hr.Poisson(a=1.0, b=1.0), False),
        (hr.MixedNRM(hr.NGG(0.9, 0.3, 0.5), q=Q), PLANE.likelihood, True),
    ],
)
def test_other_models_forget_as_well(prior: hr.Prior, family: hr.Likelihood, grouped: bool) -> None:
    rng = np.random.default_rng(1)
    model = hr.Mixture(prior, family)
    X = rng.poisson(3 + 20 * rng.integers(0, 2, (300, 1)), (300, 2)).astype(float)
    groups = rng.integers(0, 2, 300)
    stream = TreeStream(model, forget=40, seed=0)
    for i in range(0, 300, 50):
        stream.add(X[i : i + 50], *([groups[i : i + 50]] if grouped else []))
    rows = alive(stream)
    labels = canonical(stream.labels[rows])
    values = {"times": groups[rows], "alpha": stream.values["alpha"]} if grouped else {}
    u = None if prior.u_integrates else np.exp(stream.values["log_u"])
    u = u if u is None or grouped else float(u[0])
    assert stream.log_joint == pytest.approx(stream.model.log_joint(X[rows], labels, u, **values), abs=1e-6)


def turning(turn: float, batches: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches of 500 rows from a ring of 13 clusters that turns by so many degrees a row, and their clusters."""
    rng = np.random.default_rng(seed)
    for batch in range(batches):
        X, truth, _ = hr.data.ring13(500, rng)
        order, angle = rng.permutation(500), np.radians(turn) * (500 * batch + np.arange(500))
        x, y = X[order].T
        yield np.column_stack([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y]), truth[order]


@pytest.mark.parametrize(("turn", "half_life"), [(0.001, 2000), (0.002, 1000), (0.005, 500), (0.005, 1000), (0.01, 500), (0.02, 250)])
def test_a_ring_that_turns_is_followed(turn: float, half_life: float) -> None:
    online = hr.IncrementalBHC(random_state=0, forget=half_life)
    scores = np.array([adjusted_rand_score(truth, online.partial_fit(X).labels_[-500:]) for X, truth in turning(turn, 60, 0)])
    assert scores.mean() >= 0.95
    assert scores.min() >= 0.8


def fitting(turn: float, half_life: float, revise: bool) -> np.ndarray:
    """Shares of the rows alive, and of those just answered, that are in the cluster they would go to now; means over batches."""
    online = hr.IncrementalBHC(random_state=0, forget=half_life, revise=revise)
    rows, shares = np.zeros((0, 2)), []
    for step, (X, _) in enumerate(turning(turn, 40, 0)):
        rows = np.vstack([rows, X])
        online.partial_fit(X)
        if step > 10:
            there = online.predict(rows[-8000:]) == online.labels_[-8000:]
            points = alive(online.stream_) - max(len(rows) - 8000, 0)
            shares.append((there[points[points >= 0]].mean(), there[-500:].mean()))
    return np.mean(shares, axis=0)


@pytest.mark.parametrize(("turn", "half_life"), [(0.005, 1000), (0.01, 500)])
def test_rows_go_on_with_the_clusters_that_have_moved(turn: float, half_life: float) -> None:
    assert fitting(turn, half_life, True).min() >= 0.99
    assert fitting(turn, half_life, False).max() < 0.99  # rows that stay where they were put are seen


def test_rows_that_are_answered_one_by_one_follow_as_well() -> None:
    """Three clusters, each of which comes to where the next one was."""
    single = TreeStream(PLANE, forget=300, seed=0)
    rng = np.random.default_rng(0)
    right = []
    for step in range(2500):
        cluster = int(rng.integers(0, 3))
        where = np.array([4.0 * cluster + 0.004 * step, 0.0])
        right.append((cluster, int(single.add(rng.normal(where, 0.3, (1, 2)))[0])))
    truth, found = np.array(right[1000:]).T
    assert adjusted_rand_score(truth, found) >= 0.95


def test_a_cluster_that_is_no_longer_fed_dies_and_says_so() -> None:
    rng = np.random.default_rng(0)
    stream = TreeStream(PLANE, forget=100, seed=0)
    gone = stream.add(rng.normal([8, 0], 0.3, (50, 2)))[0]
    stream.add(rng.normal([0, 0], 0.3, (50, 2)))
    for _ in range(20):
        stream.add(rng.normal([0, 0], 0.3, (100, 2)))
    assert gone not in stream.cluster_ids
    assert [event.kind for event in stream.events if event.cluster == gone][-1] == "died"
    assert stream.labels[0] == gone  # rows that are forgotten keep the cluster they had
    assert set(stream.cluster_ids) <= set(stream.labels[alive(stream)])


def test_time_forgets_whatever_comes() -> None:
    rng = np.random.default_rng(0)
    stream = TreeStream(PLANE, forget="10min", seed=0)
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    stream.add(rng.normal(0, 0.3, (400, 2)), when=[start + datetime.timedelta(seconds=i) for i in range(400)])
    assert 300 < stream.n_held < 400
    stream.add(rng.normal(0, 0.3, (5, 2)), when=np.datetime64("2026-01-01T00:20") + np.arange(5))
    assert 60 < stream.n_held < 200
    stream.add(rng.normal(0, 0.3, (5, 2)), when=["2026-01-03 00:00:00"] * 5)
    assert stream.n_held == 5
    stream.add(rng.normal(0, 0.3, (1, 2)), when=[start.timestamp()])  # late, and long past its time
    assert stream.n_held == 5


@pytest.mark.parametrize("forget", [200, "200s", datetime.timedelta(seconds=200)])
def test_a_stream_that_forgets_goes_on_from_a_file(forget: object, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    when = (lambda i: {"when": 70.0 * i + np.arange(70)}) if forget != 200 else (lambda i: {})
    one, other = TreeStream(PLANE, forget=forget, seed=3), hr.IncrementalBHC(prior=PLANE.prior, forget=forget, random_state=0)
    for i in range(20):
        X = rng.normal(0, 0.4, (70, 2)) + 4 * rng.integers(0, 3, (70, 1))
        one.add(X, **when(i))
        other.partial_fit(X, **when(i))
        if i % 6 == 5:
            one.save(tmp_path / "stream")
            other.save(tmp_path / "incremental")
            twin, copy = TreeStream.load(tmp_path / "stream"), hr.IncrementalBHC.load(tmp_path / "incremental")
            X = rng.normal(0, 0.4, (70, 2)) + 4 * rng.integers(0, 3, (70, 1))
            later = {"when": 70.0 * i + 70 + np.arange(70)} if forget != 200 else {}
            assert np.array_equal(one.add(X, **later), twin.add(X, **later))
            assert one.log_joint == twin.log_joint
            assert one.events == twin.events
            assert np.array_equal(other.partial_fit(X, **later).labels_, copy.partial_fit(X, **later).labels_)


def test_events_name_the_rows_that_moved() -> None:
    """Ids before a batch, changed as its events say, are those after it, but for single rows that went to another cluster."""
    rng = np.random.default_rng(2)
    stream = TreeStream(hr.Mixture(hr.DP(1.0), hr.GaussianWishart(mean=[0, 0], r=0.1, nu=4, psi=np.eye(2))), seed=0)
    told = 0
    for step in range(40):
        before = stream.labels if step else np.zeros(0, np.int32)
        seen = stream.n_events
        stream.add(np.vstack([rng.normal(0, 1, (60, 2)), rng.normal([3.2, 0], 1, (60, 2))]))
        replayed = before.copy()
        for event in stream.events_since(seen):
            rows = [row for row in event.rows if row < len(before)]
            told += len(event.rows) > 0
            if event.kind == "split":
                assert len(event.rows) == event.size
                replayed[rows] = event.cluster
            elif event.kind == "joined":
                replayed[rows] = event.other
        if step > 2:
            assert np.mean(replayed == stream.labels[: len(before)]) > 0.9
        assert all(event.rows == () for event in stream.events[:seen])
    assert told > 0


@pytest.mark.parametrize("forget", [0, -1, True, "ten minutes", "5y", float("nan"), [3]])
def test_what_is_no_half_life_is_refused(forget: object) -> None:
    with pytest.raises(ParameterError, match="forget must be a number of rows"):
        TreeStream(PLANE, forget=forget)


def test_a_clock_is_asked_for_where_there_is_one() -> None:
    X = np.zeros((3, 2))
    with pytest.raises(ParameterError, match="when must be given"):
        TreeStream(PLANE, forget="1h").add(X)
    with pytest.raises(ParameterError, match="when must be left out"):
        TreeStream(PLANE, forget=5).add(X, when=[1, 2, 3])
    with pytest.raises(ParameterError, match="one finite time for each of the 3 rows"):
        TreeStream(PLANE, forget="1h").add(X, when=[1, 2])
    with pytest.raises(ParameterError, match="when must hold numbers of seconds"):
        TreeStream(PLANE, forget="1h").add(X, when=["a", "b", "c"])
    with pytest.raises(ParameterError, match="max_nodes must be None with forget"):
        TreeStream(PLANE, forget=5, max_nodes=1000)
