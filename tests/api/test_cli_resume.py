"""Runs of the command line that are stopped, taken up again and made longer."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.checks import run

import hedgerow as hr
from hedgerow import sampling
from hedgerow.cli import fit as fit_module
from hedgerow.cli import main
from hedgerow.cli import resume as resume_module
from hedgerow.cli.run_folder import RunFolder
from hedgerow.data.container import write_container
from hedgerow.sampling import run_status, so_far
from hedgerow.sampling.lock import FolderLock

FIT = ["--id", "plant", "--draws", "60", "--warmup", "20", "--chains", "2", "--seed", "3", "--quiet", "--checkpoint-every", "0"]


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "flowers.csv"
    X = hr.data.ring13(seed=0, n=65)[0]
    lines = ["plant,east,north", *(f"p{i},{a:.4f},{b:.4f}" for i, (a, b) in enumerate(X))]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def whole(table, tmp_path_factory) -> Path:
    """A run that nobody interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert main(["fit", str(table), "--out", str(folder), *FIT]) == 0
    return folder


def stop_after(monkeypatch, blocks: int) -> None:
    """Let `fit` and `resume` be interrupted after so many blocks, as Ctrl-C would."""
    monkeypatch.setattr("hedgerow.sampling.blocks._BLOCK_SECONDS", 0.0)
    for module, name in ((fit_module, "sample"), (resume_module, "resume")):
        real = getattr(sampling, name)

        def stopping(*args, real=real, **settings):
            left = iter(range(blocks, -1, -1))

            def interrupt(update) -> None:
                if next(left, 0) == 0:
                    os.kill(os.getpid(), signal.SIGINT)

            return real(*args, **settings | {"callbacks": [*settings.get("callbacks", ()), interrupt]})

        monkeypatch.setattr(module, name, stopping)


def assert_same_files(folder: Path, whole: Path) -> None:
    found, wanted = (hr.load(place / "run.hedge") for place in (folder, whole))
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_array_equal(found.log_joint, wanted.log_joint)
    assert found.run["columns"] == wanted.run["columns"] == ["east", "north"]
    assert (folder / "labels.csv").read_bytes() == (whole / "labels.csv").read_bytes()
    assert "p64" in (folder / "report.html").read_text()


def test_a_run_stopped_by_ctrl_c_is_taken_up(table, whole, tmp_path, capsys, monkeypatch) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_after(patch, 50)
        code, out, err = run(capsys, "fit", table, "--out", folder, *FIT)
        assert (code, "stopped early" in err) == (130, True)
        assert f"`hedgerow resume {folder}` goes on with it" in out
    assert hr.load(folder / "run.hedge").run["interrupted"]  # what is there can be looked at meanwhile
    code, _, err = run(capsys, "fit", table, "--out", folder, *FIT)
    assert code == 2
    assert "holds a run that is not done" in err
    assert f"`hedgerow resume {folder}` goes on with it" in err
    with monkeypatch.context() as patch:
        stop_after(patch, 9)
        assert run(capsys, "resume", folder, "--quiet", "--checkpoint-every", "0")[0] == 130
    code, out, err = run(capsys, "resume", folder, "--quiet")
    assert (code, err) == (0, "")
    assert "draws are there" in " ".join(out.split())  # lines break where the name of the folder ends
    assert_same_files(folder, whole)


def test_stopped_before_the_first_draw(table, whole, tmp_path, capsys, monkeypatch) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        code, _, err = run(capsys, "fit", table, "--out", folder, *FIT)
    assert code == 130
    assert "no draws yet, but the partitions where" in err
    assert len((folder / "labels.csv").read_text().splitlines()) == 1 + hr.load(folder / "run.hedge").n  # an answer all the same
    code, out, _ = run(capsys, "summary", folder)
    assert code == 0
    assert "The run is still warming up" in out
    assert "0 of 120 draws are there so far" in " ".join(out.split())
    assert run(capsys, "resume", folder, "--quiet")[0] == 0
    assert_same_files(folder, whole)


def test_a_run_that_is_still_going_is_told_about(table, whole, tmp_path, capsys, monkeypatch) -> None:
    """From another process while the first one holds the folder; nothing in it changes."""
    folder = tmp_path / "run"
    monkeypatch.setattr("hedgerow.sampling.blocks._BLOCK_SECONDS", 0.0)
    monkeypatch.setattr("hedgerow.sampling.folder_recorder._IN_MEMORY", 1000)  # labels in a file, though not in the folder's
    told: list[tuple[int, str, str]] = []

    def look(update) -> None:
        status = run_status(folder / "checkpoint")
        if not told and not update.warming_up and status is not None and status[0] > 40:
            before = sorted(path.name for path in folder.rglob("*"))
            for more in ([], ["--json"]):
                told.append(run(capsys, "summary", folder, *more))
            assert sorted(path.name for path in folder.rglob("*")) == before

    real = sampling.sample
    with monkeypatch.context() as patch:
        patch.setattr(
            fit_module, "sample", lambda *args, **settings: real(*args, **settings | {"callbacks": [*settings["callbacks"], look]})
        )
        assert run(capsys, "fit", table, "--out", folder, *FIT)[0] == 0
    (code, words, err), (_, numbers, _) = told
    assert (code, err) == (0, "")
    assert re.search(r"The run is not done: \d+ of 120 draws are there so far\.\n\d+ clusters in 65 points", words)
    assert "stopped early" not in words
    assert json.loads(numbers[numbers.index("{") :])["rows"] == 65
    assert_same_files(folder, whole)
    post = so_far(folder / "checkpoint")
    np.testing.assert_array_equal(post.labels, hr.load(whole / "run.hedge").labels)
    with pytest.raises(hr.ParameterError, match="name the folder of a run that has draws"):
        so_far(tmp_path)


