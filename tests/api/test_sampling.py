"""sample(): seeds, warm-up, thinning, callbacks, interrupts, progress, and what it refuses."""

from __future__ import annotations

import _thread
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.checks import assert_same_posterior as assert_same

import hedgerow as hr
from hedgerow.sampling import Chain
from hedgerow.sampling import progress as progress_module
from hedgerow.sampling import recorder as recorder_module

TRACES = ("labels", "n_clusters", "log_joint", "log_u", "alpha", "sigma", "tau")
KERNELS = [
    hr.Gibbs(),
    hr.Gibbs(subset=7),
    hr.SplitMerge(scans=2),
    hr.Slice(),
    hr.TreeGuided(global_moves=3),
    hr.TreeGuidedPublished(G=3),
    hr.cycle(hr.TreeGuidedPublished(G=2), hr.Gibbs(subset=5)),
    hr.mix(hr.SplitMerge(scans=1), hr.TreeGuided(global_moves=2)),
]


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return hr.data.ring13(seed=0, n=130)[0]


@pytest.fixture(scope="module")
def model() -> hr.Mixture:
    return hr.Mixture(hr.NGG(alpha=hr.Gamma(1, 1), sigma=hr.Beta(1, 3), tau=1.0), hr.GaussianWishart())


def draw(model: hr.Mixture, X: Any, **changed: Any) -> hr.Posterior:
    settings: dict[str, Any] = {"kernel": hr.Gibbs(), "draws": 12, "warmup": 5, "chains": 2, "seed": 3}
    return hr.sample(model, X, **(settings | changed))


# ---------------------------------------------------------------------------------------------- seeds


def test_after_an_early_stop_the_largest_rectangle_is_kept(model, X) -> None:
    record = recorder_module.MemoryRecorder(3, 10, len(X))
    chain = Chain(model, X, hr.Gibbs(), labels=np.zeros(len(X)), seed=0)
    for index, draws in enumerate((10, 4, 9)):
        record.put(index, chain.run(draws))
    chains, draws = recorder_module.rectangle(record.filled())
    assert (chains.tolist(), draws) == ([0, 2], 9)  # 2 × 9 is more than 3 × 4 and 1 × 10
    labels, traces, stats = record.arrays()
    assert labels.shape == (2, 9, 130)
    assert all(values.shape == (2, 9) for values in (*traces.values(), *stats.values()))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_same_seed_same_draws_whatever_the_threads_and_blocks(model, X, kernel, monkeypatch) -> None:
    reference = draw(model, X, kernel=kernel, chains=3)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # one thread, chains one after the other
    monkeypatch.setattr("hedgerow.sampling.blocks._BLOCK_SECONDS", 1e9)  # blocks as long as they may get
    assert_same(reference, draw(model, X, kernel=kernel, chains=3))
    monkeypatch.setattr("hedgerow.sampling.blocks._BLOCK_SECONDS", 0.0)  # one iteration each
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert_same(reference, draw(model, X, kernel=kernel, chains=3))


def test_a_chain_does_not_know_how_many_there_are(model, X) -> None:
    four, one = draw(model, X, chains=4), draw(model, X, chains=1)
    np.testing.assert_array_equal(four.labels[:1], one.labels)
    np.testing.assert_array_equal(four.log_u[:1], one.log_u)


def test_chains_differ_and_seeds_differ(model, X) -> None:
    a, b = draw(model, X), draw(model, X, seed=4)
    assert not np.array_equal(a.log_u[0], a.log_u[1])
    assert not np.array_equal(a.log_u, b.log_u)


def test_a_seed_left_out_is_chosen_and_kept(model, X) -> None:
    first = draw(model, X, seed=None)
    assert_same(first, draw(model, X, seed=first.run["seed"]))
    assert draw(model, X, seed=None).run["seed"] != first.run["seed"]


def test_large_and_numpy_seeds(model, X) -> None:
    assert draw(model, X, seed=2**130).run["seed"] == 2**130
    assert_same(draw(model, X, seed=np.int64(3)), draw(model, X, seed=3))


# ------------------------------------------------------------------------------- warm-up and thinning


