"""One partition for the whole posterior: the one of least expected loss.

The expected loss of a partition is its mean distance (`distances`) from the draws. The search is greedy with restarts, from
the best draws and from random sequential allocations (SALSO: Dahl, Johnson, Müller 2022; `PartitionSearch` in the core); the
best draw itself always competes, so the estimate is never worse than it. A random allocation opens no more clusters than the
draw with most has. Where points and draws are many, all descents make their first few sweeps, which find nearly all there is to find,
and the two that are best by then go on to where no point moves. Where all pairs of draws would take long, the best draws are
those of a part of them, taken at even distances.

That partition can have more clusters than any draw, with doubtful rows alone, or fewer than nearly all. A number that no draw has
surprises, so by default the search is held to the numbers of clusters that 95% of the draws have. Where its answer has more, it is
searched again among partitions with no more, from the best draws there and from its own answer with the clusters joined that cost
least. Where it has fewer, a search among partitions with as many would set single rows apart, because each draw sets some apart though
not the same ones; that would be made up. So only clusters of a size count from below, which is two rows and 1% of them: where the
answer has fewer of these too, the best of the draws that have as many are brought nearer to the others for as long as such clusters
last (`lasting`), and the best of these takes its place. `PointEstimate.words` says what was done.

Points that no draw takes apart are searched as one, since an optimal partition keeps them together. For vi and binder: take
two such points out of a partition that has them in clusters of a and b other points, and let a_d, b_d be how many of those
are with them in draw d. With h(x) = f(x + 1) − f(x), the loss of having both in the first cluster, plus that of both in the
second, minus twice that of one in each, is

    (2 − w) [g(a) + g(b)] − 2 Σ_d w_d [g(a_d) + g(b_d)],     g(x) = h(x + 1) − h(x) > 0,

which is below zero for any weight w above 0: g does not grow and a_d ≤ a, b_d ≤ b. So one of the two is better than taking them
apart. It also means
that where moving one of several such points would help, moving all of them helps more: what is at rest for merged points is
at rest for single ones. For omari, whose loss is no such sum, there is no proof here; all partitions of seven points were
compared for a hundred thousand sets of draws, and an optimal one kept such points together in every case.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import check_seed, check_whole, real_number
from hedgerow.errors import require
from hedgerow.summaries.distances import LOSSES, Loss, check_loss, count_function, expected_loss, expected_losses
from hedgerow.summaries.lasting import improve
from hedgerow.summaries.narrow import as_points
from hedgerow.summaries.partitions import (
    Labels,
    by_size,
    canonical,
    count_clusters,
    count_clusters_of,
    least_size,
    merge_points,
    unique_draws,
    wide,
)
from hedgerow.summaries.points import Points

__all__ = ["PointEstimate", "point_estimate"]

MOST_RESTARTS = 10_000  # a second or so each on large tables: more is a slip of the pen
_SWEEPS = 100  # at most, of one descent
_REBUILT = 10  # clusters that a descent dissolves and rebuilds
_COMPARED = 30_000_000  # points looked at to find the best draws, but for the least number of draws that are tried
_LEAST_TRIED = 50
_CELLS = 1 << 23  # points x draws that are searched; of more, fewer draws
_MANY = 1 << 21  # of these, from which descents are not all followed to their end
_FIRST, _FINISHED = 10, 2  # sweeps of each, and how many of the best then go on
_DECIMALS = 10  # of losses that are compared: equal ones differ by rounding, and by how much hangs on the processor


@dataclass(frozen=True, eq=False)
class PointEstimate:
    """A partition that stands for the posterior, and how far from the draws it is on average.

    It unpacks into the two: `labels, expected_loss = point_estimate(draws)`.

    Attributes
    ----------
    labels : (n,) int32
        Clusters numbered by size, 0 the largest, equals in order of first appearance. -1, only where `min_size` was given, for rows
        of smaller clusters. The draws themselves are numbered in order of first appearance.
    expected_loss : float
        Of the partition, before rows were set to -1.
    loss : str
    n_clusters : int
    weight : float
    limits : (int, int) or None
        The least and the largest number of clusters that the search was held to, where that changed its answer.
    unlimited : int
        The number of clusters that it would have had.
    within : float or None
        The share of the draws that the limits were taken from.
    large : (int, int) or None
        Where the answer was looked for near draws since it had too few clusters: the least number of clusters of a size, and that size
        in rows.
    stopped : bool
        Whether the search was cut short by Ctrl-C: the best that was found until then.

    >>> labels, expected_loss = point_estimate([[0, 0, 1], [0, 0, 1], [0, 1, 1]])
    >>> labels
    array([0, 0, 1], dtype=int32)
    """

    labels: Labels
    expected_loss: float
    loss: Loss
    n_clusters: int
    weight: float = 1.0
    limits: tuple[int, int] | None = None
    unlimited: int = 0
    within: float | None = None
    large: tuple[int, int] | None = None
    stopped: bool = False

    @property
    def words(self) -> str:
        """What this partition is, and what was done to have it, as part of a sentence."""
        weighed = "" if self.weight == 1 else f" of weight {self.weight:g}"
        told = f"partition of least expected {LOSSES[self.loss].words}{weighed} from the draws ({self.expected_loss:.3g})"
        if self.limits is not None:
            high = self.limits[1]
            why = "" if self.within is None else f", as {self.within:.0%} of the draws have"
            span = f"those with at most {_clusters(high)}"
            if self.large is not None:
                span = f"those near draws with at least {_clusters(self.large[0])} of {self.large[1]:,} rows or more"
            told += f" among {span}{why} (without that limit {self.unlimited})"
        left = int((self.labels < 0).sum())
        told += "; the search was stopped early" if self.stopped else ""
        return told + (f"; {left:,} rows of smaller clusters are left out (-1)" if left else "")

    def __iter__(self) -> Iterator[Any]:
        yield self.labels
        yield self.expected_loss

    def __repr__(self) -> str:
        held = "" if self.limits is None else f", {self.unlimited} clusters without limits"
        return (
            f"PointEstimate({self.n_clusters} clusters of {self.labels.size} points, "
            f"expected {self.loss} loss {self.expected_loss:.6g}{held})"
        )


def point_estimate(
    labels: npt.ArrayLike | Points,
    loss: Loss = "vi",
    *,
    weight: float = 1.0,
    max_clusters: int | None = None,
    min_size: int | None = None,
    within: float | None = 0.95,
    restarts: int = 8,
    seed: int = 0,
    max_draws: int | None = 1000,
) -> PointEstimate:
    """The partition of least expected loss over draws (..., n), by greedy search with restarts.

    Parameters
    ----------
    labels : (..., n) int, or Points
    loss : "vi", "binder" or "omari", default "vi"
    weight : float in (0, 2), default 1
        For vi and binder: the price of taking apart rows that a draw has together, against 2 - weight for joining rows that it has
        apart (generalised variation of information: Dahl, Johnson, Müller 2022). Above 1 for fewer clusters, below for more.
    max_clusters : int, optional
        At most so many clusters.
    min_size : int, optional
        Rows of clusters with fewer rows than this get the label -1. Without it every row has a cluster.
    within : float or None, default 0.95
        The number of clusters lies between the outer quantiles of this share of the draws, where clusters of a single row or less
        than 1% of the rows do not count from below. None lifts both limits, a weight above 1 or `max_clusters` the lower one, a
        weight below 1 the upper one.
    restarts : int, default 8
        Of the search, in turn at the best draws and at random sequential allocations; the same seed gives the same answer.
    seed : int
    max_draws : int or None, default 1000
        Bounds the work: more draws than that are thinned evenly, and expected loss means the mean over the draws that are left. So
        are draws of very many rows in doubt, which some draw takes apart from all others: 8 million labels of such rows are used,
        and 50 draws at the least.

    Ctrl-C ends the search with the best partition so far, of those descents that were under way too; a second one raises.

    Returns
    -------
    PointEstimate
        With clusters numbered by size.

    >>> point_estimate([[0, 0, 1], [0, 0, 1], [0, 1, 1]], "binder").n_clusters
    2
    """
    points = as_points(labels, "point_estimate")
    counts = {"max_clusters": max_clusters, "min_size": min_size, "max_draws": max_draws}
    check_options(loss, weight=weight, within=within, restarts=restarts, seed=seed, **counts)
    used = len(points.draws) if max_draws is None else min(max_draws, len(points.draws))
    used = min(used, max(_CELLS // points.copies.size, _LEAST_TRIED))
    distinct, weights = unique_draws(thin_evenly(points.draws, used))
    merged, copies, place = distinct, points.copies, np.arange(points.copies.size)
    if len(distinct) < len(points.draws):
        merged, copies, place = merge_points(distinct, points.copies)
    search = _Search(merged, copies, weights, loss, weight, restarts, seed)
    best, best_loss = search.free()
    unlimited = int(best.max()) + 1
    limits = _limits(count_clusters(points.draws), within, weight, max_clusters)
    large = None
    if unlimited > limits[1]:
        best, best_loss = search.at_most(best, limits[1])
    elif unlimited < limits[0]:
        large = _large(points, best[place], within or 1.0)
        if large is not None:
            best, best_loss = search.among(*large, limits[1])
    held = unlimited > limits[1] or large is not None
    found = int(best.max()) + 1
    own = by_size(best[place][points.place])
    if min_size is not None:
        sizes = np.bincount(own)
        own = np.where(sizes[own] >= min_size, own, -1).astype(np.int32)
        found = int((sizes >= min_size).sum())
    by_draws = within if max_clusters is None or limits[1] < max_clusters else None
    span, share = (limits, by_draws) if held else (None, None)
    return PointEstimate(own, best_loss, loss, found, weight, span, unlimited, share, large, search.stopped)


def check_options(loss: Loss, *, weight: float, within: float | None, restarts: int, seed: int, **counts: int | None) -> None:
    """Refuse what `point_estimate` cannot be asked for."""
    owner = "point_estimate"
    check_loss(loss, owner)
    require(0 < real_number(weight) < 2, owner, "weight", weight, "lie between 0 and 2, both left out")
    require(weight == 1 or not LOSSES[loss].adjusted, owner, "weight", weight, f"be 1 for {loss}, which has none")
    for name, count in counts.items():
        check_whole(owner, name, count, none=True)
    require(within is None or 0 < real_number(within) <= 1, owner, "within", within, "lie in (0, 1], or be None")
    check_whole(owner, "restarts", restarts, 1, MOST_RESTARTS)
    check_seed(owner, seed, none=False, bits=64)


def _clusters(count: int) -> str:
    return f"{count:,} cluster{'' if count == 1 else 's'}"


def _limits(counts: npt.NDArray[np.int32], within: float | None, weight: float, max_clusters: int | None) -> tuple[int, int]:
    """The least and the largest number of clusters that an estimate may have."""
    low, high = 1, int(np.iinfo(np.int32).max)
    if within is not None:
        quantiles = np.quantile(counts, _outer(within), method="inverted_cdf")
        low = int(quantiles[0]) if weight <= 1 else low
        high = int(quantiles[1]) if weight >= 1 else high
    return (low, high) if max_clusters is None else (1, min(high, max_clusters))


def _large(points: Points, found: Labels, within: float) -> tuple[int, int] | None:
    """The least number of clusters of a size in that share of the draws, and the size; None where `found` has as many."""
    size = least_size(points.n)
    counts = count_clusters_of(points.draws, size, points.copies)
    least = int(np.quantile(counts, _outer(within)[0], method="inverted_cdf"))
    return None if count_clusters_of(found[None], size, points.copies)[0] >= least else (least, size)


def _outer(within: float) -> tuple[float, float]:
    """The probabilities between which that share lies."""
    return (1.0 - within) / 2.0, (1.0 + within) / 2.0


class _Descent(NamedTuple):
    """Where a descent stands, and the search that can go on from there where points and draws are many."""

    loss: float
    run: int
    labels: Labels
    search: Any


class _Search:
    """Searches from many starts, side by side: draws (D, points), rows behind each point, weights of the draws."""

    def __init__(
        self,
        draws: npt.NDArray[Any],
        copies: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float64],
        loss: Loss,
        weight: float,
        runs: int,
        seed: int,
    ) -> None:
        self.draws, self.copies, self.runs, self.seed = draws, copies, runs, seed
        self.many = draws.size > _MANY
        self.stopped = False
        tried = max(_COMPARED // draws.size, _LEAST_TRIED)
        some = None if 2 * tried >= len(draws) else evenly(len(draws), tried)
        self.expected = np.full(len(draws), np.inf)
        self.expected[slice(None) if some is None else some] = expected_losses(draws, copies, weights, loss, weight, some)
        self.ranked = np.argsort(self.expected.round(_DECIMALS), kind="stable")[: len(draws) if some is None else len(some)]
        f = count_function(loss, int(copies.sum()))
        self.start = _core.PartitionSearch(draws, copies, weights, f, LOSSES[loss].adjusted, 2.0 - weight)
        self.measure: Callable[[Labels], float] = lambda found: expected_loss(found, draws, copies, weights, loss, weight)

    def free(self) -> tuple[Labels, float]:
        """The best partition of any number of clusters."""

        def begin(own: _core.PartitionSearch, run: int) -> None:
            if run % 2 == 0 and run // 2 < self.ranked.size:
                own.start_at(wide(self.draws[self.ranked[run // 2]]))
            else:
                own.start_afresh(self.seed, 2 * run)

        first = self.ranked[0]
        return self._best(begin, [(wide(self.draws[first]), float(self.expected[first]))])

    def at_most(self, free: Labels, high: int) -> tuple[Labels, float]:
        """The best with no more clusters than `high`, given the best of all, which has more."""
        good = self.ranked[count_clusters(self.draws)[self.ranked] <= high]
        starts = [free, *(wide(self.draws[i]) for i in (good if good.size else self.ranked)[: self.runs])]

        def begin(own: _core.PartitionSearch, run: int) -> None:
            own.limit(1, high)
            if run % 2 == 1:
                own.start_afresh(self.seed, 2 * run)
            else:
                own.start_at(starts[run // 2 % len(starts)])
                own.join_down(high)

        return self._best(begin, [(wide(self.draws[i]), float(self.expected[i])) for i in good[:1]])

    def among(self, least: int, size: int, high: int) -> tuple[Labels, float]:
        """The best near draws with so many clusters of a size, with no more clusters than `high` where there is such a draw."""
        these = count_clusters_of(self.draws, size, self.copies) >= least
        known = self.ranked[these[self.ranked]]
        known = known if known.size else np.flatnonzero(these)
        counts = count_clusters(self.draws)
        fits = known[counts[known] <= high]
        starts = (fits if fits.size else known)[: _FINISHED if self.many else self.runs]

        def set_out(run: int) -> _Descent:
            own, draw = self.start.copy(), wide(self.draws[starts[run]])
            own.limit(1, max(high, int(counts[starts[run]])))
            sweeps = _FIRST if self.many else _SWEEPS
            found = improve(own, draw, self.copies, least, size, lambda: own.descend(self.seed, 2 * run + 1, sweeps, 0))
            return _Descent(self.measure(found), run, found, None)

        first = wide(self.draws[starts[0]])
        reached = [_Descent(self.measure(first), -1, first, None)]
        reached += self._side_by_side([partial(set_out, run) for run in range(starts.size)])
        best = min(reached, key=lambda one: round(one.loss, _DECIMALS))
        return best.labels, best.loss

    def _best(self, begin: Callable[[_core.PartitionSearch, int], None], known: list[tuple[Labels, float]]) -> tuple[Labels, float]:
        """The best of what is known and of all descents; the earlier of equals."""

        many = self.many

        def set_out(run: int) -> _Descent:
            own = self.start.copy()
            begin(own, run)
            return go_on(run, own, _FIRST if many else _SWEEPS, 0 if many else _REBUILT)

        def go_on(run: int, own: _core.PartitionSearch, sweeps: int = _SWEEPS, rebuilt: int = _REBUILT) -> _Descent:
            own.descend(self.seed, 2 * run + 1, sweeps, rebuilt)
            found = canonical(own.labels)
            return _Descent(self.measure(found), run, found, own if many else None)

        reached = self._side_by_side([partial(set_out, run) for run in range(self.runs)])
        if many:
            best = sorted(reached, key=lambda one: round(one.loss, _DECIMALS))[:_FINISHED]
            reached += self._side_by_side([partial(go_on, one.run, one.search) for one in best])
        return min([*known, *((one.labels, one.loss) for one in reached)], key=lambda one: round(one[1], _DECIMALS))

    def _side_by_side(self, descents: list[Callable[[], _Descent]]) -> list[_Descent]:
        """What descents come to, those that Ctrl-C let begin."""
        if self.stopped:
            return []
        with ThreadPoolExecutor(min(self.runs, os.cpu_count() or 1)) as pool:
            begun = [pool.submit(descent) for descent in descents]
            try:
                wait(begun)
            except KeyboardInterrupt:  # those under way end where they are
                self.stopped = True
                self.start.stop()
                pool.shutdown(cancel_futures=True)
        return [one.result() for one in begun if not one.cancelled()]


def thin_evenly(draws: npt.NDArray[Any], at_most: int | None) -> npt.NDArray[Any]:
    """Draws (D, n) at even distances, no more than asked for."""
    total = draws.shape[0]
    if at_most is None or total <= at_most:
        return draws
    return draws[evenly(total, at_most)]


def evenly(total: int, count: int) -> npt.NDArray[np.intp]:
    """So many of 0, ..., total - 1, at even distances."""
    return np.linspace(0, total - 1, count).round().astype(np.intp)
