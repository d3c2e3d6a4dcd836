"""A planted error: one snippet of one file replaced by a wrong one; they are listed in the .toml files here."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutant", "StaleError", "read_mutants"]


class StaleError(Exception):
    """The code has changed since the error was planted: its snippet is not there, or not only once."""


@dataclass(frozen=True)
class Mutant:
    """`old` stands exactly once in `file` and becomes `new`; `tests` are tried first, as arguments of pytest or "core".

    `lives` says why no test can or should notice, where that is so.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    lives: str = ""

    @property
    def key(self) -> str:
        """What an earlier verdict must have been about to count now."""
        return hashlib.sha256("\0".join((self.file, self.old, self.new)).encode()).hexdigest()[:16]

    @property
    def compiled(self) -> bool:
        """Whether the core must be built anew."""
        return self.file.startswith("core/")

    def stands(self, root: Path) -> bool:
        """Whether the snippet is where it should be, once."""
        path = root / self.file
        return path.exists() and path.read_text(encoding="utf-8").count(self.old) == 1

    def plant(self, root: Path) -> str:
        """Write the error into a copy of the code; returns the right text."""
        path = root / self.file
        if not self.stands(root):
            raise StaleError(f"the snippet does not stand once in {self.file}")
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return text


def read_mutants() -> tuple[Mutant, ...]:
    """All that are listed, in order of file and place."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            found.append(Mutant(**row | {"tests": tuple(row["tests"])}))
    return tuple(found)
