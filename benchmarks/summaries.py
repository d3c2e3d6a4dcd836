"""Summaries of draws: co-clustering probabilities of 5,000 rows over 2,000 draws, and point estimates up to 100,000 rows."""

from __future__ import annotations

import resource
import time

import numpy as np

from hedgerow import summaries


def noisy_draws(draws: int, n: int, clusters: int, noise: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    truth = rng.integers(clusters, size=n)
    moved = rng.random((draws, n)) < noise
    return summaries.canonical(np.where(moved, rng.integers(clusters, size=(draws, n)), truth).astype(np.int32))


def doubtful_draws(draws: int, n: int, clusters: int, doubtful: float) -> np.ndarray:
    """Clusters that every draw knows, and a share of rows that change between their own and a neighbour."""
    rng = np.random.default_rng(0)
    truth = rng.integers(clusters, size=n)
    stack = np.repeat(truth[None].astype(np.int32), draws, axis=0)
    rows = rng.choice(n, int(doubtful * n), replace=False)
    moved = rng.random((draws, rows.size)) < rng.random(rows.size)
    stack[:, rows] = np.where(moved, (truth[rows] + 1) % clusters, truth[rows])
    return summaries.canonical(stack)


def main() -> None:
    stack = noisy_draws(2000, 5000, 40, 0.05)
    clock = time.perf_counter()
    summaries.similarity(stack)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"similarity, 5,000 rows x 2,000 draws: {time.perf_counter() - clock:.1f} s, peak {memory:.2f} GB")
    cases = [(rows, draws, noisy_draws(draws, rows, 13, 0.05)) for rows, draws in ((1300, 1000), (10_000, 500))]
    cases.append((100_000, 200, doubtful_draws(200, 100_000, 30, 0.05)))
    for rows, draws, stack in cases:
        for loss in ("vi", "binder", "omari"):
            clock = time.perf_counter()
            summaries.point_estimate(stack, loss)
            print(f"point estimate ({loss}), {rows:,} rows x {draws:,} draws: {time.perf_counter() - clock:.1f} s")


if __name__ == "__main__":
    main()
