"""What the tests said of each planted error, kept with the code: one file, one line an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

from .mutant import Mutant

__all__ = ["Verdict", "Verdicts"]

FILE = Path(__file__).with_name("verdicts.json")


class Verdict(TypedDict):
    """`verdict` is killed, lives, asked first (lives so far: only the tests named with it were asked), refused or stale."""

    verdict: str
    by: str


class Verdicts:
    """A verdict counts while the error and the piece of code it was planted in are as they were."""

    def __init__(self, file: Path = FILE) -> None:
        self.file = file
        self._kept: dict[str, dict[str, str]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def of(self, mutant: Mutant, root: Path) -> Verdict | None:
        """The verdict on an error in the code at `root`, None where there is none or it is of other code."""
        kept = self._kept.get(mutant.name)
        if kept is None or kept["about"] != mutant.about(root):
            return None
        return {"verdict": kept["verdict"], "by": kept["by"]}

    def wanting(self, mutant: Mutant, root: Path, first: bool) -> bool:
        """Whether an error is to be judged: by the tests named with it alone (`first`), or by all."""
        verdict = self.of(mutant, root)
        return verdict is None or (verdict["verdict"] == "asked first" and not first)

    def keep(self, name: str, about: str, verdict: Verdict) -> None:
        """Write a verdict down at once: a run may be stopped at any time."""
        self._kept[name] = {"about": about, "verdict": verdict["verdict"], "by": verdict["by"]}
        as_is = {"ensure_ascii": False}
        rows = [f"{json.dumps(key, **as_is)}: {json.dumps(row, **as_is)}" for key, row in sorted(self._kept.items())]
        whole = self.file.with_suffix(".tmp")
        whole.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
        whole.replace(self.file)
