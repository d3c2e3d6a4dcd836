"""Draw how clusters part from level to level: a column of bars a level, bands where rows go."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import need_extra, require
from hedgerow.plots.canvas import as_written, drawn, plain_axes
from hedgerow.plots.palette import INK, ranked_colors

__all__ = ["FlowGeometry", "flow", "flow_geometry", "flow_svg"]

GAP = 0.02  # between bars, of the height
WIDTH = 0.16  # of a bar, of the distance between levels
STEPS = 30  # of a band's outline


@dataclass(frozen=True, eq=False)
class FlowGeometry:
    """Where everything stands, heights in shares of the rows.

    Attributes
    ----------
    bars : list of (K, 2)
        Lower and upper end of every cluster's bar, level by level.
    bands : list of (m, 6)
        Between a level and the next: cluster, next cluster, lower and upper end at the left, lower and upper end at the right.
    colors : list of (K,)
        Which colour a bar has: the largest part of a cluster keeps its colour at the next level, the others get new ones.

    >>> flow_geometry([[0, 0, 0], [0, 0, 1]]).bands[0].shape
    (2, 6)
    """

    bars: list[NDArray[np.float64]]
    bands: list[NDArray[np.float64]]
    colors: list[NDArray[np.int64]]


def flow_geometry(levels: Sequence[ArrayLike]) -> FlowGeometry:
    """Bars and bands of partitions (n,) of the same rows, from coarse to fine.

    Clusters stand in the order of those they come from, so that bands cross as little as may be.

    Parameters
    ----------
    levels : sequence of (n,)
        Labels 0, 1, ... of each level.

    Returns
    -------
    FlowGeometry

    >>> [bar.shape for bar in flow_geometry([[0, 0, 0], [0, 0, 1]]).bars]
    [(1, 2), (2, 2)]
    """
    stack = [np.asarray(labels, dtype=np.int64) for labels in levels]
    require(len(stack) > 0, "flow", "levels", levels, "be at least one")
    n = stack[0].size
    for labels in stack:
        good = labels.shape == (n,) and n > 0 and labels.min() >= 0 and bool(np.bincount(labels).all())
        require(good, "flow", "levels", labels, f"be labels 0, 1, ... of the same {n} rows")
    tables = [_shared(a, b) for a, b in itertools.pairwise(stack)]
    place = np.arange(int(stack[0].max()) + 1, dtype=np.float64)
    bars = [_bars(np.bincount(stack[0]), place, n)]
    for labels, table in zip(stack[1:], tables, strict=True):
        middle = bars[-1].mean(axis=1)
        bars.append(_bars(np.bincount(labels), (table * middle[:, None]).sum(axis=0) / table.sum(axis=0), n))
    colors = [np.arange(int(stack[0].max()) + 1)]
    for table in tables:
        colors.append(_passed_on(table, colors[-1]))
    bands = [_bands(table, left, right, n) for table, left, right in zip(tables, bars[:-1], bars[1:], strict=True)]
    return FlowGeometry(bars, bands, colors)


@drawn
def flow(levels: Sequence[ArrayLike], names: Sequence[str] | None = None, *, ax: Any | None = None) -> Any:
    """Draw partitions of the same rows side by side, coarse at the left, with bands where rows go.

    Parameters
    ----------
    levels : sequence of (n,)
        Labels 0, 1, ... of each level.
    names : sequence of str, optional
        What is written under each.

    >>> axes = flow([[0, 0, 0], [0, 0, 1]], ["coarse", "fine"])
    """
    geometry = flow_geometry(levels)
    palette = ranked_colors(1 + max(int(colors.max()) for colors in geometry.colors))
    ax = plain_axes(ax, (max(4.0, 1.25 * len(geometry.bars) + 0.6), 4.6))
    t = np.linspace(0.0, 1.0, STEPS)
    ease = t * t * (3.0 - 2.0 * t)
    for at, bands in enumerate(geometry.bands):
        x = at + WIDTH / 2 + t * (1.0 - WIDTH)
        for band in bands:
            low, high = (band[i] + ease * (band[i + 2] - band[i]) for i in (2, 3))
            color = palette[geometry.colors[at + 1][int(band[1])]]
            ax.fill_between(x, low, high, color=color, alpha=0.35, linewidth=0)
    patches = need_extra("matplotlib.patches", "plot")
    for at, (bars, colors) in enumerate(zip(geometry.bars, geometry.colors, strict=True)):
        for (low, high), color in zip(bars, colors, strict=True):
            ax.add_patch(patches.Rectangle((at - WIDTH / 2, low), WIDTH, high - low, color=palette[color], linewidth=0))
    ax.set_xlim(-0.5, len(geometry.bars) - 0.5)
    ax.set_ylim(*_ends(geometry))
    ax.set_yticks([])
    ax.yaxis.grid(False)
    ax.spines["left"].set_visible(False)
    shown = [as_written(name) for name in names] if names is not None else [str(i) for i in range(len(geometry.bars))]
    require(len(shown) == len(geometry.bars), "flow", "names", names, f"name the {len(geometry.bars)} levels")
    ax.set_xticks(range(len(shown)), shown, color=INK)
    return ax


def flow_svg(levels: Sequence[ArrayLike], names: Sequence[str], width: int = 760, height: int = 240) -> str:
    """The same picture as SVG, drawn without matplotlib, for notebooks.

    Parameters
    ----------
    levels : sequence of (n,)
        Labels 0, 1, ... of each level.
    names : sequence of str
        What is written under each, in lines.
    width, height : int
        Of the picture, in pixels.

    Returns
    -------
    str

    >>> flow_svg([[0, 0, 0], [0, 0, 1]], ["coarse", "fine"]).count("<rect")
    3
    """
    geometry = flow_geometry(levels)
    known = np.rint(255 * ranked_colors(1 + max(int(colors.max()) for colors in geometry.colors))).astype(int)
    palette = [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in known]
    step = width / len(geometry.bars)
    low, high = _ends(geometry)
    room = 14 * max(name.count("\n") + 1 for name in names) + 6

    def y(value: float) -> str:
        return f"{(high - value) / (high - low) * (height - room):.1f}"

    drawn = []
    for at, bands in enumerate(geometry.bands):
        a, b = (at + 0.5 + WIDTH / 2) * step, (at + 1.5 - WIDTH / 2) * step
        for band in bands:
            p, q, r, s = (y(float(end)) for end in band[2:])
            m = f"{(a + b) / 2:.1f}"
            curve = f"M{a:.1f},{p}C{m},{p} {m},{r} {b:.1f},{r}V{s}C{m},{s} {m},{q} {a:.1f},{q}Z"
            drawn.append(f'<path d="{curve}" fill="{palette[geometry.colors[at + 1][int(band[1])]]}" fill-opacity="0.35"/>')
    for at, (bars, colors, name) in enumerate(zip(geometry.bars, geometry.colors, names, strict=True)):
        middle = (at + 0.5) * step
        for (bottom, top), color in zip(bars, colors, strict=True):
            place = f'x="{middle - WIDTH * step / 2:.1f}" y="{y(top)}"'
            size = f'width="{WIDTH * step:.1f}" height="{float(y(bottom)) - float(y(top)):.1f}"'
            drawn.append(f'<rect {place} {size} fill="{palette[color]}"/>')
        for line, text in enumerate(name.split("\n")):
            place = f'x="{middle:.1f}" y="{height - room + 14 * (line + 1)}"'
            drawn.append(f'<text {place} text-anchor="middle" font-size="11" fill="currentColor">{escape(text)}</text>')
    told = escape("; ".join(name.replace("\n", ", ") for name in names))
    frame = f'viewBox="0 0 {width} {height}" width="100%" style="max-width:{width}px" role="img" aria-label="{told}"'
    return f"<svg {frame}>{''.join(drawn)}</svg>"


def _shared(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.float64]:
    width = int(b.max()) + 1
    return np.bincount(a * width + b, minlength=(int(a.max()) + 1) * width).reshape(-1, width).astype(np.float64)


def _bars(sizes: NDArray[np.intp], wanted: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Bars one above the other in the order of `wanted`, with gaps, centred on the middle."""
    order = np.lexsort((-sizes, wanted))
    gap = min(GAP, 0.5 / max(len(sizes), 1))
    heights = sizes[order] / n
    low = np.concatenate([[0.0], np.cumsum(heights + gap)[:-1]])
    low -= (heights.sum() + gap * (len(sizes) - 1)) / 2
    out = np.empty((len(sizes), 2))
    out[order] = np.column_stack([low, low + heights])
    return out


