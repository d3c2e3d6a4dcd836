"""propose(): a model for a table that lies in shards, by the rules of `hedgerow.propose`.

Those rules look at a table of some ten thousand rows at the most, so a random sample stands for all. What a sample could miss is
looked for in every shard: of each column the least and the largest number, a number that is not whole, and every level of its texts.
The first row that has one of these goes with the sample, so that levels are those of all shards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.arguments import check_seed
from hedgerow.data.files import Dataset
from hedgerow.data.frame import Frame, Series
from hedgerow.data.kinds import understand
from hedgerow.data.kinds.raw import raw_columns
from hedgerow.data.tables import feature_names, stack_rows, take_rows
from hedgerow.distributed.sampler import sample
from hedgerow.distributed.sources import Source, at_sources, read_sources
from hedgerow.distributed.workers import open_workers
from hedgerow.errors import ParameterError, require
from hedgerow.posterior import DistributedPosterior
from hedgerow.priors import Prior
from hedgerow.proposing import Proposal
from hedgerow.proposing import propose as propose_here

__all__ = ["DistributedProposal", "propose"]

OWNER = "distributed.propose"
_SAMPLE = 20_000
"""Rows that the rules see, beside those that tell of a column."""
_LEVELS = 200
"""Different texts of a column that are looked for in a shard: with more it is no list of levels."""


@dataclass(frozen=True, repr=False, kw_only=True)
class DistributedProposal(Proposal):
    """A proposal for a table in shards: `sample` draws from it with `hedgerow.distributed.sample`.

    Parameters
    ----------
    likelihood, reasons, X, reading, mixture, apart, aside, shared :
        As of `hedgerow.Proposal`; X is the sample that was looked at.
    copies : None
        Rows in shards count each, also those that are exact copies of others.
    shards :
        Where all rows are.
    client : distributed.Client, optional
    rows : int
        All rows.

    >>> import hedgerow as hr
    >>> X = hr.data.iris().X
    >>> post = hr.distributed.propose([X[:70], X[70:]]).sample(draws=5, warmup=5, seed=0)
    >>> post.n
    150
    """

    shards: Any = field(compare=False)
    client: Any = field(default=None, compare=False)
    rows: int = 0

    def sample(self, **options: Any) -> DistributedPosterior:  # type: ignore[override]
        """`hedgerow.distributed.sample` of this model and table. New rows may come as the table came.

        Parameters
        ----------
        **options
            Passed on.

        Returns
        -------
        DistributedPosterior
        """
        return sample(self.mixture, self.shards, reading=self.reading, client=self.client, **options)


def propose(
    shards: Any, columns: Mapping[Any, str] | None = None, *, prior: Prior | None = None, client: Any = None, seed: int = 0
) -> DistributedProposal:
    """Propose a model for a table in shards, and say why.

    Parameters
    ----------
    shards :
        As in `distributed.sample`; the columns may be of any kind, and hold texts and gaps.
    columns : mapping, default all guessed
        What columns are where a guess would be wrong, such as ``{"zip": "category"}``.
    prior : Prior, default DP(alpha=Gamma(1, 1))
    client : distributed.Client, optional
    seed : int
        Decides which rows are looked at.

    Returns
    -------
    DistributedProposal

    >>> from hedgerow.data import iris
    >>> X = iris().X
    >>> proposal = propose([X[:70], X[70:]])
    >>> print(proposal.explained())
    Prepared(GaussianWishart(), ...)
      0, 1, 2, 3  GaussianWishart  measurements; correlated within a cluster; in steps of 0.1
    """
    sources = read_sources(OWNER, shards, client)
    open_workers(OWNER, sources, client).close()  # refuses what is no client
    check_seed(OWNER, seed, none=False)
    count = 2 * _SAMPLE // len(sources) + 50
    parts: list[Look] = [part for part in at_sources(look, sources, [(count, seed)] * len(sources), client) if part.rows]
    require(len(parts) > 0, OWNER, "shards", f"{len(sources)} empty shards", "have a row")
    names = [feature_names(part.sample) for part in parts]
    for part, own in zip(parts, names, strict=True):
        if (own is None) != (names[0] is None) or (own is not None and list(own) != list(names[0] or ())):
            raise ParameterError(f"{OWNER}(shards=...): shards must have the same columns in the same order. {part.name} has others.")
    whole = sum(part.rows for part in parts)
    rng = np.random.default_rng([seed, 1])
    tables = []
    for part in parts:
        wanted = min(int(np.ceil(_SAMPLE * part.rows / whole)), part.sample.shape[0])
        tables.append(take_rows(part.sample, np.sort(rng.choice(part.sample.shape[0], wanted, replace=False))))
        if wanted < part.rows and part.telling is not None:
            tables.append(part.telling)
    table = _stack_tables(tables)
    if sparse.issparse(table):
        found = propose_here(table, prior=prior)
        reading = None
    else:
        reading = understand(table, columns)
        found = propose_here(Dataset(reading.read(table)[0], reading=reading), prior=prior)
        reading = None if reading.plain and isinstance(table, np.ndarray) else reading
    fields = {name: getattr(found, name) for name in ("likelihood", "reasons", "X", "apart", "aside", "shared")}
    return DistributedProposal(**fields, reading=reading, mixture=found.mixture, shards=shards, client=client, rows=whole)


@dataclass(frozen=True, eq=False)
class Look:
    """Some rows of a shard, and those that tell of a column; and how many there are."""

    name: str
    rows: int
    sample: Any
    telling: Any


def look(source: Source, work: tuple[int, int], data: Any = None) -> Look:
    """Look at so many rows of a shard where it is, by that seed."""
    count, seed = work
    with source.named():
        table = source.raw(data)
        rows = int(table.shape[0])
        if rows == 0:
            return Look(source.name, 0, None, None)
        rng = np.random.default_rng([seed, source.number])
        some = np.sort(rng.choice(rows, min(count, rows), replace=False))
        telling = None if sparse.issparse(table) else _telling(table)
        return Look(source.name, rows, take_rows(table, some), None if telling is None else take_rows(table, telling))


def _telling(table: Any) -> npt.NDArray[np.intp]:
    """Rows with the ends of a column, a number that is not whole, or the first of a level."""
    found: set[int] = set()
    for raw in raw_columns(table, OWNER)[0]:
        values = np.asarray(raw.values)
        if raw.form == "texts":
            seen = values >= 0
            levels, first = np.unique(values[seen], return_index=True)
            if len(levels) <= _LEVELS:
                found.update(np.flatnonzero(seen)[first].tolist())
        elif values.dtype.kind == "f" and not np.isnan(values).all():
            found.update((int(np.nanargmin(values)), int(np.nanargmax(values))))
            broken = np.flatnonzero(values % 1 > 0)[:1]
            found.update(broken.tolist())
    return np.array(sorted(found), np.intp)


def _stack_tables(tables: Sequence[Any]) -> Any:
    """Tables one below the other."""
    if sparse.issparse(tables[0]) or isinstance(tables[0], np.ndarray):
        return stack_rows(tables)
    found = [raw_columns(table, OWNER) for table in tables]
    names = [str(name) for name in found[0][1] or range(len(found[0][0]))]
    return Frame(names, [_below([_as_series(table, name, place) for table in tables]) for place, name in enumerate(names)])


def _as_series(table: Any, name: str, place: int) -> Series:
    """One column of a table as a series of a frame."""
    if isinstance(table, Frame):
        return table.columns[place]
    column = table[name] if hasattr(table, "columns") else table.column(place)
    categories = getattr(getattr(column, "cat", None), "categories", None)
    if categories is not None:
        return Series(np.asarray(column.cat.codes, np.int32), [str(level) for level in categories], declared=True)
    return Series(column.to_numpy())


def _below(parts: Sequence[Series]) -> Series:
    """Columns one below the other; levels are those of all."""
    if all(part.texts is None for part in parts):
        return Series(np.concatenate([part.values for part in parts]))
    texts: dict[str, int] = {}
    values = []
    for part in parts:
        own = part if part.texts is not None else _as_texts(part)
        places = np.array([*(texts.setdefault(text, len(texts)) for text in own.texts or ()), -1])
        values.append(places[own.values])
    declared = all(part.declared for part in parts)
    return replace(parts[0], values=np.concatenate(values), texts=list(texts), declared=declared)


def _as_texts(part: Series) -> Series:
    """Numbers or objects as texts, where another shard has texts."""
    objects = part.to_numpy()
    missing = np.array([entry is None or entry != entry for entry in objects])
    texts, places = np.unique([str(entry) for entry in objects], return_inverse=True)
    return Series(np.where(missing, -1, places), texts.tolist())
