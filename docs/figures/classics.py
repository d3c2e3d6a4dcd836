"""Seven classic data sets, next to two of scikit-learn's clusterers: prints two tables, draws classics.png.

galaxy, acidity, enzyme and faithful come from `classic_small.npz` in the folder that HEDGEROW_DATA names (by default
../shared/data beside the repository), iris, wine and digits from scikit-learn. Nobody is told the number of clusters. scikit-learn's
mixture gets 20 components and its Dirichlet process prior, and both of scikit-learn's get columns scaled to unit variance.

    python docs/figures/classics.py [folder]
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.model_selection import KFold

import hedgerow as hr
from hedgerow.estimators import HedgerowClusterer

REPOSITORY = Path(__file__).resolve().parents[2]
FILE = Path(os.environ.get("HEDGEROW_DATA", REPOSITORY.parent / "shared" / "data")) / "classic_small.npz"
DENSITY = ("galaxy", "acidity", "enzyme", "faithful")
CLASSES = ("iris", "wine", "digits")


class Fit(NamedTuple):
    """What one method says about one data set; None for what it does not say."""

    labels: np.ndarray
    clusters: str
    model: Any


def load(name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """A data set and its classes."""
    if name in CLASSES:
        classic = getattr(hr.data, name)()
        return classic.X, classic.labels
    return np.asarray(np.load(FILE)[f"{name}_X"], float), None


def scaled(X: np.ndarray, by: np.ndarray | None = None) -> np.ndarray:
    """Columns of unit variance; constant ones as they are."""
    reference = X if by is None else by
    spread = reference.std(axis=0)
    return (X - reference.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def hedgerow(X: np.ndarray, draws: int | None = None) -> Fit:
    """The default estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = HedgerowClusterer(draws=draws, random_state=0).fit(X)
    K = model.posterior_.n_clusters
    low, high = np.quantile(K, [0.05, 0.95]).astype(int)
    return Fit(model.labels_, f"{model.n_clusters_} ({low} to {high})", model)


def mixture(X: np.ndarray) -> Fit:
    """scikit-learn's variational Dirichlet process mixture."""
    model = BayesianGaussianMixture(
        n_components=min(20, len(X)), weight_concentration_prior_type="dirichlet_process", max_iter=1000, n_init=3, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit_predict(scaled(X))
    return Fit(labels, str(len(np.unique(labels))), model)


def density_based(X: np.ndarray) -> Fit:
    """scikit-learn's HDBSCAN; rows that it calls noise are one more cluster to the adjusted Rand index."""
    labels = HDBSCAN(copy=True).fit_predict(scaled(X))
    return Fit(labels, f"{labels.max() + 1} (noise {np.mean(labels < 0):.0%})", None)


def held_out(X: np.ndarray) -> tuple[float, float]:
    """Mean log density of rows that were left out, over five folds: Hedgerow, scikit-learn's mixture."""
    ours, theirs = [], []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        ours.append(hedgerow(X[train], 100).model.score_samples(X[test]))
        scale = np.log(X[train].std(axis=0)).sum()
        theirs.append(mixture(X[train]).model.score_samples(scaled(X[test], X[train])) - scale)
    return float(np.concatenate(ours).mean()), float(np.concatenate(theirs).mean())


def draw(fits: dict[str, Fit], path: Path) -> None:
    """Densities of the three one-column sets, and faithful with its clusters."""
    from matplotlib.figure import Figure

    from hedgerow.plots import scatter

    figure = Figure(figsize=(9, 5.2))
    axes = figure.subplots(2, 2).ravel()
    figure.subplots_adjust(left=0.07, right=0.99, bottom=0.1, top=0.94, hspace=0.3, wspace=0.18)
    for ax, name in zip(axes, DENSITY, strict=True):
        X, _ = load(name)
        ax.set_title(name, fontsize=10)
        if X.shape[1] == 2:
            scatter(X, fits[name].labels, ax=ax)
            ax.set(xlabel="length of an eruption (minutes)", ylabel="wait for the next")
            continue
        margin = 0.1 * np.ptp(X)
        grid = np.linspace(X.min() - margin, X.max() + margin, 400)
        ax.hist(X[:, 0], bins=40, density=True, color="0.85")
        ax.plot(grid, np.exp(fits[name].model.score_samples(grid[:, None])), color="#2b6a4d")
    figure.savefig(path, dpi=110)


def main(folder: str = str(Path(__file__).parent)) -> None:
    """Fit everything, print the tables, draw the picture."""
    fits: dict[str, Fit] = {}
    print("clusters             Hedgerow (90% of draws)   BayesianGaussianMixture   HDBSCAN")
    rows = []
    for name in (*DENSITY, *CLASSES):
        X, truth = load(name)
        found = (hedgerow(X), mixture(X), density_based(X))
        fits[name] = found[0]
        print(f"{name:10}{len(X):6} × {X.shape[1]:<3}{found[0].clusters:24}  {found[1].clusters:24}  {found[2].clusters}")
        if truth is not None:
            scores = [adjusted_rand_score(truth, fit.labels) for fit in found]
            rows.append(f"{name:21}" + "".join(f"{score:<26.2f}" for score in scores).rstrip())
    print("\nadjusted Rand index against the classes")
    print("\n".join(rows))
    print("\nmean log density of rows left out (five folds)")
    for name in DENSITY:
        ours, theirs = held_out(load(name)[0])
        print(f"{name:21}{ours:<26.3f}{theirs:.3f}")
    path = Path(folder) / "classics.png"
    draw(fits, path)
    print(f"\nwrote {path.name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
