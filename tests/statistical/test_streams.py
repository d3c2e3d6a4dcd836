"""Incremental trees at size: order, quality against the greedy build, and streams whose cost and memory stay bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from hedgerow import _core
from hedgerow.trees import TreeStream

DATA = Path(os.environ.get("HEDGEROW_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")) / "nrmm_author_data.npz"
MODEL = hr.Mixture(hr.DP(1.0), hr.GaussianWishart.nips2015())
authors = pytest.mark.skipif(not DATA.exists(), reason="the authors' data are not here: set HEDGEROW_DATA")


def apart(count: int, gap: float, rng: np.random.Generator) -> np.ndarray:
    """Centres in a square, no two nearer than `gap`."""
    found: list[np.ndarray] = []
    while len(found) < count:
        point = rng.uniform(0, 1.65 * gap * np.sqrt(count), 2)
        if all(np.hypot(*(point - other)) >= gap for other in found):
            found.append(point)
    return np.array(found)


@authors
def test_twenty_orders_of_the_toy_set_give_the_same_clusters() -> None:
    stored = np.load(DATA)
    X, truth = stored["toy_X"], stored["toy_y"]
    forests = [hr.ibhc(MODEL, X, passes=5, seed=seed) for seed in range(20)]
    right = [f.n_clusters == 13 and adjusted_rand_score(truth, f.labels) == 1.0 for f in forests]
    assert sum(right) >= 18
    assert max(f.log_joint for f in forests) == pytest.approx(-1577.5696, abs=1e-3)


def test_own_ring_in_any_order() -> None:
    X, truth, _ = hr.data.ring13(seed=3)
    scores = [adjusted_rand_score(truth, hr.ibhc(MODEL, X, passes=3, seed=seed).labels) for seed in range(5)]
    assert min(scores) > 0.97


@authors
@pytest.mark.slow
def test_incremental_trees_are_as_good_as_the_greedy_one() -> None:
    X = np.load(DATA)["10k_X"]
    bound = MODEL.resolve(X).likelihood.bind(X)
    greedy = _core.TreeBuilder(bound, MODEL.prior.to_core())
    greedy.bhc()
    for seed in range(3):
        forest = hr.ibhc(MODEL, X, passes=5, seed=seed)
        assert forest.log_joint >= greedy.log_joint() - 0.001 * abs(greedy.log_joint())


def test_cost_of_a_point_stays_bounded() -> None:
    rng = np.random.default_rng(0)
    centres = apart(50, 6.0, rng)
    stream = TreeStream(MODEL, seed=1)
    truth, work = [], []
    for _ in range(60):
        z = rng.integers(0, 50, 1000)
        before = stream.evaluations
        stream.add(centres[z] + rng.normal(size=(1000, 2)))
        work.append((stream.evaluations - before) / 1000)
        truth.append(z)
    assert adjusted_rand_score(np.concatenate(truth), stream.labels) >= 0.95
    assert np.mean(work[-6:]) <= 2.0 * np.mean(work[6:12])
    assert stream.n_clusters <= 55
    forest, _ = stream.to_forest()
    depth = np.zeros(len(forest.left), int)
    for v in range(len(forest.left) - 1, -1, -1):  # parents come after their children
        if forest.parent[v] >= 0:
            depth[v] = depth[forest.parent[v]] + 1
    assert depth[: forest.n].mean() <= 2.0 * np.log2(60_000 / 50)


def test_early_mistakes_are_mended() -> None:
    """A cluster that looked like part of another while it had few rows comes into its own."""
    rng = np.random.default_rng(1)
    stream = TreeStream(hr.Mixture(hr.DP(1.0), hr.GaussianWishart(mean=[0, 0], r=0.1, nu=4, psi=np.eye(2))), seed=0)
    stream.add(rng.normal(0, 1, (500, 2)))
    for _ in range(20):
        both = np.vstack([rng.normal(0, 1, (50, 2)), rng.normal([5, 0], 1, (50, 2))])
        ids = stream.add(both)
    assert len(set(ids[:50].tolist())) <= 2
    main, other = (np.bincount(part).argmax() for part in (ids[:50], ids[50:]))
    assert main != other
    assert (ids[50:] == other).mean() > 0.9


SCRIPT = """
import json, resource, sys, time
import numpy as np
sys.path.insert(0, {here!r})
from test_streams import MODEL, apart
from hedgerow.trees import TreeStream
points, max_nodes = {points}, {max_nodes}
rng = np.random.default_rng(0)
centres = apart(50, 6.0, rng)
stream = TreeStream(MODEL, max_nodes=max_nodes, seed=1)
cost, truth = [], []
for _ in range(points // 1000):
    z = rng.integers(0, 50, 1000).astype(np.int8)
    X = centres[z] + rng.normal(size=(1000, 2))
    clock = time.process_time()
    stream.add(X)
    cost.append(time.process_time() - clock)
    truth.append(z)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
tenth = len(cost) // 10
truth, labels = np.concatenate(truth), stream.labels
table = np.zeros((50, labels.max() + 1))
np.add.at(table, (truth, labels), 1)
pairs = lambda x: (x * (x - 1) / 2).sum()
a, b, both, all_ = pairs(table.sum(1)), pairs(table.sum(0)), pairs(table), points * (points - 1) / 2
score = (both - a * b / all_) / ((a + b) / 2 - a * b / all_)
ratio = sum(cost[-tenth:]) / sum(cost[tenth:2 * tenth])
print(json.dumps(dict(ratio=ratio, peak=peak, score=score, clusters=stream.n_clusters, nodes=stream.n_nodes, seconds=sum(cost))))
"""


def run(points: int, max_nodes: int | None) -> dict[str, float]:
    code = SCRIPT.format(here=str(Path(__file__).parent), points=points, max_nodes=max_nodes)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    print(result)
    return result


@pytest.mark.slow
def test_a_million_points() -> None:
    result = run(1_000_000, None)
    assert result["ratio"] <= 2.0
    assert result["peak"] < 1024
    assert result["score"] >= 0.95


@pytest.mark.slow
def test_ten_million_points_in_bounded_memory() -> None:
    result = run(10_000_000, 200_000)
    assert result["nodes"] <= 200_000
    assert result["peak"] < 1024
    assert result["score"] >= 0.95