def _bands(table: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    pairs = np.argwhere(table > 0)
    out = np.empty((len(pairs), 6))
    out[:, :2] = pairs
    for column, ends, other in ((0, left, right), (1, right, left)):
        filled = ends[:, 0].copy()
        along = np.lexsort((other[pairs[:, 1 - column], 0], pairs[:, column]))
        for i in along:
            own = pairs[i, column]
            height = table[pairs[i, 0], pairs[i, 1]] / n
            out[i, 2 + 2 * column : 4 + 2 * column] = filled[own], filled[own] + height
            filled[own] += height
    return out


def _passed_on(table: NDArray[np.float64], colors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Colours of the next level: from each cluster to its largest part, the largest first; new ones for the rest, largest first."""
    out = np.full(table.shape[1], -1, dtype=np.int64)
    largest = table.argmax(axis=1)
    for a in np.argsort(-table.max(axis=1), kind="stable"):
        if out[largest[a]] < 0:
            out[largest[a]] = colors[a]
    taken = {int(color) for color in colors}
    free = (color for color in itertools.count() if color not in taken)
    for b in np.argsort(-table.sum(axis=0), kind="stable"):
        if out[b] < 0:
            out[b] = next(free)
    return out


def _ends(geometry: FlowGeometry) -> tuple[float, float]:
    low, high = min(float(bars.min()) for bars in geometry.bars), max(float(bars.max()) for bars in geometry.bars)
    return low - 0.01, high + 0.01