@pytest.mark.parametrize("kernel", [hr.Gibbs(), hr.SplitMerge(scans=2), hr.TreeGuidedPublished(G=2)], ids=repr)
def test_warm_up_is_thrown_away(model, X, kernel) -> None:
    """These kernels do not adapt, so a warm-up is a stretch of draws not kept."""
    long, short = draw(model, X, kernel=kernel, warmup=0, draws=17), draw(model, X, kernel=kernel, warmup=5, draws=12)
    np.testing.assert_array_equal(long.labels[:, 5:], short.labels)
    np.testing.assert_array_equal(long.alpha[:, 5:], short.alpha)


def test_thinning_keeps_every_third_draw_and_averages_statistics(model, X) -> None:
    every, third = draw(model, X, draws=36), draw(model, X, draws=12, thin=3)
    np.testing.assert_array_equal(every.labels[:, 2::3], third.labels)
    np.testing.assert_array_equal(every.log_joint[:, 2::3], third.log_joint)
    moved = every.sample_stats["moved"].reshape(2, 12, 3).mean(axis=2)
    np.testing.assert_allclose(third.sample_stats["moved"], moved, rtol=1e-12)


def test_the_record_says_what_was_asked(model, X) -> None:
    run = draw(model, X, thin=2).run
    assert {name: run[name] for name in ("seed", "draws", "warmup", "chains", "thin", "interrupted")} == {
        "seed": 3, "draws": 12, "warmup": 5, "chains": 2, "thin": 2, "interrupted": False,
    }  # fmt: skip
    assert run["kernel"] == "Gibbs(subset=None, collapse=True)"
    assert run["seconds"] > 0


def test_record_keeps_the_names_of_columns(model, X, tmp_path) -> None:
    assert "columns" not in draw(model, X).run
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    post = draw(model, frame, checkpoint=tmp_path / "run")
    assert post.run["columns"] == list(frame.columns)
    assert hr.resume(tmp_path / "run").run["columns"] == list(frame.columns)
    assert_same(post, draw(model, X))
    assert "c0" in str(post.cluster_table())


def test_the_reported_log_joint_is_that_of_the_model(X) -> None:
    model = hr.Mixture(hr.DP(alpha=1.5), hr.GaussianWishart())
    post = draw(model, X)
    for chain, draw_index in ((0, 0), (1, 11)):
        own = post.model.log_joint(X, post.labels[chain, draw_index])
        assert post.log_joint[chain, draw_index] == pytest.approx(own, rel=1e-12)


# ------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"draws": 0}, r"sample\(draws=0\): draws must be a whole number from 1 up. Got 0."),
        ({"draws": 2.5}, "draws must be a whole number"),
        ({"draws": True}, "draws must be a whole number"),
        ({"warmup": -1}, "warmup must be a whole number from 0 up"),
        ({"chains": 0}, "chains must be"),
        ({"thin": 0}, "thin must be"),
        ({"seed": -1}, "seed must be a whole number from 0 up, or None"),
        ({"seed": "now"}, "seed must be"),
        ({"kernel": "gibbs"}, r"kernel must be a kernel such as TreeGuided\(\)"),
        ({"kernel": hr.Gibbs}, "kernel must be a kernel"),
        ({"callbacks": [3]}, "callbacks must be a list of functions"),
        ({"callbacks": 3}, "callbacks must be a list of functions"),
        ({"progress": "yes"}, "progress must be True, False or None"),
        ({"times": [1, 2, 3]}, "times"),
    ],
    ids=str,
)
def test_arguments_refused(model, X, changed, words) -> None:
    with pytest.raises(hr.ParameterError, match=words):
        draw(model, X, **changed)


def test_a_model_is_needed(X) -> None:
    with pytest.raises(hr.ParameterError, match="model must be a Mixture"):
        hr.sample(hr.DP(), X)  # type: ignore[arg-type]


def test_a_run_too_large_for_memory_is_refused_at_once(model, X, monkeypatch) -> None:
    monkeypatch.setattr(recorder_module.os, "sysconf", lambda name: 1024)  # type: ignore[attr-defined]  # a machine of one megabyte
    with pytest.raises(hr.ParameterError, match=r"the labels of 130 rows need 1,015\.6 KiB and .* 1\.0 MiB\. Ask for fewer draws"):
        draw(model, X, draws=1000)


# -------------------------------------------------------------------------------- callbacks, interrupts


