"""Levels as tables: one row a level, and one row for each pair of clusters of neighbouring levels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hedgerow.resolution.ladder import Ladder
from hedgerow.resolution.level import Level, flow_counts
from hedgerow.summaries.table import Table

__all__ = ["flow_table", "summary_table"]


def summary_table(levels: Sequence[Level], ladder: Ladder | None, notes: Sequence[str]) -> Table:
    """One row a level, from coarse to fine; how many rows were halved and the notes go below."""
    columns: dict[str, Any] = {
        "power": [level.power for level in levels],
        "clusters": [level.n_clusters for level in levels],
        "small": [level.n_small for level in levels],
        "strength": [level.strength for level in levels],
        "spread": [level.spread for level in levels],
        "weakest": [float(level.weakest.mean()) if level.weakest.size else float("nan") for level in levels],
        "rhat": [level.rhat for level in levels],
    }
    note = "small: clusters with less than 1% of the rows. strength: how far clusters of one half of the rows foretell those of the "
    note += "other, 0 for chance. Powers below 1 are no posterior."
    note = " ".join(part for part in (note, _halved(ladder), *notes) if part)
    places = dict.fromkeys(("strength", "spread", "weakest", "rhat"), 2)
    return Table(columns, title="levels from coarse to fine", note=note, decimals=places)


def _halved(ladder: Ladder | None) -> str:
    if ladder is None or ladder.rows_halved in (0, ladder.n):
        return ""
    return f"Halves were taken of {ladder.rows_halved:,} of {ladder.n:,} rows."


def flow_table(levels: Sequence[Level]) -> Table:
    """Which cluster parts into which, by the rows that they share."""
    rows: list[tuple[float, ...]] = []
    for coarse, fine in pairwise(levels):
        counts = flow_counts(coarse.labels, fine.labels)
        across, down = counts.sum(axis=1), counts.sum(axis=0)
        for a, b in zip(*np.nonzero(counts), strict=True):
            shared = int(counts[a, b])
            rows.append((coarse.power, int(a), fine.power, int(b), shared, shared / across[a], shared / down[b]))
    names = ("power", "cluster", "finer_power", "finer_cluster", "rows", "share", "finer_share")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return Table(dict(zip(names, columns, strict=True)), title="which cluster parts into which, from coarse to fine")
