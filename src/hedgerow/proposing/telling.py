"""Telling columns: those in which clusters show, where many others say nothing.

Columns are set aside by a tree over all others (`hedgerow.proposing.aside`). Where nearly all are noise such a tree is noise too, and
nothing is found. So one begins at the other end, with columns of measurements that

* show clusters by themselves: a tree over the column alone is more probable than one law of it, or
* go with another: clusters that differ in two columns tie them, as anything does that they share. With rho their rank correlation in n
  rows, -n/2 log(1 - rho^2) - log(n)/2 is about the log Bayes factor of a line through both (BIC).

Either by odds of 3 : 1 for each column, or pair of columns, that there is to try. Trees over these give clusters, and the columns
about which those say something (odds of 3 : 1 for a law in every cluster) are the next to begin with, until none comes or goes. Silent
are those that were neither among the first nor among the last.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from hedgerow.likelihoods import Likelihood
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.fitting import some_rows, tree_score
from hedgerow.proposing.aside import LEAST_COLUMNS, LEAST_EVIDENCE, evidence

__all__ = ["silent"]

TURNS = 5
SURE = 1e-12  # what is left of 1 - rho^2 at the least


def silent(likelihood: Likelihood, data: FloatArray, moments: Collection[Collection[int]] = ()) -> dict[int, float]:
    """Places of columns of measurements that are not telling, and the log Bayes factor of a law in every cluster for each.

    Parameters
    ----------
    likelihood : Likelihood
        Resolved, its measurements apart.
    data : (n, d)
        As `likelihood.check` returns them.
    moments : collection of collections of int
        Columns that say when, which are not looked at.

    Returns
    -------
    dict
        Nothing where fewer than two columns tell something.
    """
    timed = {j for places in moments for j in places}
    looked_at = [
        j
        for places, part in likelihood.groups()
        if part.columns_apart and part.expected_variances() is not None
        for j in places
        if j not in timed
    ]
    others = [j for j in range(data.shape[1]) if j not in looked_at]
    if len(looked_at) < LEAST_COLUMNS:
        return {}
    rows = data[some_rows(*data.shape)]
    first = _by_themselves(likelihood, rows, looked_at) | _in_pairs(rows, looked_at)
    begun = [j for j, tells in zip(looked_at, first, strict=True) if tells]
    now, gains = begun, dict.fromkeys(looked_at, 0.0)
    for _ in range(TURNS):
        found = evidence(likelihood, rows, sorted([*now, *others]), [[j] for j in looked_at]) if now else []
        if not found:
            return {}
        gains = dict(zip(looked_at, found, strict=True))
        before, now = now, [j for j, gain in gains.items() if gain > LEAST_EVIDENCE]
        if now == before:
            break
    kept = {*now, *begun}
    return {j: gain for j, gain in gains.items() if j not in kept} if now and len(kept) + len(others) > 1 else {}


def _by_themselves(likelihood: Likelihood, rows: FloatArray, columns: list[int]) -> npt.NDArray[np.bool_]:
    """Which columns show clusters alone."""
    one = np.zeros(len(rows), dtype=np.int32)
    gains = []
    for j in columns:
        alone = likelihood.for_columns([j])
        bound = None if alone is None else alone.bind(np.ascontiguousarray(rows[:, [j]]))
        gains.append(0.0 if bound is None else tree_score(bound) - float(bound.log_marginals(one).sum()))
    return np.asarray(np.array(gains) > LEAST_EVIDENCE + np.log(len(columns)), dtype=np.bool_)


def _in_pairs(rows: FloatArray, columns: list[int]) -> npt.NDArray[np.bool_]:
    """Which columns go with another."""
    seen = ~np.isnan(rows[:, columns])
    ranks = rankdata(rows[:, columns], axis=0, nan_policy="omit")
    Z = np.where(seen, ranks - np.nanmean(np.where(seen, ranks, np.nan), axis=0), 0.0)
    n = seen.T.astype(float) @ seen
    squares = (Z**2).T @ seen
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.nan_to_num((Z.T @ Z) / np.sqrt(squares * squares.T))
    np.fill_diagonal(rho, 0.0)
    gains = -n / 2 * np.log(np.maximum(1 - rho**2, SURE)) - np.log(np.maximum(n, 1)) / 2
    pairs = len(columns) * (len(columns) - 1) / 2
    most: FloatArray = gains.max(axis=0)
    return np.asarray(most > LEAST_EVIDENCE + np.log(pairs), dtype=np.bool_)
