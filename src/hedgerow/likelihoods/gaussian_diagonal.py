"""Gaussian clusters with independent columns, entries may be missing: normal law, normal-gamma base measure.

Column by column, with mu and lambda the mean and precision of the column in a cluster,

    L(x | mu, lambda) = N(x | mu, 1 / lambda)          and 1 where x is missing (NaN)
    H(mu, lambda)     = N(mu | mean, 1 / (r lambda)) Gamma(lambda | a, rate b)

so that the variance of a cluster has mean b / (a - 1). With n observed entries of mean xbar and sum of
squares S about it,

    b_n  = b + S / 2 + r n (xbar - mean)^2 / (2 (r + n))
    p(x) = (2 pi)^(-n / 2) (r / (r + n))^(1 / 2) Gamma(a + n / 2) / Gamma(a) b^a / b_n^(a + n / 2)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.views import LARGEST, as_labels
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, has_rows
from hedgerow.likelihoods.columns import IndependentColumns
from hedgerow.likelihoods.fitting import fit_diagonal
from hedgerow.likelihoods.hyperparameters import spread_out
from hedgerow.likelihoods.moments import column_means
from hedgerow.reference import likelihoods as reference

__all__ = ["DiagonalParameters", "GaussianDiagonal"]

OWNER = "GaussianDiagonal"


class DiagonalParameters(NamedTuple):
    """Mean and precision of every column in one cluster, both (d,).

    Attributes
    ----------
    mean, precision : (d,)

    >>> GaussianDiagonal().resolve([[0.0, 1.0], [1.0, 0.0]]).sample_posterior([[0.0, 1.0]], np.random.default_rng(0)).mean.shape
    (2,)
    """

    mean: FloatArray
    precision: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class GaussianDiagonal(IndependentColumns):
    """Gaussian clusters whose columns are independent; NaN marks an entry that was not observed.

    Every parameter is a number for all columns or a vector with one entry per column.

    Parameters
    ----------
    mean : default the mean of the column's observed entries
        Centre of the base measure.
    r : above 0, default 0.1
        How many observations the base measure's mean is worth.
    a : above 0, default 3.5
        Shape of the gamma law of the precision: large a makes the clusters' variances alike.
    b : above 0, default fitted
        Rate of that law.

    The defaults carry NIPS 2015 over to single columns: r is the paper's, and a = 3.5 is the shape that its
    Wishart law (nu = d + 6) gives the variance of any one column. b follows the units of each column: a cluster is expected to have
    a share of the column's variance, 0.1, 0.25 or 0.5, that under which a tree built on the rows is most
    probable. A column whose observed entries do not vary counts as variance 1, one without any as mean 0
    and variance 1: neither choice tells one partition from another.

    >>> GaussianDiagonal().resolve([[0.0, 5.0], [2.0, float("nan")], [4.0, 5.0]])
    GaussianDiagonal(mean=[2., 5.], r=[0.1, 0.1], a=[3.5, 3.5], b=[1. , 0.25])
    """

    mean: npt.ArrayLike | None = None
    r: npt.ArrayLike | None = None
    a: npt.ArrayLike | None = None
    b: npt.ArrayLike | None = None
    limits: ClassVar[Mapping[str, Mapping[str, Any]]] = {"mean": {"low": -np.inf}, "b": {"square": True}}

    _twin = staticmethod(reference.gaussian_diagonal_log_marginal)

    @classmethod
    def example(cls) -> tuple[GaussianDiagonal, Any]:
        """Points in the plane with gaps."""
        rows = np.array([[-1.2, 0.3], [np.nan, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, np.nan], [1.6, 0.1]])
        return cls(mean=[0, 0], r=0.3, a=1.5, b=0.25), rows

    def _filled(self, data: FloatArray) -> GaussianDiagonal:
        d = data.shape[1]
        mean = column_means(data) if self.mean is None else self.mean
        r = 0.1 if self.r is None else self.r
        a = 3.5 if self.a is None else self.a
        mean, r, a = (spread_out(value, d) for value in (mean, r, a))
        filled = replace(self, mean=mean, r=r, a=a)
        b = fit_diagonal(data, a, lambda rows, b: replace(filled, b=b).bind(rows)) if self.b is None else self.b
        return replace(filled, b=spread_out(b, d))

    def _check_reach(self, data: FloatArray) -> None:
        """Refuse a b so far below the squares of X that their ratio leaves the floats."""
        mean, _, _, b = self._values()
        furthest = np.fmax.reduce(np.abs(data - mean), axis=0)
        good = bool((np.nan_to_num(furthest) <= LARGEST * np.sqrt(b)).all())
        require(good, OWNER, "b", self.b, f"reach X, whose entries may lie at most {LARGEST:.0e} times its root from mean")

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form."""
        mean, r, a, b = self._values()
        return _core.GaussianDiagonal(self.check(X), mean, r, a, b, power)

    def expected_variances(self) -> FloatArray:
        """b / (a - 1)."""
        _, _, a, b = self._values()
        return np.asarray(b / (a - 1))

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Draw means and precisions for each cluster from the base measure, then its rows, none missing."""
        values = self._values()
        labels = as_labels(labels, np.size(labels), OWNER)
        K, d = int(labels.max(initial=-1)) + 1, len(values[0])
        mean, r, a, b = (np.broadcast_to(value, (K, d)) for value in values)
        theta = _draw(mean, r, a, b, rng)
        noise = rng.standard_normal((len(labels), d))
        return np.asarray(theta.mean[labels] + noise / np.sqrt(theta.precision[labels]), dtype=np.float64)

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> DiagonalParameters:
        """A draw of means and precisions given the rows X of one cluster; from the base measure if none."""
        mean, r, a, b = self._values()
        if has_rows(X):
            Z = self.check(X) - mean
            seen = ~np.isnan(Z)
            n = seen.sum(axis=0)
            centre = np.where(seen, Z, 0.0).sum(axis=0) / np.maximum(n, 1)
            scatter = np.where(seen, (Z - centre) ** 2, 0.0).sum(axis=0)
            b = b + scatter / 2 + r * n * centre**2 / (2 * (r + n))
            mean, r, a = mean + n / (r + n) * centre, r + n, a + n / 2
        return _draw(mean, r, a, b, rng)

    def log_density(self, theta: DiagonalParameters, X: Any) -> FloatArray:
        """log L of every row of X; a missing entry adds nothing."""
        data = self.check(X)
        terms = (np.log(theta.precision / (2 * np.pi)) - theta.precision * (data - theta.mean) ** 2) / 2
        return np.asarray(np.where(np.isnan(data), 0.0, terms).sum(axis=1), dtype=np.float64)


def _draw(mean: FloatArray, r: FloatArray, a: FloatArray, b: FloatArray, rng: np.random.Generator) -> DiagonalParameters:
    """Normal-gamma draws of the shape of the parameters."""
    precision = rng.standard_gamma(a) / b
    return DiagonalParameters(mean + rng.standard_normal(mean.shape) / np.sqrt(r * precision), precision)