def test_callbacks_hear_of_every_chain_and_phase(model, X) -> None:
    heard: list[Any] = []
    draw(model, X, callbacks=[heard.append])
    assert {update.chain for update in heard} == {0, 1}
    assert {update.warming_up for update in heard} == {True, False}
    assert all(update.total == 17 and 0 < update.done <= 17 for update in heard)
    last = [update for update in heard if update.done == 17]
    assert len(last) == 2
    for chain in range(2):
        done = [update.done for update in heard if update.chain == chain]
        assert done == sorted(done)


def test_a_callback_stops_the_chains(model, X) -> None:
    post = draw(model, X, chains=1, draws=100_000, callbacks=[lambda update: update.done > 100])
    assert post.run["interrupted"]
    assert 0 < post.draws < 100_000
    whole = draw(model, X, chains=1, draws=post.draws)
    np.testing.assert_array_equal(whole.labels, post.labels)  # what was kept is the beginning, without gaps
    assert "stopped early" in repr(post)


def test_a_callback_that_stops_at_the_end_stops_nothing(model, X) -> None:
    assert not draw(model, X, chains=1, callbacks=[lambda update: update.done == 17]).run["interrupted"]


def test_a_callback_that_stops_before_the_first_draw(model, X) -> None:
    with pytest.raises(RuntimeError, match="before a draw"):
        draw(model, X, warmup=10**6, callbacks=[lambda update: True])


def test_an_error_in_a_callback_keeps_the_draws(model, X) -> None:
    def fail(update: Any) -> None:
        if update.done > 100:
            raise OSError("the disk of the callback")

    with pytest.raises(OSError, match="the disk of the callback") as caught:
        draw(model, X, draws=100_000, callbacks=[fail])
    post = caught.value.posterior  # type: ignore[attr-defined]
    assert post.draws > 0
    assert post.run["interrupted"]
    assert "attribute `posterior`" in caught.value.__notes__[0]


def test_an_error_in_a_worker_comes_out(X) -> None:
    mixed = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 1.0), basis=[1, 2], decay=0.5), hr.GaussianWishart())
    with pytest.raises(ValueError, match="Slice handles one measure"):
        hr.sample(mixed, X, kernel=hr.Slice(), times=np.arange(130) % 2, draws=5, warmup=0, chains=2, seed=0)


def test_an_interrupt_returns_the_draws_so_far(model, X) -> None:
    def interrupt(update: Any) -> None:
        if update.done > 100 and not interrupted:
            interrupted.append(update)
            _thread.interrupt_main()

    interrupted: list[Any] = []
    post = draw(model, X, chains=1, draws=100_000, callbacks=[interrupt])
    assert post.run["interrupted"]
    np.testing.assert_array_equal(draw(model, X, chains=1, draws=post.draws).labels, post.labels)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_before_the_first_draw_tells_where_chains_stand(model, X) -> None:
    post = draw(model, X, warmup=10**6, callbacks=[lambda update: _thread.interrupt_main() if update.done < 5 else None])
    assert (post.run["warming"], post.run["interrupted"], post.draws) == (True, True, 1)


