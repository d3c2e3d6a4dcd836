"""One partition for the whole posterior: the one of least expected loss.

The expected loss of a partition is its mean distance (`distances`) from the draws. The search (`search`) is greedy
with restarts, from the best draws and from random sequential allocations; the best draw itself always competes,
so the estimate is never worse than it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.errors import require
from hedgerow.summaries.counts import start_table
from hedgerow.summaries.distances import (
    Loss,
    check_loss,
    combine,
    count_function,
    expected_losses,
    joint_sums,
    marginal_sums,
)
from hedgerow.summaries.partitions import Labels, as_draws, canonical, count_clusters, unique_draws
from hedgerow.summaries.search import descend, start_sequential

Array = npt.NDArray[np.float64]

__all__ = ["PointEstimate", "point_estimate"]

_WORK_BYTES = 1 << 30  # the table of draws' clusters × estimate's clusters, at 12 bytes an entry


@dataclass(frozen=True, eq=False)
class PointEstimate:
    """A partition that stands for the posterior, and how far from the draws it is on average."""

    labels: Labels
    expected_loss: float
    loss: Loss
    n_clusters: int

    def __repr__(self) -> str:
        return (
            f"PointEstimate({self.n_clusters} clusters of {self.labels.size} points, "
            f"expected {self.loss} loss {self.expected_loss:.6g})"
        )


def point_estimate(
    labels: npt.ArrayLike,
    loss: Loss = "vi",
    *,
    restarts: int = 8,
    seed: int = 0,
    max_draws: int | None = 1000,
) -> PointEstimate:
    """The partition of least expected loss over draws (..., n), by greedy search with restarts.

    The `restarts` begin in turn at the best draws and at random sequential allocations; the same seed gives the same
    answer. `max_draws` bounds the work: more draws than that are thinned evenly, and expected loss means the mean over
    the draws that are left (None keeps all). The estimate may have any number of clusters that fits a work
    table of 1 GB; only draws with thousands of clusters come near that.
    """
    draws = as_draws(labels, "point_estimate")
    check_loss(loss, "point_estimate")
    require(restarts >= 1, "point_estimate", "restarts", restarts, "be at least 1")
    require(max_draws is None or max_draws >= 1, "point_estimate", "max_draws", max_draws, "be at least 1 or None")
    distinct, weights = unique_draws(thin_evenly(draws, max_draws))
    rng = np.random.default_rng(seed)
    n = distinct.shape[1]
    of_draws = expected_losses(distinct, weights, loss)
    ranked = np.argsort(of_draws, kind="stable")
    best, best_loss = distinct[ranked[0]], float(of_draws[ranked[0]])

    clusters = count_clusters(distinct)
    limit = max(1, min(n, _WORK_BYTES // (12 * int(clusters.sum()))))
    starts = [d for d in ranked if clusters[d] <= limit]
    table = start_table(distinct, weights, loss, limit)
    for run in range(restarts):
        if run % 2 == 0 and run // 2 < len(starts):
            table.load(distinct[starts[run // 2]])
        else:
            start_sequential(table, rng)
        descend(table, rng)
        found = canonical(table.labels)
        found_loss = expected_loss(found, distinct, weights, loss)
        if found_loss < best_loss:
            best, best_loss = found, found_loss
    return PointEstimate(best, best_loss, loss, int(best.max()) + 1)


def expected_loss(partition: Labels, draws: Labels, weights: Array, loss: Loss) -> float:
    """Weighted mean distance of a canonical partition (n,) from canonical draws (D, n)."""
    n = partition.size
    f = count_function(loss, n)
    own = float(f[np.bincount(partition)].sum())
    d = combine(loss, n, own, marginal_sums(draws, f), joint_sums(partition, draws, f))
    return float(weights @ d)


def thin_evenly(draws: Labels, at_most: int | None) -> Labels:
    """Draws (D, n) at even distances, no more than asked for."""
    total = draws.shape[0]
    if at_most is None or total <= at_most:
        return draws
    return draws[np.linspace(0, total - 1, at_most).round().astype(np.intp)]
