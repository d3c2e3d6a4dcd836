"""Clusters of count vectors: multinomial likelihood, symmetric Dirichlet base measure, counts kept sparse.

    L(x | theta) = N! / prod_v x_v!  prod_v theta_v^x_v       N = sum_v x_v, the coefficient included
    H(theta)     = Dirichlet(beta, ..., beta) over V columns

With s the column sums of a cluster's rows and S their total,

    p(X) = prod_i (N_i! / prod_v x_iv!)  Gamma(V beta) / Gamma(V beta + S)
           prod_v Gamma(beta + s_v) / Gamma(beta)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import gammaln, logsumexp

from hedgerow import _core
from hedgerow.arguments import check_whole
from hedgerow.data.views import as_counts, as_labels
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, Likelihood, has_rows
from hedgerow.likelihoods.hyperparameters import as_number
from hedgerow.reference import likelihoods as reference

__all__ = ["Multinomial"]

OWNER = "Multinomial"
#: The core keeps counts in 32 bits.
LARGEST_TOTAL = 2e9


@dataclass(frozen=True, eq=False, repr=False)
class Multinomial(Likelihood):
    """Clusters of counts, such as the words of documents or the bins of histograms.

    X may be dense or any SciPy sparse matrix; sparse counts stay sparse. A row without any count is allowed
    and says nothing.

    Parameters
    ----------
    beta : number above 0, default 0.1
        The Dirichlet parameter, the same for every column (NIPS 2015: 0.1 for text; AISTATS 2014: 1 to 30 for
        60-bin colour histograms). Small beta expects clusters that use few columns each.
    columns : int, default that of the data
        The number V of columns, on which the marginal depends.

    >>> Multinomial().resolve([[3, 0, 1], [0, 2, 0]])
    Multinomial(beta=0.1, columns=3)
    """

    beta: float = 0.1
    columns: int | None = None

    allows_missing: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = True
    largest_total: ClassVar[float] = LARGEST_TOTAL

    @classmethod
    def example(cls) -> tuple[Multinomial, Any]:
        """Counts in four columns."""
        return cls(0.6), np.array([[3, 1, 0, 0], [2, 0, 1, 0], [0, 2, 1, 1], [1, 1, 1, 1], [0, 0, 2, 3], [0, 1, 0, 2]])

    def __post_init__(self) -> None:
        """Check both parameters."""
        object.__setattr__(self, "beta", as_number(OWNER, "beta", self.beta, 0))
        if self.columns is not None:
            check_whole(OWNER, "columns", self.columns)
            object.__setattr__(self, "columns", int(self.columns))

    @property
    def n_columns(self) -> int | None:
        """The number of columns, once known."""
        return self.columns

    def check(self, X: Any) -> sparse.csr_array:
        """X as a canonical CSR array of whole, non-negative counts."""
        counts = as_counts(X, OWNER, columns=self.columns)
        require(self.total(counts) <= LARGEST_TOTAL, OWNER, "X", X, "sum to at most 2e9 counts over all rows")
        return counts

    def resolve(self, X: Any) -> Multinomial:
        """The same likelihood with the number of columns of X."""
        return replace(self, columns=int(self.check(X).shape[1]))

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form."""
        V = self._width()
        counts = self.check(X)
        return _core.Multinomial(counts.indptr, counts.indices, counts.data, V, self.beta, power)

    def reference(self, X: Any, power: float = 1.0) -> float:
        """See `Likelihood.reference`."""
        return reference.multinomial_log_marginal(X, self.beta, power)

    def total(self, data: Any) -> float:
        """The sum of all counts, which the core keeps in 32 bits."""
        return float(data.sum())

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator, totals: npt.ArrayLike = 20) -> sparse.csr_array:
        """Draw theta for each cluster from the base measure, then its rows, with `totals` counts per row."""
        V = self._width()
        labels = as_labels(labels, np.size(labels), OWNER)
        given = np.asarray(totals)
        good = given.dtype.kind in "iu" and given.shape in ((), labels.shape) and bool((given >= 0).all())
        require(good, OWNER, "totals", totals, "be a whole number, 0 or more, or one for each label")
        each = np.broadcast_to(given, labels.shape)
        theta = [np.exp(self._draw(np.zeros(V), rng)) for _ in range(int(labels.max(initial=-1)) + 1)]
        columns, counts, ends = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], [0]
        for label, total in zip(labels, each, strict=True):
            row = rng.multinomial(int(total), theta[label])
            columns.append(np.flatnonzero(row))
            counts.append(row[columns[-1]])
            ends.append(ends[-1] + len(columns[-1]))
        data = np.concatenate(counts).astype(np.float64)
        indices = np.concatenate(columns).astype(np.int32)
        return sparse.csr_array((data, indices, np.array(ends)), shape=(len(labels), V))

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> FloatArray:
        """A draw of log theta (V,) given the rows X of one cluster; from the base measure if it has none.

        On the log scale, as small probabilities of a Dirichlet draw would otherwise underflow to 0.
        """
        V = self._width()
        sums = np.asarray(self.check(X).sum(axis=0)).reshape(-1) if has_rows(X) else np.zeros(V)
        return self._draw(sums, rng)

    def log_density(self, theta: FloatArray, X: Any) -> FloatArray:
        """log L of every row of X for log probabilities `theta`, the coefficient included."""
        counts = self.check(X)
        totals = np.asarray(counts.sum(axis=1)).reshape(-1)
        factorials = sparse.csr_array((gammaln(counts.data + 1), counts.indices, counts.indptr), shape=counts.shape)
        coefficient = gammaln(totals + 1) - np.asarray(factorials.sum(axis=1)).reshape(-1)
        return np.asarray(coefficient + counts @ np.asarray(theta), dtype=np.float64)

    def _width(self) -> int:
        self._need("columns")
        assert self.columns is not None
        return self.columns

    def _draw(self, sums: FloatArray, rng: np.random.Generator) -> FloatArray:
        """log of a Dirichlet(beta + sums) draw; Gamma(s) = Gamma(s + 1) U^(1/s), so none underflows."""
        shape = self.beta + sums
        log_gamma = np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(len(shape)) / shape
        return np.asarray(log_gamma - logsumexp(log_gamma), dtype=np.float64)
