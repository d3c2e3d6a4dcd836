"""Draws streamed to a folder, with the states to go on from; `manifest` tells what is in the folder."""

from __future__ import annotations

import os
import shutil
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.container import FormatError
from hedgerow.errors import ParameterError, require
from hedgerow.kernels import Kernel
from hedgerow.mixture import Mixture
from hedgerow.sampling.chain import TRACES, Block
from hedgerow.sampling.description import read_description, write_description
from hedgerow.sampling.lock import FolderLock
from hedgerow.sampling.manifest import (
    ChainFiles,
    File,
    Manifest,
    StateFile,
    clear,
    newest_manifest,
    next_number,
    own_version,
    refuse_links,
    sha256_of,
    sweep,
    write_manifest,
)
from hedgerow.sampling.pieces import (
    carried_digest,
    check_file,
    read_block,
    read_note,
    read_state,
    write_block,
    write_carried,
    write_note,
    write_state,
)
from hedgerow.sampling.plan import MOST, Plan
from hedgerow.sampling.recorder import Arrays, FloatArray, Recorder, rectangle
from hedgerow.sampling.walk import Begin, News, Pace
from hedgerow.writing import check_path, whole_path

__all__ = ["Checkpoint", "FolderRecorder", "clear_folder", "continue_folder", "run_note", "run_status", "start_folder"]

_LABELS = "labels.npy"
_IN_MEMORY = 256 << 20  # bytes of labels beyond which the posterior's are a file mapped into memory


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is kept, and how often.

    Parameters
    ----------
    path : str or path
        A folder, or a link to one; made if it is not there.
    every : float, optional
        Seconds between states. By default 10 at first and a two-hundredth of the time run so far later on, at most 300.
    replace : bool
        Whether a new run may take the place of one that is in the folder. That one stays as it was until the new one has
        run its first block; a run that is refused, fails or is killed before leaves it untouched.
    note : mapping, optional
        Anything that is plain JSON, kept with the run: `run_note(path)` gives it back. `resume` with a note changes it.
    """

    path: str | os.PathLike[str]
    every: float | None = None
    replace: bool = False
    note: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what is no path and no time."""
        require(isinstance(self.path, (str, os.PathLike)), "Checkpoint", "path", self.path, "be the path of a folder")
        check_path(self.path, "Checkpoint")
        good = self.every is None or (isinstance(self.every, (int, float)) and self.every >= 0)
        require(good, "Checkpoint", "every", self.every, "be a number of seconds from 0 up, or None")
        require(isinstance(self.replace, bool), "Checkpoint", "replace", self.replace, "be True or False")
        require(self.note is None or isinstance(self.note, Mapping), "Checkpoint", "note", self.note, "be a mapping, or None")

    @classmethod
    def read(cls, given: Any, owner: str) -> Checkpoint:
        """A Checkpoint as it is, or one for a path."""
        if isinstance(given, Checkpoint):
            return given
        good = isinstance(given, (str, os.PathLike))
        require(good, owner, "checkpoint", given, "be the path of a folder, or a Checkpoint")
        check_path(given, owner, "checkpoint")
        return cls(given)


