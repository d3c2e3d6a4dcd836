"""Manifest: what a run's folder holds, which is what is written in the newest readable manifest and nothing else.

    plan.hedge                    the plan of the run, written once; plan-000040.hedge if it has replaced another
    note-000012.hedge             what the owner of the run wants back with it
    chain0-draws-000003.hedge     consecutive draws of a chain, never changed
    chain0-state-000007.hedge     the chain after the last of its draws; the last two are kept
    chain0-kernel-000001.hedge    what the kernel carries, written when it has changed
    manifest-000012.hedge         names and sha256 of all of these; the last two are kept
    lock                          held by the one process that writes

Every file is written under a temporary name, flushed to the disk and renamed; the manifest comes last. So whenever a run is
killed, the newest manifest speaks of whole files only. A run takes the place of another the same way: its files have higher
numbers, and until its first manifest is there the folder holds the run before.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hedgerow.data.container import FormatError, fitting, read_container, write_container
from hedgerow.errors import require
from hedgerow.sampling.agreement import Course
from hedgerow.writing import TEMPORARY

__all__ = [
    "ChainFiles",
    "File",
    "Manifest",
    "StoredState",
    "clear",
    "newest_manifest",
    "next_number",
    "refuse_links",
    "sha256_of",
    "sweep",
    "write_manifest",
]

_KIND = "manifest"
_VERSION = 1
_NAME = re.compile(r"plan\.hedge|(?:plan|note|manifest|chain\d+-(?:draws|state|kernel))-(\d{6,18})\.hedge")
_LEFTOVER = re.compile(rf"{TEMPORARY}({_NAME.pattern}|labels\.npy)|\.({_NAME.pattern})\.[0-9a-f]+\.tmp|\.labels\.npy\.tmp")


@dataclass(frozen=True)
class File:
    """A file by name and content; `count` draws, if it holds draws."""

    name: str
    sha256: str
    count: int = 0


@dataclass(frozen=True)
class StoredState:
    """A chain after `done` iterations, of which the draws are in the first `files` draw files."""

    done: int
    files: int
    rng: tuple[str, ...]
    state: File
    kernel: File


@dataclass(frozen=True)
class ChainFiles:
    """The files of one chain: its draws in order, its last states, newest last, and the next number for a file."""

    draws: tuple[File, ...] = ()
    states: tuple[StoredState, ...] = ()
    number: int = 0

    @property
    def drawn(self) -> int:
        """Draws in all files."""
        return sum(file.count for file in self.draws)

    def files(self) -> set[str]:
        """Names of all files."""
        return {file.name for file in self.draws} | {f.name for state in self.states for f in (state.state, state.kernel)}

    def back_to(self, state: StoredState) -> ChainFiles:
        """The same chain as of an earlier state."""
        kept = self.states[: self.states.index(state) + 1]
        return replace(self, draws=self.draws[: state.files], states=kept)


@dataclass(frozen=True)
class Manifest:
    """All of a run: numbers that change as it goes, and the files of every chain."""

    plan: File
    draws: int
    chains: tuple[ChainFiles, ...]
    sequence: int = 0
    seconds: float = 0.0
    sessions: int = 1
    started: str = ""
    instruction_set: str = ""
    note: File | None = None
    course: Course | None = None
    written_by: str = field(default="", compare=False)

    def files(self) -> set[str]:
        """Names of all files spoken of."""
        names = {self.plan.name, _manifest_name(self.sequence), _manifest_name(self.sequence - 1)}
        names |= set() if self.note is None else {self.note.name}
        return names.union(*(chain.files() for chain in self.chains))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make this the newest manifest; the one before the last goes."""
    content = {
        "plan": _file_out(manifest.plan),
        "draws": manifest.draws,
        "sequence": manifest.sequence,
        "seconds": manifest.seconds,
        "sessions": manifest.sessions,
        "started": manifest.started,
        "instruction_set": manifest.instruction_set,
        "chains": [_chain_out(chain) for chain in manifest.chains],
        "note": None if manifest.note is None else _file_out(manifest.note),
        "course": None if manifest.course is None else manifest.course.stored(),
    }
    write_container(folder / _manifest_name(manifest.sequence), _KIND, _VERSION, content, {})
    (folder / _manifest_name(manifest.sequence - 2)).unlink(missing_ok=True)


