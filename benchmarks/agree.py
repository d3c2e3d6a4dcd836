"""Do independent runs tell the same story? Four runs of one chain each, nothing shared, of every sampler on every table.

python -m benchmarks agree [TABLES...]      as many draws and as long a warm-up as `sample` has by default
python -m benchmarks.agree DRAWS [TABLES]   shorter, the warm-up half as long

R-hat of the log joint and of the number of clusters over the runs, where the runs are (mean log joint, lowest and highest; clusters),
the highest log joint seen, seconds of CPU a run. `tempered` has three copies of each chain at lower powers. `until` is the default
with as many draws as it needs to agree, up to 20,000 of which every tenth is kept, after warm-ups of up to 2,000. `learning` are four
runs of four chains each, with the same budget, whose chains learn from each other: R-hat is over all sixteen. `ladder` is
`hr.ladder`, whose draws are weighted: where four populations end, and the lowest and highest of their estimates of the log evidence.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import hedgerow as hr
from benchmarks import everyday, sets
from hedgerow.kernels import Tempered
from hedgerow.summaries import rhat

RUNS = 4
PARTICLES = 8
POWERS = (0.97, 0.94, 0.91)
UNTIL, THIN, LONGEST = hr.Agreement(rhat=1.05, ess=100, max_draws=2000), 10, 2000
COMPONENTS = 32
Case = tuple[hr.Mixture, Any]


def shape(X: np.ndarray) -> Case:
    return hr.Mixture(hr.DP(hr.Gamma(1.0, 1.0)), hr.GaussianWishart.nips2015()), X


def proposed(X: Any) -> Case:
    found = hr.propose(X)
    return found.mixture, found.X


def digits() -> Case:
    X = load_digits().data
    X = X - X.mean(axis=0)
    left, size, _ = np.linalg.svd(X, full_matrices=False)
    return proposed((left * size)[:, :COMPONENTS])


def tables() -> dict[str, Callable[[], Case]]:
    """Models with their rows by name: the six shapes, then real tables where they are there."""
    found: dict[str, Callable[[], Case]] = {name: lambda X=X: shape(X) for name, X in sets.shapes().items()}
    for name in ("quakes", "Soybean"):
        if (everyday.FOLDER / f"{name}.csv").exists():
            found[name.lower()] = lambda name=name: proposed(everyday.from_file(name, everyday.CLASSES[name])[0])
    found["digits"] = digits
    return found


def samplers() -> dict[str, hr.Kernel]:
    both = hr.cycle(hr.TreeGuided(), hr.SplitMerge(subset=1))
    return {
        "Gibbs": hr.Gibbs(),
        "SplitMerge": hr.SplitMerge(),
        "TreeGuided": hr.TreeGuided(),
        "no recasts": hr.TreeGuided(recasts=0),
        "both": both,
        "tempered": Tempered(POWERS),
    }


def compare(model: hr.Mixture, X: Any, kernel: hr.Kernel, draws: int, warmup: int) -> str:
    """One line: four runs of one kernel."""
    clock = time.process_time()
    runs = []
    for seed in range(RUNS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runs.append(hr.sample(model, X, kernel=kernel, draws=draws, warmup=warmup, chains=1, seed=seed, progress=False))
    seconds = (time.process_time() - clock) / RUNS
    height = np.concatenate([post.log_joint for post in runs])
    clusters = np.concatenate([post.n_clusters for post in runs]).astype(float)
    means = height.mean(axis=1)
    return (
        f"{rhat(height):7.3f}{rhat(clusters):8.3f}{means.mean():13,.1f}{means.min():12,.1f}{means.max():12,.1f}"
        f"{clusters.mean():8.1f}{height.max():12,.1f}{seconds:9.2f}"
    )


def agree_at_last(model: hr.Mixture, X: Any) -> str:
    """One line: four chains of one run, which share nothing, until they agree or the budget is spent."""
    clock = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"thin": THIN, "warmup": LONGEST, "chains": RUNS, "seed": 0, "progress": False}
        post = hr.sample(model, X, until=UNTIL, independent=True, **options)
    seconds = (time.process_time() - clock) / RUNS
    means = post.log_joint.mean(axis=1)
    return (
        f"{rhat(post.log_joint):7.3f}{rhat(post.n_clusters):8.3f}{means.mean():13,.1f}{means.min():12,.1f}{means.max():12,.1f}"
        f"{post.n_clusters.mean():8.1f}{post.log_joint.max():12,.1f}{seconds:9.2f}   {THIN * post.run['draws']:,} draws"
    )


def learn_at_last(model: hr.Mixture, X: Any) -> str:
    """One line: four runs of four chains that learn from each other, until they agree or the budget is spent."""
    clock = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"thin": THIN, "warmup": LONGEST, "chains": 4, "progress": False}
        posts = [hr.sample(model, X, until=UNTIL, seed=seed, **options) for seed in range(RUNS)]
    seconds = (time.process_time() - clock) / RUNS
    least = min(post.draws for post in posts)
    spaced = [np.linspace(0, post.draws - 1, least).astype(int) for post in posts]
    height, clusters = (
        np.concatenate([getattr(post, name)[:, places].astype(float) for post, places in zip(posts, spaced, strict=True)])
        for name in ("log_joint", "n_clusters")
    )
    means = [post.log_joint.mean() for post in posts]
    best = max(post.log_joint.max() for post in posts)
    drawn = sorted(THIN * post.run["draws"] for post in posts)
    return (
        f"{rhat(height):7.3f}{rhat(clusters):8.3f}{np.mean(means):13,.1f}{min(means):12,.1f}{max(means):12,.1f}"
        f"{clusters.mean():8.1f}{best:12,.1f}{seconds:9.2f}   {drawn[0]:,} to {drawn[-1]:,} draws"
    )


def climb(model: hr.Mixture, X: Any) -> str:
    """One line: four small populations."""
    clock = time.process_time()
    try:
        runs = [hr.ladder(model, X, particles=PARTICLES, seed=seed, progress=False) for seed in range(RUNS)]
    except hr.ParameterError as error:
        return f"  {error}"
    seconds = (time.process_time() - clock) / RUNS
    means = np.array([found.weights @ found.log_joint for found in runs])
    clusters = np.mean([found.weights @ found.n_clusters for found in runs])
    best = max(found.log_joint.max() for found in runs)
    evidence = sorted(found.log_evidence for found in runs)
    return (
        f"{'':15}{means.mean():13,.1f}{means.min():12,.1f}{means.max():12,.1f}{clusters:8.1f}{best:12,.1f}{seconds:9.2f}"
        f"   log evidence {evidence[0]:,.1f} to {evidence[-1]:,.1f}"
    )


def main(names: Sequence[str] = (), draws: int = 1000) -> None:
    known = tables()
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"no table named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    print(f"{RUNS} independent runs of {draws:,} draws after a warm-up of {draws // 2:,}")
    print(f"{'':<14}{'R-hat':>7}{'of K':>8}{'mean':>13}{'lowest':>12}{'highest':>12}{'K':>8}{'best':>12}{'seconds':>9}")
    for name in names or known:
        model, X = known[name]()
        print(f"{name} {X.shape[0]:,} x {X.shape[1]}")
        for label, kernel in samplers().items():
            print(f"  {label:<12}{compare(model, X, kernel, draws, draws // 2)}", flush=True)
        print(f"  {'until':<12}{agree_at_last(model, X)}", flush=True)
        print(f"  {'learning':<12}{learn_at_last(model, X)}", flush=True)
        print(f"  {'ladder':<12}{climb(model, X)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[2:], int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
