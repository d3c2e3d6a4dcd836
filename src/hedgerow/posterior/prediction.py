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
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow import _core
from hedgerow.data.groups import read_levels
from hedgerow.data.kinds import Reading, is_typed
from hedgerow.data.mixed import pick_columns
from hedgerow.data.tables import feature_names
from hedgerow.errors import ParameterError, require
from hedgerow.mixture import Mixture
from hedgerow.posterior.draws import Draws, FloatArray, IntArray
from hedgerow.posterior.traced import Traced
from hedgerow.priors.state import packed

__all__ = [
    "blocks_of",
    "left_out_density",
    "log_density",
    "mean_density",
    "membership",
    "model_of",
    "new_rows",
    "placement",
    "predictive",
    "shares",
    "some_of",
]

_ENTRIES = 1 << 22  # of (new rows × clusters) worked on at a time


def predictive(draws: Draws, X_new: Any, *, times: Any = None, max_draws: int | None = None) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each draw its labels (n,) and log[weight × density] (n_new, K + 1) of the new rows, the new cluster last.

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
    model = model_of(draws)
    fresh = model.likelihood.check_new(X_new)
    groups, new_groups, grouping = _groups(model, draws, times, fresh.shape[0])
    bound = model.likelihood.bind(_stack(draws.X, fresh))
    prior = model.prior.to_core(grouping)
    for seed, labels, state in _states(draws, max_draws):
        yield labels, _core.predictive(bound, draws.n, labels, prior, state, groups, new_groups, seed)


def left_out_density(draws: Draws, max_draws: int | None = None) -> FloatArray:
    """log p(x | the other rows and their partition) of every row of the data, averaged over the draws: (n,).

    In each draw the row is taken out of its cluster; a cluster that it has alone is gone then. The partition of the others is that of
    the draw, in which the row had its say.
    """
    model = model_of(draws)
    grouping = None if draws.times is None else model.prior.group(draws.times, draws.n, "outlier_scores")
    bound = model.likelihood.bind(draws.X)
    prior = model.prior.to_core(grouping)
    total = np.full(draws.n, -np.inf)
    count = 0
    groups = None if grouping is None else grouping.codes
    for seed, labels, state in _states(draws, max_draws):
        total = np.logaddexp(total, _core.left_out(bound, labels, prior, state, groups, seed))
        count += 1
    return np.asarray(total - np.log(count))


def _states(draws: Draws, max_draws: int | None) -> Iterator[tuple[int, IntArray, dict[str, Any]]]:
    """The number of each draw, its labels, and the state of its measure as the core takes it.

    Missing entries that are filled in are so by random numbers that the first decides.
    """
    for chain, draw in _positions(draws, max_draws):
        state = {name: trace[chain, draw] for name, trace in draws.traces().items()}
        yield chain * draws.draws + draw, np.ascontiguousarray(draws.labels[chain, draw]), packed(state)


def log_density(draws: Draws, X_new: Any, *, times: Any = None, max_draws: int | None = None) -> FloatArray:
    """log p(x | X) of every new row on its own, averaged over the draws: (n_new,)."""
    return _by_blocks(draws, X_new, times, lambda rows, when: _log_density(draws, rows, when, max_draws))


def membership(draws: Draws, partition: IntArray, X_new: Any, *, times: Any = None, max_draws: int | None = None) -> FloatArray:
    """Probability that each new row joins each cluster of `partition`, and in the last column none of them: (n_new, K + 1)."""
    return _by_blocks(draws, X_new, times, lambda rows, when: _membership(draws, partition, rows, when, max_draws))


def _log_density(draws: Draws, rows: Any, times: Any, max_draws: int | None) -> FloatArray:
    return mean_density(weights for _, weights in predictive(draws, rows, times=times, max_draws=max_draws))


