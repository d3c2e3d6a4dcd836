"""Gaps: how far the default answer moves when one cell in ten is missing at random, and when one row in ten is left out.

Per table and seed the change of the adjusted Rand index against the classes, on all rows where cells are missing, on the rows that are
left where rows are; the latter says how much of it is the table's own doubt, since whole rows need nothing filled in. Beside
it P: the share of draws in which classes that the answer to the complete table tells apart are told apart still (an index within
0.1 of that answer's), for the complete table and each of the others. Made tables have bell curves of known truth.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from benchmarks.everyday import tables as everyday

TABLES = ("iris", "wine", "penguins", "breast_cancer")
SHARE, SEEDS, NEAR, LOOKED_AT = 0.1, 5, 0.1, 200


def made(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two to five bell curves in two to six columns of unlike units, near each other."""
    rng = np.random.default_rng([seed, 77])
    k, d, n = int(rng.integers(2, 6)), int(rng.integers(2, 7)), int(rng.integers(120, 400))
    y = rng.choice(k, n, p=rng.dirichlet(np.full(k, 4.0)))
    centres = 2.5 * rng.standard_normal((k, d))
    turns = rng.standard_normal((k, d, d)) / np.sqrt(d) + np.eye(d) / 2
    X = centres[y] + np.einsum("nij,nj->ni", turns[y], rng.standard_normal((n, d)))
    return X * 10.0 ** rng.integers(-3, 4, d), y


def tables() -> dict[str, Callable[[], Any]]:
    """Those that come by name, and made ones."""
    known = everyday()
    found: dict[str, Callable[[], Any]] = {name: known[name] for name in TABLES if name in known}
    for seed in range(6):
        found[f"made{seed}"] = lambda seed=seed: made(seed)
    return found


def with_gaps(X: Any, rng: np.random.Generator) -> Any:
    """One cell in ten missing."""
    gone = rng.random(X.shape) < SHARE
    return X.mask(gone) if isinstance(X, pd.DataFrame) else np.where(gone, np.nan, X)


def some(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a table."""
    return X.iloc[rows].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[rows]


def answer(X: Any, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The index of the default answer, and of some of the draws."""
    fit = hr.HedgerowClusterer(random_state=0).fit(X)
    draws = fit.posterior_.labels.reshape(-1, len(y))
    step = max(1, len(draws) // LOOKED_AT)
    return adjusted_rand_score(y, fit.labels_), np.array([adjusted_rand_score(y, one) for one in draws[::step]])


def main(names: list[str] | None = None) -> None:
    """Two lines a table."""
    warnings.simplefilter("ignore")
    known = tables()
    for name in names or known:
        X, y = known[name]()
        whole, draws = answer(X, y)
        least = whole - NEAR
        print(f"{name}: index {whole:.2f}, P {(draws > least).mean():.2f}", flush=True)
        gaps, rows = [], []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            gaps.append(answer(with_gaps(X, rng), y))
            left = np.sort(rng.permutation(len(y))[: round((1 - SHARE) * len(y))])
            rows.append(answer(some(X, left), y[left]))
        for what, found in (("cells missing", gaps), ("rows left out", rows)):
            moved = [index - whole for index, _ in found]
            shares = " ".join(f"{(draws > least).mean():5.2f}" for _, draws in found)
            told = " ".join(f"{change:+5.2f}" for change in moved)
            print(f"  {what}  {told}   largest {np.abs(moved).max():.2f}, mean {np.mean(moved):+.2f}   P {shares}", flush=True)
