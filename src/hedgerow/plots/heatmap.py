"""Draw the similarity matrix (probability that two points share a cluster) in a given or a seriated order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.plots.canvas import color_map, drawn, plain_axes, probability_key
from hedgerow.plots.matrix_geometry import block_means, cluster_runs, seriate
from hedgerow.plots.palette import SIMILARITY_STOPS, cluster_colors

__all__ = ["similarity_map"]


@drawn
def similarity_map(
    similarity: ArrayLike,
    *,
    order: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    cells: int = 600,
    ax: Any | None = None,
) -> Any:
    """Heat map of co-clustering probabilities (n, n).

    `order` is a dendrogram's leaf order (default: the matrix seriates itself); `labels` adds a strip of
    cluster colours. More than `cells` rows are averaged into `cells` blocks.

    Parameters
    ----------
    similarity : (n, n)
    order : (n,) of int, optional
    labels : (n,), optional
    cells : int

    >>> axes = similarity_map([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]], labels=[0, 0, 1])
    """
    similarity = np.asarray(similarity, dtype=np.float64)
    order = seriate(similarity) if order is None else np.asarray(order, dtype=np.int64)
    n = len(similarity)
    image, _ = block_means(similarity, order, cells)
    ax = plain_axes(ax, (5.6, 5.0))
    shown = ax.imshow(
        image, cmap=color_map("similarity", SIMILARITY_STOPS), vmin=0.0, vmax=1.0, extent=(0, n, n, 0),
        interpolation="nearest", aspect="equal",
    )  # fmt: skip
    ax.yaxis.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel(f"{n:,} points, " + ("cluster by cluster" if labels is not None else "similar ones side by side"))
    if labels is not None:
        colors = cluster_colors(labels)
        strip = ax.inset_axes((-0.035, 0.0, 0.022, 1.0))
        for start, stop, cluster in cluster_runs(labels, order):
            strip.axhspan(start, stop, color=colors[cluster], linewidth=0)
        strip.set_ylim(n, 0)
        strip.set_xlim(0, 1)
        strip.axis("off")
    probability_key(ax, shown, (1.03, 0.25, 0.025, 0.5), "P(same cluster)")
    return ax
