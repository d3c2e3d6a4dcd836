"""Distributed runs that last: left by a kill of this process, of the scheduler or of a worker, they go on to the same draws."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checks import assert_same_rounds as assert_same

import hedgerow as hr
from hedgerow.data.container import FormatError
from hedgerow.distributed import Conditional, DistributedPosterior, resume, sample
from hedgerow.distributed.working_shard import Command
from hedgerow.distributed.working_shard import Sweep as SweepCommand

SETTINGS: dict[str, Any] = {"kernel": Conditional(scouts=200, pairs=8), "draws": 10, "warmup": 4, "seed": 5, "labels": "all"}
PRIORS = {"NGG": hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 3)), "DP": hr.DP(hr.Gamma(1, 1)), "PitmanYor": hr.PitmanYor(0.6, hr.Beta(2, 3))}
needs_dask = pytest.mark.filterwarnings("ignore")  # Dask's own warnings, from its many parts


@pytest.fixture(scope="module")
def paths(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("shards")
    for i, part in enumerate(np.split(hr.data.ring13(seed=0, n=650)[0], [150, 160, 450])):
        np.save(folder / f"{i}.npy", part)
    return [folder / f"{i}.npy" for i in range(4)]


@pytest.fixture(scope="module")
def model() -> hr.Mixture:
    return hr.Mixture(PRIORS["NGG"], hr.GaussianWishart())


@pytest.fixture(scope="module")
def whole(model, paths) -> DistributedPosterior:
    return sample(model, paths, **SETTINGS)


class LostError(Exception):
    """Something that ends a run in the middle."""


def lose(monkeypatch: pytest.MonkeyPatch, kind: type[Command], count: int) -> None:
    """Raise when shards have been asked for so many commands of a kind."""
    obey, seen = kind.apply, []

    def apply(self: Any, held: Any) -> Any:
        seen.append(1)
        if len(seen) == count:
            raise LostError
        return obey(self, held)

    monkeypatch.setattr(kind, "apply", apply)


def with_gaps(rows: np.ndarray) -> np.ndarray:
    """A tenth of the rows without one of their entries."""
    rows = rows.copy()
    rows[::20, 0] = rows[10::20, 1] = np.nan
    return rows


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("likelihood", ["GaussianWishart", "gaps", "GaussianDiagonal", "Multinomial"])
def test_left_and_taken_up_again(prior, likelihood, paths, tmp_path, monkeypatch) -> None:
    family: dict[str, hr.Likelihood] = {"GaussianWishart": hr.GaussianWishart(), "gaps": hr.GaussianWishart()}
    family |= {"GaussianDiagonal": hr.GaussianDiagonal(), "Multinomial": hr.Multinomial(0.5)}
    shards: list[Any] = paths
    if likelihood == "Multinomial":
        shards = [np.random.default_rng(i).poisson(2.0, (60, 4)) for i in range(4)]
    if likelihood == "gaps":
        shards = [with_gaps(np.load(path)) for path in paths]
    model = hr.Mixture(PRIORS[prior], family[likelihood])
    wanted = sample(model, shards, **SETTINGS)
    with monkeypatch.context() as patch:
        lose(patch, SweepCommand, 4 * 9 + 2)
        with pytest.raises(LostError):
            sample(model, shards, **SETTINGS, checkpoint=hr.Checkpoint(tmp_path / "run", every=0))
    assert_same(wanted, resume(tmp_path / "run", shards))


def test_a_run_that_is_kept_is_the_same_run(model, paths, whole, tmp_path) -> None:
    for every in (0.0, None):
        run = tmp_path / f"run-{every}"
        assert_same(whole, sample(model, paths, **SETTINGS, checkpoint=hr.Checkpoint(run, every=every)))
        assert_same(whole, resume(run, paths))  # finished: nothing to do
        assert len(list(run.glob("chain-0/state-*"))) == len(list(run.glob("chain-0/labels-*"))) <= 2


def test_more_draws_than_asked_for_at_first(model, paths, whole, tmp_path) -> None:
    sample(model, paths, **(SETTINGS | {"draws": 6}), checkpoint=tmp_path / "run")
    assert_same(whole, resume(tmp_path / "run", paths, draws=10))


def test_several_chains(model, paths, tmp_path, monkeypatch) -> None:
    settings = SETTINGS | {"chains": 3, "draws": 4}
    wanted = sample(model, paths, **settings)
    for lost in (3, 14, 19):
        with monkeypatch.context() as patch:
            lose(patch, SweepCommand, 4 * lost + 2)
            with pytest.raises(LostError):
                sample(model, paths, **settings, checkpoint=hr.Checkpoint(tmp_path / f"run-{lost}", every=0))
        found = resume(tmp_path / f"run-{lost}", paths)
        assert_same(wanted, found)
        np.testing.assert_array_equal(found.log_density(np.load(paths[0])[:3]), wanted.log_density(np.load(paths[0])[:3]))


def test_lost_before_the_first_state(model, paths, whole, tmp_path, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        lose(patch, SweepCommand, 2)
        with pytest.raises(LostError):
            sample(model, paths, **SETTINGS, checkpoint=tmp_path / "run")
    assert_same(whole, resume(tmp_path / "run", paths))


def test_a_damaged_state_gives_way_to_the_one_before(model, paths, whole, tmp_path) -> None:
    folder = tmp_path / "run"
    sample(model, paths, **SETTINGS, checkpoint=hr.Checkpoint(folder, every=0))
    last = sorted(folder.glob("chain-0/labels-*"))[-1]
    labels = np.load(last / "shard-00001.npy")
    np.save(last / "shard-00001.npy", labels[::-1].copy() ^ 1)
    assert_same(whole, resume(folder, paths))
    for path in folder.glob("chain-0/state-*"):
        path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(hr.ParameterError, match="damaged or foreign file"):
        resume(folder, paths)


def test_refused(model, paths, tmp_path) -> None:
    folder = tmp_path / "run"
    sample(model, paths, **SETTINGS, checkpoint=folder)
    with pytest.raises(hr.ParameterError, match=r"this one holds a run, which hedgerow\.distributed\.resume\(\) continues"):
        sample(model, paths, **SETTINGS, checkpoint=folder)
    with pytest.raises(hr.ParameterError, match="name the folder of a distributed run that has begun"):
        resume(tmp_path / "elsewhere", paths)
    with pytest.raises(hr.ParameterError, match="shards must be the shards that the run began with, of 150, 10, 290, 200 rows"):
        resume(folder, paths[:3])
    with pytest.raises(hr.ParameterError, match="shards must hold the rows that the run began with"):
        resume(folder, [part[::-1] for part in map(np.load, paths)])
    with pytest.raises(hr.ParameterError, match="draws must be a whole number from 10 up"):
        resume(folder, paths, draws=3)
    with pytest.raises(hr.ParameterError, match="folder must be left out"):
        sample(model, paths, **SETTINGS, checkpoint=tmp_path / "b", folder=tmp_path / "c")
    (folder / "chain-0" / "state-999999.hedge").symlink_to(paths[0])
    with pytest.raises(hr.ParameterError, match="not links"):
        resume(folder, paths)


def test_a_record_of_numbers_that_are_none_is_refused_in_words(model, paths, tmp_path) -> None:
    sample(model, paths, **SETTINGS, checkpoint=tmp_path)
    record = tmp_path / "run.hedge"
    with zipfile.ZipFile(record) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert b'"draws": 10,' in members["header.json"]
    members["header.json"] = members["header.json"].replace(b'"draws": 10,', b'"draws": 1e999,')
    with zipfile.ZipFile(record, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    with pytest.raises(FormatError, match=r"run\.hedge must describe a run"):
        resume(tmp_path, paths)


# ------------------------------------------------------------------------------------------------ kills

SCRIPT = """
import sys, hedgerow as hr
from hedgerow.distributed import Conditional, sample, resume
run, *paths = sys.argv[1:]
import os
if os.path.exists(run + "/run.hedge"):
    resume(hr.Checkpoint(run, every=0), paths)
