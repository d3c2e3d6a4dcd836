"""Profiles: what each cluster stands out by, in words and in the units of the columns.

A column stands out in a cluster by z = (mean in the cluster - mean of the other rows) / standard deviation of all rows; words of
documents by their share of the Kullback-Leibler divergence from all documents. A column separates clusters as far as the partition
explains it:

    importance = sum over clusters of size x (mean - overall mean)^2 / sum over rows of (x - overall mean)^2        (0 to 1)
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from hedgerow.arguments import check_names, check_whole, is_whole, numbers_of
from hedgerow.errors import require
from hedgerow.numerals import mean_and_spread, percent
from hedgerow.summaries.clusters import Array, stability, table_of, uncertainty
from hedgerow.summaries.moments import CountMoments, Moments, falling, moments_of
from hedgerow.summaries.partitions import Labels, as_partition
from hedgerow.summaries.table import Table
from hedgerow.writing import write_text

__all__ = ["Fact", "Profiles", "described", "least_sure", "nearest", "profiles", "profiles_of"]

LEAST = 0.5  # standard deviations that a column must stand out by to be spoken of
MOST_FACTS = 6  # kept for a cluster; its name is made of the first few


@dataclass(frozen=True)
class Fact:
    """One thing that a cluster stands out by: the column, what it holds there, and where that lies ("higher", "lower" or "")."""

    column: str
    text: str
    direction: str = ""

    def __str__(self) -> str:
        return f"{self.text}, {self.direction}" if self.direction else self.text


def described(name: str, mean: float, spread: float, is_share: bool = False) -> str:
    """A column of zeros and ones as a share, any other by mean and standard deviation, with as many digits as the spread deserves.

    >>> described("sex=male", 0.0, 0.0, is_share=True), described("bill_length_mm", 37.214, 2.04)
    ('sex=male 0%', 'bill_length_mm 37.2 ± 2.0')
    """
    if is_share and not math.isnan(mean):
        return f"{name} {percent(mean)}"
    return f"{name} {mean_and_spread(mean, spread)}"


@dataclass(frozen=True, eq=False)
class Profiles:
    """Clusters in words, largest first. Print it, ask for `to_pandas()`, or read `clusters` and `columns`.

    Attributes
    ----------
    clusters : Table
        One row a cluster: cluster, name, size, share, stability, typical (the row nearest to its middle), doubtful (the row least sure
        of its place), mean and spread of every column.
    columns : Table
        One row a column, the most telling first: column, importance (the share of its variance that the clusters explain, 0 to 1).
    facts : tuple of tuples of Fact
        For every row of `clusters` what it stands out by, most of all first; its name is made of the first few. Empty for words.

    >>> X = np.array([[1.0, 0.0], [1.2, 1.0], [9.0, 0.0], [9.2, 1.0]])
    >>> found = profiles(X, [0, 0, 1, 1], names=["height", "male"])
    >>> found.compare(0, 1)["column"].tolist(), len(found.to_pandas())
    (['height', 'male'], 2)
    >>> import tempfile
    >>> found.to_csv(tempfile.mkdtemp() + "/profiles.csv")
    """

    clusters: Table
    columns: Table
    facts: tuple[tuple[Fact, ...], ...] = ()
    _names: tuple[str, ...] | None = None
    _shares: tuple[bool, ...] = ()

    @property
    def shares(self) -> tuple[str, ...]:
        """Names of the columns of zeros and ones, of which the mean is a share."""
        return tuple(name for name, is_share in zip(self._names or (), self._shares, strict=True) if is_share)

    def compare(self, a: int, b: int) -> Table:
        """Two clusters side by side: every column's mean and spread in both, and how far apart, the most telling first.

        Parameters
        ----------
        a, b : int
            Labels of clusters, as in the column `cluster`.

        Returns
        -------
        Table
            column, cluster a, cluster b, apart (difference of the means in standard deviations within the two).
        """
        require(self._names is not None, "Profiles", "compare", (a, b), "be asked of measurements and levels, not of words")
        names = self._names or ()
        known = self.clusters["cluster"].tolist()
        for name, label in (("a", a), ("b", b)):
            require(is_whole(label) and label in known, "Profiles.compare", name, label, f"be one of the {len(known)} clusters")
        i, j = known.index(a), known.index(b)
        mean, spread = self.clusters["mean"], self.clusters["spread"]
        within = np.sqrt((spread[i] ** 2 + spread[j] ** 2) / 2)
        apart = np.abs(mean[i] - mean[j]) / np.where(within > 0, within, 1.0)
        order = falling(np.nan_to_num(apart))
        told = [[described("", mean[k, c], spread[k, c], self._shares[c]).lstrip() for c in order] for k in (i, j)]
        columns = {"column": [names[c] for c in order], f"cluster {a}": told[0], f"cluster {b}": told[1], "apart": apart[order]}
        return Table(columns, title=f"clusters {a} and {b}")

    def to_pandas(self) -> Any:
        """`clusters` as a pandas DataFrame, mean and spread of each column as a column of its own.

        Returns
        -------
        pandas.DataFrame
        """
        return self.clusters.to_pandas()

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the same columns to a file, whole or not at all.

        Parameters
        ----------
        path : path
        """
        columns = self.clusters.flat()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
        write_text(path, text.getvalue(), "to_csv")

    def _shown(self) -> Table:
        wanted = ("cluster", "size", "share", "stability", "name")
        return Table({name: self.clusters[name] for name in wanted if name in self.clusters}, title=self.clusters.title)

    def __str__(self) -> str:
        return str(self._shown())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._shown()._repr_html_()


