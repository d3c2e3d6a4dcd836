"""CheckpointFolder: a distributed run in a folder, from which it can be taken up again.

    run.hedge                                model, kernel and numbers of the run
    chain-0/state-000012.hedge               after iteration 12: u, hyper-parameters, statistics of the clusters, traces
    chain-0/labels-000012/shard-00003.npy    labels of that state, written where the shards are; missing entries as they are filled in
                                             beside them
    chain-0/draws/draw-000007/...            clusters of a kept draw, and labels where those are wanted

A state is written when all its labels are there, and names their checksums, so it is whole or absent; the two newest stay.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.data import Reading
from hedgerow.data.container import FormatError, decode, encode, fitting, read_container, write_container
from hedgerow.distributed.coordinator import Coordinator
from hedgerow.distributed.options import Conditional
from hedgerow.distributed.record import Record
from hedgerow.distributed.scouts import Known
from hedgerow.distributed.working_shard import fillings_file, fingerprint
from hedgerow.errors import require
from hedgerow.mixture import MODEL_CLASSES, Mixture
from hedgerow.posterior.sharded_labels import shard_file
from hedgerow.priors.state import with_log_u
from hedgerow.sampling import Checkpoint
from hedgerow.sampling.lock import FolderLock

__all__ = ["ChainFolder", "CheckpointFolder", "Plan", "Standing"]

_RUN, _STATE, _VERSION = "distributed run", "distributed state", 2
_CLASSES: Mapping[str, type] = {**MODEL_CLASSES, "Conditional": Conditional}
_NUMBERS = ("draws", "warmup", "thin", "chains", "seed")


@dataclass(frozen=True)
class Plan:
    """What a run is to do, but for its shards."""

    model: Mixture
    kernel: Conditional
    draws: int
    warmup: int
    thin: int
    chains: int
    seed: int
    labels: str
    reading: Reading | None = None

    @property
    def total(self) -> int:
        """Iterations in all."""
        return self.warmup + self.draws * self.thin


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a run was left."""

    iteration: int
    shards: Sequence[int]
    """Numbers of the shards that have rows."""
    labels: Sequence[npt.NDArray[np.int32]]
    fillings: Sequence[npt.NDArray[np.float64]]
    state: Mapping[str, Any]
    known: Known
    traces: Mapping[str, Any]


class CheckpointFolder:
    """The folder of a run, held by one process at a time."""

    def __init__(self, checkpoint: Checkpoint, owner: str) -> None:
        self.folder = Path(checkpoint.path)
        self._every = checkpoint.every
        plain = checkpoint.note is None and not checkpoint.replace
        require(plain, owner, "checkpoint", checkpoint, "have neither replace nor note; remove the folder of an old run yourself")
        if owner == "distributed.sample":
            require(not self.folder.exists() or self.folder.is_dir(), owner, "checkpoint", str(self.folder), "name a folder")
            self.folder.mkdir(parents=True, exist_ok=True)
        else:
            there = (self.folder / "run.hedge").is_file()
            require(there, owner, "checkpoint", str(self.folder), "name the folder of a distributed run that has begun")
        refuse_links(self.folder, owner)
        self._lock = FolderLock(self.folder, owner)

    def chain(self, number: int) -> ChainFolder:
        """The part of one chain."""
        return ChainFolder(self.folder / f"chain-{number}", self._every)

    def release(self) -> None:
        """Let others write to the folder."""
        self._lock.release()

    # ---- writing

    def begin(self, plan: Plan, owner: str) -> None:
        """Write down what the run is to do; refused where there is a run already."""
        wanted = "name a new folder: this one holds a run, which hedgerow.distributed.resume() continues"
        require(not (self.folder / "run.hedge").exists(), owner, "checkpoint", str(self.folder), wanted)
        self.write(plan)

    def write(self, plan: Plan) -> None:
        """Write down what the run is to do."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        content = {
            "model": encode(plan.model, arrays, "model", _CLASSES),
            "kernel": encode(plan.kernel, arrays, "kernel", _CLASSES),
            "labels": plan.labels,
            "reading": None if plan.reading is None else plan.reading.to_json(),
        }
        content |= {name: getattr(plan, name) for name in _NUMBERS}
        write_container(self.folder / "run.hedge", _RUN, _VERSION, content, arrays)

    def plan(self) -> Plan:
        """What the run is to do."""
        stored = read_container(self.folder / "run.hedge", _RUN, (_VERSION,))
        content = stored.content
        with fitting("resume(...): run.hedge must describe a run"):
            model, kernel = (decode(content[name], stored.arrays, _CLASSES) for name in ("model", "kernel"))
            numbers = {name: int(content[name]) for name in _NUMBERS}
            good = isinstance(model, Mixture) and isinstance(kernel, Conditional) and content["labels"] in ("last", "all", "none")
            good = (
                good and min(numbers["draws"], numbers["thin"], numbers["chains"]) >= 1 and min(numbers["warmup"], numbers["seed"]) >= 0
            )
            if not good:
                raise ValueError("values out of range")
            reading = None if content["reading"] is None else Reading.from_json(content["reading"])
            return Plan(model, kernel, labels=content["labels"], reading=reading, **numbers)


def refuse_links(folder: Path, owner: str) -> None:
    """Files of the run's own only: a link could lead the next write elsewhere."""
    links = [path.name for path in folder.iterdir() if path.is_symlink()]
    require(not links, owner, "checkpoint", str(folder), f"have files of its own, not links; {', '.join(links[:1])} is one")


