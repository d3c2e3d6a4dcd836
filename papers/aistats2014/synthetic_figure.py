"""The picture of Figure 3: partitions found by each method, and log joint against CPU time, for both sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.data.views import canonical
from hedgerow.plots.canvas import plain_axes
from hedgerow.plots.points import point_styles
from papers.aistats2014.generator import Points
from papers.common import COLORS, Record, pyplot, save_figure

SHOWN = ("IBHC", "Gibbs", "SMC", "TreeGuided")


def draw(result: Record, sets: dict[str, Points], best: dict[str, dict[str, Any]], out: Path) -> None:
    """A row of panels for each set, to synthetic.png and synthetic.svg."""
    plt = pyplot()
    figure, axes = plt.subplots(len(sets), 5, figsize=(14.0, 3.2 * len(sets)), layout="constrained", squeeze=False)
    for row, (key, points) in zip(axes, sets.items(), strict=True):
        part = result["sets"][key]
        for ax, method in zip(row, SHOWN, strict=False):
            _partition(ax, points, best[key][method], method)
        row[0].set_ylabel(points.name)
        _traces(row[4], part)
    save_figure(figure, out, "synthetic")
    _over_time(sets["moving"], best["moving"]["TreeGuided"], out)


def _over_time(points: Points, labels: Any, out: Path) -> None:
    """The partition time step by time step, to synthetic_times.png and .svg: clusters come, stay and go."""
    assert points.times is not None
    labels = canonical(labels)
    colors, _ = point_styles(labels, None, 1.0)
    figure, axes = pyplot().subplots(3, 5, figsize=(10.5, 6.4), layout="constrained", sharex=True, sharey=True)
    for ax, step in zip(axes.flat, np.unique(points.times), strict=False):
        plain_axes(ax, (2.0, 2.0))
        here = points.times == step
        ax.scatter(points.X[~here, 0], points.X[~here, 1], s=0.4, c="#e6e4df", linewidths=0, rasterized=True)
        ax.scatter(points.X[here, 0], points.X[here, 1], s=2.0, c=colors[here], linewidths=0, rasterized=True)
        ax.set_title(f"t = {step}: {len(np.unique(labels[here]))} clusters", fontsize=9)
        ax.yaxis.grid(False)
        ax.tick_params(labelsize=7)
    save_figure(figure, out, "synthetic_times")


def _partition(ax: Any, points: Points, labels: Any, method: str) -> None:
    plain_axes(ax, (2.8, 2.8))
    canonical_labels = canonical(labels)
    colors, _ = point_styles(canonical_labels, None, 1.0)
    ax.scatter(points.X[:, 0], points.X[:, 1], s=1.6, c=colors, linewidths=0, rasterized=True)
    ax.set_title(f"{method}: {int(canonical_labels.max()) + 1} clusters")
    ax.yaxis.grid(False)
    ax.tick_params(labelsize=7)


def _traces(ax: Any, part: Record) -> None:
    """Of the best run of each method that has a course; the online one starts high, having seen few points."""
    plain_axes(ax, (2.8, 2.8))
    ends = []
    for method, trace in part["traces"].items():
        if not trace["seconds"]:
            continue
        word = method.split()[0]
        style = {"revising": "--", "at once": ":"}.get(method.removeprefix(word).strip(), "-")
        at = np.maximum(trace["seconds"], 1e-3)
        ax.plot(at, trace["log_joint"], color=COLORS[word], linewidth=1.6, linestyle=style, label=method)
        ends.append(trace["log_joint"][-1])
    ax.set_xscale("log")
    span = max(max(ends) - min(ends), 0.002 * abs(max(ends)))
    ax.set_ylim(min(ends) - 4 * span, max(ends) + 2 * span)
    ax.set_xlabel("CPU seconds")
    ax.set_title("log joint")
    ax.tick_params(labelsize=7)
    ax.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=7, loc="best")
