"""Means and spreads of the columns of X, for data-driven defaults that survive degenerate data.

Rules, the same whatever the units and offsets of the columns:

* A column is constant if it varies by no more than rounding (8 units in the last place of its largest entry).
  It has no spread of its own, so the geometric mean of the other columns' standard deviations stands in; 1 if
  every column is constant, as it is with a single row.
* A direction is flat if an eigenvalue of the correlation matrix is below 1e-10: copied columns, columns that
  add up, more columns than rows. Its eigenvalue is replaced by the geometric mean of the others.

Where the data do not vary, the value that stands in multiplies p(X) by the same factor for every partition,
so it tells none from another; the geometric mean keeps the determinant at the size that the other directions
give it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Spread", "column_deviations", "column_means", "column_variances", "spread"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FLAT = 1e-10
ROUNDING = 8 * float(np.finfo(np.float64).eps)


class Spread(NamedTuple):
    """A covariance in pieces that do not overflow: scale[i] * correlation[i, j] * scale[j]."""

    scale: FloatArray
    correlation: FloatArray
    log_determinant: float

    def covariance(self, log_factor: float = 0.0) -> FloatArray:
        """The covariance times exp(log_factor), exactly symmetric."""
        scale = np.exp(np.log(self.scale) + log_factor / 2)
        matrix: FloatArray = self.correlation * np.outer(scale, scale)
        return np.asarray((matrix + matrix.T) / 2)


def column_means(X: FloatArray) -> FloatArray:
    """Mean of the observed entries of each column; 0 for a column with none."""
    seen = ~np.isnan(X)
    first, _ = _constant_columns(X, seen)
    count = np.maximum(seen.sum(axis=0), 1)
    # Means of deviations from one entry: exact for constant columns and at large offsets.
    mean: FloatArray = first + np.where(seen, X - first, 0.0).sum(axis=0) / count
    return mean


def column_variances(X: FloatArray) -> FloatArray:
    """Sample variance (n - 1) of the observed entries of each column; 1 where they do not vary."""
    largest, share = _deviations(X)
    return np.asarray(largest**2 * share)


def column_deviations(X: FloatArray) -> FloatArray:
    """Their roots, also where the variance itself would leave the floats."""
    largest, share = _deviations(X)
    return np.asarray(largest * np.sqrt(share))


def _deviations(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The largest distance from the mean in each column, and the variance as a share of its square; 1 and 1 where nothing varies."""
    seen = ~np.isnan(X)
    _, constant = _constant_columns(X, seen)
    deviation = np.where(seen, X - column_means(X), 0.0)
    largest = np.where(constant, 1.0, np.abs(deviation).max(axis=0))
    count = np.maximum(seen.sum(axis=0) - 1, 1)
    share: FloatArray = ((deviation / largest) ** 2).sum(axis=0) / count
    share[constant] = 1.0
    return largest, share


def spread(X: FloatArray) -> Spread:
    """The sample covariance (n - 1), made positive definite; where entries are missing, a pair of columns is seen where both are."""
    seen = ~np.isnan(X)
    _, constant = _constant_columns(X, seen)
    Z = np.where(seen, X - column_means(X), 0.0)
    # Divided by its largest entry first, so that squares neither overflow nor vanish.
    largest = np.where(constant, 1.0, np.abs(Z).max(axis=0))
    Z = Z / largest
    norm = np.where(constant, 1.0, np.sqrt((Z**2).sum(axis=0)))
    scale = largest * norm / np.sqrt(np.maximum(seen.sum(axis=0) - 1, 1))
    scale[constant] = 1.0 if constant.all() else np.exp(np.log(scale[~constant]).mean())
    Z = np.where(constant, 0.0, Z / norm)
    correlation = Z.T @ Z
    if not seen.all():
        common = (Z**2).T @ seen  # squares of column i in the rows that have column j
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = np.nan_to_num(correlation / np.sqrt(common * common.T))
    np.fill_diagonal(correlation, 1.0)
    eigenvalues, vectors = np.linalg.eigh(correlation)
    flat = eigenvalues < FLAT
    if flat.any():
        eigenvalues[flat] = np.exp(np.log(eigenvalues[~flat]).mean())
        correlation = (vectors * eigenvalues) @ vectors.T
    log_determinant = 2 * np.log(scale).sum() + np.log(eigenvalues).sum()
    return Spread(scale, correlation, float(log_determinant))


def _constant_columns(X: FloatArray, seen: BoolArray) -> tuple[FloatArray, BoolArray]:
    """The first observed entry of each column (0 if none), and which columns do not vary."""
    first = np.where(seen.any(axis=0), X[seen.argmax(axis=0), np.arange(X.shape[1])], 0.0)
    filled = np.where(seen, X, first)
    low, high = filled.min(axis=0), filled.max(axis=0)
    return first, high - low <= ROUNDING * np.maximum(np.abs(low), np.abs(high))
