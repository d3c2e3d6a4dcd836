"""A user's own conjugate family, from two functions: additive statistics and the log marginal of their sum.

In a conjugate exponential family the marginal likelihood of a cluster depends on its rows only through the
sum of their sufficient statistics. So a family is `statistics(X)`, one row of m numbers per row of X, called
once per data set, and `log_marginal`, a function of a sum of such rows. The number of rows is a statistic
like any other: a column of ones. A term log h(x) that does not depend on the parameter is one too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import check_flag, check_whole, is_whole
from hedgerow.data.views import as_dense, as_labels
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, Likelihood, has_rows

__all__ = ["Custom"]

OWNER = "Custom"
SIGNATURE = "float64(CPointer(float64), int64)"
C_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.c_int64)

# A bound likelihood holds only the address of a compiled function. The function's owner is kept here for the
# life of the process, since an address whose code has been freed cannot be told from a good one.
_kept: dict[int, object] = {}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Custom(Likelihood):
    """A conjugate family given by its sufficient statistics and the log marginal of their sum.

    Parameters
    ----------
    statistics : callable, (n, d) array -> (n, m) array
        The sufficient statistics of every row; those of a cluster are their sum. NaN in X is passed on.
    log_marginal : compiled function or callable
        log p of a cluster with summed statistics s. Either a C function
        `double f(const double *s, int64_t m)`, given as a `numba.cfunc` of signature
        `float64(CPointer(float64), int64)`, a ctypes function or a bare address (int): as fast as the
        built-in likelihoods. Or a Python callable (k, m) array -> (k,) array, for prototypes.
    simulate : callable (labels, rng) -> X, optional
        New data for a partition; needed by the Geweke test.
    sample_posterior : callable (X, rng) -> theta, optional
        A parameter given the rows of a cluster, possibly none; needed by the slice sampler.
    log_density : callable (theta, X) -> (n,), optional
        log L(x | theta) of every row; needed by the slice sampler.
    columns : int, default that of the data
        The number of columns of X.
    scales : bool, default False
        Whether `log_marginal` also holds for statistics times any number between 0 and 1, as closed forms do that are written
        with gamma functions and not with factorials or tables; all factors of the density must then be among the statistics.
        `Mixture(power=...)` needs it.

    The fields of the object are `statistics`, `marginal`, `simulator`, `sampler`, `density`, `columns` and `scales`, as
    `log_marginal(X)`, `simulate(labels, rng)` and so on are methods of every likelihood.

    Examples
    --------
    Waiting times: x ~ Exponential(rate theta), theta ~ Gamma(a, rate b). With n times of sum t in a cluster,
    log p = a log b - lnGamma(a) + lnGamma(a + n) - (a + n) log(b + t), so the statistics are (1, x).

    >>> import numpy as np
    >>> from scipy.special import gammaln
    >>> a, b = 2.0, 1.0
    >>> def statistics(X):
    ...     return np.column_stack([np.ones(len(X)), X[:, 0]])
    >>> def log_marginal(s):
    ...     n, t = s[:, 0], s[:, 1]
    ...     return a * np.log(b) - gammaln(a) + gammaln(a + n) - (a + n) * np.log(b + t)
    >>> waiting = Custom(statistics, log_marginal)
    >>> X = [[0.5], [1.5], [40.0]]
    >>> round(waiting.resolve(X).log_marginal(X), 4)
    -15.6279

    The same at full speed, with Numba::

        from math import lgamma, log
        from numba import cfunc

        @cfunc("float64(CPointer(float64), int64)")
        def fast_log_marginal(s, m):
            n, t = s[0], s[1]
            return a * log(b) - lgamma(a) + lgamma(a + n) - (a + n) * log(b + t)

        waiting = Custom(statistics, fast_log_marginal)
    """

    statistics: Callable[[FloatArray], npt.ArrayLike]
    marginal: Any
    simulator: Callable[[npt.NDArray[np.int32], np.random.Generator], Any] | None
    sampler: Callable[[FloatArray, np.random.Generator], Any] | None
    density: Callable[[Any, FloatArray], npt.ArrayLike] | None
    columns: int | None
    scales: bool

    reads_tables: ClassVar[bool] = True
    has_atoms: ClassVar[bool] = False
    from_values: ClassVar[bool] = False

    def __init__(
        self,
        statistics: Callable[[FloatArray], npt.ArrayLike],
        log_marginal: Any,
        *,
        simulate: Callable[[npt.NDArray[np.int32], np.random.Generator], Any] | None = None,
        sample_posterior: Callable[[FloatArray, np.random.Generator], Any] | None = None,
        log_density: Callable[[Any, FloatArray], npt.ArrayLike] | None = None,
        columns: int | None = None,
        scales: bool = False,
    ) -> None:
        """Check that everything given can be called; nothing is called yet."""
        require(callable(statistics), OWNER, "statistics", statistics, "be a function of X")
        for name, function in (
            ("simulate", simulate),
            ("sample_posterior", sample_posterior),
            ("log_density", log_density),
        ):
            require(function is None or callable(function), OWNER, name, function, "be a function or None")
        check_whole(OWNER, "columns", columns, none=True)
        check_flag(OWNER, "scales", scales)
        if _address(log_marginal) is None:
            wanted = "be a compiled function, its address, or a callable"
            require(callable(log_marginal), OWNER, "log_marginal", log_marginal, wanted)
        put = object.__setattr__  # the dataclass is frozen
        put(self, "statistics", statistics)
        put(self, "marginal", log_marginal)
        put(self, "simulator", simulate)
        put(self, "sampler", sample_posterior)
        put(self, "density", log_density)
        put(self, "columns", None if columns is None else int(columns))
        put(self, "scales", scales)

    @property
    def allows_power(self) -> bool:  # type: ignore[override]
        """Where `scales` says so."""
        return self.scales

    @property
    def travels(self) -> bool:  # type: ignore[override]
        """Not where it holds the bare address of a function of this process."""
        return not isinstance(self.marginal, int)

    @property
    def n_columns(self) -> int | None:
        """The number of columns, once known."""
        return self.columns

    def check(self, X: Any) -> FloatArray:
        """X as a float64 matrix; NaN is left to `statistics` to deal with."""
        return as_dense(X, OWNER, missing=True, columns=self.columns)

    def resolve(self, X: Any) -> Custom:
        """The same likelihood with the number of columns of X."""
        return Custom(
            self.statistics,
            self.marginal,
            simulate=self.simulator,
            sample_posterior=self.sampler,
            log_density=self.density,
            columns=self.check(X).shape[1],
            scales=self.scales,
        )

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form; calls `statistics` once."""
        self._need("columns")
        wanted = "be 1, unless Custom(scales=True) says that log_marginal holds for statistics times a number below 1"
        require(power == 1.0 or self.scales, OWNER, "power", power, wanted)
        table = self._statistics(self.check(X))
        address = _address(self.marginal)
        if address is None:
            marginal = _checked(self.marginal)
            marginal(np.stack([table[0], table.sum(axis=0)]))
            return _core.CustomCallable(table, marginal, power)
        _kept[address] = self.marginal
        for row in (table[0], table.sum(axis=0)):
            row = np.ascontiguousarray(row)
            pointer = row.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
            value = float(C_FUNCTION(address)(pointer, len(row)))
            require(
                bool(np.isfinite(value)),
                OWNER,
                "log_marginal",
                value,
                "be finite for every sum of statistics",
            )
        return _core.Custom(table, address, power)

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> Any:
        """New data for a partition, by the function given as `simulate`."""
        require(self.simulator is not None, OWNER, "simulate", None, "be given to simulate data")
        assert self.simulator is not None
        return self.simulator(as_labels(labels, np.size(labels), OWNER), rng)

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> Any:
        """A parameter given the rows of a cluster, by the function given as `sample_posterior`."""
        require(self.sampler is not None, OWNER, "sample_posterior", None, "be given to draw parameters")
        assert self.sampler is not None
        self._need("columns")
        return self.sampler(self.check(X) if has_rows(X) else np.empty((0, self.columns or 0)), rng)

    def log_density(self, theta: Any, X: Any) -> FloatArray:
        """log L of every row, by the function given as `log_density`."""
        require(self.density is not None, OWNER, "log_density", None, "be given to evaluate densities")
        assert self.density is not None
        data = self.check(X)
        values = np.asarray(self.density(theta, data), dtype=np.float64)
        require(values.shape == (len(data),), OWNER, "log_density", values, f"return {len(data)} numbers here")
        return values

    def _statistics(self, data: FloatArray) -> FloatArray:
        table = np.ascontiguousarray(self.statistics(data), dtype=np.float64)
        good = table.ndim == 2 and len(table) == len(data) and table.shape[1] > 0
        require(
            good,
            OWNER,
            "statistics",
            table,
            f"return one row of numbers for each of the {len(data)} rows of X",
        )
        if not np.isfinite(table).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
            name = f"statistics(X)[{row}, {column}]"
            require(False, OWNER, name, float(table[row, column]), "be finite")
        return table