class FolderRecorder(Recorder):
    """Writes a chain's blocks as one file whenever it hands over its state; holds the folder's lock."""

    def __init__(self, folder: Path, lock: FolderLock, manifest: Manifest, n: int, every: float | None) -> None:
        self.pace = Pace(wanted=True, every=every)
        self.seconds_before, self.started, self.sessions = manifest.seconds, manifest.started, manifest.sessions
        self._folder, self._lock, self._manifest, self._n = folder, lock, manifest, n
        self._waiting: list[list[Block]] = [[] for _ in manifest.chains]
        self._digests: dict[str, str] = {}
        self._clock = time.monotonic()
        self._begun = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let others write to the folder; a run that never came to replace another goes without a trace."""
        if not self._begun:
            for name in self._manifest.files():
                (self._folder / name).unlink(missing_ok=True)
        self._lock.release()

    def wait(self) -> Self:
        """Leave the folder to the run that is in it until the first news of this one."""
        self._begun = False
        return self

    def _begin(self) -> None:
        """Take the place of the run before: with the manifest that one is gone, and its files are only in the way."""
        write_manifest(self._folder, self._manifest)
        self._begun = True
        with suppress(OSError):  # whoever opens the folder next sweeps again
            sweep(self._folder, self._manifest)
            (self._folder / _LABELS).unlink(missing_ok=True)

    def add(self, news: News) -> None:
        """Keep a block until its chain hands over its state; then write both and, last, the manifest."""
        if not self._begun:
            self._begin()
        index = news.update.chain
        if news.block is not None:
            self._waiting[index].append(news.block)
        if news.state is not None:
            self._commit(index, news.update.done, news.state)
            self._waiting[index].clear()

    def _commit(self, index: int, done: int, state: dict[str, Any]) -> None:
        chain = self._manifest.chains[index]
        tail = f"{chain.number:06d}.hedge"
        if self._waiting[index]:
            block = Block.join(self._waiting[index])
            file = write_block(self._folder / f"chain{index}-draws-{tail}", block, chain.drawn)
            chain = replace(chain, draws=(*chain.draws, file))
        digest = carried_digest(state)
        kernel = chain.states[-1].kernel if chain.states else None
        if kernel is None or self._digests.get(kernel.name) != digest:
            kernel = write_carried(self._folder / f"chain{index}-kernel-{tail}", state)
            self._digests = {name: kept for name, kept in self._digests.items() if not name.startswith(f"chain{index}-")}
            self._digests[kernel.name] = digest
        stored = write_state(self._folder / f"chain{index}-state-{tail}", state)
        rng = tuple(f"{int(word):016x}" for word in state["rng"])
        states = (*chain.states, StateFile(done, len(chain.draws), rng, stored, kernel))
        self._publish(index, replace(chain, states=states[-2:], number=chain.number + 1))

    def _publish(self, index: int, chain: ChainFiles) -> None:
        """Make the chain's new files part of the run, then drop those that are no longer."""
        old = self._manifest
        chains = (*old.chains[:index], chain, *old.chains[index + 1 :])
        seconds = self.seconds_before + time.monotonic() - self._clock
        new = replace(old, chains=chains, sequence=old.sequence + 1, seconds=round(seconds, 3))
        write_manifest(self._folder, new)
        self._manifest = new
        for name in old.chains[index].files() - chain.files():
            (self._folder / name).unlink(missing_ok=True)

    def filled(self) -> npt.NDArray[np.intp]:
        """Draws of each chain in the folder."""
        return np.array([chain.drawn for chain in self._manifest.chains], np.intp)

    def arrays(self) -> Arrays:
        """Labels, traces and statistics of the rectangle, read back from the files; many labels stay on disk."""
        chains, draws = rectangle(self.filled())
        shape = (len(chains), draws, self._n)
        if 4 * shape[0] * shape[1] * shape[2] <= _IN_MEMORY:
            labels: npt.NDArray[np.int32] = np.empty(shape, np.int32)
            return labels, *self._fill(labels, chains)
        with whole_path(self._folder / _LABELS) as place:
            mapped = np.lib.format.open_memmap(place, "w+", np.int32, shape)
            traces, stats = self._fill(mapped, chains)
            mapped.flush()
        return np.load(self._folder / _LABELS, mmap_mode="r"), traces, stats

    def _fill(self, labels: npt.NDArray[np.int32], chains: npt.NDArray[np.intp]) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """Read the draws of these chains into `labels`; returns traces and statistics."""
        shape = labels.shape
        traces: dict[str, FloatArray] = {}
        stats: dict[str, FloatArray] = {}
        for row, index in enumerate(chains):
            first = 0
            for file in self._manifest.chains[index].draws:
                block = read_block(self._folder, file, self._n)
                rows = slice(first, min(first + len(block), shape[1]))
                taken = rows.stop - first
                labels[row, rows] = block.labels[:taken]
                for store, values in ((traces, {name: getattr(block, name) for name in TRACES}), (stats, block.stats)):
                    for name, value in values.items():
                        if name not in store:
                            store[name] = np.full((*shape[:2], *value.shape[1:]), np.nan)
                        if store[name].shape[2:] != value.shape[1:]:
                            raise FormatError(f"resume(...): {file.name} must hold draws as the files before it do. Got others.")
                        store[name][row, rows] = value[:taken]
                first = rows.stop
                if first == shape[1]:
                    break
        return traces, stats