def test_ctrl_c_from_outside(tmp_path) -> None:
    script = textwrap.dedent("""
        import sys, hedgerow as hr
        X = hr.data.ring13(seed=0, n=130)[0]
        model = hr.Mixture(hr.DP(), hr.GaussianWishart())
        tell = lambda update: print("drawing", flush=True) if not update.warming_up else None
        post = hr.sample(model, X, draws=200_000, warmup=5, chains=2, seed=0, callbacks=[tell])
        print("kept", post.draws, post.run["interrupted"])
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "drawing\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    kept, draws, interrupted = out.splitlines()[-1].split()
    assert (kept, interrupted, process.returncode) == ("kept", "True", 0)
    assert 0 < int(draws) < 200_000


# ----------------------------------------------------------------------------------------- progress


def test_progress_with_rich(model, X, capsys) -> None:
    post = draw(model, X, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "chains done" in shown.err
    assert "100%" in shown.err
    assert_same(post, draw(model, X, progress=False))
    assert capsys.readouterr().err == ""


def test_progress_without_rich(model, X, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.progress", None)  # an import of it fails
    with pytest.raises(hr.MissingExtraError, match=r"pip install 'hedgerow\[progress\]'"):
        draw(model, X, progress=True)
    monkeypatch.setattr(progress_module.sys.stderr, "isatty", lambda: True, raising=False)  # type: ignore[attr-defined]
    assert draw(model, X).draws == 12  # not asked for: not missed


# ------------------------------------------------------------------------------------ shapes of things


def test_shapes_under_one_measure(model, X) -> None:
    post = draw(model, X)
    assert post.labels.shape == (2, 12, 130)
    assert post.labels.dtype == np.int32
    for name in ("log_joint", "n_clusters", "log_u", "alpha", "sigma", "tau"):
        assert getattr(post, name).shape == (2, 12), name
    assert post.theta is None
    assert np.isfinite(post.log_u).all()
    assert np.ptp(post.tau) == 0


def test_theta_under_pitman_yor(X) -> None:
    post = draw(hr.Mixture(hr.PitmanYor(theta=hr.Gamma(1, 1), sigma=0.2), hr.GaussianWishart()), X)
    assert post.theta.shape == (2, 12)
    assert np.ptp(post.theta) > 0


@pytest.mark.parametrize("kernel", [hr.Gibbs(), hr.Gibbs(collapse=False), hr.SplitMerge(2), hr.TreeGuided(3)], ids=repr)
def test_times_with_a_mixed_prior(X, kernel) -> None:
    model = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 1.0), basis=[1, 2, 3, 4], decay=0.5), hr.GaussianWishart())
    times = np.repeat([1, 2, 4], [50, 50, 30])
    post = draw(model, X, kernel=kernel, times=times)
    assert post.log_u.shape == (2, 12, 3)
    assert post.alpha.shape == (2, 12, 4)
    assert post.log_joint.shape == (2, 12)
    np.testing.assert_array_equal(post.times, times)
    np.testing.assert_array_equal(draw(model, X, kernel=kernel, times=list(times), chains=1).log_u, post.log_u[:1])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("rows", [1, 2], ids=["one row", "two rows"])
def test_tiny_data(kernel, rows) -> None:
    model = hr.Mixture(hr.NGG(alpha=hr.Gamma(1, 1), sigma=0.3, tau=hr.Gamma(1, 1)), hr.GaussianWishart())
    post = draw(model, np.array([[0.0, 1.0], [2.0, -1.0]])[:rows], kernel=kernel, draws=200)
    assert post.labels.shape == (2, 200, rows)
    assert set(np.unique(post.n_clusters)) <= set(range(1, rows + 1))
    assert np.isfinite(post.log_joint).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_constant_data(kernel) -> None:
    model = hr.Mixture(hr.NIG(alpha=hr.Gamma(1, 1)), hr.GaussianWishart())
    post = draw(model, np.full((20, 2), 3.5), kernel=kernel)
    assert np.isfinite(post.log_joint).all()


def test_what_comes_out_can_be_pickled(model, X) -> None:
    post = draw(model, X)
    assert_same(post, pickle.loads(pickle.dumps(post)))


def test_mix_picks_by_its_weights(model, X) -> None:
    """A part that did not run has no numbers to report."""
    post = draw(model, X[:6], kernel=hr.mix(hr.Gibbs(), hr.SplitMerge(), weights=(0.1, 0.9)), chains=1, draws=4000)
    ran = np.isfinite(post.sample_stats["Gibbs.moved"])
    assert np.array_equal(ran, np.isnan(post.sample_stats["SplitMerge.moved"]))
    assert ran.mean() == pytest.approx(0.1, abs=5 * np.sqrt(0.09 / 4000))  # five standard errors


@pytest.mark.parametrize("prior", [hr.DP(1e9), hr.NGG(1.0, 0.99, 1.0), hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 3))], ids=repr)
def test_slice_needs_no_jumps_without_rows(prior) -> None:
    """Above the lowest slice there are millions of them when alpha is large or sigma comes near 1."""
    X = np.random.default_rng(0).standard_normal((6, 2))
    post = draw(hr.Mixture(prior, hr.GaussianWishart()), X, kernel=hr.Slice(), chains=1, draws=15_000)
    assert np.isfinite(post.log_joint).all()
    assert post.sample_stats["atoms"].max() <= 6


def test_the_posterior_keeps_its_own_rows(model, X) -> None:
    rows = X.copy()
    post = draw(model, rows)
    expected = post.log_density(X[:5])
    rows[:] = 0.0
    np.testing.assert_array_equal(post.log_density(X[:5]), expected)
    rows.setflags(write=False)  # what nobody can write to need not be copied
    assert draw(model, rows).X is rows
