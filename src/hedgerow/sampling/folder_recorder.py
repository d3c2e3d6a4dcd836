"""Draws recorded to a folder as they are made, with the states to go on from; `manifest` tells what is in the folder."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.data.container import FormatError
from hedgerow.sampling.agreement import Course
from hedgerow.sampling.blocks import Begin, News, Pace
from hedgerow.sampling.chain import TRACES, Block
from hedgerow.sampling.chain_files import carried_digest, read_block, write_block, write_carried, write_state
from hedgerow.sampling.lock import FolderLock
from hedgerow.sampling.manifest import ChainFiles, Manifest, StoredState, sweep, write_manifest
from hedgerow.sampling.recorder import JUDGED, Arrays, FloatArray, Recorder, rectangle
from hedgerow.summaries.narrow import MANY, label_type
from hedgerow.writing import whole_path

__all__ = ["FolderRecorder"]

_LABELS = "labels.npy"
_IN_MEMORY = 256 << 20  # bytes of labels beyond which the posterior's are a file mapped into memory


class FolderRecorder(Recorder):
    """Writes a chain's blocks as one file whenever it hands over its state; holds the folder's lock."""

    def __init__(self, folder: Path, lock: FolderLock | None, manifest: Manifest, n: int, every: float | None) -> None:
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
        if self._lock is not None:
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
        states = (*chain.states, StoredState(done, len(chain.draws), rng, stored, kernel))
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

    def traces(self) -> dict[str, FloatArray]:
        """Log joints and numbers of clusters of the rectangle, read back from the files."""
        chains, draws = rectangle(self.filled())
        found: dict[str, list[FloatArray]] = {name: [] for name in JUDGED}
        for index in chains:
            blocks = [read_block(self._folder, file, self._n) for file in self._manifest.chains[index].draws]
            for name, rows in found.items():
                rows.append(np.concatenate([getattr(block, name) for block in blocks])[:draws].astype(np.float64))
        return {name: np.stack(rows) for name, rows in found.items()}

    def turn(self, course: Course, begins: Sequence[Begin] | None) -> None:
        """Write down that another round has begun and, if nothing before it counts, where its chains set out."""
        old = self._manifest
        chains = old.chains
        if begins is not None:
            self._digests.clear()
            chains = tuple(self._set_out(i, chain, begin.state) for i, (chain, begin) in enumerate(zip(chains, begins, strict=True)))
        new = replace(old, chains=chains, draws=course.draws, course=course, sequence=old.sequence + 1)
        write_manifest(self._folder, new)
        self._manifest = new
        for name in old.files() - new.files():
            (self._folder / name).unlink(missing_ok=True)

    def _set_out(self, index: int, chain: ChainFiles, state: dict[str, Any] | None) -> ChainFiles:
        """A chain at its first iteration again, from the state it has come to."""
        assert state is not None
        tail = f"{chain.number:06d}.hedge"
        kernel = write_carried(self._folder / f"chain{index}-kernel-{tail}", state)
        stored = write_state(self._folder / f"chain{index}-state-{tail}", state)
        rng = tuple(f"{int(word):016x}" for word in state["rng"])
        return ChainFiles(states=(StoredState(0, 0, rng, stored, kernel),), number=chain.number + 1)

    def arrays(self) -> Arrays:
        """Labels, traces and statistics of the rectangle, read back from the files; many labels stay on disk."""
        chains, draws = rectangle(self.filled())
        shape = (len(chains), draws, self._n)
        narrow = np.dtype(self._type(shape, chains))
        if narrow.itemsize * math.prod(shape) <= _IN_MEMORY:
            labels: npt.NDArray[Any] = np.empty(shape, narrow)
            return labels, *self._fill(labels, chains)
        if self._lock is None:  # somebody else's folder: a file without a name, which goes with the array
            with tempfile.TemporaryFile() as file:
                nameless = np.memmap(file, narrow, "w+", shape=shape)
            return nameless, *self._fill(nameless, chains)
        with whole_path(self._folder / _LABELS) as place:
            mapped = np.lib.format.open_memmap(place, "w+", narrow, shape)
            traces, stats = self._fill(mapped, chains)
            mapped.flush()
        return np.load(self._folder / _LABELS, mmap_mode="r"), traces, stats

    def _type(self, shape: tuple[int, int, int], chains: npt.NDArray[np.intp]) -> npt.DTypeLike:
        """What the labels of these chains are kept as."""
        if math.prod(shape) <= MANY:
            return np.int32
        files = [file for index in chains for file in self._manifest.chains[index].draws]
        return label_type(math.prod(shape), max(int(read_block(self._folder, file, self._n).labels.max()) for file in files))

    def _fill(self, labels: npt.NDArray[Any], chains: npt.NDArray[np.intp]) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
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
