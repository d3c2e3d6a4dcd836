"""likelihood_for: a likelihood for a table that nobody has described, and the reason for every choice in it.

What each column holds is found out by `hedgerow.data.understand`; here every kind gets its likelihood, and columns of one kind are
put together. Neither can know what a number means, so they say what they took it for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.data.kinds import COS, SIN, Reading, understand
from hedgerow.data.kinds import LEFT_OUT as LEFT_OUT_KINDS
from hedgerow.data.mixed import read_columns
from hedgerow.data.views import as_counts
from hedgerow.errors import ParameterError, require
from hedgerow.likelihoods.base import FloatArray, Likelihood
from hedgerow.likelihoods.bernoulli import Bernoulli
from hedgerow.likelihoods.categorical import Categorical
from hedgerow.likelihoods.gaussian_diagonal import GaussianDiagonal
from hedgerow.likelihoods.gaussian_wishart import GaussianWishart
from hedgerow.likelihoods.multinomial import Multinomial
from hedgerow.likelihoods.poisson import Poisson
from hedgerow.likelihoods.preparation import Preparation
from hedgerow.likelihoods.prepared import Prepared
from hedgerow.likelihoods.preparing import follows_from_others, preparation_of, told
from hedgerow.likelihoods.principal import Principal, directions_in_common
from hedgerow.likelihoods.product import Product

__all__ = ["Proposal", "Reason", "likelihood_for"]

OWNER = "likelihood_for"
LEFT_OUT = "left out"
SAME = "the same in every row"
#: What a kind of column is drawn from; the Gaussian family is chosen for all measurements together.
CHOICES = {"category": "Categorical", "boolean": "Bernoulli", "count": "Poisson"}

MEASURED = ("number", "time", "cycle")
#: A full covariance is proposed with this many rows for each column.
ROWS_PER_COLUMN = 5
LEAST_ROWS = 20  # to tell what columns share
MOST_LACKING = 0.4  # of all entries may be gaps or spikes for that
MOST_ROWS = 20_000  # that are looked at to find out how measurements are best described
#: This many columns of counts, most of them 0, look like the words of documents.
LEAST_WORDS = 30


@dataclass(frozen=True)
class Reason:
    """Why a group of columns has its likelihood, or none.

    Attributes
    ----------
    columns : tuple of names or positions
    choice, why : str

    >>> Reason(("height",), "GaussianWishart", "measurements").choice
    'GaussianWishart'
    """

    columns: tuple[str | int, ...]
    choice: str
    why: str


@dataclass(frozen=True, repr=False)
class Proposal:
    """A likelihood and the reasons for it, as `likelihood_for` proposes them; print it to read them.

    Attributes
    ----------
    likelihood : Likelihood
    reasons : tuple of Reason
    X : table
        As the likelihood takes it.
    reading : Reading or None
        What the columns were taken for.
    apart : str
        Why columns of measurements are taken apart though rows are many enough to correlate them; empty if they are not.
    aside : mapping
        Columns left out of the likelihood though they could be used, and why.
    shared : str
        Why clusters are expected to have one covariance in common; empty if they are not.

    >>> type(likelihood_for([[1.5, 2.5], [0.5, 3.5], [4.5, 1.0]]).likelihood).__name__
    'Prepared'
    """

    likelihood: Likelihood
    reasons: tuple[Reason, ...]
    X: Any = field(default=None, compare=False)
    """The table to sample: X itself, or its columns as they were understood (dates as numbers, texts as levels)."""
    reading: Reading | None = field(default=None, compare=False)
    """How the columns were understood; ``reading.table(new)`` reads new rows the same way."""
    apart: str = field(default="", compare=False, repr=False)
    """Why columns of measurements are taken apart though rows are many enough to correlate them; empty if they are not."""
    aside: Mapping[str | int, str] = field(default_factory=dict, compare=False, repr=False)
    """Columns left out of the likelihood though they could be used, and why."""
    shared: str = field(default="", compare=False, repr=False)
    """Why clusters are expected to have one covariance in common; empty if they are not."""

    def __str__(self) -> str:
        """The likelihood, then a line for every group of columns."""
        rows = [(listed(reason.columns), reason.choice, reason.why) for reason in self.reasons]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        lines = [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {why}" for a, b, why in rows]
        return "\n".join([call(self.likelihood), *lines])

    __repr__ = __str__


def likelihood_for(X: Any, columns: Mapping[Any, str] | None = None, *, owner: str = OWNER) -> Proposal:
    """Propose a likelihood for X and say why, column by column.

    X is a data frame, an array, a list of rows or a sparse matrix of counts; `columns` says what columns are where a guess would be
    wrong, as for `hedgerow.data.understand`. Nothing is resolved: the proposal holds the call that one would write oneself, to be
    changed where the reasons are wrong, and in `X` the table to use it on. `hedgerow.propose` makes a whole model of it.

    Parameters
    ----------
    X : table
    columns : mapping, optional
    owner : str
        Who asks, for the words of errors.

    Returns
    -------
    Proposal

    >>> from pandas import DataFrame
    >>> proposal = likelihood_for(DataFrame({
    ...     "id": ["a1", "b7", "c3"] * 10 + [f"d{i}" for i in range(30)],
    ...     "height": [1.62, 1.71, 1.58, 1.85, 1.77, 1.69] * 10,
    ...     "smoker": [True, False, False] * 20,
    ...     "visits": [0, 3, 1, 0] * 15,
    ... }))
    >>> print(proposal)
    Product({('height',): Prepared(GaussianWishart(), ...), ('smoker',): Bernoulli(), ('visits',): Poisson()})
      id      left out         33 different names in 60 rows, like identifiers
      height  GaussianWishart  measurements; in steps of 0.01
      smoker  Bernoulli        yes or no
      visits  Poisson          whole numbers from 0 to 3, mean 1.0: taken for counts
    """
    if sparse.issparse(X):
        try:
            as_counts(X, owner)
        except ParameterError as error:
            raise ParameterError(f"{error} Sparse X is taken for counts: give X.toarray() if it is not.") from error
        why = "a sparse matrix of counts, such as words in documents"
        return Proposal(Multinomial(), (Reason(tuple(range(X.shape[1])), "Multinomial", why),), X)
    reading = understand(X, columns, owner=owner)
    table: Any = X if reading.plain else reading.read(X)[0]
    reading = _with_something(reading)
    used = [column for column in reading.columns if column.kind not in LEFT_OUT_KINDS]
    if not used and reading.plain and all(column.why == SAME and column.how["read"] == "as is" for column in reading.columns):
        labels = tuple(column.name for column in reading.columns)
        return Proposal(GaussianWishart(), (Reason(labels, "GaussianWishart", f"{SAME}: nothing tells rows apart"),), table, reading)
    told = "; ".join(dict.fromkeys(column.why for column in reading.columns))
    require(bool(used), owner, "X", tuple(column.name for column in reading.columns), f"have a column to cluster by ({told})")
    if _like_words(reading, table):
        labels = tuple(column.name for column in reading.columns)
        why = f"{len(labels)} columns of counts, most of them 0: taken for words in documents or the like"
        return Proposal(Multinomial(), (Reason(labels, "Multinomial", why),), table, reading)
    return _join(reading, table)


def _with_something(reading: Reading) -> Reading:
    """Numbers like identifiers are measurements where there is nothing else to cluster by."""
    if not reading.plain or any(column.kind not in LEFT_OUT_KINDS for column in reading.columns):
        return reading
    why = "; taken for measurements, as there is nothing else"
    return replace(
        reading,
        columns=tuple(
            replace(c, kind="number", why=c.why + why) if c.kind == "id" and c.how["read"] == "as is" and not c.given else c
            for c in reading.columns
        ),
    )


def with_left_out(proposal: Proposal, reading: Reading | None) -> Proposal:
    """The same proposal with the reasons for columns that a table read before has no longer."""
    reasons: dict[str, list[str | int]] = {}
    for column in reading.columns if reading is not None else ():
        if column.kind in LEFT_OUT_KINDS and column.how["read"] != "words":
            reasons.setdefault(column.why, []).append(column.name)
    told = [*proposal.reasons, *(Reason(tuple(c), LEFT_OUT, why) for why, c in reasons.items())]
    if reasons and reading is not None:  # in the order of the table's columns, as if it had been read just now
        place = {column.name: i for i, column in enumerate(reading.columns)}
        told.sort(key=lambda reason: min(place.get(name, len(place)) for name in reason.columns))
    return replace(proposal, reasons=tuple(told))


def _like_words(reading: Reading, table: Any) -> bool:
    """Whether a whole table is counts, most of them 0: its columns are then alternatives, not variables."""
    guessed = all(column.kind in ("count", "boolean", "drop", "category", "number") for column in reading.columns)
    if not guessed or len(reading.columns) < LEAST_WORDS or any(column.how["read"] != "as is" for column in reading.columns):
        return False
    values = np.stack([column.values for column in read_columns(table, OWNER)[0]], axis=1)
    counts = values.shape[1] == len(reading.columns) and np.isfinite(values).all() and (values >= 0).all()
    whole = bool(counts) and bool((values == np.floor(values)).all())
    return whole and bool((values == 0).mean() > 0.5) and bool(values.max() > 1)


def rejoined(
    proposal: Proposal,
    *,
    reading: Reading | None = None,
    aside: Mapping[str | int, str] | None = None,
    apart: str | None = None,
    shared: str | None = None,
) -> Proposal:
    """The same proposal with columns understood otherwise or left out, measurements apart, or one covariance, for reasons given."""
    known = proposal.reading if reading is None else reading
    assert known is not None
    why = {"apart": proposal.apart if apart is None else apart, "shared": proposal.shared if shared is None else shared}
    return _join(known, proposal.X, proposal.aside if aside is None else aside, **why)


def _join(
    reading: Reading, table: Any, aside: Mapping[str | int, str] = MappingProxyType({}), *, apart: str = "", shared: str = ""
) -> Proposal:
    """Columns of one kind into one group, in order of first appearance; those set aside in none."""
    names = {column.name: (column.name,) if reading.plain else column.parts for column in reading.columns}
    groups: dict[str, list[str | int]] = {}
    reasons: dict[tuple[str, str], list[str | int]] = {}
    measured = [n for column in reading.columns if column.kind in MEASURED for n in names[column.name] if n not in aside]
    own = {n: tuple(column.how.get("own", ())) for column in reading.columns for n in names[column.name]}
    found = _measurements(dict(zip(measured, columns_named(table, measured), strict=True)), apart, own, shared)
    for column in reading.columns:
        gone = [name for name in names[column.name] if name in aside]
        if gone and len(gone) == len(names[column.name]):
            reasons.setdefault((LEFT_OUT, f"{column.why}; {aside[gone[0]]}"), []).append(column.name)
            continue
        for name in gone:
            reasons.setdefault((LEFT_OUT, aside[name]), []).append(name)
        choice = LEFT_OUT if column.kind in LEFT_OUT_KINDS else CHOICES.get(column.kind, found.family)
        parts = [name for name in names[column.name] if name not in found.left_out and name not in gone]
        if choice == found.family and not parts:
            reasons.setdefault((LEFT_OUT, "follows exactly from the columns before it"), []).append(column.name)
            continue
        suffix = found.why(parts) if column.kind in MEASURED else ""
        reasons.setdefault((choice, column.why + suffix), []).append(column.name)
        if choice != LEFT_OUT:
            groups.setdefault(choice, []).extend(parts)
    listed = tuple(Reason(tuple(columns), choice, why) for (choice, why), columns in reasons.items())
    made = {choice: found.likelihood() if choice == found.family else _FAMILIES[choice]() for choice in groups}
    if len(groups) == 1 and sum(len(group) for group in groups.values()) == _width(table):
        return Proposal(next(iter(made.values())), listed, table, reading, apart, aside, shared)
    product = Product(tuple((tuple(group), made[choice]) for choice, group in groups.items()))
    return Proposal(product, listed, table, reading, apart, aside, shared)


def _width(table: Any) -> int:
    """Columns of a table of any kind."""
    return int(table.shape[1]) if hasattr(table, "shape") else len(table[0])


def columns_named(table: Any, names: list[Any]) -> list[FloatArray]:
    """Some columns of a table as numbers."""
    if not names:
        return []
    columns, found = read_columns(table, OWNER)
    places = {name: place for place, name in enumerate(found or ())}
    return [columns[name if found is None else places[str(name)]].values for name in names]


@dataclass(frozen=True)
class _Measured:
    """What was found out about the columns of measurements."""

    family: str
    suffix: str
    prepared: Mapping[str | int, Preparation]
    left_out: frozenset[str | int] = frozenset()
    directions: int | None = None
    shared: bool = False

    def why(self, parts: Sequence[str | int]) -> str:
        """The end of the reason for a column."""
        return self.suffix + "".join(dict.fromkeys(told(self.prepared[name]) for name in parts))

    def likelihood(self) -> Likelihood:
        """The likelihood of all of them together."""
        columns = tuple(self.prepared.values())
        family: Likelihood = _FAMILIES[self.family]() if self.directions is None else Principal(n_directions=self.directions)
        if self.shared:
            family = GaussianWishart.shared()
        return family if all(column.plain for column in columns) else Prepared(family, columns)


def _measurements(
    values: Mapping[str | int, FloatArray], apart: str, own: Mapping[str | int, tuple[float, ...]], shared: str
) -> _Measured:
    """Which Gaussian likelihood for all columns of measurements together, what each needs before, and why."""
    if not values:
        return _Measured("GaussianWishart", "", {})
    table = np.column_stack(list(values.values()))
    n = len(table)
    if n > MOST_ROWS:
        table = table[np.sort(np.random.default_rng(0).choice(n, MOST_ROWS, replace=False))]
    names = list(values)
    gone = frozenset(names[j] for j in follows_from_others(table))
    kept = {name: table[:, j] for j, name in enumerate(names) if name not in gone}
    d = len(kept)
    prepared = {
        name: Preparation() if str(name).endswith((COS, SIN)) else preparation_of(column, own[name]) for name, column in kept.items()
    }
    scaled = np.column_stack([one.forward(kept[name]) for name, one in prepared.items()])
    lacking = float(np.isnan(scaled).mean())
    told_of = f"; {shared}" if shared else ""
    if d == 1:
        return _Measured("GaussianWishart", told_of, prepared, gone, shared=bool(shared))
    if apart:
        return _Measured("GaussianDiagonal", f"; {apart}", prepared, gone)
    if n >= ROWS_PER_COLUMN * d and lacking <= MOST_LACKING:
        return _Measured("GaussianWishart", f"; correlated within a cluster{told_of}", prepared, gone, shared=bool(shared))
    if n >= ROWS_PER_COLUMN * d:
        return _Measured(
            "GaussianDiagonal", f"; columns apart, since {lacking:.0%} of their entries are no measurements", prepared, gone
        )
    few = f"since {n} rows are few to correlate {d} columns"
    if lacking == 0 and n >= LEAST_ROWS and d > 2:
        count = directions_in_common(scaled)
        ways = "along the one direction" if count == 1 else f"along the {count} directions"
        return _Measured("Principal", f"; {ways} that columns share, {few}", prepared, gone, count)
    return _Measured("GaussianDiagonal", f"; columns apart, {few}", prepared, gone)


_FAMILIES: dict[str, type[Any]] = {
    "Bernoulli": Bernoulli,
    "Categorical": Categorical,
    "GaussianDiagonal": GaussianDiagonal,
    "GaussianWishart": GaussianWishart,
    "Poisson": Poisson,
    "Principal": Principal,
}


def call(likelihood: Likelihood) -> str:
    """The call without the parameters that are open."""
    if isinstance(likelihood, Product):
        inside = ", ".join(f"{_key(columns)}: {call(part)}" for columns, part in likelihood.parts)
        return f"Product({{{inside}}})"
    if isinstance(likelihood, Principal) and likelihood.n_directions is not None:
        return f"Principal(n_directions={likelihood.n_directions})"
    if isinstance(likelihood, Prepared):
        return f"Prepared({call(likelihood.likelihood)}, ...)"
    if isinstance(likelihood, GaussianWishart) and likelihood.rule is not None:
        return f"GaussianWishart.{likelihood.rule}()"
    return f"{type(likelihood).__name__}({'...' if likelihood.is_resolved else ''})"


def _key(columns: tuple[str | int, ...]) -> str:
    """The columns of a group, long lists shortened."""
    if len(columns) <= 6:
        return repr(columns)
    return f"({', '.join(repr(column) for column in columns[:4])}, ..., {columns[-1]!r})"


def listed(columns: tuple[str | int, ...]) -> str:
    """Names, or positions, long lists shortened."""
    names = [str(column) for column in columns]
    if len(names) > 6:
        names = [*names[:4], "...", names[-1]]
    return ", ".join(names)
