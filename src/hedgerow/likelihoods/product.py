"""Mixed tables: groups of columns under likelihoods of their own, independent given the cluster.

    L(x | theta) = prod_g L_g(x_g | theta_g)           x_g the columns of group g
    H(theta)     = prod_g H_g(theta_g)

so p(X) of a cluster is the product of its groups' marginals. Checked data are one float64 matrix of the columns
in use, in the order that the table has them; each group's likelihood says what the numbers in its columns mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow import _core
from hedgerow.arguments import is_whole
from hedgerow.data.mixed import pick_columns, table_shape
from hedgerow.data.tables import feature_names
from hedgerow.data.views import as_labels
from hedgerow.errors import ParameterError, require
from hedgerow.likelihoods.base import FloatArray, Likelihood, bind_at, has_rows
from hedgerow.likelihoods.bernoulli import Bernoulli
from hedgerow.likelihoods.categorical import Categorical
from hedgerow.likelihoods.composed import Composed
from hedgerow.likelihoods.gaussian_diagonal import GaussianDiagonal
from hedgerow.likelihoods.poisson import Poisson

__all__ = ["Product"]

OWNER = "Product"

Columns = tuple[str | int, ...]
Part = tuple[Columns, Likelihood]


@dataclass(frozen=True, eq=False, repr=False)
class Product(Composed):
    """A likelihood for each group of columns of a mixed table.

    Parameters
    ----------
    parts : mapping, or sequence of pairs
        From the columns of a group to its likelihood. Columns are names, for data frames, or positions counted
        from 0, for any table; a single one may stand by itself. Columns in no group are left out of the model.
    columns : sequence, default from the data
        The columns in use, in the order of the table that the model was resolved with. Plain arrays given to a
        model of named columns must have just these.
    width : int, default that of the data
        With positions: how many columns tables have, those left out included.

    A data frame may have its columns in any order as long as they are named; with positions the order counts.
    Missing entries are welcome where the group's likelihood takes them. A `Multinomial` group is held dense here.

    >>> from pandas import DataFrame
    >>> from hedgerow.likelihoods import Categorical, GaussianWishart, Poisson
    >>> model = Product({("height", "weight"): GaussianWishart(), "sex": Categorical(), "visits": Poisson()})
    >>> people = DataFrame({"height": [1.6, 1.7, 1.8], "sex": ["f", None, "m"], "visits": [0, 2, 1]})
    >>> people["weight"] = [60.0, 70.0, 90.0]
    >>> model = model.resolve(people)
    >>> model.columns
    ('height', 'sex', 'visits', 'weight')
    >>> model.check(people)[1]
    array([ 1.7,  nan,  2. , 70. ])
    """

    parts: tuple[Part, ...]
    columns: Columns | None = None
    width: int | None = None

    reads_names: ClassVar[bool] = True
    reads_tables: ClassVar[bool] = True

    @classmethod
    def example(cls) -> tuple[Product, Any]:
        """A measurement, a code, a yes or no and a count, with gaps."""
        nan = np.nan
        rows = [[-1.2, 1, 0, 0], [-0.9, 1, 1, 1], [nan, nan, 0, 0], [0.2, 2, nan, 4], [1.0, 2, 1, 3], [1.6, 1, 1, nan]]
        height = GaussianDiagonal(mean=[0], r=0.3, a=1.5, b=0.25)
        parts = ((0, height), (1, Categorical(0.6)), (2, Bernoulli([0.8], [0.7])), (3, Poisson([0.9], [0.5])))
        return cls(parts), np.array(rows)  # type: ignore[arg-type]  # a single column may stand by itself

    def __post_init__(self) -> None:
        """Check that the groups are disjoint and hold likelihoods, and that `columns` are theirs."""
        put = object.__setattr__  # the dataclass is frozen
        put(self, "parts", _as_parts(self.parts))
        used: list[Any] = [column for columns, _ in self.parts for column in columns]
        kinds = {type(column) for column in used}
        require(len(kinds) == 1, OWNER, "parts", used, "give all columns by name or all by position")
        for column in used:
            require(used.count(column) == 1, OWNER, "parts", column, "have every column in one group only")
        if self.columns is not None:
            columns = _as_columns("columns", self.columns)
            require(set(columns) == set(used), OWNER, "columns", columns, "be the columns of the groups")
            put(self, "columns", columns)
        if self.width is not None:
            good = is_whole(self.width) and not self._named
            require(good, OWNER, "width", self.width, "be a whole number, with positions only")
            require(self.width > max(used), OWNER, "width", self.width, f"be above the last position {max(used)}")
            put(self, "width", int(self.width))

    @property
    def is_resolved(self) -> bool:
        """Whether every group is resolved and the order of the columns is known."""
        return self.columns is not None and all(part.is_resolved for _, part in self.parts)

    @property
    def n_columns(self) -> int | None:
        """The number of columns in use, once their order is known."""
        return None if self.columns is None else len(self.columns)

    def check(self, X: Any) -> FloatArray:
        """X as a float64 matrix of the columns in use, each group checked by its likelihood."""
        return self._read(X)[0]

    def check_new(self, X: Any, first: int | None = None) -> FloatArray:
        """See `Likelihood.check_new`."""
        return self._read(X, lambda part, columns: part.check_new(columns, first))[0]

    def resolve(self, X: Any) -> Product:
        """The same product with every group resolved on its columns of X."""
        _, columns, where = self._read(X)
        width = None if self._named else self.width or table_shape(X, OWNER)[1]
        if self.is_resolved:
            return self
        parts = []
        for group, part in self.parts:
            with _inside(group):
                parts.append((group, part.resolve(pick_columns(X, [where[c] for c in group], OWNER))))
        return Product(tuple(parts), columns, width)

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form."""
        self._known()
        data = self.check(X)
        return _core.Product([bind_at(part, data[:, places], power) for places, part in self.groups()])

    def reference(self, X: Any, power: float = 1.0) -> float | None:
        """The sum over the groups."""
        logs = [part.reference(X[:, places], power) for places, part in self.groups()]
        return None if None in logs else float(sum(log for log in logs if log is not None))

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Draw the parameters of each cluster from the base measure, then its rows, group by group."""
        columns = self._known()
        labels = as_labels(labels, np.size(labels), OWNER)
        X = np.empty((len(labels), len(columns)))
        for places, part in self.groups():
            X[:, places] = _dense(part.simulate(labels, rng))
        return X

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> tuple[Any, ...]:
        """A draw of every group's parameter given the rows X of one cluster; from the base measure if none."""
        columns = self._known()
        data = self.check(X) if has_rows(X) else np.empty((0, len(columns)))
        return tuple(part.sample_posterior(data[:, places], rng) for places, part in self.groups())

    def log_density(self, theta: tuple[Any, ...], X: Any) -> FloatArray:
        """log L of every row of X, the sum over the groups."""
        data = self.check(X)
        parts = zip(theta, self.groups(), strict=True)
        logs = [part.log_density(own, data[:, places]) for own, (places, part) in parts]
        return np.asarray(np.sum(logs, axis=0), dtype=np.float64)

    def groups(self) -> list[tuple[list[int], Likelihood]]:
        """Every group's columns as positions in checked data, and its likelihood."""
        self._need("columns")
        assert self.columns is not None
        place = {column: i for i, column in enumerate(self.columns)}
        return [([place[column] for column in columns], part) for columns, part in self.parts]

    @property
    def allows_missing(self) -> bool:  # type: ignore[override]
        """Where one of the groups does."""
        return any(part.allows_missing for part in self.factors())

    def _within(self) -> tuple[Likelihood, ...]:
        return self.factors()

    @property
    def picks_columns(self) -> str:  # type: ignore[override]
        """By name or by position."""
        return "name" if self._named else "position"

    def factors(self) -> tuple[Likelihood, ...]:
        """The likelihoods of the groups."""
        return tuple(part for _, part in self.parts)

    def factor_columns(self, names: Sequence[str | int] | None) -> list[Sequence[str | int]]:
        """As the groups were given."""
        return [columns for columns, _ in self.parts]

    def work(self, data: FloatArray) -> float:
        """The sum over the groups."""
        return sum(part.work(data[:, places]) for places, part in self.groups())

    def for_columns(self, columns: Sequence[int]) -> Product | None:
        """The groups that these columns are in, each for its own."""
        parts: list[tuple[Any, Likelihood]] = []
        for places, part in self.groups():
            inside = [j for j in columns if j in places]
            smaller = part.for_columns([places.index(j) for j in inside]) if inside else None
            if inside and smaller is None:
                return None
            if smaller is not None:
                parts.append((tuple(columns.index(j) for j in inside), smaller))
        return Product(tuple(parts), tuple(range(len(columns))), len(columns))

    def shown_column(self, X: Any, j: int, name: str) -> tuple[FloatArray, list[str]]:
        """As the group of the column shows it."""
        places, part = next(group for group in self.groups() if j in group[0])
        return part.shown_column(X[:, places], places.index(j), name)

    def used_columns(self) -> Columns | None:
        """The columns in use."""
        return self.columns

    def __repr__(self) -> str:
        """The call that makes this product."""
        inside = ", ".join(f"{columns!r}: {part!r}" for columns, part in self.parts)
        rest = "" if self.columns is None else f", columns={self.columns!r}"
        return f"Product({{{inside}}}{rest}{'' if self.width is None else f', width={self.width}'})"

    @property
    def _named(self) -> bool:
        return isinstance(self.parts[0][0][0], str)

    def _known(self) -> Columns:
        """The columns in their order, once every group is resolved."""
        self._need("columns")
        assert self.columns is not None
        for columns, part in self.parts:
            require(
                part.is_resolved,
                OWNER,
                f"parts[{columns!r}]",
                part,
                "be resolved here: call resolve(X) first",
            )
        return self.columns

    def _read(
        self, X: Any, check: Callable[[Likelihood, Any], Any] = lambda part, columns: part.check(columns)
    ) -> tuple[FloatArray, Columns, dict[str | int, int]]:
        """Checked data, the columns in their order, and where each of them stands in X."""
        n, found = table_shape(X, OWNER)
        require(n > 0, OWNER, "X", X, "have at least one row")
        where = self._by_name(X, found) if self._named else self._by_position(X, found)
        columns: Any = self.columns or tuple(sorted(where, key=lambda column: where[column]))
        place = {column: i for i, column in enumerate(columns)}
        data = np.empty((n, len(columns)))
        for group, part in self.parts:
            with _inside(group):
                checked = check(part, pick_columns(X, [where[column] for column in group], OWNER))
            data[:, [place[column] for column in group]] = _dense(checked)
        return data, columns, where

    def _by_name(self, X: Any, found: int) -> dict[str | int, int]:
        """Positions of the named columns; an array must have just these, in the order known."""
        names = feature_names(X)
        used = [column for columns, _ in self.parts for column in columns]
        if names is None:
            require(self.columns is not None, OWNER, "X", X, "be a data frame, as the columns are given by name")
            assert self.columns is not None
            wanted = f"have {len(used)} columns, as the model was resolved with ({_listed(self.columns)})"
            require(found == len(used), OWNER, "X", X, wanted)
            return {column: i for i, column in enumerate(self.columns)}
        for column in used:
            times = names.count(str(column))
            require(times > 0, OWNER, "X", X, f"have a column {column!r}; its columns are {_listed(names)}")
            require(times == 1, OWNER, "X", X, f"have one column {column!r}, not {times}")
        return {column: names.index(str(column)) for column in used}

    def _by_position(self, X: Any, found: int) -> dict[str | int, int]:
        """Positions as given, or those in checked data, where columns left out are gone."""
        used: list[Any] = sorted(column for columns, _ in self.parts for column in columns)
        if self.columns is not None and found == len(used):
            return {column: i for i, column in enumerate(self.columns)}
        if self.width is not None:
            wanted = f"have {self.width} columns, as the model was resolved with"
            require(found == self.width, OWNER, "X", X, wanted)
        last = int(used[-1])
        require(found > last, OWNER, "X", X, f"have a column {last}, counted from 0")
        return {column: int(column) for column in used}


