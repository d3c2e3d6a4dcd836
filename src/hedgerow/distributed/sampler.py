"""sample() and resume(): an exact sampler for data in shards."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.distributed.coordinator import Coordinator
from hedgerow.distributed.lasting import Course, Lasting, Standing
from hedgerow.distributed.opening import OWNER, SETTLED, check_model, open_chain, reopen_chain
from hedgerow.distributed.options import Conditional, is_whole
from hedgerow.distributed.record import Record
from hedgerow.distributed.result import DistributedPosterior
from hedgerow.distributed.sources import read_sources
from hedgerow.distributed.workers import Clock, open_workers
from hedgerow.distributed.working_shard import Place
from hedgerow.errors import ParameterError, require
from hedgerow.mixture import Mixture
from hedgerow.sampling import Checkpoint, Update

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
    seed: int | None = None,
    init: Any = "ibhc",
    client: Any = None,
    labels: str = "last",
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
    checkpoint : path or Checkpoint, optional
        A folder that all workers can write to, in which the run is kept as it goes, labels too: `distributed.resume` goes on from
        there when this process, the scheduler or the whole cluster was lost, with the draws that the run would have given.
    callbacks : sequence of callables
        Each is called with an `Update` after every iteration; a true answer stops the chain.

    Ctrl-C stops the chain and returns the draws so far, without labels unless all are kept.

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
    for name, value, low in (("draws", draws, 1), ("warmup", warmup, 0), ("thin", thin, 1)):
        require(is_whole(value) and value >= low, OWNER, name, value, f"be a whole number from {low} up")
    require(seed is None or (is_whole(seed) and seed >= 0), OWNER, "seed", seed, "be a whole number from 0 up, or None")
    require(labels in ("last", "all", "none"), OWNER, "labels", labels, "be 'last', 'all' or 'none'")
    check_model(OWNER, model)
    wanted = "be left out: with checkpoint= the labels go to its folder"
    require(folder is None or checkpoint is None, OWNER, "folder", str(folder), wanted)
    used_seed = secrets.randbits(63) if seed is None else int(seed)
    course = Course(model, kernel, int(draws), int(warmup), int(thin), used_seed, labels)
    where = None if folder is None else _new_folder(Path(folder))
    lasting = None if checkpoint is None else Lasting(Checkpoint.read(checkpoint, OWNER), OWNER)
    try:
        if lasting is not None:
            lasting.begin(course, OWNER)
        return _Run(course, client, _checked(OWNER, callbacks), where, lasting, init).run(shards)
    finally:
        if lasting is not None:
            lasting.release()


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
    lasting = Lasting(Checkpoint.read(checkpoint, owner), owner)
    try:
        course = lasting.course()
        if draws is not None:
            good = is_whole(draws) and draws >= course.draws
            require(good, owner, "draws", draws, f"be a whole number from {course.draws} up, the draws asked for before")
            course = replace(course, draws=int(draws))
            lasting.write(course)
        run = _Run(course, client, _checked(owner, callbacks), None, lasting, init)
        return run.run(shards, lasting.standing())
    finally:
        lasting.release()


@dataclass(frozen=True, eq=False)
class _Run:
    """A run: what to do, on which cluster, and where it is kept."""

    course: Course
    client: Any
    callbacks: Callbacks
    folder: Path | None
    lasting: Lasting | None
    init: Any

    def run(self, shards: Any, standing: Standing | None = None) -> DistributedPosterior:
        """From the start, or from where the run was left; the shards are let go of at the end."""
        course, began = self.course, time.perf_counter()
        workers = open_workers(OWNER, read_sources(OWNER, shards, self.client), self.client)
        try:
            basis = workers, course.model, course.kernel, course.seed
            model, sizes, chain = open_chain(*basis, self.init) if standing is None else reopen_chain(*basis, standing)
            where = self.folder if self.lasting is None else self.lasting.draws
            record = Record(chain, course.labels, where, None if standing is None else standing.traces)
            self._iterate(chain, record, 0 if standing is None else standing.iteration)
            traces = record.traces()
        finally:
            workers.close()
        run = {name: getattr(course, name) for name in ("seed", "draws", "warmup", "thin", "kernel")}
        run |= {"seconds": time.perf_counter() - began, "interrupted": record.draws < course.draws, "workers": record.workers}
        return DistributedPosterior(model, tuple(int(rows) for rows in sizes), **traces, run=run, kept=record.kept, folder=where)

    def _iterate(self, chain: Coordinator, record: Record, done: int) -> None:
        course, iteration, whole = self.course, done, True
        try:
            for iteration in range(done + 1, course.total + 1):
                chain.workers.clock = Clock()
                clock = time.perf_counter()
                chain.step(iteration)
                if iteration > course.warmup and (iteration - course.warmup) % course.thin == 0:
                    record.add(time.perf_counter() - clock)
                self._settle(chain, iteration, record)
                warming_up = iteration <= course.warmup
                if self.callbacks and _tell(self.callbacks, chain, iteration, course.total, warming_up):
                    break
        except KeyboardInterrupt:
            whole = False  # in the middle of an iteration: the traces stand, the labels of now are nobody's
        if record.draws == 0:
            raise ParameterError(f"{OWNER}: stopped in iteration {iteration} of {course.total}, before the first draw.")
        if whole:
            record.finish()
            if self.lasting is not None and iteration > done:
                self.lasting.save(chain, iteration, record)

    def _settle(self, chain: Coordinator, iteration: int, record: Record) -> None:
        """Now and then write the run down, or ask for all labels, so that what came before need not be remembered."""
        if self.lasting is not None and self.lasting.due():
            self.lasting.save(chain, iteration, record)
        if chain.workers.changes > _REMEMBERED:
            parts = chain.labels()
            chain.workers.restart_from(SETTLED, [Place(chain.n_clusters, part) for part in parts])


def _checked(owner: str, callbacks: Any) -> Callbacks:
    good = isinstance(callbacks, Iterable) and all(map(callable, callbacks))
    require(good, owner, "callbacks", callbacks, "be a list of functions of an Update")
    return tuple(callbacks)


def _tell(callbacks: Callbacks, chain: Coordinator, done: int, total: int, warming_up: bool) -> bool:
    """Whether one of the callbacks, which all hear of it, asks to stop."""
    update = Update(0, done, total, warming_up, chain.n_clusters, chain.log_joint())
    return any([bool(callback(update)) for callback in callbacks])  # noqa: C419


def _new_folder(folder: Path) -> Path:
    empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    require(empty, OWNER, "folder", str(folder), "be new or empty")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