class ChainFolder:
    """The folder of one chain of a run."""

    def __init__(self, folder: Path, every: float | None) -> None:
        self.folder = folder
        self._every = every
        self._began = self._last = time.monotonic()
        if folder.is_dir():
            refuse_links(folder, "distributed.resume")

    @property
    def draws(self) -> Path:
        """Where clusters and labels of kept draws go."""
        return self.folder / "draws"

    def due(self) -> bool:
        """Whether it is time for a state: after `every` seconds, or ten, and a two-hundredth of the run later on."""
        now = time.monotonic()
        wait = min(max(10.0, (now - self._began) / 200), 300.0) if self._every is None else self._every
        return now - self._last >= wait

    def save(self, chain: Coordinator, iteration: int, record: Record) -> None:
        """Labels by the shards, then the state; then what is older than the state before goes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        prints = chain.write_labels(self.folder / f"labels-{iteration:06d}", whole=True)
        state, traces = chain.state(), record.traces()
        stats = traces.pop("sample_stats", {})
        arrays = {f"state.{name}": np.asarray(value) for name, value in state.items()}
        arrays |= {f"known.{i}": part for i, part in enumerate(chain.known)}
        arrays |= {f"trace.{name}": values for name, values in traces.items()}
        arrays |= {f"stat.{name}": values for name, values in stats.items()}
        content = {"iteration": iteration, "shards": [source.number for source in chain.workers.sources], "labels": prints}
        write_container(self.folder / f"state-{iteration:06d}.hedge", _STATE, _VERSION, content, arrays)
        self._last = time.monotonic()
        for old in self._states()[2:]:
            (self.folder / f"state-{old:06d}.hedge").unlink()
        kept = set(self._states())
        for path in self.folder.glob("labels-*"):
            if re.fullmatch(r"labels-\d{6,}", path.name) and int(path.name[7:]) not in kept:
                shutil.rmtree(path)

    def standing(self) -> Standing | None:
        """The newest state that is whole; None before the first. A damaged one gives way to the one before."""
        trouble: FormatError | None = None
        for iteration in self._states():
            try:
                return self._read(iteration)
            except FormatError as error:
                trouble = trouble or error
        if trouble is not None:
            raise trouble
        return None

    def _states(self) -> list[int]:
        """Iterations of the states there are, newest first."""
        if not self.folder.is_dir():
            return []
        found = (re.fullmatch(r"state-(\d{6,})\.hedge", path.name) for path in self.folder.iterdir())
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def _read(self, iteration: int) -> Standing:
        path = self.folder / f"state-{iteration:06d}.hedge"
        stored = read_container(path, _STATE, (_VERSION,))
        try:
            if stored.content["iteration"] != iteration:
                raise ValueError("another iteration")
            shards = [int(shard) for shard in stored.content["shards"]]
            parts = [_labels(self.folder, iteration, at, mark) for at, mark in zip(shards, stored.content["labels"], strict=True)]
            part = {kind: _named(stored.arrays, kind) for kind in ("state", "known", "trace", "stat")}
            known = part["known"]["0"], part["known"]["1"], part["known"]["2"]
            state = {name: value if value.ndim else value.item() for name, value in part["state"].items()}
            traces = with_log_u(part["trace"]) | ({"sample_stats": part["stat"]} if part["trace"] else {})
            return Standing(iteration, shards, [part[0] for part in parts], [part[1] for part in parts], state, known, traces)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
            raise FormatError(
                f"resume(...): {path.name} must be whole, with its labels. Got parts that do not fit together: {error}."
            ) from error


def _named(arrays: Mapping[str, npt.NDArray[Any]], kind: str) -> dict[str, npt.NDArray[Any]]:
    return {name[len(kind) + 1 :]: array for name, array in arrays.items() if name.startswith(f"{kind}.")}


def _labels(folder: Path, iteration: int, shard: int, found: Any) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Labels and fillings of a shard."""
    place = folder / f"labels-{iteration:06d}"
    path, beside = shard_file(place, shard), fillings_file(place, shard)
    labels: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    fillings: npt.NDArray[Any] = np.load(beside, allow_pickle=False) if beside.is_file() else np.zeros(0)
    good = labels.ndim == fillings.ndim == 1 and labels.dtype.kind in "iu" and fillings.dtype == np.float64
    if not good or fingerprint(labels, fillings) != found:
        raise ValueError(f"{path.name} has changed")
    return labels.astype(np.int32), fillings
