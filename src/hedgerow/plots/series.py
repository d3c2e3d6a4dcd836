"""Draw what changes along a run or along time: traces, the posterior of K, popularities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arguments import check_names
from hedgerow.errors import need_extra, require
from hedgerow.plots.canvas import as_written, drawn, plain_axes
from hedgerow.plots.palette import CLUSTER_COLORS, INK, ranked_colors
from hedgerow.plots.series_geometry import as_chains, cluster_counts, stacked_bands, thin_trace

__all__ = ["cluster_posterior", "popularity", "trace"]

MOST_DRAWS = 2_000  # per chain; more would only thicken the line


@drawn
def trace(values: ArrayLike, *, name: str = "log joint", ax: Any | None = None) -> Any:
    """Values (chain, draw) of one quantity: a line per chain, and each chain's histogram at the right.

    Parameters
    ----------
    values : (chain, draw)
    name : str
        Of the quantity.

    >>> axes = trace([[1.0, 2.0, 1.5], [1.2, 1.9, 1.4]])
    """
    chains = as_chains("trace", "values", values)
    colors = ranked_colors(len(chains))
    ax = plain_axes(ax, (8.0, 2.8))
    side = ax.inset_axes((1.01, 0.0, 0.1, 1.0), sharey=ax)
    finite = chains[np.isfinite(chains)]
    steps = len(finite) > 0 and bool(np.all(finite == np.round(finite))) and np.ptp(finite) <= 60
    for chain, color in zip(chains, colors, strict=True):
        at, kept = thin_trace(chain, MOST_DRAWS)
        ax.plot(at, kept, color=color, linewidth=0.6 if steps else 0.8, alpha=0.6 if steps else 0.85)
    if len(finite):
        low, high = float(finite.min()), float(finite.max())
        edges = np.arange(low - 0.5, high + 1.0) if steps else np.linspace(low, high if high > low else low + 1, 31)
        for chain, color in zip(chains, colors, strict=True):
            counts, _ = np.histogram(chain[np.isfinite(chain)], bins=edges)
            side.stairs(counts, edges, orientation="horizontal", color=color, linewidth=1.1)
    side.axis("off")
    ax.set_xlim(0, max(chains.shape[1] - 1, 1))
    ax.set_xlabel("draw")
    ax.set_ylabel(as_written(name))
    if steps:
        ax.yaxis.set_major_locator(need_extra("matplotlib.ticker", "plot").MaxNLocator(integer=True, min_n_ticks=1))
    else:
        ax.ticklabel_format(axis="y", useOffset=False)
    return ax


@drawn
def cluster_posterior(n_clusters: ArrayLike, *, ax: Any | None = None) -> Any:
    """Posterior of the number of clusters from draws (chain, draw): bars, with a dot for each chain.

    Parameters
    ----------
    n_clusters : (chain, draw) of int

    >>> axes = cluster_posterior([[2, 3, 3], [3, 3, 2]])
    """
    g = cluster_counts(n_clusters)
    ax = plain_axes(ax, (5.6, 3.2))
    ax.bar(g.k, g.probability, width=0.8, color=CLUSTER_COLORS[0], alpha=0.55, linewidth=0)
    chains = len(g.by_chain)
    if chains > 1:
        offset = np.linspace(-0.28, 0.28, chains)
        for shift, share, color in zip(offset, g.by_chain, ranked_colors(chains), strict=True):
            seen = share > 0
            ax.plot(g.k[seen] + shift, share[seen], "o", color=color, markersize=4, markeredgecolor="white",
                    markeredgewidth=0.6)  # fmt: skip
    ax.set_xlabel("number of clusters" + (" (bars: all draws, dots: chains)" if chains > 1 else ""))
    ax.set_ylabel("posterior probability")
    ax.set_ylim(bottom=0.0)
    ax.xaxis.set_major_locator(need_extra("matplotlib.ticker", "plot").MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlim(g.k[0] - 0.8, g.k[-1] + 0.8)
    return ax


@drawn
def popularity(
    times: ArrayLike,
    mean: ArrayLike,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    ax: Any | None = None,
) -> Any:
    """Popularity of clusters over time: stacked areas of `mean` (T, K), each with its interval as a band.

    At most twelve names are shown, those of the clusters with the largest areas.

    Parameters
    ----------
    times : (T,)
    mean : (T, K)
    low, high : (T, K), optional
    names : sequence of str, optional
        Of the clusters.

    >>> axes = popularity([2001, 2002], [[0.5, 0.5], [0.2, 0.8]])
    """
    bands = stacked_bands(mean, low, high)
    times = np.asarray(times, dtype=np.float64)
    T, K = bands["upper"].shape
    require(times.shape == (T,), "popularity", "times", times, f"have {T} entries, one per row of mean")
    require((low is None) == (high is None), "popularity", "high", high, "be given together with low")
    check_names("popularity", "names", names, K, "clusters")
    area = (bands["upper"] - bands["lower"]).sum(axis=0)
    colors = np.empty((K, 3))
    colors[np.argsort(-area, kind="stable")] = ranked_colors(K)
    ax = plain_axes(ax, (8.0, 3.6))
    for c in range(K):
        ax.fill_between(times, bands["lower"][:, c], bands["upper"][:, c], color=colors[c], alpha=0.6, linewidth=0)
        ax.plot(times, bands["upper"][:, c], color="white", linewidth=0.8)
    if "band_low" in bands:
        for c in range(K):
            ax.fill_between(
                times,
                bands["band_low"][:, c],
                bands["band_high"][:, c],
                color=colors[c] * 0.55,
                alpha=0.35,
                linewidth=0,
            )
    largest = np.sort(np.argsort(-area, kind="stable")[:12])[::-1]
    patches = need_extra("matplotlib.patches", "plot")
    handles = [patches.Patch(color=colors[c], alpha=0.7) for c in largest]
    texts = [f"cluster {c}" if names is None else as_written(names[c]) for c in largest]
    ax.legend(
        handles,
        texts,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=8,
        labelcolor=INK,
    )
    ax.set_xlim(times.min(), times.max() if T > 1 else times.min() + 1)
    ax.set_ylim(0.0, float(bands["upper"].max()))
    ax.set_xlabel("time")
    ax.set_ylabel("popularity" + (" (dark: interval of each)" if "band_low" in bands else ""))
    return ax
