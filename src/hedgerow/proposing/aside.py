"""Columns set aside: those about which the clusters of all other columns say nothing.

Clusters are what columns have in common. A column that is independent of the others within a cluster can still part every cluster in
two by itself, as the sex of animals parts every species; rows are then grouped by it and not by what the table is about. So each such
column is judged by trees over the others: with x its entries in the clusters c of a tree,

    log BF = sum_c log p(x_c) - log p(x)

compares "every cluster has its own law of x" with "all have one". Where the odds for one law are 3 : 1 or more (where evidence begins
for Kass and Raftery, 1995; two clusters of fifty rows can just show it), the column is set aside.

A tree is grown row by row, in an order that chance gives, and where the others have gaps it fills them in once. One that goes wrong
puts rows of two clusters together, and which rows these are is not independent of x: animals whose bill nobody measured go by their
weight, and so by their sex. So five trees are grown, each in another order and with gaps drawn anew, and the median of their evidence
counts; three are enough where they agree. The most probable tree would not do: with gaps, its log joint is an estimate from one draw
of the fillings.

When a row was measured is judged too, the days since the first and the points of each circle (hour, weekday, month) by themselves: such
columns are spread evenly more often than not, and bell curves would be laid along them like beads. As they vary together with the
measurements y of their group, their law is that of x given y: p(x_c) is p(x_c, y_c) / p(y_c).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from hedgerow.data.kinds import COS, SIN, ColumnKind, Reading
from hedgerow.likelihoods import Likelihood, Prepared, Product
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.fitting import some_rows
from hedgerow.likelihoods.proposal import Proposal, rejoined
from hedgerow.mixture import Mixture
from hedgerow.priors import DP
from hedgerow.trees import ibhc

__all__ = ["bystanders", "columns_of", "evidence", "said", "set_aside"]

LEAST_EVIDENCE = float(np.log(3.0))
MOST_LEFT_OUT = 32  # beyond as many columns some are left out together
TREES, ENOUGH = 5, 3  # over the same columns: what three of five say is what the median says
LEAST_COLUMNS = 3  # two can only say something about each other
KINDS = ("boolean", "category", "count", "number")
Labels = npt.NDArray[np.int32]
#: A likelihood, rows and the columns that say when, to places of columns and the log Bayes factor of each.
Finder = Callable[[Likelihood, FloatArray, Collection[Collection[int]]], dict[int, float]]


def said(reading: Reading | None) -> set[str | int]:
    """Columns whose kind a person has said: they are wanted."""
    return {column.name for column in reading.columns if column.given} if reading is not None else set()


def set_aside(
    proposal: Proposal, resolved: Likelihood, wanted: Collection[str | int], find: Finder | None = None
) -> tuple[Proposal, Likelihood]:
    """A proposal without its bystanders, and its likelihood resolved, which it is already; none of `wanted` is set aside.

    `find` finds the columns, by default `bystanders`.
    """
    if proposal.reading is None or not proposal.reading.columns:
        return proposal, resolved
    data = resolved.check(proposal.X)
    columns = proposal.reading.columns
    names = columns_of(proposal, resolved)
    if len(names) != data.shape[1]:
        return proposal, resolved
    free = [column for column in columns if column.name not in wanted]
    may_go = {column.name for column in free if column.kind in KINDS}
    moments = [[names.index(part) for part in parts] for parts in _moments(free, names)]
    timed = {j for places in moments for j in places}
    aside = {
        names[j]: f"set aside: the clusters of the other columns say nothing about it (odds {_odds(value)})"
        for j, value in (find or bystanders)(resolved, data, moments).items()
        if names[j] in may_go or j in timed
    }
    if not aside:
        return proposal, resolved
    found = rejoined(proposal, aside={**proposal.aside, **aside})
    kept = dict(resolved.parts) if isinstance(resolved, Product) else {}
    likelihood = found.likelihood
    if isinstance(likelihood, Product):  # what was fitted before stays as it is
        likelihood = Product(tuple((columns, kept.get(columns, part)) for columns, part in likelihood.parts))
    return found, likelihood.resolve(found.X)


def columns_of(proposal: Proposal, resolved: Likelihood) -> tuple[str | int, ...]:
    """Names of the columns that a likelihood sees, in its order."""
    assert proposal.reading is not None
    columns = proposal.reading.columns
    every = tuple(part for column in columns for part in ((column.name,) if proposal.reading.plain else column.parts))
    return tuple(resolved.used_columns() or every)


def _odds(log_factor: float) -> str:
    """How many to one for one law, by powers of ten: columns that are set aside for about as much are told of together."""
    least = max((power for power in range(1, 6) if -log_factor >= power * np.log(10)), default=0)
    return "over a million : 1" if log_factor <= -np.log(1e6) else f"over {10**least if least else 3:,} : 1"


def _moments(columns: Sequence[ColumnKind], names: Sequence[str | int]) -> list[tuple[str | int, ...]]:
    """Which of the names tell when a row was measured: elapsed days, and the two of every circle."""
    own = {part for column in columns for part in (column.name, *column.parts)}.intersection(names)
    days = [(column.name,) for column in columns if column.why.startswith("dates") and column.name in own]
    pairs = [
        (f"{str(name)[: -len(COS)]}{COS}", f"{str(name)[: -len(COS)]}{SIN}")
        for name in names
        if name in own and str(name).endswith(COS)
    ]
    return [*days, *(pair for pair in pairs if own.issuperset(pair))]


def bystanders(likelihood: Likelihood, data: FloatArray, moments: Collection[Collection[int]] = ()) -> dict[int, float]:
    """Places of columns that the clusters of the others say nothing about, and the log Bayes factor of each.

    Parameters
    ----------
    likelihood : Likelihood
        Resolved.
    data : (n, d)
        As `likelihood.check` returns them.
    moments : collection of collections of int
        Columns that say when, and are judged together though they may vary with others.

    Returns
    -------
    dict
        None of the columns else that vary together within a cluster, and nothing where fewer than two columns would be left; one, if
        all that go are moments.
    """
    d = data.shape[1]
    timed = {j for places in moments for j in places}
    apart = [(j,) for places, part in likelihood.groups() if part.columns_apart for j in places if j not in timed]
    judged = [*(apart if d >= LEAST_COLUMNS else []), *map(tuple, moments)]
    rows = data[some_rows(*data.shape)]
    found: dict[int, float] = {}
    turns = min(len(judged), MOST_LEFT_OUT)
    for left_out in (judged[i::turns] for i in range(turns)):
        gone = [j for places in left_out for j in places]
        rest = [j for j in range(d) if j not in gone]
        gains = evidence(likelihood, rows, rest, left_out) if rest else []
        if not gains:
            return {}
        for places, gain in zip(left_out, gains, strict=True):
            found.update(dict.fromkeys(places, gain))
    silent = {j: value for j, value in found.items() if value < -LEAST_EVIDENCE}
    return silent if d - len(silent) >= (1 if timed.issuperset(silent) else 2) else {}


def evidence(likelihood: Likelihood, rows: FloatArray, others: Sequence[int], judged: Collection[Sequence[int]]) -> list[float]:
    """log BF of laws of their own for some columns in the clusters of trees over others, the median over the trees.

    Parameters
    ----------
    likelihood : Likelihood
        Resolved.
    rows : (n, d)
    others : sequence of int
        The columns that trees are grown over.
    judged : collection of sequences of int
        The columns that are judged, those that are judged together in one.

    Returns
    -------
    list of float
        One for each of `judged`; none where the likelihood has no law of the others alone.
    """
    own = likelihood.for_columns(list(others))
    if own is None:
        return []
    kept, model = np.ascontiguousarray(rows[:, list(others)]), Mixture(DP(1.0), own)
    gains: list[list[float]] = []
    for seed in range(TREES):
        labels = np.ascontiguousarray(ibhc(model, kept, passes=2, seed=seed).labels, dtype=np.int32)
        gains.append([_own_law(likelihood, rows, places, labels) for places in judged])
        says = np.digitize(gains, [-LEAST_EVIDENCE, LEAST_EVIDENCE])
        if seed + 1 == ENOUGH and np.array_equal(says.min(axis=0), says.max(axis=0)):
            break
    return [float(value) for value in np.median(gains, axis=0)]


def _own_law(likelihood: Likelihood, rows: FloatArray, columns: Sequence[int], labels: Labels) -> float:
    """log BF of a law in every cluster for some columns, given those of their group that they vary together with."""
    places, part = next(group for group in likelihood.groups() if columns[0] in group[0])
    inside = [places.index(j) for j in columns]
    if part.columns_apart:
        return _gain(part, rows[:, places], inside, labels)
    own = rows[:, places]
    seen = ~np.isnan(_as_measured(part, own)).any(axis=1)
    if not seen.any():
        return 0.0
    labels = np.unique(labels[seen], return_inverse=True)[1].astype(np.int32)
    rest = [i for i in range(len(places)) if i not in inside]
    given = _gain(part, own[seen], rest, labels) if rest else 0.0
    return _gain(part, own[seen], range(len(places)), labels) - given


def _as_measured(part: Likelihood, own: FloatArray) -> FloatArray:
    """The entries that a law of columns together sees: a spike is an answer of its own, and no measurement."""
    if not isinstance(part, Prepared):
        return own
    return np.column_stack([column.forward(own[:, i]) for i, column in enumerate(part.columns)])


def _gain(part: Likelihood, own: FloatArray, inside: Sequence[int], labels: Labels) -> float:
    """What clusters say about some columns of a group, beyond one cluster."""
    smaller = part.for_columns(list(inside))
    if smaller is None:
        return 0.0
    bound = smaller.bind(np.ascontiguousarray(own[:, list(inside)]))
    return float(bound.log_marginals(labels).sum() - bound.log_marginals(np.zeros_like(labels)).sum())
