"""What every likelihood can do: the questions that others ask of one.

A likelihood is the pair (L, H) of a mixture: the law L(x | theta) of one observation and the conjugate base
measure H(theta). It is a frozen value. Hyper-parameters left out (None) are filled in from data by `resolve`,
which returns a new likelihood on which they can be read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow import _core
from hedgerow.data.views import as_dense
from hedgerow.docstrings import explained
from hedgerow.errors import require

__all__ = ["FloatArray", "Likelihood"]

FloatArray = npt.NDArray[np.float64]
_of_data = explained("data : checked data", "float")
_at_power = partial(explained, "X : table\npower : float in (0, 1]")


class Likelihood(ABC):
    """The law of the observations in a cluster, with its parameter integrated over the base measure.

    The built-in ones are those of `hedgerow.likelihoods.LIKELIHOODS`; `Custom` makes one from a user's own functions.
    What others want to know of a likelihood they ask it, below; they do not look at its class.

    >>> import hedgerow as hr
    >>> rng = np.random.default_rng(0)
    >>> X = hr.data.iris().X
    >>> normal = hr.GaussianDiagonal().resolve(X)
    >>> round(normal.log_marginal(X[:2]), 3) == round(normal.reference(normal.check(X[:2])), 3)
    True
    >>> normal.simulate([0, 0, 1], rng).shape
    (3, 4)
    >>> theta = normal.sample_posterior(X[:50], rng)
    >>> normal.log_density(theta, X[:2]).shape, type(normal.bind(X)).__name__
    ((2,), 'Likelihood')
    >>> normal.for_columns([0]).n_columns, normal.expected_variances().shape, normal.total(X) >= 0, normal.work(X)
    (1, (4,), True, 600.0)
    >>> normal.groups()[0][0], len(normal.factors()), normal.factor_columns(None), normal.used_columns()
    ([0, 1, 2, 3], 1, [range(0, 4)], None)
    >>> normal.check_new(X[:2]).shape, normal.shown_column(X, 0, "length")[1]
    ((2, 4), ['length'])
    >>> hr.GaussianDiagonal.example()[1].shape
    (6, 2)
    """

    allows_missing: ClassVar[bool] = True
    """Whether entries may be missing (NaN)."""
    takes_sparse: ClassVar[bool] = False
    """Whether X is counts that stay sparse."""
    reads_names: ClassVar[bool] = False
    """Whether entries may be names."""
    reads_tables: ClassVar[bool] = False
    """Whether X must come as the user has it, since columns or entries of any kind may mean something."""
    picks_columns: ClassVar[str | None] = None
    """How it finds its columns in a wider table by itself: by "name", by "position", or None where it takes all of them."""
    has_atoms: ClassVar[bool] = True
    """Whether the core can draw its parameters, which `Slice` and shards need."""
    columns_apart: ClassVar[bool] = False
    """Whether columns are independent of each other within a cluster."""
    from_values: ClassVar[bool] = True
    """Whether plain values say all of it, so that a file can hold it and a command line can ask for it."""
    allows_power: ClassVar[bool] = True
    """Whether densities can be raised to a power below 1, as `Mixture(power=...)` asks."""
    travels: ClassVar[bool] = True
    """Whether it means the same in another process."""
    largest_total: ClassVar[float] = np.inf
    """What `total` may come to over all rows."""

    @classmethod
    def example(cls) -> tuple[Likelihood, Any] | None:
        """A likelihood and six rows whose posterior is spread over dozens of partitions, for the exam and the tests.

        None for a class that is nothing without a user's functions.

        Returns
        -------
        (Likelihood, table) or None
        """
        return None

    @property
    def is_resolved(self) -> bool:
        """Whether every hyper-parameter has its value. As it stands here, for one where only the number of columns is open."""
        return self.n_columns is not None

    @property
    @abstractmethod
    def n_columns(self) -> int | None:
        """The number of columns that X must have; None while that is open."""

    def check(self, X: Any) -> Any:
        """X as the core reads it, or a `ParameterError` that says what is wrong and where; as it stands here, a matrix of numbers.

        Parameters
        ----------
        X : table

        Returns
        -------
        array or sparse matrix
        """
        return as_dense(X, type(self).__name__, missing=self.allows_missing, columns=self.n_columns)

    def check_new(self, X: Any, first: int | None = None) -> Any:
        """The same for new rows, each read as if it came alone.

        Parameters
        ----------
        X : table
        first : int, optional
            The number of rows before these, where rows keep coming: equal rows need not be read alike then.

        Returns
        -------
        array or sparse matrix
        """
        return self.check(X)

    def resolve(self, X: Any) -> Self:
        """The same likelihood with every hyper-parameter that was left out taken from X.

        Parameters
        ----------
        X : table

        Returns
        -------
        Likelihood
        """
        data = self.check(X)
        found = self if self.is_resolved else self._filled(data)
        found._check_reach(data)
        return found

    def _filled(self, data: Any) -> Self:
        """With what was left out taken from checked data."""
        return self

    def _check_reach(self, data: Any) -> None:  # noqa: B027
        """Refuse hyper-parameters under which checked data would leave the floats, or lose their digits."""

    @abstractmethod
    @_at_power("_core.Likelihood")
    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form; it must be resolved. Every density is raised to `power`."""

    def reference(self, X: Any, power: float = 1.0) -> float | None:
        """log p(X) of checked rows in one cluster by the readable twin (`hedgerow.reference`); None where there is none.

        Parameters
        ----------
        X : checked data
        power : float in (0, 1]

        Returns
        -------
        float or None
        """
        return None

    def groups(self) -> list[tuple[list[int], Likelihood]]:
        """The independent parts it is made of: columns as positions in checked data, and their likelihood.

        Returns
        -------
        list of (positions, Likelihood)
        """
        return [(list(range(self.n_columns or 0)), self)]

    def factors(self) -> tuple[Likelihood, ...]:
        """The likelihoods of `groups`, also before the columns are known.

        Returns
        -------
        tuple of likelihoods
        """
        return (self,)

    def factor_columns(self, names: Sequence[str | int] | None) -> list[Sequence[str | int]]:
        """The columns of each factor, by the names of the table or their positions in it.

        Parameters
        ----------
        names : sequence of str, or None
            Of the columns of the table.

        Returns
        -------
        list of sequences
        """
        return [range(self.n_columns or 0) if names is None else names]

    def for_columns(self, columns: Sequence[int]) -> Likelihood | None:
        """The likelihood of some of its columns, the others integrated out; None where that is not of a kind known here.

        Parameters
        ----------
        columns : sequence of int

        Returns
        -------
        Likelihood or None
        """
        return None

    def firmer(self, times: float) -> Likelihood | None:
        """The same with what is expected of clusters worth so many times as many rows; None where that is said in another way.

        Parameters
        ----------
        times : float above 0
            The larger, the more alike clusters are expected to be.

        Returns
        -------
        Likelihood or None

        >>> from hedgerow.likelihoods import Bernoulli
        >>> Bernoulli(0.5, 0.5).resolve([[0], [1]]).firmer(4.0)
        Bernoulli(a=[2.], b=[2.])
        """
        return None

    def expected_variances(self) -> FloatArray | None:
        """The variance of each column that the base measure expects within a cluster; None where columns are not measurements.

        Returns
        -------
        (d,) or None
        """
        return None

    def shown_column(self, X: Any, j: int, name: str) -> tuple[FloatArray, list[str]]:
        """Column j of checked data as tables and pictures show it, and its names: what has no mean becomes columns that have one.

        Parameters
        ----------
        X : checked data
        j : int
        name : str
            Of the column.

        Returns
        -------
        (n, m) array and its m names
        """
        return X[:, [j]], [name]

    def used_columns(self) -> tuple[str | int, ...] | None:
        """Names or positions of the columns of checked data in the table they were picked from; None where nothing is picked.

        Returns
        -------
        tuple or None
        """
        return None

    @_of_data
    def work(self, data: Any) -> float:
        """What a sweep over these rows costs, in entries of columns that are apart."""
        return float(data.nnz if sparse.issparse(data) else data.size)

    @_of_data
    def total(self, data: Any) -> float:
        """What must not exceed `largest_total` over all rows."""
        return 0.0

    @abstractmethod
    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> Any:
        """New data for a given partition: a parameter for each cluster from H, then each row from L.

        Parameters
        ----------
        labels : (n,)
        rng : numpy.random.Generator

        Returns
        -------
        (n, d) table
        """

    @abstractmethod
    def sample_posterior(self, X: Any, rng: np.random.Generator) -> Any:
        """A draw of the parameter given the rows X of one cluster; from H itself if X has no rows.

        Parameters
        ----------
        X : table
        rng : numpy.random.Generator

        Returns
        -------
        theta
            In a form of the likelihood's own, which its `log_density` takes.
        """

    @abstractmethod
    def log_density(self, theta: Any, X: Any) -> FloatArray:
        """log L(x | theta) of every row of X.

        Parameters
        ----------
        theta :
            As `sample_posterior` gives it.
        X : table

        Returns
        -------
        (n,)
        """

    @_at_power("float")
    def log_marginal(self, X: Any, power: float = 1.0) -> float:
        """log p(X) with all rows in one cluster and its parameter integrated out, every row's density raised to `power`."""
        bound = bind_at(self, X, power)
        wanted = "have no missing entries that are filled in by draws: log p(X) has no closed form then"
        require(getattr(bound, "n_imputed", 0) == 0, type(self).__name__, "X", X, wanted)
        return float(bound.log_marginals(np.zeros(bound.n_rows, dtype=np.int32))[0])

    def __eq__(self, other: object) -> bool:
        """Equal if of the same class and every hyper-parameter is equal, arrays entry by entry."""
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(value, vars(other)[name]) for name, value in vars(self).items())

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equal by value, so not hashable

    def __repr__(self) -> str:
        """The call that makes this likelihood, long arrays shortened."""
        inside = ", ".join(f"{name}={_short(value)}" for name, value in vars(self).items())
        return f"{type(self).__name__}({inside})"

    def _need(self, *names: str) -> None:
        """Refuse to go on while one of these hyper-parameters is open."""
        for name in names:
            value = getattr(self, name)
            require(value is not None, type(self).__name__, name, value, "be known here: call resolve(X) first")


def bind_at(likelihood: Likelihood, X: Any, power: float) -> _core.Likelihood:
    """`bind` at a power; a likelihood of somebody's own that knows no powers is asked for none at power 1."""
    return likelihood.bind(X) if power == 1 else likelihood.bind(X, power)


def has_rows(X: Any) -> bool:
    """Whether a cluster's rows are any at all; data frames and sparse matrices have a shape too."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return bool(len(shape) == 0 or shape[0] > 0)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)


def _short(value: object) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, threshold=9, edgeitems=2, precision=4, separator=", ")
        return " ".join(text.split())
    return repr(value)
