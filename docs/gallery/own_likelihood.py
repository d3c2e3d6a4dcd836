"""Your own likelihood: waiting times are exponential, and clusters differ in their rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot
from scipy.special import gammaln

import hedgerow as hr
from hedgerow.plots.palette import ranked_colors

A, B = 2.0, 0.5  # the law of a rate: Gamma(A, B)


def statistics(X: np.ndarray) -> np.ndarray:
    """What a cluster needs to know of its rows: how many, and the sum of their times."""
    return np.column_stack([np.ones(len(X)), X[:, 0]])


def log_marginal(s: np.ndarray) -> np.ndarray:
    """log p of clusters whose statistics add up to s, the rate integrated out."""
    n, t = s[:, 0], s[:, 1]
    return A * np.log(B) - gammaln(A) + gammaln(A + n) - (A + n) * np.log(B + t)


def main(folder: str) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.exponential(0.1, 60), rng.exponential(30.0, 60)])[:, None]
    model = hr.Mixture(hr.DP(1.0), hr.Custom(statistics, log_marginal))
    post = hr.sample(model, X, draws=60, warmup=40, chains=2, seed=0)
    found = post.point_estimate()
    means = [float(X[found.labels == cluster].mean()) for cluster in range(found.n_clusters)]
    print(f"{found.n_clusters} clusters with mean waiting times", *(f"{mean:.1f}" for mean in means))
    _, ax = pyplot.subplots(figsize=(6, 3))
    edges = np.geomspace(X.min(), X.max(), 40)
    parts = [X[found.labels == cluster, 0] for cluster in range(found.n_clusters)]
    ax.hist(parts, edges, stacked=True, color=list(ranked_colors(found.n_clusters)))
    ax.set_xscale("log")
    ax.set_xlabel("waiting time")
    ax.figure.savefig(Path(folder) / "gallery_own_likelihood.png", dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(".")
