"""Very many clusters: what a default chain makes of thousands of them, next to one that starts from the truth.

python -m benchmarks crowds              2,000 clusters in 20,000 rows and 5,000 in 50,000, one chain of 30 iterations each
python -m benchmarks.crowds CLUSTERS     so many clusters of ten rows
python -m benchmarks.crowds CLUSTERS whole   what `HedgerowClusterer()` answers for them, beside a chain from the truth (minutes)

Clusters of ten rows on average with standard deviation 0.3, their centres even in a cube of side 10 in six dimensions, so that
neighbours are about six standard deviations apart. The model is that of `hr.propose`. Seconds are of CPU.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import hedgerow as hr
from benchmarks import sets

ITERATIONS = 15


def crowd(clusters: int, rows_of_each: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows and the clusters they were made in."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0, 10, (clusters, 6))
    truth = rng.permutation(np.arange(clusters * rows_of_each) % clusters)
    return centres[truth] + rng.normal(0, 0.3, (len(truth), 6)), truth


def show(clusters: int) -> None:
    """A line for the model, one for a default chain, and one for a chain from the truth."""
    X, truth = crowd(clusters)
    clock = time.process_time()
    model = hr.propose(X).mixture
    spent = time.process_time() - clock
    print(f"{len(X):,} rows, {clusters:,} clusters: proposed in {spent:.1f} s", flush=True)
    starts: dict[str, Any] = {"default": "sequential", "from the truth": truth}
    for name, init in starts.items():
        clocks = [time.process_time()]

        def look(_: Any, clocks: list[float] = clocks) -> None:
            clocks.append(time.process_time())

        settings: dict[str, Any] = {"draws": ITERATIONS, "warmup": ITERATIONS, "chains": 1, "seed": 0, "progress": False}
        post = hr.sample(model, X, init=init, callbacks=[look], **settings)
        steps = np.diff(clocks)
        print(
            f"  {name:15s} {post.n_clusters[0, -1]:5d} clusters, index {sets.adjusted_rand(truth, post.labels[0, -1]):.3f}, "
            f"log joint {post.log_joint[0].mean():,.0f}; start {steps[0]:.1f} s, an iteration {np.median(steps[1:]):.2f} s",
            flush=True,
        )


def whole(clusters: int) -> None:
    """A line for the answer of the estimator with nothing said, and one for a chain of its model from the truth."""
    X, truth = crowd(clusters)
    clock = time.process_time()
    fitted = hr.HedgerowClusterer(random_state=0).fit(X)
    spent, post = time.process_time() - clock, fitted.posterior_
    index = sets.adjusted_rand(truth, fitted.labels_)
    joint = post.log_joint.mean()
    print(f"default: {fitted.n_clusters_:,} clusters, index {index:.3f}, log joint {joint:,.0f}, {spent:.0f} s", flush=True)
    settings: dict[str, Any] = {"draws": 2 * ITERATIONS, "warmup": ITERATIONS, "chains": 1, "seed": 0, "progress": False}
    post = hr.sample(post.model, X, init=truth, **settings)
    index = sets.adjusted_rand(truth, post.labels[0, -1])
    print(f"from the truth: {post.n_clusters[0, -1]:,} clusters, index {index:.3f}, log joint {post.log_joint.mean():,.0f}")


def main() -> None:
    for clusters in (2000, 5000):
        show(clusters)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        (whole if sys.argv[2:] == ["whole"] else show)(int(sys.argv[1]))
    else:
        main()
