"""A planted error: one snippet of one file replaced by a wrong one; they are listed in the .toml files here."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutant", "StaleError", "read_mutants"]

MARGIN = re.compile(r"(?<=\n\n)(?=\S)")  # where a function or class begins: at the margin, after an empty line


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

    def about(self, root: Path) -> str:
        """A hash of the error and of the piece of code round its snippet; "" where the snippet does not stand."""
        if not self.stands(root):
            return ""
        text = (root / self.file).read_text(encoding="utf-8")
        start, end = text.index(self.old), text.index(self.old) + len(self.old)
        edges = [0, *(edge.start() for edge in MARGIN.finditer(text)), len(text)]
        piece = text[max(edge for edge in edges if edge <= start) : min(edge for edge in edges if edge >= end)]
        said = "\0".join((self.file, self.old, self.new, " ".join(piece.split())))
        return hashlib.sha256(said.encode()).hexdigest()[:16]

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
