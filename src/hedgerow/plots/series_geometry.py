"""Numbers behind the line and bar plots: thinned traces, the posterior of K, stacked bands; NumPy only."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.arguments import numbers_of
from hedgerow.errors import require

__all__ = ["ClusterCounts", "cluster_counts", "stacked_bands", "thin_trace"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterCounts:
    """The posterior of the number of clusters, overall and chain by chain.

    Attributes
    ----------
    k : (s,) every number from the least to the greatest seen
    probability : (s,)
    by_chain : (chain, s)

    >>> cluster_counts([[2, 3, 3], [3, 3, 2]]).k.tolist()
    [2, 3]
    """

    k: NDArray[np.int64]
    probability: FloatArray
    by_chain: FloatArray


def cluster_counts(n_clusters: ArrayLike) -> ClusterCounts:
    """Shares of each number of clusters in draws (chain, draw).

    Parameters
    ----------
    n_clusters : (chain, draw) of int

    Returns
    -------
    ClusterCounts

    >>> cluster_counts([[2, 3, 3], [3, 3, 3]]).probability.round(2).tolist()
    [0.17, 0.83]
    """
    draws = as_chains("cluster_counts", "n_clusters", n_clusters).astype(np.int64)
    low = int(draws.min())
    width = int(draws.max()) - low + 1
    by_chain = np.stack([np.bincount(chain - low, minlength=width) for chain in draws]) / draws.shape[1]
    return ClusterCounts(np.arange(low, low + width), by_chain.mean(axis=0), by_chain)


def thin_trace(values: ArrayLike, most: int) -> tuple[NDArray[np.int64], FloatArray]:
    """At most `most` draws of one chain: the least and the greatest of each stretch, so no spike is lost.

    Parameters
    ----------
    values : (draw,)
    most : int

    Returns
    -------
    (m,) int64 and (m,) float64
        Positions and values.

    >>> thin_trace([0.0, 5.0, 1.0, 1.0], 2)[1].tolist()
    [0.0, 5.0]
    """
    values = numbers_of("plot", "values", values)
    require(values.ndim == 1, "thin_trace", "values", values, "be one chain")
    require(most >= 2, "thin_trace", "most", most, "be at least 2")
    if len(values) <= most:
        return np.arange(len(values)), values
    edges = (np.arange(most // 2 + 1) * len(values)) // (most // 2)
    kept = sorted({start + int(pick(values[start:stop])) for start, stop in pairwise(edges) for pick in (np.argmin, np.argmax)})
    at = np.array(kept, dtype=np.int64)
    return at, values[at]


def stacked_bands(mean: ArrayLike, low: ArrayLike | None, high: ArrayLike | None) -> dict[str, FloatArray]:
    """Edges of stacked areas for popularities (T, K).

    `lower` and `upper` (T, K) bound each area; with an interval, `band_low` and `band_high` (T, K) show it
    round the area's upper edge: the uncertainty of each cluster's own share, not of the sum below it.

    Parameters
    ----------
    mean : (T, K)
    low, high : (T, K) or None

    Returns
    -------
    dict of (T, K) arrays

    >>> stacked_bands([[0.5, 0.5], [0.2, 0.8]], None, None)["upper"].tolist()
    [[0.5, 1.0], [0.2, 1.0]]
    """
    mean = np.asarray(mean, dtype=np.float64)
    require(mean.ndim == 2, "stacked_bands", "mean", mean, "have shape (times, clusters)")
    upper = np.cumsum(mean, axis=1)
    bands = {"lower": upper - mean, "upper": upper}
    if low is not None and high is not None:
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        require(low.shape == mean.shape, "stacked_bands", "low", low, f"have shape {mean.shape}")
        require(high.shape == mean.shape, "stacked_bands", "high", high, f"have shape {mean.shape}")
        bands["band_low"] = bands["lower"] + low
        bands["band_high"] = bands["lower"] + high
    return bands


def as_chains(owner: str, name: str, values: ArrayLike) -> FloatArray:
    """Draws as (chain, draw); a vector is one chain."""
    array = numbers_of(owner, name, values)
    array = array[None, :] if array.ndim == 1 else array
    require(array.ndim == 2 and array.size > 0, owner, name, array, "have shape (chain, draw) and hold a draw")
    return array
