"""Bayesian hierarchical clustering in plain Python: potentials, greedy and incremental construction (A14,
N15 §2.3).

A node c with children l and r carries, in logs,

    φ_h(c) = κ(|c|,u) p(X_c)                     one cluster (A14 eq. 26, 31; N15 eq. 8); `log_phi_h(c)`,
    given φ_t(c) = φ_h(c) + φ_t(l) φ_t(r)              one cluster or the partitions below (A14 eq. 27)
    d(l,r) = φ_t(l) φ_t(r) / φ_h(l∪r)            dissimilarity (A14 eq. 29); leaves have φ_t = φ_h and d = 0

and P(h_c | X_c, t_c) = 1/(1+d). Everything is as slow and as close to the papers' text as it can be: the
oracle of the compiled trees, not a tool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = [
    "Node",
    "bhc",
    "brute_force_log_phi_t",
    "ibhc",
    "join",
    "leaf",
    "log_d",
    "seq_insert",
    "tree_partitions",
]

LogPhiH = Callable[[frozenset[int]], float]


@dataclass(frozen=True)
class Node:
    """A binary tree over the rows in `members`, with its potentials."""

    members: frozenset[int]
    log_phi_h: float
    log_phi_t: float
    log_d: float
    left: Node | None = None
    right: Node | None = None


def leaf(i: int, log_phi_h: LogPhiH) -> Node:
    """The tree of one row."""
    members = frozenset((i,))
    value = log_phi_h(members)
    return Node(members, value, value, -math.inf)


def join(left: Node, right: Node, log_phi_h: LogPhiH) -> Node:
    """The tree with these two children (A14 eq. 27 and 29)."""
    members = left.members | right.members
    one = log_phi_h(members)
    several = left.log_phi_t + right.log_phi_t
    return Node(members, one, float(np.logaddexp(one, several)), several - one, left, right)


def log_d(left: Node, right: Node, log_phi_h: LogPhiH) -> float:
    """Log dissimilarity of two trees (A14 eq. 29)."""
    return left.log_phi_t + right.log_phi_t - log_phi_h(left.members | right.members)


def tree_partitions(node: Node) -> Iterator[tuple[frozenset[int], ...]]:
    """All tree-consistent partitions: the node as one cluster, or a partition of each child side by side."""
    yield (node.members,)
    if node.left is not None and node.right is not None:
        for first in tree_partitions(node.left):
            for second in tree_partitions(node.right):
                yield first + second


def brute_force_log_phi_t(node: Node, log_phi_h: LogPhiH) -> float:
    """log φ_t by summing Π_c φ_h(c) over the tree-consistent partitions (A14 theorem 4 with q̄ put back)."""
    return float(np.logaddexp.reduce([sum(log_phi_h(c) for c in cut) for cut in tree_partitions(node)]))


def bhc(nodes: Sequence[Node], log_phi_h: LogPhiH, full: bool = False) -> list[Node]:
    """Merge the pair of least d while it is below 1, or to a single tree when `full` (A14 algorithm 1).

    All pairs are looked at again after every merge: O(n³) evaluations. Ties go to the earliest pair.
    """
    roots = list(nodes)
    while len(roots) > 1:
        pairs = [(i, j) for i in range(len(roots)) for j in range(i + 1, len(roots))]
        distances = [log_d(roots[i], roots[j], log_phi_h) for i, j in pairs]
        best = int(np.argmin(distances))
        if not full and distances[best] >= 0:
            break
        i, j = pairs[best]
        merged = join(roots[i], roots[j], log_phi_h)
        roots = [root for k, root in enumerate(roots) if k not in (i, j)] + [merged]
    return roots


def seq_insert(node: Node, x: Node, log_phi_h: LogPhiH) -> Node:
    """SeqInsert(c, x): the tree with x put in the best of its three places, recursively (A14 algorithm 2).

    At a leaf x becomes the sibling. The potentials on the way back to the root are refreshed by `join`.
    """
    if node.left is None or node.right is None:
        return join(node, x, log_phi_h)
    with_left = log_d(node.left, x, log_phi_h)
    with_right = log_d(node.right, x, log_phi_h)
    if node.log_d <= min(with_left, with_right):
        return join(node, x, log_phi_h)
    if with_left <= with_right:
        return join(seq_insert(node.left, x, log_phi_h), node.right, log_phi_h)
    return join(node.left, seq_insert(node.right, x, log_phi_h), log_phi_h)


def _path(node: Node, x: Node) -> list[Node]:
    """The nodes from `node` down to the parent of x, which hangs somewhere below it."""
    path = []
    while node.left is not None and node.right is not None and node.members != x.members:
        path.append(node)
        node = node.left if x.members <= node.left.members else node.right
    return path


def _cut(node: Node, x: Node) -> list[Node]:
    """The pieces left when the tree is cut at the lowest refreshed node with d > 1, or [node] when there is
    none.

    A cut node cannot stay inside a cluster, so its ancestors fall apart with it (A14 figure 2: c2 and c3
    are both split off): the pieces are its two children and every sibling on the way up. Only the nodes
    above x were refreshed, so only those are looked at.
    """
    path = _path(node, x)
    cuts = [k for k, v in enumerate(path) if v.log_d > 0]
    if not cuts:
        return [node]
    path = path[: cuts[-1] + 1]
    lowest = path[-1]
    assert lowest.left is not None
    assert lowest.right is not None
    pieces = [lowest.left, lowest.right]
    for parent, child in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        assert parent.left is not None
        assert parent.right is not None
        pieces.append(parent.right if parent.left.members == child.members else parent.left)
    return pieces


def _insert(roots: list[Node], x: Node, log_phi_h: LogPhiH) -> tuple[list[Node], list[Node]]:
    """Give x to the root of least d, or make it a root when that d > 1; returns the roots and the cut
    pieces."""
    distances = [log_d(root, x, log_phi_h) for root in roots]
    if not roots or min(distances) > 0:
        return [*roots, x], []
    best = int(np.argmin(distances))
    grown = seq_insert(roots[best], x, log_phi_h)
    pieces = _cut(grown, x)
    if len(pieces) == 1:
        return [grown if k == best else root for k, root in enumerate(roots)], []
    return [root for k, root in enumerate(roots) if k != best], pieces


def ibhc(order: Sequence[int], log_phi_h: LogPhiH, repair: str) -> list[Node]:
    """One pass of incremental BHC over the rows in this order, u and hyper-parameters fixed.

    `repair="bhc"` keeps the cut pieces as roots and runs BHC on all roots at the end (A14 algorithm 3);
    `repair="reinsert"` puts every cut piece in again at once (N15 section 2.3, step 3). A piece that is cut
    while being re-inserted stays a root: the papers say nothing on it, and without a rule the process need
    not end.
    """
    if repair not in ("bhc", "reinsert"):
        raise ValueError(f"ibhc(repair={repair!r}): repair must be 'bhc' or 'reinsert'. Got {repair!r}.")
    roots: list[Node] = []
    for i in order:
        roots, pieces = _insert(roots, leaf(i, log_phi_h), log_phi_h)
        if repair == "bhc":
            roots = roots + pieces
            continue
        for piece in pieces:
            roots, again = _insert(roots, piece, log_phi_h)
            roots = roots + again
    return bhc(roots, log_phi_h) if repair == "bhc" else roots
