"""Every example in the documents runs and prints what is written, and the documents build without a warning."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import pytest
from matplotlib import pyplot

import hedgerow

ROOT = Path(__file__).resolve().parents[2]
RUNNER = runpy.run_path(str(ROOT / "docs" / "run_pages.py"), run_name="run_pages")
# Their scripts run samplers for minutes, on data that is not in the repository.
SLOW_SCRIPTS = {"classics.py"}
DATA = Path(os.environ.get("HEDGEROW_DATA", ROOT.parent / "shared" / "data"))


def page_parameters():
    for path in RUNNER["pages"]():
        slow = any(script.name in SLOW_SCRIPTS for script in RUNNER["scripts"](path))
        away = pytest.mark.skipif(not DATA.is_dir(), reason="HEDGEROW_DATA does not name a folder with the data sets")
        yield pytest.param(path, id=str(path.relative_to(ROOT)), marks=[pytest.mark.slow, away] if slow else [])


@pytest.mark.parametrize("path", list(page_parameters()))
def test_examples_print_what_is_written(path: Path) -> None:
    for outcome in RUNNER["run_page"](path):
        assert outcome.agrees, f"{path.name} shows\n{outcome.fence.body}\nbut it prints\n{outcome.printed}"


def test_a_wrong_page_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('1.0 cats')\n```\n\n```text drawn\n1.4 cats\n```\n")
    assert [outcome.agrees for outcome in RUNNER["run_page"](page)] == [True]
    for wrong in ("text drawn\n1.1 dogs", "text drawn\n9.0 cats", "text\n1.1 cats"):
        page.write_text(f"```python\nprint('1.0 cats')\n```\n\n```{wrong}\n```\n")
        assert [outcome.agrees for outcome in RUNNER["run_page"](page)] == [False]
    page.write_text("```python\nprint('a')\nprint('b')\n```\n\n```text once\na\nc\n```\n")
    assert [outcome.agrees for outcome in RUNNER["run_page"](page)] == [True]
    page.write_text("```sh\nhedgerow no-such-command\n```\n")
    with pytest.raises(SystemExit):
        RUNNER["run_page"](page)
    page.write_text("```python\nprint('unseen')\n```\n")
    with pytest.raises(AssertionError, match="unseen"):
        RUNNER["run_page"](page)


def modules_with_examples() -> list[str]:
    package = Path(hedgerow.__file__).parent  # not __path__, whose first folder may be that of the compiled module alone
    found = [path.relative_to(package) for path in sorted(package.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
    return [".".join(("hedgerow", *path.with_suffix("").parts)).removesuffix(".__init__") for path in found]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # examples are short runs
@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = doctest.testmod(importlib.import_module(name))
    pyplot.close("all")
    assert done.attempted > 0
    assert done.failed == 0


def test_examples_in_docstrings_are_found() -> None:
    public = {getattr(hedgerow, name) for name in hedgerow.__all__}
    assert {thing.__module__ for thing in public if inspect.isclass(thing) or inspect.isfunction(thing)} <= set(modules_with_examples())


def test_every_public_name_is_in_the_reference() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md"))
    shown = set(re.findall(r"auto(?:class|function|exception):: [\w.]*?(\w+)$", text, re.MULTILINE))
    for module in re.findall(r"automodule:: ([\w.]+)$", text, re.MULTILINE):
        shown |= set(importlib.import_module(module).__all__)
    modules = {name for name in hedgerow.__all__ if hasattr(getattr(hedgerow, name), "__path__")}
    public = {name for name in hedgerow.__all__ if not name.startswith("__")} - modules
    assert public <= shown, f"not in docs/reference: {sorted(public - shown)}"


@pytest.mark.parametrize("path", RUNNER["pages"]() + sorted(ROOT.glob("*.md")), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    prose = re.sub(
        r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )  # [](int x) is a lambda of C++
    for target in re.findall(r"\]\(([^)#\s]+)", prose):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} links to {target}, which is not there"


def test_documents_build_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", tmp_path / "trees"]
    done = subprocess.run([*command, ROOT / "docs", tmp_path / "html"], capture_output=True, text=True, check=False)  # type: ignore[list-item]
    assert done.returncode == 0, done.stderr
    broken = [page.name for page in (tmp_path / "html").rglob("*.html") if "<em>&gt;&gt;&gt;" in page.read_text(encoding="utf-8")]
    assert broken == [], "examples that were taken for a list of results"
