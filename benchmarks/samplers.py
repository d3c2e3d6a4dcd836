"""Samplers against each other: time to the best mode, agreement of chains from scattered starts, effective draws per second.

python -m benchmarks samplers            all tables (several minutes)
python -m benchmarks.samplers toy|tenk|agree|corpus|ess [seconds], or shapes [draws]   one of them
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import hedgerow as hr
from benchmarks import sets
from hedgerow.sampling import Chain
from hedgerow.summaries import ess_bulk, rhat

NEVER = 60.0
TRUTH_TOY = -1577.57


def climb(model: hr.Mixture, X, bound, kernel: hr.Kernel, labels, seed: int, target: float, limit: float) -> tuple[float, float, int]:
    """CPU seconds until the log joint reaches `target` (NEVER when it does not within `limit`), best value, iterations."""
    clock = time.process_time()
    chain = Chain(model, X, kernel, labels=labels, seed=seed, bound=bound)
    best, iterations = -np.inf, 0
    while time.process_time() - clock < limit:
        chain.warm_up(1, iterations, 1000)
        iterations += 1
        best = max(best, chain.log_joint())
        if best >= target:
            return time.process_time() - clock, best, iterations
    return NEVER, best, iterations


def race(title: str, model: hr.Mixture, X, kernels: dict[str, tuple[hr.Kernel, float]], target: float, seeds: int) -> None:
    model = model.resolve(X)
    bound = model.likelihood.bind(X)
    starts = [hr.ibhc(model, X, insert="top", seed=seed).labels for seed in range(seeds)]
    print(f"\n{title}: CPU time from the rough start to a log joint of {target:,.2f}, {seeds} seeds (never = {NEVER:.0f} s)")
    for name, (kernel, limit) in kernels.items():
        runs = [climb(model, X, bound, kernel, starts[seed], seed, target, limit) for seed in range(seeds)]
        seconds = np.array([run[0] for run in runs])
        arrived = int((seconds < NEVER).sum())
        best = [run[1] for run in runs]
        print(
            f"{name:22s} median {np.median(seconds):8.4f} s  worst {seconds.max():8.4f} s  arrived {arrived}/{seeds}  "
            f"best log joint {min(best):,.1f} to {max(best):,.1f}"
        )


def toy() -> None:
    X, _, name = sets.toy()
    kernels = {
        "TreeGuided": (hr.TreeGuided(), 10.0),
        "TreeGuidedPublished": (hr.TreeGuidedPublished(), 3.0),
        "SplitMerge": (hr.SplitMerge(), 10.0),
        "Gibbs": (hr.Gibbs(), 10.0),
    }
    race(f"{name}, DP(1)", hr.Mixture(hr.DP(1.0), hr.GaussianWishart.nips2015()), X, kernels, TRUTH_TOY - 10, 10)


def tenk(seconds: float = 5.0) -> None:
    """The others get ten times as long."""
    X, _, name = sets.tenk()
    kernels: dict[str, tuple[hr.Kernel, float]] = {
        "TreeGuided": (hr.TreeGuided(), seconds),
        "SplitMerge": (hr.SplitMerge(), 10 * seconds),
        "Gibbs": (hr.Gibbs(), 10 * seconds),
    }
    race(f"{name}, NGG(1, 0.3, 1)", hr.Mixture(hr.NGG(1.0, 0.3, 1.0), hr.GaussianWishart.nips2015()), X, kernels, -73400.0, 10)


def agree(seconds: float = 60.0) -> None:
    """Eight chains from scattered starts; `seconds` is the wall time two cores would need."""
    X, _, name = sets.tenk()
    model = hr.Mixture(hr.NGG(1.0, 0.3, 1.0), hr.GaussianWishart.nips2015()).resolve(X)
    bound = model.likelihood.bind(X)
    n = len(X)
    print(f"\n{name}: R-hat over 8 chains from scattered starts, {seconds:.0f} s on two cores")
    for label, kernel in (("TreeGuided", hr.TreeGuided()), ("Gibbs", hr.Gibbs())):
        traces, clusters = [], []
        for chain_index in range(8):
            start = ("one", "singletons", "rough", "ibhc")[chain_index % 4]
            labels = {
                "one": lambda: np.zeros(n, int),
                "singletons": lambda: np.arange(n),
                "rough": lambda i=chain_index: hr.ibhc(model, X, insert="top", seed=i).labels,
                "ibhc": lambda i=chain_index: hr.ibhc(model, X, passes=1, seed=i).labels,
            }[start]()
            chain = Chain(model, X, kernel, labels=labels, seed=7, sequence=chain_index, bound=bound)
            budget, clock = seconds * 2 / 8, time.process_time()
            while (share := (time.process_time() - clock) / (0.3 * budget)) < 1:
                chain.warm_up(1, int(1e6 * share), 1_000_000)
            log_joint: list[float] = []
            found: list[int] = []
            while time.process_time() - clock < budget:
                block = chain.run(5)
                log_joint += block.log_joint.tolist()
                found += block.n_clusters.tolist()
            traces.append(log_joint)
            clusters.append(found)
        shortest = min(map(len, traces))
        a = np.array([trace[:shortest] for trace in traces])
        b = np.array([trace[:shortest] for trace in clusters], float)
        print(f"{label:22s} log joint {rhat(a):6.3f}  clusters {rhat(b):6.3f}  mean log joint {a.mean():,.1f}  draws {shortest}")


def shapes(draws: float = 1000) -> None:
    """Where clusters have no Gaussian's shape there are many modes: R-hat of four chains, half as many iterations of warm-up."""
    kernels = {"TreeGuided": hr.TreeGuided(), "TreeGuided, no heat": hr.TreeGuided(anneal=False), "Gibbs": hr.Gibbs()}
    print(f"\nR-hat of four chains of {draws:,.0f} draws: log joint, clusters")
    for name, X in sets.shapes().items():
        print(f"{name:14s} {X.shape[0]:6,} x {X.shape[1]}", end="")
        for label, kernel in kernels.items():
            model = hr.Mixture(hr.DP(hr.Gamma(1.0, 1.0)), hr.GaussianWishart.nips2015())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                post = hr.sample(model, X, kernel=kernel, draws=int(draws), warmup=int(draws) // 2, chains=4, seed=0, progress=False)
            print(f"   {label} {rhat(post.log_joint):5.3f} {rhat(post.n_clusters.astype(float)):5.3f}", end="", flush=True)
        print()


def draws_per_second(
    title: str, model: hr.Mixture, X, kernels: dict[str, hr.Kernel], labels, seconds: float, warm: float = 0.2
) -> None:
    model = model.resolve(X)
    bound = model.likelihood.bind(X)
    print(f"\n{title}: {seconds:.0f} s CPU each, the last {1 - warm:.0%} counted")
    for name, kernel in kernels.items():
        chain = Chain(model, X, kernel, labels=labels, seed=3, bound=bound)
        clock = time.process_time()
        while (share := (time.process_time() - clock) / (warm * seconds)) < 1:
            chain.warm_up(1, int(1e6 * share), 1_000_000)
        log_joint: list[float] = []
        clusters: list[int] = []
        while time.process_time() - clock < seconds:
            block = chain.run(1)
            log_joint += block.log_joint.tolist()
            clusters += block.n_clusters.tolist()
        spent = (1 - warm) * seconds
        a, b = np.array([log_joint]), np.array([clusters], float)
        print(
            f"{name:22s} best log joint {a.max():14,.1f}  effective draws per second: log joint {ess_bulk(a) / spent:8.2f}, "
            f"clusters {ess_bulk(b) / spent:8.2f}  iterations {len(log_joint)}"
        )


def ess(seconds: float = 10.0) -> None:
    X, y, name = sets.toy()
    model = hr.Mixture(hr.NGG.from_nips2015(1.0, 0.2), hr.GaussianWishart.nips2015())
    kernels = {"TreeGuided": hr.TreeGuided(), "Gibbs": hr.Gibbs(), "SplitMerge": hr.SplitMerge()}
    draws_per_second(f"{name} from the truth, NGG", model, X, kernels, y, seconds)


def corpus(seconds: float = 120.0) -> None:
    X, name = sets.corpus()
    model = hr.Mixture(hr.NGG(1.0, 0.3, 1.0), hr.Multinomial(0.1))
    start = hr.ibhc(model, X, passes=1, seed=0).labels
    kernels = {
        "TreeGuided": hr.TreeGuided(),
        "TreeGuidedPublished": hr.TreeGuidedPublished(),
        "Gibbs": hr.Gibbs(),
        "SplitMerge": hr.SplitMerge(),
        "Gibbs(subset=200)": hr.Gibbs(subset=200),
        "SplitMerge(subset=200)": hr.SplitMerge(subset=200),
    }
    draws_per_second(f"{name} from one incremental pass", model, X, kernels, start, seconds, warm=0.5)


TABLES = {"toy": toy, "tenk": tenk, "agree": agree, "shapes": shapes, "ess": ess, "corpus": corpus}


def main() -> None:
    for table in TABLES.values():
        table()


if __name__ == "__main__":
    names = sys.argv[1:2] or list(TABLES)
    arguments = [float(value) for value in sys.argv[2:]]
    for name in names:
        TABLES[name](*arguments)