def _address(log_marginal: Any) -> int | None:
    """The address of a compiled function; None for a plain Python callable."""
    wanted = f"be a C function of signature {SIGNATURE}"
    if is_whole(log_marginal):
        require(bool(log_marginal > 0), OWNER, "log_marginal", log_marginal, "be the address of a C function")
        return int(log_marginal)
    function = getattr(log_marginal, "ctypes", log_marginal) if hasattr(log_marginal, "address") else log_marginal
    if not (hasattr(function, "restype") and hasattr(function, "argtypes")):
        return None
    arguments = (ctypes.POINTER(ctypes.c_double), ctypes.c_int64)
    same = function.restype is ctypes.c_double and tuple(function.argtypes or ()) == arguments
    require(same, OWNER, "log_marginal", log_marginal, wanted)
    return ctypes.cast(function, ctypes.c_void_p).value


def _checked(log_marginal: Callable[[FloatArray], npt.ArrayLike]) -> Callable[[FloatArray], FloatArray]:
    """The user's batched function with its answer checked, so that a slip in it is not blamed on the core."""

    def call(sums: FloatArray) -> FloatArray:
        values = np.ascontiguousarray(log_marginal(sums), dtype=np.float64)
        k = len(sums)
        require(
            values.shape == (k,),
            OWNER,
            "log_marginal",
            values,
            f"return {k} numbers for {k} rows of statistics",
        )
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            statistics = np.array2string(sums[bad], threshold=6, precision=4)
            wanted = f"be finite for every sum of statistics, such as {statistics}"
            require(False, OWNER, "log_marginal", float(values[bad]), wanted)
        return values

    return call