@contextmanager
def _inside(columns: Columns) -> Iterator[None]:
    """Errors of a group's likelihood say which group; the columns that they count are those of the group."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"Product, in the group {columns!r}: {error}") from error


def _dense(data: Any) -> Any:
    return data.toarray() if sparse.issparse(data) else data


def _listed(names: Columns) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def _as_parts(parts: Any) -> tuple[Part, ...]:
    """Groups and their likelihoods, from a mapping or pairs."""
    pairs = list(parts.items()) if isinstance(parts, Mapping) else parts
    shape = "be a mapping from columns to likelihoods, or a sequence of such pairs"
    good = isinstance(pairs, list | tuple) and len(pairs) > 0
    require(good and all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs), OWNER, "parts", parts, shape)
    result = []
    for columns, part in pairs:
        name = f"parts[{columns!r}]"
        if isinstance(part, type) and issubclass(part, Likelihood):
            require(False, OWNER, name, part, f"be an instance, not the class: write {part.__name__}()")
        require(isinstance(part, Likelihood), OWNER, name, part, "be a likelihood, such as Poisson()")
        require(not isinstance(part, Product), OWNER, name, part, "not be a Product itself: list its groups here")
        group = _as_columns("parts", columns)
        d = part.n_columns
        require(d is None or d == len(group), OWNER, name, part, f"have {len(group)} columns, as its group has")
        result.append((group, part))
    return tuple(result)


def _as_columns(name: str, columns: Any) -> Any:
    """A tuple of names, or of positions from 0 up; a single one may stand by itself."""
    single = isinstance(columns, str | int | np.integer)
    group = (columns,) if single else tuple(columns) if isinstance(columns, list | tuple | range | np.ndarray) else ()
    require(len(group) > 0, OWNER, name, columns, "name at least one column in each group")
    plain = tuple(int(c) if isinstance(c, np.integer) else str(c) if isinstance(c, np.str_) else c for c in group)
    names = all(isinstance(c, str) for c in plain)
    positions = all(isinstance(c, int) and not isinstance(c, bool) and c >= 0 for c in plain)
    wanted = "give columns by name, or by position counted from 0, and not both in one group"
    require(names or positions, OWNER, name, columns, wanted)
    return plain