def newest_manifest(folder: Path) -> Manifest | None:
    """The newest manifest that can be read; None where there is none at all."""
    names = [path.name for path in folder.iterdir() if re.fullmatch(r"manifest-\d+\.hedge", path.name)]
    found = [folder / name for name in sorted(names, key=lambda name: int(name[9:-6]), reverse=True)]
    trouble: Exception | None = None
    for path in found:
        try:
            stored = read_container(path, _KIND, (_VERSION,))
            with fitting(f"resume(...): {path.name} must be a whole manifest"):
                return replace(_manifest_in(stored.content), written_by=stored.written_by)
        except FormatError as error:
            trouble = trouble or error
    if trouble is not None:
        raise trouble
    return None


def next_number(folder: Path) -> int:
    """A number above those of all files that a run has left in the folder; 0 where there are none."""
    found = [_NAME.fullmatch(path.name) for path in folder.iterdir()]
    return max((int(match[1] or 0) + 1 for match in found if match), default=0)


def refuse_links(folder: Path, owner: str) -> None:
    """A run's files are its own: a folder of a stranger's must not lead elsewhere."""
    for path in folder.iterdir():
        ours = _NAME.fullmatch(path.name) or path.name == "labels.npy"
        require(
            not (ours and path.is_symlink()), owner, "checkpoint", str(folder), f"have files of its own, not links; {path.name} is one"
        )


def sweep(folder: Path, manifest: Manifest) -> None:
    """Remove what a killed run left behind: files of ours that the manifest does not speak of."""
    spoken_of = manifest.files()
    for path in folder.iterdir():
        ours = _NAME.fullmatch(path.name) or _LEFTOVER.fullmatch(path.name)
        if ours and path.name not in spoken_of:
            path.unlink()


def clear(folder: Path) -> None:
    """Remove a whole run from a folder, and nothing else that is there."""
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name) or _LEFTOVER.fullmatch(path.name) or path.name == "labels.npy":
            path.unlink()


def sha256_of(path: Path) -> str:
    """Fingerprint of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest_name(sequence: int) -> str:
    return f"manifest-{sequence:06d}.hedge"


def _file_out(file: File) -> list[Any]:
    return [file.name, file.sha256, file.count]


def _chain_out(chain: ChainFiles) -> dict[str, Any]:
    states = [
        {
            "done": state.done,
            "files": state.files,
            "rng": list(state.rng),
            "state": _file_out(state.state),
            "kernel": _file_out(state.kernel),
        }
        for state in chain.states
    ]
    return {"draws": [_file_out(file) for file in chain.draws], "states": states, "number": chain.number}


def _file_in(stored: Any) -> File:
    name, digest, count = stored
    if not _NAME.fullmatch(name) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise ValueError(f"a file called {str(name)[:60]!r}")
    return File(name, digest, _count(count))


def _chain_in(stored: Mapping[str, Any]) -> ChainFiles:
    draws = tuple(_file_in(file) for file in stored["draws"])
    states = tuple(
        StoredState(
            _count(state["done"]),
            _count(state["files"]),
            tuple(re.fullmatch("[0-9a-f]{16}", word)[0] for word in state["rng"]),  # type: ignore[index]
            _file_in(state["state"]),
            _file_in(state["kernel"]),
        )
        for state in stored["states"]
    )
    if any(state.files > len(draws) or len(state.rng) != 4 for state in states):
        raise ValueError("a state that is ahead of its draws")
    return ChainFiles(draws, states, _count(stored["number"]))


def _manifest_in(content: Mapping[str, Any]) -> Manifest:
    return Manifest(
        plan=_file_in(content["plan"]),
        draws=_count(content["draws"]),
        chains=tuple(_chain_in(chain) for chain in content["chains"]),
        sequence=_count(content["sequence"]),
        seconds=float(content["seconds"]),
        sessions=_count(content["sessions"]),
        started=str(content["started"]),
        instruction_set=str(content["instruction_set"]),
        note=None if content.get("note") is None else _file_in(content["note"]),  # folders of older runs have none
        course=None if content.get("course") is None else Course.read(content["course"]),
    )


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError(f"a count of {str(value)[:60]}")
    return value
