"""Runs that are replaced by `hedgerow fit --force`: never by one that is refused, whole or not at all after a kill."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from hedgerow import data
from hedgerow.cli import main
from hedgerow.posterior import load

SHORT = ["--draws", "20", "--warmup", "20", "--chains", "2", "--seed", "0", "--quiet"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "flowers.npy"
    np.save(path, data.iris().X)
    return path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    seen = capsys.readouterr()
    return code, seen.out, seen.err


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
    assert "must" in err or "GiB free" in err
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


@pytest.mark.parametrize("begun", [False, True])
def test_a_kill_while_a_run_is_replaced(table, capsys, tmp_path, monkeypatch, begun):
    """The old run comes back where the new one has not begun; both ways the folder is as it should be."""
    target = tmp_path / "run"
    fit = ["fit", table, "--out", target, *SHORT]
    assert run(capsys, *fit, "--seed", "1")[0] == 0
    (target / "checkpoint" / "notes of mine.txt").write_text("keep")
    old = contents(target)
    with monkeypatch.context() as change:
        for name in ("_drop", "_put_back"):
            change.setattr(f"hedgerow.cli.replacing.{name}", lambda folder: None)
        if begun:
            run(capsys, *fit, "--seed", "2", "--force")
        else:
            run(capsys, *fit, "--force", "--draws", "2000000000", "--chains", "2000000")
    assert (target / ".replaced").is_dir()
    assert run(capsys, "resume", target, "--quiet")[0] == 0
    assert not (target / ".replaced").exists()
    assert (target / "checkpoint" / "notes of mine.txt").read_text() == "keep"
    assert load(target / "run.hedge").run["seed"] == 1 + begun
    if not begun:
        draws = {name: content for name, content in contents(target).items() if "draws" in name}
        assert draws == {name: content for name, content in old.items() if "draws" in name}
