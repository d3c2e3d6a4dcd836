"""Forests in other people's forms: SciPy linkage, Newick text, a networkx graph; and what can be wrong with one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import check_names
from hedgerow.errors import need_extra, require

if TYPE_CHECKING:
    from hedgerow.trees.forest import Forest

__all__ = ["faults", "to_linkage", "to_networkx", "to_newick"]

FloatArray = npt.NDArray[np.float64]


def faults(forest: Forest) -> list[str]:
    """One sentence for every broken invariant."""
    left, right, parent, size = forest.left, forest.right, forest.parent, forest.size
    n, nodes, found = forest.n, len(forest.left), []
    inner = np.arange(n, nodes)
    if nodes == 0 or n == 0:
        return ["it has no rows."]
    if (left[:n] >= 0).any() or (right[:n] >= 0).any() or (left[n:] < 0).any() or (right[n:] < 0).any():
        return ["rows must come first and have no children, and inner nodes must have two."]
    if (left[n:] >= inner).any() or (right[n:] >= inner).any():
        return ["children must come before their parents."]
    children = np.concatenate([left[n:], right[n:]])
    if len(np.unique(children)) != len(children):
        found.append("no node may have two parents.")
    elif not np.array_equal(parent[children], np.concatenate([inner, inner])) or (parent < 0).sum() != nodes - len(children):
        found.append("parent must agree with left and right.")
    if (size[:n] < 1).any() or not np.array_equal(size[n:], size[left[n:]] + size[right[n:]]):
        found.append("size must be at least 1 for leaves and the sum over children elsewhere.")
    if not np.isfinite(forest.log_phi_h).all() or not np.isfinite(forest.log_phi_t).all():
        found.append("potentials must be finite.")
    elif len(inner):
        apart = forest.log_phi_t[left[n:]] + forest.log_phi_t[right[n:]]
        scale = 1e-7 * (1.0 + np.abs(apart))
        if (np.abs(forest.log_d[n:] - (apart - forest.log_phi_h[n:])) > scale).any():
            found.append("log_d must be log phi_t(left) + log phi_t(right) - log phi_h.")
        if (np.abs(forest.log_phi_t[n:] - np.logaddexp(forest.log_phi_h[n:], apart)) > scale).any():
            found.append("phi_t must be phi_h + phi_t(left) phi_t(right).")
    return found


def to_linkage(forest: Forest) -> FloatArray:
    """(n - 1, 4): two clusters, height, size. Height is log(1 + d) made monotone; the roots are joined above all trees."""
    n, nodes = forest.n, len(forest.left)
    require(n >= 2, "Forest.to_linkage", "n", n, "be at least 2")
    height = np.zeros(nodes)
    for node in range(n, nodes):
        own = np.logaddexp(0.0, forest.log_d[node])
        height[node] = max(own, height[forest.left[node]], height[forest.right[node]])
    order = n + np.argsort(height[n:], kind="stable")
    number = np.arange(nodes)
    number[order] = n + np.arange(len(order))
    rows = [(number[forest.left[v]], number[forest.right[v]], height[v], forest.size[v]) for v in order]
    roots = forest.roots
    top, members = number[roots[0]], int(forest.size[roots[0]])
    above = height.max(initial=0.0) + 1.0
    for root in roots[1:]:
        members += int(forest.size[root])
        rows.append((top, number[root], above, members))
        top = n + len(rows) - 1
    return np.array([(min(a, b), max(a, b), h, s) for a, b, h, s in rows], float)


def to_newick(forest: Forest, names: Sequence[str] | None) -> str:
    """One tree per line."""
    n = forest.n
    check_names("Forest.to_newick", "names", names, n, "rows")
    labels = [str(i) for i in range(n)] if names is None else [_quote(str(name)) for name in names]
    height = np.zeros(len(forest.left))
    text: list[str] = labels + [""] * (len(forest.left) - n)
    for node in range(n, len(forest.left)):
        a, b = int(forest.left[node]), int(forest.right[node])
        height[node] = max(float(np.logaddexp(0.0, forest.log_d[node])), height[a], height[b])
        text[node] = f"({text[a]}:{height[node] - height[a]:.6g},{text[b]}:{height[node] - height[b]:.6g})"
        text[a] = text[b] = ""
    return "".join(f"{text[root]};\n" for root in forest.roots)


def to_networkx(forest: Forest) -> Any:
    """A directed graph with size, log_d and prob_merged on its nodes."""
    networkx = need_extra("networkx", "graph")
    graph = networkx.DiGraph()
    for node, (size, log_d, prob) in enumerate(zip(forest.size, forest.log_d, forest.prob_merged, strict=True)):
        graph.add_node(node, size=int(size), log_d=float(log_d), prob_merged=float(prob))
    for node in range(forest.n, len(forest.left)):
        graph.add_edges_from([(node, int(forest.left[node])), (node, int(forest.right[node]))])
    return graph


def _quote(name: str) -> str:
    plain = name.replace("_", "").replace("-", "").replace(".", "")
    return name if plain.isalnum() else "'" + name.replace("'", "''") + "'"
