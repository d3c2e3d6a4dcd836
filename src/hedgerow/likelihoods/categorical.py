"""Clusters of columns that hold one of a few levels, entries may be missing: categorical law, Dirichlet measure.

Column by column, with theta the probabilities of its levels in a cluster,

    L(x | theta) = theta_x                             and 1 where x is missing
    H(theta)     = Dirichlet(theta | beta_1, ..., beta_L)          L levels, different for every column

With n_l observed entries of level l in a cluster, n of them in all, and B the sum of the betas,

    p(x) = Gamma(B) / Gamma(B + n)  prod_l Gamma(beta_l + n_l) / Gamma(beta_l)

Checked data are one float64 matrix. A column whose levels are numbers holds those numbers; a column whose levels
are names holds their positions 0, 1, ... in `levels`. The two cannot be taken for each other, so data that have
been checked once can be checked again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from hedgerow import _core
from hedgerow.arguments import check_choice
from hedgerow.data.mixed import Column, Level, level_names, read_columns
from hedgerow.data.tables import Names, entry_place
from hedgerow.data.views import as_labels
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, Likelihood, has_rows
from hedgerow.likelihoods.draws import log_gamma_draw
from hedgerow.likelihoods.hyperparameters import as_number
from hedgerow.reference import likelihoods as reference

__all__ = ["Categorical"]

OWNER = "Categorical"
UNSEEN = ("warn", "missing", "refuse")
#: Whole numbers up to here are exact in float64.
LARGEST_LEVEL = 2.0**53

Weights = tuple[float | tuple[float, ...], ...]
Levels = tuple[tuple[Level, ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Likelihood):
    """Clusters of columns of names, codes or ratings, independent of each other.

    X may hold text, whole numbers, booleans, or the categorical types of pandas and polars; None, NaN or NA
    marks an entry that was not observed, which says nothing.

    Parameters
    ----------
    beta : above 0, default the share of each level in its column
        The Dirichlet weights: a number for every level of every column, a sequence with a number for the levels
        of each column, or a sequence of sequences, one weight per level.
    levels : sequence of sequences, default those found in the data
        The levels of every column, all names or all numbers. By default those that the column's type declares
        (pandas and polars categoricals, booleans), else those that occur, in order.
    unseen : "warn", "missing" or "refuse"
        What becomes of an entry that is none of the levels, as new data may hold: an entry not observed, with a
        warning that counts them or without a word, or an error that names the column and the level.

    By default a cluster is expected to be like the whole column, and one observation outweighs that: the weights
    of a column sum to 1. Shares are (count + 1/L) / (observed + 1), so that none is 0; L levels that occur equally
    often get 1/L each.

    >>> Categorical().resolve([["red", 1], ["red", 2], ["blue", None]])
    Categorical(beta=((0.375, 0.625), (0.5, 0.5)), levels=(('blue', 'red'), (1, 2)), unseen='warn')

    >>> Categorical().resolve([["red"], ["blue"]]).codes([["red"], ["red"]])
    array([[1],
           [1]], dtype=int32)
    """

    beta: float | Weights | None = None
    levels: Levels | None = None
    unseen: str = "warn"

    columns_apart: ClassVar[bool] = True
    reads_names: ClassVar[bool] = True
    reads_tables: ClassVar[bool] = True

    @classmethod
    def example(cls) -> tuple[Categorical, Any]:
        """A column of names and one of codes, with gaps."""
        rows = [["a", 1], ["a", None], ["b", 3], ["c", 3], ["b", 1], [None, 2]]
        return cls(((0.4, 0.9, 0.3), 0.5)), rows

    def __post_init__(self) -> None:
        """Check each parameter that was given, and that weights and levels match."""
        put = object.__setattr__  # the dataclass is frozen
        check_choice(OWNER, "unseen", self.unseen, UNSEEN)
        if self.levels is not None:
            put(self, "levels", _as_levels(self.levels))
        if self.beta is not None:
            put(self, "beta", _as_weights(self.beta))
        if isinstance(self.beta, tuple) and self.levels is not None:
            self._match(self.beta, self.levels)

    @property
    def is_resolved(self) -> bool:
        """Whether the levels of every column and the weight of every level are known."""
        weights = isinstance(self.beta, tuple) and all(isinstance(part, tuple) for part in self.beta)
        return weights and self.levels is not None

    @property
    def n_columns(self) -> int | None:
        """The number of columns, once known."""
        if self.levels is not None:
            return len(self.levels)
        return len(self.beta) if isinstance(self.beta, tuple) else None

    def check(self, X: Any) -> FloatArray:
        """X as a float64 matrix: numbers, positions of names, NaN where an entry is missing."""
        return self._read(X)[0]

    def resolve(self, X: Any) -> Categorical:
        """The same likelihood with levels and weights that were left out taken from X."""
        data, levels = self._read(X)
        if self.is_resolved:
            return self
        codes = _codes(data, levels)
        beta: Weights
        if self.beta is None:
            beta = tuple(_shares(codes[:, j], len(levels[j])) for j in range(len(levels)))
        else:
            given = self.beta if isinstance(self.beta, tuple) else (self.beta,) * len(levels)
            self._match(given, levels)
            beta = tuple(part if isinstance(part, tuple) else (part,) * len(names) for part, names in zip(given, levels, strict=True))
        return replace(self, beta=beta, levels=levels)

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form."""
        beta, levels = self._values()
        codes = self.codes(X)
        # A column without any entry has no levels; the core wants one, which nothing takes.
        counts = np.array([max(len(names), 1) for names in levels], dtype=np.int32)
        return _core.Categorical(codes, counts, np.concatenate([part if len(part) else [1.0] for part in beta]), power)

    def reference(self, X: Any, power: float = 1.0) -> float:
        """See `Likelihood.reference`."""
        return reference.categorical_log_marginal(self.codes(X), self._values()[0], power)

    def for_columns(self, columns: Sequence[int]) -> Categorical:
        """Their own levels and weights."""
        beta, levels = self._values()
        return replace(self, beta=tuple(tuple(beta[j]) for j in columns), levels=tuple(levels[j] for j in columns))

    def firmer(self, times: float) -> Categorical:
        """All weights so many times as large."""
        return replace(self, beta=tuple(tuple((weights * times).tolist()) for weights in self._values()[0]))

    def shown_column(self, X: Any, j: int, name: str) -> tuple[FloatArray, list[str]]:
        """Zeros and ones for each level (`colour=red`), NaN where the entry is missing; for two levels, those of the second."""
        assert self.levels is not None
        levels = self.levels[j]
        if len(levels) < 2:
            return X[:, [j]], [name]
        codes = self.codes(X)[:, j]
        shown = range(len(levels)) if len(levels) > 2 else [1]
        values = np.column_stack([np.where(codes < 0, np.nan, codes == level) for level in shown])
        return values.astype(np.float64), [f"{name}={levels[level]}" for level in shown]

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Draw probabilities for each cluster from the base measure, then its rows, none missing."""
        beta, levels = self._values()
        labels = as_labels(labels, np.size(labels), OWNER)
        K = int(labels.max(initial=-1)) + 1
        X = np.full((len(labels), len(levels)), np.nan)
        for j, (weights, names) in enumerate(zip(beta, levels, strict=True)):
            if not names:
                continue
            ends = np.exp(_draw(np.broadcast_to(weights, (K, len(names))), rng)).cumsum(axis=1)
            # Scaled to the last end, so that rounding cannot leave a draw beyond every level.
            points = rng.random(len(labels)) * ends[labels, -1]
            X[:, j] = _entries(names)[(points[:, None] >= ends[labels]).sum(axis=1)]
        return X

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> tuple[FloatArray, ...]:
        """A draw of the log probabilities of each column's levels given the rows X of one cluster."""
        beta, _ = self._values()
        if has_rows(X):
            codes = self.codes(X)
            beta = tuple(weights + _counts(codes[:, j], len(weights)) for j, weights in enumerate(beta))
        return tuple(_draw(weights, rng) for weights in beta)

    def log_density(self, theta: tuple[FloatArray, ...], X: Any) -> FloatArray:
        """log L of every row of X; a missing entry adds nothing."""
        codes = self.codes(X)
        # The entry beyond the last level, which -1 reads, is that of a missing one.
        parts = [np.append(log_p, 0.0)[codes[:, j]] for j, log_p in enumerate(theta)]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    def codes(self, X: Any) -> npt.NDArray[np.int32]:
        """The position of every entry of X in the levels of its column; -1 where it is missing.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n, d) int32
        """
        self._need("levels")
        assert self.levels is not None
        return _codes(self.check(X), self.levels)

    def _values(self) -> tuple[tuple[FloatArray, ...], Levels]:
        """Weights of every level and the levels, all known."""
        self._need("beta", "levels")
        require(self.is_resolved, OWNER, "beta", self.beta, "be known here: call resolve(X) first")
        assert isinstance(self.beta, tuple)
        assert self.levels is not None
        return tuple(np.array(part, dtype=np.float64) for part in self.beta), self.levels

    def _match(self, beta: Weights, levels: Levels) -> None:
        """One weight, or one per level, for every column."""
        wanted = f"have {len(levels)} entries, one per column"
        require(len(beta) == len(levels), OWNER, "beta", self.beta, wanted)
        for j, (part, names) in enumerate(zip(beta, levels, strict=True)):
            good = not isinstance(part, tuple) or len(part) == len(names)
            require(good, OWNER, f"beta[{j}]", part, f"have {len(names)} weights, one per level")

    def _read(self, X: Any) -> tuple[FloatArray, Levels]:
        """Checked data and the levels of every column, those of X where none were given."""
        columns, names = read_columns(X, OWNER)
        d = self.n_columns
        plural = "column" if d == 1 else "columns"
        wanted = f"have {d} {plural}, as the model was resolved with"
        require(d is None or len(columns) == d, OWNER, "X", X, wanted)
        levels = self.levels or tuple(_found(column, j, names) for j, column in enumerate(columns))
        values = [
            self._fit(column, levels[j], j, names) if self.levels is not None else column.values for j, column in enumerate(columns)
        ]
        return np.stack(values, axis=1), levels

    def _fit(self, column: Column, levels: tuple[Level, ...], j: int, names: Names) -> FloatArray:
        """A column as it is in checked data, given its levels; entries that are none of them as `unseen` says."""
        seen = ~np.isnan(column.values)
        values = column.values.copy()
        if column.names is not None:
            position = {level: float(i) for i, level in enumerate(levels)}
            table = np.array([position.get(name, np.nan) for name in column.names])
            values[seen] = table[column.values[seen].astype(np.int64)]
        else:
            fine = np.isin(values, np.arange(len(levels)) if level_names(levels) else _entries(levels))
            values[~fine] = np.nan
        lost = seen & np.isnan(values)
        if lost.any() and self.unseen == "refuse":
            row = int(np.flatnonzero(lost)[0])
            wanted = (
                f"be one of the levels {_listed(levels)} ({entry_place(row, j, names)}; "
                f"Categorical(unseen='missing') would count it as missing)"
            )
            require(False, OWNER, f"X[{row}, {j}]", column.entry(row), wanted)
        if lost.any() and self.unseen == "warn":
            place = "" if names is None else f" {names[j]!r}"
            row = int(np.flatnonzero(lost)[0])
            what = f"{int(lost.sum()):,} of {len(lost):,} entries of column {j}{place} are none of its levels"
            warnings.warn(f"Taken for gaps: {what}, such as {column.entry(row)!r}.", stacklevel=2)
        return values