def start_folder(checkpoint: Checkpoint, plan: Plan) -> FolderRecorder:
    """A folder for a new run, with its plan and an empty manifest; refused if a run is there that it may not replace."""
    folder = Path(checkpoint.path)
    shown = str(checkpoint.path)
    require(not folder.exists() or folder.is_dir(), "sample", "checkpoint", shown, "name a folder, not a file")
    require(folder.exists() or not folder.is_symlink(), "sample", "checkpoint", shown, "not be a link to a folder that is not there")
    folder.mkdir(parents=True, exist_ok=True)
    lock = FolderLock(folder, "sample")
    written: list[Path] = []
    try:
        refuse_links(folder, "sample")
        there = any(folder.glob("manifest-*.hedge"))
        if there and not checkpoint.replace:
            wanted = "name a new folder: this one holds a run, which hedgerow.resume() continues"
            require(False, "sample", "checkpoint", shown, wanted)
        _check_disk(folder, plan, "sample")
        number = next_number(folder)
        name = f"plan-{number:06d}.hedge" if there else "plan.hedge"
        written = [folder / name, folder / f"note-{number:06d}.hedge"]
        write_description(written[0], plan)
        manifest = Manifest(
            plan=File(name, sha256_of(folder / name)),
            draws=plan.draws,
            chains=(ChainFiles(number=number),) * plan.chains,
            sequence=number + 1 if there else 0,  # the last manifest but one is believed too: it must not be another run's
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            instruction_set=_core.instruction_set(),
            note=None if checkpoint.note is None else write_note(written[1], checkpoint.note),
        )
        recorder = FolderRecorder(folder, lock, manifest, plan.n, checkpoint.every)
        if there:
            return recorder.wait()
        write_manifest(folder, manifest)
        sweep(folder, manifest)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        lock.release()
        raise
    return recorder


def continue_folder(
    checkpoint: Checkpoint, model: Mixture | None, kernel: Kernel | None, draws: int | None
) -> tuple[Plan, list[Begin], FolderRecorder]:
    """The plan of a run that was stopped, where its chains stand, and its folder to go on with.

    A chain whose last state is damaged goes back to the one before, and draws the same again.
    """
    folder = Path(checkpoint.path)
    require(folder.is_dir(), "resume", "checkpoint", str(checkpoint.path), "name the folder of a run")
    lock = FolderLock(folder, "resume")
    try:
        refuse_links(folder, "resume")
        manifest = newest_manifest(folder)
        if manifest is None:
            require(False, "resume", "checkpoint", str(checkpoint.path), "name the folder of a run that has begun")
            raise AssertionError  # for the type checker: require has raised
        check_file(folder, manifest.plan)
        plan = read_description(folder / manifest.plan.name, model, kernel)
        if len(manifest.chains) != plan.chains:
            raise FormatError(f"resume(...): the manifest must speak of {plan.chains} chains. Got {len(manifest.chains)}.")
        plan = replace(plan, draws=_read_draws(draws, manifest))
        _check_disk(folder, plan, "resume", drawn=sum(chain.drawn for chain in manifest.chains))
        _warn_of_changes(manifest)
        begins, chains = [], []
        for chain in manifest.chains:
            begin, kept = _latest(folder, chain, plan)
            begins.append(begin)
            chains.append(kept)
        note = manifest.note
        if checkpoint.note is not None:
            note = write_note(folder / f"note-{next_number(folder):06d}.hedge", checkpoint.note)
        manifest = replace(
            manifest,
            draws=plan.draws,
            note=note,
            chains=tuple(chains),
            sequence=manifest.sequence + 1,
            sessions=manifest.sessions + 1,
            instruction_set=_core.instruction_set(),
        )
        write_manifest(folder, manifest)
        sweep(folder, manifest)
    except BaseException:
        lock.release()
        raise
    return plan, begins, FolderRecorder(folder, lock, manifest, plan.n, checkpoint.every)


