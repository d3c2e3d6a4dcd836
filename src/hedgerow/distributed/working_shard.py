"""WorkingShard: a shard where it lives, and the commands that it obeys.

A worker keeps the shards it has loaded, each with the number of the last command that changed it. A command that does not follow on
that one is answered with `Missing`, and is then sent again with everything since the last known labels: commands are pure functions of
the shard's labels and of what they carry, so a worker that takes over for a lost one comes to the same state, bit by bit.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.kinds import Lost
from hedgerow.data.tables import feature_names
from hedgerow.distributed.sources import Source
from hedgerow.errors import ParameterError, require
from hedgerow.likelihoods import Likelihood
from hedgerow.mixture import Mixture
from hedgerow.posterior.sharded_labels import shard_file
from hedgerow.writing import whole_file

__all__ = [
    "Anchor",
    "Answer",
    "Bind",
    "Command",
    "Fetch",
    "Halve",
    "Mark",
    "Missing",
    "Open",
    "Pick",
    "Place",
    "Renaming",
    "Sweep",
    "Tell",
    "WorkingShard",
    "fillings_file",
    "fingerprint",
    "forget",
    "serve",
]

_STRANGERS = 1 << 20
"""Keeps the random numbers of shards apart from those of the coordinator."""

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Renaming:
    """New numbers of clusters that the coordinator has chosen since it last spoke to a shard."""

    first: IntArray
    """The new number of every old one."""
    second: IntArray
    """The same for rows on side 1 of a proposal."""
    rows: IntArray
    """Single rows that have moved."""
    labels: IntArray
    """Where they are now, by new numbers."""


@dataclass(eq=False)
class WorkingShard:
    """One shard in the memory of a worker."""

    source: Source
    data: Any = None
    lost: Lost = field(default_factory=dict)
    bound: Any = None
    core: Any = None
    trees: Any = None
    rows: IntArray | None = None
    scouts: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))
    strangers: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))
    serial: int = 0
    answer: dict[str, Any] = field(default_factory=dict)

    def rename(self, names: Renaming | None) -> None:
        """Give clusters the numbers that the coordinator has chosen for them."""
        if names is not None:
            self.core.rename(names.first, names.second)
            self.core.put(names.rows, names.labels)


class Command:
    """Something a shard is asked to do."""

    changes: ClassVar[bool] = True
    """Whether the shard is another one afterwards."""

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Do it, and answer."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Open(Command):
    """Load and check the rows."""

    owner: str
    likelihood: Likelihood

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with the shape, names of the columns, and what could not be read; an empty shard has no columns."""
        if shard.data.shape[0] == 0:
            return {"rows": 0, "columns": None, "total": 0, "names": None, "lost": {}}
        names = feature_names(shard.data)
        shard.data = self.likelihood.check(shard.data)
        rows, columns = (int(length) for length in shard.data.shape)
        about = {"names": None if names is None else [str(name) for name in names], "lost": shard.lost}
        return {"rows": rows, "columns": columns, "total": self.likelihood.total(shard.data)} | about


@dataclass(frozen=True, eq=False)
class Fetch(Command):
    """Give some rows away."""

    rows: IntArray
    changes: ClassVar[bool] = False

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with copies of the rows."""
        return {"data": shard.data[self.rows]}


@dataclass(frozen=True, eq=False)
class Bind(Command):
    """Put the rows under a resolved model."""

    model: Mixture
    first_row: int
    seed: int
    scouts: IntArray

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with nothing."""
        shard.bound = self.model.bind(shard.data)
        filled = shard.bound.n_imputed
        wanted = "have no missing entries in correlated columns at a power below 1: a shard fills them in at power 1"
        require(filled == 0 or self.model.power == 1, type(self.model.likelihood).__name__, "X", f"{filled} rows with gaps", wanted)
        shard.core = _core.Shard(shard.bound, self.first_row, self.seed)
        shard.scouts = self.scouts
        return {}


