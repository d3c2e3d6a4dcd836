"""One covariance that clusters share: W, and how sure of it a base measure is.

    psi = (nu - d - 1) W,   nu = d + 100, d + 400 or d + 1600

so that every cluster is expected to have the covariance W, and a hundred rows hardly change that. What is expected of clusters by
default is a share of the columns' variances, and little is known of it before rows are seen: where columns are many and clusters
differ along one direction only, all rows in one cluster are then likelier than any two.

W is found by mixtures of bell curves with one covariance: rows are joined by Ward's rule, in units of the columns and in units in
which all directions are alike, the trees are cut at 1, 2, ... 10 clusters, and a few turns of EM follow each cut. W is that of the
highest BIC, divided by n - k as each mean costs a row. It, its diagonal, or the half of both is taken with the nu under which a tree
over the rows is most probable, at a price of log(n) / 2 for every number that W has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage

from hedgerow import _core
from hedgerow.likelihoods.fitting import some_rows, tree_score, without_gaps
from hedgerow.likelihoods.moments import column_means, spread

__all__ = ["bases", "fit_shared", "price"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

FREEDOMS = (100.0, 400.0, 1600.0)  # beyond the number of columns
MOST_CLUSTERS = 10
FALLS = 2  # of BIC in a row, after which more clusters are not tried
TURNS, SETTLED = 20, 0.1  # of EM, and nats below which it has settled
NO_SPREAD = 1e-9  # variance of a direction in which rows do not vary, where it would be 1
LEAST = 1e-6  # of the variance of a direction is within clusters
SHARES = (1.0, 0.5, 0.0)  # of W; the rest is its diagonal

#: Puts rows under a base measure with these degrees of freedom and psi.
Bind = Callable[[FloatArray, float, FloatArray], _core.Likelihood]


def fit_shared(X: FloatArray, nu: float | None, bind: Bind) -> tuple[float, FloatArray]:
    """Degrees of freedom, unless given, and psi of a base measure whose clusters have nearly one covariance."""
    n, d = X.shape
    rows = without_gaps(X[some_rows(n, d)])
    freedoms = FREEDOMS if nu is None else (max(nu - d, 1.0),)

    def score(freedom: float, psi: FloatArray) -> float:
        return tree_score(bind(rows, freedom, psi)) - price(psi, len(rows))

    shapes = list(bases(_within(rows), freedoms))
    first = [score(*of_one_shape[0]) for of_one_shape in shapes]
    (freedom, psi), *surer = shapes[int(np.argmax(first))]
    height = max(first)
    for other in surer:
        higher = score(*other)
        if higher <= height:
            break
        height, (freedom, psi) = higher, other
    return (freedom if nu is None else nu), psi


def bases(W: FloatArray, freedoms: Sequence[float] = FREEDOMS) -> Iterator[list[tuple[float, FloatArray]]]:
    """Degrees of freedom and psi, the more the surer that clusters have the covariance W; then the same for shapes simpler than W.

    Parameters
    ----------
    W : (d, d)
    freedoms : sequence of float
        Beyond d.

    Yields
    ------
    list
        Of pairs.
    """
    d = len(W)
    for share in SHARES if d > 1 else SHARES[:1]:
        shape = share * W + (1 - share) * np.diag(np.diag(W))
        yield [(d + more, shape * (more - 1 if more > 1 else more / 2)) for more in freedoms]


def price(psi: FloatArray, n: int) -> float:
    """What the numbers of a psi cost beyond one of them that is fitted anyway, half of log n for each (BIC).

    Parameters
    ----------
    psi : (d, d)
    n : int
        Rows.

    Returns
    -------
    float
    """
    d = len(psi)
    slanted = bool(np.any(psi[~np.eye(d, dtype=bool)]))
    return float(((d * (d + 1) / 2 if slanted else d) - 1) * np.log(n) / 2)


def _within(rows: FloatArray) -> FloatArray:
    """The covariance within clusters, in the units of the rows."""
    d = rows.shape[1]
    whole = spread(rows)
    values, vectors = np.linalg.eigh(whole.correlation)
    scaled = (rows - column_means(rows)) / whole.scale
    white = scaled @ vectors / np.sqrt(values)
    varies = (white**2).mean(axis=0) > NO_SPREAD
    W = np.eye(d)  # where rows do not vary, what stands in for their spread
    if varies.any():
        W[np.ix_(varies, varies)] = _best(white[:, varies], scaled)
    back = vectors * np.sqrt(values)
    W = whole.scale[:, None] * (back @ W @ back.T) * whole.scale
    return np.asarray((W + W.T) / 2)


def _best(white: FloatArray, scaled: FloatArray) -> FloatArray:
    """The covariance of the mixture of highest BIC."""
    n, q = white.shape
    best = _mixture(white, np.zeros(n, dtype=np.intp))
    if n < MOST_CLUSTERS + 2 * q:
        return best.within
    one = best.bic
    for link in (linkage(scaled, "ward"), linkage(white, "ward")):
        before, falls = one, 0
        for found in (_mixture(white, labels) for labels in _cuts(link)):
            best = max(best, found, key=lambda fit: fit.bic)
            falls = falls + 1 if found.bic <= before else 0
            before = found.bic
            if falls == FALLS:
                break
    return best.within


def _cuts(link: FloatArray) -> Iterator[IntArray]:
    for k in range(2, MOST_CLUSTERS + 1):
        yield np.asarray(fcluster(link, k, "maxclust") - 1, dtype=np.intp)


class _Fit(NamedTuple):
    """A mixture of bell curves with one covariance."""

    bic: float
    within: FloatArray


def _mixture(Z: FloatArray, labels: IntArray) -> _Fit:
    """The mixture that a few turns of EM lead to from a partition of the rows."""
    n, q = Z.shape
    k = int(labels.max()) + 1
    share = np.zeros((n, k))
    share[np.arange(n), labels] = 1.0
    squares, height = Z.T @ Z, -np.inf
    for _ in range(TURNS):
        mass = share.sum(axis=0) + np.finfo(float).tiny
        # Long sums by einsum: so little work is done sooner than BLAS has its threads together.
        means = np.einsum("ik,ij->kj", share, Z) / mass[:, None]
        within = (squares - (means.T * mass) @ means) / n
        within[np.diag_indices(q)] += LEAST
        inverse = np.linalg.inv(within)
        pulls = inverse @ means.T
        logs = np.einsum("ij,jk->ik", Z, pulls) - (means.T * pulls).sum(axis=0) / 2 + np.log(mass / n)
        top = logs.max(axis=1, keepdims=True)
        share = np.exp(logs - top)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        apart = (inverse * squares).sum() + n * np.linalg.slogdet(within)[1]
        before, height = height, float((top + np.log(total)).sum() - apart / 2)
        if height - before < SETTLED:
            break
    within = (within + within.T) / 2 * (n / (n - k) if n > k else 1.0)
    return _Fit(height - (k * q + k - 1) * np.log(n) / 2, within)
