"""The list of planted errors: every snippet stands, and a verdict counts only for the code it was given on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.mutants.copies import ROOT
from tools.mutants.mutant import Mutant, read_mutants
from tools.mutants.verdicts import FILE, Verdicts

CODE = "import numpy\n\n\ndef double(x):\n    y = 2 * x\n\n    return y\n\n\ndef half(x):\n    return x / 2\n"
WRONG = Mutant("doubles thrice", "code.py", "2 * x", "3 * x", ("tests",))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "code.py").write_text(CODE, encoding="utf-8")
    return tmp_path


def test_every_snippet_stands_once() -> None:
    assert [mutant.name for mutant in read_mutants() if not mutant.stands(ROOT)] == []


def test_names_are_given_once() -> None:
    names = [mutant.name for mutant in read_mutants()]
    assert len(names) == len(set(names)) >= 80


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("/ 2", "/ 2.0", True),  # another function
        ("    y = 2 * x\n", "    y = 2 * x\n\n", True),  # empty lines
        ("return y", "return 1 + y", False),  # the same function, beyond an empty line
        ("def double(x)", "def double(x, z)", False),
    ],
)
def test_a_verdict_is_of_the_piece_of_code_it_was_given_on(root: Path, old: str, new: str, counts: bool) -> None:
    Verdicts(root / "v.json").keep(WRONG.name, WRONG.about(root), {"verdict": "killed", "by": "a test"})
    assert Verdicts(root / "v.json").of(WRONG, root) == {"verdict": "killed", "by": "a test"}
    (root / "code.py").write_text(CODE.replace(old, new), encoding="utf-8")
    assert (Verdicts(root / "v.json").of(WRONG, root) is not None) == counts
    assert Verdicts(root / "v.json").wanting(WRONG, root, first=True) == (not counts)


def test_another_error_under_the_same_name_has_no_verdict(root: Path) -> None:
    verdicts = Verdicts(root / "v.json")
    verdicts.keep(WRONG.name, WRONG.about(root), {"verdict": "killed", "by": "a test"})
    assert verdicts.of(Mutant(WRONG.name, "code.py", "2 * x", "4 * x", ("tests",)), root) is None


def test_what_only_the_first_tests_let_live_is_asked_again(root: Path) -> None:
    verdicts = Verdicts(root / "v.json")
    verdicts.keep(WRONG.name, WRONG.about(root), {"verdict": "asked first", "by": ""})
    assert (verdicts.wanting(WRONG, root, first=True), verdicts.wanting(WRONG, root, first=False)) == (False, True)


def test_a_snippet_that_is_gone_has_no_verdict(root: Path) -> None:
    verdicts = Verdicts(root / "v.json")
    verdicts.keep(WRONG.name, WRONG.about(root), {"verdict": "killed", "by": "a test"})
    (root / "code.py").write_text("", encoding="utf-8")
    assert WRONG.about(root) == ""
    assert verdicts.of(WRONG, root) is None


def test_verdicts_are_of_errors_there_are() -> None:
    known = {mutant.name for mutant in read_mutants()}
    kept = {line.split('": {')[0].strip('"') for line in FILE.read_text(encoding="utf-8").splitlines() if line.startswith('"')}
    assert kept <= known
