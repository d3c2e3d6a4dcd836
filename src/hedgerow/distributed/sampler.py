"""sample(): an exact sampler for data in shards."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.distributed.coordinator import Coordinator
from hedgerow.distributed.crew import Clock, Crew, open_crew
from hedgerow.distributed.held import Bind, Mark, Open, Place
from hedgerow.distributed.joining import Joiner, Sprout
from hedgerow.distributed.options import Conditional, is_whole
from hedgerow.distributed.result import DistributedPosterior, draw_folder
from hedgerow.distributed.scouts import Known, Scouts, by_shard, choose_rows, fetch_rows
from hedgerow.distributed.sources import read_sources
from hedgerow.errors import ParameterError, require
from hedgerow.mixture import Mixture
from hedgerow.sampling import Update
from hedgerow.sampling import sample as sample_here
from hedgerow.summaries.partitions import canonical

__all__ = ["check_model", "open_shards", "sample"]

OWNER = "distributed.sample"
LongArray = npt.NDArray[np.int64]

_MOST_ROWS = 2**31 - 1
_REMEMBERED = 200
"""Commands after which labels are told anew, so that a lost shard is never far from known ones."""
_SETTLED = 3
"""Commands before the first labels: open, bind, mark."""
_WARMUP_OF_SCOUTS = 100
_SPROUTS = 200_000
"""Rows of all shards whose trees give the first clusters."""
_STRANGE = 0.02
"""Share of rows that are visited more often, as they fit the clusters of the scouts least."""


def sample(
    model: Mixture,
    shards: Any,
    *,
    kernel: Conditional | None = None,
    draws: int = 200,
    warmup: int = 100,
    thin: int = 1,
    seed: int | None = None,
    init: Any = "ibhc",
    client: Any = None,
    labels: str = "last",
    folder: str | os.PathLike[str] | None = None,
    callbacks: Sequence[Callable[[Update], Any]] = (),
) -> DistributedPosterior:
    """Draw partitions of rows that lie in shards.

    Parameters
    ----------
    model : Mixture
        Any prior but `MixedNRM`, any likelihood but `Custom`. Hyper-parameters of the likelihood that are open are taken from the
        scouts, a random sample of the rows, and stay visible as `posterior.model`.
    shards : list or Dask array
        For each shard a function without arguments that returns its rows, or the path of a .npy or .npz file that the workers can
        read; or a Dask array, whose blocks of rows are the shards. Without a cluster arrays will do too.
    kernel : Conditional, optional
        How the chain moves.
    draws, warmup, thin : int
        Kept draws, iterations thrown away before them, and iterations for each draw.
    seed : int, optional
        Decides every draw, with the data and how they are cut into shards; the number of workers does not matter, nor does the loss
        of one.
    init : str or list
        "ibhc" grows trees over up to 200,000 of the rows, each shard its own, and starts from the clusters that they make together;
        "scouts" samples the scouts first and starts from the clusters found; "one" puts all rows in one cluster; or one array of
        labels per shard.
    client : distributed.Client, optional
        The cluster; without one, shards are worked on in threads of this process.
    labels : {"last", "all", "none"}
        Which draws to keep the labels of.
    folder : path, optional
        A folder that all workers can write to: labels go there, shard by shard, instead of coming here.
    callbacks : sequence of callables
        Each is called with an `Update` after every iteration; a true answer stops the chain.

    Ctrl-C stops the chain and returns the draws so far, without labels unless all are kept.
    """
    kernel = Conditional() if kernel is None else kernel
    require(isinstance(kernel, Conditional), OWNER, "kernel", kernel, "be a distributed.Conditional")
    for name, value, low in (("draws", draws, 1), ("warmup", warmup, 0), ("thin", thin, 1)):
        require(is_whole(value) and value >= low, OWNER, name, value, f"be a whole number from {low} up")
    require(seed is None or (is_whole(seed) and seed >= 0), OWNER, "seed", seed, "be a whole number from 0 up, or None")
    require(labels in ("last", "all", "none"), OWNER, "labels", labels, "be 'last', 'all' or 'none'")
    good = isinstance(callbacks, Iterable) and all(map(callable, callbacks))
    require(good, OWNER, "callbacks", callbacks, "be a list of functions of an Update")
    check_model(OWNER, model)
    used_seed = secrets.randbits(63) if seed is None else int(seed)
    where = None if folder is None else _new_folder(Path(folder))
    began = time.perf_counter()
    with _opened(model, shards, client, kernel, used_seed, init) as (resolved, sizes, chain):
        record = _Record(chain, labels, where)
        total = warmup + draws * thin
        iteration, whole = 0, True
        try:
            for iteration in range(1, total + 1):
                chain.crew.clock = Clock()
                clock = time.perf_counter()
                chain.step(iteration)
                if iteration > warmup and (iteration - warmup) % thin == 0:
                    record.add(time.perf_counter() - clock)
                _shorten(chain)
                if callbacks and _tell(callbacks, chain, iteration, total, iteration <= warmup):
                    break
        except KeyboardInterrupt:
            whole = False  # in the middle of an iteration: the traces stand, the labels of now are nobody's
        if record.draws == 0:
            raise ParameterError(f"{OWNER}: stopped in iteration {iteration} of {total}, before the first draw.")
        if whole:
            record.finish()
        traces = record.traces()
    run = {"seed": used_seed, "draws": draws, "warmup": warmup, "thin": thin, "kernel": kernel, "seconds": time.perf_counter() - began}
    return DistributedPosterior(
        resolved,
        tuple(int(rows) for rows in sizes),
        **traces,
        run=run | {"interrupted": record.draws < draws, "workers": record.workers},
        kept=record.kept,
        folder=where,
    )


@contextmanager
def _opened(
    model: Mixture, shards: Any, client: Any, kernel: Conditional, seed: int, init: Any
) -> Iterator[tuple[Mixture, LongArray, Coordinator]]:
    """A chain at its start, over shards that are let go of at the end."""
    crew = open_crew(OWNER, read_sources(OWNER, shards, client), client)
    try:
        yield open_chain(crew, model, kernel, seed, init)
    finally:
        crew.close()


def open_shards(owner: str, crew: Crew, model: Mixture) -> LongArray:
    """Load all shards; their numbers of rows."""
    opened = crew.ask(Open(owner, model.likelihood))
    columns = {answer["columns"]: shard for shard, answer in reversed(list(enumerate(opened)))}
    if len(columns) > 1:
        found = ", ".join(f"{count} (shard {shard})" for count, shard in columns.items())
        raise ParameterError(f"{owner}(shards=...): shards must have the same columns. Got {found}.")
    sizes = np.array([answer["rows"] for answer in opened], np.int64)
    require(int(sizes.sum()) <= _MOST_ROWS, owner, "shards", int(sizes.sum()), "have at most 2,147,483,647 rows in all")
    total = sum(answer["total"] for answer in opened)
    most = model.likelihood.largest_total
    require(total <= most, owner, "shards", total, f"sum to at most {most:.0g} counts over all shards")
    crew.rows = int(sizes.sum())
    return sizes


def open_chain(
    crew: Crew, model: Mixture, kernel: Conditional, seed: int, init: Any, start: Any = None
) -> tuple[Mixture, LongArray, Coordinator]:
    """Load the shards, choose scouts, resolve the model and place the rows."""
    sizes = open_shards(OWNER, crew, model)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    rows = choose_rows(int(sizes.sum()), kernel.scouts, [seed, 1])
    data, local = fetch_rows(crew, rows, first)
    resolved = model.resolve(data)
    word = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    crew.ask([Bind(resolved.likelihood, int(first[i]), word, local[i]) for i in range(len(sizes))])
    scouts = Scouts.settle(resolved, rows, data, seed)
    known = _sprout(crew, resolved, data, first, sizes, seed) if _is_name(init, "ibhc") else scouts.pack(scouts.clusters)
    crew.ask(Mark(known, _STRANGE))
    chain = Coordinator(crew, resolved, sizes, scouts, seed, kernel)
    places = [Place(len(known[2]), known=known)] * len(sizes) if _is_name(init, "ibhc") else None
    chain.place(places or _first_places(init, resolved, scouts, data, sizes, seed), start)
    return resolved, sizes, chain


def _is_name(init: Any, name: str) -> bool:
    return isinstance(init, str) and init == name


def _sprout(crew: Crew, model: Mixture, data: Any, first: LongArray, sizes: LongArray, seed: int) -> Known:
    """Clusters of many more rows than there are scouts: trees over them where they are, joined by their roots."""
    before: tuple[int, dict[str, float]] | None = None
    for count in (_SPROUTS // 10, _SPROUTS):  # a tenth tells u, which grows with the rows
        rows = choose_rows(int(sizes.sum()), count, [seed, 2])
        joiner = Joiner(model, data, len(rows), None, seed)
        if before is not None:
            joiner.adopt(before[1] | {"log_u": before[1]["log_u"] + float(np.log(len(rows) / before[0]))})
        values = joiner.values()
        grown = crew.ask([Sprout(model.likelihood, model.prior, seed, values, part) for part in by_shard(rows, first)])
        forest = joiner.join(grown)
        known = joiner.clusters(forest)
        joiner.resample(forest, 1)
        before = len(rows), joiner.values()
    return known


def _first_places(init: Any, model: Mixture, scouts: Scouts, data: Any, sizes: LongArray, seed: int) -> list[Place]:
    if isinstance(init, str):
        require(init in ("scouts", "one"), OWNER, "init", init, "be 'ibhc', 'scouts', 'one', or labels for every shard")
        if init == "one":
            return [Place(1, np.zeros(rows, np.int32)) for rows in sizes]
        found = sample_here(model, data, draws=1, warmup=_WARMUP_OF_SCOUTS, chains=1, seed=seed, progress=False).labels[0, 0]
        return [Place(int(found.max()) + 1, known=scouts.pack(found))] * len(sizes)
    good = isinstance(init, Sequence) and len(init) == len(sizes)
    require(good, OWNER, "init", init, f"be 'ibhc', 'scouts', 'one', or a list of labels for each of the {len(sizes)} shards")
    parts = [np.asarray(part) for part in init]
    for shard, (part, rows) in enumerate(zip(parts, sizes, strict=True)):
        fine = part.shape == (rows,) and part.dtype.kind in "iu"
        require(fine, OWNER, f"init[{shard}]", part, f"hold one whole number for each of the {rows} rows")
    whole = canonical(np.concatenate(parts).astype(np.int64))
    cut = np.split(whole, np.cumsum(sizes)[:-1])
    return [Place(int(whole.max()) + 1, part) for part in cut]


def _tell(callbacks: Sequence[Callable[[Update], Any]], chain: Coordinator, done: int, total: int, warming_up: bool) -> bool:
    """Whether one of the callbacks, which all hear of it, asks to stop."""
    update = Update(0, done, total, warming_up, chain.n_clusters, chain.log_joint())
    return any([bool(callback(update)) for callback in callbacks])  # noqa: C419


def _shorten(chain: Coordinator) -> None:
    """Now and then ask for all labels, so that what came before need not be remembered."""
    if chain.crew.changes > _REMEMBERED:
        parts = chain.labels()
        chain.crew.restart_from(_SETTLED, [Place(chain.n_clusters, part) for part in parts])


class _Record:
    """Traces, and labels where they are wanted."""

    def __init__(self, chain: Coordinator, labels: str, folder: Path | None) -> None:
        self._chain, self._labels, self._folder = chain, labels, folder
        self._rows: list[dict[str, float]] = []
        self._stats: list[dict[str, float]] = []
        self.kept: dict[int, Sequence[npt.NDArray[Any]]] = {}
        self.workers = chain.crew.size

    @property
    def draws(self) -> int:
        return len(self._rows)

    def add(self, seconds: float) -> None:
        chain = self._chain
        clock = chain.crew.clock
        times = {"seconds": seconds, "shard_seconds": clock.shards, "rounds": float(clock.rounds)}
        self._rows.append({"log_joint": chain.log_joint(), "n_clusters": chain.n_clusters} | chain.values())
        self._stats.append(chain.stats | times)
        if self._labels == "all":
            self._keep()

    def finish(self) -> None:
        if self._labels == "last":
            self._keep()

    def _keep(self) -> None:
        index = self.draws - 1
        parts = self._chain.labels(None if self._folder is None else draw_folder(self._folder, index))
        if self._folder is None:
            self.kept[index] = parts

    def traces(self) -> dict[str, Any]:
        found: dict[str, Any] = {name: np.array([row[name] for row in self._rows]) for name in self._rows[0]}
        found["n_clusters"] = found["n_clusters"].astype(np.int32)
        found["sample_stats"] = {name: np.array([row[name] for row in self._stats]) for name in self._stats[0]}
        return found


def check_model(owner: str, model: Any) -> None:
    """Refuse, in words, what cannot be cut into shards."""
    require(isinstance(model, Mixture), owner, "model", model, "be a Mixture")
    wanted = "have a prior with one measure: MixedNRM priors are for data that fit in one memory (hr.sample)"
    require(not model.prior.grouped, owner, "model", model.prior, wanted)
    for part in model.likelihood.factors():
        wanted = "have a likelihood whose parameters can be drawn; Custom is not one"
        require(part.has_atoms, owner, "model", part, wanted)


def _new_folder(folder: Path) -> Path:
    empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    require(empty, OWNER, "folder", str(folder), "be new or empty")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
