"""Base measures fitted to data whatever their units: what Gaussian likelihoods fill in where a hyper-parameter is left out.

The expected covariance of a cluster is a share c of the columns' variances, and c with the degrees of freedom are those under which a
tree built on the rows has the highest log joint, over a small grid (empirical Bayes, within a second or two). Changing the unit of
a column changes nothing. For full covariances missing entries are filled in once before.

A thousand rows of a table of five thousand clusters are a thousand rows alone, and what is fitted to them knows of no clusters. Rows of
one region keep their neighbours. Where those show so many clusters that the sample has fewer than four rows of each, c, the degrees of
freedom and r are fitted to the region as well, and kept if a tree over the whole table has the higher log joint under them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import core_seed
from hedgerow.data.nearness import region
from hedgerow.likelihoods.moments import column_means, column_variances, spread

__all__ = ["best_forest", "fit_diagonal", "fit_wishart", "some_rows", "tree_score", "without_gaps"]

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

FEW_COLUMNS = 20  # up to which the whole grid is looked at
TRIED_ROWS, TRIED_ENTRIES = 1_000, 32_000  # of each, at most, are looked at in a search
SHARES = (0.03, 0.06, 0.12, 0.25, 0.5, 0.75, 1.0)
FREEDOMS = (2.0, 4.0, 6.0, 12.0, 24.0)  # beyond the number of columns
FIRST_SHARE, FIRST_FREEDOM = 0.25, 6.0
DIAGONAL_SHARES = (0.1, 0.25, 0.5)
PASSES = 2

FIRST_R = 0.1
FEW_OF_EACH = 4  # rows of the sample to a cluster, from which it shows clusters well enough
JUDGED_ROWS = 50_000
RATIOS = (0.1, 0.03, 0.01, 0.003, 0.001)  # variances of rows within a cluster over those of centres: r
FINE_SHARES = (0.0005, 0.001, 0.002, 0.004, 0.0075, 0.015, 0.03, 0.06, 0.12)
PROBES = ((0.03, 0.03), (0.01, 0.0075), (0.003, 0.002))  # r and share that a region of very many clusters is looked at under


class Base(NamedTuple):
    """A base measure of Gaussian clusters in units of the columns' variances."""

    r: float
    share: float
    more: float
    """Degrees of freedom beyond the number of columns."""


