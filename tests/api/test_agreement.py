"""Runs of open length: they end when chains agree or a budget is spent, and rounds, threads and kills change no draw."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.sampling.agreement import FIRST_DRAWS, FIRST_WARMUP, Course, judge

RING = hr.data.ring13(n=260, seed=3).X
MODEL = hr.Mixture(hr.NGG(hr.Gamma(1, 1), 0.2), hr.GaussianWishart())


def run(until=None, X=RING, **options):
    return hr.sample(MODEL, X, until=until or hr.Agreement(ess=200), seed=5, progress=False, **{"chains": 3, **options})


def test_an_easy_table_ends_early_and_says_that_chains_agree():
    post = run()
    told = post.run["until"]
    assert told["agreed"]
    assert "agree" in told["why"]
    assert judge(post.log_joint, post.n_clusters).meets(hr.Agreement(ess=200))
    assert FIRST_DRAWS <= post.draws == post.run["draws"] < 1000
    assert post.run["warmup"] < 500
    assert not post.run["interrupted"]


def test_the_draws_are_those_of_a_run_of_that_length():
    """Where rounds fall changes nothing: after one short warm-up the same numbers come from a run without rounds."""
    post = run()
    assert post.run["warmup"] == FIRST_WARMUP
    plain = hr.sample(MODEL, RING, draws=post.draws, warmup=FIRST_WARMUP, chains=3, seed=5, progress=False)
    assert np.array_equal(post.labels, plain.labels)
    assert np.array_equal(post.log_joint, plain.log_joint)


def test_a_budget_of_draws_is_kept_and_told():
    post = run(hr.Agreement(ess=1e6, max_draws=130))
    assert post.draws == 130
    assert not post.run["until"]["agreed"]
    assert "130 draws" in post.run["until"]["why"]


def stubborn(kernel, **options):
    """Six clumps that Gibbs sampling, from one cluster and from singletons, does not find in the same way."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.05, size=(60, 2)) for c in ((0, 0), (0, 3), (3, 0), (3, 3), (6, 0), (6, 3))])
    model = hr.Mixture(hr.DP(0.01), hr.GaussianWishart())
    wanted = hr.Agreement(max_draws=60)
    return hr.sample(model, X, kernel=kernel, init=["one", "singletons"], chains=2, seed=1, until=wanted, progress=False, **options)


def test_chains_far_apart_warm_up_again_and_drop_what_they_drew():
    post = stubborn(hr.Gibbs())
    assert post.run["warmup"] > FIRST_WARMUP
    assert post.draws == 60


def test_seconds_are_a_budget_and_leave_an_answer_even_in_the_warm_up():
    post = run(hr.Agreement(ess=1e6, max_draws=10**6, max_seconds=1e-3))
    assert post.draws >= 1
    assert "seconds" in post.run["until"]["why"]
    assert not post.run["interrupted"]


@pytest.mark.parametrize("backend", ["joblib"])
def test_draws_do_not_depend_on_where_chains_run(backend):
    here, there = run(), run(backend=backend)
    assert np.array_equal(here.labels, there.labels)


def test_a_checkpoint_gives_the_same_draws(tmp_path):
    assert np.array_equal(run().labels, run(checkpoint=tmp_path / "run").labels)


@pytest.mark.parametrize("when", [2, 5, 9, 14])
def test_a_stopped_run_is_resumed_to_the_same_draws(tmp_path, when):
    until = hr.Agreement(ess=500)
    whole = run(until)
    count = 0

    def stop(_):
        nonlocal count
        count += 1
        return count == when

    with suppress(RuntimeError):  # before the first draw
        run(until, checkpoint=hr.Checkpoint(tmp_path / "run", every=0.0), callbacks=[stop])
    post = hr.resume(tmp_path / "run", progress=False)
    assert np.array_equal(whole.labels, post.labels)
    assert post.run["until"] == whole.run["until"]
    again = hr.resume(tmp_path / "run", progress=False)
    assert np.array_equal(whole.labels, again.labels)


def test_a_run_that_warmed_up_again_is_resumed_to_the_same_draws(tmp_path):
    kernel = hr.cycle(hr.Gibbs(), hr.Gibbs(subset=50))
    whole = stubborn(kernel)
    assert whole.run["warmup"] > FIRST_WARMUP
    for when in (3, 8, 20):
        seen = []  # type: ignore[var-annotated]
        folder = tmp_path / str(when)

        def stop(update, seen=seen, when=when):
            seen.append(update)
            return len(seen) == when

        with suppress(RuntimeError):
            stubborn(kernel, checkpoint=hr.Checkpoint(folder, every=0.0), callbacks=[stop])
        post = hr.resume(folder, progress=False)
        assert np.array_equal(whole.labels, post.labels)
        assert np.array_equal(whole.log_joint, post.log_joint)


