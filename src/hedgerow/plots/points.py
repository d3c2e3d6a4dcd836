"""Draw data: the scatter, pairs of columns, and predictive densities in one and two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.arguments import wholes_of
from hedgerow.errors import need_extra, require
from hedgerow.plots.canvas import as_written, color_map, drawn, plain_axes
from hedgerow.plots.palette import CLUSTER_COLORS, INK, MUTED, cluster_colors
from hedgerow.plots.plane_geometry import as_columns, plane

__all__ = ["density", "density_map", "pairs", "point_styles", "scatter"]

DENSITY_STOPS = ("#ffffff", "#cfe3ee", "#7fb3d3", "#1f5f8b")


def point_styles(labels: ArrayLike, uncertainty: ArrayLike | None, size: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Colours with transparency (n, 4) and areas (n,): the less certain a point, the paler and larger.

    Larger, because a pale small point would be overlooked, and the doubtful ones are what one looks for.
    """
    labels = wholes_of("plot", "labels", labels)
    doubt = np.zeros(len(labels)) if uncertainty is None else np.asarray(uncertainty, dtype=np.float64)
    require(doubt.shape == labels.shape, "scatter", "uncertainty", doubt, "have one entry per point")
    doubt = np.clip(doubt, 0.0, 1.0)
    rgba = np.column_stack([cluster_colors(labels)[labels], 0.9 - 0.6 * doubt])
    return rgba, size * (1.0 + 1.5 * doubt)


@drawn
def scatter(
    X: Any, labels: ArrayLike, *, uncertainty: ArrayLike | None = None, names: Sequence[str] | None = None, ax: Any | None = None
) -> Any:
    """Points in their clusters' colours: the data if d <= 2, else its first two principal components.

    `uncertainty` in [0, 1] makes a point paler and larger.

    Parameters
    ----------
    X : (n, d) numbers or sparse counts
    labels : (n,)
    uncertainty : (n,), optional
    names : sequence of str, optional
        Of the columns.

    >>> axes = scatter([[0.0, 1.0], [2.0, 3.0]], [0, 1])
    """
    place = plane(X, names)
    ax = plain_axes(ax, (5.6, 5.0))
    _draw_points(ax, place.points, labels, uncertainty)
    ax.set_xlabel(as_written(place.axes[0]))
    ax.set_ylabel(as_written(place.axes[1]))
    if not place.axes[1]:
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
    return ax


def pairs(
    X: Any, labels: ArrayLike, *, uncertainty: ArrayLike | None = None, names: Sequence[str] | None = None, axes: Any | None = None
) -> Any:
    """Every pair of 2 to 5 columns against each other; the diagonal shows each column's histogram by cluster.

    `axes` is an optional (d, d) array of matplotlib axes, returned.

    Parameters
    ----------
    X : (n, d)
    labels : (n,)
    uncertainty : (n,), optional
    names : sequence of str, optional
        Of the columns.
    axes : (d, d) of matplotlib axes, optional

    Returns
    -------
    (d, d) of matplotlib axes

    >>> pairs([[0.0, 1.0], [2.0, 3.0]], [0, 1]).shape
    (2, 2)
    """
    X, columns = as_columns("pairs", X, names)
    d = X.shape[1]
    require(2 <= d <= 5, "pairs", "X", X, "have 2 to 5 columns (use scatter for more)")
    if axes is None:
        pyplot = need_extra("matplotlib.pyplot", "plot")
        axes = pyplot.figure(figsize=(2.1 * d, 2.1 * d), layout="constrained", facecolor="white").subplots(d, d)
    require(wholes_of("pairs", "labels", labels).shape == X.shape[:1], "pairs", "labels", labels, f"be those of the {len(X)} rows")
    axes = np.asarray(axes)
    require(axes.shape == (d, d), "pairs", "axes", axes, f"have shape ({d}, {d})")
    for row in range(d):
        for column in range(d):
            ax = plain_axes(axes[row, column], (2.0, 2.0))
            if row == column:
                _draw_histogram(ax, X[:, row], labels)
            else:
                _draw_points(ax, X[:, [column, row]], labels, uncertainty, size=9.0)
            ax.tick_params(labelsize=7, labelbottom=row == d - 1, labelleft=column == 0 and row != column)
            ax.set_xlabel(as_written(columns[column]) if row == d - 1 else "", fontsize=9)
            ax.set_ylabel(as_written(columns[row]) if column == 0 else "", fontsize=9)
    return axes


