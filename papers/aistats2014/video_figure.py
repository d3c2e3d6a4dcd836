"""The picture of Figure 4: eight measures against the number of segments, ours beside the paper's methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.common import pyplot, save_figure

Curves = dict[tuple[str, str], npt.NDArray[np.float64]]
Styles = dict[str, dict[str, Any]]

#: Ours in strong colours, the paper's own curve in black, the other methods of its figure in grey.
STYLES: Styles = {
    "edges": {"color": "#c1272d", "marker": "o", "linewidth": 2.2, "label": "Hedgerow, with edges"},
    "hierarchy": {"color": "#e69f00", "marker": "D", "linewidth": 1.6, "label": "Hedgerow, colours"},
    "sweep": {"color": "#0072b2", "marker": "s", "linewidth": 1.6, "label": "Hedgerow, β swept"},
    "IBHC": {"color": "black", "marker": "^", "linewidth": 1.8, "label": "IBHC (2014)"},
    "SGBH": {"color": "#777777", "marker": "x", "linestyle": "-", "label": "streaming GBH"},
    "GBH": {"color": "#777777", "linestyle": "--", "label": "GBH, offline"},
    "SWA": {"color": "#777777", "linestyle": ":", "label": "SWA, offline"},
    "GB": {"color": "#bbbbbb", "linestyle": "--", "label": "GB, offline"},
    "Meanshift": {"color": "#bbbbbb", "linestyle": ":", "label": "mean shift, offline"},
    "Nystrom": {"color": "#bbbbbb", "linestyle": "-.", "label": "Nyström, offline"},
}
#: Of the picture with settings held out.
HELD_OUT: Styles = {
    "held out": {"color": "#c1272d", "marker": "o", "linewidth": 2.2, "label": "settings of the other seven"},
    "own": {"color": "#0072b2", "marker": "s", "linewidth": 1.6, "label": "the package's settings"},
} | {method: style for method, style in STYLES.items() if method not in ("edges", "hierarchy", "sweep")}
TITLES = {
    "2D accuracy": "2-D accuracy",
    "3D accuracy": "3-D accuracy",
    "2D UE": "2-D undersegmentation error",
    "3D UE": "3-D undersegmentation error",
    "2D BR": "2-D boundary recall",
    "3D BR": "3-D boundary recall",
    "EV": "explained variation",
    "mean duration": "mean duration, frames",
}


def draw(
    ours: Curves,
    printed: Curves,
    at: tuple[int, ...],
    measures: tuple[str, ...],
    out: Path,
    name: str = "video",
    styles: Styles = STYLES,
) -> None:
    """Eight panels and one legend, as PNG and SVG."""
    figure, axes = pyplot().subplots(2, 4, figsize=(15, 7.6), sharex=True)
    for ax, measure in zip(axes.T.reshape(-1), measures, strict=True):
        for method, style in reversed(styles.items()):
            line = ours.get((measure, method), printed.get((measure, method)))
            if line is not None:
                ax.plot(at[: len(line)], line, markersize=4, **style)
        ax.set_title(TITLES[measure], fontsize=11)
        ax.grid(alpha=0.25)
        if measure.endswith("UE"):
            ax.set_yscale("log")
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("segments")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], names[::-1], loc="lower center", ncol=10, fontsize=8.5, frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    save_figure(figure, out, name)
