"""How alike clusters are expected to be in names, codes and truths: what the shares of a whole column are worth, in rows.

`Categorical` and `Bernoulli` expect every cluster to be like the whole column, and by themselves let one row outweigh that. Where a
column has many levels, or clusters differ in it by degrees, as answers on a scale do, so much freedom is dear: rows are then grouped by
level, and not by what columns have in common. So worths of 1, 4, 16, ... rows are compared by

    tree(worth) - one(worth)

where `tree` is the log joint of a tree built under that worth, and `one` that of all rows in one cluster: what clusters explain.
(`one`, of the columns in question, is taken off because shares counted in the rows themselves explain these the better the more they
are worth.) The first hilltop from one row upwards is taken, and only for evidence of 3 : 1. Gaussian base measures are fitted by
trees too (`hedgerow.likelihoods.fitting`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hedgerow.likelihoods import Likelihood, Product
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.fitting import some_rows, tree_score
from hedgerow.likelihoods.proposal import Proposal, Reason

__all__ = ["explained", "with_worth"]

LEAST_EVIDENCE = float(np.log(3.0))
LEAST_ROWS, LEAST_COLUMNS = 20, 2
TIMES, MOST = 4.0, 1024.0


def with_worth(proposal: Proposal, resolved: Likelihood) -> tuple[Proposal, Likelihood]:
    """A proposal whose names, codes and truths are worth what the rows say, and its likelihood resolved."""
    parts = dict(resolved.parts) if isinstance(resolved, Product) else {(): resolved}
    firm = {columns for columns, part in parts.items() if part.firmer(1.0) is not None}
    data = resolved.check(proposal.X) if firm else np.empty((0, 0))
    if data.shape[0] < LEAST_ROWS or data.shape[1] < LEAST_COLUMNS:
        return proposal, resolved
    rows = data[some_rows(*data.shape)]
    best, score = 1.0, explained(resolved, rows)
    while best < MOST:
        more = explained(_worth(resolved, best * TIMES), rows)
        if more < score + LEAST_EVIDENCE:
            break
        best, score = best * TIMES, more
    if best == 1.0:
        return proposal, resolved
    found = _worth(resolved, best)
    opened = found
    if isinstance(found, Product) and isinstance(proposal.likelihood, Product):
        own = zip(proposal.likelihood.parts, found.parts, strict=True)
        opened = Product(tuple((columns, part if columns in firm else left) for (columns, left), (_, part) in own))
    kinds = {type(part).__name__ for columns, part in parts.items() if columns in firm}
    note = f"; clusters expected to be much alike (the shares of all rows count as {best:,.0f} rows)"
    reasons = tuple(Reason(one.columns, one.choice, one.why + note * (one.choice in kinds)) for one in proposal.reasons)
    return replace(proposal, likelihood=opened, reasons=reasons), found


def explained(likelihood: Likelihood, rows: FloatArray) -> float:
    """What the clusters of a tree explain: its log joint beyond that of names, codes and truths in one cluster."""
    groups = [(part, rows[:, places]) for places, part in likelihood.groups() if part.firmer(1.0) is not None]
    together = np.zeros(len(rows), dtype=np.int32)
    return tree_score(likelihood.bind(rows)) - sum(float(part.bind(own).log_marginals(together).sum()) for part, own in groups)


def _worth(likelihood: Likelihood, times: float) -> Likelihood:
    """The same with all shares worth so many rows."""
    if isinstance(likelihood, Product):
        return replace(likelihood, parts=tuple((columns, part.firmer(times) or part) for columns, part in likelihood.parts))
    return likelihood.firmer(times) or likelihood
