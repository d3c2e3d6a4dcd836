"""The folder of a run: what is in it, what is believed of it when damaged, who may write to it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.data.container import FormatError, read_container, write_container
from hedgerow.sampling import Checkpoint, resume, sample
from hedgerow.sampling import checkpoint as checkpoint_module
from hedgerow.sampling.lock import FolderLock
from hedgerow.sampling.manifest import newest_manifest, sha256_of, write_manifest

SETTINGS: dict[str, Any] = {"kernel": hr.Gibbs(), "draws": 50, "warmup": 12, "chains": 2, "seed": 5, "thin": 2}


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch) -> None:
    """Nobody pulls the plug here; flushing every file to the disk would take most of the time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return hr.data.ring13(seed=0, n=65)[0]


@pytest.fixture(scope="module")
def model() -> hr.Mixture:
    return hr.Mixture(hr.NGG(alpha=hr.Gamma(1, 1), sigma=0.2, tau=1.0), hr.GaussianWishart())


@pytest.fixture
def stopped(model, X, tmp_path, monkeypatch) -> Path:
    """A run stopped in the middle of its draws."""
    monkeypatch.setattr("hedgerow.sampling.blocks._BLOCK_SECONDS", 0.0)
    left = iter(range(50, -1, -1))
    with contextlib.suppress(RuntimeError):
        sample(model, X, **SETTINGS, callbacks=[lambda update: next(left, 0) == 0], checkpoint=Checkpoint(tmp_path / "run", every=0))
    return tmp_path / "run"


def assert_same(a: hr.Posterior, b: hr.Posterior) -> None:
    for name in ("labels", "log_joint", "log_u", "alpha"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_the_last_two_states_are_kept(model, X, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("hedgerow.sampling.blocks._BLOCK_SECONDS", 0.0)
    sample(model, X, **(SETTINGS | {"kernel": hr.TreeGuided(3)}), checkpoint=Checkpoint(tmp_path, every=0))
    names = sorted(os.listdir(tmp_path))
    for chain in range(2):
        assert sum(name.startswith(f"chain{chain}-state") for name in names) == 2
        assert sum(name.startswith(f"chain{chain}-kernel") for name in names) == 1  # guides do not change after warm-up
        assert sum(name.startswith(f"chain{chain}-draws") for name in names) == 50
    assert sum(name.startswith("manifest") for name in names) == 2
    assert not [name for name in names if name.endswith(".tmp")]


def newest(folder: Path, start: str) -> Path:
    return max(folder.glob(f"{start}*"))


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-30] ^= 1
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("start", ["chain0-state", "chain1-state", "manifest"])
@pytest.mark.parametrize("how", [damage, Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-100])])
def test_a_damaged_newest_piece_is_gone_round(model, X, stopped, start, how) -> None:
    how(newest(stopped, start))
    assert_same(sample(model, X, **SETTINGS), resume(stopped))


def test_both_states_damaged_are_refused(stopped) -> None:
    for path in stopped.glob("chain0-state*"):
        damage(path)
    with pytest.raises(FormatError, match=r"chain0-state-\d+.hedge must be the file that the run wrote. Got one that differs"):
        resume(stopped)


@pytest.mark.parametrize("start", ["chain0-draws", "plan"])
def test_damaged_draws_and_plans_are_refused(stopped, start) -> None:
    damage(newest(stopped, start))
    with pytest.raises(FormatError, match=f"{start}.*must be the file that the run wrote. Got one that differs"):
        resume(stopped)
    newest(stopped, start).unlink()
    with pytest.raises(FormatError, match=f"{start}.*must be the file that the run wrote. Got none"):
        resume(stopped)


def test_no_readable_manifest_is_refused(stopped) -> None:
    for path in stopped.glob("manifest*"):
        path.write_bytes(b"nothing")
    with pytest.raises(FormatError, match="must name a whole Hedgerow file"):
        resume(stopped)


def test_leftovers_of_a_kill_are_swept(model, X, stopped) -> None:
    (stopped / ".chain0-draws-000099.hedge.0123abcd.tmp").write_bytes(b"half")
    (stopped / "chain0-draws-000099.hedge").write_bytes(b"never made it into a manifest")
    (stopped / "my notes.txt").write_text("keep")
    assert_same(sample(model, X, **SETTINGS), resume(stopped))
    assert not list(stopped.glob("*99*")) + list(stopped.glob(".*.tmp"))
    assert (stopped / "my notes.txt").read_text() == "keep"


