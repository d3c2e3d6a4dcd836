"""What a report is made of: plain arrays and strings, checked for agreeing shapes.

Whoever holds a posterior or a forest fills these parts; a part left None leaves its section out. The geometry
comes ready-made from `hedgerow.plots`, so that the page and the plots show the same picture:

    scale = plots.tree_heights(left, right, roots, size, log_d)
    tree = TreePart(left, right, roots, size, log_d, scale.height, scale.cut, scale.ticks)
    place = plots.plane(X, names)                       # two columns, or two principal components
    points = PointsPart(labels, uncertainty, None, place.points, place.axes, place.note)
    order = plots.leaf_order(left, right, roots)        # or plots.seriate(similarity)
    similarity = SimilarityPart(*plots.block_means(post_similarity, order, 300), order)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.errors import require

__all__ = [
    "LEFT_OUT",
    "ColumnsPart",
    "CountsPart",
    "DrawsPart",
    "LevelPart",
    "LevelsPart",
    "PointsPart",
    "Profile",
    "ProfilesPart",
    "ReportPayload",
    "SimilarityPart",
    "TreePart",
]

LEFT_OUT = "left out"  # in the record of a run: columns that the model does not look at


@dataclass(frozen=True)
class PointsPart:
    """The points and the one clustering that the report speaks of.

    `labels` (n,) are 0, 1, ..., best by size (the largest 0); `uncertainty` (n,) in [0, 1], 0 = sure;
    `names` of points; `plane` (n, 2) is where the scatter draws them, with names for its `axes` and a
    `note` if it is a projection. Without `plane` there is no scatter.
    """

    labels: ArrayLike
    uncertainty: ArrayLike | None = None
    names: Sequence[str] | None = None
    plane: ArrayLike | None = None
    axes: tuple[str, str] = ("x", "y")
    note: str = ""


@dataclass(frozen=True)
class TreePart:
    """A forest over the points as arrays over its nodes; leaf i is point i, children are -1 at leaves.

    `height` is where nodes are drawn and `cut` where the line goes; `ticks` are (height, text) pairs. `join` names 1/(1 + d).
    """

    left: ArrayLike
    right: ArrayLike
    roots: ArrayLike
    size: ArrayLike
    log_d: ArrayLike
    height: ArrayLike
    cut: float
    ticks: Sequence[tuple[float, str]] = ()
    join: str = "P(one cluster)"


@dataclass(frozen=True)
class DrawsPart:
    """Draws (chain, draw): the number of clusters, and named quantities to trace with their R-hat and ESS.

    A quantity whose R-hat is not in `rhat` is drawn without a verdict. `asked`: the R-hat that the run was to go on to.
    `large` counts the clusters with at least `size` points. `lesson`: what chains shared, in a sentence.
    """

    n_clusters: ArrayLike
    quantities: Mapping[str, ArrayLike]
    rhat: Mapping[str, float] = field(default_factory=dict)
    ess: Mapping[str, float] = field(default_factory=dict)
    asked: float | None = None
    large: ArrayLike | None = None
    size: int = 1
    lesson: str = ""


@dataclass(frozen=True)
class ColumnsPart:
    """Dense data (n, d), NaN where missing, with column names: means and spreads by branch and cluster."""

    values: ArrayLike
    names: Sequence[str]


@dataclass(frozen=True)
class CountsPart:
    """Counts in compressed sparse rows over `words`: telling words by branch and cluster."""

    indptr: ArrayLike
    indices: ArrayLike
    counts: ArrayLike
    words: Sequence[str]


@dataclass(frozen=True)
class Profile:
    """One cluster in words: its label, what it stands out by as (column, text, "higher", "lower" or ""), rows worth a look."""

    cluster: int
    facts: Sequence[tuple[str, str, str]] = ()
    words: str = ""
    typical: str = ""
    doubtful: str = ""


@dataclass(frozen=True)
class ProfilesPart:
    """Every cluster in words, largest first, and how much of each column the clusters explain, most first.

    `mean` and `spread` (clusters, columns) over all rows stand in the order of `profiles` and of `names`. `shares` names the columns of
    zeros and ones.
    """

    profiles: Sequence[Profile]
    importance: Sequence[tuple[str, float]] = ()
    names: Sequence[str] = ()
    mean: ArrayLike | None = None
    spread: ArrayLike | None = None
    shares: Sequence[str] = ()


@dataclass(frozen=True)
class SimilarityPart:
    """Co-clustering probabilities averaged into `blocks` (k, k), k <= 400, cut at `edges` along `order`."""

    blocks: ArrayLike
    edges: ArrayLike
    order: ArrayLike


@dataclass(frozen=True)
class LevelPart:
    """One clustering of several of the same points: labels and doubt as in `PointsPart`, and how far halves of the rows agree on it."""

    power: float
    labels: ArrayLike
    uncertainty: ArrayLike | None = None
    profiles: ProfilesPart | None = None
    strength: float = math.nan
    spread: float = math.nan
    rhat: float = math.nan


@dataclass(frozen=True)
class LevelsPart:
    """The points from coarse to fine, which level the page opens at, and the picture of what becomes of each cluster.

    `bars`, `bands` and `colors` are those of `hedgerow.plots.flow_geometry`.
    """

    items: Sequence[LevelPart]
    shown: int
    bars: Sequence[ArrayLike]
    bands: Sequence[ArrayLike]
    colors: Sequence[ArrayLike]


@dataclass(frozen=True)
class ReportPayload:
    """Everything a report can show. Only the title and the points are needed.

    `run` is the record of the run as (name, text); `notes` are warnings to print in the headline;
    `estimate` says where the labels come from, e.g. "least expected variation of information".
    """

    title: str
    points: PointsPart
    tree: TreePart | None = None
    draws: DrawsPart | None = None
    columns: ColumnsPart | None = None
    counts: CountsPart | None = None
    similarity: SimilarityPart | None = None
    profiles: ProfilesPart | None = None
    levels: LevelsPart | None = None
    run: Mapping[str, object] = field(default_factory=dict)
    notes: Sequence[str] = ()
    estimate: str = ""

    def __post_init__(self) -> None:
        """Refuse parts whose shapes disagree; a page that silently shows the wrong row is worse than none."""
        labels = np.asarray(self.points.labels)
        n = len(labels)
        _check("labels", labels, labels.ndim == 1 and n > 0, "be a vector with at least one point")
        sizes = np.bincount(labels) if np.issubdtype(labels.dtype, np.integer) and labels.min() >= 0 else np.zeros(1)
        _check("labels", labels, bool(np.all(sizes > 0)), "be integers 0..K-1, each used")
        _check_rows("uncertainty", self.points.uncertainty, (n,))
        _check_rows("plane", self.points.plane, (n, 2))
        names = self.points.names
        _check("names", names, names is None or len(names) == n, f"name {n} points")
        if self.tree is not None:
            self._check_tree(self.tree, n)
        if self.draws is not None:
            self._check_draws(self.draws)
        if self.columns is not None:
            _check_rows("columns", self.columns.values, (n, len(self.columns.names)))
        if self.counts is not None:
            _check_rows("indptr", self.counts.indptr, (n + 1,))
            top = int(np.max(self.counts.indices, initial=-1))
            _check(
                "indices",
                top,
                top < len(self.counts.words),
                f"lie below {len(self.counts.words)}, the number of words",
            )
        if self.profiles is not None:
            told = sorted(profile.cluster for profile in self.profiles.profiles)
            _check("profiles", told, told == list(range(len(sizes))), f"describe each of the {len(sizes)} clusters once")
        if self.similarity is not None:
            k = len(np.asarray(self.similarity.edges)) - 1
            _check_rows("blocks", self.similarity.blocks, (k, k))
            _check("blocks", k, 1 <= k <= 400, "have 1 to 400 rows (average first)")
            _check_rows("order", self.similarity.order, (n,))

        if self.levels is not None:
            self._check_levels(self.levels, labels)

    def views(self) -> list[ReportPayload]:
        """The payload of every level, or this one alone."""
        if self.levels is None:
            return [self]
        return [
            replace(
                self,
                points=replace(self.points, labels=level.labels, uncertainty=level.uncertainty),
                profiles=level.profiles,
                levels=None,
            )
            for level in self.levels.items
        ]

    @staticmethod
    def _check_levels(levels: LevelsPart, labels: np.ndarray) -> None:
        count = len(levels.items)
        _check("levels", levels.shown, 0 <= levels.shown < count, f"open at one of {count} levels")
        same = np.array_equal(np.asarray(levels.items[levels.shown].labels), labels)
        _check("levels", labels, same, "have the labels of the points at the level that is shown")
        for name, wanted in (("bars", count), ("colors", count), ("bands", count - 1)):
            given = getattr(levels, name)
            _check(name, len(given), len(given) == wanted, f"be {wanted}, for {count} levels")

    @staticmethod
    def _check_tree(tree: TreePart, n: int) -> None:
        m = len(np.asarray(tree.left))
        for name in ("right", "size", "log_d", "height"):
            _check_rows(name, getattr(tree, name), (m,))
        size = np.asarray(tree.size)
        roots = np.atleast_1d(np.asarray(tree.roots))
        _check(
            "roots",
            roots,
            len(roots) > 0 and int(roots.max()) < m and int(roots.min()) >= 0,
            f"lie in 0..{m - 1}",
        )
        below = int(size[roots].sum())
        _check("roots", below, below == n, f"stand over all {n} points")

    @staticmethod
    def _check_draws(draws: DrawsPart) -> None:
        shape = np.asarray(draws.n_clusters).shape
        _check("n_clusters", shape, len(shape) == 2 and min(shape) > 0, "have shape (chain, draw)")
        for name, values in {**draws.quantities, "large": draws.large}.items():
            _check_rows(name, values, shape)


def _check(name: str, value: object, condition: bool, requirement: str) -> None:
    require(condition, "ReportPayload", name, value, requirement)


def _check_rows(name: str, values: ArrayLike | None, shape: tuple[int, ...]) -> None:
    if values is not None:
        array = np.asarray(values)
        _check(name, array, array.shape == shape, f"have shape {shape}")
