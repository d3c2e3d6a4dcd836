"""Summaries of draws: similarity, point estimates, and all that follows the draws of 100,000 and 1,000,000 rows.

Seconds are of the processor, all threads together. Labels of many rows are made up as chains would leave them: clusters that every draw
knows, and one row in fifty that goes between its own and another one; no chain is run for them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow import summaries
from hedgerow.summaries.narrow import NarrowLabels

DRAWS, CHAINS, COLUMNS, DOUBTFUL = 400, 4, 6, 0.02
CASES = {"100k": (100_000, 20), "100k200": (100_000, 200), "1m": (1_000_000, 20), "1m200": (1_000_000, 200)}
STEPS = ("point estimate", "uncertainty", "cluster table", "profiles", "credible ball", "outlier scores")
STEPS += ("labels.csv", "report", "save", "load")


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


def posterior(n: int, clusters: int) -> hr.Posterior:
    """Draws of round clusters as a chain would leave them."""
    rng = np.random.default_rng(0)
    truth = summaries.canonical(rng.integers(clusters, size=n))
    X = rng.uniform(-10, 10, (clusters, COLUMNS))[truth] + rng.normal(size=(n, COLUMNS))
    stack = np.empty((DRAWS, n), np.uint8)
    rows = np.sort(rng.choice(np.arange(n // 10, n), int(DOUBTFUL * n), replace=False))  # the first rows name the clusters
    odds = rng.random(rows.size)
    for draw in stack:
        draw[:] = truth
        draw[rows] = np.where(rng.random(rows.size) < odds, (truth[rows] + 1) % clusters, truth[rows])
    shape = (CHAINS, DRAWS // CHAINS)
    values = {"log_u": np.zeros(shape), "alpha": np.ones(shape), "sigma": np.zeros(shape), "tau": np.ones(shape)}
    model = hr.Mixture(hr.DP(), hr.GaussianWishart()).resolve(X)
    labels: Any = NarrowLabels(stack.reshape(*shape, n))
    return hr.Posterior(labels=labels, log_joint=rng.normal(size=shape), X=X, model=model, **values)


def after(name: str) -> dict[str, float]:
    """CPU seconds of everything that follows the draws, in this process."""
    from hedgerow.cli.labels import label_columns, write_labels

    post = posterior(*CASES[name])
    folder = Path(tempfile.mkdtemp())
    before = peak()
    found: dict[str, float] = {}

    def timed(step: str, work: Callable[[], Any]) -> None:
        clock = time.process_time()
        work()
        found[step] = time.process_time() - clock

    timed("point estimate", post.point_estimate)
    timed("uncertainty", post.uncertainty)
    timed("cluster table", post.cluster_table)
    timed("profiles", post.profiles)
    timed("credible ball", post.credible_ball)
    timed("outlier scores", post.outlier_scores)
    found["draws of the scores"] = float(min(50, max(10, 1e9 // (post.n * CASES[name][1]))))
    timed("labels.csv", lambda: write_labels(folder / "labels.csv", label_columns(post, "vi", None, None)))
    found["labels.csv"] -= found["outlier scores"]
    timed("report", lambda: post.report(folder / "report.html"))
    timed("save", lambda: post.save(folder / "post.npz"))
    found["file, MB"] = (folder / "post.npz").stat().st_size / 1e6
    timed("load", lambda: hr.load(folder / "post.npz"))
    return found | {"labels, MB": post.labels.nbytes / 1e6, "peak, MB": peak(), "peak before, MB": before}


def foretold(clusters: int) -> dict[str, float]:
    """Microseconds a row of new rows under 200 draws, fixed costs left out by the difference of two sizes."""
    post = posterior(10_000, clusters)
    rng = np.random.default_rng(1)
    X = rng.uniform(-10, 10, (20_000, COLUMNS))
    asks = {
        "log_density": lambda rows: post.log_density(rows, max_draws=200),
        "predict_proba": lambda rows: post.predict_proba(rows, max_draws=200),
        "predict_proba(top=5)": lambda rows: post.predict_proba(rows, max_draws=200, top=5),
    }
    found = {}
    post.point_estimate()
    for name, ask in asks.items():
        spent = []
        for rows in (X[:4_000], X):
            clock = time.process_time()
            ask(rows)
            spent.append(time.process_time() - clock)
        found[name] = 1e6 * (spent[1] - spent[0]) / (len(X) - 4_000)
    return found


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(call: str) -> dict[str, float]:
    """A call of this module in a process of its own."""
    code = f"import json; from benchmarks.summaries import *; print(json.dumps({call}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    return json.loads(done.stdout.splitlines()[-1])


def small() -> None:
    stack = noisy_draws(2000, 5000, 40, 0.05)
    clock = time.process_time()
    summaries.similarity(stack)
    print(f"similarity, 5,000 rows x 2,000 draws: {time.process_time() - clock:.1f} s, peak {peak() / 1024:.2f} GB")
    stack = noisy_draws(100_000, 500, 8, 0.05)
    clock = time.process_time()
    summaries.similarity(stack)
    print(f"similarity, 500 rows x 100,000 draws: {time.process_time() - clock:.1f} s")
    cases = [(rows, draws, noisy_draws(draws, rows, 13, 0.05)) for rows, draws in ((1300, 1000), (10_000, 500))]
    cases.append((100_000, 200, doubtful_draws(200, 100_000, 30, 0.05)))
    for rows, draws, stack in cases:
        for loss in ("vi", "binder", "omari"):
            clock = time.process_time()
            summaries.point_estimate(stack, loss)
            print(f"point estimate ({loss}), {rows:,} rows x {draws:,} draws: {time.process_time() - clock:.1f} s")


def main(names: list[str] | None = None) -> None:
    unknown = set(names or ()) - {"small", "new", *CASES}
    if unknown:
        sys.exit(f"no row named {', '.join(sorted(unknown))}; there are small, new, {', '.join(CASES)}")
    wanted = names or ["small", "100k", "100k200", "1m", "1m200", "new"]
    if "small" in wanted:
        small()
    tables = [name for name in wanted if name in CASES]
    if tables:
        heads = [*STEPS, "draws of the scores", "labels, MB", "file, MB", "peak before, MB", "peak, MB"]
        found = [alone(f"after({name!r})") for name in tables]
        print("\n| | " + " | ".join(f"{CASES[name][0]:,} × {COLUMNS}, {CASES[name][1]} clusters" for name in tables) + " |")
        print("|---" * (1 + len(tables)) + "|")
        for head in heads:
            cells = [f"{one[head]:,.0f}" if head[-2:] == "MB" or "draws" in head else f"{one[head]:.1f}" for one in found]
            print("|", " | ".join([head, *cells]), "|")
    if "new" in wanted:
        for clusters in (20, 199):
            told = ", ".join(f"{name} {value:.1f}" for name, value in alone(f"foretold({clusters})").items())
            print(f"new rows, 200 draws, {clusters} clusters, microseconds a row: {told}")


if __name__ == "__main__":
    main(sys.argv[1:])