def profiles(
    X: Any,
    partition: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    top: int = 3,
) -> Profiles:
    """What the clusters of a partition stand out by.

    Parameters
    ----------
    X : (n, columns) numbers, NaN where missing, or sparse counts
    partition : (n,) labels
    labels : (..., n) draws, optional
        For stability and the doubtful rows.
    names, rows : sequences of str, optional
        Names of columns and of rows; positions stand in.
    top : int, default 3
        How many columns or words make a name.

    Returns
    -------
    Profiles

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [1.2, 1.0], [9.0, 0.0], [9.2, 1.0]])
    >>> profiles(X, [0, 0, 1, 1], names=["height", "sex=male"]).clusters["name"].tolist()
    ['height 1.10 ± 0.10, lower', 'height 9.10 ± 0.10, higher']
    """
    counted = issparse(X)
    data: Any = csr_array(X) if counted else numbers_of("profiles", "X", X)
    require(data.ndim == 2, "profiles", "X", X, "have the shape (n, columns)")
    check_whole("profiles", "top", top, 0)
    own = as_partition(partition, "profiles", "partition", int(data.shape[0]))
    k = int(own.max()) + 1
    moments = moments_of(data, own, k)
    middle = None if isinstance(moments, CountMoments) else moments.shown()
    typical = None if middle is None else nearest(data, own, *middle)[0]
    firm = doubtful = None
    if labels is not None:
        firm, probability = stability(labels, own), uncertainty(labels, own).probability
        doubtful = least_sure(own, probability)
    check_names("profiles", "rows", rows, len(own), "rows")
    return profiles_of(moments, firm, typical, doubtful, names=names, rows=rows, top=top)


def profiles_of(
    moments: Moments | CountMoments,
    firm: Array | None,
    typical: npt.NDArray[np.intp] | None,
    doubtful: npt.NDArray[np.intp] | None,
    *,
    names: Sequence[str] | None,
    rows: Sequence[str] | None,
    top: int,
) -> Profiles:
    """Profiles from moments, however these came about; by cluster its stability, its typical and its doubtful row."""
    table = table_of(moments, firm, names=names, top=max(top, 1))
    words = table.parts.get("mean")
    width = moments.mean.shape[1] if isinstance(moments, Moments) else moments.counts.shape[1]
    heads = [str(name) for name in names] if names is not None else [f"x{j}" for j in range(width)]
    importance = _explained(moments) if isinstance(moments, Moments) else _explained_counts(moments)
    order = falling(importance)
    title = "how much of each column's variance the clusters explain"
    told = Table({"column": [heads[j] for j in order], "importance": importance[order]}, title=title)
    facts = _facts(moments, table, heads, max(top, MOST_FACTS)) if isinstance(moments, Moments) else ()
    told_by = ["; ".join(str(fact) for fact in most[:top]) or "nothing stands out" for most in facts]
    named = table["top"] if words is None else np.array(told_by)
    out: dict[str, Any] = {"cluster": table["cluster"], "name": named}
    out |= {part: table[part] for part in ("size", "share", "stability") if part in table}
    for what, which in (("typical", typical), ("doubtful", doubtful)):
        if which is not None:
            found = [int(which[cluster]) for cluster in table["cluster"]]
            out[what] = np.array([str(row if rows is None else rows[row]) for row in found])
    out |= {"mean": table["mean"], "spread": table["spread"]}
    shown = Table(out, title=table.title, parts=table.parts)
    if not isinstance(moments, Moments):
        return Profiles(shown, told, facts)
    return Profiles(shown, told, facts, tuple(heads), tuple(moments.are_shares().tolist()))


