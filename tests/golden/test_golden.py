"""Draws are those of the record, and files of older versions load.

The record stands for what a change must leave alone. Where draws change on purpose, `make golden` records again and CHANGES.md
says which and why. Labels must agree exactly. Floats must agree to the last bit if this build has the compiler, C library
and NumPy that the record names; elsewhere functions such as lgamma may round otherwise, and a few units in the last place pass.
"""

from __future__ import annotations

import json
import runpy
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.apps.video.result import Segmentation
from hedgerow.cli import main
from hedgerow.posterior import Posterior
from hedgerow.trees import TreeStream

HERE = Path(__file__).parent
ARCHIVES = sorted(HERE.glob("files-*.zip"))
LAST_PLACES = 64


def read(text: str) -> tuple[str, dict[str, dict[str, str]]]:
    """What the record was made with, and its cases."""
    head, *lines = text.splitlines()
    rows = [line.split("\t") for line in lines]
    return head, {name: dict(field.split("=", 1) for field in fields) for name, *fields in rows}


def same(found: str, wanted: str, exactly: bool) -> bool:
    """Equal as texts, or as floats that are a few units in the last place apart."""
    if exactly or found == wanted or "." not in wanted:
        return found == wanted
    a, b = (np.array(text.split(","), float) for text in (found, wanted))
    return a.shape == b.shape and bool((np.abs(a - b) <= LAST_PLACES * np.spacing(np.maximum(np.abs(b), 1.0))).all())


def test_draws_are_those_of_the_record() -> None:
    recorder = runpy.run_path(str(HERE / "__main__.py"), run_name="recorder")
    made_with, found = read(recorder["lines_of_this_build"]())
    recorded_with, wanted = read(recorder["RECORD"].read_text(encoding="utf-8"))
    assert list(found) == list(wanted), "cases come or go by `make golden`"
    exactly = made_with == recorded_with
    other = [
        f"{name}: {key} is {found[name].get(key)} and was {value}"
        for name, fields in wanted.items()
        for key, value in fields.items()
        if not same(found[name].get(key, ""), value, exactly)
    ]
    assert not other, f"{len({text.partition(':')[0] for text in other})} of {len(wanted)} cases changed:\n" + "\n".join(other[:12])


def test_a_change_is_seen() -> None:
    assert same("012,1.5", "012,1.5", True)
    assert not same("0121", "0120", False)
    assert not same("1.5", "1.5000000000000002", True)
    assert same("1.5", "1.5000000000000002", False)
    assert not same("1.5", "1.50000000001", False)
    assert not same("nan", "1.5", False)


# ---- files of older versions


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: path.stem)
def files(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param.stem)
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def facts(files: Path) -> dict[str, Any]:
    return json.loads((files / "facts.json").read_text())


def assert_draws(post: Posterior, facts: dict[str, Any]) -> None:
    assert post.labels.ravel().tolist() == facts["labels"]
    assert post.log_joint.ravel().tolist() == facts["log_joint"]


def test_posteriors(files: Path, facts: dict[str, Any]) -> None:
    for name, known in facts["posteriors"].items():
        post = hr.load(files / name)
        assert_draws(post, known)
        assert repr(post.model) == known["model"]
        assert np.asarray(post.log_u).ravel().tolist() == np.log(known["u"]).tolist()
        assert "n_clusters" in str(post.summary())


def test_forests_and_streams(files: Path, facts: dict[str, Any]) -> None:
    for name, known in facts["forests"].items():
        forest = hr.Forest.load(files / name)
        assert forest.labels.tolist() == known["labels"]
        assert forest.log_joint == known["log_joint"]
    for name, known in facts["streams"].items():
        stream = TreeStream.load(files / name)
        assert repr(stream.model) == known["model"]
        assert stream.labels.tolist() == known["labels"]
        assert stream.log_joint == pytest.approx(known["log_joint"], rel=1e-12)
        assert set(stream.note) == {"line"}
    online = hr.IncrementalBHC.load(files / "incremental.npz")
    assert online.labels_.tolist() == facts["incremental.npz"]
    assert Segmentation.load(files / "video.npz").n_frames == 6


@pytest.mark.filterwarnings("ignore:This run was begun with Hedgerow:UserWarning")
def test_runs(files: Path, facts: dict[str, Any]) -> None:
    """Finished runs come back as they are and can be made longer; one that was stopped goes on."""
    for name, known in facts["runs"].items():
        assert_draws(hr.resume(files / name, progress=False), known)
        longer = hr.resume(files / name, draws=6, progress=False)
        assert longer.labels[:, :4].ravel().tolist() == known["labels"]
    assert hr.resume(files / "run-stopped", progress=False).labels.shape == (1, 60, 24)


def test_run_folders(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["summary", str(files / "fitted")])
    assert "clusters in 24 points" in capsys.readouterr().out
