"""hedgerow levels: what the command says, the page it writes, the note said once."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.api.test_resolution import blobs

import hedgerow as hr
from hedgerow.cli import main


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    X, _ = blobs()
    np.savetxt(tmp_path / "blobs.csv", X, delimiter=",", header="x,y", comments="")
    place = [str(tmp_path / name) for name in ("blobs.csv", "blobs.levels", "flow.PNG", "levels.csv")]
    common = ["--likelihood", "GaussianDiagonal()", "--seed", "0", "--quiet"]
    short = ["--draws", "15", "--warmup", "15", "--splits", "1", "--powers", "1,0.5,0.05"]
    given = ["levels", place[0], "--out", place[1], "--picture", place[2], "--labels", place[3], *common, *short]
    assert main(given) == 0
    told = capsys.readouterr().out
    assert "The finest level that halves of the rows agree on" in told
    assert "strength" in told
    found = hr.load(place[1])
    assert isinstance(found, hr.Levels)
    assert found.powers == [0.05, 0.5, 1.0]
    lines = Path(place[3]).read_text().splitlines()
    assert lines[0] == "row,power 0.05,power 0.5,power 1"
    assert len(lines) == 121
    assert Path(place[2]).read_bytes().startswith(b"\x89PNG")
    assert main(["levels", place[0], "--picture", "flow.gif", *common]) == 2
    assert main(given) == 0  # again: nothing is left to do
    assert main(["levels", place[0], "--powers", "x", *common]) == 2
    out = str(tmp_path / "run")
    quick = ["--draws", "20", "--warmup", "20", "--chains", "2"]
    assert main(["fit", place[0], "--out", out, "--about", "2", *common, *quick]) == 0
    told = capsys.readouterr().out
    assert "Resolution: 2 clusters asked for; power" in told
    assert "2 clusters in 120 points." in told
    assert main(["fit", place[0], "--out", out, "--force", "--power", "0.05", *common, *quick]) == 0
    assert "1 cluster in 120 points." in capsys.readouterr().out


def test_the_command_line_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["length,width", *(f"{a:.3f},{b:.3f}" for a, b in blobs(60)[0])]
    (tmp_path / "leaves.csv").write_text("\n".join(lines))
    short = ["--warmup", "10", "--seed", "1", "--quiet"]
    assert main(["levels", "leaves.csv", "--powers", "1,0.05", "--draws", "10", "--splits", "1", *short]) == 0
    page = (tmp_path / "leaves.levels.html").read_text(encoding="utf-8")
    assert "<title>leaves</title>" in page
    assert "width" in page
    assert "Written: leaves.levels.html" in capsys.readouterr().out
    assert main(["fit", "leaves.csv", "--levels", "--draws", "10", "--chains", "2", *short]) == 0
    assert "levels.html" in capsys.readouterr().out
    assert "data-level-button" in (tmp_path / "leaves-run" / "levels.html").read_text(encoding="utf-8")
    assert isinstance(hr.load(tmp_path / "leaves-run" / "run.levels"), hr.Levels)


def test_the_command_line_says_the_note_once_and_numbers_in_two_decimals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savetxt("blobs.csv", blobs()[0], delimiter=",")
    assert main(["levels", "blobs.csv", "--powers", "1,0.05", "--draws", "10", "--warmup", "10", "--seed", "0", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert told.count("small: clusters with less than 1%") == 1
    assert "e-0" not in told
    assert re.search(r"^ +0\.05 +1 +0 +1\.00 +0\.00 +1\.00 +\d\.\d\d$", told, re.MULTILINE), told
