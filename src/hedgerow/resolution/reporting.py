"""Levels to report: one page with every level, the flow between them, and a tree that all of them share.

The tree is average linkage on the share of draws, all levels counted alike, in which two rows are apart: rows that even fine levels
keep together join first, what only coarse ones join stands high. Beyond 5,000 rows, where all pairs are too many, it is grown under the
model of the level that the page opens at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from hedgerow import plots
from hedgerow.arguments import real_number
from hedgerow.errors import require
from hedgerow.posterior.columns import shown_columns
from hedgerow.posterior.reporting import BLOCKS, LARGEST_TREE, described, doubt, posterior_tree, run_record, tree_of
from hedgerow.report.payload import ColumnsPart, CountsPart, LevelPart, LevelsPart, ReportPayload, SimilarityPart
from hedgerow.resolution.level import Level
from hedgerow.summaries.coclustering import similarity
from hedgerow.trees.reporting import place_points

__all__ = ["opened_at", "payload_of"]

FEW = 12  # clusters that a person can take in at once


def opened_at(levels: Sequence[Level], strength: float) -> int:
    """The level that a page opens at: the finest that halves agree on, else the finest with few clusters; never a wall of colours."""
    require(0 <= real_number(strength) <= 1, "levels", "strength", strength, "be a number from 0 to 1")
    agreed = [at for at, level in enumerate(levels) if level.strength >= strength]
    few = [at for at, level in enumerate(levels) if level.n_clusters - level.n_small <= FEW]
    return (agreed or few or [0])[-1]


def payload_of(
    levels: Sequence[Level],
    notes: Sequence[str],
    *,
    title: str,
    names: Sequence[str] | None,
    rows: Sequence[str] | None,
    strength: float,
) -> ReportPayload:
    """Everything that a page on levels shows."""
    at = opened_at(levels, strength)
    draws = levels[at].posterior
    X, columns = shown_columns(draws, names)
    counted = sparse.issparse(X)
    whole = None
    if draws.n <= LARGEST_TREE:
        whole = sum((similarity(level.posterior.labels).astype(np.float64) for level in levels), np.zeros((draws.n, draws.n))) / len(
            levels
        )
    tree = posterior_tree(draws) if whole is None else tree_of(whole, X)
    order = None if tree is None or whole is None else np.asarray(plots.leaf_order(tree.left, tree.right, tree.roots))
    if whole is not None and tree is not None:
        tree = replace(tree, join="share of draws together")
    items = []
    for level in levels:
        told = described(X, level.posterior, level.labels, columns, rows)
        measured = (level.strength, level.spread, level.rhat)
        items.append(LevelPart(level.power, level.labels, doubt(level.posterior, level.labels), told, *measured))
    geometry = plots.flow_geometry([level.labels for level in levels])
    record = run_record(draws, draws.X.shape)
    record["power"] = ", ".join(f"{level.power:.3g}" for level in levels) + " (1 is the posterior)"
    return ReportPayload(
        title,
        place_points(items[at].labels, items[at].uncertainty, X, columns, rows),
        tree=tree,
        columns=None if counted else ColumnsPart(X, columns),
        counts=CountsPart(X.indptr, X.indices, X.data, columns) if counted else None,
        similarity=None if whole is None or order is None else SimilarityPart(*plots.block_means(whole, order, BLOCKS), order),
        profiles=items[at].profiles,
        levels=LevelsPart(items, at, geometry.bars, geometry.bands, geometry.colors),
        run=record,
        notes=list(notes),
    )
