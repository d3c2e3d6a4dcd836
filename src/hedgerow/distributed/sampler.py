"""sample() and resume(): an exact sampler for data in shards."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import LONGEST, check_choice, check_seed, check_whole, core_seed, is_whole
from hedgerow.data import Reading
from hedgerow.distributed.checkpoint import ChainFolder, CheckpointFolder, Plan
from hedgerow.distributed.coordinator import Coordinator
from hedgerow.distributed.opening import OPENED, OWNER, SETTLED, check_model, open_chain, open_data, reopen_chain
from hedgerow.distributed.options import Conditional
from hedgerow.distributed.reach import ShardRows
from hedgerow.distributed.record import Record
from hedgerow.distributed.sources import read_sources
from hedgerow.distributed.workers import Clock, Workers, open_workers
from hedgerow.errors import ParameterError, require
from hedgerow.mixture import Mixture
from hedgerow.posterior import DistributedPosterior
from hedgerow.posterior.sharded_labels import FolderLabels, KeptLabels, KnownClusters, MemoryLabels, draw_folder
from hedgerow.sampling import Checkpoint, Update
from hedgerow.writing import check_path

__all__ = ["resume", "sample"]

LongArray = npt.NDArray[np.int64]
Callbacks = Sequence[Callable[[Update], Any]]

_REMEMBERED = 200
"""Commands after which labels are told anew, so that a lost shard is never far from known ones."""


def sample(
    model: Mixture,
    shards: Any,
    *,
    kernel: Conditional | None = None,
    draws: int = 200,
    warmup: int = 100,
    thin: int = 1,
    chains: int = 1,
    seed: int | None = None,
    init: Any = "ibhc",
    reading: Reading | None = None,
    client: Any = None,
    labels: str = "all",
    folder: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    callbacks: Callbacks = (),
) -> DistributedPosterior:
    """Draw partitions of rows that lie in shards.

    Parameters
    ----------
    model : Mixture
        Any prior but `MixedNRM`, any likelihood but `Custom`. Hyper-parameters of the likelihood that are open are taken from the
        scouts, a random sample of the rows, and stay visible as `posterior.model`.
    shards : list, folder, pattern, or Dask array or frame
        For each shard a function without arguments that returns its rows, or the path of a file that the workers can read (npy, npz,
        Parquet, csv ...); a folder or pattern of such files; or a Dask array or data frame, whose blocks of rows are the shards.
        Without a cluster arrays will do too. Shards may be empty.
    kernel : Conditional, optional
        How the chain moves.
    draws, warmup, thin : int
        Kept draws of each chain, iterations thrown away before them, and iterations for each draw.
    chains : int
        Chains, one after the other over the same shards, each from its own start.
    seed : int, optional
        Decides every draw, with the data and how they are cut into shards; the number of workers does not matter, nor does the loss
        of one.
    init : str or list
        "ibhc" grows trees over up to 200,000 of the rows, each shard its own, and starts from the clusters that they make together;
        "scouts" samples the scouts first and starts from the clusters found; "one" puts all rows in one cluster; or one array of
        labels per shard.
    reading : Reading, optional
        How columns that are not numbers alone are read, the same in all shards; `distributed.propose` finds it out.
    client : distributed.Client, optional
        The cluster; without one, shards are worked on in threads of this process.
    labels : {"all", "last", "none"}
        Which draws to keep the labels of: one byte a row and draw up to 256 clusters, here unless there is a folder. Summaries of the
        partition, such as `point_estimate`, speak of those draws.
    folder : path, optional
        A folder that all workers can write to: labels go there, shard by shard, instead of coming here.
    checkpoint : path or Checkpoint, optional
        A folder that all workers can write to, in which the run is kept as it goes, labels too: `distributed.resume` goes on from
        there when this process, the scheduler or the whole cluster was lost, with the draws that the run would have given.
    callbacks : sequence of callables
        Each is called with an `Update` after every iteration; a true answer stops the chain.

    Ctrl-C stops the run and returns the chains that are whole, or the draws so far of the first, labels as far as all are kept.

    Returns
    -------
    DistributedPosterior

    >>> import hedgerow as hr
    >>> X = hr.data.ring13(n=130).X
    >>> post = hr.distributed.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), [X[:60], X[60:]], draws=3, warmup=3, seed=0)
    >>> post.labels().shape
    (130,)
    """
    kernel = Conditional() if kernel is None else kernel
    require(isinstance(kernel, Conditional), OWNER, "kernel", kernel, "be a distributed.Conditional")
    for name, value, low in (("draws", draws, 1), ("warmup", warmup, 0), ("thin", thin, 1), ("chains", chains, 1)):
        check_whole(OWNER, name, value, low)
    check_seed(OWNER, seed, bits=64)
    check_choice(OWNER, "labels", labels, ("last", "all", "none"))
    check_model(OWNER, model)
    wanted = "be left out: with checkpoint= the labels go to its folder"
    require(folder is None or checkpoint is None, OWNER, "folder", str(folder), wanted)
    used_seed = secrets.randbits(63) if seed is None else int(seed)
    plan = Plan(model, kernel, int(draws), int(warmup), int(thin), int(chains), used_seed, labels, reading)
    where = None if folder is None else _new_folder(check_path(folder, OWNER, "folder"))
    home = None if checkpoint is None else CheckpointFolder(Checkpoint.read(checkpoint, OWNER), OWNER)
    try:
        if home is not None:
            home.begin(plan, OWNER)
        return _Run(plan, client, _checked(OWNER, callbacks), where, home, init).run(shards)
    finally:
        if home is not None:
            home.release()


def resume(
    checkpoint: str | os.PathLike[str] | Checkpoint,
    shards: Any,
    *,
    init: Any = "ibhc",
    draws: int | None = None,
    client: Any = None,
    callbacks: Callbacks = (),
) -> DistributedPosterior:
    """Go on with a run that `distributed.sample(checkpoint=...)` has begun.

    Parameters
    ----------
    checkpoint : path or Checkpoint
        The folder of the run.
    shards : list or Dask array
        The shards that the run began with, the same rows in the same order; where they are may differ.
    init : str or list
        As in `distributed.sample`; for a run that was lost before its first state, which begins again.
    draws : int, optional
        More draws than were asked for at first.
    client, callbacks :
        As in `distributed.sample`.

    The draws are those that the run would have given, to the last bit.

    Returns
    -------
    DistributedPosterior

    >>> import tempfile
    >>> import hedgerow as hr
    >>> folder, shards = tempfile.mkdtemp() + "/run", [hr.data.ring13(n=60).X, hr.data.ring13(n=70).X]
    >>> _ = sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), shards, draws=3, warmup=3, seed=0, checkpoint=folder)
    >>> resume(folder, shards, draws=5).draws
    5
    """
    owner = "distributed.resume"
    home = CheckpointFolder(Checkpoint.read(checkpoint, owner), owner)
    try:
        plan = home.plan()
        if draws is not None:
            good = is_whole(draws) and plan.draws <= draws <= LONGEST
            require(good, owner, "draws", draws, f"be a whole number from {plan.draws} up, the draws asked for before")
            plan = replace(plan, draws=int(draws))
            home.write(plan)
        run = _Run(plan, client, _checked(owner, callbacks), None, home, init)
        return run.run(shards)
    finally:
        home.release()


@dataclass(frozen=True, eq=False)
class _Run:
    """A run: what to do, on which cluster, and where it is kept."""

    plan: Plan
    client: Any
    callbacks: Callbacks
    folder: Path | None
    home: CheckpointFolder | None
    init: Any

    def run(self, shards: Any) -> DistributedPosterior:
        """From the start, or from where the run was left; the shards are let go of at the end."""
        plan, began = self.plan, time.perf_counter()
        sources = read_sources(OWNER, shards, self.client, plan.reading)
        workers = open_workers(OWNER, sources, self.client)
        done: list[_Chain] = []
        stopped = False
        try:
            model, sizes = open_data(workers, plan.model, plan.kernel, plan.seed)
            for number in range(plan.chains):
                chain = self._chain(workers, model, sizes, number)
                if chain.draws == plan.draws or not done:
                    done.append(chain)
                if stopped := chain.stopped:
                    break
                workers.forget_after(OPENED)
        finally:
            workers.close()
        run = {name: getattr(plan, name) for name in ("seed", "draws", "warmup", "thin", "chains")}
        run |= {"kernel": repr(plan.kernel), "sampled": list(model.prior.laws()), "workers": workers.size}
        run |= {"seconds": time.perf_counter() - began, "interrupted": stopped and (len(done) < plan.chains or done[0].short(plan))}
        columns = workers.columns
        run |= {"reading": plan.reading.to_json()} if plan.reading is not None else {}
        run |= {"columns": list(columns)} if columns is not None else {}
        rows = ShardRows(sources, self.client, model.likelihood, tuple(workers.sizes))
        return _put_together(done, model, run, rows)

    def _chain(self, workers: Workers, model: Mixture, sizes: LongArray, number: int) -> _Chain:
        plan = self.plan
        place = None if self.home is None else self.home.chain(number)
        where = place.draws if place is not None else None if self.folder is None else self.folder / f"chain-{number}"
        standing = None if place is None else place.standing()
        basis = workers, model, plan.kernel, chain_seed(plan.seed, number)
        chain = open_chain(*basis, self.init, sizes=sizes) if standing is None else reopen_chain(*basis, standing, sizes=sizes)
        record = Record(chain, plan.labels, where, None if standing is None else standing.traces, place is not None)
        stopped = self._iterate(chain, record, 0 if standing is None else standing.iteration, number, place)
        folders = None if where is None else {draw: draw_folder(where, draw) for draw in record.labelled}
        kept = {draw: workers.spread(parts, np.zeros(0, np.uint8)) for draw, parts in record.kept.items()}
        return _Chain(record.traces(), kept, record.clusters, folders, stopped)

    def _iterate(self, chain: Coordinator, record: Record, done: int, number: int, place: ChainFolder | None) -> bool:
        """Iterations `done` + 1 and on; whether the run was asked to stop."""
        plan, iteration, whole, stopped = self.plan, done, True, False
        try:
            for iteration in range(done + 1, plan.total + 1):
                chain.workers.clock = Clock()
                clock = time.perf_counter()
                chain.step(iteration)
                if iteration > plan.warmup and (iteration - plan.warmup) % plan.thin == 0:
                    record.add(time.perf_counter() - clock)
                self._settle(chain, iteration, record, place)
                if self.callbacks and self._tell(chain, iteration, number):
                    stopped = True
                    break
        except KeyboardInterrupt:
            whole, stopped = False, True  # in the middle of an iteration: the traces stand, the labels of now are nobody's
        if record.draws == 0 and number == 0:
            raise ParameterError(f"{OWNER}: stopped in iteration {iteration} of {plan.total}, before the first draw.")
        if whole and record.draws > 0:
            record.finish()
            if place is not None and iteration > done:
                place.save(chain, iteration, record)
        return stopped

    def _settle(self, chain: Coordinator, iteration: int, record: Record, place: ChainFolder | None) -> None:
        """Now and then write the run down, or ask for all labels, so that what came before need not be remembered."""
        if place is not None and place.due():
            place.save(chain, iteration, record)
        if chain.workers.changes > _REMEMBERED:
            chain.workers.restart_from(SETTLED, chain.placed())

    def _tell(self, chain: Coordinator, done: int, number: int) -> bool:
        """Whether one of the callbacks, which all hear of it, asks to stop."""
        plan = self.plan
        update = Update(number, done, plan.total, done <= plan.warmup, chain.n_clusters, chain.log_joint())
        return any([bool(callback(update)) for callback in self.callbacks])  # noqa: C419


@dataclass(frozen=True, eq=False)
class _Chain:
    """What a chain has left behind."""

    traces: Mapping[str, Any]
    kept: Mapping[int, Sequence[npt.NDArray[Any]]]
    clusters: Mapping[int, KnownClusters]
    folders: Mapping[int, Path] | None
    stopped: bool

    @property
    def draws(self) -> int:
        """Kept draws."""
        return len(self.traces.get("log_joint", ()))

    def short(self, plan: Plan) -> bool:
        """Whether there are fewer than were asked for."""
        return self.draws < plan.draws


def _put_together(done: Sequence[_Chain], model: Mixture, run: Mapping[str, Any], rows: ShardRows) -> DistributedPosterior:
    """Chains of equal length as one posterior; draws are counted over all of them."""
    draws = done[0].draws
    names = [name for name in done[0].traces if name != "sample_stats"]
    traces = {name: np.stack([chain.traces[name] for chain in done]) for name in names}
    stats = {name: np.stack([chain.traces["sample_stats"][name] for chain in done]) for name in done[0].traces["sample_stats"]}
    numbered = [(chain, i * draws) for i, chain in enumerate(done)]
    kept: KeptLabels
    if done[0].folders is None:
        kept = MemoryLabels({first + draw: labels for chain, first in numbered for draw, labels in chain.kept.items()})
    else:
        kept = FolderLabels({first + draw: path for chain, first in numbered for draw, path in (chain.folders or {}).items()})
    clusters = {first + draw: known for chain, first in numbered for draw, known in chain.clusters.items()}
    return DistributedPosterior(
        model=model, run=run, sample_stats=stats, shard_rows=rows.sizes, kept=kept, clusters=clusters, rows=rows, **traces
    )


def chain_seed(seed: int, number: int) -> int:
    """The seed of a chain; that of the first is the run's."""
    return seed if number == 0 else core_seed([seed, number]) >> 1


def _checked(owner: str, callbacks: Any) -> Callbacks:
    good = isinstance(callbacks, Iterable) and all(map(callable, callbacks))
    require(good, owner, "callbacks", callbacks, "be a list of functions of an Update")
    return tuple(callbacks)


def _new_folder(folder: Path) -> Path:
    empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    require(empty, OWNER, "folder", str(folder), "be new or empty")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
