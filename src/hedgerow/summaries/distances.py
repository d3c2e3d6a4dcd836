"""Distances between partitions: variation of information, Binder, adjusted Rand.

With n_ab the points shared by cluster a of one partition and b of the other, and f a function of counts, all of
them are made of Σ_a f(n_a), Σ_b f(n_b) and Σ_ab f(n_ab):

    vi      [Σ_a f + Σ_b f − 2 Σ_ab f] / n     f(x) = x log x     nats; a metric (Meilă 2007)
    binder  [Σ_a f + Σ_b f − 2 Σ_ab f] / n²    f(x) = x²          the share of ordered pairs in disagreement; a metric
    ari     adjusted Rand index                f(x) = x²          1 for equal partitions, 0 on average by chance
    omari   1 − ari                                               (Dahl, Johnson, Müller 2022)

As a loss of an estimate a against a draw b the first two take a weight w in (0, 2), the price of taking apart what the draw
has together, against 2 − w for joining what it has apart (Dahl, Johnson, Müller 2022):

    [(2 − w) Σ_a f + w Σ_b f − 2 Σ_ab f] / n or n²

Σ_ab f(n_ab) is the only inner loop, and compiled (`JointSums` in the core); everything else here is arithmetic on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import check_choice
from hedgerow.docstrings import explained
from hedgerow.errors import require
from hedgerow.summaries.partitions import Labels, canonical, wide
from hedgerow.summaries.points import Points

__all__ = [
    "DEFAULT_LOSS",
    "LOSSES",
    "Loss",
    "LossKind",
    "ari",
    "binder",
    "check_loss",
    "count_function",
    "distance",
    "distances_from",
    "expected_loss",
    "expected_losses",
    "omari",
    "vi",
]

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LossKind:
    """What makes a loss: its name in words, f, the power of n that it is divided by, and whether it is adjusted for chance.

    f must vanish at 0 and curve upwards: then a cluster is never worth joining with which no draw shares a row, and the search
    need not look at it.
    """

    words: str
    f: Callable[[Array], Array]
    degree: int
    adjusted: bool = False


Loss = Literal["vi", "binder", "omari"]
LOSSES: Mapping[Loss, LossKind] = {
    "vi": LossKind("variation of information", lambda x: x * np.log(np.maximum(x, 1.0)), 1),
    "binder": LossKind("Binder loss", np.square, 2),
    "omari": LossKind("one minus adjusted Rand index", np.square, 2, adjusted=True),
}
"""Every loss there is: the command line's words, distances, the search for a point estimate and its tests are derived from this."""
DEFAULT_LOSS: Loss = "vi"
assert set(LOSSES) == set(get_args(Loss))


_of_pairs = explained("a, b : (..., n)\n    Partitions.", "float or array")


