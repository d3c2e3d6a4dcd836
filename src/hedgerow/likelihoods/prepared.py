"""Prepared: a likelihood on columns that are put on another scale first, densities of the columns as they are.

    L(x | theta) = L'(T(x) | theta) |dT/dx|            T the preparations of the columns, one by one

A column with spikes is two: whether an entry is one of them (a code, under `whether`), and the measurement, which is missing then.

    L(x | theta) = L'(T(x) | theta') C(code(x) | theta'') |dT/dx|

Checked data are the columns in their own units, those on a grid moved off it (`off_the_grid`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.views import as_dense, as_labels
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, Likelihood, bind_at, has_rows
from hedgerow.likelihoods.categorical import Categorical
from hedgerow.likelihoods.composed import Composed
from hedgerow.likelihoods.gaussian_diagonal import GaussianDiagonal
from hedgerow.likelihoods.preparation import Preparation, off_the_grid

__all__ = ["Prepared"]

OWNER = "Prepared"


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Composed):
    """A likelihood for columns on scales, grids and with spikes of their own.

    Parameters
    ----------
    likelihood : Likelihood
        Of the measurements on their scales, such as `GaussianWishart()`.
    columns : sequence of Preparation
        One for each column.
    whether : Likelihood, default Categorical(levels=...)
        Of the codes that say which spike an entry is (0 for none), if any column has spikes.

    Densities, simulated rows and profiles are in the units of X. Simulated rows are on no grid.

    >>> model = Prepared(GaussianDiagonal(), [Preparation(scale="log"), Preparation(unit=1.0)])
    >>> model = model.resolve([[1.0, 3], [10.0, 4], [100.0, 3]])
    >>> model.likelihood.mean.round(2)[0]
    np.float64(2.3)
    """

    likelihood: Likelihood
    columns: tuple[Preparation, ...]
    whether: Likelihood | None = None

    reads_tables: ClassVar[bool] = False

    @classmethod
    def example(cls) -> tuple[Prepared, Any]:
        """A column with a long tail, and one with a spike."""
        rows = np.array([[0.3, 0.0], [0.4, -0.4], [0.9, 0.0], [1.2, -0.6], [2.7, 0.5], [5.0, 0.0]])
        inner = GaussianDiagonal(mean=[0, 0], r=0.3, a=1.5, b=0.25)
        whether = Categorical((0.6,), levels=((0, 1),))
        return cls(inner, (Preparation(scale="log"), Preparation(scale="yeo-johnson", shape=0.5, spikes=(0.0,))), whether), rows

    def __post_init__(self) -> None:
        """Check that there is a preparation for every column, and a likelihood that can take what comes of them."""
        good = isinstance(self.likelihood, Likelihood) and not self.likelihood.reads_tables and not self.likelihood.takes_sparse
        require(good, OWNER, "likelihood", self.likelihood, "be a likelihood of measurements, such as GaussianWishart()")
        good = isinstance(self.columns, list | tuple) and len(self.columns) > 0
        good = good and all(isinstance(column, Preparation) for column in self.columns)
        require(good, OWNER, "columns", self.columns, "hold a Preparation for each column")
        object.__setattr__(self, "columns", tuple(self.columns))
        d = self.likelihood.n_columns
        require(d is None or d == len(self.columns), OWNER, "columns", len(self.columns), f"be those of the likelihood, which has {d}")
        if not self._spiked:
            require(self.whether is None, OWNER, "whether", self.whether, "be left out where no column has spikes")
            return
        wanted = "take missing entries, since spikes are none of its measurements"
        require(self.likelihood.allows_missing, OWNER, "likelihood", self.likelihood, wanted)
        if self.whether is None:
            levels = tuple(tuple(range(len(self.columns[j].spikes) + 1)) for j in self._spiked)
            object.__setattr__(self, "whether", Categorical(levels=levels))
        require(isinstance(self.whether, Likelihood), OWNER, "whether", self.whether, "be a likelihood of codes")

    @cached_property
    def _spiked(self) -> list[int]:
        return [j for j, column in enumerate(self.columns) if column.spikes]

    @property
    def is_resolved(self) -> bool:
        """Whether both likelihoods are."""
        return self.likelihood.is_resolved and (self.whether is None or self.whether.is_resolved)

    @property
    def n_columns(self) -> int:
        """As many as there are preparations."""
        return len(self.columns)

    def check(self, X: Any) -> FloatArray:
        """X as a float64 matrix, its entries off their grids."""
        return off_the_grid(self._read(X), self.columns)

    def check_new(self, X: Any, first: int | None = None) -> FloatArray:
        """See `Likelihood.check_new`."""
        return off_the_grid(self._read(X), self.columns, first, alone=True)

    def resolve(self, X: Any) -> Prepared:
        """The same with both likelihoods resolved."""
        measured, codes = self._parts(self.check(X))
        whether = None if self.whether is None else self.whether.resolve(codes)
        return replace(self, likelihood=self.likelihood.resolve(measured), whether=whether)

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form."""
        data = self.check(X)
        measured, codes = self._parts(data)
        parts = [bind_at(self.likelihood, measured, power)]
        if self.whether is not None:
            parts.append(bind_at(self.whether, codes, power))
        if any(column.scale != "as is" for column in self.columns):
            parts.append(_core.RowFactors(self._log_slope(data), power))
        return parts[0] if len(parts) == 1 else _core.Product(parts)

    def reference(self, X: Any, power: float = 1.0) -> float | None:
        """The sum over measurements, codes and log Jacobians."""
        data = self.check(X)
        measured, codes = self._parts(data)
        logs = [self.likelihood.reference(measured, power)]
        if self.whether is not None:
            logs.append(self.whether.reference(self.whether.check(codes), power))
        if None in logs:
            return None
        return float(sum(log for log in logs if log is not None) + power * self._log_slope(data).sum())

    @property
    def columns_apart(self) -> bool:  # type: ignore[override]
        """Where the likelihood has them so."""
        return self.likelihood.columns_apart

    def work(self, data: FloatArray) -> float:
        """That of measurements and codes."""
        measured, codes = self._parts(data)
        return self.likelihood.work(measured) + (0.0 if self.whether is None else self.whether.work(codes))

    def for_columns(self, columns: Sequence[int]) -> Prepared | None:
        """Those of the columns, with their preparations."""
        where = list(columns)
        smaller = self.likelihood.for_columns(where)
        places = {j: place for place, j in enumerate(self._spiked)}
        codes = [places[j] for j in where if j in places]
        whether = self.whether.for_columns(codes) if self.whether is not None and codes else None
        if smaller is None or (codes and whether is None):
            return None
        return Prepared(smaller, tuple(self.columns[j] for j in where), whether)

    def expected_variances(self) -> FloatArray | None:
        """Those of the likelihood, NaN for columns on a scale of their own."""
        found = self.likelihood.expected_variances()
        return None if found is None else np.where([column.scale == "as is" for column in self.columns], found, np.nan)

    def shown_column(self, X: Any, j: int, name: str) -> tuple[FloatArray, list[str]]:
        """The column as it was, on its grid."""
        unit = self.columns[j].unit
        return (X[:, [j]] if unit == 0 else np.round(X[:, [j]] / unit) * unit), [name]

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Draw measurements and codes cluster by cluster, and put them back into the units of X."""
        labels = as_labels(labels, np.size(labels), OWNER)
        y = self.likelihood.simulate(labels, rng)
        X = np.column_stack([column.backward(y[:, j]) for j, column in enumerate(self.columns)])
        if self.whether is not None:
            codes = self.whether.simulate(labels, rng)
            for place, j in enumerate(self._spiked):
                values = np.array([np.nan, *self.columns[j].spikes])
                spike = codes[:, place].astype(np.intp)
                X[:, j] = np.where(spike > 0, values[spike], X[:, j])
        return X

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        """A draw of the parameters of measurements and codes given the rows X of one cluster."""
        data = self.check(X) if has_rows(X) else np.empty((0, self.n_columns))
        measured, codes = self._parts(data)
        theta = self.likelihood.sample_posterior(measured, rng)
        return theta, None if self.whether is None else self.whether.sample_posterior(codes, rng)

    def log_density(self, theta: tuple[Any, Any], X: Any) -> FloatArray:
        """log L of every row of X."""
        data = self.check_new(X)
        measured, codes = self._parts(data)
        logs = self.likelihood.log_density(theta[0], measured) + self._log_slope(data)
        return logs if self.whether is None else np.asarray(logs + self.whether.log_density(theta[1], codes))

    @property
    def allows_missing(self) -> bool:  # type: ignore[override]
        """Where the likelihood does."""
        return self.likelihood.allows_missing

    def _within(self) -> tuple[Likelihood, ...]:
        return (self.likelihood,) if self.whether is None else (self.likelihood, self.whether)

    def _read(self, X: Any) -> FloatArray:
        data = as_dense(X, OWNER, missing=self.allows_missing, columns=self.n_columns)
        if not self.allows_missing:
            for j, column in enumerate(self.columns):
                wrong = np.flatnonzero(~(data[:, j] > 0)) if column.scale == "log" else np.empty(0, int)
                if len(wrong):
                    require(
                        False, OWNER, f"X[{wrong[0]}, {j}]", float(data[wrong[0], j]), "be above 0, as its column is on a log scale"
                    )
        return data

    def _parts(self, data: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Measurements on their scales, and the codes of spikes."""
        measured = [column.forward(data[:, j]) for j, column in enumerate(self.columns)]
        codes = [self.columns[j].codes(data[:, j]) for j in self._spiked]
        return np.column_stack(measured), np.column_stack(codes) if codes else np.empty((len(data), 0))

    def _log_slope(self, data: FloatArray) -> FloatArray:
        return np.asarray(np.sum([column.log_slope(data[:, j]) for j, column in enumerate(self.columns)], axis=0), dtype=np.float64)
