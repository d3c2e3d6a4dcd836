"""One partition for the whole posterior: the one of least expected loss.

The expected loss of a partition is its mean distance (`distances`) from the draws. The search is greedy with restarts, from
the best draws and from random sequential allocations (SALSO: Dahl, Johnson, Müller 2022; `PartitionSearch` in the core); the
best draw itself always competes, so the estimate is never worse than it.

Points that no draw takes apart are searched as one, since an optimal partition keeps them together. For vi and binder: take
two such points out of a partition that has them in clusters of a and b other points, and let a_d, b_d be how many of those
are with them in draw d. With h(x) = f(x + 1) − f(x), the loss of having both in the first cluster, plus that of both in the
second, minus twice that of one in each, is

    g(a) + g(b) − 2 Σ_d w_d [g(a_d) + g(b_d)],     g(x) = h(x + 1) − h(x) > 0,

which is below zero: g does not grow and a_d ≤ a, b_d ≤ b. So one of the two is better than taking them apart. It also means
that where moving one of several such points would help, moving all of them helps more: what is at rest for merged points is
at rest for single ones. For omari, whose loss is no such sum, there is no proof here; all partitions of seven points were
compared for a hundred thousand sets of draws, and an optimal one kept such points together in every case.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.errors import require
from hedgerow.summaries.distances import Loss, check_loss, expected_loss, expected_losses
from hedgerow.summaries.partitions import Labels, as_draws, canonical, merge_points, unique_draws

__all__ = ["PointEstimate", "point_estimate"]

_SWEEPS = 100  # at most, of one descent
_REBUILT = 10  # clusters that a descent dissolves and rebuilds


@dataclass(frozen=True, eq=False)
class PointEstimate:
    """A partition that stands for the posterior, and how far from the draws it is on average.

    It unpacks into the two: `labels, expected_loss = point_estimate(draws)`.

    Attributes
    ----------
    labels : (n,) int32
    expected_loss : float
    loss : str
    n_clusters : int

    >>> labels, expected_loss = point_estimate([[0, 0, 1], [0, 0, 1], [0, 1, 1]])
    >>> labels
    array([0, 0, 1], dtype=int32)
    """

    labels: Labels
    expected_loss: float
    loss: Loss
    n_clusters: int

    def __iter__(self) -> Iterator[Any]:
        yield self.labels
        yield self.expected_loss

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
    the draws that are left (None keeps all).

    Parameters
    ----------
    labels : (..., n)
        Draws.
    loss : str
    restarts, seed : int
    max_draws : int or None

    Returns
    -------
    PointEstimate

    >>> point_estimate([[0, 0, 1], [0, 0, 1], [0, 1, 1]], "binder").n_clusters
    2
    """
    draws = as_draws(labels, "point_estimate")
    check_loss(loss, "point_estimate")
    require(restarts >= 1, "point_estimate", "restarts", restarts, "be at least 1")
    require(0 <= seed < 2**64, "point_estimate", "seed", seed, "lie in 0, ..., 2^64 - 1")
    require(max_draws is None or max_draws >= 1, "point_estimate", "max_draws", max_draws, "be at least 1 or None")
    distinct, weights = unique_draws(thin_evenly(draws, max_draws))
    merged, copies, place = merge_points(distinct)
    of_draws = expected_losses(merged, copies, weights, loss)
    ranked = np.argsort(of_draws, kind="stable")
    best, best_loss = merged[ranked[0]], float(of_draws[ranked[0]])
    search = _core.PartitionSearch(merged, copies, weights, loss)

    def descend(run: int) -> tuple[Labels, float]:
        own = search.copy()
        if run % 2 == 0 and run // 2 < ranked.size:
            own.start_at(merged[ranked[run // 2]])
        else:
            own.start_afresh(seed, 2 * run)
        own.descend(seed, 2 * run + 1, _SWEEPS, _REBUILT)
        found = canonical(own.labels)
        return found, expected_loss(found, merged, copies, weights, loss)

    with ThreadPoolExecutor(min(restarts, os.cpu_count() or 1)) as pool:
        for found, found_loss in pool.map(descend, range(restarts)):
            if found_loss < best_loss:
                best, best_loss = found, found_loss
    return PointEstimate(best[place], best_loss, loss, int(best.max()) + 1)


def thin_evenly(draws: Labels, at_most: int | None) -> Labels:
    """Draws (D, n) at even distances, no more than asked for."""
    total = draws.shape[0]
    if at_most is None or total <= at_most:
        return draws
    return draws[np.linspace(0, total - 1, at_most).round().astype(np.intp)]
