"""Defaults for people who bring data and no opinion: a likelihood that fits the columns, whatever their units.

The base measure of NIPS 2015 fixes the determinant of its psi: on columns far from unit variance, or on more than a few of
them, that asks for clusters far too small. Here the expected covariance of a cluster is a share c of the columns' variances,
and c with the degrees of freedom are those under which a tree built on the rows has the highest log joint, over a small
grid (empirical Bayes, within a second or two). Changing the unit of a column changes nothing. Adjusted Rand index against
the known classes:

    iris  0.90 (0.56 by the rule of NIPS 2015)      wine  0.86 (0.01)      digits  0.46 (0.45, columns apart)

On iris two and three clusters are nearly as good by expected loss, and a short run may end with either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.data.tables import all_numbers
from hedgerow.data.views import as_counts, as_dense
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Likelihood, Multinomial, likelihood_for
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.moments import column_means, column_variances, spread
from hedgerow.mixture import Mixture
from hedgerow.priors import DP, Gamma, Prior
from hedgerow.trees import ibhc

__all__ = ["default_draws", "default_likelihood", "default_prior", "settle"]

MOST_CORRELATED = 20  # columns; beyond that, and with few rows for each, columns are taken apart
ROWS_PER_COLUMN = 5
TRIED_ROWS, TRIED_ENTRIES = 1_000, 32_000  # of each, at most, are looked at in a search
LEAST_DRAWS, MOST_DRAWS, MANY_ENTRIES = 250, 2_000, 7_500
SHARES = (0.03, 0.06, 0.12, 0.25, 0.5, 0.75, 1.0)
FREEDOMS = (2.0, 4.0, 6.0, 12.0, 24.0)  # beyond the number of columns
DIAGONAL_SHARES = (0.1, 0.25, 0.5)
DIAGONAL_SHAPE = 3.5


def default_prior() -> Prior:
    """A Dirichlet process whose concentration is sampled."""
    return DP(alpha=Gamma(1.0, 1.0))


def default_draws(X: Any) -> int:
    """Draws of a chain: many where they are cheap, since a chain of 250 may see one mode of a doubtful posterior only."""
    entries = X.nnz if sparse.issparse(X) else int(np.prod(X.shape if hasattr(X, "shape") else np.shape(X)))
    return int(min(MOST_DRAWS, max(LEAST_DRAWS, MOST_DRAWS * MANY_ENTRIES // max(entries, 1))))


def default_likelihood(X: Any, owner: str) -> Likelihood:
    """A likelihood for X: Gaussian for numbers, multinomial for sparse counts, a product for frames with other columns."""
    if sparse.issparse(X):
        try:
            as_counts(X, owner)
        except ParameterError as error:
            raise ParameterError(f"{error} Sparse X is taken for counts: give X.toarray() if it is not.") from error
        return Multinomial()
    if all_numbers(X):
        return settle(_gaussian(as_dense(X, owner, missing=True)), X, owner)
    return settle(likelihood_for(X).likelihood, X, owner)


def settle(likelihood: Likelihood, X: Any, owner: str) -> Likelihood:
    """The same likelihood with the base measure of its open Gaussian parts fitted to X; other parts stay open.

    Open means that every hyper-parameter is left out: one that was given is part of a choice that is not ours to complete.
    """

    def fitted(part: Likelihood, columns: Any) -> Likelihood:
        if part == GaussianWishart():
            return _Search(as_dense(columns, owner, missing=True)).wishart()
        if part == GaussianDiagonal():
            return _Search(as_dense(columns, owner, missing=True)).diagonal()
        return part

    return likelihood.map_factors(X, fitted)


def _gaussian(data: FloatArray) -> Likelihood:
    n, d = data.shape
    if np.isnan(data).any() or d > MOST_CORRELATED or n < ROWS_PER_COLUMN * d:
        return GaussianDiagonal()
    return GaussianWishart()


@dataclass(frozen=True)
class _Search:
    """The base measures tried on some rows of the data."""

    X: FloatArray

    def wishart(self) -> GaussianWishart:
        """Share and degrees of freedom in turn, each at its best given the other, until neither moves."""
        tried: dict[tuple[float, float], float] = {}

        def score(c: float, more: float) -> float:
            if (c, more) not in tried:
                tried[c, more] = self._score(self._wishart(c, more))
            return tried[c, more]

        share, freedom = 0.25, 6.0
        if len(self.X) > 2:
            for _ in range(3):
                before = (share, freedom)
                share = self._best(SHARES, share, partial(score, more=freedom))
                freedom = self._best(FREEDOMS, freedom, partial(score, share))
                if (share, freedom) == before:
                    break
        return self._wishart(share, freedom)

    def diagonal(self) -> GaussianDiagonal:
        """The best share; the shape is that of the NIPS 2015 base measure."""
        if len(self.X) <= 2:
            return self._diagonal(0.25)
        return self._diagonal(max(DIAGONAL_SHARES, key=lambda c: self._score(self._diagonal(c))))

    def _best(self, values: tuple[float, ...], start: float, score: Callable[[float], float]) -> float:
        """The value of highest score; with many columns, where each score takes long, the first hilltop from `start`."""
        if self.X.shape[1] <= MOST_CORRELATED:
            return max(values, key=score)
        at = values.index(start)
        for step in (1, -1):
            while 0 <= at + step < len(values) and score(values[at + step]) > score(values[at]):
                at += step
        return values[at]

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray]:
        return column_means(self.X), spread(self.X).scale

    def _wishart(self, share: float, more: float) -> GaussianWishart:
        mean, scale = self._columns
        psi = np.diag(share * (more - 1.0) * scale**2)
        return GaussianWishart(mean=mean, r=0.1, nu=len(mean) + more, psi=psi)

    def _diagonal(self, share: float) -> GaussianDiagonal:
        scale = share * (DIAGONAL_SHAPE - 1.0) * column_variances(self.X)
        return GaussianDiagonal(mean=column_means(self.X), r=0.1, a=DIAGONAL_SHAPE, b=scale)

    def _score(self, likelihood: Likelihood) -> float:
        """Log joint of the better of two forests built row by row."""
        rows = self.X
        few = min(TRIED_ROWS, max(2, TRIED_ENTRIES // rows.shape[1]))
        if len(rows) > few:
            rows = rows[np.sort(np.random.default_rng(0).choice(len(rows), few, replace=False))]
        return ibhc(Mixture(DP(1.0), likelihood.resolve(self.X)), rows, passes=2, seed=0).log_joint
