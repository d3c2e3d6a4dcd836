"""Forest: binary trees over the rows as named arrays, with the potentials of Bayesian hierarchical clustering.

Node c with children l, r: φ_h(c) = κ(|c|, u)·p(X_c), φ_t(c) = φ_h(c) + φ_t(l)·φ_t(r), d(c) = φ_t(l)·φ_t(r)/φ_h(c), and
P(c is one cluster) = 1/(1 + d) (Lee & Choi 2014 eq. 27–31). Nodes 0..n-1 are the rows; inner nodes follow, children before parents.
Several roots mean that joining them was not worth it: they are the clusters.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import real_number
from hedgerow.data.container import fitting, from_file, read_container, write_container
from hedgerow.data.groups import read_levels
from hedgerow.errors import ParameterError, require
from hedgerow.plots import dendrogram as draw_dendrogram
from hedgerow.plots.canvas import drawn
from hedgerow.priors.state import Values, with_log_u
from hedgerow.report import write_report
from hedgerow.summaries import Popularity, popularity
from hedgerow.summaries.table import Table
from hedgerow.trees import exchange, reporting

__all__ = ["NODES", "Forest"]

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]

_KIND = "forest"
_SHOWN = 10  # trees in a notebook
_INTS = ("left", "right", "parent", "size")
_FLOATS = ("log_phi_h", "log_phi_t", "log_d")
NODES = (*_INTS, *_FLOATS)
"""What there is of every node."""


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Trees over n rows; every array has one entry per node, -1 (or -inf for log_d) where there is nothing.

    `log_front` is the log of the prior's factor in front of the product over clusters, so that `log_bound` and `log_joint` are
    on the scale of `Mixture.log_joint`. `values` holds u and the hyper-parameters that the potentials were computed with.

    Attributes
    ----------
    left, right, parent, size : (nodes,) int32
        Children, parent and rows of every node; node i < n is row i.
    log_phi_h, log_phi_t, log_d : (nodes,)
        Log potential of the node as one cluster and summed over the partitions that its tree allows, and the log odds
        against its being one cluster.
    log_front : float
    values : mapping

    >>> import tempfile
    >>> import hedgerow as hr
    >>> X = [[0.0], [0.1], [9.0]]
    >>> forest = hr.bhc(hr.Mixture(hr.DP(), hr.GaussianWishart()), X, seed=0)
    >>> forest.validate()
    >>> forest.n_clusters, forest.cut(0.5), forest.rows(int(forest.roots[0]))
    (2, array([0, 0, 1], dtype=int32), array([0, 1], dtype=int32))
    >>> forest.to_linkage().shape, forest.to_newick(["a", "b", "c"]).count("a"), len(forest.to_networkx())
    ((2, 4), 1, 4)
    >>> forest.popularity([2001, 2001, 2002]).mean.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> axes, folder = forest.plot(), Path(tempfile.mkdtemp())
    >>> forest.report(folder / "forest.html", X).name
    'forest.html'
    >>> forest.save(folder / "forest.npz")
    >>> Forest.load(folder / "forest.npz").labels
    array([0, 0, 1], dtype=int32)
    """

    left: IntArray
    right: IntArray
    parent: IntArray
    size: IntArray
    log_phi_h: FloatArray
    log_phi_t: FloatArray
    log_d: FloatArray
    log_front: float = 0.0
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Give the arrays their types; `validate` looks at what is in them."""
        put = object.__setattr__
        for name in _INTS:
            put(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.int32))
        for name in _FLOATS:
            put(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        nodes = len(self.left)
        for name in NODES:
            array = getattr(self, name)
            require(array.shape == (nodes,), "Forest", name, array, f"have one entry for each of the {nodes} nodes")

    @property
    def n(self) -> int:
        """Leaves: the rows, and in the forest of a stream also summaries of several."""
        return int((self.left < 0).sum())

    @property
    def roots(self) -> IntArray:
        """The top nodes, one for each cluster, in the order of their first rows."""
        tops, first = np.unique(self._tops(np.flatnonzero(self.parent < 0)), return_index=True)
        return np.asarray(tops[np.argsort(first)], np.int32)

    @property
    def labels(self) -> IntArray:
        """The cluster of every row: its root, numbered in order of first appearance."""
        return self._labels_below(self.roots)

    @property
    def n_clusters(self) -> int:
        """Number of roots."""
        return int((self.parent < 0).sum())

    @property
    def prob_merged(self) -> FloatArray:
        """P(node is one cluster) = 1/(1 + d) for every node; 1 for rows."""
        return np.asarray(np.exp(-np.logaddexp(0.0, self.log_d)))

    @property
    def log_bound(self) -> float:
        """A lower bound of log p(X, u): the sum over all partitions that the trees allow."""
        return self.log_front + float(self.log_phi_t[self.parent < 0].sum())

    @property
    def log_joint(self) -> float:
        """Log joint of the partition into roots, on the scale of `Mixture.log_joint`."""
        return self.log_front + float(self.log_phi_h[self.parent < 0].sum())

    def cut(self, level: float = 0.5) -> IntArray:
        """Labels after cutting every node whose probability of being one cluster is below `level`.

        0.5 leaves the roots as they are; a higher level cuts finer. A node stays whole only if all nodes above it in its tree were cut.

        Parameters
        ----------
        level : float in (0, 1)

        Returns
        -------
        (n,) int32
        """
        require(0 <= real_number(level) <= 1, "Forest.cut", "level", level, "lie in [0, 1]")
        whole = self.prob_merged >= level
        tops: list[int] = []
        stack = self.roots.tolist()[::-1]
        while stack:
            node = stack.pop()
            if whole[node] or self.left[node] < 0:
                tops.append(node)
            else:
                stack += [int(self.right[node]), int(self.left[node])]
        return self._labels_below(np.array(tops, np.int32))

    def rows(self, node: int) -> IntArray:
        """The rows below a node.

        Parameters
        ----------
        node : int

        Returns
        -------
        (size[node],) int32
        """
        require(0 <= node < len(self.left), "Forest.rows", "node", node, f"be a node, 0 to {len(self.left) - 1}")
        found, stack = [], [int(node)]
        while stack:
            top = stack.pop()
            if self.left[top] < 0:
                found.append(top)
            else:
                stack += [int(self.right[top]), int(self.left[top])]
        return np.array(found, np.int32)

    def validate(self) -> None:
        """Raise a `ParameterError` with one sentence for every invariant that does not hold."""
        faults = exchange.faults(self)
        if faults:
            raise ParameterError("Forest: " + " ".join(faults))

    def popularity(self, times: Any, *, level: float = 0.5) -> Popularity:
        """The share of every cluster of `cut(level)` among the rows of each time, and when it lives; one time per row.

        A forest is one partition, so there is no uncertainty: `low` and `high` are `mean`. `Posterior.popularity` has it.

        Parameters
        ----------
        times : (n,)
        level : float in (0, 1)

        Returns
        -------
        Popularity
        """
        levels, codes = read_levels(times, self.n, "Forest.popularity")
        labels = self.cut(level)
        return popularity(labels[None], labels, codes, levels.names, 1.0)

    def to_linkage(self) -> FloatArray:
        """A SciPy linkage matrix (n - 1, 4), roots joined at the top; heights never fall towards the root.

        Returns
        -------
        (n - 1, 4)
        """
        return exchange.to_linkage(self)

    def to_newick(self, names: Sequence[str] | None = None) -> str:
        """The trees in Newick form, one per line, branch lengths from the heights of `to_linkage`.

        Parameters
        ----------
        names : sequence of str, optional
            Of the rows.

        Returns
        -------
        str
        """
        return exchange.to_newick(self, names)

    def to_networkx(self) -> Any:
        """A `networkx.DiGraph` from parents to children (needs networkx).

        Returns
        -------
        networkx.DiGraph
        """
        return exchange.to_networkx(self)

    @drawn
    def plot(self, *, names: Sequence[str] | None = None, max_leaves: int = 60, ax: Any = None) -> Any:
        """Draw the trees, branches coloured by their probability of being one cluster; returns the axes.

        Parameters
        ----------
        names : sequence of str, optional
            Of the rows.
        max_leaves : int
            Leaves and closed branches drawn at most.
        """
        return draw_dendrogram(self.left, self.right, self.roots, self.size, self.log_d, names=names, max_leaves=max_leaves, ax=ax)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        title: str = "Trees",
        names: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
    ) -> Path:
        """Write one offline HTML page with the trees and, if X is given, its points and columns; returns its path.

        X is what the forest was built on, as numbers or sparse counts; `names` are those of its columns, `rows` those of
        its rows.

        Parameters
        ----------
        path : path
        X : table, optional
        title : str
        names, rows : sequences of str, optional

        Returns
        -------
        pathlib.Path
        """
        return write_report(path, reporting.payload_of(self, X, title=title, names=names, rows=rows))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the forest to one file, whole or not at all.

        Parameters
        ----------
        path : path
        """
        arrays = {name: getattr(self, name) for name in NODES}
        values = {name: np.asarray(value, float).tolist() for name, value in self.values.items()}
        write_container(path, _KIND, 1, {"log_front": self.log_front, "values": values}, arrays)

    @classmethod
    @from_file("Forest")
    def load(cls, path: str | os.PathLike[str]) -> Forest:
        """A forest from a file that `save` wrote."""
        stored = read_container(path, _KIND, (1,))
        with fitting(f"load(path={str(path)!r}): path must name a whole forest file"):
            arrays = {name: stored.arrays[name] for name in NODES}
            forest = cls(**arrays, log_front=float(stored.content["log_front"]), values=Values(with_log_u(stored.content["values"])))
        forest.validate()
        return forest

    def __repr__(self) -> str:
        return f"Forest({self.n} rows in {self.n_clusters} trees, log joint {self.log_joint:,.2f})"

    def _repr_html_(self) -> str:
        told = f"<p><b>{escape(repr(self))}</b></p>"
        largest = self.roots[np.argsort(-self.size[self.roots], kind="stable")][:_SHOWN]
        rest = f"{len(self.roots) - len(largest):,} smaller trees." if len(self.roots) > len(largest) else ""
        columns: dict[str, npt.ArrayLike] = {"tree": largest, "rows": self.size[largest], "log d": self.log_d[largest]}
        return told + Table(columns, title="largest trees", note=f"log d below 0: one cluster. {rest}".strip())._repr_html_()

    def _tops(self, tops: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """The node among `tops` above (or at) each row."""
        above = np.where(self.parent < 0, np.arange(len(self.parent)), self.parent)
        above[tops] = tops
        while not np.array_equal(further := above[above], above):  # twice as far up each time
            above = further
        return np.asarray(above[: self.n])

    def _labels_below(self, tops: npt.NDArray[Any]) -> IntArray:
        """Canonical labels of the rows by the node among `tops` that they lie below."""
        _, first, inverse = np.unique(self._tops(tops), return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int32)
        rank[np.argsort(first)] = np.arange(len(first))
        return np.asarray(rank[inverse], np.int32)
