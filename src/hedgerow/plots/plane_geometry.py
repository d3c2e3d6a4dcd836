"""From data to points in the plane: two columns, or two principal components and axes that say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds

from hedgerow.arguments import check_names, numbers_of
from hedgerow.errors import require

__all__ = ["Plane", "as_columns", "plane"]


@dataclass(frozen=True)
class Plane:
    """Points (n, 2), the names of both axes, and a sentence if the points are a projection ("" if not).

    Attributes
    ----------
    points : (n, 2)
    axes : (str, str)
    note : str

    >>> plane([[0.0, 1.0], [2.0, 3.0]], ["height", "weight"]).axes
    ('height', 'weight')
    """

    points: NDArray[np.float64]
    axes: tuple[str, str]
    note: str


def plane(X: Any, names: Sequence[str] | None = None) -> Plane:
    """Data (n, d) as points in the plane.

    d = 2: the two columns. d = 1: the column, spread upwards by a fixed low-discrepancy jitter. d > 2: the
    first two principal components of the standardised columns; missing entries count as the column's mean.
    Sparse counts: components of the square roots of the row shares (Hellinger), so that long documents do
    not stand apart.

    Parameters
    ----------
    X : (n, d) numbers or sparse counts
    names : sequence of str, optional
        Of the columns.

    Returns
    -------
    Plane

    >>> plane([[0.0, 1.0, 2.0], [2.0, 3.0, 5.0]]).points.shape
    (2, 2)
    """
    if sparse.issparse(X):
        return _count_components(sparse.csr_array(X))
    X, columns = as_columns("plane", X, names)
    n, d = X.shape
    if d == 1:
        jitter = np.modf((np.arange(n) + 0.5) * 0.6180339887498949)[0]
        return Plane(
            np.column_stack([X[:, 0], jitter]),
            (columns[0], ""),
            "The vertical position only spreads the points.",
        )
    if d == 2:
        return Plane(X, (columns[0], columns[1]), "")
    center = np.nanmean(X, axis=0)
    spread = np.nanstd(X, axis=0)
    Z = np.where(np.isnan(X), 0.0, (X - center) / np.where(spread > 0, spread, 1.0))
    _, values, directions = np.linalg.svd(Z, full_matrices=False)
    directions = _fix_signs(directions[:2])
    found = _labelled(Z @ directions.T, values[:2] ** 2 / max(float((values**2).sum()), 1e-300), f"{d} columns")
    return found if not np.isnan(X).any() else replace(found, note=f"{found.note} Missing entries stand at their column's mean.")


def as_columns(owner: str, X: Any, names: Sequence[str] | None) -> tuple[NDArray[np.float64], list[str]]:
    """Dense data (n, d) as float64 with a name for each column."""
    X = numbers_of("plane", "X", X)
    X = X[:, None] if X.ndim == 1 else X
    require(X.ndim == 2 and X.shape[1] > 0, owner, "X", X, "have shape (n, d), d >= 1")
    check_names(owner, "names", names, X.shape[1], "columns")
    columns = [f"column {j + 1}" for j in range(X.shape[1])] if names is None else [str(name) for name in names]
    return X, columns


def _count_components(counts: Any) -> Plane:
    """Hellinger components of sparse counts, centred without making them dense."""
    n, d = counts.shape
    require(min(n, d) >= 3, "plane", "X", counts, "have at least 3 rows and columns when sparse")
    totals = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1.0)
    roots = sparse.csr_array(sparse.diags_array(1.0 / totals) @ counts)
    roots.data = np.sqrt(roots.data)
    mean = np.asarray(roots.mean(axis=0)).ravel()
    centred = LinearOperator(
        (n, d),
        matvec=lambda v: roots @ np.ravel(v) - float(mean @ np.ravel(v)),
        rmatvec=lambda w: roots.T @ np.ravel(w) - mean * float(np.sum(w)),
        dtype=np.float64,
    )
    start = np.full(min(n, d), 1.0) + np.arange(min(n, d)) / min(n, d)  # fixed, so that pictures repeat
    _, values, directions = svds(centred, k=2, v0=start)
    directions = _fix_signs(directions[np.argsort(-values)])
    total = float((roots.data**2).sum() - n * (mean @ mean))
    return _labelled(roots @ directions.T - mean @ directions.T, np.sort(values)[::-1] ** 2 / total, f"{d:,} words")


def _fix_signs(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest entry positive: a singular vector's sign is otherwise arbitrary."""
    largest = np.argmax(np.abs(directions), axis=1)
    return np.asarray(directions * np.sign(directions[np.arange(len(directions)), largest])[:, None])


def _labelled(points: NDArray[np.float64], share: NDArray[np.float64], what: str) -> Plane:
    names = tuple(f"principal component {i + 1} ({100 * float(share[i]):.0f}%)" for i in range(2))
    note = f"The first two principal components of {what}: {100 * float(share.sum()):.0f}% of the variance."
    return Plane(np.asarray(points), (names[0], names[1]), note)
