"""What a simpler description says better: fewer columns, measurements with columns apart, and counts as measurements.

Full covariances in many columns have more to learn than few rows teach, columns that say nothing drown those that do, and counts that
vary more than Poisson's law allows are tiled with clusters. So each proposal is held against a simpler one on rows left out (half of
them, at most some hundreds, put into trees). Directions that columns share (`Principal`), taken from all rows, would know those left
out, and so would a covariance that clusters share; where they are proposed, all that is compared is fitted to the other half. The
density of such rows nearly always prefers the more flexible of two models, so it says something where it does not:

* With up to fifty rows a column, measurements are also tried with columns apart, those set aside about which the clusters of the others
  say nothing (`hedgerow.proposing.aside`), or all that tell nothing (`hedgerow.proposing.telling`), whichever is better; these keep
  one law for all rows, and what is left is correlated again unless it is better apart. This is taken if it is better by three standard
  errors of the paired differences; columns apart only with fewer than twice as many clusters, since boxes that tile a slanted cluster
  are two at the least.
* Counts are taken for measurements in whole steps, or for two answers, none or how many, if these make do with at most half as many
  clusters and counts are not better by three standard errors; the better of the two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.kinds import Reading
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Likelihood, Poisson, Prepared, Principal, Product
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.fitting import some_rows
from hedgerow.likelihoods.moments import column_means, column_variances
from hedgerow.likelihoods.proposal import Proposal, columns_named, rejoined
from hedgerow.proposing.aside import Finder, bystanders, columns_of, set_aside
from hedgerow.proposing.scores import left_out, of_one_law
from hedgerow.proposing.telling import silent

__all__ = ["clearly_better", "simpler"]

LEAST_ROWS, LEAST_COLUMNS, ROWS_PER_COLUMN = 40, 3, 50
STANDARD_ERRORS = 3.0
SETTLED = 1e8  # rows that a law is worth which is to stay as it is
NUMBERS = (GaussianDiagonal, GaussianWishart, Poisson, Principal)
WIDTH = 64  # columns that decide how many rows are looked at, the same for every candidate
APART = "columns apart, which describes rows left out better"
NONE_OR = "taken for none or how many: counts would take {} clusters where these take {} and describe rows left out as well"
MEASURED = "taken for measurements: counts would take {} clusters where these take {} and describe rows left out as well"


def simpler(proposal: Proposal, resolved: Likelihood, wanted: Collection[str | int] = ()) -> tuple[Proposal, Likelihood]:
    """A proposal, or the simpler one that says more of rows left out; and its likelihood resolved."""
    if proposal.reading is None or not proposal.reading.columns or resolved.takes_sparse:
        return proposal, resolved
    if resolved.check(proposal.X).shape[0] < LEAST_ROWS:
        return proposal, resolved
    before: Judged | None = None
    counted = any(isinstance(part, Poisson) for part in resolved.factors())
    if counted:
        proposal, resolved, before = _counts_or_not(proposal, resolved)
    if not _few_rows(resolved, proposal):
        return proposal, resolved
    half = bool(proposal.shared) or any(isinstance(one, Principal) for part in resolved.factors() for one in _inside(part))
    other, likelihood, new = _fewer_columns(proposal, wanted, half)
    before = _judged(proposal, resolved, half) if half or before is None else before
    if _is_better(new, before) if other.apart and not other.aside else clearly_better(new.logs, before.logs):
        return other, likelihood
    return proposal, resolved


def _fewer_columns(proposal: Proposal, wanted: Collection[str | int], half: bool) -> tuple[Proposal, Likelihood, Judged]:
    """The same with columns apart, bystanders set aside, and the others correlated again unless they are better apart."""
    apart = rejoined(proposal, apart=APART)
    resolved, judged = _resolved(apart, half)
    tried = [_without(apart, resolved, wanted, find, half) for find in (bystanders, silent)]
    fewer = [one for one in tried if one is not None]
    return max(fewer, key=lambda one: one[2].logs.mean()) if fewer else (apart, resolved, judged)


def _without(
    apart: Proposal, resolved: Likelihood, wanted: Collection[str | int], find: Finder, half: bool
) -> tuple[Proposal, Likelihood, Judged] | None:
    """The same without columns that say nothing, and what is left correlated unless it is better apart; None if all say something."""
    found, likelihood = set_aside(apart, resolved, wanted, find)
    if not found.aside:
        return None
    other = rejoined(found, apart="")
    together, new = _resolved(other, half)
    left = _judged(found, likelihood, half)
    if _few_rows(together, other) and _is_better(left, new):
        other, together, new = found, likelihood, left
    names = columns_of(apart, resolved)
    places = [names.index(name) for name in found.aside]
    rest, data = resolved.for_columns(places), resolved.check(apart.X)
    if rest is None:
        return None
    own = data[some_rows(len(data), WIDTH)][:, places]
    law = _settled(rest, own[::2]) if half else rest
    return other, together, Judged(new.logs + of_one_law(law, own), new.clusters)


def _settled(likelihood: Likelihood, rows: FloatArray) -> Likelihood:
    """The same whose measurements apart keep mean and variance of these rows, as what `Principal` has in common does."""
    if isinstance(likelihood, Product):
        parts = zip(likelihood.parts, likelihood.groups(), strict=True)
        return replace(likelihood, parts=tuple((names, _settled(part, rows[:, places])) for (names, part), (places, _) in parts))
    if isinstance(likelihood, Prepared):
        scaled = np.column_stack([one.forward(rows[:, j]) for j, one in enumerate(likelihood.columns)])
        return replace(likelihood, likelihood=_settled(likelihood.likelihood, scaled))
    if not isinstance(likelihood, GaussianDiagonal):
        return likelihood
    worth = np.full(rows.shape[1], SETTLED)
    return GaussianDiagonal(column_means(rows), worth, worth, worth * column_variances(rows))


class Judged(NamedTuple):
    """What is said of rows left out.

    Attributes
    ----------
    logs : (n,)
        Log densities.
    clusters : int
        Of the tree over the others.

    >>> Judged(np.zeros(2), 1).clusters
    1
    """

    logs: FloatArray
    clusters: int


def _judged(proposal: Proposal, resolved: Likelihood, half: bool = False) -> Judged:
    """`half`: with what is open in the likelihood taken from the rows that are not left out."""
    data = resolved.check(proposal.X)
    rows = data[some_rows(len(data), WIDTH)]
    return Judged(*left_out(_of_the_others(proposal.likelihood, resolved, rows[::2]) if half else resolved, rows))


def _of_the_others(likelihood: Likelihood, resolved: Likelihood, rows: FloatArray) -> Likelihood:
    """Resolved by these rows, so that nothing is known of those left out; names and truths, which all candidates share, stay."""
    if isinstance(likelihood, Product) and isinstance(resolved, Product):
        parts = zip(likelihood.parts, resolved.parts, resolved.groups(), strict=True)
        made = ((names, _of_the_others(was, part, rows[:, places])) for (_, was), (names, part), (places, _) in parts)
        return replace(resolved, parts=tuple(made))
    return likelihood.resolve(rows) if any(isinstance(one, NUMBERS) for one in _inside(likelihood)) else resolved


def _resolved(proposal: Proposal, half: bool = False) -> tuple[Likelihood, Judged]:
    likelihood = proposal.likelihood.resolve(proposal.X)
    return likelihood, _judged(proposal, likelihood, half)


def _is_better(new: Judged, old: Judged) -> bool:
    return new.clusters < 2 * old.clusters and clearly_better(new.logs, old.logs)


def clearly_better(new: FloatArray, old: FloatArray) -> bool:
    """Whether one log density of the same rows is above another by three standard errors.

    Parameters
    ----------
    new, old : (n,)

    Returns
    -------
    bool
    """
    gain = new - old
    return bool(gain.mean() > STANDARD_ERRORS * gain.std(ddof=1) / np.sqrt(len(gain)))


def _counts_or_not(proposal: Proposal, resolved: Likelihood) -> tuple[Proposal, Likelihood, Judged]:
    """The same, or the better of the others that describe counts as well with at most half as many clusters."""
    before = _judged(proposal, resolved)
    best, chosen = before, (proposal, resolved)
    for none in (False, True):
        other = _measured(proposal, none)
        if other is None:
            continue
        likelihood, new = _resolved(other)
        if 2 * new.clusters > before.clusters or clearly_better(before.logs, new.logs):
            continue
        if best is before or new.logs.mean() > best.logs.mean():
            told = (NONE_OR if none else MEASURED).format(before.clusters, new.clusters)
            best, chosen = new, (_measured(proposal, none, told) or other, likelihood)
    return *chosen, best


def _measured(proposal: Proposal, none: bool, why: str = "") -> Proposal | None:
    """The same with every column that was guessed to be counts among the measurements; None if there is none.

    `none`: where it has a 0, that is an answer of its own.
    """
    reading = proposal.reading
    assert reading is not None
    guessed = [column.name for column in reading.columns if column.kind == "count" and not column.given]
    counts: dict[str | int, dict[str, Any]] = {name: {} for name in guessed}
    if none:
        entries = dict(zip(guessed, columns_named(proposal.X, guessed), strict=True))
        counts = {name: {"own": [0.0]} if (entries[name] == 0).any() else {} for name in guessed}
    if not (any(counts.values()) if none else counts):
        return None
    columns = tuple(
        replace(one, kind="number", why=one.why.replace("taken for counts", why), how={**one.how, **counts[one.name]})
        if one.name in counts
        else one
        for one in reading.columns
    )
    return rejoined(proposal, reading=Reading(columns))


def _few_rows(resolved: Likelihood, proposal: Proposal) -> bool:
    """Whether more than two columns of measurements are correlated, and rows are not many for that."""
    together = (GaussianWishart, Principal)
    full = [places for places, part in resolved.groups() if any(isinstance(one, together) for one in _inside(part))]
    width = max((len(places) for places in full), default=0)
    return width >= LEAST_COLUMNS and len(resolved.check(proposal.X)) <= ROWS_PER_COLUMN * width


def _inside(part: Likelihood) -> Iterator[Likelihood]:
    yield part
    if isinstance(part, Prepared):
        yield part.likelihood
