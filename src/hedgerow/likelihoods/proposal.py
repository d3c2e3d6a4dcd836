"""likelihood_for: a likelihood for a table that nobody has described, and the reason for every choice in it.

The rules look at one column after another and ask what its entries can be, in the order of `_column`; then columns
of one kind are put together. They cannot know what a number means, so they say what they took it for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.data.mixed import Column, pick_columns, read_columns, table_shape
from hedgerow.data.tables import feature_names
from hedgerow.data.views import as_counts
from hedgerow.errors import ParameterError, require
from hedgerow.likelihoods.base import FloatArray, Likelihood
from hedgerow.likelihoods.bernoulli import Bernoulli
from hedgerow.likelihoods.categorical import Categorical
from hedgerow.likelihoods.gaussian_diagonal import GaussianDiagonal
from hedgerow.likelihoods.gaussian_wishart import GaussianWishart
from hedgerow.likelihoods.multinomial import Multinomial
from hedgerow.likelihoods.poisson import Poisson
from hedgerow.likelihoods.product import Product

__all__ = ["Proposal", "Reason", "likelihood_for"]

OWNER = "likelihood_for"
LEFT_OUT = "left out"
MEASUREMENT = "measurement"

#: Whole numbers are taken for counts up to this mean: beyond it a Poisson law is narrower than most data.
LARGEST_MEAN = 30.0
#: Consecutive whole numbers from 1 up are taken for codes or ratings up to this many.
MOST_CODES = 10
#: Names are taken for identifiers if more than half of the rows have one of their own, and there are this many.
MOST_NAMES = 20
#: How dates are written in files: the year first or last, and what comes after them.
DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(\D|$)")
#: A full covariance is proposed up to this many columns, and with this many rows for each of them.
MOST_CORRELATED = 20
ROWS_PER_COLUMN = 5
#: This many columns of counts, most of them 0, look like the words of documents.
LEAST_WORDS = 30
#: Whole numbers are on a common scale, not counts, if at least half of so many columns end at the same number and
#: so large a share of their entries sits there: counts thin out towards their largest, scales do not.
LEAST_SCALED = 4
SHARE_AT_THE_TOP = 0.02
ENTRIES_TO_TELL = 200


@dataclass(frozen=True)
class Reason:
    """Why a group of columns has its likelihood, or none."""

    columns: tuple[str | int, ...]
    choice: str
    why: str


@dataclass(frozen=True, repr=False)
class Proposal:
    """A likelihood and the reasons for it, as `likelihood_for` proposes them; print it to read them."""

    likelihood: Likelihood
    reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        """The likelihood, then a line for every group of columns."""
        rows = [(_listed(reason.columns), reason.choice, reason.why) for reason in self.reasons]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        lines = [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {why}" for a, b, why in rows]
        return "\n".join([_call(self.likelihood), *lines])

    __repr__ = __str__


def likelihood_for(X: Any) -> Proposal:
    """Propose a likelihood for X and say why, column by column.

    X is a data frame, an array or a sparse matrix of counts. Nothing is resolved: the proposal holds the call that
    one would write oneself, to be changed where the reasons are wrong.

    >>> from pandas import DataFrame
    >>> proposal = likelihood_for(DataFrame({
    ...     "id": ["a1", "b7", "c3"] * 10 + [f"d{i}" for i in range(30)],
    ...     "height": [1.62, 1.71, 1.58, 1.85, 1.77, 1.69] * 10,
    ...     "smoker": [True, False, False] * 20,
    ...     "visits": [0, 3, 1, 0] * 15,
    ... }))
    >>> print(proposal)
    Product({('height',): GaussianWishart(), ('smoker',): Bernoulli(), ('visits',): Poisson()})
      id      left out         33 different names in 60 rows, like identifiers
      height  GaussianWishart  measurements
      smoker  Bernoulli        yes or no
      visits  Poisson          whole numbers from 0 to 3, mean 1.0: taken for counts
    """
    if sparse.issparse(X):
        as_counts(X, OWNER)
        why = "a sparse matrix of counts, such as words in documents"
        return Proposal(Multinomial(), (Reason(tuple(range(X.shape[1])), "Multinomial", why),))
    found, names = _read(X)
    labels: tuple[str | int, ...] = names if names is not None else tuple(range(len(found)))
    top = _common_top(found)
    if top is None and _like_words(found):
        why = f"{len(found)} columns of counts, most of them 0: taken for words in documents or the like"
        return Proposal(Multinomial(), (Reason(labels, "Multinomial", why),))
    kinds = [column if isinstance(column, str) else _column(column) for column in found]
    if top is not None:
        kinds = [_rescaled(kind, top) for kind in kinds]
    return _join(labels, kinds, found)


def _read(X: Any) -> tuple[list[Column | str], tuple[str, ...] | None]:
    """The columns of X; in place of one that no likelihood can read, the reason why."""
    n, d = table_shape(X, OWNER)
    require(n > 0, OWNER, "X", X, "have at least one row")
    require(d > 0, OWNER, "X", X, "have at least one column")
    names = feature_names(X)
    require(len(set(names or ())) == len(names or ()), OWNER, "X", X, "have a different name for every column")
    found: list[Column | str] = []
    for j in range(d):
        try:
            (column,), _ = read_columns(pick_columns(X, [j], OWNER), OWNER)
            found.append(column if names is not None else replace(column, place=f"X[:, {j}]"))
        except ParameterError as error:
            found.append(_fault(error))
    return found, names


def _fault(error: ParameterError) -> str:
    """The middle of the house's sentence: what an unreadable column should have held."""
    text = str(error)
    return "must " + text.partition(" must ")[2].partition(". Got ")[0]


