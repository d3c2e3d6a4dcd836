"""Clusters along time, asked of a posterior: popularity, lives, trajectories, and which basis measure a cluster came from.

Given a draw, the basis measure z of its cluster c has P(z = r) ∝ q̄[c,r] κ_r(|c|, ξ̄_r) (Lee & Choi 2014 eq. 31): its times say
where it came from. For a cluster of the partition this is averaged over draws, and over the clusters of each draw that
count for it, by their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from hedgerow.data.copies import Copies
from hedgerow.data.groups import Levels, read_levels
from hedgerow.errors import ParameterError, require
from hedgerow.plots import popularity as draw_areas
from hedgerow.posterior.columns import shown_columns
from hedgerow.posterior.draws import Draws, FloatArray, IntArray
from hedgerow.reference.mixed import log_cluster_terms_at_log
from hedgerow.summaries import along_time

__all__ = ["basis_weights", "plot", "popularity", "trajectories"]


def popularity(draws: Draws, partition: IntArray, times: Any, prob: float) -> along_time.Popularity:
    """Popularity of the clusters of `partition` over the times of the rows."""
    levels, codes = _levels(draws, times, "popularity")
    return along_time.popularity(draws.labels, partition, codes, levels.names, prob)


def trajectories(draws: Draws, partition: IntArray, times: Any) -> along_time.Trajectories:
    """Means of the clusters of `partition` at every time, columns as tables show them."""
    levels, codes = _levels(draws, times, "trajectories")
    data, names = shown_columns(draws)
    return along_time.trajectories(data, draws.labels, partition, codes, levels.names, names)


def basis_weights(draws: Draws, partition: IntArray) -> FloatArray:
    """Probability of every basis measure for every cluster of `partition`: (K, R), rows sum to 1."""
    owner = "basis"
    prior = None if draws.model is None else draws.model.prior
    if prior is None or not prior.grouped or draws.times is None:
        raise ParameterError(f"Posterior.{owner}(): the posterior must be that of a MixedNRM prior, with its model.")
    for name in prior.carried():
        require(getattr(draws, name) is not None, owner, name, None, "be among the traces of the posterior")
    k = int(partition.max()) + 1
    if draws.place is not None:  # the model saw one row of each
        draws, partition = draws.seen(), partition[Copies.at(draws.place).kept]
    grouping = prior.group(draws.times, draws.n, owner)
    assert grouping is not None
    T, R = grouping.q.shape
    total, rows = np.zeros((k, R)), np.zeros(k)
    traces = {name: trace.reshape(-1, *trace.shape[2:]) for name, trace in draws.traces().items()}
    for at, (labels, home) in enumerate(along_time.matched(draws.labels, partition)):
        width = len(home)
        counts = np.bincount(labels.astype(np.int64) * T + grouping.codes, minlength=width * T).reshape(width, T)
        state = (grouping.q, traces["alpha"][at], traces["sigma"][at], traces["tau"][at])
        terms = log_cluster_terms_at_log(counts, traces["log_u"][at], *state)
        weights = np.exp(terms - logsumexp(terms, axis=1, keepdims=True))
        sizes = counts.sum(axis=1)
        np.add.at(total, home, weights * sizes[:, None])
        np.add.at(rows, home, sizes)
    return np.asarray(total / np.maximum(rows, 1)[:, None])


def plot(found: along_time.Popularity, names: Any, ax: Any) -> Any:
    """Stacked areas of a popularity, on the scale of the times; dates and labels stand at 1, 2, ... under their names."""
    levels, _ = read_levels(found.times, None, "plot_popularity")
    require(levels.places.ndim == 1, "plot_popularity", "times", found.times, "be times, not coordinates")
    drawn = draw_areas(levels.places, found.mean, low=found.low, high=found.high, names=names, ax=ax)
    if found.times.dtype.kind not in "iuf":
        shown = np.unique(np.linspace(0, len(found.times) - 1, 8).round().astype(int))
        drawn.set_xticks(levels.places[shown], [str(name) for name in found.times[shown]])
    return drawn


def _levels(draws: Draws, times: Any, owner: str) -> tuple[Levels, npt.NDArray[np.int32]]:
    given = draws.times if times is None else times
    if given is None:
        raise ParameterError(f"Posterior.{owner}(times=None): times must be given, one per row: the model knows none.")
    return read_levels(given, draws.n, owner)
