"""Shards: 1,000,000 x 6 points on a local Dask cluster against the sampler in memory, and what a row, a message and a node cost.

python -m benchmarks distributed                 everything; minutes, on two cores
python -m benchmarks.distributed --rows 100000   the same on fewer rows
python -m benchmarks.distributed --memory-only   the sampler in memory alone; its log joint goes to a file in the folder
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow import _core
from hedgerow.distributed import sample
from hedgerow.distributed.working_shard import Sweep


def write_shards(folder: Path, rows: int, shards: int) -> tuple[list[Path], hr.Mixture, np.ndarray]:
    """A Pitman-Yor mixture in as many files; the rows in random order, as the generator makes them."""
    made = hr.data.pitman_yor_mixture(rows, 6, seed=0)
    paths = [folder / f"shard-{i}.npy" for i in range(shards)]
    for path, part in zip(paths, np.array_split(made.X, shards), strict=True):
        np.save(path, part)
    model = hr.Mixture(hr.NGG(hr.Gamma(1, 1), 0.3, 1.0), hr.GaussianWishart.nips2015()).resolve(made.X)
    return paths, model, made.labels


def in_memory(model: hr.Mixture, paths: list[Path], seconds: float) -> dict[str, Any]:
    """The tree-guided sampler on all rows for so many seconds of its own, one chain; the log joint it has come to."""
    X = np.concatenate([np.load(path) for path in paths])
    clock = time.perf_counter()
    best: list[tuple[float, float, int]] = []

    def stop(update: Any) -> bool:
        best.append((time.perf_counter() - clock, update.log_joint, update.n_clusters))
        return best[-1][0] > seconds and not update.warming_up

    post = hr.sample(model, X, draws=200, warmup=8, chains=1, seed=0, init="ibhc", callbacks=[stop], progress=False)
    found = {
        "seconds": best[-1][0],
        "log_joint": float(post.log_joint[0, -1]),
        "clusters": int(post.n_clusters[0, -1]),
        "draws": post.draws,
    }
    print(
        f"in memory     {found['seconds']:6.0f} s, {post.draws} draws after 8: "
        f"log joint {found['log_joint']:,.0f}, {found['clusters']} clusters"
    )
    return found


def on_dask(model: hr.Mixture, paths: list[Path], workers: int, iterations: int, init: str) -> Any:
    """Draws from a local cluster with one thread a worker."""
    from distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": None, "silence_logs": 50}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        clock = time.perf_counter()

        def tell(update: Any) -> None:
            spent = time.perf_counter() - clock
            print(
                f"  {spent:6.0f} s  iteration {update.done:3d}  {update.n_clusters:4d} clusters  log joint {update.log_joint:,.0f}",
                flush=True,
            )

        post = sample(model, paths, draws=iterations, warmup=0, seed=0, init=init, client=client, labels="none", callbacks=[tell])
        seconds = time.perf_counter() - clock
    stats = post.sample_stats
    share = stats["shard_seconds"] / stats["seconds"]
    print(
        f"{workers} workers     {seconds:6.0f} s, {post.draws} iterations from '{init}': log joint {post.log_joint[0, -1]:,.0f}, "
        f"{post.n_clusters[0, -1]} clusters; median {np.median(stats['seconds']):.2f} s an iteration, "
        f"in shards {share.mean():.1%} (least {share.min():.1%})"
    )
    return post


def resident() -> int:
    """Bytes in memory now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def costs(model: hr.Mixture, path: Path, labels: np.ndarray) -> None:
    """Nanoseconds a row of each pass over a shard, bytes of a message, and bytes of a row and of a node."""
    X = np.load(path)
    labels = np.unique(labels[: len(X)], return_inverse=True)[1].astype(np.int32)
    before = resident()
    bound = model.likelihood.bind(X)
    shard = _core.Shard(bound, 0, 1)
    shard.set_labels(labels)
    k = int(labels.max()) + 1
    packed = shard.tally(k)
    ledger = _core.Ledger(bound)
    ledger.reset(k)
    ledger.fold(packed["numbers"], packed["start"], np.arange(k, dtype=np.int32))
    measure = _core.Measure(model.prior.to_core(), len(X))
    measure.update(packed["count"], 1, True, False)
    log_weight, log_alone = measure.log_weights(packed["count"], 1)
    weights = {
        "anchor": shard.anchors(k, len(X), 1),
        "sizes": packed["count"],
        "log_weight": log_weight,
        "atoms": ledger.draw_atoms(1),
        "log_alone": log_alone,
        "iteration": 1,
    }
    size = int(np.argmax(packed["count"]))
    role = np.full(k, -1, np.int32)
    role[size] = 0
    halves = _core.Ledger(bound)
    halves.reset(2)
    for side in (0, 1):
        halves.add_rows(side, np.flatnonzero(labels == size)[side::2].astype(np.int32))
    launch = halves.pack()
    anchors = np.flatnonzero(labels == size)[:2].astype(np.int64)
    halved = (
        role,
        np.zeros(k, np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        anchors,
        np.zeros(2),
        launch["numbers"],
        launch["start"],
    )
    passes = {
        "statistics of all rows": (len(X), lambda: shard.tally(k)),
        f"sweep, {k} clusters": (
            len(X),
            lambda: shard.sweep(**weights),
        ),
        "one scan of a proposal": (int(packed["count"][size]), lambda: shard.halve(*halved, 1, 0)),
    }
    for name, (rows, act) in passes.items():
        spent = np.inf
        for _ in range(3):
            shard.set_labels(labels)
            clock = time.process_time()
            act()
            spent = min(spent, time.process_time() - clock)
        print(f"  {name:28s} {1e9 * spent / rows:7.0f} ns a row")
    after = resident()
    command = Sweep(**weights, visited=np.zeros(0, np.int32), strangers=0, seed=0)
    print(
        f"  a cluster out (weight, atom) {len(pickle.dumps(command)) / k:7.0f} bytes, "
        f"back (statistics) {8 * len(packed['numbers']) / k:7.0f} bytes"
    )
    print(f"  memory of a shard            {(after - before) / len(X):7.0f} bytes a row at most, of which 48 are the row")
    clock = time.process_time()
    trees = _core.TreeBuilder(bound, model.prior.to_core(), seed=0)
    part = resident()
    trees.ibhc()
    grown = resident()
    print(
        f"  trees                        {1e9 * (time.process_time() - clock) / len(X):7.0f} ns a row for the first pass, "
        f"{(grown - part) / len(X):.0f} bytes a node"
    )


def message_cost(workers: int) -> None:
    """Seconds of a round of the cluster in which shards have nothing to do."""
    from distributed import Client, LocalCluster

    from hedgerow.distributed.sources import read_sources
    from hedgerow.distributed.workers import DaskWorkers
    from hedgerow.distributed.working_shard import Fetch, Open

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npy"
        np.save(path, np.zeros((1, 6)))
        options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": None, "silence_logs": 50}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            for shards in (2, 16):
                workers = DaskWorkers(read_sources("bench", [path] * shards, client), client)
                workers.ask(Open("bench", hr.GaussianWishart.nips2015()))
                clock = time.perf_counter()
                for _ in range(40):
                    workers.ask(Fetch(np.zeros(0, np.int32)))
                print(f"  an empty round of {shards:2d} shards   {1e3 * (time.perf_counter() - clock) / 40:7.1f} ms")
                workers.close()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--memory-seconds", type=float, default=900.0)
    parser.add_argument("--memory-only", action="store_true")
    parser.add_argument(
        "--folder", type=Path, default=None, help="keep the shards and what was found in memory here, for the next time"
    )
    chosen = parser.parse_args([] if arguments is None else arguments)
    with tempfile.TemporaryDirectory() as made:
        folder = chosen.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        paths, model, labels = write_shards(folder, chosen.rows, chosen.shards)
        known = folder / "memory.json"
        memory = json.loads(known.read_text()) if known.exists() else in_memory(model, paths, chosen.memory_seconds)
        known.write_text(json.dumps(memory))
        if chosen.memory_only:
            return
        post = on_dask(model, paths, chosen.workers, chosen.iterations, "scouts")
        gap = (memory["log_joint"] - post.log_joint.max()) / abs(memory["log_joint"])
        when = np.flatnonzero(post.log_joint[0] > memory["log_joint"] - 0.001 * abs(memory["log_joint"]))
        print(
            f"log joint in memory {memory['log_joint']:,.0f}; distributed {gap:+.4%} behind, "
            f"within 0.1% from iteration {when[0] + 1 if len(when) else None}"
        )
        costs(model, paths[0], labels)
        message_cost(chosen.workers)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