def test_a_larger_budget_goes_on_with_a_finished_run(tmp_path):
    short = run(hr.Agreement(ess=1e6, max_draws=60), checkpoint=tmp_path / "run")
    longer = hr.resume(tmp_path / "run", until=hr.Agreement(ess=1e6, max_draws=90), progress=False)
    assert longer.draws == 90
    assert np.array_equal(longer.labels[:, :60], short.labels)
    longest = hr.resume(tmp_path / "run", draws=110, progress=False)
    assert longest.draws == 110
    assert np.array_equal(longest.labels[:, :90], longer.labels)
    with pytest.raises(hr.ParameterError, match="until"):
        hr.resume(tmp_path / "run", draws=200, until=hr.Agreement())


@pytest.mark.parametrize("bad", [{"rhat": 1.0}, {"ess": -1}, {"max_draws": 0}, {"max_draws": 2.5}, {"max_seconds": 0}, {"rhat": "no"}])
def test_what_no_run_can_be_held_to_is_refused(bad):
    with pytest.raises(hr.ParameterError, match=next(iter(bad))):
        hr.Agreement(**bad)


def test_draws_and_until_are_not_both_said():
    with pytest.raises(hr.ParameterError, match="until"):
        run(draws=10)


def test_a_course_stops_warming_up_when_nothing_more_is_found():
    wanted = hr.Agreement(max_draws=1000)
    first = Course.begin(wanted, 500)
    apart = np.stack([np.zeros(50), np.full(50, 100.0)]) + np.random.default_rng(0).normal(size=(2, 50))
    second = first.follow(wanted, apart, np.ones((2, 50)))
    assert second is not None
    assert (second.before, second.warmup, second.draws) == (40, 120, 50)
    third = second.follow(wanted, apart, np.ones((2, 50)))
    assert third is not None
    assert (third.before, third.draws, third.settled) == (40, 100, True)
    assert Course.read(third.stored()) == third


def test_chains_that_were_on_their_way_go_on_without_another_warm_up():
    wanted = hr.Agreement(max_draws=1000)
    late = np.random.default_rng(0).normal(size=(2, 50))
    late[1, :15] -= 100.0
    second = Course.begin(wanted, 500).follow(wanted, late, np.ones((2, 50)))
    assert second is not None
    assert (second.before, second.warmup, second.draws, second.settled) == (90, 0, 50, False)
    third = second.follow(wanted, late, np.ones((2, 50)))  # on their way for longer than that: a warm-up as long as all before
    assert third is not None
    assert (third.before, third.warmup) == (140, 90)


def test_a_warm_up_follows_draws_that_were_thrown_away(monkeypatch):
    follow, asked = Course.follow, []

    def throw_away(self, until, log_joint, n_clusters):
        asked.append(self)
        if len(asked) > 2:
            return follow(self, until, log_joint, n_clusters)
        late = np.random.default_rng(0).normal(size=(2, 50))
        late[1, :15] -= 100.0
        return follow(self, until, late, np.ones((2, 50)))

    monkeypatch.setattr(Course, "follow", throw_away)
    post = run()
    assert [course.warmup for course in asked[:3]] == [FIRST_WARMUP, 0, FIRST_WARMUP + FIRST_DRAWS]
    assert post.run["warmup"] == 2 * (FIRST_WARMUP + FIRST_DRAWS) + FIRST_DRAWS


def test_ctrl_c_in_the_warm_up_leaves_an_answer():
    told = []

    def strike(update):
        told.append(update)
        if len(told) == 1:
            signal.raise_signal(signal.SIGINT)

    post = run(X=hr.data.ring13(n=13_000, seed=3).X, callbacks=[strike])
    assert told[0].warming_up
    assert post.run["interrupted"]
    assert not post.run["until"]["agreed"]
    assert (post.chains > 0, post.draws) == (True, 1)
    assert post.point_estimate().n_clusters > 1


def test_a_run_whose_first_draws_were_thrown_away_is_resumed_bit_for_bit(tmp_path, monkeypatch):
    follow = Course.follow

    def throw_away_once(self, until, log_joint, n_clusters):
        if self.before == 0:
            return replace(self, before=self.warmup + self.draws, warmup=0)
        return follow(self, until, log_joint, n_clusters)

    monkeypatch.setattr(Course, "follow", throw_away_once)
    whole, seen = run(), iter(range(15))
    assert whole.run["warmup"] == FIRST_WARMUP + FIRST_DRAWS
    with suppress(RuntimeError):  # stopped before a draw, where blocks are long
        run(checkpoint=hr.Checkpoint(tmp_path / "run", every=0.0), callbacks=[lambda update: next(seen, None) is None])
    again = hr.resume(tmp_path / "run", progress=False)
    assert np.array_equal(again.labels, whole.labels)
    assert np.array_equal(again.log_joint, whole.log_joint)
