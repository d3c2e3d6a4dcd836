"""The picture of Figure 3: the data, log-joint traces under DP and NGG, and tgMCMC with varying G and D."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.plots.canvas import plain_axes
from hedgerow.plots.palette import INK, MUTED, mix_colors
from hedgerow.plots.points import point_styles
from papers.chains import best_over_time
from papers.common import COLORS, Record, note, pyplot, save_figure
from papers.nips2015.models import Set

LOWEST = -2000.0
SHADES = ("#9cc7de", "#1f5f8b", "#12314c")


def draw(result: Record, data: Set, out: Path) -> None:
    """Six panels, to toy.png and toy.svg."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 3, figsize=(11.5, 6.6), layout="constrained")
    for ax in axes.flat:
        plain_axes(ax, (3.0, 3.0))
    colors, area = point_styles(np.asarray(data.labels), None, 7.0)
    axes[0, 0].scatter(data.X[:, 0], data.X[:, 1], s=area, c=colors, linewidths=0, rasterized=True)
    axes[0, 0].set_title(f"{data.name}, true labels")
    axes[0, 0].set_aspect("equal")
    for ax, prior in ((axes[0, 1], "DP"), (axes[0, 2], "NGG")):
        lines = {method: (traces, COLORS[method]) for method, traces in result["traces"][prior].items()}
        _traces(ax, lines)
        logs = (result["authors_logs"] or {}).get(prior, {})
        for method, cell in logs.items():
            grid = np.geomspace(0.02, 10.0, 40)
            ax.plot(grid, best_over_time(cell["traces"], grid).mean(axis=0), color=COLORS[method], linewidth=1.0, linestyle=":")
        ax.set_title(f"log joint, {prior}")
        if logs:
            note(ax, "dotted: the authors' logs")
    axes[0, 1].legend(frameon=False, fontsize=8, loc="center left")
    for ax, letter in ((axes[1, 0], "G"), (axes[1, 1], "D")):
        cells = result["traces"][letter]
        shades = mix_colors(np.linspace(0, 1, len(cells)), SHADES)
        _traces(ax, {f"{letter} = {value}": (traces, shades[i]) for i, (value, traces) in enumerate(cells.items())}, band=False)
        ax.set_title(f"tgMCMC, varying {letter} (DP)")
        ax.legend(frameon=False, fontsize=8, loc="lower right")
    _clusters(axes[1, 2], result)
    save_figure(figure, out, "toy")


def _traces(ax: Any, lines: dict[str, tuple[list[Record], Any]], band: bool = True) -> None:
    """Mean over runs, and the range of them as a band, against CPU time on a logarithmic axis."""
    top = LOWEST
    for name, (traces, color) in lines.items():
        first, last = min(t["seconds"][0] for t in traces), min(t["seconds"][-1] for t in traces)
        grid = np.geomspace(first, last, 50)
        values = best_over_time(traces, grid)
        if band:
            ax.fill_between(grid, values.min(axis=0), values.max(axis=0), color=color, alpha=0.15, linewidth=0)
        ax.plot(grid, values.mean(axis=0), color=color, linewidth=1.6, label=name)
        top = max(top, float(values.max()))
    ax.set_xscale("log")
    ax.set_ylim(LOWEST, top + 25)
    ax.set_xlabel("CPU seconds")


def _clusters(ax: Any, result: Record) -> None:
    """Mean number of clusters of every sampler: the exact ones agree, the published one stands apart, in the authors' logs too."""
    ticks = []
    logs = result["authors_logs"] or {}
    for place, (prior, cells) in enumerate(result["samplers"].items()):
        for i, (method, row) in enumerate(cells.items()):
            x = 5.0 * place + i
            ax.errorbar(x, row["mean_clusters"]["mean"], yerr=row["mean_clusters"]["sd"], fmt="o", color=COLORS[method], markersize=5)
            logged = logs.get(prior, {}).get(method)
            if logged:
                ax.plot(x + 0.25, logged["second_half_clusters"]["mean"], marker="_", markersize=11, markeredgewidth=2, color=MUTED)
        ticks.append((5.0 * place + 1.5, prior))
    ax.set_xticks([x for x, _ in ticks], [word for _, word in ticks])
    ax.set_title("mean number of clusters")
    ax.tick_params(axis="x", length=0, labelsize=10, labelcolor=INK)
    if logs:
        note(ax, "grey bars: second half of the authors' logs")