@_of_pairs
def vi(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Variation of information in nats; shapes as in `distance`.

    >>> round(float(vi([0, 0, 1, 1], [0, 0, 0, 0])), 4)
    0.6931
    """
    return distance(a, b, "vi")


@_of_pairs
def binder(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Binder distance with equal costs: the share of ordered pairs (i, j) on which the two disagree.

    >>> float(binder([0, 0, 1, 1], [0, 0, 0, 0]))
    0.5
    """
    return distance(a, b, "binder")


@_of_pairs
def omari(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """One minus the adjusted Rand index; shapes as in `distance`.

    >>> a, b = [0, 0, 1, 1], [0, 1, 1, 1]
    >>> bool(omari(a, b) == 1 - ari(a, b)), float(omari(a, [0, 0, 0, 0]))
    (True, 1.0)
    """
    return distance(a, b, "omari")


@_of_pairs
def ari(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Adjusted Rand index (Hubert and Arabie 1985); two equal partitions score 1, also the trivial ones.

    >>> float(ari([0, 0, 1, 1], [1, 1, 0, 0]))
    1.0
    """
    return 1.0 - distance(a, b, "omari")


def distance(a: npt.ArrayLike, b: npt.ArrayLike, loss: Loss) -> Array:
    """Distance of every partition in `a` (..., n) from every partition in `b` (..., n).

    The result has the leading axes of `a`, then those of `b`: two single partitions give a number.

    Parameters
    ----------
    a, b : (..., n)
        Partitions.
    loss : str

    Returns
    -------
    float or array

    >>> distance([[0, 0, 1], [0, 1, 1]], [0, 0, 0], "binder").shape
    (2,)
    """
    check_loss(loss, "distance")
    left, right = canonical(a), canonical(b)
    require(left.shape[-1] > 0, "distance", "a", left, "partition at least one point")
    same = left.shape[-1] == right.shape[-1]
    require(same, "distance", "b", right, f"partition the {left.shape[-1]} points of a")
    shape = left.shape[:-1] + right.shape[:-1]
    rows, columns = left.reshape(-1, left.shape[-1]), right.reshape(-1, right.shape[-1])
    n = rows.shape[1]
    f = count_function(loss, n)
    single = np.ones(n, dtype=np.int64)
    row_sums, column_sums = marginal_sums(rows, single, f), marginal_sums(columns, single, f)
    sums = _core.JointSums(np.ascontiguousarray(columns), single, f) if columns.size else None
    out = np.empty((rows.shape[0], columns.shape[0]))
    for i in range(rows.shape[0]):
        joint = sums.run(np.ascontiguousarray(rows[i])) if sums is not None else np.empty(0)
        out[i] = combine(loss, n, row_sums[i], column_sums, joint)
    return out.reshape(shape)[()]


def expected_losses(
    draws: npt.NDArray[Any],
    copies: Counts,
    weights: Array,
    loss: Loss,
    weight: float = 1.0,
    some: npt.NDArray[np.intp] | None = None,
) -> Array:
    """Expected loss of every draw taken as the estimate, or of some: its weighted mean distance from all draws.

    `draws` (D, n) canonical, `copies` (n,) rows behind every point, `weights` (D,) summing to one. Each pair is measured once.
    """
    n = int(copies.sum())
    f = count_function(loss, n)
    own = marginal_sums(draws, copies, f)
    sums = _core.JointSums(draws, copies, f)
    if some is not None:
        return np.array([weights @ combine(loss, n, own[i], own, sums.run(wide(draws[i])), weight) for i in some])
    expected = np.zeros(len(draws))
    for i in range(len(draws) - 1):
        rest = slice(i + 1, None)
        joint = sums.run(wide(draws[i]), i + 1)
        d = combine(loss, n, own[i], own[rest], joint, weight)
        expected[i] += float(weights[rest] @ d)
        expected[rest] += weights[i] * (d if weight == 1 else combine(loss, n, own[i], own[rest], joint, 2.0 - weight))
    return expected


def expected_loss(partition: Labels, draws: npt.NDArray[Any], copies: Counts, weights: Array, loss: Loss, weight: float = 1.0) -> float:
    """Weighted mean distance of a canonical partition (n,) from canonical draws (D, n)."""
    return float(weights @ _from_draws(partition, draws, copies, loss, weight))


def distances_from(partition: Labels, points: Points, loss: Loss) -> Array:
    """Distance of a partition (n,) from every draw: (D,)."""
    cut, home = points.cut(partition)
    return _from_draws(canonical(home), cut.draws, cut.copies, loss)


def _from_draws(partition: Labels, draws: npt.NDArray[Any], copies: Counts, loss: Loss, weight: float = 1.0) -> Array:
    n = int(copies.sum())
    f = count_function(loss, n)
    own = float(marginal_sums(partition[None], copies, f)[0])
    return combine(loss, n, own, marginal_sums(draws, copies, f), _core.JointSums(draws, copies, f).run(partition), weight)


def check_loss(loss: str, owner: str) -> None:
    """Refuse a loss that is none of them."""
    check_choice(owner, "loss", loss, LOSSES)


def count_function(loss: Loss, n: int) -> Array:
    """f(0), ..., f(n)."""
    return LOSSES[loss].f(np.arange(n + 1, dtype=np.float64))


def combine(loss: Loss, n: int, left: Array | float, right: Array, joint: Array, weight: float = 1.0) -> Array:
    """The distance from the sums of f over the clusters of each side and over the joint clusters; `weight` not for adjusted ones."""
    if not LOSSES[loss].adjusted:
        apart: Array = np.maximum((2.0 - weight) * left + weight * right - 2.0 * joint, 0.0)
        return apart / float(n ** LOSSES[loss].degree)
    pairs = n * (n - 1) / 2.0
    pairs_left, pairs_right, pairs_joint = ((np.asarray(s) - n) / 2.0 for s in (left, right, joint))
    expected = pairs_left * pairs_right / max(pairs, 1.0)
    room = (pairs_left + pairs_right) / 2.0 - expected
    # No room: both partitions are the same trivial one (all together, or all apart).
    rand = np.divide(pairs_joint - expected, room, out=np.ones_like(joint), where=room > 1e-12 * max(pairs, 1.0))
    return 1.0 - rand


def marginal_sums(draws: npt.NDArray[Any], copies: Counts, f: Array) -> Array:
    """Σ_c f(|c|) of every draw, (D,)."""
    return np.array([f[np.bincount(draw, weights=copies).astype(np.int64)].sum() for draw in draws])