def some_rows(n: int, d: int) -> IndexArray:
    """The rows that are looked at, in order: all of them, or some by chance, always the same."""
    few = min(TRIED_ROWS, max(2, TRIED_ENTRIES // max(d, 1)))
    return np.arange(n) if n <= few else np.sort(np.random.default_rng(0).choice(n, few, replace=False))


def without_gaps(X: FloatArray) -> FloatArray:
    """Missing entries drawn once from what one bell curve over all rows says of them, so that every base measure sees the same rows."""
    gaps = np.isnan(X)
    if not gaps.any():
        return X
    rng = np.random.default_rng(0)
    mean, whole = column_means(X), spread(X)
    Z = (X - mean) / whole.scale
    for i in np.flatnonzero(gaps.any(axis=1)):
        gone, seen = gaps[i], ~gaps[i]
        pull = np.linalg.solve(whole.correlation[np.ix_(seen, seen)], whole.correlation[np.ix_(seen, gone)])
        left = whole.correlation[np.ix_(gone, gone)] - whole.correlation[np.ix_(gone, seen)] @ pull
        values, vectors = np.linalg.eigh(left)
        Z[i, gone] = Z[i, seen] @ pull + vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(len(values)))
    return np.where(gaps, Z * whole.scale + mean, X)


def tree_score(bound: _core.Likelihood) -> float:
    """Log joint of the better of two forests built row by row, under a Dirichlet process of concentration 1."""
    return best_forest(bound)[0]


def best_forest(bound: _core.Likelihood, passes: int = PASSES) -> tuple[float, int]:
    """The log joint of the best of so many forests, and the clusters of the last."""
    word = core_seed(0)
    prior = _core.Prior("dp", {"alpha": 1.0, "sigma": 0.0, "tau": 1.0}, {})
    builder = _core.TreeBuilder(bound, prior, None, None, None, word, 0)
    builder.ibhc("reinsert", "seq", True, None, False, False)
    best = float(builder.log_joint())
    for _ in range(passes - 1):
        builder.resample(False, False)
        builder.revise("reinsert", False)
        best = max(best, float(builder.log_joint()))
    return best, builder.n_roots


def fit_wishart(
    X: FloatArray, r: float | None, nu: float | None, bind: Callable[[FloatArray, float, float, FloatArray], _core.Likelihood]
) -> tuple[float, float, FloatArray]:
    """r and degrees of freedom, unless given, and psi: each at its best given the others, in turn, until none moves.

    `bind` puts rows under a base measure with these three.
    """
    n, d = X.shape
    rows, scale = without_gaps(X[some_rows(n, d)]), spread(X).scale
    freedoms = FREEDOMS if nu is None else (nu - d,)

    def measure(base: Base) -> tuple[float, float, FloatArray]:
        return base.r, d + base.more, np.diag(base.share * _less_one(base.more) * scale**2)

    def score(some: FloatArray, base: Base, passes: int = PASSES) -> tuple[float, int]:
        return best_forest(bind(some, *measure(base)), passes)

    base = Base(FIRST_R if r is None else r, FIRST_SHARE, FIRST_FREEDOM if nu is None else freedoms[0])
    if n > 2:
        base = _climbed(base, d, lambda base: score(rows, base)[0], share=SHARES, more=freedoms)
        grids: dict[str, tuple[float, ...]] = {"share": FINE_SHARES, "more": freedoms}
        grids |= {"r": RATIOS} if r is None else {}
        base = _of_a_crowd(X, scale, base, score, grids)
    return measure(base)


def _climbed(base: Base, d: int, score: Callable[[Base], float], **grids: tuple[float, ...]) -> Base:
    """The numbers of a base measure, each at its best given the others, in turn, until none moves."""
    known = cache(score)
    for _ in range(3):
        before = base
        for name, values in grids.items():
            base = base._replace(**{name: _best(values, getattr(base, name), partial(_with, known, base, name), d)})
        if base == before:
            break
    return base


def _with(score: Callable[[Base], float], base: Base, name: str, value: float) -> float:
    return score(base._replace(**{name: value}))


# ------------------------------------------------------------------------------------------------ very many clusters


def _of_a_crowd(
    X: FloatArray, scale: FloatArray, base: Base, score: Callable[..., tuple[float, int]], grids: dict[str, tuple[float, ...]]
) -> Base:
    """The base measure, or another where clusters are so many that a sample of rows does not show them."""
    if np.isnan(X).any():
        X = X[~np.isnan(X).any(axis=1)]
    n, d = X.shape
    few = len(some_rows(n, d))
    if n <= 2 * few:
        return base
    near = X[region(X, scale, few)]

    def crowded(clusters: int, rows: int) -> bool:
        return bool(clusters * (n / rows) * FEW_OF_EACH > few)

    probes = [base._replace(share=share, **({"r": r} if "r" in grids else {})) for r, share in PROBES]
    found = [score(near, probe) for probe in probes]
    top = max(range(len(probes)), key=lambda i: found[i][0])
    if not crowded(found[top][1], few) or found[top][0] < score(near, base)[0]:
        return base
    fine = _climbed(probes[top], d, lambda base: score(near, base)[0], **grids)
    judges = X[region(X, scale, JUDGED_ROWS)]
    height, clusters = score(judges, fine, 1)
    better = crowded(clusters, len(judges)) and height > score(judges, base, 1)[0]
    return fine if better else base


def fit_diagonal(X: FloatArray, a: FloatArray, bind: Callable[[FloatArray, FloatArray], _core.Likelihood]) -> FloatArray:
    """The rates of the columns' precisions, given their shapes."""
    variances = column_variances(X)
    if len(X) <= 2:
        return np.asarray(FIRST_SHARE * _less_one(a) * variances)
    rows = X[some_rows(*X.shape)]
    best = max(DIAGONAL_SHARES, key=lambda share: tree_score(bind(rows, share * _less_one(a) * variances)))
    return np.asarray(best * _less_one(a) * variances)


def _less_one(freedom: float | FloatArray) -> float | FloatArray:
    """What turns a mean variance into the parameter of its law; where that has no mean, half the freedom."""
    return np.maximum(freedom - 1.0, freedom / 2)


def _best(values: tuple[float, ...], start: float, score: Callable[[float], float], d: int) -> float:
    """The value of highest score; with many columns, where each score takes long, the first hilltop from `start`."""
    if d <= FEW_COLUMNS:
        return max(values, key=score)
    at = values.index(start)
    for step in (1, -1):
        while 0 <= at + step < len(values) and score(values[at + step]) > score(values[at]):
            at += step
    return values[at]
