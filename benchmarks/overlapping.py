"""Is the answer on clusters that overlap the posterior's, or that of chains that have not mixed? The row `overlap` of `waiting`.

python -m benchmarks overlapping

Four chains each, after warm-ups of several lengths, of a long run, and of Gibbs from the labels that rows were made with: R-hat of the
log joint and number of clusters, adjusted Rand index against these labels (mean over draws, and of the point estimate), and expected
loss. Then the default with ten seeds.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

import hedgerow as hr
from benchmarks.sets import adjusted_rand
from benchmarks.waiting import blobs
from hedgerow.summaries import rhat

SEEDS, COMPARED = 10, 40
LENGTHS = ((40, 500, 1), (160, 1000, 1), (500, 1000, 1), (2000, 1000, 1), (1000, 1000, 10))  # warm-up, draws, every so many


def line(name: str, post: hr.Posterior, y: np.ndarray, clock: float) -> str:
    some = np.linspace(0, post.draws - 1, COMPARED).astype(int)
    index = np.mean([adjusted_rand(y, labels) for labels in post.labels[:, some].reshape(-1, y.size)])
    found = post.point_estimate()
    seconds = time.process_time() - clock
    return (
        f"{name:<28}{rhat(post.log_joint):7.3f}{rhat(post.n_clusters.astype(float)):7.3f}{post.log_joint.mean():11.1f}"
        f"{post.n_clusters.mean():7.1f}{index:8.3f}{adjusted_rand(y, found.labels):8.3f}{found.expected_loss:8.3f}{seconds:8.1f}"
    )


def main() -> None:
    warnings.simplefilter("ignore")
    X, y = blobs(1000, 2)
    found = hr.propose(X)
    model = found.mixture.resolve(found.X)
    heads = f"{'lj':>7}{'K':>7}{'log joint':>11}{'K':>7}{'draws':>8}{'point':>8}{'loss':>8}{'CPU s':>8}"
    print(f"{'R-hat of':<28}{heads}")
    for warmup, draws, thin in LENGTHS:
        clock = time.process_time()
        post = hr.sample(model, found.X, warmup=warmup, draws=draws, thin=thin, seed=0, progress=False)
        print(line(f"{warmup:,} + {draws:,}" + (f", every {thin}th" if thin > 1 else ""), post, y, clock), flush=True)
    clock = time.process_time()
    post = hr.sample(model, found.X, kernel=hr.Gibbs(), warmup=50, draws=1000, thin=10, init=y, seed=1, progress=False)
    print(line("Gibbs from the truth", post, y, clock), flush=True)
    for seed in range(SEEDS):
        clock = time.process_time()
        fit = hr.HedgerowClusterer(random_state=seed).fit(X)
        print(line(f"default, random_state={seed}", fit.posterior_, y, clock), flush=True)


if __name__ == "__main__":
    main()
