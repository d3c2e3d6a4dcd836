"""Lock: one writer to a run's folder, or to a stream's file, at a time.

The lock is the operating system's, on an open file, so it ends with the process that holds it, however that ends; what
is written in the file only names the holder. A file that is a link, or has anything else in it, is nobody's lock.
"""

from __future__ import annotations

import os
import re
import socket
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import portalocker

from hedgerow.errors import require

__all__ = ["FolderLock"]

_HOLDER = re.compile(rb"|p|pr|pro|proc|proce|proces|process|process [^\n]{,300}")  # on a full disk it may be cut short
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class FolderLock:
    """Held from construction until `release`, or refused; `what` is what the owner's `parameter` names."""

    def __init__(self, folder: Path, owner: str, parameter: str = "checkpoint", *, name: str = "lock", what: str = "folder") -> None:
        place = folder / name
        ours = f"be without links and files that are not ours; {name} is"
        require(not place.is_symlink() and (not place.exists() or place.is_file()), owner, parameter, str(folder), ours + " one")
        self._file: int | None = os.open(place, _FLAGS, 0o666)
        try:
            require(stat.S_ISREG(os.fstat(self._file).st_mode), owner, parameter, str(folder), ours + " one")
            try:
                portalocker.lock(self._file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
            except portalocker.AlreadyLocked:
                holder = self._read().decode(errors="replace") or "another process"
                require(False, owner, parameter, str(folder), f"name a {what} that no other run is writing to; {holder} is")
            require(_HOLDER.fullmatch(self._read()) is not None, owner, parameter, str(folder), ours + " no lock")
            with suppress(OSError):  # a full disk: the lock holds without a name
                self._write(f"process {os.getpid()} on {socket.gethostname()}".encode(errors="replace")[:300])
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Self:
        """Already held."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let others write."""
        self.release()

    def release(self) -> None:
        """Let others write."""
        if self._file is not None:
            try:
                self._write(b"")
            finally:
                self._close()

    def _read(self) -> bytes:
        """What is in the file; nothing where another's lock keeps it from being read."""
        if self._file is None:
            return b""
        try:
            os.lseek(self._file, 0, os.SEEK_SET)
            return os.read(self._file, 400)
        except PermissionError:
            return b""

    def _write(self, text: bytes) -> None:
        if self._file is not None:
            os.lseek(self._file, 0, os.SEEK_SET)
            os.ftruncate(self._file, 0)
            os.write(self._file, text)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)  # the lock goes with it
            self._file = None
