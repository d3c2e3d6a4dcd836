"""Streams: what a batch costs the longer it has been, and how a ring that turns is followed by one that forgets.

python -m benchmarks streams             both
python -m benchmarks.streams long ROWS   so many rows of one kind after another, in batches of 1,000
python -m benchmarks.streams old ROWS    batches of a stream of so many rows, and of one of 3/20 of them, in turns
python -m benchmarks.streams ring        thirteen clusters on a ring that turns, at several speeds and half-lives
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable

import numpy as np

import hedgerow as hr
from benchmarks import sets

BATCH = 1000


def kinds() -> dict[str, Callable[[np.random.Generator, int], np.ndarray]]:
    """One cluster, which has all rows; fifty apart; heavy tails."""
    centres = sets.apart(50, 6.0, np.random.default_rng(0))
    return {
        "one blob": lambda rng, n: rng.normal(size=(n, 3)),
        "50 apart": lambda rng, n: centres[rng.integers(0, 50, n)] + rng.normal(size=(n, 2)),
        "student": lambda rng, n: rng.standard_t(3, size=(n, 2)),
    }


def long(rows: int = 5_000_000, max_nodes: int = 20_000) -> None:
    """Milliseconds of CPU a batch by tenths, and the last over the second."""
    for name, draw in kinds().items():
        rng = np.random.default_rng(0)
        online = hr.IncrementalBHC(max_nodes=max_nodes, remember=False, random_state=0)
        cost = []
        for _ in range(rows // BATCH):
            X = draw(rng, BATCH)
            clock = time.process_time()
            online.partial_fit(X)
            cost.append(time.process_time() - clock)
        tenths = [1e3 * float(np.mean(part)) for part in np.array_split(cost, 10)]
        shown = " ".join(f"{tenth:.1f}" for tenth in tenths)
        print(
            f"{name}: {rows:,} rows, ms a batch by tenths {shown}; last over second {tenths[-1] / tenths[1]:.2f}, "
            f"{online.n_clusters_} clusters, {online.stream_.n_nodes:,} nodes",
            flush=True,
        )


def old(rows: int = 5_000_000, max_nodes: int = 20_000, batches: int = 200) -> None:
    """How many times as long a batch takes when the stream is old as when it is in its second tenth, by fifths of the batches."""
    for name, draw in kinds().items():
        rng = np.random.default_rng(0)
        online = hr.IncrementalBHC(max_nodes=max_nodes, remember=False, random_state=0)
        young = None
        for batch in range(rows // BATCH):
            online.partial_fit(draw(rng, BATCH))
            if batch == 3 * rows // (20 * BATCH):
                young = copy.deepcopy(online)
        assert young is not None
        cost = np.zeros((batches, 2))
        for step in range(batches):
            X = draw(rng, BATCH)
            for who, stream in enumerate((young, online)):
                clock = time.process_time()
                stream.partial_fit(X)
                cost[step, who] = time.process_time() - clock
        fifths = [part[:, 1].sum() / part[:, 0].sum() for part in np.array_split(cost, 5)]
        print(
            f"{name}: {rows:,} rows, old over young {cost[:, 1].sum() / cost[:, 0].sum():.2f} "
            f"({min(fifths):.2f} to {max(fifths):.2f} by fifths), {1e3 * cost[:, 1].mean():.1f} ms a batch",
            flush=True,
        )


def followed(turn: float, half_life: float | None, batches: int, seed: int, size: int = 500) -> tuple[np.ndarray, float]:
    """Adjusted Rand index of every batch as it was answered, and microseconds a row."""
    rng = np.random.default_rng(seed)
    online = hr.IncrementalBHC(random_state=seed, forget=half_life)
    scores, spent = [], 0.0
    for batch in range(batches):
        X, truth, _ = hr.data.ring13(size, rng)
        order, angle = rng.permutation(size), np.radians(turn) * (size * batch + np.arange(size))
        x, y = X[order].T
        turned = np.column_stack([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y])
        clock = time.process_time()
        online.partial_fit(turned)
        spent += time.process_time() - clock
        scores.append(sets.adjusted_rand(truth[order], online.labels_[-size:]))
    return np.array(scores), 1e6 * spent / (size * batches)


def ring(batches: int = 120, seeds: int = 2) -> None:
    """Mean and least index over batches and seeds."""
    for turn in (0.0, 0.001, 0.002, 0.005, 0.01):
        for half_life in (None, 250, 500, 1000, 2000, 4000):
            found = [followed(turn, half_life, batches, seed) for seed in range(seeds)]
            scores = np.concatenate([one for one, _ in found])
            about = "never turns" if turn == 0 else f"a turn in {360 / turn:,.0f} rows, {turn * (half_life or 0):g} degrees a half-life"
            print(
                f"ring, {about}, half-life {half_life}: mean index {scores.mean():.3f}, least {scores.min():.3f}, "
                f"{np.mean([cost for _, cost in found]):.1f} us a row",
                flush=True,
            )


def main() -> None:
    long(1_000_000)
    ring(60, 1)


if __name__ == "__main__":
    name, *arguments = sys.argv[1:] or ["long"]
    {"long": long, "old": old, "ring": ring}[name](*(int(value) for value in arguments))
