"""Trees: evaluations, depth and time per evaluation of every build, with the bare loop of predictive densities beside it."""

from __future__ import annotations

import resource
import time

import numpy as np

import hedgerow as hr
from benchmarks import sets
from hedgerow import _core
from hedgerow.data.views import as_labels
from hedgerow.trees import TreeStream


def bare_loop(bound: _core.Likelihood, labels: np.ndarray) -> float:
    """Seconds per evaluation of one row against all clusters, nothing else done."""
    best = np.inf
    for _ in range(5):
        clock = time.process_time()
        _core.predictive_loop(bound, labels, 1)
        best = min(best, (time.process_time() - clock) / (len(labels) * (int(labels.max()) + 1)))
    return best


def build(name: str, X: np.ndarray, y: np.ndarray, repeats: int) -> None:
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart.nips2015()).resolve(X)
    bound = model.likelihood.bind(X)
    loop = bare_loop(bound, as_labels(y, len(y), "bench"))
    print(f"{name}: bare predictive loop {loop * 1e9:.2f} ns per evaluation")
    ways = {
        "bhc": lambda b: b.bhc(),
        "ibhc, first pass": lambda b: b.ibhc(),
        "ibhc, later pass": lambda b: b.revise(),
        "ibhc, to the papers' letter": lambda b: b.ibhc(balance=False),
    }
    for way, grow in ways.items():
        best, builder = np.inf, _core.TreeBuilder(bound, model.prior.to_core(), seed=0)
        if way == "ibhc, later pass":
            builder.ibhc()
        for _ in range(repeats if way != "bhc" else 1):
            before, clock = builder.evaluations, time.process_time()
            grow(builder)
            seconds = time.process_time() - clock
            evaluations = builder.evaluations - before
            best = min(best, seconds / evaluations)
        print(
            f"  {way:28s} {seconds:7.3f} s  {evaluations:11,d} evaluations  {best * 1e9:6.1f} ns each, all in  "
            f"mean depth {builder.mean_depth():5.1f}  {builder.n_roots:4d} clusters  log joint {builder.log_joint():,.1f}"
        )


def stream(points: int, max_nodes: int | None, batch: int = 1000) -> None:
    """50 clusters in the plane, at least 6 standard deviations apart."""
    rng = np.random.default_rng(0)
    centres = sets.apart(50, 6.0, rng)
    trees = TreeStream(hr.Mixture(hr.DP(1.0), hr.GaussianWishart.nips2015()), max_nodes=max_nodes, seed=1)
    cost, work, truth = [], [], []
    for _ in range(points // batch):
        z = rng.integers(0, len(centres), batch)
        X = centres[z] + rng.normal(size=(batch, 2))
        truth.append(z)
        before, clock = trees.evaluations, time.process_time()
        trees.add(X)
        cost.append((time.process_time() - clock) / batch)
        work.append((trees.evaluations - before) / batch)
    tenth = max(1, len(cost) // 10)
    second, last = slice(tenth, 2 * tenth), slice(-tenth, None)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    score = sets.adjusted_rand(np.concatenate(truth), trees.labels)
    print(
        f"  {points:,d} points, max_nodes {max_nodes}: {np.mean(cost[second]) * 1e6:.2f} us a point in the second tenth, "
        f"{np.mean(cost[last]) * 1e6:.2f} in the last ({np.mean(work[second]):.0f} and {np.mean(work[last]):.0f} evaluations), "
        f"{trees.n_clusters} clusters, {trees.n_nodes:,d} nodes, adjusted Rand {score:.4f}, peak memory {memory:.0f} MB"
    )


def main() -> None:
    print(f"instruction set: {_core.instruction_set()}")
    X, y, name = sets.toy()
    build(f"{name}, {X.shape[0]:,d} x {X.shape[1]}", X, y, 10)
    X, y, name = sets.tenk()
    build(f"{name}, {X.shape[0]:,d} x {X.shape[1]}", X, y, 3)
    print("streams, batches of 1,000:")
    stream(200_000, None)
    stream(400_000, 50_000)


if __name__ == "__main__":
    main()
