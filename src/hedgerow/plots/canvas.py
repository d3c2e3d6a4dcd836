"""The sheet every plot is drawn on: an axes in the house's light style, made on demand."""

from __future__ import annotations

from typing import Any

from hedgerow.docstrings import explained
from hedgerow.errors import need_extra, require
from hedgerow.plots.palette import GRID, INK, MUTED

__all__ = ["as_written", "color_map", "drawn", "plain_axes", "probability_key"]

#: What every function that draws takes and gives back.
drawn = explained("ax : matplotlib axes, optional", "matplotlib axes")


def plain_axes(ax: Any | None, size: tuple[float, float]) -> Any:
    """`ax` itself, or a new axes of `size` inches, with quiet spines, ticks and text."""
    need_extra("matplotlib", "plot")
    if ax is None:
        pyplot = need_extra("matplotlib.pyplot", "plot")
        ax = pyplot.figure(figsize=size, layout="constrained", facecolor="white").add_subplot()
    require(hasattr(ax, "spines"), "plot", "ax", ax, "be matplotlib axes, or None")
    ax.set_facecolor("white")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
        ax.spines[side].set_linewidth(0.8)
    ax.tick_params(colors=INK, labelsize=9, length=3, width=0.8, color=MUTED)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_color(INK)
    ax.title.set_fontsize(11)
    ax.grid(False)
    ax.set_axisbelow(True)
    ax.yaxis.grid(True, color=GRID, linewidth=0.6)
    return ax


def as_written(name: object) -> str:
    """A name that is drawn letter by letter: a dollar opens no formula, and half letters, which no font has, are escapes."""
    return str(name).replace("$", r"\$").encode("utf-8", "backslashreplace").decode()


def color_map(name: str, stops: tuple[str, ...]) -> Any:
    """A continuous matplotlib colour map through `stops`."""
    return need_extra("matplotlib.colors", "plot").LinearSegmentedColormap.from_list(name, list(stops))


def probability_key(ax: Any, shown: Any, place: tuple[float, float, float, float], text: str) -> None:
    """A small colour bar from 0 to 1 beside the axes, for what is shown there."""
    key = ax.inset_axes(place)
    bar = ax.figure.colorbar(shown, cax=key)
    bar.outline.set_visible(False)
    bar.set_ticks([0, 0.5, 1])
    bar.set_label(text, color=INK, fontsize=9)
    key.tick_params(labelsize=8, colors=INK, length=2)
