"""Principal: clusters along the few directions in which columns vary together, one common Gaussian for all the rest.

    z = (x - centre) / scale,   s = V z,   w = the rest of z, orthogonal to the rows of V
    L(x | theta) = L'(s | theta) N(w | 0, rest I) prod_j 1 / scale_j

With few rows for each column a full covariance cannot be told, and columns taken apart put every row by itself or all of them together:
what clusters differ in is drowned by what they do not (Chandra, Canale and Dunson 2023). Here they may differ in q directions only.
It is a density of the rows as they are; the common factor is the same for every partition.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import check_whole
from hedgerow.data.views import as_labels
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, Likelihood, bind_at, has_rows
from hedgerow.likelihoods.composed import Composed
from hedgerow.likelihoods.fitting import some_rows
from hedgerow.likelihoods.gaussian_wishart import GaussianWishart
from hedgerow.likelihoods.hyperparameters import as_float_array, as_number, as_vector, check_given
from hedgerow.likelihoods.moments import column_deviations, column_means

__all__ = ["Principal", "directions_in_common"]

OWNER = "Principal"
ROWS_PER_DIRECTION = 5
SHUFFLES = 3
LEAST_REST = 1e-6  # of the variance of a column: rows on a plane


def directions_in_common(X: FloatArray) -> int:
    """In how many directions columns share more variance than they would if each were shuffled; from 1 to a fifth of the rows.

    (Parallel analysis: Horn 1965, with the largest of three shuffles.)
    """
    rows = X[some_rows(*X.shape)]
    Z = (rows - column_means(rows)) / column_deviations(rows)
    rng = np.random.default_rng(0)
    found = _eigenvalues(Z)
    chance = np.max([_eigenvalues(rng.permuted(Z, axis=0)) for _ in range(SHUFFLES)], axis=0)
    below = np.flatnonzero(found <= chance)
    shared = int(below[0]) if len(below) else len(found)
    return int(max(1, min(shared, len(X) // ROWS_PER_DIRECTION, X.shape[1])))


def _eigenvalues(Z: FloatArray) -> FloatArray:
    """Of the covariance, largest first, by the smaller of the two products."""
    product = Z.T @ Z if Z.shape[1] <= Z.shape[0] else Z @ Z.T
    return np.asarray(np.linalg.eigvalsh(product)[::-1])


@dataclass(frozen=True, eq=False, repr=False)
class Principal(Composed):
    """Gaussian clusters in the leading principal directions of many columns.

    Parameters
    ----------
    likelihood : Likelihood, default GaussianWishart()
        Of the scores: the rows along those directions.
    n_directions : int, default found out
        How many. Left out, those in which columns share more variance than they would by chance (parallel analysis), at most a fifth
        of the rows.
    centre, scale : (d,), default those of the columns
        What is taken off a column, and what it is divided by.
    directions : (q, d), default the principal ones
        Orthonormal rows.
    rest : number above 0, default fitted
        Variance of what is left of a scaled row, in every direction.

    Entries must not be missing.

    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.normal(size=40), np.ones(30)) + 0.1 * rng.normal(size=(40, 30))
    >>> model = Principal().resolve(X)
    >>> model.n_directions, model.scores(X).shape
    (1, (40, 1))
    """

    likelihood: Likelihood = field(default_factory=GaussianWishart)
    n_directions: int | None = None
    centre: npt.ArrayLike | None = None
    scale: npt.ArrayLike | None = None
    directions: npt.ArrayLike | None = None
    rest: float | None = None

    allows_missing: ClassVar[bool] = False

    @classmethod
    def example(cls) -> tuple[Principal, Any]:
        """Rows near a line in space."""
        rows = np.array([[-1.2, -0.9, 0.1], [-0.8, -1.1, 0.0], [-0.1, 0.2, -0.2], [0.3, 0.1, 0.2], [1.1, 0.8, 0.1], [1.4, 1.6, -0.1]])
        inner = GaussianWishart(mean=[0], r=0.3, nu=3, psi=[[0.5]])
        line = np.array([[1.0, 1.0, 0.0]]) / np.sqrt(2.0)
        return cls(inner, 1, np.zeros(3), np.array([1.0, 1.2, 0.5]), line, 0.1), rows

    def __post_init__(self) -> None:
        """Check what was given, and that it agrees."""
        good = isinstance(self.likelihood, Likelihood) and not self.likelihood.reads_tables and not self.likelihood.takes_sparse
        require(good, OWNER, "likelihood", self.likelihood, "be a likelihood of measurements, such as GaussianWishart()")
        if self.n_directions is not None:
            check_whole(OWNER, "n_directions", self.n_directions)
            object.__setattr__(self, "n_directions", int(self.n_directions))
        check_given(self, centre=partial(as_vector, low=-np.inf), scale=partial(as_vector, low=0), rest=partial(as_number, low=0))
        if self.directions is not None:
            self._check_directions()

    def _check_directions(self) -> None:
        V = as_float_array(OWNER, "directions", self.directions)
        require(V.ndim == 2 and 0 < len(V) <= V.shape[1], OWNER, "directions", self.directions, "be a (q, d) array with q up to d")
        off = float(np.abs(V @ V.T - np.eye(len(V))).max())
        require(off < 1e-8, OWNER, "directions", self.directions, "have orthonormal rows")
        object.__setattr__(self, "directions", V)
        for name in ("centre", "scale"):
            value = getattr(self, name)
            agrees = not isinstance(value, np.ndarray) or len(value) == V.shape[1]
            require(agrees, OWNER, name, value, f"have {V.shape[1]} entries, as directions have columns")
        agrees = self.n_directions in (None, len(V))
        require(agrees, OWNER, "n_directions", self.n_directions, f"be left out, or {len(V)} as directions has rows")
        agrees = self.likelihood.n_columns in (None, len(V))
        require(agrees, OWNER, "likelihood", self.likelihood, f"have {len(V)} columns, as directions has rows")

    @property
    def is_resolved(self) -> bool:
        """Whether directions, scales and the likelihood of the scores are known."""
        arrays = all(isinstance(value, np.ndarray) for value in (self.centre, self.scale, self.directions))
        return arrays and self.rest is not None and self.likelihood.is_resolved

    @property
    def n_columns(self) -> int | None:
        """The number of columns, once known."""
        for value in (self.directions, self.centre, self.scale):
            if isinstance(value, np.ndarray):
                return int(value.shape[-1])
        return None

    def _filled(self, data: FloatArray) -> Principal:
        d = data.shape[1]
        centre = np.broadcast_to(column_means(data) if self.centre is None else self.centre, (d,))
        scale = np.broadcast_to(column_deviations(data) if self.scale is None else self.scale, (d,))
        Z = (data - centre) / scale
        V = _leading(Z, self._wanted(data)) if self.directions is None else np.asarray(self.directions)
        rest = self.rest
        if rest is None:
            left = float((Z**2).sum() - ((Z @ V.T) ** 2).sum())
            rest = max(left / (len(Z) * max(d - len(V), 1)), LEAST_REST)
        out = replace(self, n_directions=len(V), centre=np.array(centre), scale=np.array(scale), directions=V, rest=rest)
        return replace(out, likelihood=self.likelihood.resolve(out.scores(data)))

    def _wanted(self, data: FloatArray) -> int:
        d = data.shape[1]
        wanted = self.likelihood.n_columns if self.n_directions is None else self.n_directions
        if wanted is None:
            return directions_in_common(data)
        require(wanted <= d, OWNER, "n_directions", wanted, f"be at most the number of columns {d}")
        return wanted

    def scores(self, X: Any) -> FloatArray:
        """Rows along the directions.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n, q)
        """
        self._need("centre", "scale", "directions")
        return np.asarray(self._scaled(self.check(X)) @ np.asarray(self.directions).T)

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form."""
        data = self.check(X)
        return _core.Product([bind_at(self.likelihood, self.scores(data), power), _core.RowFactors(self._log_rest(data), power)])

    def reference(self, X: Any, power: float = 1.0) -> float | None:
        """That of the scores, and the common factor."""
        data = self.check(X)
        inner = self.likelihood.reference(self.scores(data), power)
        return None if inner is None else float(inner + power * self._log_rest(data).sum())

    def work(self, data: FloatArray) -> float:
        """That of the scores."""
        return self.likelihood.work(self.scores(data))

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Draw scores cluster by cluster, and what is left of every row."""
        self._need("centre", "scale", "directions", "rest")
        labels = as_labels(labels, np.size(labels), OWNER)
        V, rest = np.asarray(self.directions), self.rest
        assert rest is not None
        scores = self.likelihood.simulate(labels, rng)
        noise = np.sqrt(rest) * rng.standard_normal((len(labels), V.shape[1]))
        return np.asarray(self.centre + self.scale * (scores @ V + noise - (noise @ V.T) @ V))

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> Any:
        """A draw of the parameters of the scores given the rows X of one cluster."""
        V = np.asarray(self.directions)
        return self.likelihood.sample_posterior(self.scores(X) if has_rows(X) else np.empty((0, len(V))), rng)

    def log_density(self, theta: Any, X: Any) -> FloatArray:
        """log L of every row of X."""
        data = self.check(X)
        return np.asarray(self.likelihood.log_density(theta, self.scores(data)) + self._log_rest(data))

    def _within(self) -> tuple[Likelihood, ...]:
        return (self.likelihood,)

    def _scaled(self, data: FloatArray) -> FloatArray:
        return np.asarray((data - np.asarray(self.centre)) / np.asarray(self.scale))

    def _log_rest(self, data: FloatArray) -> FloatArray:
        """Log of the factor that is the same in every cluster, row by row."""
        self._need("rest")
        assert self.rest is not None
        Z, V = self._scaled(data), np.asarray(self.directions)
        left = Z - (Z @ V.T) @ V
        width = V.shape[1] - len(V)
        log_scale = float(np.log(np.broadcast_to(np.asarray(self.scale), (V.shape[1],))).sum())
        return np.asarray(-0.5 * ((left**2).sum(axis=1) / self.rest + width * np.log(2 * np.pi * self.rest)) - log_scale)


def _leading(Z: FloatArray, count: int) -> FloatArray:
    """The first principal directions, each with its largest entry above 0."""
    n, d = Z.shape
    V = np.linalg.eigh(Z.T @ Z)[1][:, ::-1][:, :count].T if d <= n else np.linalg.svd(Z, full_matrices=count > n)[2][:count]
    V = np.linalg.qr(V.T)[0].T
    top = np.abs(V).argmax(axis=1)
    return np.ascontiguousarray(V * np.sign(V[np.arange(len(V)), top])[:, None])
