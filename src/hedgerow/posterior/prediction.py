"""New rows under the posterior: their density, and which cluster of a partition they would join.

For one draw the core gives log[weight × density] of a new row x for every cluster c of the draw and for a new one; the
exponentials sum to p(x | draw). Averaged over draws they give p(x | X), and the places of x with the draws
reweighted by how well each foretells x, which is exactly the posterior once x is known:

    P(x joins the cluster of row j | x, X) = Σ_d w_d[c_d(j)] / Σ_d Σ_c w_d[c]
    P(x stands alone | x, X)               = Σ_d w_d[new]    / Σ_d Σ_c w_d[c]

Clusters of the draws are not those of the partition asked about. The affinity of x to its cluster k is the mean of
the first line over the rows j of k; `membership` shares what the second line leaves among the clusters in proportion to it.
Where the draws agree with the partition this is the plain posterior probability; where draws split or join clusters of the
partition, no cluster gains or loses by its size.

Where rows are copies of others that count once, weights and densities are those of the rows that the model saw.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow import _core
from hedgerow.arguments import check_whole
from hedgerow.data.copies import Copies
from hedgerow.data.groups import read_levels
from hedgerow.data.kinds import Reading, is_typed
from hedgerow.data.mixed import pick_columns
from hedgerow.data.tables import feature_names, stack_rows
from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.posterior.draws import Draws, FloatArray, IntArray
from hedgerow.posterior.traced import Traced, need_model
from hedgerow.priors.state import packed

__all__ = [
    "blocks_of",
    "left_out_density",
    "left_out_draws",
    "log_density",
    "mean_density",
    "membership",
    "model_of",
    "most_probable",
    "new_rows",
    "placement",
    "predictive",
    "shares",
    "some_of",
]

_SUMS = 1 << 24  # of (new rows × clusters) kept at a time
_ROWS = 1 << 20  # new rows at a time
_WORTH_A_THREAD = 1 << 16  # densities
_DENSITIES, _LEFT_OUT = 1_000_000_000, (10, 50)  # that outlier scores cost at the most, but for the least number of draws; and the most

Reduce = Callable[[FloatArray], Any]


def predictive(draws: Draws, X_new: Any, *, times: Any = None, max_draws: int | None = None) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each draw its labels (n,) and log[weight × density] (n_new, K + 1) of the new rows, the new cluster last.

    Labels are those of the rows that the model saw (`Draws.seen`).

    The exponentials of a row sum to its predictive density given the draw. `max_draws` thins the draws evenly.

    Parameters
    ----------
    draws : Posterior
    X_new : table
    times : (n_new,), optional
    max_draws : int, optional

    Returns
    -------
    iterator of (labels, log weights)

    >>> import hedgerow as hr
    >>> post = hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [9.0]], draws=5, warmup=5, chains=2, seed=0)
    >>> len(list(predictive(post, [[1.0]], max_draws=4)))
    4
    """
    fresh = model_of(draws).likelihood.check_new(X_new)
    for labels, sight in _sights(draws.seen(), fresh, times, max_draws):
        yield labels, sight.weights()


def _sights(draws: Draws, fresh: Any, times: Any, max_draws: int | None) -> Iterator[tuple[IntArray, _core.Foresight]]:
    """For each draw its labels and what knows where new rows, checked, would go."""
    return _sights_of(draws, fresh, times, _states(draws, max_draws))


def _sights_of(
    draws: Draws, fresh: Any, times: Any, states: Iterable[tuple[int, IntArray, dict[str, Any]]]
) -> Iterator[tuple[IntArray, _core.Foresight]]:
    model = model_of(draws)
    groups, new_groups, grouping = _groups(model, draws, times, fresh.shape[0])
    bound = model.likelihood.bind(stack_rows([draws.X, fresh]))
    prior = model.prior.to_core(grouping)
    threads = _threads(fresh.shape[0], int(draws.n_clusters.max()))
    for seed, labels, state in states:
        yield labels, _core.Foresight(bound, draws.n, labels, prior, state, groups, new_groups, seed, threads)