else:
    model = hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 3)), hr.GaussianWishart())
    sample(model, paths, kernel=Conditional(scouts=200, pairs=8), draws=10, warmup=4, seed=5, labels="all",
           checkpoint=hr.Checkpoint(run, every=0))
"""


def newest(run: Path) -> int:
    """The iteration of the newest state."""
    return max((int(path.stem[6:]) for path in run.glob("chain-0/state-*.hedge")), default=0)


def kill_the_coordinator(paths: list[Path], run: Path, whole: DistributedPosterior, kills: int, rng: np.random.Generator) -> None:
    """Kills at random moments after the run has got on; where it ends first it begins anew, until there are as many as asked for."""
    killed = 0
    while killed < kills:
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(run), *map(str, paths)], stderr=subprocess.PIPE)
        ends, began = time.monotonic() + 300, newest(run)
        while newest(run) <= began and process.poll() is None and time.monotonic() < ends:
            time.sleep(0.005)
        try:
            process.wait(float(rng.exponential(0.1)))
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        error = process.communicate()[1].decode()
        assert process.returncode in (0, -signal.SIGKILL), error
        if process.returncode == 0:
            assert_same(whole, resume(run, paths))
            shutil.rmtree(run)
    if run.exists():
        assert_same(whole, resume(run, paths))


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_the_coordinator_is_killed(paths, whole, tmp_path, kills) -> None:
    kill_the_coordinator(paths, tmp_path / "run", whole, kills, np.random.default_rng(kills))


@needs_dask
@pytest.mark.parametrize(
    ("victim", "kills"),
    [("scheduler", 1), pytest.param("scheduler", 20, marks=pytest.mark.slow), pytest.param("worker", 20, marks=pytest.mark.slow)],
)
def test_the_cluster_is_killed(model, paths, whole, tmp_path, victim, kills) -> None:
    """The scheduler in a process of its own, as on a cluster; workers come back by their nanny."""
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    rng = np.random.default_rng(kills)
    for number in range(kills):
        run = tmp_path / f"run-{number}"
        when = int(rng.integers(1, 13))
        folder = tmp_path / f"dask-{number}"
        folder.mkdir()
        where = folder / "scheduler.json"
        base = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--scheduler-file", str(where), "--no-dashboard", "--port", "0"]
        scheduler = subprocess.Popen(base, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            "--scheduler-file",
            str(where),
            "--nthreads",
            "1",
            "--no-dashboard",
        ]
        workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder) for _ in range(2)]
        try:
            with distributed.Client(scheduler_file=str(where), timeout=120) as client:
                client.wait_for_workers(2)
                pids = list(client.run(os.getpid).values())

                def kill(update: Any, when: int = when, pids: list[int] = pids, scheduler: Any = scheduler) -> None:
                    if update.done == when:
                        os.kill(scheduler.pid if victim == "scheduler" else pids[0], signal.SIGKILL)

                arguments = SETTINGS | {"checkpoint": hr.Checkpoint(run, every=0), "client": client, "callbacks": [kill]}
                if victim == "worker":
                    assert_same(whole, sample(model, paths, **arguments))
                else:
                    with pytest.raises(ConnectionError, match=r"the scheduler at tcp://.* was lost while the shards worked on"):
                        sample(model, paths, **arguments)
        finally:
            for process in (*workers, scheduler):
                process.kill()
                process.wait()
        assert_same(whole, resume(run, paths))