@dataclass(frozen=True, eq=False)
class Mark(Command):
    """Find the strangers: the rows that fit the clusters of the scouts least."""

    known: tuple[FloatArray, LongArray, FloatArray]
    share: float
    told: float = 0.0
    """Share of the rows, the strangest of all, that are told of."""

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with copies of the strangest rows, and how well they fit."""
        fit = shard.core.fit(*self.known)
        count = int(np.ceil(self.share * len(fit)))
        order = np.argsort(fit, kind="stable")
        shard.strangers = np.sort(order[:count]).astype(np.int32)
        rows = np.sort(order[: int(np.ceil(self.told * len(fit)))])
        return {"data": shard.data[rows], "fit": fit[rows]}


@dataclass(frozen=True, eq=False)
class Place(Command):
    """First labels: given, or drawn from the predictive of known clusters."""

    clusters: int
    labels: npt.NDArray[Any] | None = None
    known: tuple[FloatArray, LongArray, FloatArray] | None = None
    fillings: FloatArray | None = None
    """Missing entries as they were filled in, with labels that are given."""

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with counts and packed statistics."""
        if self.known is not None:
            answer: dict[str, Any] = shard.core.begin(*self.known)
        else:
            assert self.labels is not None
            if self.fillings is not None:
                shard.core.set_fillings(self.fillings)
            shard.core.set_labels(np.ascontiguousarray(self.labels, np.int32))
            answer = shard.core.tally(self.clusters)
        return answer


@dataclass(frozen=True, eq=False)
class Pick(Command):
    """Give the rows of some clusters away."""

    names: Renaming | None
    wanted: npt.NDArray[np.bool_]

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with the rows of the clusters wanted, their labels, and copies of them."""
        shard.rename(self.names)
        labels = shard.core.labels()
        rows = np.flatnonzero(self.wanted[labels]).astype(np.int32)
        return {"rows": rows, "labels": labels[rows], "data": shard.data[rows]}


@dataclass(frozen=True, eq=False)
class Anchor(Command):
    """The first step of a sweep: name a row of each cluster that will stay."""

    names: Renaming | None
    clusters: int
    all_rows: int
    iteration: int

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with the random word of each cluster's first row here."""
        shard.rename(self.names)
        return {"anchor": shard.core.anchors(self.clusters, self.all_rows, self.iteration)}


@dataclass(frozen=True, eq=False)
class Sweep(Command):
    """One conditional update of all labels."""

    anchor: npt.NDArray[np.uint64]
    sizes: LongArray
    log_weight: FloatArray
    atoms: FloatArray
    log_alone: float
    iteration: int
    visited: IntArray
    strangers: int
    seed: int

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with counts, packed statistics, new clusters, labels of the scouts, and copies and labels of the rows visited."""
        parts = (self.anchor, self.sizes, self.log_weight, self.atoms, self.log_alone)
        answer: dict[str, Any] = shard.core.sweep(*parts, self.iteration)
        labels = shard.core.labels()
        rng = np.random.default_rng([self.seed, self.iteration, _STRANGERS, shard.source.number])
        strange = rng.choice(shard.strangers, min(self.strangers, len(shard.strangers)), replace=False, shuffle=False)
        rows = np.union1d(self.visited, strange)
        visited = {"rows": rows, "visited": labels[rows], "data": shard.data[rows], "fillings": shard.core.fillings_of(rows)}
        return answer | {"scouts": labels[shard.scouts]} | visited


@dataclass(frozen=True, eq=False)
class Halve(Command):
    """One scan of split and merge proposals."""

    names: Renaming | None
    role: IntArray
    side: IntArray
    act: IntArray
    even: IntArray
    anchor: LongArray
    log_share: FloatArray
    numbers: FloatArray
    start: LongArray
    iteration: int
    scan: int

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with counts, packed statistics and log probabilities of the sides."""
        shard.rename(self.names)
        parts = (self.role, self.side, self.act, self.even, self.anchor, self.log_share, self.numbers, self.start)
        answer: dict[str, Any] = shard.core.halve(*parts, self.iteration, self.scan)
        return answer


