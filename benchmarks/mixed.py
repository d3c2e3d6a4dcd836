"""Time-varying clusters: incremental trees against Gibbs, SMC and TreeGuided, as in Table 1 of Lee & Choi, AISTATS 2014.

python -m benchmarks mixed                 the table (several minutes)
python -m benchmarks.mixed table RUNS      so many runs of each method
python -m benchmarks.mixed groups          cost of a batch as groups keep coming

The set is the paper's recipe with 10 and 1.5 as standard deviations, as its figure has them: 15 steps, 10,200 points. Every method
gives its best log joint and the CPU seconds it took. The log joint rewards the mode; exact samplers live in the typical set,
some hundred nats below it, so the log predictive density of 2,000 fresh points is told as well, and the mean log joint of the last
draws.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.special import logsumexp

import hedgerow as hr
from benchmarks import sets
from hedgerow.data import Toy
from hedgerow.sampling import Chain
from hedgerow.summaries import canonical
from hedgerow.trees import TreeStream

Record = dict[str, Any]
SEED = 26


@cache
def points(per_centre: int = 100, seed: int = SEED) -> tuple[Toy, Toy]:
    """The rows, and fresh rows of the same centres and times."""
    made = hr.data.moving_clusters(per_centre + 20, seed=seed, centre_sd=10.0, point_sd=1.5)
    block = np.arange(len(made.X)) % (per_centre + 20)
    old, new = block < per_centre, block >= per_centre
    return Toy(made.X[old], made.labels[old], made.times[old]), Toy(made.X[new], made.labels[new], made.times[new])


def model_of(rows: Toy) -> hr.Mixture:
    """Section 4.1: alpha ~ Gamma(1, 1), sigma ~ Beta(1, 2), tau = 0.001, basis at even times, decay 0.2, s = 1, nu = 6."""
    prior = hr.MixedNRM(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2), 1e-3), basis=range(2, 16, 2), decay=0.2)
    family = hr.GaussianWishart(mean=rows.X.mean(axis=0), r=1.0, nu=6.0, psi=np.cov(rows.X.T))
    return hr.Mixture(prior, family).resolve(rows.X)


def ibhc(rows: Toy, seed: int, *, iterations: int = 25) -> Record:
    """Incremental trees over all rows; an iteration is a pass."""
    model, clock = model_of(rows), time.process_time()
    trace: list[tuple[float, float]] = []
    forest = hr.ibhc(
        model, rows.X, times=rows.times, passes=iterations, seed=seed,
        progress=lambda _i, _n, found: trace.append((time.process_time() - clock, found.log_joint)),
    )  # fmt: skip
    return _record(rows, model, forest.labels, forest.log_joint, time.process_time() - clock, trace, [_state(forest)])


def online(rows: Toy, seed: int, *, repeats: int = 5) -> Record:
    """One time step after the other, each put in `repeats` times (algorithm 3)."""
    model, clock = model_of(rows), time.process_time()
    stream = TreeStream(model, repeats=repeats, seed=seed)
    trace = []
    for step in np.unique(rows.times):
        here = rows.times == step
        stream.add(rows.X[here], rows.times[here])
        trace.append((time.process_time() - clock, stream.log_joint))
    spent = time.process_time() - clock
    values = {name: np.asarray(stream.values[name]) for name in ("log_u", "alpha", "sigma", "tau")}
    state = {"labels": canonical(stream.labels)} | values
    return _record(rows, model, stream.labels, trace[-1][1], spent, trace, [state])


def chain(rows: Toy, seed: int, kernel: hr.Kernel, *, iterations: int = 3000, warmup: int = 0, seconds: float = np.inf) -> Record:
    """A sampler from one cluster, for so many iterations or CPU seconds."""
    model = model_of(rows)
    bound = model.likelihood.bind(rows.X)
    clock = time.process_time()
    mover = Chain(model, rows.X, kernel, labels=np.zeros(len(rows.X), np.int32), seed=seed, times=rows.times, bound=bound)
    trace, kept, best, best_labels, done = [], [], -np.inf, None, 0
    while done < iterations and time.process_time() - clock < seconds:
        count = min(10, (warmup if done < warmup else iterations) - done)
        if done < warmup:
            mover.warm_up(count, done, warmup)
            values, labels = np.array([mover.log_joint()]), [mover.state()["labels"]]
        else:
            block = mover.run(count)
            values, labels = block.log_joint, block.labels
            kept.append({name: np.array(getattr(block, name)[-1]) for name in ("labels", "log_u", "alpha", "sigma", "tau")})
        done += count
        trace.append((time.process_time() - clock, float(values.max())))
        if values.max() > best:
            best, best_labels = float(values.max()), labels[int(np.argmax(values))]
    spent = time.process_time() - clock
    settled = kept[len(kept) // 2 :]
    found = _record(rows, model, best_labels, best, spent, trace, settled[:: max(1, len(settled) // 20)])
    return found | {"iterations": done, "mean_log_joint": float(np.mean([value for _, value in trace[len(trace) // 2 :]]))}


def gibbs(rows: Toy, seed: int, **budget: Any) -> Record:
    """The paper's baseline: basis measures drawn."""
    return chain(rows, seed, hr.Gibbs(collapse=False), **budget)


