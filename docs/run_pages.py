"""Runs the examples of the documents, and compares or rewrites what they print.

On a page, the blocks marked `python` run in order in one namespace, and those marked `sh` hold calls of the command `hedgerow`. A
block marked `text` right after one is what it prints.
Words may follow `text`: `drawn` allows the numbers to differ, as draws differ between processors; `once` compares the first
line only, for what also hangs on the clock; `by PATH` means that the block is the output of a script (relative to docs)
rather than of the block before.

    python docs/run_pages.py            compare everything
    python docs/run_pages.py --write    run everything and put the output into the pages
    python docs/run_pages.py docs/tutorials/wine.md
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-−]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Fence:
    """A fenced block: the words after the backticks, the text, and where the text stands in the page."""

    words: tuple[str, ...]
    body: str
    start: int
    end: int

    @property
    def script(self) -> Path | None:
        """The script that prints this block, if it says so."""
        if "by" not in self.words:
            return None
        return DOCS / self.words[self.words.index("by") + 1]


@dataclass(frozen=True)
class Outcome:
    """What a page says is printed, and what was."""

    fence: Fence
    printed: str

    @property
    def agrees(self) -> bool:
        """The same text; where it is drawn, the same words with numbers near; where it was so once, the same beginning."""
        if self.printed == self.fence.body:
            return True
        if "once" in self.fence.words:
            return self.printed.splitlines()[:1] == self.fence.body.splitlines()[:1]
        return "drawn" in self.fence.words and same_words(self.fence.body, self.printed)


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    return [DOCS.parent / "README.md", *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)]


def fences(text: str) -> Iterator[Fence]:
    """The fenced blocks of a page."""
    for match in FENCE.finditer(text):
        yield Fence(tuple(match["info"].split()), match["body"], match.start("body"), match.end("body"))


def scripts(path: Path) -> list[Path]:
    """The scripts whose output a page shows."""
    return [fence.script for fence in fences(path.read_text(encoding="utf-8")) if fence.script is not None]


def same_words(expected: str, printed: str) -> bool:
    """Equal but for numbers (within a factor of two or so) and spaces (tables widen with their numbers).

    Numbers beyond 5,000 only have to be there: u has no mean to speak of.
    """
    if NUMBER.sub("#", expected).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(_numbers(expected), _numbers(printed), strict=True)
    return all(max(abs(a), abs(b)) > 5_000 or abs(a - b) <= 0.1 + 0.6 * max(abs(a), abs(b)) for a, b in pairs)


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "").replace("−", "-")) for number in NUMBER.findall(text)]


def run_page(path: Path, figures: Path | None = None) -> list[Outcome]:
    """Run a page in an empty folder; scripts write their pictures to `figures`, by default to that folder too."""
    text = path.read_text(encoding="utf-8")
    outcomes: list[Outcome] = []
    namespace: dict[str, Any] = {"__name__": "__page__"}
    printed: str | None = None
    back = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for fence in fences(text):
                if fence.words[:1] == ("python",):
                    _expect_silence(path, printed)
                    line = text.count("\n", 0, fence.start)
                    code = compile("\n" * line + fence.body, str(path), "exec")
                    printed = _printed_by(lambda code=code: exec(code, namespace))
                elif fence.words[:1] == ("sh",):
                    _expect_silence(path, printed)
                    printed = _printed_by(lambda fence=fence: _run_commands(fence.body))
                elif fence.words[:1] == ("text",) and fence.script is not None:
                    outcomes.append(Outcome(fence, _run_script(fence.script, figures or Path(folder))))
                elif fence.words[:1] == ("text",) and printed is not None:
                    outcomes.append(Outcome(fence, printed))
                    printed = None
        finally:
            os.chdir(back)
    if path.name != "README.md":
        _expect_silence(path, printed)
    return outcomes


def _expect_silence(path: Path, printed: str | None) -> None:
    if printed:
        raise AssertionError(f"{path.name}: a block prints what the page does not show:\n{printed}")


def _printed_by(act: Callable[[], object]) -> str:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        act()
    return _tidy(stream.getvalue())


def _run_script(path: Path, folder: Path) -> str:
    return _printed_by(lambda: runpy.run_path(str(path))["main"](str(folder)))


def _run_commands(text: str) -> None:
    from hedgerow.cli import main as command

    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words and (words[0] != "hedgerow" or command(words[1:]) != 0):
            raise AssertionError(f"this command cannot be run or fails: {line}")


def _tidy(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def write_page(path: Path) -> None:
    """Run a page and put what it prints into it; pictures go beside their scripts."""
    text = path.read_text(encoding="utf-8")
    for outcome in reversed(run_page(path, DOCS / "figures")):
        fence = replace(outcome.fence, body=outcome.printed)
        text = text[: fence.start] + fence.body + text[fence.end :]
    path.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Compare or write the pages named, or all."""
    write = "--write" in arguments
    chosen = [Path(name).resolve() for name in arguments if name != "--write"] or pages()
    failures = 0
    for path in chosen:
        if write:
            write_page(path)
            continue
        for outcome in run_page(path):
            if not outcome.agrees:
                failures += 1
                print(f"{path.name}: expected\n{outcome.fence.body}got\n{outcome.printed}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
