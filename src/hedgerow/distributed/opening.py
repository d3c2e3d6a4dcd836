"""Opening: shards loaded and checked, scouts chosen, and a chain at its start or where a run has left it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import core_seed
from hedgerow.data.kinds import said_of
from hedgerow.distributed.checkpoint import Standing
from hedgerow.distributed.coordinator import Coordinator
from hedgerow.distributed.joining import Joiner, Sprout
from hedgerow.distributed.missed import with_missed
from hedgerow.distributed.options import Conditional
from hedgerow.distributed.scouts import Known, Scouts, by_shard, choose_rows, fetch_rows, first_rows
from hedgerow.distributed.workers import Workers
from hedgerow.distributed.working_shard import Bind, Mark, Open, Place
from hedgerow.errors import ParameterError, require
from hedgerow.mixture import Mixture
from hedgerow.sampling import sample as sample_here
from hedgerow.summaries.partitions import canonical

__all__ = ["OPENED", "OWNER", "SETTLED", "bind_shards", "check_model", "open_chain", "open_data", "open_shards", "reopen_chain"]

OWNER = "distributed.sample"
LongArray = npt.NDArray[np.int64]

_MOST_ROWS = 2**31 - 1
OPENED = 1
"""Commands that all chains share: open."""
SETTLED = 3
"""Commands before the first labels: open, bind, mark."""
_WARMUP_OF_SCOUTS = 100
_SPROUTS = 200_000
"""Rows of all shards whose trees give the first clusters."""
_AGAIN = 20_000
"""Rows looked at again where trees have not seen all: those that fit the clusters least, and those of the smallest clusters."""
_STRANGE = 0.02
"""Share of rows that are visited more often, as they fit the first clusters least."""


def open_shards(owner: str, workers: Workers, model: Mixture) -> LongArray:
    """Load all shards; their numbers of rows."""
    opened = workers.ask(Open(owner, model.likelihood))
    columns = {answer["columns"]: shard for shard, answer in reversed(list(enumerate(opened))) if answer["rows"]}
    require(len(columns) > 0, owner, "shards", f"{len(opened)} empty shards", "have a row")
    if len(columns) > 1:
        found = ", ".join(f"{count} (shard {shard})" for count, shard in columns.items())
        raise ParameterError(f"{owner}(shards=...): shards must have the same columns. Got {found}.")
    sizes = np.array([answer["rows"] for answer in opened], np.int64)
    require(int(sizes.sum()) <= _MOST_ROWS, owner, "shards", int(sizes.sum()), "have at most 2,147,483,647 rows in all")
    total = sum(answer["total"] for answer in opened)
    most = model.likelihood.largest_total
    require(total <= most, owner, "shards", total, f"sum to at most {most:.0g} counts over all shards")
    workers.rows = int(sizes.sum())
    workers.drop_empty(sizes.tolist())
    names = {tuple(answer["names"]): shard for shard, answer in reversed(list(enumerate(opened))) if answer["names"] is not None}
    if len(names) > 1:
        found = "; ".join(f"{', '.join(some[:8])} (shard {shard})" for some, shard in names.items())
        raise ParameterError(f"{owner}(shards=...): shards must have the same columns in the same order. Got {found}.")
    workers.columns = next(iter(names), None)
    _tell_lost(opened)
    return sizes[sizes > 0]


def _tell_lost(opened: Sequence[Mapping[str, Any]]) -> None:
    """Entries that could not be read are gaps; they are counted over all shards."""
    lost: dict[str, tuple[int, str]] = {}
    for answer in opened:
        for name, (count, shown) in answer["lost"].items():
            lost[name] = lost.get(name, (0, shown))[0] + count, shown
    if lost:
        warnings.warn(f"Taken for gaps: {said_of(lost, sum(answer['rows'] for answer in opened))}.", stacklevel=4)


def open_data(workers: Workers, model: Mixture, kernel: Conditional, seed: int) -> tuple[Mixture, LongArray]:
    """Load the shards and resolve the model, the same for all chains."""
    sizes = open_shards(OWNER, workers, model)
    data, _ = fetch_rows(workers, choose_rows(int(sizes.sum()), kernel.scouts, [seed, 1]), first_rows(sizes))
    return model.resolve(data, int(sizes.sum())), sizes


def open_chain(
    workers: Workers, model: Mixture, kernel: Conditional, seed: int, init: Any, start: Any = None, *, sizes: LongArray | None = None
) -> Coordinator:
    """Load the shards, unless their sizes are known, choose scouts, resolve the model and place the rows."""
    resolved, sizes, scouts, data = _bind(workers, model, kernel, seed, sizes)
    trees = isinstance(init, str) and init == "ibhc"
    known, values, scale = _sprout(workers, resolved, data, sizes, seed) if trees else (scouts.pack(scouts.clusters), {}, 1.0)
    n = int(sizes.sum())
    missing = scale > 1.0  # rows that no tree has seen
    strange = workers.ask(Mark(known, _STRANGE, min(_STRANGE, _AGAIN / n) if missing else 0.0))
    chain = Coordinator(workers, resolved, sizes, scouts, seed, kernel, known)
    if trees:
        first = with_missed(resolved, known, strange, n, scale, values, seed) if missing else known
        chain.place([Place(len(first[2]), known=first)] * len(sizes), start, again=_AGAIN if missing else 0)
    else:
        chain.place(_first_places(workers, init, resolved, scouts, data, sizes, seed), start)
    return chain


def reopen_chain(
    workers: Workers, model: Mixture, kernel: Conditional, seed: int, standing: Standing, *, sizes: LongArray
) -> Coordinator:
    """The same for a run that has been left: rows are put where they were."""
    resolved, sizes, scouts, _ = _bind(workers, model, kernel, seed, sizes)
    wanted = f"be the shards that the run began with, of {', '.join(str(len(part)) for part in standing.labels)} rows"
    there = workers.spread(range(len(sizes)), None)
    good = standing.shards == [number for number, shard in enumerate(there) if shard is not None]
    good = good and len(sizes) == len(standing.labels) and all(len(p) == n for p, n in zip(standing.labels, sizes, strict=True))
    require(good, "distributed.resume", "shards", workers.sizes, wanted)
    workers.ask(Mark(standing.known, _STRANGE))
    chain = Coordinator(workers, resolved, sizes, scouts, seed, kernel, standing.known)
    before = chain.restore(standing.labels, standing.fillings, standing.state)
    wanted = "hold the rows that the run began with: their labels make other clusters than the run had"
    require(before, "distributed.resume", "shards", f"{len(sizes)} shards", wanted)
    return chain


def _bind(
    workers: Workers, model: Mixture, kernel: Conditional, seed: int, sizes: LongArray | None
) -> tuple[Mixture, LongArray, Scouts, Any]:
    """Shards under the resolved likelihood, with their scouts."""
    sizes = open_shards(OWNER, workers, model) if sizes is None else sizes
    resolved, rows, data = bind_shards(workers, model, sizes, kernel.scouts, seed)
    return resolved, sizes, Scouts.gather(resolved, rows, data, seed), data


def bind_shards(workers: Workers, model: Mixture, sizes: LongArray, count: int, seed: int) -> tuple[Mixture, LongArray, Any]:
    """Put shards under the model, resolved by so many rows of all; these rows by global number, and copies of them."""
    first = first_rows(sizes)
    rows = choose_rows(int(sizes.sum()), count, [seed, 1])
    data, local = fetch_rows(workers, rows, first)
    resolved = model.resolve(data, int(sizes.sum()))
    workers.ask([Bind(resolved, int(start), core_seed(seed), part) for start, part in zip(first, local, strict=True)])
    return resolved, rows, data


def _sprout(workers: Workers, model: Mixture, data: Any, sizes: LongArray, seed: int) -> tuple[Known, dict[str, float], float]:
    """Clusters of many more rows than there are scouts: trees over them where they are, joined by their roots.

    With u and the hyper-parameters for all rows, and how many rows there are for each that was looked at.
    """
    before: tuple[int, dict[str, float]] | None = None
    for count in (_SPROUTS // 10, _SPROUTS):  # a tenth tells u, which grows with the rows
        rows = choose_rows(int(sizes.sum()), count, [seed, 2])
        joiner = Joiner(model, data, len(rows), None, seed)
        if before is not None:
            joiner.adopt(before[1] | {"log_u": before[1]["log_u"] + float(np.log(len(rows) / before[0]))})
        values = joiner.values()
        grown = workers.ask([Sprout(model=model, seed=seed, values=values, rows=part) for part in by_shard(rows, first_rows(sizes))])
        forest = joiner.join(grown)
        known = joiner.clusters(forest)
        joiner.resample(forest, 1)
        before = len(rows), joiner.values()
    assert before is not None
    scale = int(sizes.sum()) / before[0]
    return known, before[1] | {"log_u": before[1]["log_u"] + float(np.log(scale))}, scale


def _first_places(workers: Workers, init: Any, model: Mixture, scouts: Scouts, data: Any, sizes: LongArray, seed: int) -> list[Place]:
    if isinstance(init, str):
        require(init in ("scouts", "one"), OWNER, "init", init, "be 'ibhc', 'scouts', 'one', or labels for every shard")
        if init == "one":
            return [Place(1, np.zeros(rows, np.int32)) for rows in sizes]
        found = sample_here(model, data, draws=1, warmup=_WARMUP_OF_SCOUTS, chains=1, seed=seed, progress=False).labels[0, 0]
        return [Place(int(found.max()) + 1, known=scouts.pack(found))] * len(sizes)
    all_sizes = workers.sizes
    good = isinstance(init, Sequence) and len(init) == len(all_sizes)
    require(good, OWNER, "init", init, f"be 'ibhc', 'scouts', 'one', or a list of labels for each of the {len(all_sizes)} shards")
    parts = [np.asarray(part) for part in init]
    for shard, (part, rows) in enumerate(zip(parts, all_sizes, strict=True)):
        fine = rows == 0 and part.size == 0
        fine = fine or (part.shape == (rows,) and part.dtype.kind in "iu")
        require(fine, OWNER, f"init[{shard}]", part, f"hold one whole number for each of the {rows} rows")
    whole = canonical(np.concatenate([part for part in parts if part.size]).astype(np.int64))
    cut = np.split(whole, np.cumsum(sizes)[:-1])
    return [Place(int(whole.max()) + 1, part) for part in cut]


def check_model(owner: str, model: Any) -> None:
    """Refuse, in words, what cannot be cut into shards."""
    require(isinstance(model, Mixture), owner, "model", model, "be a Mixture")
    wanted = "have a prior with one measure: MixedNRM priors are for data that fit in one memory (hr.sample)"
    require(not model.prior.grouped, owner, "model", model.prior, wanted)
    for part in model.likelihood.factors():
        wanted = "have a likelihood whose parameters can be drawn; Custom is not one"
        require(part.has_atoms, owner, "model", part, wanted)
