"""Chains as joblib tasks: the same draws under any backend, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.sampling import Checkpoint, jobs, resume, sample

try:
    from joblib.externals import cloudpickle  # older joblibs bring their own
except ImportError:
    import cloudpickle
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests

SETTINGS: dict[str, Any] = {"kernel": hr.TreeGuided(global_moves=5), "draws": 60, "warmup": 20, "chains": 3, "seed": 1}


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return hr.data.ring13(seed=0, n=390)[0]


@pytest.fixture(scope="module")
def model() -> hr.Mixture:
    return hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 5), 1.0), hr.GaussianWishart())


@pytest.fixture(scope="module")
def whole(model, X) -> hr.Posterior:
    return sample(model, X, **SETTINGS)


def assert_same(a: hr.Posterior, b: hr.Posterior) -> None:
    for name in ("labels", "log_joint", "log_u", "alpha", "sigma"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name, stat in a.sample_stats.items():
        np.testing.assert_array_equal(stat, b.sample_stats[name], err_msg=name)


class Perilous(hr.Gibbs):
    """A Gibbs kernel that kills its worker the first few times it is opened; a file counts them."""

    def __init__(self, counter: Path, deaths: int) -> None:
        super().__init__()
        object.__setattr__(self, "counter", counter)
        object.__setattr__(self, "deaths", deaths)
        object.__setattr__(self, "home", os.getpid())

    def to_core(self, site: Any) -> Any:
        if os.getpid() != self.home:  # type: ignore[attr-defined]
            with open(self.counter, "a") as file:  # type: ignore[attr-defined]
                file.write(".")
            if self.counter.stat().st_size <= self.deaths:  # type: ignore[attr-defined]
                time.sleep(0.2)  # while others draw
                os.kill(os.getpid(), signal.SIGKILL)
        return super().to_core(site)


class Failing(hr.Gibbs):
    """A kernel that cannot be made in a worker."""

    def to_core(self, site: Any) -> Any:
        raise ZeroDivisionError("a kernel of mine")


@pytest.fixture
def short_segments(monkeypatch) -> None:
    """One iteration a segment, in this process."""
    monkeypatch.setattr(jobs, "_SEGMENT_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "_TIMES_SETUP", 0.0)


@pytest.mark.parametrize("backend", ["loky", "threading", "sequential", "multiprocessing"])
@pytest.mark.parametrize("workers", [1, 2])
def test_same_draws_under_any_backend(model, X, whole, backend, workers) -> None:
    with joblib.parallel_config(backend=backend, n_jobs=workers):
        assert_same(whole, sample(model, X, **SETTINGS, backend="joblib"))


@pytest.mark.usefixtures("short_segments")
def test_same_draws_from_many_segments(model, X, whole) -> None:
    heard: list[Any] = []
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert_same(whole, sample(model, X, **SETTINGS, backend="joblib", callbacks=[heard.append]))
    assert len(heard) > 30
    assert {update.chain for update in heard} == {0, 1, 2}


def test_by_default_all_cores(model, X, whole) -> None:
    assert_same(whole, sample(model, X, **SETTINGS, backend="joblib"))


@pytest.mark.filterwarnings("ignore:A worker stopped while some jobs")
def test_lost_workers_cost_only_their_segments(model, X, tmp_path) -> None:
    settings = SETTINGS | {"kernel": hr.Gibbs()}
    risky = SETTINGS | {"kernel": Perilous(tmp_path / "deaths", 2)}
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert_same(sample(model, X, **settings), sample(model, X, **risky, backend="joblib"))
    assert (tmp_path / "deaths").stat().st_size > 2


@pytest.mark.filterwarnings("ignore:A worker stopped while some jobs")
def test_workers_lost_again_and_again_end_the_run(model, X, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(jobs, "_MOST_LOSSES", 2)
    risky = SETTINGS | {"kernel": Perilous(tmp_path / "deaths", 10**6)}
    with joblib.parallel_config(backend="loky", n_jobs=2), pytest.raises(Exception, match="terminated") as caught:
        sample(model, X, **risky, backend="joblib")
    assert "Workers were lost 2 times in a row" in caught.value.__notes__[0]


def test_an_error_of_a_chain_comes_out_as_it_is(model, X) -> None:
    with joblib.parallel_config(backend="loky", n_jobs=2), pytest.raises(ZeroDivisionError, match="of mine") as caught:
        sample(model, X, **(SETTINGS | {"kernel": Failing()}), backend="joblib")
    assert "In a worker" in caught.value.__notes__[0]


@pytest.mark.usefixtures("short_segments")
def test_stopped_by_a_callback_and_resumed_elsewhere(model, X, whole, tmp_path) -> None:
    with joblib.parallel_config(backend="threading", n_jobs=2):
        post = sample(model, X, **SETTINGS, backend="joblib", checkpoint=tmp_path / "run", callbacks=[lambda update: update.done > 30])
    assert post.run["interrupted"]
    assert_same(whole, resume(Checkpoint(tmp_path / "run"), backend="threads"))


@pytest.mark.usefixtures("short_segments")
def test_an_error_of_a_callback_keeps_the_draws(model, X) -> None:
    def fail(update: Any) -> None:
        if update.done > 30:
            raise OSError("of the callback")

    with joblib.parallel_config(backend="threading", n_jobs=2), pytest.raises(OSError, match="of the callback") as caught:
        sample(model, X, **SETTINGS, backend="joblib", callbacks=[fail])
    assert caught.value.posterior.draws > 0  # type: ignore[attr-defined]


def test_ctrl_c_reaches_the_caller_only() -> None:
    """A terminal's Ctrl-C goes to all processes; the draws so far come back all the same."""
    script = textwrap.dedent("""
        import joblib, hedgerow as hr
        from hedgerow.sampling import jobs
        X = hr.data.ring13(seed=0, n=130)[0]
        model = hr.Mixture(hr.DP(), hr.GaussianWishart())
        tell = lambda update: print("drawing", flush=True)
        with joblib.parallel_config(backend="loky", n_jobs=2):
            post = hr.sample(model, X, draws=10**6, warmup=5, chains=2, seed=0, callbacks=[tell], backend="joblib")
        print("kept", post.chains, post.draws, post.run["interrupted"])
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "drawing\n"
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    kept, chains, draws, interrupted = out.splitlines()[-1].split()
    assert (kept, interrupted, process.returncode) == ("kept", "True", 0)
    assert chains in ("1", "2")  # one, where the other had come less than half as far
    assert 0 < int(draws) < 10**6


def test_refused(model, X) -> None:
    with pytest.raises(hr.ParameterError, match=r"backend must be 'threads', 'joblib' or 'dask'\. Got 'processes'"):
        sample(model, X, backend="processes")
    own = hr.Mixture(hr.DP(), hr.Custom(lambda X: X, 1))
    with pytest.raises(hr.ParameterError, match="backend must be 'threads' for a Custom likelihood given by an address"):
        jobs.check_travels(type("Plan", (), {"model": own})())


# ------------------------------------------------------------------------------------------------ Dask


@pytest.mark.filterwarnings("ignore")  # Dask's own, from its many parts
@pytest.mark.parametrize("workers", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)])
def test_same_draws_on_a_dask_cluster(model, X, whole, workers) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert_same(whole, sample(model, X, **SETTINGS, backend="joblib"))


@pytest.mark.filterwarnings("ignore")
def test_the_dask_backend_by_name(model, X, whole) -> None:
    distributed = pytest.importorskip("distributed")
    assert_same(whole, sample(model, X, **SETTINGS, backend="dask"))  # a client of its own, gone afterwards
    with pytest.raises(ValueError, match="No client"):
        distributed.default_client()
    with distributed.Client(processes=False, n_workers=2, dashboard_address=None) as client:
        assert_same(whole, sample(model, X, **SETTINGS, backend="dask"))
        assert distributed.default_client() is client


@pytest.mark.filterwarnings("ignore")
def test_a_dask_worker_killed_mid_run(model, X) -> None:
    distributed = pytest.importorskip("distributed")
    settings = SETTINGS | {"draws": 400, "chains": 2}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        client.run(lambda: vars(jobs).update(_SEGMENT_SECONDS=0.1, _TIMES_SETUP=0.0))
        pids = list(client.run(os.getpid).values())
        killed: list[int] = []
        heard: dict[int, list[int]] = {0: [], 1: []}

        def kill(update: Any) -> None:
            heard[update.chain].append(update.done)
            if update.done > 50 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        post = sample(model, X, **settings, backend="joblib", callbacks=[kill])
    assert killed
    for done in heard.values():  # no chain began again: what was lost is the segment under way
        assert done == sorted(set(done))
    assert_same(sample(model, X, **settings), post)
