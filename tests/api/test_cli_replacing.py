"""Runs that are replaced by `hedgerow fit --force`: never by one that is refused, whole or not at all after a kill."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.checks import run

from hedgerow import data
from hedgerow.posterior import Posterior

SHORT = ["--draws", "20", "--warmup", "20", "--chains", "2", "--seed", "0", "--quiet"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "flowers.npy"
    np.save(path, data.iris().X)
    return path


def contents(folder):
    """All files of a folder and its folders, but for locks."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "lock" not in path.name}


@pytest.mark.parametrize(
    "wrong",
    [
        ["--draws", "0"],
        ["--draws", "2000000000", "--chains", "2000000"],  # more than the disk holds
        ["--thin", "9223372036854775808"],
        ["--likelihood", "Poisson()"],
        ["--init", "nowhere"],
        ["--kernel", "Gibbs(subset=0)"],
        ["--title", "\udcff"],
    ],
)
def test_a_refused_fit_replaces_no_run(table, capsys, tmp_path, wrong):
    target = tmp_path / "run"
    fit = ["fit", table, "--out", target]
    assert run(capsys, *fit, *SHORT)[0] == 0
    before = contents(target)
    code, _, err = run(capsys, *fit, "--force", *SHORT, *wrong)
    assert code == 2
    assert "must" in err or "iB free" in err
    assert contents(target) == before


@pytest.mark.parametrize("error", [MemoryError, OSError, RuntimeError, KeyboardInterrupt])
def test_a_fit_that_fails_before_it_draws_replaces_no_run(table, capsys, tmp_path, monkeypatch, error):
    def fail(*args, **settings):
        raise error

    fit = ["fit", table, "--out", tmp_path, *SHORT]
    assert run(capsys, *fit)[0] == 0
    before = contents(tmp_path)
    with monkeypatch.context() as change, contextlib.suppress(RuntimeError):
        change.setattr("hedgerow.sampling.runner.start_folder" if error is KeyboardInterrupt else "hedgerow.sampling.plan.Chain", fail)
        code, _, err = run(capsys, *fit, "--force")
        assert code in (1, 130)
        assert "resume" not in err
    assert contents(tmp_path) == before


KILLED = """
import os, sys
from hedgerow.cli import main
from hedgerow.sampling import checkpoint, folder_recorder
real = checkpoint.write_manifest
def once(*args):
    if {begun}: real(*args)
    os._exit(9)
checkpoint.write_manifest = folder_recorder.write_manifest = once
main({arguments!r})
"""


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("linked", [False, True])
def test_a_kill_while_a_run_is_replaced(table, capsys, tmp_path, begun, linked):
    """The old run is there until the manifest of the new one is; both ways the folder is as it should be."""
    target = tmp_path / "run"
    if linked:
        (tmp_path / "scratch").mkdir()
        target.mkdir()
        (target / "checkpoint").symlink_to(tmp_path / "scratch", target_is_directory=True)
    fit = [str(word) for word in ("fit", table, "--out", target, *SHORT)]
    assert run(capsys, *fit, "--seed", "1")[0] == 0
    (target / "checkpoint" / "notes of mine.txt").write_text("keep")
    old = contents(target)
    script = KILLED.format(begun=begun, arguments=[*fit, "--seed", "2", "--force"])
    assert subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, timeout=120).returncode == 9
    assert old.items() <= contents(target).items() or begun
    assert run(capsys, "resume", target, "--quiet")[0] == 0
    assert (target / "checkpoint" / "notes of mine.txt").read_text() == "keep"
    assert Posterior.load(target / "run.hedge").run["seed"] == 1 + begun
    kinds = [path.name.split("-")[0] for path in (target / "checkpoint").iterdir()]
    assert (kinds.count("plan.hedge"), kinds.count("plan")) == (1 - begun, begun)  # what the other has left is swept
    assert kinds.count("note") == 1
    if not begun:
        draws = {name: content for name, content in contents(target).items() if "draws" in name}
        assert draws == {name: content for name, content in old.items() if "draws" in name}