def clear_folder(path: str | os.PathLike[str]) -> None:
    """Take a run out of its folder; refused while somebody writes to it."""
    with FolderLock(Path(path), "clear_folder"):
        clear(Path(path))


def run_status(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Draws of all chains that a folder holds and those asked for; None where no run has begun."""
    folder = Path(path)
    manifest = newest_manifest(folder) if folder.is_dir() else None
    if manifest is None:
        return None
    return sum(chain.drawn for chain in manifest.chains), manifest.draws * len(manifest.chains)


def run_note(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What `Checkpoint(note=...)` has left with the run of a folder; None where there is none."""
    folder = Path(path)
    manifest = newest_manifest(folder) if folder.is_dir() else None
    if manifest is None or manifest.note is None:
        return None
    check_file(folder, manifest.note)
    return read_note(folder, manifest.note)


def _latest(folder: Path, chain: ChainFiles, plan: Plan) -> tuple[Begin, ChainFiles]:
    trouble: FormatError | None = None
    for state in reversed(chain.states):
        try:
            for file in (state.state, state.kernel):
                check_file(folder, file)
            begin = Begin(state.done, read_state(folder, state))
        except FormatError as error:
            trouble = trouble or error
            continue
        kept = chain.back_to(state)
        for file in kept.draws:
            check_file(folder, file)
        if begin.done > plan.total or kept.drawn != max(0, begin.done - plan.warmup) // plan.thin:
            raise FormatError(f"resume(...): {state.state.name} must stand where its draws end. Got {begin.done} iterations.")
        return begin, kept
    if trouble is not None:
        raise trouble
    return Begin(), ChainFiles(number=chain.number)


def _read_draws(draws: int | None, manifest: Manifest) -> int:
    if draws is None:
        return manifest.draws
    good = hasattr(draws, "__index__") and not isinstance(draws, bool) and draws >= manifest.draws
    require(good, "resume", "draws", draws, f"be a whole number from {manifest.draws} up, the draws asked for before")
    require(draws <= MOST, "resume", "draws", draws, f"be at most {MOST:,}")
    return int(draws)


def _warn_of_changes(manifest: Manifest) -> None:
    for what, then, now in (
        ("Hedgerow", manifest.written_by, own_version()),
        ("instruction set", manifest.instruction_set, _core.instruction_set()),
    ):
        if then != now:
            message = f"This run was begun with {what} {then} and goes on with {now}: still draws from the posterior, but not "
            warnings.warn(message + "those of an uninterrupted run to the last bit.", stacklevel=4)


def _check_disk(folder: Path, plan: Plan, owner: str, drawn: int = 0) -> None:
    """Refuse a run whose labels cannot fit, at one byte each, before it starts and not after days."""
    needed, free = max(0, plan.chains * plan.draws - drawn) * plan.n, shutil.disk_usage(folder).free
    if needed > free:
        raise ParameterError(
            f"{owner}(draws={plan.draws}, chains={plan.chains}): the labels of {plan.n} rows need at least "
            f"{needed / 2**30:.1f} GiB and the disk of the checkpoint has {free / 2**30:.1f} GiB free. Ask for fewer draws or "
            f"chains, or use thin= to keep them far apart."
        )
