"""Levels from coarse to fine: what eight of them cost beside one fit of 10,000 rows and 6 columns, in seconds of CPU."""

from __future__ import annotations

import time

import numpy as np

import hedgerow as hr


def blobs(n: int = 10_000, d: int = 6, clusters: int = 12) -> np.ndarray:
    rng = np.random.default_rng(0)
    own = rng.integers(0, clusters, n)
    return 4 * rng.normal(size=(clusters, d))[own] + rng.normal(size=(n, d)) * rng.gamma(2, 0.5, size=(clusters, d))[own]


def main() -> None:
    X = blobs()
    model = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianDiagonal())
    clock = time.process_time()
    post = hr.sample(model, X, draws=250, warmup=250, chains=4, seed=0, progress=False)
    post.point_estimate()
    one = time.process_time() - clock
    clock = time.process_time()
    found = hr.levels(model, X, seed=0, progress=False)
    spent = time.process_time() - clock
    print(found)
    print(f"one fit (4 chains of 250 draws after 250): {one:.1f} s of CPU; {len(found)} levels: {spent:.1f} s, {spent / one:.1f} fits")


if __name__ == "__main__":
    main()