def _threads(rows: int, clusters: int) -> int:
    """Threads for so many densities of one draw."""
    return max(1, min(os.cpu_count() or 1, rows * clusters // _WORTH_A_THREAD))


def left_out_density(draws: Draws, max_draws: int | None = None) -> FloatArray:
    """log p(x | the other rows and their partition) of every row of the data, averaged over the draws: (n,).

    In each draw the row is taken out of its cluster; a cluster that it has alone is gone then. The partition of the others is that of
    the draw, in which the row had its say. Without `max_draws` 50 draws, or fewer where rows and clusters are many.
    """
    model, place = model_of(draws), draws.place
    draws = draws.seen()
    grouping = None if draws.times is None else model.prior.group(draws.times, draws.n, "outlier_scores")
    bound = model.likelihood.bind(draws.X)
    prior = model.prior.to_core(grouping)
    total = np.full(draws.n, -np.inf)
    count = 0
    groups = None if grouping is None else grouping.codes
    threads = _threads(draws.n, int(draws.n_clusters.max()))
    for seed, labels, state in _states(draws, left_out_draws(draws, max_draws)):
        total = np.logaddexp(total, _core.left_out(bound, labels, prior, state, groups, seed, threads))
        count += 1
    found = np.asarray(total - np.log(count))
    return found if place is None else found[place]


def left_out_draws(draws: Traced, max_draws: int | None) -> int:
    """Draws for `left_out_density` at the most: 50 if none are said, or fewer where rows and clusters are many."""
    if max_draws is not None:
        return max_draws
    return int(min(_LEFT_OUT[1], max(_LEFT_OUT[0], _DENSITIES // (draws.n * max(draws.n_clusters.mean(), 1.0)))))


def _states(draws: Draws, max_draws: int | None) -> Iterator[tuple[int, IntArray, dict[str, Any]]]:
    """The number of each draw, its labels, and the state of its measure as the core takes it.

    Missing entries that are filled in are so by random numbers that the first decides.
    """
    for chain, draw in _positions(draws, max_draws):
        state = {name: trace[chain, draw] for name, trace in draws.traces().items()}
        yield chain * draws.draws + draw, np.ascontiguousarray(draws.labels[chain, draw]), packed(state)


def log_density(draws: Draws, X_new: Any, *, times: Any = None, max_draws: int | None = None) -> FloatArray:
    """log p(x | X) of every new row on its own, averaged over the draws: (n_new,)."""
    seen = draws.seen()
    parts = [_log_density(seen, rows, when, max_draws) for rows, when in _blocks(draws, X_new, times, _ROWS)]
    return np.concatenate(parts)


def membership(
    draws: Draws, partition: IntArray, X_new: Any, *, times: Any = None, max_draws: int | None = None, reduce: Reduce | None = None
) -> list[Any]:
    """Probability that each new row joins each cluster of `partition`, and in the last column none of them: (rows, K + 1), in blocks
    of rows that follow each other. With `reduce` what that makes of each block."""
    step = max(1, min(_SUMS // (int(partition.max()) + 2), _ROWS))
    seen, place = draws.seen(), draws.place
    if place is not None:  # of the rows of a cluster each counts once
        once = Copies.at(np.stack([place, partition])).kept
        place, partition = place[once], partition[once]
    blocks = (_membership(seen, place, partition, rows, when, max_draws) for rows, when in _blocks(draws, X_new, times, step))
    return [block if reduce is None else reduce(block) for block in blocks]


def most_probable(top: int) -> Reduce:
    """The so many largest entries of each row, as a sparse block."""

    def keep(block: FloatArray) -> sparse.csr_array:
        n, width = block.shape
        many = min(top, width)
        kept = np.sort(np.argpartition(-block, many - 1, axis=1)[:, :many], axis=1)
        values = np.take_along_axis(block, kept, axis=1)
        return sparse.csr_array((values.ravel(), kept.ravel(), np.arange(n + 1) * many), shape=block.shape)

    return keep


def _log_density(draws: Draws, rows: Any, times: Any, max_draws: int | None) -> FloatArray:
    total = np.full(rows.shape[0], -np.inf)
    count = 0
    for _, sight in _sights(draws, rows, times, max_draws):
        sight.add_density(total)
        count += 1
    return np.asarray(total - np.log(count))


def _membership(
    seen: Draws, place: npt.NDArray[np.int64] | None, partition: IntArray, rows: Any, times: Any, max_draws: int | None
) -> FloatArray:
    sizes = np.bincount(partition)
    n, k = rows.shape[0], sizes.size
    top = np.full(n, -np.inf)  # running maximum: the sums below are scaled by exp(-top)
    affinity, alone, everything = np.zeros((n, k)), np.zeros(n), np.zeros(n)
    for labels, sight in _sights(seen, rows, times, max_draws):
        width = int(labels.max()) + 1
        own = labels if place is None else labels[place]
        overlap = sparse.csr_array((np.ones(len(own)), (own, partition)), shape=(width, k))
        overlap.sum_duplicates()
        share = overlap.data / sizes[overlap.indices]
        sight.add_company(overlap.indptr.astype(np.int32), overlap.indices.astype(np.int32), share, top, affinity, alone, everything)
    return _as_shares(affinity, alone, everything)


def mean_density(found: Iterable[FloatArray]) -> FloatArray:
    """log p(x | X) from log[weight × density] of every draw."""
    total, count = None, 0
    for weights in found:
        here = np.logaddexp.reduce(weights, axis=1)
        total = here if total is None else np.logaddexp(total, here)
        count += 1
    assert total is not None
    return np.asarray(total - np.log(count))


def shares(found: Iterable[tuple[FloatArray, FloatArray]], sizes: npt.NDArray[np.int64]) -> FloatArray:
    """Probabilities (rows, K + 1) from each draw's table of rows shared with the K clusters of a partition, and its log weights."""
    k = sizes.size
    top = everything = alone = affinity = np.zeros(0)
    for overlap, weights in found:
        if everything.size == 0:
            rows = len(weights)
            top = np.full(rows, -np.inf)  # running maximum: the sums below are scaled by exp(-top)
            affinity, alone, everything = np.zeros((rows, k)), np.zeros(rows), np.zeros(rows)
        higher = np.maximum(top, weights.max(axis=1))
        shrink = np.exp(top - higher)
        top = higher
        share = np.exp(weights - top[:, None])
        affinity = affinity * shrink[:, None] + share[:, :-1] @ (overlap / sizes)
        alone = alone * shrink + share[:, -1]
        everything = everything * shrink + share.sum(axis=1)
    return _as_shares(affinity, alone, everything)


def _as_shares(affinity: FloatArray, alone: FloatArray, everything: FloatArray) -> FloatArray:
    """Probabilities (rows, K + 1) from sums over draws of weights with each cluster, with none, and of all."""
    n, k = affinity.shape
    out = np.empty((n, k + 1))
    out[:, -1] = alone / everything
    company = affinity.sum(axis=1, keepdims=True)
    parts = np.divide(affinity, company, out=np.full_like(affinity, 1.0 / k), where=company > 0)
    out[:, :-1] = (1.0 - out[:, -1:]) * parts
    return out


def placement(draws: Draws, partition: IntArray, X_new: Any, *, times: Any = None) -> FloatArray:
    """Probability that each new row comes from each cluster of one partition, by their sizes and densities: (n_new, K).

    The partition is taken as it is, with the prior's u and hyper-parameters of the last draw; how much the draws differ from it is
    `membership`'s business.

    Parameters
    ----------
    draws : Posterior
    partition : (n,)
        Of the rows of the data.
    X_new : table
    times : (n_new,), optional

    Returns
    -------
    (n_new, K)

    >>> import hedgerow as hr
    >>> post = hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [9.0]], draws=5, warmup=5, chains=2, seed=0)
    >>> placement(post, [0, 1], [[1.0]]).shape
    (1, 2)
    """
    *_, (seed, _, state) = _states(draws, None)
    own = np.ascontiguousarray(partition, dtype=np.int32)

    def place(rows: Any, when: Any) -> FloatArray:
        ((_, sight),) = _sights_of(draws, rows, when, [(seed, own, state)])
        weights = sight.weights()[:, :-1]
        return np.asarray(np.exp(weights - np.logaddexp.reduce(weights, axis=1, keepdims=True)))

    return np.concatenate([place(rows, when) for rows, when in _blocks(draws, X_new, times, _SUMS // (int(own.max()) + 2) + 1)])


def _blocks(draws: Draws, X_new: Any, times: Any, step: int) -> Iterator[tuple[Any, Any]]:
    """New rows, checked, and their times, so many at a time."""
    fresh = new_rows(draws, X_new)
    when = None if times is None else np.asarray(times)
    rows = fresh.shape[0]
    require(
        when is None or (when.ndim > 0 and len(when) == rows),
        "predict",
        "times",
        times,
        f"have one entry for each of the {rows} new rows",
    )
    for i in range(0, max(rows, 1), step):
        yield fresh[i : i + step], None if when is None else when[i : i + step]


def new_rows(draws: Traced, X_new: Any) -> Any:
    """New rows as the likelihood checks them, their columns by name where they have names."""
    return model_of(draws).likelihood.check_new(_by_name(draws, X_new))


def blocks_of(draws: Traced, rows: int) -> list[slice]:
    """Parts of new rows small enough for tables by rows and clusters."""
    step = max(1, min(_SUMS // (int(draws.n_clusters.max()) + 1), _ROWS))
    return [slice(i, i + step) for i in range(0, max(rows, 1), step)]


def _by_name(draws: Traced, X_new: Any) -> Any:
    """A frame with its columns as they were understood at the fit, and in their order; one with other names is refused."""
    if isinstance(draws.run.get("reading"), str) and feature_names(X_new) is not None and not is_typed(X_new):
        reading = Reading.from_json(draws.run["reading"])
        counted = reading.columns[0].how["read"] == "words"
        require(not counted, "predict", "X", X_new, "be counts of the words of the fit: hedgerow.data.read(path, like=...) makes them")
        X_new = reading.table(X_new)
    names, known = feature_names(X_new), draws.run.get("columns")
    named = model_of(draws).likelihood.picks_columns == "name"
    if names is None or not isinstance(known, list) or named or list(names) == known:
        return X_new
    same = len(set(known)) == len(known) and sorted(names) == sorted(known)
    shown = ", ".join(map(str, known[:8])) + (", ..." if len(known) > 8 else "")
    require(same, "predict", "X", X_new, f"have the columns of the fit by name: {shown}")
    return pick_columns(X_new, [names.index(name) for name in known], "predict")


def model_of(draws: Traced) -> Mixture:
    """The model, which must be there with its traces."""
    model = need_model(draws, "predict")
    for name in model.prior.carried():
        require(getattr(draws, name) is not None, "predict", name, None, "be among the traces of the posterior")
    return model


def _positions(draws: Draws, max_draws: int | None) -> list[tuple[int, int]]:
    return [divmod(int(i), draws.draws) for i in some_of(draws.chains * draws.draws, max_draws)]


def some_of(total: int, max_draws: int | None) -> npt.NDArray[np.intp]:
    """At most so many of 0, ..., total - 1, evenly."""
    check_whole("predict", "max_draws", max_draws, none=True)
    kept = np.arange(total)
    if max_draws is not None and max_draws < total:
        kept = np.linspace(0, total - 1, max_draws).round().astype(np.intp)
    return kept


def _groups(model: Mixture, draws: Draws, times: Any, n_new: int) -> tuple[Any, Any, Any]:
    """Group numbers of old and new rows and the grouping; None three times for a prior without groups."""
    if draws.times is None:
        model.prior.group(times, n_new, "predict")  # refuses times that the prior has no use for
        return None, None, None
    grouping = model.prior.group(draws.times, draws.n, "predict")
    assert grouping is not None
    require(times is not None, "predict", "times", None, "be given, one for each new row: the prior is a MixedNRM")
    when = np.asarray(times)
    require(when.shape[1:] == draws.times.shape[1:], "predict", "times", times, "be of the kind of the times at the fit")
    levels, codes = read_levels(np.concatenate([draws.times, when]), draws.n + n_new, "predict")
    known = len(levels) == len(grouping.levels)
    require(known, "predict", "times", times, "be among the times at the fit: a new time has no draws of its own")
    new: npt.NDArray[np.int32] = np.ascontiguousarray(codes[draws.n :])
    return grouping.codes, new, grouping