def _column(column: Column) -> tuple[str, str]:
    """The likelihood of one column and the reason; LEFT_OUT instead of a likelihood."""
    seen = column.values[~np.isnan(column.values)]
    different = len(np.unique(seen))
    if different == 0:
        return LEFT_OUT, "no entry at all"
    if column.boolean:
        return "Bernoulli", "yes or no"
    if different == 1:
        return LEFT_OUT, "the same in every row"
    if column.names is not None:
        if all(DATE.match(name) for name in column.names):
            return LEFT_OUT, "dates: make numbers of them, such as days since a start, to use them"
        if different > MOST_NAMES and different > len(seen) / 2:
            return LEFT_OUT, f"{different} different names in {len(seen)} rows, like identifiers"
        return "Categorical", f"names, {different} different ones"
    if column.declared is not None:
        return "Categorical", f"declared as categories, {different} different ones"
    require(bool(np.isfinite(seen).all()), OWNER, column.place, np.inf, "be finite")
    return _numbers(seen, different)


def _numbers(seen: FloatArray, different: int) -> tuple[str, str]:
    """The likelihood of a column of numbers that vary."""
    low, high, mean = float(seen.min()), float(seen.max()), float(seen.mean())
    if low == 0 and high == 1 and different == 2:
        return "Bernoulli", "only 0 and 1"
    if not (seen == np.floor(seen)).all():
        return MEASUREMENT, "measurements"
    between = f"whole numbers from {low:g} to {high:g}"
    if different == len(seen) > 2 and (np.diff(seen) == 1).all():
        return LEFT_OUT, "counts up by one from row to row, like a row number"
    without_gaps = different <= MOST_CODES and different == high - low + 1
    if different == 2 or (low > 0 and without_gaps):
        return "Categorical", f"{different} different {between}: taken for codes or ratings"
    if low >= 0 and mean <= LARGEST_MEAN:
        return "Poisson", f"{between}, mean {mean:.1f}: taken for counts"
    reason = "some negative" if low < 0 else f"mean {mean:.3g}"
    return MEASUREMENT, f"measurements ({between}, {reason})"


def _common_top(columns: list[Column | str]) -> float | None:
    """The number at which the scale of several columns of whole numbers ends; None if they share no such scale."""
    counts = [column.values for column in columns if isinstance(column, Column) and _is_count(column)]
    counts = [values for values in counts if np.nanmin(values) < np.nanmax(values)]
    if len(counts) < LEAST_SCALED:
        return None
    highest = np.array([np.nanmax(values) for values in counts])
    top = float(highest.max())
    entries = np.concatenate([values[~np.isnan(values)] for values in counts])
    shared = float((highest == top).mean()) >= 0.5
    crowded = len(entries) >= ENTRIES_TO_TELL and float((entries == top).mean()) >= SHARE_AT_THE_TOP
    return top if top > 2 and shared and crowded else None


def _is_count(column: Column) -> bool:
    """Whether all entries are whole numbers from 0 up, and some are there."""
    if column.boolean or column.names is not None or column.declared is not None:
        return False
    seen = column.values[~np.isnan(column.values)]
    return bool(len(seen)) and bool(np.isfinite(seen).all() and (seen >= 0).all() and (seen == np.floor(seen)).all())


