"""Many rows: trees in one pass, then draws; the same lines for twenty thousand rows and for a million."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import hedgerow as hr


def main(folder: str, n: int = 20_000) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(20, size=n)
    X = rng.normal(size=(20, 6), scale=6.0)[truth] + rng.normal(size=(n, 6))
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart())
    forest = hr.ibhc(model, X, passes=1, seed=0)  # tens of microseconds a row
    print(f"{n:,} rows, trees: {forest.n_clusters} clusters, adjusted Rand index {hr.summaries.ari(forest.labels, truth):.3f}")
    post = hr.sample(model, X, init=forest.labels, kernel=hr.Gibbs(), draws=8, warmup=4, chains=1, seed=0)
    found = post.point_estimate()
    print(f"draws from there: {found.n_clusters} clusters, adjusted Rand index {hr.summaries.ari(found.labels, truth):.3f}")
    post.plot_scatter().figure.savefig(Path(folder) / "gallery_many_rows.png", dpi=100)


if __name__ == "__main__":
    main(".", int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
