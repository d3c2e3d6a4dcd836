"""The state of `hedgerow stream` on disk: the trees, and how many lines of input are in them.

The file is replaced whole, under a temporary name first, and the one before is kept beside it as FILE.before. So a kill at
any moment leaves a state that was true between two batches; rows answered since then have to come again. Whoever feeds the
stream either repeats the input from its start (--replay skips the lines that are in the state), or sends what comes after
the `lines` that the stream told last. With --whole-batches the answers are then the same as if nothing had happened.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hedgerow.data.container import FormatError
from hedgerow.errors import ParameterError
from hedgerow.sampling.lock import FolderLock
from hedgerow.trees import TreeStream

__all__ = ["Note", "StateFile"]


@dataclass(frozen=True)
class Note:
    """What the state has beside the trees: lines of input consumed since it began, the keys that are columns, options of the start."""

    lines: int
    columns: list[str]
    options: dict[str, Any] = field(default_factory=dict)
    reading: str | None = None
    """How the keys were understood, as JSON."""


class StateFile:
    """One process at a time holds it open."""

    def __init__(self, path: str) -> None:
        self._path = Path(os.path.realpath(path))
        self._before = self._path.with_name(f"{self._path.name}.before")
        self._new = self._path.with_name(f"{self._path.name}.new")
        self._saved: tuple[int, int] | None = None
        if not self._path.parent.is_dir():
            raise ParameterError(f"--state {path}: must lie in an existing folder.")
        if self._new.is_symlink() or self._before.is_symlink():
            raise ParameterError(
                f"--state {path}: must have {self._new.name} and {self._before.name} to itself. One of them is a link."
            )
        self._lock = FolderLock(self._path.parent, "stream", "state", name=f".{self._path.name}.lock", what="file")

    def __enter__(self) -> Self:
        """Held already."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let others have it."""
        self._lock.release()

    def load(self) -> tuple[TreeStream, Note] | None:
        """The newest state that can be read; None where there is none at all."""
        trouble: FormatError | None = None
        for path in (self._path, self._before):
            if not path.exists():
                continue
            try:
                stream = TreeStream.load(path)
                note = _read_note(stream, path)
            except FormatError as error:
                trouble = trouble or error
                continue
            if path is self._before:
                why = "is gone" if trouble is None else "is damaged"
                print(f"hedgerow: {self._path} {why}; going on from {path}, {note.lines:,} lines", file=sys.stderr)
            self._saved = (note.lines, stream.n_seen)
            return stream, note
        if trouble is not None:
            raise trouble
        return None

    def save(self, stream: TreeStream, note: Note) -> bool:
        """Make this the newest state; whether there was anything new to write."""
        if self._saved == (note.lines, stream.n_seen):
            return False
        stream.save(self._new, asdict(note))
        if self._path.exists():
            os.replace(self._path, self._before)
        os.replace(self._new, self._path)
        self._saved = (note.lines, stream.n_seen)
        return True


def _read_note(stream: TreeStream, path: Path) -> Note:
    """A state that Python wrote has no note: then its rows are its lines."""
    lines = stream.note.get("lines", stream.n_seen)
    columns = stream.note.get("columns", [])
    options = stream.note.get("options", {})
    reading = stream.note.get("reading")
    good = (
        isinstance(options, dict)
        and (reading is None or isinstance(reading, str))
        and type(lines) is int
        and 0 <= lines < 1 << 62
        and isinstance(columns, list)
        and all(isinstance(c, str) for c in columns)
    )
    if not good:
        raise FormatError(f"--state {path}: must say how many lines it has seen, and its columns. Got other things.")
    return Note(lines, columns, options, reading)
