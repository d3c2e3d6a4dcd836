"""Clusters of counts with rates of their own, entries may be missing: Poisson law, gamma base measure.

Column by column, with theta the rate of the column in a cluster,

    L(x | theta) = theta^x e^(-theta) / x!             and 1 where x is missing (NaN)
    H(theta)     = Gamma(theta | a, rate b)

so that the rate has mean a / b. With n observed counts of sum S in a cluster,

    p(x) = b^a / Gamma(a)  Gamma(a + S) / (b + n)^(a + S)  prod_i 1 / x_i!
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from hedgerow import _core
from hedgerow.data.mixed import refuse_entries
from hedgerow.data.views import as_dense, as_labels
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, has_rows
from hedgerow.likelihoods.columns import IndependentColumns
from hedgerow.likelihoods.draws import log_gamma_draw
from hedgerow.likelihoods.hyperparameters import spread_out
from hedgerow.reference import likelihoods as reference

__all__ = ["Poisson"]

OWNER = "Poisson"
#: Sums over all rows stay exact in float64.
LARGEST = 1e12
#: A simulated count stays below the limit for any rate up to here.
LARGEST_RATE = LARGEST / 2


@dataclass(frozen=True, eq=False, repr=False)
class Poisson(IndependentColumns):
    """Clusters of counts: visits, events, molecules; the columns are independent of each other.

    NaN or None marks an entry that was not observed; it says nothing. Both parameters are a number for all
    columns or a vector with one entry per column. In a cluster, the variance of a column equals its mean; counts
    that scatter more within a cluster split it.

    Parameters
    ----------
    a : above 0, default 1
        Shape of the gamma law of the rate: large a makes the clusters' rates alike.
    b : above 0, default a over the mean of the column
        Rate of that law.

    By default a cluster's rate is expected to be the column's mean, spread as widely as an exponential law has it.
    A column of zeros counts as half an event in all its rows together, one without any entry as mean 1: neither
    choice tells partitions apart by more than a trace.

    >>> Poisson().resolve([[0, 3], [1, None], [5, 5]])
    Poisson(a=[1., 1.], b=[0.5 , 0.25])
    """

    a: npt.ArrayLike | None = None
    b: npt.ArrayLike | None = None

    _twin = staticmethod(reference.poisson_log_marginal)

    @classmethod
    def example(cls) -> tuple[Poisson, Any]:
        """Two columns with gaps."""
        return cls([0.8, 1.6], [0.5, 0.7]), np.array([[0, 2], [1, 0], [0, np.nan], [4, 3], [3, 5], [np.nan, 1]])

    def check(self, X: Any) -> FloatArray:
        """X as a float64 matrix of whole numbers from 0 up, NaN where an entry is missing."""
        data = as_dense(X, OWNER, missing=True, columns=self.n_columns)
        missing = np.isnan(data)
        refuse_entries(data, missing | (data >= 0), "be a count, 0 or more", X, OWNER)
        refuse_entries(data, missing | (data == np.floor(data)), "be a whole number", X, OWNER)
        refuse_entries(data, missing | (data <= LARGEST), f"be at most {LARGEST:.0e}", X, OWNER)
        return data

    def _filled(self, data: FloatArray) -> Poisson:
        d = data.shape[1]
        a = spread_out(1.0 if self.a is None else self.a, d)
        b = a / _means(data) if self.b is None else self.b
        return replace(self, a=a, b=spread_out(b, d))

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form."""
        a, b = self._values()
        return _core.Poisson(self.check(X), a, b, power)

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Draw rates for each cluster from the base measure, then its rows, none missing."""
        a, b = self._values()
        labels = as_labels(labels, np.size(labels), OWNER)
        shape = (int(labels.max(initial=-1)) + 1, len(a))
        rates = np.exp(log_gamma_draw(np.broadcast_to(a, shape), rng) - np.log(b))
        high = float(rates.max(initial=0.0))
        require(high <= LARGEST_RATE, OWNER, "b", self.b, f"give rates of at most {LARGEST_RATE:.0e} to simulate")
        return rng.poisson(rates[labels]).astype(np.float64)

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> FloatArray:
        """A draw of the log rates (d,) given the rows X of one cluster; from the base measure if none."""
        a, b = self._values()
        if has_rows(X):
            data = self.check(X)
            a, b = a + np.nansum(data, axis=0), b + (~np.isnan(data)).sum(axis=0)
        return np.asarray(log_gamma_draw(a, rng) - np.log(b), dtype=np.float64)

    def log_density(self, theta: FloatArray, X: Any) -> FloatArray:
        """log L of every row of X for log rates `theta`; a missing entry adds nothing."""
        data = self.check(X)
        terms = data * theta - np.exp(theta) - gammaln(data + 1)
        return np.asarray(np.where(np.isnan(data), 0.0, terms).sum(axis=1), dtype=np.float64)


def _means(data: FloatArray) -> FloatArray:
    """Mean of the observed entries of each column, never 0."""
    seen = (~np.isnan(data)).sum(axis=0)
    sums = np.nansum(data, axis=0)
    return np.where(seen == 0, 1.0, np.where(sums > 0, sums, 0.5) / np.maximum(seen, 1))
