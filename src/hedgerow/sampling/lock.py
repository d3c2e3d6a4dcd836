"""Lock: one writer to a run's folder, or to a stream's file, at a time.

The lock is the operating system's, on an open file, so it ends with the process that holds it, however that ends; what
is written in the file only names the holder.
"""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from hedgerow.errors import require

__all__ = ["FolderLock"]


class FolderLock:
    """Held from construction until `release`, or refused; `what` is what the owner's `parameter` names."""

    def __init__(self, folder: Path, owner: str, parameter: str = "checkpoint", *, name: str = "lock", what: str = "folder") -> None:
        self._file = open(folder / name, "a+", encoding="utf-8")  # noqa: SIM115 - open for as long as the lock is held
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read(200).strip() or "another process"
            self._file.close()
            wanted = f"name a {what} that no other run is writing to; {holder} is"
            require(False, owner, parameter, str(folder), wanted)
        except BaseException:
            self._file.close()
            raise
        self._write(f"process {os.getpid()} on {socket.gethostname()}")

    def __enter__(self) -> Self:
        """Already held."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let others write."""
        self.release()

    def _write(self, text: str) -> None:
        self._file.truncate(0)
        self._file.write(text)
        self._file.flush()

    def release(self) -> None:
        """Let others write."""
        if self._file.closed:
            return
        try:
            self._write("")
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._file.close()
