"""Base measures fitted to data whatever their units: what Gaussian likelihoods fill in where a hyper-parameter is left out.

The expected covariance of a cluster is a share c of the columns' variances, and c with the degrees of freedom are those under which a
tree built on the rows has the highest log joint, over a small grid (empirical Bayes, within a second or two). Changing the unit of
a column changes nothing. For full covariances missing entries are filled in once before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.likelihoods.moments import column_means, column_variances, spread

__all__ = ["fit_diagonal", "fit_wishart", "some_rows", "tree_score", "without_gaps"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

FEW_COLUMNS = 20  # up to which the whole grid is looked at
TRIED_ROWS, TRIED_ENTRIES = 1_000, 32_000  # of each, at most, are looked at in a search
SHARES = (0.03, 0.06, 0.12, 0.25, 0.5, 0.75, 1.0)
FREEDOMS = (2.0, 4.0, 6.0, 12.0, 24.0)  # beyond the number of columns
FIRST_SHARE, FIRST_FREEDOM = 0.25, 6.0
DIAGONAL_SHARES = (0.1, 0.25, 0.5)
PASSES = 2


def some_rows(n: int, d: int) -> IntArray:
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
    word = int(np.random.SeedSequence(0).generate_state(1, np.uint64)[0])
    prior = _core.Prior("dp", {"alpha": 1.0, "sigma": 0.0, "tau": 1.0}, {})
    builder = _core.TreeBuilder(bound, prior, None, None, None, word, 0)
    builder.ibhc("reinsert", "seq", True, None, False, False)
    best = float(builder.log_joint())
    for _ in range(PASSES - 1):
        builder.resample(False, False)
        builder.revise("reinsert", False)
        best = max(best, float(builder.log_joint()))
    return best


def fit_wishart(
    X: FloatArray, nu: float | None, bind: Callable[[FloatArray, float, FloatArray], _core.Likelihood]
) -> tuple[float, FloatArray]:
    """Degrees of freedom, unless given, and psi: each at its best given the other, in turn, until neither moves.

    `bind` puts rows under a base measure with these two.
    """
    n, d = X.shape
    rows, scale = without_gaps(X[some_rows(n, d)]), spread(X).scale
    freedoms = FREEDOMS if nu is None else (nu - d,)

    def measure(share: float, more: float) -> tuple[float, FloatArray]:
        return d + more, np.diag(share * _less_one(more) * scale**2)

    @cache
    def score(share: float, more: float) -> float:
        return tree_score(bind(rows, *measure(share, more)))

    best, more = FIRST_SHARE, FIRST_FREEDOM if nu is None else freedoms[0]
    if n > 2:
        for _ in range(3):
            before = (best, more)
            best = _best(SHARES, best, partial(score, more=more), d)
            more = _best(freedoms, more, partial(score, best), d)
            if (best, more) == before:
                break
    return measure(best, more)


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