@dataclass(frozen=True, eq=False)
class Tell(Command):
    """Say the labels, or write them down, with the missing entries as they are filled in where all is wanted."""

    names: Renaming | None
    clusters: int
    path: Path | None = None
    whole: bool = False

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with the labels in as few bytes as they need and the fillings, unless they were written to files."""
        shard.rename(self.names)
        labels = shard.core.labels().astype(np.min_scalar_type(max(self.clusters - 1, 0)))
        fillings = shard.core.fillings() if self.whole else np.zeros(0)
        if self.path is None:
            return {"labels": labels, "fillings": fillings}
        write_whole(shard_file(self.path, shard.source.number), labels)
        if fillings.size:
            write_whole(fillings_file(self.path, shard.source.number), fillings)
        return {"fingerprint": fingerprint(labels, fillings)}


def fillings_file(folder: Path, shard: int) -> Path:
    """Where a shard writes its fillings, if it has some."""
    return folder / f"fillings-{shard:05d}.npy"


def fingerprint(labels: npt.NDArray[Any], fillings: FloatArray) -> str:
    """Tells whether labels and fillings are those that were written."""
    return hashlib.sha256(np.ascontiguousarray(labels).tobytes() + np.ascontiguousarray(fillings, np.float64).tobytes()).hexdigest()


def write_whole(path: Path, array: npt.NDArray[Any]) -> None:
    """The whole file or none; a second writer, after a loss, writes the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, "sample") as file:
        np.save(file, array, allow_pickle=False)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a shard answered, how long it worked, and where."""

    value: dict[str, Any]
    seconds: float
    place: str


@dataclass(frozen=True)
class Missing:
    """The worker does not hold the shard, or not in the state that the command follows on."""


_shelf: dict[tuple[str, int], WorkingShard] = {}
_locks: dict[tuple[str, int], threading.Lock] = {}
_guard = threading.Lock()


def serve(
    run: str,
    source: Source,
    serial: int,
    after: int,
    command: Command,
    history: Sequence[tuple[int, Command]] | None = None,
    data: Any = None,
    place: str = "",
) -> Answer | Missing:
    """A worker's task: obey a command that follows on command `after`, first going through `history` if it is given."""
    key = (run, source.number)
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        clock = time.perf_counter()
        shard = _shelf.get(key)
        if shard is not None and shard.serial == serial and command.changes:
            return Answer(shard.answer, 0.0, place)  # done before; the answer was lost on the way
        if shard is None or shard.serial != after:
            if history is None:
                return Missing()
            shard = _rebuild(source, history, data)
        value = _obey(shard, serial, command)
        _shelf[key] = shard
        return Answer(value, time.perf_counter() - clock, place)


def _rebuild(source: Source, history: Sequence[tuple[int, Command]], data: Any) -> WorkingShard:
    shard = WorkingShard(Source(source.number, source.name, None))
    try:
        with source.named():
            shard.data, shard.lost = source.load(data)
    except ParameterError:
        raise
    except Exception as error:
        error.add_note(f"While loading shard {source.number} ({source.name}).")
        raise
    for serial, command in history:
        _obey(shard, serial, command)
    return shard


def _obey(shard: WorkingShard, serial: int, command: Command) -> dict[str, Any]:
    with shard.source.named():
        value = command.apply(shard)
    if command.changes:
        shard.serial, shard.answer = serial, value
    return value


def forget(run: str) -> None:
    """Drop the shards of a run."""
    with _guard:
        for key in [key for key in _shelf if key[0] == run]:
            del _shelf[key]
        for key in [key for key in _locks if key[0] == run]:
            del _locks[key]
