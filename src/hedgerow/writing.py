"""Files written whole or not at all: under a temporary name beside, flushed to the disk, then put in place.

Whoever reads meanwhile sees the old file or the new one, never half of either, and what fails leaves the old one as it was.
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow.errors import require

__all__ = ["TEMPORARY", "check_path", "check_target", "whole_file", "whole_path", "write_text"]

TEMPORARY = r"\.[0-9a-f]{8}\.tmp\."
"""How the temporary name of a file begins, as a regular expression; its own name follows, so that its ending tells the format."""


def check_path(path: str | os.PathLike[str], owner: str, name: str = "path") -> Path:
    """A path as pathlib has it; what no system takes for a name is refused before anything is touched."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    require(isinstance(text, str) and text != "" and "\0" not in text, owner, name, path, "be a path, not empty and without a NUL")
    return Path(path)


def check_target(path: str | os.PathLike[str], owner: str = "save", name: str = "path") -> Path:
    """Where a file is to be written; refused, before the work, where no file can be."""
    target = check_path(path, owner, name)
    require(target.parent.is_dir(), owner, name, str(path), "lie in an existing folder")
    require(not target.is_dir(), owner, name, str(path), "name a file, not a folder")
    return target


@contextmanager
def whole_path(path: str | os.PathLike[str], owner: str = "save") -> Iterator[Path]:
    """A name to write a file under, which takes the place of `path` when the block ends well.

    A link is replaced, not written through. What is there and is no plain file (a pipe, a terminal) is written to itself.
    """
    target = check_target(path, owner)
    if target.exists() and not target.is_file():
        yield target
        return
    temporary = target.with_name(f".{secrets.token_hex(4)}.tmp.{target.name[-50:]}")
    try:
        yield temporary
        _flush(temporary)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(temporary)):
            error.filename, error.filename2 = os.fspath(path), None  # the name that the user knows
        raise
    finally:
        temporary.unlink(missing_ok=True)
    if os.name == "posix":  # the new name itself must reach the disk too
        _flush(target.parent)


@contextmanager
def whole_file(path: str | os.PathLike[str], owner: str = "save") -> Iterator[io.BufferedWriter]:
    """A file of bytes to write to, in the place of `path` when the block ends well."""
    with whole_path(path, owner) as place, open(place, "wb") as file:
        yield file


def write_text(path: str | os.PathLike[str], text: str, owner: str = "save") -> None:
    """Text as UTF-8. Half letters, which no encoding has, are written as their escapes: `\\ud800`, as JSON does."""
    with whole_file(path, owner) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _flush(path: Path) -> None:
    place = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(place)
    finally:
        os.close(place)
