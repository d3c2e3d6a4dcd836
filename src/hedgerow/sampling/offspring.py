"""Offspring: a partition made of the clusters of two others.

Two ways. `crossed` pairs clusters that are each other's nearest, takes one of each pair by chance and every second of the others.
`grafted` puts one cluster of the second partition into the first. Rows that two of the chosen clusters claim go to either; rows that
none claims go where most of those they were with before have gone. What comes of it is for a chain to mend.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hedgerow.data.views import canonical

__all__ = ["crossed", "distance", "grafted"]

Labels = npt.NDArray[np.int32]

ALIKE = 0.2  # rows that two clusters share over rows of either, from which they are taken for one another


def crossed(a: Labels, b: Labels, rng: np.random.Generator) -> Labels:
    """Clusters of both, of those that are alike one of the two.

    Parameters
    ----------
    a, b : (n,)
        Canonical labels.
    rng : Generator

    Returns
    -------
    (n,)

    >>> one, two = np.array([0, 0, 1, 1, 2, 2], np.int32), np.array([0, 0, 1, 1, 1, 1], np.int32)
    >>> sorted({tuple(crossed(one, two, np.random.default_rng(seed)).tolist()) for seed in range(20)})
    [(0, 0, 1, 1, 1, 1), (0, 0, 1, 1, 2, 2)]
    """
    in_a, in_b, shared = _overlaps(a, b)
    size_a, size_b = np.bincount(a), np.bincount(b)
    alike = shared / (size_a[in_a] + size_b[in_b] - shared)
    best_a, best_b = _highest(in_a, alike, len(size_a)), _highest(in_b, alike, len(size_b))
    mates = (best_a[in_a] == best_b[in_b]) & (best_a[in_a] == np.arange(len(alike))) & (alike > ALIKE)
    from_a, from_b = rng.random(len(size_a)) < 0.5, rng.random(len(size_b)) < 0.5
    from_b[in_b[mates]] = ~from_a[in_a[mates]]
    rank = rng.permutation(len(size_a) + len(size_b))  # the higher has the rows that both claim
    claim_a = np.where(from_a, rank[: len(size_a)], -1)[a]
    claim_b = np.where(from_b, rank[len(size_a) :], -1)[b]
    return _rest_with_mates(np.maximum(claim_a, claim_b), a if rng.random() < 0.5 else b)


def grafted(a: Labels, b: Labels, rng: np.random.Generator) -> Labels:
    """The first with one cluster of the second, that of a row by chance; what it leaves of those that it mostly took goes as in `b`.

    Parameters
    ----------
    a, b : (n,)
        Canonical labels.
    rng : Generator

    Returns
    -------
    (n,)

    >>> one, two = np.array([0, 0, 1, 1, 2, 2], np.int32), np.array([0, 0, 1, 1, 1, 1], np.int32)
    >>> sorted({tuple(grafted(one, two, np.random.default_rng(seed)).tolist()) for seed in range(20)})
    [(0, 0, 1, 1, 1, 1), (0, 0, 1, 1, 2, 2)]
    """
    taken = b == b[rng.integers(len(b))]
    sizes = np.bincount(a)
    eaten = 2 * np.bincount(a[taken], minlength=len(sizes)) > sizes
    new = np.where(eaten[a], -1, a)
    new[taken] = len(sizes)
    return _rest_with_mates(new, b)


def distance(a: Labels, b: Labels) -> int:
    """Ordered pairs of rows that are together in one partition and apart in the other.

    Parameters
    ----------
    a, b : (n,)

    Returns
    -------
    int

    >>> distance(np.array([0, 0, 1], np.int32), np.array([0, 0, 0], np.int32))
    4
    """
    together = sum(int((np.bincount(one).astype(np.int64) ** 2).sum()) for one in (a, b))
    return together - 2 * int((_overlaps(a, b)[2] ** 2).sum())


def _overlaps(a: Labels, b: Labels) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Pairs of clusters that share rows, and how many."""
    width = int(b.max()) + 1
    pairs, shared = np.unique(a.astype(np.int64) * width + b, return_counts=True)
    return pairs // width, pairs % width, shared


def _highest(group: npt.NDArray[np.int64], values: npt.NDArray[np.float64], groups: int) -> npt.NDArray[np.int64]:
    """For every group the place of its highest value."""
    places = np.empty(groups, np.int64)
    order = np.argsort(values, kind="stable")
    places[group[order]] = order
    return places


def _rest_with_mates(new: npt.NDArray[np.int64], old: Labels) -> Labels:
    """Rows below 0 join those that most of their old cluster are with, or stay together where all of it is left."""
    left = np.flatnonzero(new < 0)
    if len(left):
        most = int(new.max()) + 1
        target = most + np.arange(int(old.max()) + 1, dtype=np.int64)
        placed = new >= 0
        if placed.any():
            names, codes = np.unique(new[placed], return_inverse=True)
            in_old, in_new, shared = _overlaps(old[placed], codes.astype(np.int32))
            place = _highest(in_old, shared.astype(np.float64), len(target))
            seen = np.unique(in_old)
            target[seen] = names[in_new[place[seen]]]
        new = new.astype(np.int64)
        new[left] = target[old[left]]
    return canonical(np.unique(new, return_inverse=True)[1].astype(np.int32))
