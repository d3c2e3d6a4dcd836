"""Columns set aside: those about which the clusters of all other columns say nothing.

Clusters are what columns have in common. A column that is independent of the others within a cluster can still part every cluster in
two by itself, as the sex of animals parts every species; rows are then grouped by it and not by what the table is about. So each such
column is judged by a tree over the others: with x its entries in the clusters c of that tree,

    log BF = sum_c log p(x_c) - log p(x)

compares "every cluster has its own law of x" with "all have one". Where the odds for one law are 3 : 1 or more (where evidence begins
for Kass and Raftery, 1995; two clusters of fifty rows can just show it), the column is set aside.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from hedgerow.data.kinds import Reading
from hedgerow.likelihoods import Likelihood, Product
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.fitting import some_rows
from hedgerow.likelihoods.proposal import Proposal, without
from hedgerow.mixture import Mixture
from hedgerow.priors import DP
from hedgerow.trees import ibhc

__all__ = ["bystanders", "said", "set_aside"]

LEAST_EVIDENCE = float(np.log(3.0))
MOST_TREES = 32  # beyond as many columns some are left out together
LEAST_COLUMNS = 3  # two can only say something about each other
KINDS = ("boolean", "category", "count", "number")


def said(reading: Reading | None) -> set[str | int]:
    """Columns whose kind a person has said: they are wanted."""
    return {column.name for column in reading.columns if column.given} if reading is not None else set()


def set_aside(proposal: Proposal, resolved: Likelihood, wanted: Collection[str | int]) -> tuple[Proposal, Likelihood]:
    """A proposal without its bystanders, and its likelihood resolved, which it is already; none of `wanted` is set aside.

    Parameters
    ----------
    proposal : Proposal
    resolved : Likelihood
        That of the proposal, resolved.
    wanted : collection of names or positions

    Returns
    -------
    Proposal, Likelihood
    """
    if proposal.reading is None or not proposal.reading.columns:
        return proposal, resolved
    may_go = {column.name for column in proposal.reading.columns if column.kind in KINDS} - set(wanted)
    data = resolved.check(proposal.X)
    names = resolved.used_columns() or tuple(column.name for column in proposal.reading.columns)
    if not may_go or len(names) != data.shape[1]:
        return proposal, resolved
    places = bystanders(resolved, data)
    aside = {
        names[j]: f"set aside: the clusters of the other columns say nothing about it (odds {_odds(value)})"
        for j, value in places.items()
        if names[j] in may_go
    }
    if not aside:
        return proposal, resolved
    found = without(proposal, aside)
    kept = dict(resolved.parts) if isinstance(resolved, Product) else {}
    likelihood = found.likelihood
    if isinstance(likelihood, Product):  # what was fitted before stays as it is
        likelihood = Product(tuple((columns, kept.get(columns, part)) for columns, part in likelihood.parts))
    return found, likelihood.resolve(found.X)


def _odds(log_factor: float) -> str:
    """How many to one for one law."""
    return f"{np.exp(-log_factor):,.0f} : 1" if log_factor > -np.log(1e6) else "over a million : 1"


def bystanders(likelihood: Likelihood, data: FloatArray) -> dict[int, float]:
    """Places of columns that the clusters of the others say nothing about, and the log Bayes factor of each.

    Parameters
    ----------
    likelihood : Likelihood
        Resolved.
    data : (n, d)
        As `likelihood.check` returns them.

    Returns
    -------
    dict
        None of the columns that vary together within a cluster, and nothing where fewer than two columns would be left.
    """
    d = data.shape[1]
    judged = [j for places, part in likelihood.groups() if part.columns_apart for j in places]
    if d < LEAST_COLUMNS or not judged:
        return {}
    rows = data[some_rows(*data.shape)]
    found: dict[int, float] = {}
    trees = min(len(judged), MOST_TREES)
    for left_out in (judged[i::trees] for i in range(trees)):
        others = likelihood.for_columns([j for j in range(d) if j not in left_out])
        if others is None:
            return {}
        kept = np.delete(rows, left_out, axis=1)
        labels = np.ascontiguousarray(ibhc(Mixture(DP(1.0), others), kept, passes=2, seed=0).labels, dtype=np.int32)
        for j in left_out:
            column = likelihood.for_columns([j])
            assert column is not None
            bound = column.bind(rows[:, [j]])
            found[j] = float(bound.log_marginals(labels).sum() - bound.log_marginals(np.zeros_like(labels)).sum())
    silent = {j: value for j, value in found.items() if value < -LEAST_EVIDENCE}
    return silent if d - len(silent) >= 2 else {}
