"""The bias of the published tree-guided sampler, against the enumerated posterior: prints a table, draws published_bias.svg.

Six points in the plane have 203 partitions, so the posterior is known exactly. Every kernel runs one chain of 30,000
draws with u held at 1, and its histogram over the partitions is compared with the truth.

    python docs/figures/published_bias.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import hedgerow as hr
from hedgerow.sampling import Chain
from hedgerow.testing import exact_posterior

X = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1]])
MODEL = hr.Mixture(hr.NGG(1.0, 0.3, 1.0), hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2)))
KERNELS = {
    "Gibbs()": hr.Gibbs(),
    "TreeGuided()": hr.TreeGuided(),
    "TreeGuidedPublished()": hr.TreeGuidedPublished(),
    "TreeGuidedPublished(G=0)": hr.TreeGuidedPublished(G=0),
}
DRAWS = 30_000


class Measured(NamedTuple):
    """Share of every partition, distance to the exact posterior, mean number of clusters."""

    shares: np.ndarray
    total_variation: float
    mean_clusters: float


def measure(kernel: hr.Kernel, draws: int = DRAWS) -> Measured:
    """Run one chain and compare it with the exact posterior."""
    exact = exact_posterior(MODEL, X, u=1.0)
    chain = Chain(MODEL, X, kernel, labels=np.zeros(6, int), seed=1, start={"u": 1.0}, update_u=False, update_hyper=False)
    block = chain.run(draws)
    shares = np.bincount(exact.index(block.labels), minlength=len(exact.partitions)) / draws
    distance = float(np.abs(shares - exact.probabilities).sum() / 2)
    return Measured(shares, distance, float(block.n_clusters.mean()))


def noise(draws: int = DRAWS) -> float:
    """Expected total variation of as many independent draws from the exact posterior."""
    p = exact_posterior(MODEL, X, u=1.0).probabilities
    return float(np.sqrt(2 / np.pi * p * (1 - p) / draws).sum() / 2)


def draw(results: dict[str, Measured], path: Path) -> None:
    """Exact probability of every partition against its share of the draws, one panel a kernel."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    exact = exact_posterior(MODEL, X, u=1.0).probabilities
    panels = list(results)[:3]
    figure = Figure(figsize=(9, 3.9))
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True)
    figure.subplots_adjust(left=0.08, right=0.99, bottom=0.14, top=0.86, wspace=0.08)
    limits = (0.5 / DRAWS, 0.4)
    for ax, name in zip(axes, panels, strict=True):
        ax.plot(limits, limits, color="0.7", linewidth=1, zorder=0)
        shares = np.maximum(results[name].shares, 0.7 / DRAWS)  # never drawn: on the lower edge
        ax.scatter(exact, shares, s=14, alpha=0.6, linewidths=0, color="#2b6a4d")
        ax.set_title(f"{name}\ntotal variation {results[name].total_variation:.3f}", fontsize=10)
        ax.set_xlabel("exact probability")
        ax.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
    axes[0].set_ylabel("share of the draws")
    with rc_context({"svg.hashsalt": "hedgerow", "svg.fonttype": "none"}):  # the same file every time, with text as text
        figure.savefig(path, metadata={"Date": None})


def main(folder: str = str(Path(__file__).parent)) -> None:
    """Measure all kernels, print the table, draw the picture."""
    exact = exact_posterior(MODEL, X, u=1.0)
    results = {name: measure(kernel) for name, kernel in KERNELS.items()}
    print(f"{'':26}total variation   E[clusters]")
    print(f"{'exact (203 partitions)':26}{0:15.3f}{exact.expect(exact.n_clusters.astype(float)):14.3f}")
    print(f"{'independent draws':26}{noise():15.3f}")
    for name, found in results.items():
        print(f"{name:26}{found.total_variation:15.3f}{found.mean_clusters:14.3f}")
    path = Path(folder) / "published_bias.svg"
    draw(results, path)
    print(f"wrote {path.name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
