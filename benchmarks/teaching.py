"""Do chains that learn from each other tell the same story from run to run? Four runs of four chains as `HedgerowClusterer` makes them.

python -m benchmarks teaching [TABLES...]

A line each for runs whose chains share nothing (`independent=True`) and for the default: R-hat of the log joint and of the number
of clusters within a run (mean over the runs) and over the chains of all runs, how far the similarity matrices of two runs are apart
(sum of differences over sum of entries, mean over pairs; 0 where they are the same), the log mass about the draws by `Chain.log_mass`
(mean, and lowest and highest run), mean log joint, CPU seconds a run, and in how many runs chains learnt.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import hedgerow as hr
from benchmarks import agree, everyday, sets
from hedgerow.estimators.defaults import default_draws
from hedgerow.sampling import Chain
from hedgerow.summaries import rhat

RUNS = 4
WEIGHED = 8  # draws of each chain
ROWS = 1000  # of similarity matrices at most
TABLES = ("rings", "student", "quakes", "soybean", "breast_cancer", "digits", "bbc", "corpus")


def tables() -> dict[str, Callable[[], agree.Case]]:
    """Models with their rows by name: shapes as in `agree`, tables as proposed."""
    found = {name: case for name, case in agree.tables().items() if name in ("moons", "rings", "uniform", "student")}
    found["corpus"] = lambda: agree.proposed(sets.corpus()[0])
    for name, load in everyday.tables().items():
        found[name] = lambda load=load: agree.proposed(load()[0])
    return found


def masses(post: hr.Posterior, bound: Any) -> list[float]:
    """Log mass about the later draws of every chain."""
    found = []
    for chain, draw in itertools.product(range(post.chains), np.linspace(post.draws // 4, post.draws - 1, WEIGHED).astype(int)):
        start = {name: trace[chain, draw] for name, trace in post.traces().items()}
        labels = post.labels[chain, draw]
        found.append(Chain(post.model, post.X, hr.Gibbs(), labels=labels, seed=0, start=start, bound=bound).log_mass())
    return found


def apart(posts: Sequence[hr.Posterior]) -> float:
    """How far two runs' similarity matrices are apart."""
    rows = np.random.default_rng(0).permutation(posts[0].labels.shape[2])[:ROWS]
    found = []
    for post in posts:
        labels = np.asarray(post.labels[:, np.linspace(0, post.draws - 1, 20).astype(int)])[:, :, rows].reshape(-1, len(rows))
        found.append(np.mean([one[:, None] == one[None, :] for one in labels], axis=0))
    return float(np.mean([2 * np.abs(a - b).sum() / (a.sum() + b.sum()) for a, b in itertools.combinations(found, 2)]))


def compare(model: hr.Mixture, X: Any, independent: bool) -> str:
    """One line: four runs."""
    length = default_draws(model, X)
    clock = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posts = [
            hr.sample(
                model,
                X,
                until=hr.Agreement(max_draws=length),
                warmup=min(500, length),
                seed=seed,
                progress=False,
                independent=independent,
            )
            for seed in range(RUNS)
        ]
    seconds = (time.process_time() - clock) / RUNS
    least = min(post.draws for post in posts)
    numbers = ""
    for name in ("log_joint", "n_clusters"):
        traces = [getattr(post, name)[:, np.linspace(0, post.draws - 1, least).astype(int)].astype(float) for post in posts]
        numbers += f"{np.mean([rhat(trace) for trace in traces]):7.2f}{rhat(np.concatenate(traces)):7.2f}"
    bound = model.bind(X)
    mass = [float(np.mean(masses(post, bound))) for post in posts]
    lessons = sum(post.run["until"]["taught"] is not None for post in posts)
    height = np.mean([post.log_joint.mean() for post in posts])
    weighed = f"{np.mean(mass):12,.1f}{min(mass):12,.1f}{max(mass):12,.1f}"
    return f"{numbers}{apart(posts):8.3f}{weighed}{height:12,.1f}{seconds:8.1f}{lessons:8}"


def main(names: Sequence[str] = ()) -> None:
    known = tables()
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"no table named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    print(f"{RUNS} runs of 4 chains; R-hat within a run and over all chains, of the log joint and of K")
    heads = "".join(f"{head:>12}" for head in ("mass", "lowest", "highest", "log joint"))
    print(f"{'':<14}{'lj':>7}{'all':>7}{'K':>7}{'all':>7}{'apart':>8}{heads}{'CPU s':>8}{'taught':>8}")
    for name in names or [name for name in TABLES if name in known]:
        model, X = known[name]()
        model = model.resolve(X)
        print(f"{name} {X.shape[0]:,} x {X.shape[1]}")
        for label, independent in (("independent", True), ("default", False)):
            print(f"  {label:<12}{compare(model, X, independent)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