def test_a_finished_run_is_made_longer(table, tmp_path, capsys) -> None:
    folder = tmp_path / "run"
    assert run(capsys, "fit", table, "--out", folder, *FIT, "--title", "Mine")[0] == 0
    code, _, err = run(capsys, "fit", table, "--out", folder, *FIT)
    assert (code, "--force replaces it" in err) == (2, True)
    assert run(capsys, "resume", folder, "--draws", "80", "--quiet")[0] == 0
    assert hr.load(folder / "run.hedge").labels.shape == (2, 80, 65)
    assert "Mine" in (folder / "report.html").read_text()
    code, _, err = run(capsys, "resume", folder, "--draws", "10", "--quiet")
    assert (code, "from 80 up" in err) == (2, True)
    (folder / "checkpoint" / "notes of mine.txt").write_text("keep")
    assert run(capsys, "fit", table, "--out", folder, *FIT, "--force")[0] == 0
    assert hr.load(folder / "run.hedge").labels.shape == (2, 60, 65)
    assert (folder / "checkpoint" / "notes of mine.txt").exists()


def test_a_folder_of_sample_is_taken_up_too(tmp_path, capsys) -> None:
    X = hr.data.ring13(seed=0, n=40)[0]
    model = hr.Mixture(hr.DP(), hr.GaussianDiagonal())
    hr.sample(model, X, draws=20, warmup=5, chains=2, seed=0, checkpoint=tmp_path / "mine")
    assert run(capsys, "resume", tmp_path / "mine", "--draws", "30", "--quiet")[0] == 0
    assert hr.load(tmp_path / "mine" / "run.hedge").draws == 30


def test_a_second_writer_is_refused(table, whole, tmp_path, capsys) -> None:
    (tmp_path / "run").mkdir()
    for arguments in (["fit", table, "--out", tmp_path / "run", *FIT, "--force"], ["resume", whole]):
        with FolderLock(Path(arguments[arguments.index("--out") + 1] if "--out" in arguments else whole), "x", name=".lock"):
            code, _, err = run(capsys, *arguments)
        assert code == 2
        assert f"no other run is writing to; process {os.getpid()} on" in err


def test_folders_that_are_no_runs(table, tmp_path, capsys) -> None:
    code, _, err = run(capsys, "resume", tmp_path)
    assert (code, "must be the folder of a run that has begun" in err) == (2, True)
    code, _, err = run(capsys, "fit", table, "--out", tmp_path / "run", *FIT[:-1], "-1")
    assert (code, "--checkpoint-every -1.0: must be" in err) == (2, True)


@pytest.mark.parametrize("content", [{}, {"title": 3, "loss": "vi", "columns": None}, {"title": "", "loss": "x", "columns": None}])
def test_notes_that_are_none_are_refused(tmp_path, content) -> None:
    (tmp_path / "checkpoint").mkdir()
    rows = np.frombuffer(b"[1]", np.uint8)
    write_container(tmp_path / "checkpoint" / "fit.hedge", "fit", 1, content | {"rows": None}, {"rows": rows})
    with pytest.raises(hr.ParameterError, match="must hold the notes of a fit"):
        RunFolder(tmp_path).notes()


def test_a_full_disk_says_what_to_do(table, tmp_path, capsys, monkeypatch) -> None:
    def full(*args: object, **settings: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        stop_after(patch, 50)
        run(capsys, "fit", table, "--out", tmp_path / "run", *FIT)
    monkeypatch.setattr(resume_module, "resume", full)
    code, _, err = run(capsys, "resume", tmp_path / "run")
    assert code == 1
    assert "the draws so far are kept" in err
    assert "No space left on device" in err


@pytest.mark.parametrize("where", ["point_estimate", "outlier_scores", "report"])
def test_stopped_while_the_files_are_written(table, whole, tmp_path, capsys, monkeypatch, where) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(hr.Posterior, where, stop)
        code, _, err = run(capsys, "fit", table, "--out", folder, *FIT)
    assert code == 130
    assert "the draws are saved in" in err
    assert "writes what is missing" in err
    assert len((folder / "labels.csv").read_text().splitlines()) == 1 + hr.load(folder / "run.hedge").n
    assert run(capsys, "resume", folder, "--quiet")[0] == 0
    assert_same_files(folder, whole)


def test_a_process_that_is_killed_is_taken_up(table, whole, tmp_path) -> None:
    arguments = ["fit", str(table), "--out", str(tmp_path / "run"), *FIT]
    slow = (
        "import sys, time; from hedgerow.cli import main; from hedgerow.sampling import blocks; blocks._BLOCK_SECONDS = 0.0\n"
        "from hedgerow.sampling import folder_recorder; real = folder_recorder.write_manifest\n"
        "def late(*args): real(*args); time.sleep(0.02)\n"
        f"folder_recorder.write_manifest = late; sys.exit(main({arguments!r}))"
    )
    process = subprocess.Popen([sys.executable, "-c", slow], stdout=subprocess.DEVNULL)
    while not list(tmp_path.glob("run/checkpoint/chain0-draws-*")):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not (tmp_path / "run" / "run.hedge").exists()
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; from hedgerow.cli import main; sys.exit(main(['resume', {str(tmp_path / 'run')!r}]))"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_same_files(tmp_path / "run", whole)
