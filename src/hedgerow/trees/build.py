"""bhc(), ibhc() and guide(): forests from data, greedily or one row at a time, and single trees to guide samplers.

`bhc` joins the pair of trees of least d while that d is below 1 (Lee & Choi 2014, algorithm 1). `ibhc` puts rows into trees one
after the other, and cuts a tree where a refreshed d exceeds 1 (2014, section 3.2; 2015, section 2.3); it is repeated with u and the
hyper-parameters resampled in between, and the forest of highest log joint is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow import _core
from hedgerow.arguments import check_choice, check_flag, check_seed, check_whole, core_seed
from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.priors.state import Values
from hedgerow.trees.forest import NODES, Forest

__all__ = ["bhc", "guide", "ibhc"]

Callback = Callable[[int, int, Forest], object]


def bhc(
    model: Mixture,
    X: Any,
    *,
    u: Any = None,
    builds: int = 3,
    connectivity: Any = None,
    times: Any = None,
    seed: int | None = None,
) -> Forest:
    """Greedy Bayesian hierarchical clustering.

    Parameters
    ----------
    model : Mixture
    X : table
    u : float or array-like, optional
        Hold u (one value per group under a `MixedNRM` prior) instead of resampling it between builds. The Dirichlet process
        integrates it out and needs none.
    builds : int
        Builds with u and the sampled hyper-parameters drawn anew in between; the best is kept. One is enough where nothing is
        sampled, and then one is made.
    connectivity : sparse matrix (n, n), optional
        Only sets of rows that touch may be joined.
    times : array-like, optional
        Group of every row, for a `MixedNRM` prior.
    seed : int, optional
        Decides u and the hyper-parameters.

    Returns
    -------
    Forest

    >>> import hedgerow as hr
    >>> bhc(hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [0.1], [9.0]], seed=0).labels
    array([0, 0, 1], dtype=int32)
    """
    owner = "bhc"
    check_whole(owner, "builds", builds)
    builder, sampled_u, sampled = _builder(owner, model, X, u, connectivity, times, seed)
    best = _Best(builder)
    for _ in range(builds if sampled_u or sampled else 1):
        builder.bhc()
        best.see()
        builder.resample(sampled_u, sampled)
    return best.forest()


def ibhc(
    model: Mixture,
    X: Any,
    *,
    passes: int = 5,
    repair: str = "reinsert",
    insert: str = "seq",
    balance: bool = True,
    connectivity: Any = None,
    times: Any = None,
    seed: int | None = None,
    u: Any = None,
    callbacks: Sequence[Callback] = (),
    progress: Callback | None = None,
) -> Forest:
    """Incremental Bayesian hierarchical clustering.

    Parameters
    ----------
    model : Mixture
    X : table
    passes : int
        Passes over the rows in random order; u and the sampled hyper-parameters are drawn anew in between. The first pass puts
        rows in and looks at all of them again whenever their number has doubled (drawing anew then too, as long as that makes new
        clusters less likely); the others take out and in again those that belong to another tree now. Every pass ends by parting
        trees that are better as two clusters. With `connectivity`, where all this could tear sets apart, every pass builds anew.
    repair : {"reinsert", "bhc"}
        What becomes of the pieces of a cut tree: inserted again at once (2015), or kept as roots and joined greedily at the end
        of the pass (2014).
    insert : {"seq", "top"}
        "top" puts every row on top of the nearest tree and never cuts: the papers' rough start, made in one pass.
    balance : bool
        Keep trees shallow where that changes no potential worth speaking of. False follows the papers to the letter: every pass
        starts from nothing, and trees grow nearly as deep as they have rows.
    connectivity, times, seed, u :
        As for `bhc`.
    callbacks : sequence of callables
        Each is called after every pass with its number, the number of passes and its forest.
    progress : callable, optional
        The old name of one such callback, for one more version.

    Notes
    -----
    Ctrl-C is heard at any moment. After the first pass it ends the work with a warning, and the best forest so far is returned.

    Returns
    -------
    Forest

    >>> import hedgerow as hr
    >>> forest = ibhc(hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [0.1], [9.0]], seed=0)
    >>> forest.validate()
    >>> forest.n_clusters, forest.labels.tolist()
    (2, [0, 0, 1])
    """
    owner = "ibhc"
    check_whole(owner, "passes", passes)
    check_choice(owner, "repair", repair, ("reinsert", "bhc"))
    check_choice(owner, "insert", insert, ("seq", "top"))
    check_flag(owner, "balance", balance)
    if progress is not None:
        require(callable(progress), owner, "progress", progress, "be a function; callbacks= takes several")
        warnings.warn("ibhc(progress=f) is now ibhc(callbacks=[f]).", FutureWarning, stacklevel=2)
        callbacks = (*callbacks, progress)
    good = isinstance(callbacks, Sequence) and all(callable(callback) for callback in callbacks)
    require(good, owner, "callbacks", callbacks, "be functions of (pass, passes, forest)")
    builder, sampled_u, sampled = _builder(owner, model, X, u, connectivity, times, seed)
    best = _Best(builder)
    count = passes if insert == "seq" else 1
    done = 0
    try:
        for index in range(count):
            if index == 0 or not balance:
                tidy = balance and insert == "seq"
                builder.ibhc(repair, insert, tidy, None, tidy and sampled_u, tidy and sampled)
            else:
                builder.revise(repair, False)
            best.see()
            done = index + 1
            for callback in callbacks:
                callback(done, count, _forest(builder))
            builder.resample(sampled_u, sampled)
    except KeyboardInterrupt:
        if done == 0:
            raise
        warnings.warn(f"ibhc was interrupted after {done} of {count} passes: this is the best of them.", stacklevel=2)
    return best.forest()


def guide(model: Mixture, X: Any, *, passes: int = 1, times: Any = None, seed: int | None = None, u: Any = None) -> Forest:
    """One binary tree over all rows: that of `ibhc`, with the roots joined by `bhc` past d = 1.

    It guides the moves of `TreeGuided` (`guides=tree.to_linkage()`), which are exact whatever the tree. `passes`, `times`, `seed` and
    `u` are as for `ibhc`; the last pass is the one that counts.

    Parameters
    ----------
    model : Mixture
    X : table
    passes : int
    times : (n,), optional
    seed : int, optional
    u : float or array-like, optional

    Returns
    -------
    Forest

    >>> import hedgerow as hr
    >>> guide(hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [0.1], [9.0]], seed=0).to_linkage().shape
    (2, 4)
    """
    owner = "guide"
    check_whole(owner, "passes", passes)
    builder, sampled_u, sampled = _builder(owner, model, X, u, None, times, seed)
    for index in range(passes):
        if index == 0:
            builder.ibhc()
        else:
            builder.resample(sampled_u, sampled)
            builder.revise()
    builder.join_roots()
    return _forest(builder)


def _builder(
    owner: str, model: Mixture, X: Any, u: Any, connectivity: Any, times: Any, seed: int | None
) -> tuple[_core.TreeBuilder, bool, bool]:
    """A builder over X at the prior's first values, and whether u and hyper-parameters are to be resampled."""
    require(isinstance(model, Mixture), owner, "model", model, "be a Mixture")
    check_seed(owner, seed)
    model = model.resolve(X)
    data = model.likelihood.check(X)
    bound = model.bind(data)
    grouping = model.prior.group(times, bound.n_rows, owner)
    groups = None if grouping is None else grouping.codes
    indptr, indices = _pattern(owner, connectivity, bound.n_rows)
    word = core_seed(seed)
    builder = _core.TreeBuilder(bound, model.prior.to_core(grouping), groups, indptr, indices, word, 0)
    integrated = grouping is None and model.prior.factorizes
    if u is not None:
        state = builder.state()
        given, groups_there = np.asarray(u), state["log_u"].shape
        good = given.dtype.kind in "fiu" and given.shape in ((), groups_there) and bool((np.isfinite(given) & (given > 0)).all())
        require(good, owner, "u", u, "be a finite number above 0, or one per group")
        log_u = np.log(np.broadcast_to(given.astype(float), groups_there))
        builder.set_state(state | {"log_u": log_u})
    elif not integrated:
        builder.resample(True, False)
    return builder, u is None and not integrated, bool(model.prior.laws())


