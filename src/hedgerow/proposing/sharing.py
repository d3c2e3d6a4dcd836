"""One covariance that clusters share: proposed where rows speak for it.

A covariance for each cluster is much to learn. Where clusters differ along few of many directions all rows in one cluster are then
likelier than any two. So measurements that are correlated within a cluster are also tried with a base measure that expects all
covariances to be nearly one, which is found in the rows (`GaussianWishart.shared`). Trees over the measurements alone, gaps filled in
once, are compared, every number of that covariance paid for as BIC does; odds of 3 : 1 are asked.

* Where the tree had one cluster by default, one bell curve over all rows is what there is to beat: its covariance is found in the rows
  as well, and costs as much. Rows spread evenly over a box are no reason for clusters of one shape.
* Where it had more, that tree is, and so are trees whose clusters are each expected to have that covariance, but free to differ from
  it. Without the latter clusters that differ in shape would be tiled: a base measure that knows how columns are correlated before it
  has seen a cluster is likelier than one that does not.

Where columns are set aside afterwards, those that are left are judged again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hedgerow.likelihoods import GaussianWishart, Likelihood, Prepared
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.fitting import FIRST_R, best_forest, some_rows, tree_score, without_gaps
from hedgerow.likelihoods.moments import spread
from hedgerow.likelihoods.proposal import Proposal, rejoined
from hedgerow.likelihoods.shared import bases, price

__all__ = ["with_shared"]

LEAST_EVIDENCE = float(np.log(3.0))
LEAST_ROWS = 20
FREE = (4.0, 12.0, 24.0)  # degrees of freedom beyond the columns, with which clusters are free to differ
SHARED = "clusters expected to share one covariance"


def with_shared(proposal: Proposal, resolved: Likelihood) -> tuple[Proposal, Likelihood]:
    """A proposal whose clusters of measurements share a covariance where rows speak for it, and its likelihood resolved.

    One that has it already is judged again.
    """
    if proposal.reading is None or not proposal.reading.columns or resolved.takes_sparse:
        return proposal, resolved
    if proposal.shared:
        proposal = rejoined(proposal, shared="")
        resolved = proposal.likelihood.resolve(proposal.X)
    data = resolved.check(proposal.X)
    for places, part in resolved.groups():
        inner = part.likelihood if isinstance(part, Prepared) else part
        if isinstance(inner, GaussianWishart) and len(data) >= LEAST_ROWS and _is_shared(inner, _measured(part, data[:, places])):
            found = rejoined(proposal, shared=SHARED)
            return found, found.likelihood.resolve(found.X)
    return proposal, resolved


def _measured(part: Likelihood, own: FloatArray) -> FloatArray:
    """Some rows of measurements on their scales, without gaps."""
    rows = own[some_rows(*own.shape)]
    if isinstance(part, Prepared):
        rows = np.column_stack([column.forward(rows[:, j]) for j, column in enumerate(part.columns)])
    return without_gaps(rows)


def _is_shared(separate: GaussianWishart, rows: FloatArray) -> bool:
    """Whether rows speak for one covariance."""
    if separate.r != FIRST_R:  # clusters are so many that some rows by chance do not show them
        return False
    shared = GaussianWishart.shared().resolve(rows)
    before, clusters = best_forest(separate.bind(rows))
    after = tree_score(shared.bind(rows)) - price(np.asarray(shared.psi), len(rows))
    if clusters == 1:
        return after > _one_law(shared, rows) + LEAST_EVIDENCE
    return after > before + LEAST_EVIDENCE and _more_than_free(shared, rows, after)


def _one_law(shared: GaussianWishart, rows: FloatArray) -> float:
    """Log density of all rows in one cluster, its covariance found as that of many is."""
    together = np.zeros(len(rows), dtype=np.int32)
    return max(
        float(replace(shared, nu=nu, psi=psi).bind(rows).log_marginals(together).sum()) - price(psi, len(rows))
        for of_one_shape in bases(spread(rows).covariance())
        for nu, psi in of_one_shape
    )


def _more_than_free(shared: GaussianWishart, rows: FloatArray, after: float) -> bool:
    """Whether one covariance is likelier than covariances about it that are free to differ."""
    assert shared.nu is not None
    psi = np.asarray(shared.psi)
    d = len(psi)
    mean = psi / (shared.nu - d - 1)
    others = (replace(shared, nu=d + more, psi=mean * (more - 1)) for more in FREE)
    return all(tree_score(other.bind(rows)) - price(psi, len(rows)) < after for other in others)
