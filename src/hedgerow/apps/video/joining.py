"""From segments to a hierarchy by colours, surroundings and edges.

Joining segments a and b costs

    c(a, b) = [m(s_a) + m(s_b) - m(s_a + s_b)]  *  e(a, b)^w     where the first factor is above 0, else that factor

s is a histogram of 120 bins: 60 of the segment's own colours, and 60 of the colours around its supervoxels (two steps of
averaging over what touches), weighted. m is its log marginal under a Multinomial with the beta that found the segments, so
the first factor is the evidence against one distribution for both. e is the mean colour difference, in LAB, between the
voxels on the two sides of their common border, and w says how much edges count.

Colours alone go wrong in two places, and sure of themselves, since voxels are counted as if they were independent. A
shaded wall has other colours at its other end, yet nothing separates its parts: edges tell. A crowd, leaves or a fence are
made of pieces that have little in common with their neighbours, but the same surroundings: these tell.

Two segments are joined when each is the other's cheapest neighbour, all such pairs at once, until none is left. On a clip
this takes some forty rounds of array arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import gammaln

from hedgerow.apps.video.hierarchy import Hierarchy, from_tree
from hedgerow.arguments import real_number
from hedgerow.errors import require

__all__ = ["Borders", "JoinSettings", "join_at_borders"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Pairs whose marginals are computed together: few enough to stay in the processor's cache.
_BLOCK = 2_000
#: Pairs that may wait before like ones are summed up.
_WAITING = 20_000


@dataclass(frozen=True)
class JoinSettings:
    """What counts, besides a segment's own colours, when the hierarchy joins segments.

    Parameters
    ----------
    edges : float
        The exponent of the mean colour difference across a border. 0: edges do not count.
    surroundings : float
        How often the colours around a supervoxel are counted for each time its own are. 0: not at all.
    """

    edges: float = 0.5
    surroundings: float = 3.0

    def __post_init__(self) -> None:
        """Check both."""
        for name in ("edges", "surroundings"):
            value = getattr(self, name)
            require(0 <= real_number(value) < np.inf, "JoinSettings", name, value, "be a finite number from 0 up")


@dataclass
class Borders:
    """Which segments touch, on how many faces of voxels, and how much colours differ across them in sum.

    Pairs are kept once, the lower number first. `add` appends, and sums up like pairs when that has doubled the length.
    """

    low: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    high: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    faces: Floats = field(default_factory=lambda: np.zeros(0))
    contrast: Floats = field(default_factory=lambda: np.zeros(0))
    _tidy: int = 0

    def add(self, a: Ints, b: Ints, faces: npt.NDArray[np.number], contrast: Floats) -> None:
        """Add pairs; those of a segment with itself are no border."""
        apart = a != b
        a, b = a[apart], b[apart]
        self.low = np.concatenate([self.low, np.minimum(a, b)])
        self.high = np.concatenate([self.high, np.maximum(a, b)])
        self.faces = np.concatenate([self.faces, faces[apart]])
        self.contrast = np.concatenate([self.contrast, contrast[apart]])
        if len(self.low) > 2 * self._tidy + _WAITING:
            self.tidy()

    def tidy(self) -> Borders:
        """Every pair once."""
        if len(self.low):
            width = int(self.high.max()) + 1
            pairs, which = np.unique(self.low * width + self.high, return_inverse=True)
            self.low, self.high = pairs // width, pairs % width
            self.faces, self.contrast = _summed(which, self.faces), _summed(which, self.contrast)
        self._tidy = len(self.low)
        return self

    def touching(self, n: int) -> sparse.csr_array:
        """A symmetric matrix (n, n) with a one for every two that touch."""
        self.tidy()
        pairs = (np.concatenate([self.low, self.high]), np.concatenate([self.high, self.low]))
        return sparse.coo_array((np.ones(len(pairs[0]), np.int8), pairs), shape=(n, n)).tocsr()


def join_at_borders(histograms: Sequence[npt.NDArray[np.number]], beta: float, borders: Borders, edges: float) -> Hierarchy:
    """The hierarchy of n segments with these histograms, each (n, bins), laid side by side; `edges` is the w above."""
    sums = np.concatenate(histograms, axis=1, dtype=np.float64)
    n = len(sums)
    marginals = np.concatenate([_log_marginals(sums[k : k + _BLOCK], beta) for k in range(0, n, _BLOCK)])
    node = np.arange(n)  # the number of the node that a segment's row stands for now
    left, right = [np.full(n, -1)], [np.full(n, -1)]
    heights, made = [np.full(n, -np.inf)], n
    now = borders.tidy()
    a, b, faces, contrast = now.low, now.high, now.faces, now.contrast

    def costs(a: Ints, b: Ints, faces: Floats, contrast: Floats) -> Floats:
        evidence = np.empty(len(a))
        for start in range(0, len(a), _BLOCK):
            part = slice(start, start + _BLOCK)
            evidence[part] = marginals[a[part]] + marginals[b[part]] - _log_marginals(sums[a[part]] + sums[b[part]], beta)
        return np.where(evidence > 0, evidence * (contrast / faces) ** edges, evidence)

    cost = costs(a, b, faces, contrast)
    while len(a):
        pair = _best_pairs(a, b, cost, node)
        x, y, k = a[pair], b[pair], len(pair)
        left.append(node[x])
        right.append(node[y])
        heights.append(cost[pair])
        sums[x] += sums[y]
        marginals[x] = _log_marginals(sums[x], beta)
        node[x] = made + np.arange(k)
        made += k

        goes_to, changed = np.arange(n), np.zeros(n, dtype=bool)
        goes_to[y], changed[x] = x, True
        a, b = goes_to[a], goes_to[b]
        keys, first, which = np.unique(np.minimum(a, b) * n + np.maximum(a, b), return_index=True, return_inverse=True)
        faces, contrast, cost = _summed(which, faces), _summed(which, contrast), cost[first]
        a, b = keys // n, keys % n
        apart = a != b
        a, b, faces, contrast, cost = a[apart], b[apart], faces[apart], contrast[apart], cost[apart]
        new = changed[a] | changed[b]
        cost[new] = costs(a[new], b[new], faces[new], contrast[new])
    return from_tree(n, np.concatenate(left), np.concatenate(right), np.concatenate(heights))


def _best_pairs(a: Ints, b: Ints, cost: Floats, node: Ints) -> Ints:
    """The pairs in which each is the other's cheapest, cheapest first; older nodes win ties, so one pair always is."""
    order = np.lexsort((np.maximum(node[a], node[b]), np.minimum(node[a], node[b]), cost))
    rank = np.empty(len(a), dtype=np.int64)
    rank[order] = np.arange(len(a))
    best = np.full(len(node), len(a))
    np.minimum.at(best, a, rank)
    np.minimum.at(best, b, rank)
    mutual = (best[a] == rank) & (best[b] == rank)
    return np.asarray(order[mutual[order]], dtype=np.int64)


def _summed(which: npt.NDArray[np.integer], values: Floats) -> Floats:
    return np.asarray(np.bincount(which, values), dtype=np.float64)


def _log_marginals(counts: npt.NDArray[np.number], beta: float) -> Floats:
    """Log marginals of histograms, up to a constant and to what each voxel brings, which joins leave as they are."""
    per_histogram = gammaln(beta * counts.shape[1]) - counts.shape[1] * gammaln(beta)
    return np.asarray(gammaln(counts + beta).sum(axis=1) - gammaln(counts.sum(axis=1) + beta * counts.shape[1]) + per_histogram)
