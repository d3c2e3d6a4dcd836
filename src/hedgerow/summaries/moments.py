"""Moments: what the columns of each cluster add up to, from all rows at once or from parts of them put together.

Counts, means and sums of squared deviations of parts are joined as Chan, Golub & LeVeque (1983) do: nothing cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

__all__ = ["CountMoments", "Moments", "falling", "moments_of"]

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-13
"""Of a mean: a standard deviation below that is none."""


def falling(scores: Array) -> npt.NDArray[np.intp]:
    """The order from the largest down, the first of equals first: equal to nine decimals, however a mean was added up."""
    return np.argsort(-np.round(scores, 9), kind="stable")


@dataclass(frozen=True, eq=False)
class Moments:
    """Of dense rows: per cluster the rows; per cluster and column entries that are there, their mean and squared deviations from it.

    Attributes
    ----------
    sizes : (K,)
    count, mean, m2 : (K, columns)
    """

    sizes: npt.NDArray[np.int64]
    count: Array
    mean: Array
    m2: Array

    @classmethod
    def of(cls, X: Array, own: npt.NDArray[Any], k: int) -> Moments:
        """Those of rows (n, d), NaN where missing, in clusters 0, ..., k - 1."""
        shape = k, X.shape[1]
        count, mean, m2 = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        order = np.argsort(own, kind="stable")
        ends = np.cumsum(np.bincount(own, minlength=k))
        for c in range(k):
            rows = X[order[(ends[c - 1] if c else 0) : ends[c]]]
            seen = ~np.isnan(rows)
            count[c] = seen.sum(axis=0)
            mean[c] = np.where(seen, rows, 0.0).sum(axis=0) / np.maximum(count[c], 1)
            m2[c] = (np.where(seen, rows - mean[c], 0.0) ** 2).sum(axis=0)
        return cls(np.bincount(own, minlength=k), count, mean, m2)

    @classmethod
    def join(cls, parts: Sequence[Moments]) -> Moments:
        """Those of all parts together."""
        count = sum(part.count for part in parts)
        mean = sum(part.count * part.mean for part in parts) / np.maximum(count, 1)
        m2 = sum(part.m2 + part.count * (part.mean - mean) ** 2 for part in parts)
        return cls(sum(part.sizes for part in parts), count, mean, m2)  # type: ignore[arg-type]

    def whole(self) -> tuple[Array, Array, Array]:
        """Count, mean and squared deviations of all rows, by column; these are 0 where there is nothing but rounding."""
        count = self.count.sum(axis=0)
        mean = (self.count * self.mean).sum(axis=0) / np.maximum(count, 1)
        m2 = (self.m2 + self.count * (self.mean - mean) ** 2).sum(axis=0)
        return count, mean, np.where(m2 > count * (_ROUNDING * mean) ** 2, m2, 0.0)

    def are_shares(self) -> npt.NDArray[np.bool_]:
        """Which columns hold zeros and ones alone, both of them: x^2 adds up to what x does. Their means are shares."""
        count, mean, m2 = self.whole()
        all_of = mean * (1.0 - mean)
        return (m2 > 0) & (count * mean > 0.5) & (np.abs(m2 / np.maximum(count, 1) - all_of) <= 1e-9 * np.abs(all_of))

    def shown(self) -> tuple[Array, Array]:
        """Means and standard deviations, NaN where nothing is there."""
        there = self.count > 0
        spread = np.sqrt(self.m2 / np.maximum(self.count, 1))
        return np.where(there, self.mean, np.nan), np.where(there, spread, np.nan)


@dataclass(frozen=True, eq=False)
class CountMoments:
    """Of sparse counts: moments of the row totals; sums of counts, of shares within the row, and of squares of these.

    Attributes
    ----------
    totals : Moments
        Of one column.
    counts, shares, squares : (K, columns)
    """

    totals: Moments
    counts: Array
    shares: Array
    squares: Array

    @classmethod
    def of(cls, X: csr_array, own: npt.NDArray[Any], k: int) -> CountMoments:
        """Those of rows in clusters 0, ..., k - 1."""
        n = X.shape[0]
        totals = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        member = csr_array((np.ones(n), (own, np.arange(n))), shape=(k, n))
        shares = csr_array(X.astype(np.float64).multiply(1.0 / np.maximum(totals, 1.0)[:, None]))
        sums = [np.asarray((member @ part).todense(), dtype=np.float64) for part in (X, shares, shares.power(2))]
        return cls(Moments.of(totals[:, None], own, k), *sums)

    @classmethod
    def join(cls, parts: Sequence[CountMoments]) -> CountMoments:
        """Those of all parts together."""
        sums = [sum(getattr(part, name) for part in parts) for name in ("counts", "shares", "squares")]
        return cls(Moments.join([part.totals for part in parts]), *sums)


def moments_of(X: Any, own: npt.NDArray[Any], k: int) -> Moments | CountMoments:
    """Moments of dense rows or of sparse counts."""
    if issparse(X):
        return CountMoments.of(csr_array(X), own, k)
    return Moments.of(np.asarray(X, dtype=np.float64), own, k)