def _rescaled(kind: tuple[str, str] | str, top: float) -> tuple[str, str] | str:
    """What was taken for counts, now that it is known to lie on a scale."""
    if isinstance(kind, str) or kind[0] != "Poisson":
        return kind
    scale = f"whole numbers on a scale up to {top:g} that columns share"
    if top < MOST_CODES:
        return "Categorical", f"{scale}: taken for codes or ratings"
    return MEASUREMENT, f"measurements ({scale}, like pixels or scores)"


def _like_words(columns: list[Column | str]) -> bool:
    """Whether a whole table is counts, most of them 0: its columns are then alternatives, not variables."""
    plain = [c.values for c in columns if isinstance(c, Column) and c.names is None and c.declared is None]
    if not len(plain) == len(columns) >= LEAST_WORDS:
        return False
    values = np.stack(plain, axis=1)
    counts = np.isfinite(values).all() and (values >= 0).all() and (values == np.floor(values)).all()
    return bool(counts) and bool((values == 0).mean() > 0.5) and bool(values.max() > 1)


def _join(labels: tuple[str | int, ...], kinds: list[tuple[str, str] | str], found: list[Column | str]) -> Proposal:
    """Columns of one kind into one group, in order of first appearance."""
    groups: dict[str, list[int]] = {}
    reasons: dict[tuple[str, str], list[str | int]] = {}
    measured = [i for i, kind in enumerate(kinds) if kind[0] == MEASUREMENT]
    family, suffix = _measurements([column.values for column in _of(found, measured)])
    for i, kind in enumerate(kinds):
        choice, why = (LEFT_OUT, kind) if isinstance(kind, str) else kind
        if choice == MEASUREMENT:
            choice, why = family, why + suffix
        reasons.setdefault((choice, why), []).append(labels[i])
        if choice != LEFT_OUT:
            groups.setdefault(choice, []).append(i)
    told = tuple(Reason(tuple(columns), choice, why) for (choice, why), columns in reasons.items())
    require(bool(groups), OWNER, "X", labels, f"have a column to cluster by ({'; '.join(r.why for r in told)})")
    if len(groups) == 1 and sum(len(group) for group in groups.values()) == len(labels):
        return Proposal(_FAMILIES[next(iter(groups))](), told)
    parts = tuple((tuple(labels[i] for i in group), _FAMILIES[choice]()) for choice, group in groups.items())
    return Proposal(Product(parts), told)


def _of(found: list[Column | str], which: list[int]) -> list[Column]:
    return [column for i in which if isinstance(column := found[i], Column)]


def _measurements(values: list[FloatArray]) -> tuple[str, str]:
    """Which Gaussian likelihood for all columns of measurements together, and why."""
    d, n = len(values), len(values[0]) if values else 0
    if any(np.isnan(column).any() for column in values):
        return "GaussianDiagonal", "; columns apart, since some entries are missing"
    if d > MOST_CORRELATED:
        return "GaussianDiagonal", f"; columns apart, since {d} are many to correlate"
    if n < ROWS_PER_COLUMN * d:
        return "GaussianDiagonal", f"; columns apart, since {n} rows are few to correlate {d} columns"
    return "GaussianWishart", "; correlated within a cluster" if d > 1 else ""


_FAMILIES: dict[str, type[Any]] = {
    "Bernoulli": Bernoulli,
    "Categorical": Categorical,
    "GaussianDiagonal": GaussianDiagonal,
    "GaussianWishart": GaussianWishart,
    "Poisson": Poisson,
}


def _call(likelihood: Likelihood) -> str:
    """The call without the parameters that are open."""
    if isinstance(likelihood, Product):
        inside = ", ".join(f"{_key(columns)}: {type(part).__name__}()" for columns, part in likelihood.parts)
        return f"Product({{{inside}}})"
    return f"{type(likelihood).__name__}()"


def _key(columns: tuple[str | int, ...]) -> str:
    """The columns of a group, long lists shortened."""
    if len(columns) <= 6:
        return repr(columns)
    return f"({', '.join(repr(column) for column in columns[:4])}, ..., {columns[-1]!r})"


def _listed(columns: tuple[str | int, ...]) -> str:
    """Names, or positions, long lists shortened."""
    names = [str(column) for column in columns]
    if len(names) > 6:
        names = [*names[:4], "...", names[-1]]
    return ", ".join(names)