def least_sure(own: Labels, probability: Array) -> npt.NDArray[np.intp]:
    """Of every cluster the row that is least sure of its place; the first of equals."""
    order = np.lexsort((probability, own))
    return order[np.searchsorted(own[order], np.arange(int(own.max()) + 1))]


def nearest(X: Array, own: Labels, mean: Array, spread: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """The row of each cluster that is nearest to its mean, columns in units of their spread there, and how near; -1 of none."""
    scale = np.where(spread > 0, spread, 1.0)
    away = np.empty(len(own))
    step = max(1, (1 << 22) // X.shape[1])
    for at in range(0, len(own), step):
        part = slice(at, at + step)
        gap = (X[part] - mean[own[part]]) / scale[own[part]]
        away[part] = np.where(np.isnan(gap), 1.0, gap**2).sum(axis=1)  # what is missing is as far off as most entries are
    order = np.lexsort((np.round(away, 9), own))  # the first of equals, however a mean was added up
    k = len(mean)
    first = np.searchsorted(own[order], np.arange(k))
    there = np.bincount(own, minlength=k) > 0
    found = np.where(there, order[np.minimum(first, len(own) - 1)], -1)
    return found, np.where(there, np.round(away[found], 9), np.inf)


def _facts(moments: Moments, table: Table, heads: list[str], most: int) -> tuple[tuple[Fact, ...], ...]:
    """For each cluster the columns that stand out most from the other rows, with direction."""
    count, centre, m2 = moments.whole()
    total, scale = count * centre, np.sqrt(m2 / np.maximum(count, 1))
    is_share = moments.are_shares()
    facts = []
    for row, k in enumerate(table["cluster"]):
        here = moments.count[k]
        rest = (total - here * moments.mean[k]) / np.maximum(count - here, 1)
        z = np.nan_to_num((table["mean"][row] - rest) / np.where(scale > 0, scale, 1.0))
        z[(scale == 0) | (count == here)] = 0.0
        chosen = [j for j in falling(np.abs(z))[:most] if abs(z[j]) >= LEAST]
        spread = np.where(here > 1, table["spread"][row], np.nan)  # a single row has none
        facts.append(tuple(_fact(heads[j], table["mean"][row, j], spread[j], z[j], is_share[j]) for j in chosen))
    return tuple(facts)


def _fact(name: str, mean: float, spread: float, z: float, is_share: bool) -> Fact:
    """A column in words; a share needs no direction."""
    return Fact(name, described(name, mean, spread, is_share), "" if is_share else "higher" if z > 0 else "lower")


def _explained(moments: Moments) -> Array:
    """The share of each column's variance that lies between the clusters."""
    _, centre, total = moments.whole()
    between = (moments.count * (moments.mean - centre) ** 2).sum(axis=0)
    return np.asarray(np.divide(between, total, out=np.zeros_like(total), where=total > 0))


def _explained_counts(moments: CountMoments) -> Array:
    """The same for the shares that words have of their documents."""
    sizes = moments.totals.sizes[:, None]
    n = int(sizes.sum())
    mean = moments.shares.sum(axis=0) / n
    between = (sizes * (moments.shares / np.maximum(sizes, 1) - mean) ** 2).sum(axis=0)
    total = moments.squares.sum(axis=0) - n * mean**2
    return np.asarray(np.divide(between, total, out=np.zeros_like(total), where=total > 1e-300))