def test_a_manifest_names_no_file_outside_the_folder(stopped) -> None:
    manifest = newest_manifest(stopped)
    for path in stopped.glob("manifest*"):
        path.unlink()
    outside = stopped.parent / "chain0-state-000001.hedge"
    outside.write_bytes(b"")
    first, second = manifest.chains
    state = first.states[-1]
    elsewhere = replace(state, state=replace(state.state, name=f"../{outside.name}"))
    write_manifest(stopped, replace(manifest, chains=(replace(first, states=(elsewhere,)), second)))
    with pytest.raises(FormatError, match="parts that do not fit"):
        resume(stopped)


@pytest.mark.parametrize("name", ["stats.0", "log_joint", "labels"])
def test_draws_that_are_no_numbers_are_refused(model, X, tmp_path, name) -> None:
    """Though the manifest vouches for them."""
    sample(model, X, **(SETTINGS | {"kernel": hr.SplitMerge(scans=1), "draws": 5}), checkpoint=tmp_path)
    manifest = newest_manifest(tmp_path)
    first, second = manifest.chains
    path = tmp_path / first.draws[0].name
    stored = read_container(path)
    words = np.full(stored.arrays[name].shape, b"na")
    write_container(path, stored.kind, stored.version, stored.content, stored.arrays | {name: words})
    draws = (replace(first.draws[0], sha256=sha256_of(path)), *first.draws[1:])
    write_manifest(tmp_path, replace(manifest, chains=(replace(first, draws=draws), second), sequence=manifest.sequence + 1))
    with pytest.raises(FormatError, match="must hold whole draws"):
        resume(tmp_path)


def test_another_version_goes_on_with_a_warning(stopped, monkeypatch) -> None:
    monkeypatch.setattr(checkpoint_module, "own_version", lambda: "9.9")
    with pytest.warns(UserWarning, match=r"begun with Hedgerow .* and goes on with 9\.9: still draws from the posterior"):
        resume(stopped)


# --------------------------------------------------------------------------------------- refusals, locks


def test_a_folder_holds_one_run(model, X, stopped) -> None:
    with pytest.raises(hr.ParameterError, match=r"name a new folder: this one holds a run, which hedgerow.resume\(\) continues"):
        sample(model, X, **SETTINGS, checkpoint=stopped)


@pytest.mark.parametrize("given", [3, None, b"run"])
def test_what_is_no_path_is_refused(given) -> None:
    with pytest.raises(hr.ParameterError, match="checkpoint must be the path of a folder, or a Checkpoint"):
        resume(given)


def test_folders_that_are_none(model, X, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(hr.ParameterError, match="name a folder, not a file"):
        sample(model, X, **SETTINGS, checkpoint=tmp_path / "file")
    for name, words in (("file", "name the folder of a run"), ("none", "name the folder of a run"), ("empty", "has begun")):
        with pytest.raises(hr.ParameterError, match=words):
            resume(tmp_path / name)
    with pytest.raises(hr.ParameterError, match="every must be a number of seconds from 0 up"):
        Checkpoint(tmp_path, every=-1)


def test_a_second_writer_is_refused(model, X, tmp_path) -> None:
    refused = []  # type: ignore[var-annotated]

    def try_too(update: Any) -> None:
        if not refused:
            with pytest.raises(hr.ParameterError, match=f"no other run is writing to; process {os.getpid()} on .* is") as caught:
                resume(tmp_path / "run")
            refused.append(caught.value)

    sample(model, X, **SETTINGS, checkpoint=tmp_path / "run", callbacks=[try_too])
    assert refused
    assert not resume(tmp_path / "run").run["interrupted"]  # the lock is gone with the run


def test_a_lock_with_anything_in_it_is_nobodys(tmp_path):
    (tmp_path / "lock").write_text("my diary")
    with pytest.raises(hr.ParameterError, match="lock is no lock"):
        FolderLock(tmp_path, "sample")
    assert (tmp_path / "lock").read_text() == "my diary"
    (tmp_path / "lock").write_text("process 12")  # cut short by a full disk
    with FolderLock(tmp_path, "sample"):
        pass
    assert (tmp_path / "lock").read_text() == ""
    (tmp_path / "lock").unlink()
    os.mkfifo(tmp_path / "lock")
    with pytest.raises(hr.ParameterError, match="lock is one"):
        FolderLock(tmp_path, "sample")


def test_a_lock_ends_with_its_process(tmp_path):
    script = (
        "import os, sys; from pathlib import Path; from hedgerow.sampling.lock import FolderLock\n"
        "lock = FolderLock(Path(sys.argv[1]), 'x'); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen([sys.executable, "-c", script, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(hr.ParameterError, match=f"process {holder.pid} on .* is"):
        FolderLock(tmp_path, "sample")
    holder.kill()
    holder.communicate()
    with FolderLock(tmp_path, "sample"):
        pass
