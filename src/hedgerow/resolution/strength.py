"""How real clusters are: whether clusters found in one half of the rows are those of all rows, on rows that the half has not seen.

Prediction strength (Tibshirani & Walther, JCGS 2005): clusters of one half of the rows classify the rows of the other, and pairs that
are together are counted. Of a row in a cluster of m rows,

    kept = share of the other m - 1 rows that the other labelling puts with it, 0 for a row alone in its cluster,

since nobody confirms a cluster of one row. The mean over rows of what the half's clusters keep of the level's says whether these hold
together; the mean of what the level's keep of the half's, whether they are apart. The strength is the lesser of the two. The weakest
cluster is theirs: the least mean over the rows of one cluster of the level, of those with at least 2% of the rows.

Either half begins at the clusters of the whole and is then sampled on its own rows alone, so the strength says whether clusters stay,
not whether a search from nothing would find them. A level of power p is worth a = p n / (1 - p) rows of evidence (Miller & Dunson
2019); m rows are worth as much at the power a / (a + m).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Rows", "agreement", "half_power", "split_rows"]

Rows = npt.NDArray[np.intp]
TINY = 0.02  # of the rows: smaller clusters are not asked for the weakest


def agreement(own: npt.NDArray[np.int32], other: npt.NDArray[np.int32]) -> tuple[float, float]:
    """Strength of the clusters `own` (n,) against another labelling of the same rows, and that of the weakest of them."""
    n, width = len(own), int(other.max()) + 1
    table = np.bincount(own.astype(np.int64) * width + other, minlength=(int(own.max()) + 1) * width).reshape(-1, width)
    sizes, kept = _kept(table)
    sizes_back, kept_back = _kept(table.T)
    asked = sizes >= max(TINY * n, 2)
    strength = min(float(sizes @ kept), float(sizes_back @ kept_back)) / n
    return strength, float(kept[asked].min()) if asked.any() else 0.0


def _kept(table: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Size of every row of a table of counts, and the share of its pairs that stay together."""
    sizes = table.sum(axis=1)
    return sizes, (table * (table - 1)).sum(axis=1) / np.maximum(sizes * (sizes - 1), 1)


def half_power(power: float, rows: int, n: int) -> float:
    """The power at which `rows` of n are worth what all of them are worth at `power`."""
    return 1.0 if power >= 1 else power * n / (power * n + (1.0 - power) * rows)


def split_rows(n: int, splits: int, max_rows: int, seed: int, groups: npt.NDArray[np.int32] | None) -> list[tuple[Rows, Rows]]:
    """Random halves of the rows, or of so many of them; every group has rows in both halves, one with a single row in neither."""
    halves = []
    for split in range(splits):
        order = np.random.default_rng([seed, split]).permutation(n)[: min(n, max_rows)]
        side = np.arange(order.size) % 2
        if groups is not None:
            order = order[np.argsort(groups[order], kind="stable")]
            _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
            place = np.arange(order.size) - np.repeat(starts, sizes)
            side = np.where(np.repeat(sizes, sizes) > 1, place % 2, 2)
        halves.append((np.sort(order[side == 0]), np.sort(order[side == 1])))
    return halves