def _forest(builder: _core.TreeBuilder) -> Forest:
    arrays = builder.arrays()
    return Forest(**{name: arrays[name] for name in NODES}, log_front=float(builder.log_front()), values=Values(builder.state()))


class _Best:
    """The forest of highest log joint so far (u and α integrated out where the prior can)."""

    def __init__(self, builder: _core.TreeBuilder) -> None:
        self._builder = builder
        self._log_joint = -np.inf

    def see(self) -> None:
        """Look at what the builder holds."""
        log_joint = self._builder.log_joint()
        if log_joint > self._log_joint:
            self._builder.keep()
            self._log_joint = log_joint

    def forest(self) -> Forest:
        """The best of what was seen; the builder goes back to it."""
        self._builder.go_back()
        return _forest(self._builder)


def _pattern(owner: str, connectivity: Any, n: int) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int32] | None]:
    """The symmetric pattern of a sparse adjacency matrix, without its diagonal."""
    if connectivity is None:
        return None, None
    good = sparse.issparse(connectivity) and connectivity.shape == (n, n)
    require(good, owner, "connectivity", connectivity, f"be a SciPy sparse matrix of shape ({n}, {n})")
    pattern = sparse.csr_array(connectivity) != 0
    pattern = sparse.csr_array(pattern + pattern.T)
    pattern.setdiag(False)
    pattern.eliminate_zeros()
    pattern.sort_indices()
    return pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32)
