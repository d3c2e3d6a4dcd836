"""Clusters of yes-or-no columns, entries may be missing: Bernoulli law, beta base measure.

Column by column, with theta the probability of a 1 in a cluster,

    L(x | theta) = theta^x (1 - theta)^(1 - x)         and 1 where x is missing (NaN)
    H(theta)     = Beta(theta | a, b)

so that theta has mean a / (a + b). With n1 ones and n0 zeros observed in a cluster,

    p(x) = B(a + n1, b + n0) / B(a, b)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.mixed import refuse_entries
from hedgerow.data.views import as_dense, as_labels
from hedgerow.likelihoods.base import FloatArray, has_rows
from hedgerow.likelihoods.columns import IndependentColumns
from hedgerow.likelihoods.draws import log_gamma_draw
from hedgerow.likelihoods.hyperparameters import spread_out
from hedgerow.reference import likelihoods as reference

__all__ = ["Bernoulli", "BernoulliParameters"]

OWNER = "Bernoulli"


class BernoulliParameters(NamedTuple):
    """Logs of the probabilities of a 1 and of a 0 for every column in one cluster, both (d,).

    Attributes
    ----------
    log_one, log_zero : (d,)

    >>> likelihood = Bernoulli(a=1.0, b=1.0).resolve([[0], [1]])
    >>> theta = likelihood.sample_posterior([[1]], np.random.default_rng(0))
    >>> bool(np.isclose(np.exp(theta.log_one) + np.exp(theta.log_zero), 1.0))
    True
    """

    log_one: FloatArray
    log_zero: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(IndependentColumns):
    """Clusters of columns that hold 0 or 1 (False or True), independent of each other.

    NaN or None marks an entry that was not observed; it says nothing. Both parameters are a number for all
    columns or a vector with one entry per column.

    Parameters
    ----------
    a : above 0, default the share of ones in the column
        The weight of a 1 in the beta law.
    b : above 0, default the share of zeros in the column
        The weight of a 0.

    By default a cluster is expected to be like the whole column, and one observation outweighs that: a + b = 1.
    Shares are (ones + 1/2) / (observed + 1), so that neither is 0; a balanced column gets a = b = 1/2, which is
    Jeffreys' choice. A column that hardly varies then hardly tells one partition from another, whereas with
    a = b = 1/2 every further cluster would have to pay for it.

    >>> Bernoulli().resolve([[0, True], [0, True], [0, None], [1, False]])
    Bernoulli(a=[0.3 , 0.625], b=[0.7 , 0.375])
    """

    a: npt.ArrayLike | None = None
    b: npt.ArrayLike | None = None

    _twin = staticmethod(reference.bernoulli_log_marginal)

    @classmethod
    def example(cls) -> tuple[Bernoulli, Any]:
        """Three columns with gaps."""
        nan = np.nan
        rows = np.array([[1, 0, 1], [1, 1, nan], [0, 0, 0], [0, nan, 1], [0, 1, 0], [1, 0, 1]])
        return cls([0.6, 1.5, 0.4], [0.9, 0.5, 0.4]), rows

    def check(self, X: Any) -> FloatArray:
        """X as a float64 matrix of 0, 1 and NaN."""
        data = as_dense(X, OWNER, missing=True, columns=self.n_columns)
        fine = (data == 0) | (data == 1) | np.isnan(data)
        refuse_entries(data, fine, "be 0, 1 or missing", X, OWNER)
        return data

    def _filled(self, data: FloatArray) -> Bernoulli:
        d = data.shape[1]
        seen = (~np.isnan(data)).sum(axis=0)
        ones = (data == 1).sum(axis=0)
        a = (ones + 0.5) / (seen + 1) if self.a is None else self.a
        b = (seen - ones + 0.5) / (seen + 1) if self.b is None else self.b
        return replace(self, a=spread_out(a, d), b=spread_out(b, d))

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form: columns of two levels."""
        a, b = self._values()
        data = self.check(X)
        codes = np.where(np.isnan(data), -1, data).astype(np.int32)
        levels = np.full(len(a), 2, dtype=np.int32)
        return _core.Categorical(codes, levels, np.column_stack([b, a]).reshape(-1), power)

    def firmer(self, times: float) -> Bernoulli:
        """Both weights so many times as large."""
        a, b = self._values()
        return replace(self, a=a * times, b=b * times)

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Draw probabilities for each cluster from the base measure, then its rows, none missing."""
        a, b = self._values()
        labels = as_labels(labels, np.size(labels), OWNER)
        shape = (int(labels.max(initial=-1)) + 1, len(a))
        theta = _draw(np.broadcast_to(a, shape), np.broadcast_to(b, shape), rng)
        return (rng.random((len(labels), len(a))) < np.exp(theta.log_one[labels])).astype(np.float64)

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> BernoulliParameters:
        """A draw of the probabilities given the rows X of one cluster; from the base measure if none."""
        a, b = self._values()
        if has_rows(X):
            data = self.check(X)
            a, b = a + (data == 1).sum(axis=0), b + (data == 0).sum(axis=0)
        return _draw(a, b, rng)

    def log_density(self, theta: BernoulliParameters, X: Any) -> FloatArray:
        """log L of every row of X; a missing entry adds nothing."""
        data = self.check(X)
        terms = np.where(data == 1, theta.log_one, theta.log_zero)
        return np.asarray(np.where(np.isnan(data), 0.0, terms).sum(axis=1), dtype=np.float64)


def _draw(a: FloatArray, b: FloatArray, rng: np.random.Generator) -> BernoulliParameters:
    """Beta draws of the shape of the parameters."""
    one, zero = log_gamma_draw(a, rng), log_gamma_draw(b, rng)
    total = np.logaddexp(one, zero)
    return BernoulliParameters(one - total, zero - total)
