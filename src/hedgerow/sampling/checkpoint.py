"""A run in a folder: begun there, gone on with, looked into, and what is said of it; `manifest` tells what is in the folder."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hedgerow import _core
from hedgerow.arguments import check_flag, check_whole, is_whole, real_number
from hedgerow.data.container import FormatError, own_version
from hedgerow.docstrings import explained
from hedgerow.errors import ParameterError, in_bytes, require
from hedgerow.kernels import Kernel
from hedgerow.mixture import Mixture
from hedgerow.sampling.agreement import ENDLESS, Agreement
from hedgerow.sampling.blocks import Begin
from hedgerow.sampling.chain_files import (
    check_file,
    read_note,
    read_state,
    write_note,
)
from hedgerow.sampling.description import read_description, write_description
from hedgerow.sampling.folder_recorder import FolderRecorder
from hedgerow.sampling.lock import FolderLock
from hedgerow.sampling.manifest import (
    ChainFiles,
    File,
    Manifest,
    clear,
    newest_manifest,
    next_number,
    refuse_links,
    sha256_of,
    sweep,
    write_manifest,
)
from hedgerow.sampling.plan import Plan
from hedgerow.writing import check_path

__all__ = ["Checkpoint", "clear_folder", "continue_folder", "look_into", "run_note", "run_status", "start_folder"]


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

    >>> Checkpoint("runs/wine", every=60).replace
    False
    >>> Checkpoint.read("runs/wine", "sample").path
    'runs/wine'
    """

    path: str | os.PathLike[str]
    every: float | None = None
    replace: bool = False
    note: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what is no path and no time."""
        check_path(self.path, "Checkpoint")
        good = self.every is None or real_number(self.every) >= 0
        require(good, "Checkpoint", "every", self.every, "be a number of seconds from 0 up, or None")
        check_flag("Checkpoint", "replace", self.replace)
        require(self.note is None or isinstance(self.note, Mapping), "Checkpoint", "note", self.note, "be a mapping, or None")

    @classmethod
    def read(cls, given: Any, owner: str) -> Checkpoint:
        """A Checkpoint as it is, or one for a path.

        Parameters
        ----------
        given : path or Checkpoint
        owner : str
            Who asks, for the error.

        Returns
        -------
        Checkpoint
        """
        if isinstance(given, Checkpoint):
            return given
        good = isinstance(given, (str, os.PathLike))
        require(good, owner, "checkpoint", given, "be the path of a folder, or a Checkpoint")
        check_path(given, owner, "checkpoint")
        return cls(given)


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
            course=plan.course,
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
    checkpoint: Checkpoint, model: Mixture | None, kernel: Kernel | None, draws: int | None, until: Agreement | None = None
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
        plan = _at_its_round(plan, manifest, draws, until)
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


TRIALS = 5  # to read states of a run that goes on


def look_into(path: str | os.PathLike[str], owner: str) -> tuple[Plan, FolderRecorder, list[Begin]]:
    """The plan of a run and its draws so far, to read only: whoever writes to the folder goes on."""
    folder = check_path(path, owner, "checkpoint")
    for trial in range(TRIALS):
        manifest = newest_manifest(folder) if folder.is_dir() else None
        begun = manifest is not None and any(chain.drawn or chain.states for chain in manifest.chains)
        require(begun, owner, "checkpoint", str(path), "name the folder of a run that has draws, or whose chains have set out")
        assert manifest is not None
        check_file(folder, manifest.plan)
        plan = _at_its_round(read_description(folder / manifest.plan.name, None, None), manifest, None, None)
        try:
            begins = [] if any(chain.drawn for chain in manifest.chains) else [_newest(folder, chain) for chain in manifest.chains]
            return plan, FolderRecorder(folder, None, manifest, plan.n, None), begins
        except (FormatError, OSError):  # the run has gone on meanwhile, and these states with it
            if trial == TRIALS - 1:
                raise
    raise AssertionError("the last trial returns or raises")


def _newest(folder: Path, chain: ChainFiles) -> Begin:
    """Where a chain stands by its newest state."""
    if not chain.states:
        return Begin()
    state = chain.states[-1]
    check_file(folder, state.state)
    check_file(folder, state.kernel)
    return Begin(state.done, read_state(folder, state))


def clear_folder(path: str | os.PathLike[str]) -> None:
    """Take a run out of its folder; refused while somebody writes to it.

    Parameters
    ----------
    path : path

    >>> import tempfile
    >>> import hedgerow as hr
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    >>> _ = hr.sample(model, [[0.0], [9.0]], draws=2, warmup=2, chains=1, seed=0, checkpoint=folder)
    >>> clear_folder(folder)
    >>> run_status(folder) is None
    True
    """
    with FolderLock(Path(path), "clear_folder"):
        clear(Path(path))


_of_folder = explained("path : path\n    The folder of a run.")


@_of_folder
def run_status(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Draws of all chains that a folder holds and those asked for; None where no run has begun.

    Returns
    -------
    (int, int) or None

    >>> import tempfile
    >>> run_status(tempfile.mkdtemp()) is None
    True
    """
    folder = Path(path)
    manifest = newest_manifest(folder) if folder.is_dir() else None
    if manifest is None:
        return None
    return sum(chain.drawn for chain in manifest.chains), manifest.draws * len(manifest.chains)


@_of_folder
def run_note(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What `Checkpoint(note=...)` has left with the run of a folder; None where there is none.

    Returns
    -------
    dict or None

    >>> import tempfile
    >>> import hedgerow as hr
    >>> place = Checkpoint(tempfile.mkdtemp() + "/run", note={"title": "Wine"})
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    >>> _ = hr.sample(model, [[0.0], [9.0]], draws=2, warmup=2, chains=1, seed=0, checkpoint=place)
    >>> run_note(place.path)
    {'title': 'Wine'}
    """
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


def _at_its_round(plan: Plan, manifest: Manifest, draws: int | None, until: Agreement | None) -> Plan:
    """The plan as far as its run has come, with what is asked of it now."""
    if plan.until is None:
        require(until is None, "resume", "until", until, "be left out: the run was begun with a number of draws")
        return replace(plan, draws=_read_draws(draws, manifest))
    require(draws is None or until is None, "resume", "draws", draws, "be left out beside until=")
    if manifest.course is None:
        raise FormatError("resume(...): the manifest must tell the round of a run of open length. Got none.")
    if draws is not None:
        until = replace(plan.until, max_draws=_read_draws(draws, manifest), ess=ENDLESS)
    return replace(plan, until=plan.until if until is None else until).at(manifest.course)


def _read_draws(draws: int | None, manifest: Manifest) -> int:
    if draws is None:
        return manifest.draws
    good = is_whole(draws) and draws >= manifest.draws
    require(good, "resume", "draws", draws, f"be a whole number from {manifest.draws} up, the draws asked for before")
    check_whole("resume", "draws", draws)
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
            f"{in_bytes(needed)} and the disk of the checkpoint has {in_bytes(free)} free. Ask for fewer draws or "
            f"chains, or use thin= to keep them far apart."
        )