def _membership(draws: Draws, partition: IntArray, rows: Any, times: Any, max_draws: int | None) -> FloatArray:
    k = int(partition.max()) + 1

    def overlaps() -> Iterator[tuple[FloatArray, FloatArray]]:
        for labels, weights in predictive(draws, rows, times=times, max_draws=max_draws):
            width = weights.shape[1] - 1
            cells = labels.astype(np.int64) * k + partition
            yield np.bincount(cells, minlength=width * k).reshape(width, k).astype(np.float64), weights

    return shares(overlaps(), np.bincount(partition))


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
    out = np.empty((len(alone), k + 1))
    out[:, -1] = alone / everything
    company = affinity.sum(axis=1, keepdims=True) if affinity.size else np.zeros((0, 1))
    parts = np.divide(affinity, company, out=np.full_like(affinity, 1.0 / k), where=company > 0) if affinity.size else np.zeros((0, k))
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
    X_new : table
    times : (n_new,), optional

    Returns
    -------
    (n_new, K)

    >>> import hedgerow as hr
    >>> post = hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [9.0]], draws=5, warmup=5, chains=2, seed=0)
    >>> placement(post, post.labels[0, 0] * 0, [[1.0]]).tolist()
    [[1.0]]
    """
    model = model_of(draws)
    *_, (seed, _, state) = _states(draws, None)
    own = np.ascontiguousarray(partition, dtype=np.int32)

    def place(rows: Any, when: Any) -> FloatArray:
        groups, new_groups, grouping = _groups(model, draws, when, rows.shape[0])
        bound = model.likelihood.bind(_stack(draws.X, rows))
        weights = _core.predictive(bound, draws.n, own, model.prior.to_core(grouping), state, groups, new_groups, seed)[:, :-1]
        return np.asarray(np.exp(weights - np.logaddexp.reduce(weights, axis=1, keepdims=True)))

    return _by_blocks(draws, X_new, times, place)


def _by_blocks(draws: Draws, X_new: Any, times: Any, work: Any) -> FloatArray:
    """Run `work` on blocks of new rows small enough for its tables, and join the answers."""
    fresh = new_rows(draws, X_new)
    when = None if times is None else np.asarray(times)
    rows = fresh.shape[0]
    require(when is None or len(when) == rows, "predict", "times", times, f"have one entry for each of the {rows} new rows")
    return np.concatenate([work(fresh[part], None if when is None else when[part]) for part in blocks_of(draws, rows)])


def new_rows(draws: Traced, X_new: Any) -> Any:
    """New rows as the likelihood checks them, their columns by name where they have names."""
    return model_of(draws).likelihood.check_new(_by_name(draws, X_new))


def blocks_of(draws: Traced, rows: int) -> list[slice]:
    """Parts of new rows small enough for tables by rows and clusters."""
    step = max(1, _ENTRIES // (int(draws.n_clusters.max()) + 1))
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
    if draws.model is None:
        raise ParameterError(
            "predict(...): the posterior must have its model. This one was loaded from a file that could not hold it: "
            "load it with load(path, model=...)."
        )
    for name in draws.model.prior.carried():
        require(getattr(draws, name) is not None, "predict", name, None, "be among the traces of the posterior")
    return draws.model


def _positions(draws: Draws, max_draws: int | None) -> list[tuple[int, int]]:
    return [divmod(int(i), draws.draws) for i in some_of(draws.chains * draws.draws, max_draws)]


def some_of(total: int, max_draws: int | None) -> npt.NDArray[np.intp]:
    """At most so many of 0, ..., total - 1, evenly."""
    require(max_draws is None or max_draws >= 1, "predict", "max_draws", max_draws, "be at least 1, or None for all draws")
    kept = np.arange(total)
    if max_draws is not None and max_draws < total:
        kept = np.linspace(0, total - 1, max_draws).round().astype(np.intp)
    return kept


def _stack(old: Any, new: Any) -> Any:
    return sparse.vstack([old, new], format="csr") if sparse.issparse(old) else np.vstack([old, new])


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
