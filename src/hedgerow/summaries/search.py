"""Greedy search for the partition of least expected loss (SALSO: Dahl, Johnson, Müller 2022).

A descent sweeps over the points, moving each to the cluster where the expected loss is least, until none moves; then
it dissolves whole clusters and rebuilds them ("zealous" updates), keeping what helps. `counts` holds the state.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hedgerow.summaries.counts import NOWHERE, CountTable

__all__ = ["descend", "start_sequential"]

Ints = npt.NDArray[np.int64]

_CHUNK = 256  # points scored at once
_ONE_BY_ONE = 512  # points allocated singly at the start of a sequential allocation
_PROMISING = 4  # columns looked at again for a point that wants to move


def start_sequential(table: CountTable, rng: np.random.Generator) -> None:
    """Allocate the points in random order, each where it is best among those already placed.

    The first few hundred, which shape the clusters, go one by one. The others are scored a chunk at a time, and only
    those that would rather start a cluster are looked at again; the sweeps that follow repair what this misses.
    """
    table.load(np.full(table.n, NOWHERE, dtype=np.int32))
    order = rng.permutation(table.n)
    first, rest = order[:_ONE_BY_ONE], order[_ONE_BY_ONE:]
    _allocate(table, first)
    rest = rest[np.argsort(table.rows[rest, rng.integers(table.n_draws)], kind="stable")]  # for shared rows
    for start in range(0, rest.size, _CHUNK):
        table.leave_room()
        points = rest[start : start + _CHUNK]
        best = np.argmin(table.scores(points), axis=1)
        joins = table.sizes[best] > 0
        for i, k in zip(points[joins], best[joins], strict=True):
            table.place(int(i), int(k))
        _allocate(table, points[~joins])


def descend(table: CountTable, rng: np.random.Generator, *, max_sweeps: int = 100, zealous: int = 10) -> None:
    """Sweep until no single move helps, then dissolve whole clusters and rebuild them while that helps."""
    _sweep_to_rest(table, rng, max_sweeps)
    for _ in range(zealous):
        occupied = np.flatnonzero(table.sizes)
        cluster = int(rng.choice(occupied))
        if _rebuild(table, cluster, rng):
            _sweep_to_rest(table, rng, max_sweeps)


def _sweep_to_rest(table: CountTable, rng: np.random.Generator, max_sweeps: int) -> None:
    for _ in range(max_sweeps):
        table.drop_empty()
        rank = rng.permutation(table.width)[table.labels]
        shuffled = rng.permutation(table.n)
        if _sweep(table, shuffled[np.argsort(rank[shuffled], kind="stable")]) == 0:
            return


def _sweep(table: CountTable, order: Ints) -> int:
    """Every point once; a move is made when it lowers the loss, and the number of moves returned.

    Clusters come in random order: the points of one share most of their rows.
    The second look at a point that wants to move takes in its most promising columns only. What other points' moves
    in the same chunk have changed beyond that is left to the next sweep; the last sweep moves nothing, so its
    scores are exact for every point and column.
    """
    moved = 0
    for start in range(0, order.size, _CHUNK):
        table.leave_room()
        points = order[start : start + _CHUNK]
        scores = table.scores(points)
        here = scores[np.arange(points.size), table.labels[points]]
        wants = np.flatnonzero(here - scores.min(axis=1) > table.tolerance)
        if wants.size == 0:
            continue
        few = min(_PROMISING, table.width)
        promising = np.argpartition(scores[wants], few - 1, axis=1)[:, :few]
        for i, columns in zip(points[wants], promising, strict=True):
            moved += _move(table, int(i), columns)
    return moved


def _move(table: CountTable, i: int, columns: Ints) -> bool:
    """Move point i to the best of the columns if that beats where it is."""
    own = int(table.labels[i])
    columns = np.append(columns[columns != own], own)
    score = table.score(i, columns)
    best = int(np.argmin(score))
    if score[-1] - score[best] <= table.tolerance:
        return False
    table.take_out(i)
    table.place(i, int(columns[best]))
    return True


def _allocate(table: CountTable, order: Ints) -> None:
    for i in order:
        table.leave_room()
        table.place(int(i), int(np.argmin(table.score(int(i)))))


def _rebuild(table: CountTable, cluster: int, rng: np.random.Generator) -> bool:
    """Dissolve a cluster and allocate its points anew; undone unless the objective falls."""
    before = table.objective()
    members = np.flatnonzero(table.labels == cluster)
    for i in members:
        table.take_out(int(i))
    _allocate(table, rng.permutation(members))
    if table.objective() < before - table.tolerance:
        return True
    for i in members:
        table.take_out(int(i))
    for i in members:  # no other point moved, so the column is empty again
        table.place(int(i), cluster)
    return False