def test_a_run_in_a_linked_checkpoint_is_replaced_where_it_is(table, capsys, tmp_path):
    """The usual layout with a scratch disk: `checkpoint` leads to another place, before and after."""
    scratch, target = tmp_path / "scratch", tmp_path / "run"
    scratch.mkdir()
    target.mkdir()
    (scratch / "somebody's.txt").write_text("keep")
    (target / "checkpoint").symlink_to(scratch, target_is_directory=True)
    for seed in ("1", "2"):
        assert run(capsys, "fit", table, "--out", target, *SHORT, "--seed", seed, "--force")[0] == 0
    assert Posterior.load(target / "run.hedge").run["seed"] == 2
    assert os.readlink(target / "checkpoint") == str(scratch)
    assert sum(path.name.startswith("plan") for path in scratch.iterdir()) == 1
    assert (scratch / "somebody's.txt").read_text() == "keep"
    assert run(capsys, "resume", target, "--draws", "30", "--quiet")[0] == 0
    (target / "checkpoint").unlink()
    (target / "checkpoint").symlink_to(tmp_path / "nowhere")
    before = contents(target)
    code, _, err = run(capsys, "fit", table, "--out", target, *SHORT, "--force")
    assert (code, "checkpoint is a link and must lead to a folder" in err) == (2, True)
    assert contents(target) == before


def test_outputs_of_the_run_before_go_when_the_new_one_begins(table, capsys, tmp_path, monkeypatch):
    """So that labels and report are never those of another run than run.hedge."""
    fit = ["fit", table, "--out", tmp_path, *SHORT]
    assert run(capsys, *fit)[0] == 0

    def fail(*args, **settings):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as change:
        change.setattr("hedgerow.posterior.storage.write_container", fail)
        assert run(capsys, *fit, "--force")[0] == 1
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint", ".lock"}
    assert run(capsys, "resume", tmp_path, "--quiet")[0] == 0
    assert {"run.hedge", "labels.csv", "report.html"} <= {path.name for path in tmp_path.iterdir()}


def test_what_is_no_file_is_refused_before_a_run_is_replaced(table, capsys, tmp_path):
    """A pipe would wait for ever, and a folder in the place of a file be found after the old run has gone."""
    target = tmp_path / "run"
    fit = ["fit", table, "--out", target, "--force", *SHORT]
    assert run(capsys, *fit)[0] == 0
    (target / "labels.csv").unlink()
    os.mkfifo(target / "labels.csv")
    before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file() and "lock" not in path.name}
    for command in (fit, ["report", target], ["resume", target, "--quiet"]):
        code, _, err = run(capsys, *command)
        assert (code, "labels.csv is a pipe or a device" in err) == (2, True), err
    (target / "labels.csv").unlink()
    (target / "labels.csv").mkdir()
    code, _, err = run(capsys, *fit)
    assert (code, "labels.csv is a folder" in err) == (2, True), err
    assert contents(target) == {str(path): content for path, content in before.items()}


def test_runs_of_the_two_kinds_leave_each_other_alone(table, capsys, tmp_path):
    np.save(tmp_path / "part-0.npy", np.load(table)[:60])
    np.save(tmp_path / "part-1.npy", np.load(table)[60:])
    shards = ["fit", "--shards", tmp_path / "part-*.npy", "--draws", "2", "--warmup", "1", "--chains", "1", "--seed", "0", "--quiet"]
    one, many = tmp_path / "one", tmp_path / "many"
    assert run(capsys, "fit", table, "--out", one, *SHORT)[0] == run(capsys, *shards, "--out", many)[0] == 0
    (tmp_path / "begun").mkdir()
    (one / "checkpoint").rename(tmp_path / "begun" / "checkpoint")
    (tmp_path / "left").mkdir()
    for target in (one, tmp_path / "begun", many, tmp_path / "left"):
        if target.name == "left":
            (many / "checkpoint").rename(target / "checkpoint")
        before = contents(target)
        ours = target in (one, tmp_path / "begun")
        for more in (shards,) if ours else (["fit", table, *SHORT], ["fit", table, *SHORT, "--force"]):
            code, _, err = run(capsys, *more, "--out", target)
            words = "must not hold another run already" if ours else "holds a run over shards, which --force does not replace"
            assert (code, words in err) == (2, True), err
            assert contents(target) == before
