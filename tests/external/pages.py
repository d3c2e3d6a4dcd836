"""What the pages are made of that the browser looks at."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import linkage

from hedgerow import plots
from hedgerow.report.payload import (
    ColumnsPart,
    DrawsPart,
    LevelPart,
    LevelsPart,
    PointsPart,
    Profile,
    ProfilesPart,
    ReportPayload,
    SimilarityPart,
    TreePart,
)

ATTACK = "</script><script>window.attacked = true</script><img src=x onerror='window.attacked = true'>"
N = 240


def payload(names: list[str] | None = None, offset: float = 0.0) -> ReportPayload:
    """Six blobs under a forest of several roots, every part filled."""
    rng = np.random.default_rng(1)
    z = np.concatenate([np.arange(6), rng.integers(6, size=N - 6)])
    angle = 2 * np.pi * z / 6
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.08 * rng.normal(size=(N, 2))
    Z = linkage(X, "average")
    X = X + offset
    leaf = np.full(N, -1)
    left, right = (np.concatenate([leaf, Z[:, side].astype(int)]) for side in (0, 1))
    size = np.concatenate([np.ones(N, dtype=int), Z[:, 3].astype(int)])
    log_d = np.concatenate([np.full(N, -np.inf), 20 * (Z[:, 2] - 0.5)])
    roots = plots.cut_clusters(left, right, [2 * N - 2], log_d)  # an incremental forest: cut where d > 1
    scale = plots.tree_heights(left, right, roots, size, log_d)
    order = plots.leaf_order(left, right, roots)
    similarity = 0.95 * np.equal.outer(z, z) + 0.02
    k = 6 + rng.poisson(0.4, size=(4, 300))
    heads = ["length", "width"] if names is None else [ATTACK, ATTACK]
    mean, spread = (np.array([part(X[z == c], axis=0) for c in range(6)]) for part in (np.mean, np.std))
    words = [[(head, f"{head} {mean[c, j]:.1f}", "higher") for j, head in enumerate(heads)] for c in range(6)]
    told = [Profile(c, words[c], typical="row 1" if names is None else ATTACK) for c in range(6)]
    quantities = {"log joint": rng.normal(size=(4, 300)), "number of clusters": k.astype(float)}
    return ReportPayload(
        "Six blobs" if names is None else ATTACK,
        PointsPart(z, 0.3 * rng.random(N), names, X, ("length", "width")),
        tree=TreePart(left, right, roots, size, log_d, scale.height, scale.cut, scale.ticks),
        draws=DrawsPart(k, quantities, dict.fromkeys(quantities, 1.001), dict.fromkeys(quantities, 900.0)),
        columns=ColumnsPart(X, heads),
        profiles=ProfilesPart(told, [(head, 0.5) for head in heads], heads, mean, spread),
        similarity=SimilarityPart(*plots.block_means(similarity, order, 100), order),
        run={"seed": 1},
    )


def from_coarse_to_fine() -> ReportPayload:
    """The blobs as one cluster, as two and as six; the page opens at two."""
    whole = payload()
    fine = np.asarray(whole.points.labels)
    levels = [np.zeros_like(fine), (fine >= 3).astype(int), fine]
    geometry = plots.flow_geometry(levels)
    told = [ProfilesPart([Profile(c) for c in range(k)]) for k in (1, 2, 6)]
    items = [LevelPart(0.1 * (at + 1), levels[at], None, told[at], 1.0 - 0.3 * at, 0.01, 1.0) for at in range(3)]
    points = PointsPart(levels[1], None, None, whole.points.plane, whole.points.axes)
    part = LevelsPart(items, 1, geometry.bars, geometry.bands, geometry.colors)
    return ReportPayload(
        "From coarse to fine",
        points,
        tree=whole.tree,
        columns=whole.columns,
        profiles=told[1],
        similarity=whole.similarity,
        levels=part,
    )


def of_many_clusters(k: int = 150) -> ReportPayload:
    """So many that few of them have room for a colour; of the first five columns, the first two clusters differ in one."""
    rng = np.random.default_rng(2)
    z = np.repeat(np.arange(k), 3)
    X = 10 * rng.random(size=(k, 5))[z] + 0.01 * rng.normal(size=(3 * k, 5))
    X[:6, 1:] = 0.0
    Z = linkage(X, "average")
    leaf = np.full(3 * k, -1)
    left, right = (np.concatenate([leaf, Z[:, side].astype(int)]) for side in (0, 1))
    size = np.concatenate([np.ones(3 * k, dtype=int), Z[:, 3].astype(int)])
    log_d = np.concatenate([np.full(3 * k, -np.inf), 20 * (Z[:, 2] - 0.1)])
    roots = plots.cut_clusters(left, right, [6 * k - 2], log_d)
    scale = plots.tree_heights(left, right, roots, size, log_d)
    order = plots.leaf_order(left, right, roots)
    X[:, 4] = z == 0
    heads = ["a_rather_long_name_of_a_column_that_may_break", "b", "c", "d", "sea=Black"]
    mean, spread = (np.array([part(X[z == c], axis=0) for c in range(k)]) for part in (np.mean, np.std))
    return ReportPayload(
        "Many clusters",
        PointsPart(z, np.zeros(3 * k), None, X[:, :2], ("a", "b")),
        tree=TreePart(left, right, roots, size, log_d, scale.height, scale.cut, scale.ticks),
        columns=ColumnsPart(X, heads),
        profiles=ProfilesPart([Profile(c) for c in range(k)], [(head, 0.999) for head in heads], heads, mean, spread),
        similarity=SimilarityPart(*plots.block_means(np.equal.outer(z, z).astype(float), order, 100), order),
    )
