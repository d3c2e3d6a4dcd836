"""One chain for a budget of CPU seconds, and what is said of it: the columns of the tables of NIPS 2015.

The clock is the processor time of this process, which other work on the machine does not stretch. It starts before the
chain is made and counts everything the sampler does, guide trees included; the first partition is made before, once, and is
the same for all samplers of a seed. A share of the budget is burn-in for every sampler, and warm-up for one that adapts: means and
effective sample sizes come from the rest, the best log joint and the traces from all of it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import hedgerow as hr
from hedgerow.sampling import Chain
from hedgerow.summaries import ess_bulk, rhat
from papers.common import Record, over_runs

FloatArray = npt.NDArray[np.float64]

BURN_IN = 0.2
FINE = 1_000_000  # steps of the warm-up's progress, which goes by the clock
BLOCK_SECONDS = 0.02
TRACE_POINTS = 80
KEPT_DRAWS = 400

#: Columns of every table: name in the records, heading, digits.
COLUMNS = (
    ("max_log_joint", "max log joint", 2),
    ("mean_log_joint", "mean log joint", 1),
    ("mean_clusters", "clusters", 2),
    ("ess_clusters", "ESS of clusters", 0),
    ("ess_clusters_per_second", "per second", 2),
    ("ess_log_joint_per_second", "ESS/s of log joint", 2),
    ("log_r", "mean log r", 2),
    ("acceptance", "accepted", 3),
    ("milliseconds_per_iteration", "ms/iteration", 3),
)


@dataclass
class Trace:
    """Everything a chain said, iteration by iteration."""

    seconds: list[float] = field(default_factory=list)
    log_joint: list[float] = field(default_factory=list)
    clusters: list[int] = field(default_factory=list)
    log_r: list[float] = field(default_factory=list)
    proposed: float = 0.0
    accepted: float = 0.0

    def add(self, block: Any, began: float, ended: float) -> None:
        """A block of draws made between two moments."""
        n = len(block)
        self.seconds += (began + (ended - began) * np.arange(1, n + 1) / n).tolist()
        self.log_joint += block.log_joint.tolist()
        self.clusters += block.n_clusters.tolist()
        stats = block.stats
        if "log_r" in stats:
            self.log_r += stats["log_r"][np.isfinite(stats["log_r"])].tolist()
        if "accepted" in stats:  # split-merge: one proposal an iteration
            self.accepted += float(stats["accepted"].sum())
            self.proposed += n
        elif "splits_accepted" in stats:
            self.accepted += float(stats["splits_accepted"].sum() + stats["merges_accepted"].sum())
            counted = stats["proposals"] if "proposals" in stats else stats["splits"] + stats["merges"]
            self.proposed += float(counted.sum())


def run_chain(
    model: hr.Mixture,
    X: Any,
    kernel: hr.Kernel,
    labels: npt.ArrayLike,
    seed: int,
    seconds: float,
    *,
    burn_in: float = BURN_IN,
    bound: Any = None,
    times: Any = None,
    best_after: Sequence[int] = (),
    target: float | None = None,
    then: hr.Kernel | None = None,
) -> Record:
    """Run a kernel from `labels` for `seconds` of CPU time.

    Parameters
    ----------
    burn_in : float
        Share of the time that is thrown away; TreeGuided adapts in it.
    best_after : sequence of int
        Numbers of iterations after which the best log joint so far is noted as well.
    target : float, optional
        Log joint whose first reaching is noted, in seconds and iterations.
    then : Kernel, optional
        Another kernel that goes on from the last state for as long, to see whether it would stay there.
    """
    trace = Trace()
    start = time.process_time()
    chain = Chain(model, X, kernel, labels=labels, seed=seed, times=times, bound=bound)
    first = {"log_joint": chain.log_joint(), "clusters": chain.n_clusters}
    now, size = 0.0, 1
    adapting = burn_in * seconds if isinstance(kernel, hr.TreeGuided) else 0.0
    while now < seconds:
        began = now
        if now < adapting:
            size = 1
            chain.warm_up(1, int(FINE * now / adapting), FINE)
            now = time.process_time() - start
            trace.seconds.append(now)
            trace.log_joint.append(chain.log_joint())
            trace.clusters.append(chain.n_clusters)
        else:
            block = chain.run(size)
            now = time.process_time() - start
            trace.add(block, began, now)
        each = max(now - began, 1e-6) / size
        size = max(1, min(4 * size, int(BLOCK_SECONDS / each), int((seconds - now) / each) + 1))
    record = describe(trace, now, first, best_after, target, burn_in)
    if then is not None:
        record["then"] = _go_on(model, X, then, chain, seed, seconds, bound, times)
    return record


def _go_on(model: hr.Mixture, X: Any, kernel: hr.Kernel, chain: Chain, seed: int, seconds: float, bound: Any, times: Any) -> Record:
    """Where another kernel goes from a chain's last state: log joint and clusters there, and over its second half."""
    state = chain.state()
    start = {name: state["measure"][name] for name in ("log_u", "alpha", "sigma", "tau")}
    other = Chain(model, X, kernel, labels=state["labels"], seed=seed, start=start, times=times, bound=bound)
    values, clusters = [], []
    clock = time.process_time()
    while time.process_time() - clock < seconds:
        block = other.run(1)
        values.append(float(block.log_joint[0]))
        clusters.append(int(block.n_clusters[0]))
    half = len(values) // 2
    return {
        "kernel": repr(kernel),
        "from_log_joint": chain.log_joint(),
        "from_clusters": chain.n_clusters,
        "to_log_joint": float(np.mean(values[half:])),
        "to_clusters": float(np.mean(clusters[half:])),
        "max_log_joint": max(values),
    }