@drawn
def density(
    grid: ArrayLike,
    mean: ArrayLike,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    data: ArrayLike | None = None,
    name: str = "x",
    ax: Any | None = None,
) -> Any:
    """Predictive density on a grid, with its band; `data` adds a histogram behind and a rug below.

    Parameters
    ----------
    grid, mean : (m,)
    low, high : (m,), optional
    data : (n,), optional
    name : str
        Of the column.

    >>> axes = density([0.0, 1.0, 2.0], [0.2, 0.5, 0.3], data=[0.8, 1.1])
    """
    grid, mean = np.asarray(grid, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    require(grid.ndim == 1 and mean.shape == grid.shape, "density", "mean", mean, "be a vector as long as grid")
    require((low is None) == (high is None), "density", "high", high, "be given together with low")
    ax = plain_axes(ax, (6.4, 3.6))
    if data is not None:
        data = np.asarray(data, dtype=np.float64).ravel()
        bins = int(np.clip(2.0 * np.sqrt(len(data)), 8, 60))
        ax.hist(data, bins=bins, density=True, color=MUTED, alpha=0.25, linewidth=0)
        rug = need_extra("matplotlib.transforms", "plot").blended_transform_factory(ax.transData, ax.transAxes)
        ink = max(0.15, min(0.7, 60 / max(len(data), 1)))
        ax.plot(data, np.full(len(data), 0.015), "|", transform=rug, color=INK, markersize=7, alpha=ink)
    if low is not None and high is not None:
        ax.fill_between(grid, np.asarray(low), np.asarray(high), color=CLUSTER_COLORS[0], alpha=0.25, linewidth=0)
    ax.plot(grid, mean, color="#1f5f8b", linewidth=1.8)
    ax.set_xlim(grid.min(), grid.max())
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(as_written(name))
    ax.set_ylabel("density")
    return ax


@drawn
def density_map(
    x: ArrayLike,
    y: ArrayLike,
    value: ArrayLike,
    *,
    points: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    names: Sequence[str] = ("x", "y"),
    ax: Any | None = None,
) -> Any:
    """Predictive density `value` (len(y), len(x)) as contours that enclose 25% to 99% of its mass.

    Parameters
    ----------
    x, y : (m,)
        The grid.
    value : (len(y), len(x))
    points : (n, 2), optional
    labels : (n,), optional
    names : (str, str)
        Of the columns.

    >>> axes = density_map([0.0, 1.0, 2.0], [0.0, 1.0], [[0.1, 0.2, 0.1], [0.2, 0.5, 0.3]])
    """
    x, y, value = (np.asarray(a, dtype=np.float64) for a in (x, y, value))
    require(value.shape == (len(y), len(x)), "density_map", "value", value, f"have shape ({len(y)}, {len(x)})")
    ax = plain_axes(ax, (5.6, 5.0))
    shares = (0.99, 0.95, 0.9, 0.75, 0.5, 0.25)
    levels = mass_levels(value, shares)
    cmap = color_map("density", DENSITY_STOPS)
    edges = [*levels, max(float(value.max()), levels[-1] * (1 + 1e-9)) * (1 + 1e-9)]
    ax.contourf(x, y, value, levels=edges, colors=[*cmap(np.linspace(0.18, 1.0, len(levels)))], alpha=0.75)
    lines = ax.contour(x, y, value, levels=levels, colors=[INK], linewidths=0.5, alpha=0.5)
    words = {level: f"{100 * share:.0f}%" for level, share in zip(levels, shares, strict=False)}
    ax.clabel(lines, levels=levels[::2], fmt=words, fontsize=7)
    if points is not None:
        points = np.asarray(points, dtype=np.float64)
        flat = np.zeros(len(points), dtype=np.int64) if labels is None else labels
        _draw_points(ax, points, flat, None, size=9.0)
    ax.yaxis.grid(False)
    ax.set_xlim(x.min(), x.max())
    ax.set_ylim(y.min(), y.max())
    ax.set_xlabel(as_written(names[0]))
    ax.set_ylabel(as_written(names[1]))
    return ax


def mass_levels(value: ArrayLike, shares: Sequence[float]) -> list[float]:
    """Distinct ascending levels whose upper sets hold the given `shares` of the mass on a regular grid."""
    flat = np.sort(np.asarray(value, dtype=np.float64).ravel())[::-1]
    require(
        bool(np.all(np.isfinite(flat)) and flat[0] > 0),
        "mass_levels",
        "value",
        value,
        "be finite, somewhere > 0",
    )
    mass = np.cumsum(flat) / flat.sum()
    levels = flat[np.minimum(np.searchsorted(mass, shares), len(flat) - 1)]
    return [float(level) for level in np.unique(np.maximum(levels, flat[0] * 1e-12))]


def _draw_points(ax: Any, points: NDArray[np.float64], labels: ArrayLike, uncertainty: ArrayLike | None, size: float = 16.0) -> None:
    labels = wholes_of("plot", "labels", labels)
    require(labels.shape == (len(points),), "scatter", "labels", labels, f"have {len(points)} entries")
    rgba, area = point_styles(labels, uncertainty, size * float(np.clip(1_500 / max(len(points), 1), 0.2, 1.0)))
    ax.scatter(points[:, 0], points[:, 1], s=area, c=rgba, linewidths=0.3, edgecolors="white")
    ax.yaxis.grid(False)


def _draw_histogram(ax: Any, column: NDArray[np.float64], labels: ArrayLike) -> None:
    labels = wholes_of("plot", "labels", labels)
    colors = cluster_colors(labels)
    seen = np.isfinite(column)
    parts = [column[seen & (labels == c)] for c in range(len(colors))]
    bins = np.histogram_bin_edges(column[seen], bins=24)
    ax.hist(parts, bins=bins, stacked=True, color=[*colors], alpha=0.75, linewidth=0)
    ax.set_yticks([])
    ax.yaxis.grid(False)
