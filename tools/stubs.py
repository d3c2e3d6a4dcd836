"""Writes src/hedgerow/_core.pyi from the compiled module, or says that it differs (`--check`)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

STUB = Path(__file__).resolve().parents[1] / "src" / "hedgerow" / "_core.pyi"


def render() -> str:
    """The stub of the module as it is built now, shortened to what a reader and mypy need."""
    import hedgerow._core as module

    generator = StubGen(module)
    generator.put(module)
    text: str = generator.get()
    text = re.sub(r"Annotated\[(NDArray\[numpy\.\w+\]), dict\([^)]*\([^)]*\)[^)]*\)\]", r"\1", text)
    text = re.sub(r"Annotated\[NDArray, dict\([^)]*\([^)]*\)[^)]*\)\]", "NDArray[Any]", text)  # of several types
    text = re.sub(r"\bdict\b(?!\[)(?!\()", "dict[str, Any]", text)
    text = re.sub(r"\blist\b(?!\[)(?!\()", "list[Any]", text)
    text = re.sub(r"\btuple\b(?!\[)(?!\()", "tuple[Any, ...]", text)
    text = re.sub(r": Callable(?=[,)])", ": Callable[..., Any]", text)
    setter = r"\n    @\1\.setter\n    def \1\(self, arg: [^\n]*, /\) -> None: \.\.\.\n"
    text = re.sub(r"    @property\n    def (\w+)\(self\) -> ([^\n]*): \.\.\.\n" + setter, r"    \1: \2\n", text)
    text = re.sub(r"    @property\n    def (\w+)\(self\) -> ([^\n]*): \.\.\.\n", r"    \1: Final[\2]\n", text)
    text = re.sub(r"(: Final\[.*\n)\n(?=    \w+: Final\[)", r"\1", text)
    text = text.replace("from typing import Annotated\n", "from typing import Any, Final\n")
    return "# Made by tools/stubs.py from the compiled module; do not edit.\n" + text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if STUB.read_text(encoding="utf-8") == render() else f"{STUB} is out of date: run make stubs")
    STUB.write_text(render(), encoding="utf-8")
