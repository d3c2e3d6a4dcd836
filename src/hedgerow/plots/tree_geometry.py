"""Where the lines of a forest go: orders, the cut, heights, and the truncated dendrogram; NumPy only.

A forest is five arrays over its nodes: `left`, `right` (children, -1 for a leaf), `roots` (node numbers),
`size` (leaves below) and `log_d` (log d(l, r); ignored at leaves). Leaf i is row i of the data. P(h) =
1/(1+d).

Height. d itself makes a poor height: inside a cluster log d *falls* as branches grow (evidence for one
cluster piles up), so a dendrogram drawn by d is full of crossings. Two scales, joined at the cut, read
well:

* below the cut (the clusters), height is the logarithm of the number of points, which always grows upwards;
* above it (joins the model advises against), height is log(1 + log d): how many nats the join would cost.

The cut is then one horizontal line for the whole forest. P(h) is left to colour.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.arguments import check_whole, numbers_of, wholes_of
from hedgerow.errors import require

__all__ = ["Dendrogram", "TreeScale", "cut_clusters", "dendrogram_geometry", "leaf_order", "tree_heights"]

LongArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

CUT_HEIGHT = 1.0
TALLEST_CLUSTER = 0.9  # of the cut's height, so that a cluster's top never touches the line
UPPER_ZONE = 0.8


@dataclass(frozen=True)
class TreeScale:
    """Heights of nodes, with what is needed to draw their axis.

    Attributes
    ----------
    height : (nodes,)
    cut : height of the cut; infinite d above, clusters below
    above : (nodes,) joins past the cut
    ticks : points below the cut, "+nats" above it

    >>> tree_heights([-1, -1, 0], [-1, -1, 1], [2], [1, 1, 2], [0.0, 0.0, -1.0]).cut
    1.0
    """

    height: FloatArray
    cut: float
    above: NDArray[np.bool_]
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Dendrogram:
    """The lines of a (possibly truncated) dendrogram.

    A terminal is a leaf or a collapsed branch; x runs over [0, width].

    Attributes
    ----------
    node : (b,) the joins drawn, parents before children
    path : (b, 4, 2) left child up, across, right child down
    probability : (b,) P(h) of each join
    terminal : (t,) from left to right
    terminal_x : (t,) centres
    terminal_span : (t,) widths
    terminal_size : (t,) points in each
    cluster : (t,) number of the cut cluster of each terminal, -1 above the cut
    root_x : (r,)
    root_height : (r,)
    hidden_roots : smallest roots left out because there were more than max_leaves
    hidden_points : int
    width : float
    scale : TreeScale

    >>> dendrogram_geometry([-1, -1, 0], [-1, -1, 1], [2], [1, 1, 2], [0.0, 0.0, -1.0]).width
    2.0
    """

    node: LongArray
    path: FloatArray
    probability: FloatArray
    terminal: LongArray
    terminal_x: FloatArray
    terminal_span: FloatArray
    terminal_size: LongArray
    cluster: LongArray
    root_x: FloatArray
    root_height: FloatArray
    hidden_roots: int
    hidden_points: int
    width: float
    scale: TreeScale


def leaf_order(left: ArrayLike, right: ArrayLike, roots: ArrayLike) -> LongArray:
    """Rows of the data from left to right under the roots.

    Parameters
    ----------
    left, right, roots : arrays of int

    Returns
    -------
    (n,) int64

    >>> leaf_order([-1, -1, 1], [-1, -1, 0], [2])
    array([1, 0])
    """
    left, right, roots = _as_tree("leaf_order", left, right, roots)
    order = _preorder("leaf_order", left, right, roots)
    return order[left[order] < 0]


def cut_clusters(left: ArrayLike, right: ArrayLike, roots: ArrayLike, log_d: ArrayLike) -> LongArray:
    """Top nodes of the clusters that the cut at d = 1 leaves, in order of their first row (canonical).

    Parameters
    ----------
    left, right, roots, log_d : arrays

    Returns
    -------
    (K,) int64

    >>> cut_clusters([-1, -1, 0], [-1, -1, 1], [2], [0.0, 0.0, 1.0])
    array([0, 1])
    """
    left, right, roots = _as_tree("cut_clusters", left, right, roots)
    order = _preorder("cut_clusters", left, right, roots)
    log_d = numbers_of("tree", "log_d", log_d)
    require(log_d.shape == left.shape, "tree", "log_d", log_d, f"have one entry for each of the {len(left)} nodes")
    above = _above_cut(left, right, order, roots, log_d)
    tops = _tops(left, right, order, roots, above)
    first_row = _first_rows(left, right, order)
    return tops[np.argsort(first_row[tops], kind="stable")]


def tree_heights(left: ArrayLike, right: ArrayLike, roots: ArrayLike, size: ArrayLike, log_d: ArrayLike) -> TreeScale:
    """Heights of all nodes on the two joined scales that the module describes.

    A join never stands below a join that it contains: where log d falls going up past the cut, the upper
    one is raised a little above the lower.

    Parameters
    ----------
    left, right, roots, size, log_d : arrays

    Returns
    -------
    TreeScale

    >>> tree_heights([-1, -1, 0], [-1, -1, 1], [2], [1, 1, 2], [0.0, 0.0, 1.0]).above.tolist()
    [False, False, True]
    """
    left, right, roots = _as_tree("tree_heights", left, right, roots)
    size = wholes_of("tree", "size", size)
    log_d = numbers_of("tree", "log_d", log_d)
    require(size.shape == left.shape, "tree_heights", "size", size, "have one entry per node")
    require(log_d.shape == left.shape, "tree_heights", "log_d", log_d, "have one entry per node")
    order = _preorder("tree_heights", left, right, roots)
    above = _above_cut(left, right, order, roots, log_d)

    below = order[~above[order]]
    largest = max(2, int(size[below].max(initial=1)))
    height = TALLEST_CLUSTER * np.log(np.maximum(size, 1)) / np.log(largest)
    ticks = [(TALLEST_CLUSTER * float(np.log(points) / np.log(largest)), f"{points:,}") for points in _decades(largest)]

    upper = order[above[order]]
    if len(upper):
        cost = np.zeros(len(left))
        finite = np.isfinite(log_d[upper])
        ceiling = float(log_d[upper][finite].max(initial=1.0))
        cost[upper] = np.log1p(np.where(finite, log_d[upper], 2.0 * ceiling))
        step = 0.02 * float(cost.max())
        for node in upper[::-1]:  # children before parents
            inside = [child for child in (left[node], right[node]) if above[child]]
            cost[node] = max([cost[node], *(cost[child] + step for child in inside)])
        unit = UPPER_ZONE / float(cost.max())
        height[upper] = CUT_HEIGHT + unit * cost[upper]
        ticks += [(CUT_HEIGHT + unit * float(np.log1p(nats)), f"+{nats:,}") for nats in _decades(int(ceiling)) if nats > 1]
    return TreeScale(height, CUT_HEIGHT, above, tuple(ticks))


def dendrogram_geometry(
    left: ArrayLike,
    right: ArrayLike,
    roots: ArrayLike,
    size: ArrayLike,
    log_d: ArrayLike,
    *,
    max_leaves: int = 60,
) -> Dendrogram:
    """Lines of the dendrogram with at most `max_leaves` terminals.

    Joins past the cut are opened first, highest first, then the largest branches; what stays closed is a
    terminal with its number of points. With more roots than `max_leaves` the smallest are left out and
    counted.

    Parameters
    ----------
    left, right, roots, size, log_d : arrays
    max_leaves : int

    Returns
    -------
    Dendrogram

    >>> dendrogram_geometry([-1, -1, 0], [-1, -1, 1], [2], [1, 1, 2], [0.0, 0.0, 1.0]).terminal.tolist()
    [0, 1]
    """
    left, right, roots = _as_tree("dendrogram_geometry", left, right, roots)
    check_whole("dendrogram_geometry", "max_leaves", max_leaves, 2)
    size = wholes_of("tree", "size", size)
    log_d = numbers_of("tree", "log_d", log_d)
    scale = tree_heights(left, right, roots, size, log_d)
    shown = np.sort(np.argsort(-size[roots], kind="stable")[:max_leaves])
    hidden = np.setdiff1d(np.arange(len(roots)), shown)
    open_joins = _open_joins(left, right, roots[shown], size, scale, max_leaves)

    number = _cluster_numbers(left, right, roots, log_d)
    drawn, closed, spans, center, end = _side_by_side(left, right, roots[shown], size, open_joins)
    children = np.stack([left[drawn], right[drawn]], axis=1)
    path = np.empty((len(drawn), 4, 2))
    path[:, [0, 1], 0] = center[children[:, :1]]
    path[:, [2, 3], 0] = center[children[:, 1:]]
    path[:, [1, 2], 1] = scale.height[drawn][:, None]
    path[:, [0, 3], 1] = scale.height[children]
    return Dendrogram(
        node=drawn,
        path=path,
        probability=merge_probability(log_d[drawn]),
        terminal=closed,
        terminal_x=center[closed],
        terminal_span=spans,
        terminal_size=size[closed],
        cluster=number[closed],
        root_x=center[roots[shown]],
        root_height=scale.height[roots[shown]],
        hidden_roots=len(hidden),
        hidden_points=int(size[roots[hidden]].sum()),
        width=max(end - 1.0, 1.0),
        scale=scale,
    )


def merge_probability(log_d: ArrayLike) -> FloatArray:
    """P(h) = 1/(1+d), without overflow.

    Parameters
    ----------
    log_d : array-like

    Returns
    -------
    array

    >>> float(merge_probability(0.0))
    0.5
    """
    log_d = numbers_of("tree", "log_d", log_d)
    return np.asarray(np.exp(-np.logaddexp(0.0, log_d)), dtype=np.float64)


def _side_by_side(
    left: LongArray, right: LongArray, roots: LongArray, size: LongArray, open_joins: set[int]
) -> tuple[LongArray, LongArray, FloatArray, FloatArray, float]:
    """Joins drawn, terminals from left to right with their spans, the centre of every node, and where it all ends."""
    center = np.zeros(len(left))
    joins: list[int] = []
    terminals: list[int] = []
    spans: list[float] = []
    x = 0.0
    for root in roots:
        stack = [int(root)]
        while stack:
            node = stack.pop()
            if node in open_joins:
                joins.append(node)
                stack += [int(right[node]), int(left[node])]
                continue
            span = 1.0 + 0.3 * float(np.log2(size[node]))
            center[node] = x + span / 2
            x += span
            terminals.append(node)
            spans.append(span)
        x += 1.0  # a gap between roots
    for node in reversed(joins):
        center[node] = (center[left[node]] + center[right[node]]) / 2
    return np.array(joins, dtype=np.int64), np.array(terminals, dtype=np.int64), np.array(spans), center, x


def _open_joins(left: LongArray, right: LongArray, roots: LongArray, size: LongArray, scale: TreeScale, max_leaves: int) -> set[int]:
    """The joins to draw open: past the cut first, by height, then by size."""

    def rank(node: int) -> tuple[bool, float, int]:
        return (not scale.above[node], -(scale.height[node] if scale.above[node] else size[node]), node)

    queue = [rank(int(root)) for root in roots if left[root] >= 0]
    heapq.heapify(queue)
    opened: set[int] = set()
    terminals = len(roots)
    while queue and terminals < max_leaves:
        node = heapq.heappop(queue)[2]
        opened.add(node)
        terminals += 1
        for child in (int(left[node]), int(right[node])):
            if left[child] >= 0:
                heapq.heappush(queue, rank(child))
    return opened


def _cluster_numbers(left: LongArray, right: LongArray, roots: LongArray, log_d: FloatArray) -> LongArray:
    """Canonical number of the cut cluster of every node, -1 above the cut."""
    number = np.full(len(left), -1, dtype=np.int64)
    tops = cut_clusters(left, right, roots, log_d)
    number[tops] = np.arange(len(tops))
    for node in _preorder("dendrogram_geometry", left, right, roots):
        if left[node] >= 0 and number[node] >= 0:
            number[left[node]] = number[right[node]] = number[node]
    return number


def _as_tree(owner: str, left: ArrayLike, right: ArrayLike, roots: ArrayLike) -> tuple[LongArray, LongArray, LongArray]:
    """The three arrays as integers, with children that exist and come in pairs."""
    left, right = wholes_of("tree", "left", left), wholes_of("tree", "right", right)
    roots = np.atleast_1d(wholes_of("tree", "roots", roots))
    require(left.ndim == 1 and left.shape == right.shape, owner, "right", right, "be a vector as long as left")
    require(roots.ndim == 1, owner, "roots", roots, "be a vector")
    require(bool(np.all((left < 0) == (right < 0))), owner, "right", right, "be -1 exactly where left is -1")
    top = max(int(left.max(initial=-1)), int(right.max(initial=-1)))
    require(top < len(left), owner, "left", top, f"name nodes below {len(left)}")
    require(
        len(roots) > 0 and int(roots.min()) >= 0 and int(roots.max()) < len(left),
        owner,
        "roots",
        roots,
        f"name at least one node, each in 0..{len(left) - 1}",
    )
    return left, right, roots


def _preorder(owner: str, left: LongArray, right: LongArray, roots: LongArray) -> LongArray:
    """Reachable nodes, parents before children, left first; no recursion, for trees may be deep."""
    order: list[int] = []
    stack = [int(root) for root in roots[::-1]]
    while stack:
        node = stack.pop()
        order.append(node)
        require(len(order) <= len(left), owner, "left", left, "give each node one parent (a node is met twice)")
        if left[node] >= 0:
            stack += [int(right[node]), int(left[node])]
    return np.array(order, dtype=np.int64)


def _above_cut(left: LongArray, right: LongArray, order: LongArray, roots: LongArray, log_d: FloatArray) -> NDArray[np.bool_]:
    """Joins with d > 1 whose every ancestor has d > 1 too."""
    above = np.zeros(len(left), dtype=np.bool_)
    open_above = np.zeros(len(left), dtype=np.bool_)
    open_above[roots] = True
    for node in order:
        if left[node] >= 0 and open_above[node] and log_d[node] > 0.0:
            above[node] = True
            open_above[left[node]] = open_above[right[node]] = True
    return above


def _tops(left: LongArray, right: LongArray, order: LongArray, roots: LongArray, above: NDArray[np.bool_]) -> LongArray:
    """Highest nodes that are not above the cut."""
    top = np.zeros(len(left), dtype=np.bool_)
    top[roots] = True
    joins = order[above[order]]
    top[left[joins]] = top[right[joins]] = True
    top[joins] = False
    return np.flatnonzero(top)


def _first_rows(left: LongArray, right: LongArray, order: LongArray) -> LongArray:
    """The least leaf below each node."""
    first = np.arange(len(left))
    for node in order[::-1]:
        if left[node] >= 0:
            first[node] = min(first[left[node]], first[right[node]])
    return first


def _decades(largest: int) -> list[int]:
    """1, 10, 100, ... up to `largest`."""
    decades = [1]
    while decades[-1] * 10 <= largest:
        decades.append(decades[-1] * 10)
    return decades
