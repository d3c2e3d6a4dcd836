"""Shards and memory at equal CPU: the log joint that each has come to, over the same rows, for several seeds.

python -m benchmarks equal_cpu                                 1,000,000 x 6 on two workers, three seeds; many minutes
python -m benchmarks.equal_cpu --rows 100000 --seconds 20      fewer rows, for less time
python -m benchmarks.equal_cpu --rows 10000000 --no-memory     shards alone, with the memory they take

Seconds are of CPU, of all processes: loading and starting are in them, starting Python is not. Rows are made in a process of their own,
so that the memory of making them is not counted.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hedgerow as hr
from benchmarks.distributed import write_shards

MOST = 500
"""Draws of a chain in memory, which keeps the labels of each: more than the time is enough for."""


class Point(NamedTuple):
    """Where a chain was after so many seconds."""

    seconds: float
    log_joint: float
    clusters: int

    def __str__(self) -> str:
        """For the screen."""
        return f"{self.seconds:7.1f} s  log joint {self.log_joint:,.0f}  {self.clusters} clusters"


def written(folder: Path, rows: int, shards: int) -> tuple[list[Path], hr.Mixture]:
    """The files, and the model."""
    return write_shards(folder, rows, shards)[:2]


def over_shards(model: hr.Mixture, paths: Sequence[Path], workers: int, seed: int, seconds: float) -> tuple[list[Point], float]:
    """The course of a chain on a local cluster with one thread a worker; and its memory at the most, in MB."""
    from distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": None, "silence_logs": 50}
    course: list[Point] = []
    with LocalCluster(**options) as cluster, Client(cluster) as client:

        def spent() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        client.run(importlib.import_module, "hedgerow.distributed")
        began = spent()

        def tell(update: Any) -> bool:
            course.append(Point(spent() - began, update.log_joint, update.n_clusters))
            return course[-1].seconds > seconds

        settings: dict[str, Any] = {"draws": 100_000, "warmup": 0, "seed": seed, "client": client, "labels": "none"}
        hr.distributed.sample(model, list(paths), callbacks=[tell], **settings)
        most = sum(client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss).values())
    return course, (most + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024


def in_memory(model: hr.Mixture, paths: Sequence[Path], seed: int, seconds: float) -> list[Point]:
    """The course of a chain of the sampler in memory, with its own start and kernel; 8 iterations are warm-up."""
    X = np.concatenate([np.load(path) for path in paths])
    course: list[Point] = []
    began = time.process_time()

    def tell(update: Any) -> bool:
        course.append(Point(time.process_time() - began, update.log_joint, update.n_clusters))
        return course[-1].seconds > seconds and not update.warming_up

    hr.sample(model, X, draws=MOST, warmup=8, chains=1, seed=seed, callbacks=[tell], progress=False)
    return course


def at(course: Sequence[Point], seconds: float) -> Point:
    """The last point not after so many seconds, or the first."""
    return [point for point in course if point.seconds <= seconds][-1] if course[0].seconds <= seconds else course[0]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120.0, help="of CPU for each chain")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-memory", action="store_true", help="leave the sampler in memory out")
    parser.add_argument("--folder", type=Path, default=None, help="where to put the shards for the while")
    chosen = parser.parse_args([] if arguments is None else arguments)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            paths, model = pool.submit(written, Path(folder), chosen.rows, chosen.shards).result()
        for seed in range(chosen.seeds):
            far, most = over_shards(model, paths, chosen.workers, seed, chosen.seconds)
            print(f"seed {seed}, {chosen.workers} workers, first iteration {far[0]}; at most {most:,.0f} MB", flush=True)
            print(f"  {len(far)} iterations, to {far[-1]}", flush=True)
            near = None if chosen.no_memory else in_memory(model, paths, seed, chosen.seconds)
            if near is not None:
                print(f"  in memory, first iteration {near[0]}", flush=True)
            for share in (0.125, 0.25, 0.5, 1.0):
                one = at(far, share * chosen.seconds)
                line = f"  {one}"
                if near is not None:
                    other = at(near, share * chosen.seconds)
                    line += f"; in memory {other}: {(other.log_joint - one.log_joint) / abs(other.log_joint):+.4%} behind"
                print(line, flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
