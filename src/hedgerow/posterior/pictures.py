"""The pictures of a posterior: each draws on the axes given, or on new ones, and returns them.

They put together what `hedgerow.plots` draws from: the draws, a partition, the names of the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow import plots
from hedgerow.arguments import check_choice, is_whole, real_number
from hedgerow.errors import ParameterError, require
from hedgerow.posterior.columns import column_names, shown_columns
from hedgerow.posterior.convergence import quantities
from hedgerow.posterior.draws import Draws, FloatArray, IntArray
from hedgerow.posterior.prediction import predictive
from hedgerow.posterior.reporting import in_words, posterior_tree, tree_of
from hedgerow.posterior.traced import Traced, need_model
from hedgerow.summaries.clusters import uncertainty
from hedgerow.summaries.coclustering import similarity

__all__ = ["draw_density", "draw_pairs", "draw_scatter", "draw_similarity", "draw_trace", "draw_tree"]

GRID_LINE, GRID_PLANE = 300, 70  # places along a side where densities are computed
MOST_ROWS = 2_000  # in the heat map; of more, an even sample
MARGIN = 0.12  # of the data's range, on both sides

Columns = Sequence[str | int]


def draw_trace(draws: Traced, quantity: str, ax: Any) -> Any:
    """One quantity along the draws of every chain."""
    known = quantities(draws)
    check_choice("plot_trace", "quantity", quantity, known)
    return plots.trace(known[quantity], name=in_words(quantity), ax=ax)


def draw_tree(draws: Draws, names: Sequence[str] | None, max_leaves: int, ax: Any) -> Any:
    """The tree of the posterior, as in the report."""
    tree = posterior_tree(draws)
    if tree is None:
        raise ParameterError("plot_tree(...): the posterior must have two rows or more, and its model if they are more than 5,000.")
    return plots.dendrogram(tree.left, tree.right, tree.roots, tree.size, tree.log_d, names=names, max_leaves=max_leaves, ax=ax)


def draw_similarity(draws: Draws, own: IntArray, ax: Any) -> Any:
    """Co-clustering probabilities in the order of the posterior's tree, with the clusters of a partition at the side."""
    rows = np.arange(draws.n)
    if len(rows) > MOST_ROWS:
        rows = np.argsort(own, kind="stable")[(np.arange(MOST_ROWS) * len(rows)) // MOST_ROWS]
    whole = similarity(draws.labels, rows=rows, columns=rows).astype(np.float64)
    X, _ = shown_columns(draws)
    tree = tree_of(whole, X[rows])
    order = np.arange(len(rows)) if tree is None else plots.leaf_order(tree.left, tree.right, tree.roots)
    return plots.similarity_map(whole, order=order, labels=own[rows], ax=ax)


def draw_scatter(draws: Draws, own: IntArray, names: Sequence[str] | None, ax: Any) -> Any:
    """Points in the colours of their clusters, the doubtful ones paler and larger."""
    X, columns = shown_columns(draws, names)
    return plots.scatter(X, own, uncertainty=uncertainty(draws.labels, own).doubt, names=columns, ax=ax)


def draw_pairs(draws: Draws, own: IntArray, columns: Columns | None, axes: Any) -> Any:
    """Columns against each other."""
    X, names = shown_columns(draws)
    require(not sparse.issparse(X), "plot_pairs", "X", X, "be a table of columns; plot_scatter draws counts")
    where = list(range(len(names))) if columns is None else _places(columns, names, "plot_pairs")
    wanted = "name two to five columns" if columns is not None else f"be given, two to five of {_listed(names)}"
    require(2 <= len(where) <= 5, "plot_pairs", "columns", columns, wanted)
    doubt = uncertainty(draws.labels, own).doubt
    return plots.pairs(X[:, where], own, uncertainty=doubt, names=[names[j] for j in where], axes=axes)


def draw_density(
    draws: Draws, own: IntArray, columns: str | int | Columns | None, prob: float, time: Any, max_draws: int | None, ax: Any
) -> Any:
    """The predictive density of one column as a line with its band, of two as contours."""
    owner = "plot_density"
    require(0 < real_number(prob) < 1, owner, "prob", prob, "lie in (0, 1)")
    names = column_names(draws)
    given = columns if columns is None or (isinstance(columns, Iterable) and not isinstance(columns, str)) else [columns]
    where = list(range(len(names))) if given is None else _places(given, names, owner)
    wanted = "name one or two columns" if given is not None else f"be given, one or two of {_listed(names)}"
    require(1 <= len(where) <= 2, owner, "columns", columns, wanted)
    part = _marginal(draws, where, owner)
    seen = part.X if time is None or draws.times is None else part.X[draws.times == time]
    sides = [_grid(part.X[:, j], GRID_LINE if len(where) == 1 else GRID_PLANE) for j in range(len(where))]
    places = np.stack([axis.ravel() for axis in np.meshgrid(*sides)], axis=1)
    require(np.ndim(time) == 0, owner, "time", time, "be one of the times, or None")
    times = None if time is None else np.full(len(places), time)
    found = predictive(part, places, times=times, max_draws=max_draws)
    values = np.array([np.exp(np.logaddexp.reduce(weights, axis=1)) for _, weights in found])
    whole = ~np.isnan(seen).any(axis=1)
    if len(where) == 1:
        low, high = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
        name = names[where[0]]
        return plots.density(sides[0], values.mean(axis=0), low=low, high=high, data=seen[whole, 0], name=name, ax=ax)
    labels = own if seen is part.X else own[draws.times == time]
    mean = values.mean(axis=0).reshape(len(sides[1]), len(sides[0]))
    both = (names[where[0]], names[where[1]])
    return plots.density_map(sides[0], sides[1], mean, points=seen[whole], labels=labels[whole], names=both, ax=ax)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def _places(columns: Columns, names: list[str], owner: str) -> list[int]:
    """Positions of columns given by name or position."""
    found = []
    listed = isinstance(columns, Iterable) and np.ndim(columns) == 1
    require(listed, owner, "columns", columns, f"be columns of X ({_listed(names)}), by name or position")
    for column in columns:
        known = column in names if isinstance(column, str) else is_whole(column) and 0 <= column < len(names)
        require(known, owner, "columns", column, f"be columns of X ({_listed(names)}), by name or position")
        found.append(names.index(column) if isinstance(column, str) else int(column))
    require(len(set(found)) == len(found), owner, "columns", columns, "be different columns")
    return found


def _grid(column: FloatArray, count: int) -> FloatArray:
    low, high = float(np.nanmin(column)), float(np.nanmax(column))
    room = MARGIN * (high - low) or 1.0
    return np.linspace(low - room, high + room, count)


def _marginal(draws: Draws, where: list[int], owner: str) -> Draws:
    """The same draws with all other columns integrated out: exact, as the marginals of both Gaussian families are of their kind."""
    model = need_model(draws, owner)
    within = [part for places, part in model.likelihood.groups() if set(places) & set(where)]
    others = [type(part).__name__ for part in within if part.expected_variances() is None]
    smaller = None if others else model.likelihood.for_columns(where)
    if smaller is None:
        wanted = f"be measurements, under a Gaussian likelihood; these are under {others[0]}"
        raise ParameterError(f"{owner}(columns={where}): columns must {wanted}. Got {where}.")
    kept: dict[str, Any] = {name: getattr(draws, name) for name in ("labels", "log_joint", "times", "place")} | draws.traces()
    return Draws(X=draws.X[:, where], model=replace(model, likelihood=smaller), **kept)