def describe(
    trace: Trace, spent: float, first: Record, best_after: Sequence[int] = (), target: float | None = None, burn_in: float = BURN_IN
) -> Record:
    """The numbers of one run, and a trace thin enough to keep."""
    at, log_joint = np.array(trace.seconds), np.array(trace.log_joint)
    clusters = np.array(trace.clusters, dtype=float)
    best = np.maximum.accumulate(log_joint)
    kept = at > burn_in * spent
    counted = spent - float(at[~kept][-1]) if (~kept).any() else spent
    record: Record = {
        "seconds": round(spent, 4),
        "iterations": len(at),
        "milliseconds_per_iteration": 1000 * spent / len(at),
        "first_log_joint": first["log_joint"],
        "first_clusters": first["clusters"],
        "max_log_joint": float(best[-1]),
        "max_log_joint_at": float(at[int(np.argmax(log_joint))]),
        "mean_log_joint": float(log_joint[kept].mean()),
        "mean_clusters": float(clusters[kept].mean()),
        "last_clusters": int(clusters[-1]),
        "log_r": float(np.mean(trace.log_r)) if trace.log_r else None,
        "log_r_sd": float(np.std(trace.log_r)) if trace.log_r else None,
        "acceptance": trace.accepted / trace.proposed if trace.proposed else None,
        "best_after": {str(k): float(best[min(k, len(best)) - 1]) for k in best_after},
    }
    if target is not None:
        reached = np.flatnonzero(best >= target)
        record["seconds_to_target"] = float(at[reached[0]]) if reached.size else None
        record["iterations_to_target"] = int(reached[0]) + 1 if reached.size else None
    for name, values in (("clusters", clusters[kept]), ("log_joint", log_joint[kept])):
        ess = effective(values)
        record[f"ess_{name}"] = ess
        record[f"ess_{name}_per_second"] = None if ess is None else ess / counted
    record["trace"] = thin(at, log_joint, clusters)
    even = np.linspace(0, int(kept.sum()) - 1, min(KEPT_DRAWS, int(kept.sum()))).astype(int)
    record["kept"] = {"log_joint": np.round(log_joint[kept][even], 2), "clusters": clusters[kept][even].astype(int)}
    return record


def effective(values: FloatArray) -> float | None:
    """Bulk effective sample size; None for a trace that never moved, which says nothing of how well it mixes."""
    if len(values) < 4 or np.ptp(values) == 0.0:
        return None
    return float(ess_bulk(values))


def thin(at: FloatArray, log_joint: FloatArray, clusters: FloatArray) -> Record:
    """A trace at moments evenly spread on the logarithm of time, the first and the last among them."""
    wanted = np.geomspace(at[0], at[-1], TRACE_POINTS)
    index = np.unique(np.clip(np.searchsorted(at, wanted), 0, len(at) - 1))
    return {
        "seconds": [float(f"{value:.4g}") for value in at[index]],
        "log_joint": np.round(log_joint[index], 2),
        "clusters": clusters[index].astype(int),
    }


def summarize(records: Sequence[Record]) -> Record:
    """One row of a table: every number over runs, and how well the runs agree (R-hat)."""
    names = [name for name in records[0] if not isinstance(records[0][name], (dict, list))]
    row: Record = {name: over_runs(records, name) for name in names}
    row["best_after"] = {k: over_runs([record["best_after"] for record in records], k) for k in records[0]["best_after"]}
    shortest = min(len(record["kept"]["log_joint"]) for record in records)
    for name in ("log_joint", "clusters"):
        draws = np.array([record["kept"][name][-shortest:] for record in records], dtype=float)
        row[f"rhat_{name}"] = float(rhat(draws)) if len(records) > 1 and shortest >= 4 else None
    row["runs"] = len(records)
    row["seconds_each"] = float(np.mean([record["seconds"] for record in records]))
    return row


def best_over_time(traces: Sequence[Record], grid: FloatArray) -> FloatArray:
    """Log joint of every run at the moments of a grid, (run, moment); before a run's first point it is its first value."""
    out = np.empty((len(traces), len(grid)))
    for i, trace in enumerate(traces):
        at = np.searchsorted(np.array(trace["seconds"]), grid, side="right") - 1
        out[i] = np.array(trace["log_joint"])[np.clip(at, 0, None)]
    return out