def tree_guided(rows: Toy, seed: int, *, iterations: int = 3000, **budget: Any) -> Record:
    """Exact tree-guided sampling, a fifth of it warm-up."""
    return chain(rows, seed, hr.TreeGuided(), iterations=iterations, warmup=iterations // 5, **budget)


def smc(rows: Toy, seed: int, *, particles: int = 100) -> Record:
    """Particles over the rows in the order of time."""
    model, clock = model_of(rows), time.process_time()
    found = hr.smc(model, rows.X, particles=particles, seed=seed, shuffle=False, times=rows.times)
    top = int(np.argmax(found.log_joint))
    return _record(rows, model, found.labels[top], float(found.log_joint[top]), time.process_time() - clock, [], [])


def table(runs: int = 3) -> None:
    """Best log joint, seconds, clusters, mean log joint of the later draws, and log density of fresh points a point."""
    rows, _ = points()
    print(f"{len(rows.X):,d} points, {rows.labels.max() + 1} centres, {len(np.unique(rows.times))} times; {runs} runs each")
    methods: dict[str, Callable[[int], Record]] = {
        "IBHC, 25 passes": lambda seed: ibhc(rows, seed),
        "online, 5 repeats": lambda seed: online(rows, seed),
        "Gibbs, 3,000 sweeps": lambda seed: gibbs(rows, seed),
        "TreeGuided, 3,000": lambda seed: tree_guided(rows, seed),
        "SMC, 100 particles": lambda seed: smc(rows, seed),
    }
    records: dict[str, list[Record]] = {}
    for name, method in methods.items():
        found = records[name] = [method(seed) for seed in range(runs if "SMC" not in name else 1)]
        best = [one["log_joint"] for one in found]
        density = [one["density"] for one in found if one["density"] is not None]
        print(
            f"{name:20s} log joint {np.mean(best):10,.0f} ({min(best):,.0f} to {max(best):,.0f})  "
            f"{np.mean([one['seconds'] for one in found]):7.2f} s  {np.mean([one['clusters'] for one in found]):5.1f} clusters  "
            f"later draws {np.mean([one.get('mean_log_joint', np.nan) for one in found]):10,.0f}  "
            f"density {np.mean(density) if density else np.nan:8.4f}  Rand {np.mean([one['rand'] for one in found]):.3f}",
            flush=True,
        )
    _moment(records["IBHC, 25 passes"], records["Gibbs, 3,000 sweeps"])


def _moment(trees: list[Record], chains: list[Record]) -> None:
    """When incremental trees are first as high as the best of Gibbs in any of its runs, and what share of its time that is."""
    best, spent = max(one["log_joint"] for one in chains), float(np.mean([one["seconds"] for one in chains]))
    moments = [next((at for at, value in one["trace"] if value >= best), np.nan) for one in trees]
    shown = ", ".join(f"{at:.3f}" for at in moments)
    print(f"IBHC is as high as the best of Gibbs ({best:,.0f}) after {shown} s: 1/{spent / max(moments):.0f} of Gibbs' time at most")


def groups(count: int = 300, rows: int = 200) -> None:
    """A new group every batch, for ever: seconds and memory a batch should not grow, nor depend on groups long gone."""
    rng = np.random.default_rng(0)
    centres = sets.apart(12, 8.0, rng)
    prior = hr.MixedNRM(hr.NGG(1.0, 0.2, 1e-3), basis=range(0, count, 20), decay=0.1)
    stream = TreeStream(hr.Mixture(prior, hr.GaussianWishart.nips2015()), max_nodes=2000, remember=False, seed=0)
    spent = []
    for step in range(count):
        X = centres[rng.integers(0, 6, rows) + 6 * (step % 100 >= 50)] + rng.normal(size=(rows, 2))
        clock = time.process_time()
        stream.add(X, np.full(rows, step))
        spent.append(time.process_time() - clock)
    tenth = count // 10
    parts = [1e3 * np.mean(spent[i : i + tenth]) for i in range(0, count, tenth)]
    shown = " ".join(f"{part:.1f}" for part in parts)
    print(f"{count} groups of {rows} rows: ms a group by tenths {shown}; {stream.n_nodes} nodes, {stream.n_clusters} clusters")


def _state(forest: hr.Forest) -> dict[str, Any]:
    return {"labels": forest.labels} | {name: np.asarray(forest.values[name]) for name in ("log_u", "alpha", "sigma", "tau")}


def _record(
    rows: Toy, model: hr.Mixture, labels: Any, best: float, spent: float, trace: list[tuple[float, float]], states: list[dict[str, Any]]
) -> Record:
    return {
        "log_joint": float(best),
        "seconds": spent,
        "clusters": len(np.unique(labels)),
        "rand": sets.adjusted_rand(rows.labels, labels),
        "density": _density(rows, model, states) if states else None,
        "trace": trace,
        "labels": np.asarray(labels),
    }


def _density(rows: Toy, model: hr.Mixture, states: list[dict[str, Any]]) -> float:
    """Mean log predictive density of fresh rows under these states."""
    fresh = points(int(np.bincount(rows.labels[rows.times == rows.times[0]]).max()))[1]
    stacked = {name: np.stack([state[name] for state in states])[None] for name in states[0]}
    post = hr.Posterior(log_joint=np.zeros((1, len(states))), X=rows.X, model=model, times=rows.times, **stacked)
    density = post.log_density(fresh.X, times=fresh.times)
    assert np.isfinite(logsumexp(density))
    return float(density.mean())


def main() -> None:
    table()
    groups()


if __name__ == "__main__":
    name, *arguments = sys.argv[1:] or ["table"]
    {"table": table, "groups": groups}[name](*(int(value) for value in arguments))