def _as_levels(levels: Any) -> Levels:
    """Levels as tuples of plain Python values, each column all names or all numbers, none twice."""
    good = _is_sequence(levels) and len(levels) > 0
    require(good, OWNER, "levels", levels, "be a sequence with the levels of every column")
    result = []
    for j, column in enumerate(levels):
        name = f"levels[{j}]"
        require(_is_sequence(column), OWNER, name, column, "be a sequence of names or of numbers")
        plain = tuple(level.item() if isinstance(level, np.generic) else level for level in column)
        texts = all(isinstance(level, str) for level in plain)
        numbers = all(isinstance(level, bool | int | float) for level in plain)
        numbers = numbers and all(abs(float(level)) <= LARGEST_LEVEL for level in plain)
        require(texts or numbers, OWNER, name, column, "be all names or all numbers (of at most 2**53)")
        if not texts:
            plain = tuple(int(level) if _is_whole(level) else level for level in plain)
        require(len(set(plain)) == len(plain), OWNER, name, column, "name no level twice")
        result.append(plain)
    return tuple(result)


def _is_sequence(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_whole(level: Level) -> bool:
    return isinstance(level, float) and level.is_integer()


def _as_weights(beta: Any) -> float | Weights:
    """A number, or for every column a number or a tuple of numbers, all above 0."""
    if not _is_sequence(beta):
        return as_number(OWNER, "beta", beta, 0)
    require(len(beta) > 0, OWNER, "beta", beta, "have an entry for every column")
    parts: list[float | tuple[float, ...]] = []
    for j, part in enumerate(beta):
        if _is_sequence(part):
            parts.append(tuple(as_number(OWNER, f"beta[{j}][{i}]", w, 0) for i, w in enumerate(part)))
        else:
            parts.append(as_number(OWNER, f"beta[{j}]", part, 0))
    return tuple(parts)


def _found(column: Column, j: int, names: Names) -> tuple[Level, ...]:
    """The levels of a column of data: as declared, else those that occur, in order."""
    if column.declared is not None:
        return column.declared
    if column.names is not None:
        return column.names
    values = column.values
    with np.errstate(invalid="ignore"):
        fine = np.isnan(values) | ((values == np.floor(values)) & (np.abs(values) <= LARGEST_LEVEL))
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        wanted = f"be a name or a whole number, as levels are ({entry_place(row, j, names)})"
        require(False, OWNER, f"X[{row}, {j}]", column.entry(row), wanted)
    return tuple(int(value) for value in np.unique(values[~np.isnan(values)]))


def _entries(levels: tuple[Level, ...]) -> FloatArray:
    """What stands for each level in checked data."""
    if level_names(levels):
        return np.arange(len(levels), dtype=np.float64)
    return np.array(levels, dtype=np.float64)


def _codes(data: FloatArray, levels: Levels) -> npt.NDArray[np.int32]:
    """Positions in the levels for checked data; -1 where missing."""
    codes = np.full(data.shape, -1, dtype=np.int32)
    for j, names in enumerate(levels):
        seen = ~np.isnan(data[:, j])
        entries = _entries(names)
        order = np.argsort(entries)
        codes[seen, j] = order[np.searchsorted(entries[order], data[seen, j])]
    return codes


def _counts(codes: npt.NDArray[np.int32], levels: int) -> FloatArray:
    return np.bincount(codes[codes >= 0], minlength=levels).astype(np.float64)


def _shares(codes: npt.NDArray[np.int32], levels: int) -> tuple[float, ...]:
    """Default weights of one column, summing to 1."""
    counts = _counts(codes, levels)
    return tuple(((counts + 1 / max(levels, 1)) / (counts.sum() + 1)).tolist())


def _draw(weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Logs of Dirichlet draws along the last axis."""
    if weights.shape[-1] == 0:
        return np.zeros(weights.shape)
    logs = log_gamma_draw(weights, rng)
    return np.asarray(logs - logsumexp(logs, axis=-1, keepdims=True), dtype=np.float64)


def _listed(levels: tuple[Level, ...]) -> str:
    """The first few levels, for an error."""
    shown = ", ".join(repr(level) for level in levels[:6])
    return shown + (f", ... ({len(levels)} in all)" if len(levels) > 6 else "") if levels else "(none)"
