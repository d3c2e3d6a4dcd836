"""How real clusters are: whether clusters found in one half of the rows are those of all rows, on rows that the half has not seen.

Prediction strength (Tibshirani & Walther, JCGS 2005): clusters of one half of the rows classify the rows of the other, and pairs that
are together are counted. Two things differ here from a count of pairs that stay together.

*By probability.* With many rows any cut comes out the same in both halves, also one through the middle of a single blob, so that
agreement of hard labels says nothing about it. So an unseen row i is in cluster c of the half with its probability P[i, c], from the
sizes and densities of those clusters. Pieces of one blob overlap, and rows do not know where they belong: two normal clusters of
equal size reach 0.8 where their means are 3.3 standard deviations apart.

*Beyond chance.* A cluster with nearly all rows keeps nearly all its pairs whatever the rest does. So pairs are counted as the adjusted
Rand index counts them (Hubert & Arabie 1985): with A pairs together in the level, B in the half, J in both, of M in all,

    strength = (J - A B / M) / ((A + B) / 2 - A B / M),    B = sum_{i<j} sum_c P[i, c] P[j, c],

1 for halves that agree and 0 for chance. Pairs weigh a cluster by the square of its size, and hardly see those of a few per cent
beside one with nearly all rows. So the clusters are asked one by one as well, each as much as the other: the share of its pairs that
a cluster keeps together in the half, averaged over clusters with at least 2% of the rows, is the strength where that is less. A level
with one cluster divides nothing that could be due to chance: its strength is B / M, the share of pairs that the half keeps together.

Tibshirani & Walther take the least share over clusters; that is told as the weakest.

Either half begins at the clusters of the whole and is then sampled on its own rows alone, so the strength says whether clusters stay,
not whether a search from nothing would find them. Tibshirani & Walther compare halves at the same number of clusters; here a half is to
be as fine as the level, with fineness = exp(entropy of the shares of rows), which hardly counts splinters. Where clusters have many
rows for few parameters, evidence and the prior's price of a label both grow with the rows, and a half is as fine at the same power.
Where they have few for many (the words of documents), it is so at the power where it is worth as much: a level of power p is worth
a = p n / (1 - p) rows of evidence (Miller & Dunson 2019), and m rows are worth that at a / (a + m). In a small
table half of the rows may not do for what all of them show; its strength is then low.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Rows", "agreement", "fineness", "half_power", "split_rows"]

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
TINY = 0.02  # of the rows: smaller clusters are not asked one by one
ROUNDING = 1e-12  # of all pairs: both have every row by itself


def agreement(own: npt.NDArray[np.int32], shares: FloatArray) -> tuple[float, float]:
    """Strength of the clusters `own` (n,) against probabilities (n, K) of another's clusters, and what the weakest of them keeps."""
    n, k = len(own), int(own.max()) + 1
    if n < 2:
        return 1.0, 1.0
    table = np.zeros((k, shares.shape[1]))
    np.add.at(table, own, shares)
    squares = (shares**2).sum(axis=1)
    same = (table**2).sum(axis=1) - np.bincount(own, weights=squares, minlength=k)  # ordered pairs, as all below
    sizes = np.bincount(own, minlength=k).astype(np.float64)
    pairs = sizes * (sizes - 1)
    total, mine = float(n) * (n - 1), float(pairs.sum())
    theirs = float((table.sum(axis=0) ** 2).sum() - squares.sum())
    kept = np.divide(same, pairs, out=np.zeros(k), where=pairs > 0)
    asked = sizes >= max(TINY * n, 2)
    weakest = float(kept[asked].min()) if asked.any() else 0.0
    if mine == total:
        return theirs / total, weakest
    chance = mine * theirs / total
    room = (mine + theirs) / 2 - chance
    beyond = (float(same.sum()) - chance) / room if room > ROUNDING * total else 1.0
    return min(beyond, float(kept[asked].mean())) if asked.any() else beyond, weakest


def fineness(labels: npt.NDArray[np.int32]) -> float:
    """How many clusters of equal size divide the rows as much: exp(entropy)."""
    shares = np.bincount(labels) / len(labels)
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))


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
