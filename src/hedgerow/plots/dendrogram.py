"""Draw a forest: joins coloured by P(h), the cut as one line, clusters by colour, large branches closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arguments import wholes_of
from hedgerow.errors import need_extra, require
from hedgerow.plots.canvas import as_written, color_map, drawn, plain_axes, probability_key
from hedgerow.plots.palette import INK, MUTED, PROBABILITY_STOPS, probability_colors, ranked_colors
from hedgerow.plots.tree_geometry import Dendrogram, cut_clusters, dendrogram_geometry

__all__ = ["dendrogram"]

FOOT = -0.045  # the strip of cluster colours under the leaves


@drawn
def dendrogram(
    left: ArrayLike,
    right: ArrayLike,
    roots: ArrayLike,
    size: ArrayLike,
    log_d: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    max_leaves: int = 60,
    ax: Any | None = None,
) -> Any:
    """Dendrogram of a forest given as arrays over its nodes (leaf i is row i), its roots side by side.

    Below the cut height counts points, above it the nats a join would cost (`tree_geometry` says why). At
    most `max_leaves` leaves and closed branches are drawn; a triangle is a closed branch, with its number
    of points.

    Parameters
    ----------
    left, right, roots, size, log_d : arrays
        As in `Forest`.
    names : sequence of str, optional
        Of the rows.
    max_leaves : int

    >>> axes = dendrogram([-1, -1, 0], [-1, -1, 1], [2], [1, 1, 2], [0.0, 0.0, -1.0], names=["a", "b"])
    """
    g = dendrogram_geometry(left, right, roots, size, log_d, max_leaves=max_leaves)
    leaves = int(np.sum(wholes_of("dendrogram", "left", left) < 0))
    good = names is None or (isinstance(names, Sequence | np.ndarray) and not isinstance(names, str) and len(names) >= leaves)
    require(good, "dendrogram", "names", names, f"name {leaves} leaves")
    collections = need_extra("matplotlib.collections", "plot")
    ax = plain_axes(ax, (9.0, 4.8))
    top = float(g.root_height.max(initial=0.0))
    stem = 0.035

    ax.add_collection(collections.LineCollection(g.path, colors=probability_colors(g.probability), linewidths=1.4, capstyle="round"))
    ends = np.minimum(g.root_height + stem, np.where(g.root_height < g.scale.cut, g.scale.cut - 0.02, np.inf))
    stems = np.stack([np.column_stack([g.root_x, g.root_height]), np.column_stack([g.root_x, ends])], axis=1)
    ax.add_collection(collections.LineCollection(stems, colors=MUTED, linewidths=1.4, capstyle="round"))

    nodes = cut_clusters(left, right, roots, log_d)
    sizes = np.asarray(size)[nodes]
    colors = np.empty((len(nodes), 3))
    colors[np.argsort(-sizes, kind="stable")] = ranked_colors(len(nodes))
    _draw_terminals(ax, g, colors, collections)
    _label_terminals(ax, g, names)

    ax.axhline(g.scale.cut, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.annotate(
        f"cut, d = 1: {len(nodes):,} clusters" if len(nodes) != 1 else "cut, d = 1: 1 cluster",
        (1.0, g.scale.cut), xycoords=("axes fraction", "data"), xytext=(0, 3), textcoords="offset points",
        ha="right", va="bottom", fontsize=9, color=INK,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.85},
    )  # fmt: skip
    if g.hidden_roots:
        ax.set_title(f"{g.hidden_roots:,} smaller roots ({g.hidden_points:,} points) not drawn", fontsize=9, loc="left")

    ax.set_xlim(-0.5, g.width + 0.5)
    ax.set_ylim(FOOT * 1.6, max(top + 2 * stem, g.scale.cut + 0.12))
    ax.yaxis.grid(False)
    ax.spines["bottom"].set_visible(False)
    positions, texts = zip(*g.scale.ticks, strict=True)
    ax.set_yticks(positions, texts)
    ax.set_ylabel("points in the branch" + (" | nats against the join" if top > g.scale.cut else ""))
    _probability_key(ax)
    return ax


def _draw_terminals(ax: Any, g: Dendrogram, colors: Any, collections: Any) -> None:
    """Closed branches as triangles; under every terminal a foot in its cluster's colour."""
    heights = g.scale.height[g.terminal]
    half = 0.42 * g.terminal_span
    closed = g.terminal_size > 1
    fill = np.where((g.cluster >= 0)[:, None], colors[np.maximum(g.cluster, 0)], 0.7)
    triangles = [
        [(x - w, 0.0), (x + w, 0.0), (x, h)] for x, w, h in zip(g.terminal_x[closed], half[closed], heights[closed], strict=True)
    ]
    ax.add_collection(collections.PolyCollection(triangles, facecolors=[*fill[closed]], alpha=0.55, linewidths=0))
    feet = [
        [(x - w, FOOT), (x + w, FOOT), (x + w, FOOT / 4), (x - w, FOOT / 4)]
        for x, w in zip(g.terminal_x, 0.5 * g.terminal_span, strict=True)
    ]
    ax.add_collection(collections.PolyCollection(feet, facecolors=[*fill], edgecolors=[*fill], linewidths=0.5))


def _label_terminals(ax: Any, g: Dendrogram, names: Sequence[str] | None) -> None:
    """Counts under closed branches, names under leaves; turned when they would touch."""
    texts = [
        f"{size:,}" if size > 1 else ("" if names is None else as_written(names[node]))
        for node, size in zip(g.terminal, g.terminal_size, strict=True)
    ]
    across = ax.get_position().width * ax.figure.get_figwidth() * 72 / max(g.width, 1.0)  # points per unit
    room = across * np.asarray(g.terminal_span)
    crowded = any(len(text) * 5.5 > space for text, space in zip(texts, room, strict=True))
    if crowded:  # turned, and only where a line has room: others would be a grey band
        texts = [text if space >= 6.0 else "" for text, space in zip(texts, room, strict=True)]
    ax.set_xticks(g.terminal_x, texts, rotation=90 if crowded else 0, fontsize=7 if crowded else 8)
    ax.tick_params(axis="x", length=0)


def _probability_key(ax: Any) -> None:
    """A small colour bar beside the axes."""
    scalar = need_extra("matplotlib.cm", "plot").ScalarMappable(cmap=color_map("probability", PROBABILITY_STOPS))
    scalar.set_clim(0.0, 1.0)
    probability_key(ax, scalar, (1.02, 0.2, 0.014, 0.5), "P(one cluster)")
