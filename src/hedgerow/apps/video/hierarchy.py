"""From fine to coarse without a new run: the tree over a clip's segments, and its cuts.

Segments are joined by greedy Bayesian hierarchical clustering with the model that found them: touching ones only,
the pair of least dissimilarity d first, past d = 1 until one is left. The height of a join is the greatest log d at
or below it, so heights never fall towards the root; a join below 0 is one that the model itself would make.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow import _core
from hedgerow.arguments import check_whole
from hedgerow.mixture import Mixture

__all__ = ["Hierarchy", "join_segments"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Counts are divided beyond this total, which the compiled likelihood can still hold with room to spare.
LARGEST_TOTAL = 1e9


@dataclass(frozen=True)
class Hierarchy:
    """Joins of n segments, lowest first: join k makes node n + k out of nodes left[k] and right[k]."""

    n: int
    left: Ints
    right: Ints
    height: Floats

    @property
    def fewest(self) -> int:
        """The coarsest cut: 1 unless parts of the clip never touch."""
        return self.n - len(self.left)

    def cut(self, n_segments: int | None) -> Ints:
        """The segment at this coarseness that each fine segment belongs to, (n,), numbered by first appearance.

        None is the finest cut. Fine segments are numbered in the order in which they appear, so a coarse segment's
        number says when its oldest part appeared.
        """
        if n_segments is None:
            return np.arange(self.n)
        check_whole("cut", "n_segments", n_segments, self.fewest, self.n, none=True)
        oldest = self.representatives(int(n_segments))
        return np.asarray(np.unique(oldest, return_inverse=True)[1], dtype=np.int64)

    def representatives(self, n_segments: int | None) -> Ints:
        """The oldest fine segment of the coarse segment that each belongs to: a name that outlives the slider."""
        wanted = self.n if n_segments is None else n_segments
        joins = self.n - wanted
        oldest = np.arange(self.n + joins)
        for k in range(joins):
            oldest[self.n + k] = min(oldest[self.left[k]], oldest[self.right[k]])
        for k in range(joins - 1, -1, -1):
            oldest[self.left[k]] = oldest[self.right[k]] = oldest[self.n + k]
        return oldest[: self.n]


def join_segments(model: Mixture, counts: npt.NDArray[np.int64], touching: sparse.csr_array) -> Hierarchy:
    """The hierarchy of segments with these histograms (n, bins), of which those that touch may be joined."""
    n = len(counts)
    divisor = max(1.0, counts.sum() / LARGEST_TOTAL)
    data = sparse.csr_array(counts if divisor == 1.0 else np.ceil(counts / divisor))
    # A segment may live in many chunks, so it has no time of its own: one group, the measure that all share.
    prior = model.prior.shared()
    bound = model.resolve(data).bind(data)
    indptr, indices = touching.indptr.astype(np.int64), touching.indices.astype(np.int32)
    builder = _core.TreeBuilder(bound, prior.to_core(None), None, indptr, indices, 0, 0)
    builder.bhc()
    builder.join_roots()
    arrays = builder.arrays()
    return from_tree(n, arrays["left"], arrays["right"], arrays["log_d"])


def from_tree(n: int, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer], log_d: Floats) -> Hierarchy:
    """Joins in the order of their heights; nodes 0..n-1 are leaves, children come before parents."""
    height = np.full(len(left), -np.inf)
    for node in range(n, len(left)):
        height[node] = max(log_d[node], height[left[node]], height[right[node]])
    order = n + np.argsort(height[n:], kind="stable")
    number = np.arange(len(left))
    number[order] = n + np.arange(len(order))
    return Hierarchy(n, number[left[order]], number[right[order]], height[order])
