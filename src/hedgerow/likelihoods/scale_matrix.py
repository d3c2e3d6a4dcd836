"""The scale matrix of a Gaussian-Wishart law: as it is given, and what rounding would leave of it beside the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.hyperparameters import as_float_array, as_number

__all__ = ["as_scale_matrix", "full_matrix", "lost_by_rounding", "lower_factor"]

#: How far from the mean a row may lie, in standard deviations of psi: psi would be lost in the scatter of rows beyond.
FURTHEST = 1e5
#: Nats that rounding may cost log p(X) of up to MANY_ROWS rows; of more, as much more as it costs by itself, n^(3/2).
MOST_LOST, MANY_ROWS = 1e-6, 1000


def full_matrix(psi: Any, d: int) -> FloatArray:
    """psi as a matrix; a number stands for that multiple of the identity."""
    return np.asarray(psi if isinstance(psi, np.ndarray) else psi * np.eye(d), dtype=np.float64)


def as_scale_matrix(owner: str, name: str, psi: npt.ArrayLike) -> float | FloatArray:
    """A positive number, or a read-only, exactly symmetric, positive definite matrix."""
    if np.ndim(psi) == 0:
        return as_number(owner, name, psi, 0, square=True)
    matrix = as_float_array(owner, name, psi)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and len(matrix) > 0
    require(square, owner, name, psi, "be a number or a square matrix")
    require(bool((np.abs(matrix) <= 1e250).all()), owner, name, psi, "be finite, and at most 1e+250 in magnitude")
    # Both tests on the scale of correlations, so that columns in unlike units are judged alike.
    scale = np.sqrt(np.maximum(np.diag(matrix), 0))
    require(bool((scale > 0).all()), owner, name, psi, "be positive definite (its diagonal is not positive)")
    correlation = matrix / scale / scale[:, None]
    symmetric = bool((np.abs(correlation - correlation.T) <= 1e-8).all())
    require(symmetric, owner, name, psi, "be symmetric")
    smallest = float(np.linalg.eigvalsh((correlation + correlation.T) / 2)[0])
    require(smallest > 1e-14, owner, name, psi, "be positive definite")
    return as_float_array(owner, name, (matrix + matrix.T) / 2)


def lower_factor(matrix: FloatArray) -> FloatArray:
    """The lower Cholesky factor."""
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)


def lost_by_rounding(data: FloatArray, mean: FloatArray, r: float, nu: float, psi: FloatArray) -> str | None:
    """What psi would have to be for sums of squares to keep their digits; None if it is that already.

    A pivot of the Cholesky factorisation of psi_n is a difference that starts at the diagonal entry, so it has lost the unit
    roundoff times their ratio, and that sqrt(n) times, since the sums round at every row (half of this bounds what was
    measured). All rows in one cluster are the worst case that can be looked at beforehand.
    """
    n, d = data.shape
    if d == 1 or n == 0:  # one number loses nothing to the other directions
        return None
    data = np.where(np.isnan(data), mean, data)
    roundoff = float(np.finfo(np.float64).eps) * max(1.0, np.sqrt(n) / 2)
    allowed = MOST_LOST * max(1.0, n / MANY_ROWS) ** 1.5
    scale = np.sqrt(np.diag(psi))
    # One corner of the box round all rows is far cheaper to look at, and nearly always near enough.
    corner = np.maximum(data.max(axis=0) - mean, mean - data.min(axis=0)) / scale
    least = float(np.linalg.eigvalsh(psi / np.outer(scale, scale))[0])
    with np.errstate(over="ignore"):
        furthest = float((corner**2).sum()) / least
        if furthest <= FURTHEST**2 and roundoff * (nu + n) * (1 + n * furthest) <= allowed:
            return None
        Y = np.linalg.solve(lower_factor(psi), (data - mean).T)
        away = np.sqrt((Y**2).sum(axis=0))
    row = int(np.argmax(away))
    if not away[row] <= FURTHEST:
        return (
            f"reach the rows of X: row {row} lies {away[row]:.1e} of its standard deviations from mean, and beyond "
            f"{FURTHEST:.0e} rounding would lose psi"
        )
    offset = Y.mean(axis=1)
    scatter = (Y - offset[:, None]) @ (Y - offset[:, None]).T + r * n / (r + n) * np.outer(offset, offset) + np.eye(d)
    ratio = float((np.diag(scatter) / np.diag(lower_factor(scatter)) ** 2).max())
    lost = roundoff * (nu + n) * ratio
    if lost <= allowed:
        return None
    return (
        f"be wider where the rows of X are thin: they are {np.sqrt(ratio):.1e} times as wide along another direction, and "
        f"rounding would cost {lost:.0e} nats"
    )
