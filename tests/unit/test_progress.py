"""One bar for a whole job, lines where there is no terminal, and what a search does when a person stops it."""

from __future__ import annotations

import signal
from concurrent import futures
from typing import Any

import numpy as np
import pytest

from hedgerow import summaries
from hedgerow.sampling import progress as progress_module
from hedgerow.sampling.progress import Tally, Update, open_progress, open_steps, stage, whole_job


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress_module, "time", made)
    return made


def news(chain: int, done: int, total: int = 100, warming: bool = False) -> Update:
    return Update(chain, done, total, warming, 3 + chain, -10.0 * (chain + 1))


def test_the_time_left_is_that_of_the_whole_job(clock: Clock) -> None:
    tally = Tally(2, 100, "chain", ["labels", "report"])
    clock.now = 0.5
    tally.see(news(0, 50, warming=True))
    assert tally.left() == ""  # too early to say
    clock.now = 60.0
    assert tally.words() == "warm-up, 3 clusters, log joint -10.0"
    assert (tally.done, tally.total) == (50, 222)
    assert tally.left() == "3:26 left"
    tally.see(news(1, 100))
    assert tally.words() == "1 of 2 chains done, 3 to 4 clusters, log joint -10.0"
    tally.see(news(0, 200, total=400))  # another round
    assert tally.total == 555
    tally.enter("report")
    assert tally.done == 500 + 55 // 2
    tally.finish()
    assert tally.done == tally.total
    assert tally.left() == ""


def test_a_line_now_and_then_without_a_terminal(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with whole_job(None, ["report"], lines=True):
        with open_progress(None, 1, 10_000) as bars:
            for done in range(0, 10_000, 10):
                clock.now += 1.0
                bars.show(news(0, done, 10_000))
        stage("report")
        stage("")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("hedgerow: 0%, ")
    assert 4 <= len(lines) <= 10  # of a thousand seconds
    assert lines[-1].startswith("hedgerow: ")
    with open_progress(None, 1, 10) as bars:  # nothing outside a job
        clock.now += 1000.0
        bars.show(news(0, 5, 10))
    assert capsys.readouterr().err == ""


def test_one_display_for_all_parts_of_a_job(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with whole_job(True, ["one partition", "report"]):
        for _ in range(2):  # levels first, then chains
            with open_progress(True, 2, 100) as bars:
                bars.show(news(0, 100))
                bars.show(news(1, 100))
        stage("one partition")
        stage("")
    shown = capsys.readouterr().err
    assert shown.count("100%") == 1
    assert "one partition" in shown
    stage("nobody looks")  # outside a job nothing happens


def test_steps_without_an_end(capsys: pytest.CaptureFixture[str]) -> None:
    with open_steps(True, None) as bars:
        bars.move(7, None, "frames, 2.0 a second")
    assert "frames, 2.0 a second" in capsys.readouterr().err


def test_a_search_that_is_stopped_has_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    stack = summaries.canonical(rng.integers(4, size=(40, 60)))
    real = futures.wait

    def interrupted(descents: Any) -> None:
        real(descents[:1])
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("hedgerow.summaries.estimate.wait", interrupted)
    found = summaries.point_estimate(stack)
    assert found.stopped
    assert sorted(set(found.labels.tolist())) == list(range(found.n_clusters))
    assert "stopped early" in found.words
    best_draw = min(np.mean(summaries.distance(draw, stack, "vi")) for draw in stack)
    assert found.expected_loss <= best_draw + 1e-9
    monkeypatch.undo()
    assert not summaries.point_estimate(stack).stopped
