"""How many guide trees should a chain follow? Effective draws a second of `TreeGuided` with 2, 4, 8 and 16 of them.

python -m benchmarks guides     tables that `hr.propose` models: four chains in each of eight runs with seeds of their own
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import hedgerow as hr
from benchmarks import everyday
from hedgerow.summaries import ess_bulk

COUNTS = (2, 4, 8, 16)
SEEDS = tuple(range(8))
DRAWS, WARMUP = 1000, 300
TABLES = ("iris", "wine", "penguins", "soybean", "zoo")


def effective(post: hr.Posterior, seconds: float) -> tuple[float, float]:
    """Effective draws a second of CPU: of the log joint, and of the number of clusters."""
    return ess_bulk(post.log_joint) / seconds, ess_bulk(post.n_clusters) / seconds


def compare(name: str, X: Any) -> None:
    found = hr.propose(X)
    for count in COUNTS:
        rates = []
        for seed in SEEDS:
            clock = time.process_time()
            kernel = hr.TreeGuided(guides=count)
            post = hr.sample(found.mixture, found.X, kernel=kernel, draws=DRAWS, warmup=WARMUP, chains=4, seed=seed, progress=False)
            rates.append(effective(post, time.process_time() - clock))
        (joint, clusters), (low, least) = np.mean(rates, axis=0), np.min(rates, axis=0)
        print(f"{name:10s} guides={count:<3d} log joint {joint:6.0f} (least {low:.0f}), clusters {clusters:6.0f} (least {least:.0f})")


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, read in everyday.tables().items():
            if name in TABLES:
                compare(name, read()[0])


if __name__ == "__main__":
    main()
