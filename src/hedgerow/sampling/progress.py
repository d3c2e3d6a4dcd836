"""Progress: what a person sees of a job, on the terminal's error stream, below a notebook's cell, or as a line now and then.

A job is one bar: the iterations of all chains, and the stages that follow where somebody has opened the whole of it (`whole_job`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from hedgerow.errors import MissingExtraError, need_extra

__all__ = ["Progress", "Steps", "Tally", "Update", "in_notebook", "open_progress", "open_steps", "stage", "whole_job"]

REDRAWN = 0.2  # seconds
AFTER = 9  # iterations to one of all the stages after them, for want of better knowledge
FIRST_LINE, RARELY = 10.0, 300.0  # seconds until the first line, and between lines at the most; each time twice as long


@dataclass(frozen=True)
class Update:
    """News of one chain; callbacks receive it too.

    Attributes
    ----------
    chain, done, total : int
        Which chain, its iterations so far, and all it will make.
    warming_up : bool
    n_clusters : int
    log_joint : float
        Of the present state.

    >>> import hedgerow as hr
    >>> seen = []
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    >>> _ = hr.sample(model, [[0.0], [9.0]], draws=2, warmup=2, chains=1, seed=0, callbacks=[seen.append])
    >>> seen[-1].done == seen[-1].total
    True
    """

    chain: int
    done: int
    total: int
    warming_up: bool
    n_clusters: int
    log_joint: float


class Tally:
    """How far a job has come: the iterations of so many units, such as chains, then the stages that follow.

    >>> tally = Tally(2, 10, "chain", ["report"])
    >>> tally.see(Update(0, 10, 10, False, 3, -7.5))
    >>> tally.done, tally.total, tally.words()
    (10, 22, '1 of 2 chains done, 3 clusters, log joint -7.5')
    >>> tally.enter("report")
    >>> tally.done, tally.words()
    (20, 'report')
    """

    def __init__(self, units: int, total: int, noun: str = "chain", then: Sequence[str] = ()) -> None:
        self.noun, self.then = noun, list(then)
        self._total = total
        self._news: list[Update | None] = [None] * units
        self._stage: str | None = None
        self._passed = 0
        self._aside = ""
        self.clock = time.monotonic()

    def see(self, update: Update) -> None:
        """News of one unit."""
        self._news[update.chain], self._aside = update, ""

    def say(self, words: str) -> None:
        """What is done meanwhile, until there is news of a unit again."""
        self._aside = words

    def enter(self, stage: str) -> None:
        """What is done from here on."""
        self._stage = stage
        if stage in self.then:
            self._passed = self.then.index(stage)

    def settle(self, units: int) -> None:
        """There are no more units than so many."""
        del self._news[units:]

    def finish(self) -> None:
        """Nothing is left to do."""
        self._passed = len(self.then)

    @property
    def _iterations(self) -> int:
        return sum(self._total if news is None else news.total for news in self._news)

    @property
    def total(self) -> int | None:
        """All there is to do, as far as that is known, in iterations."""
        return self._iterations + self._after

    @property
    def _after(self) -> int:
        return max(1, self._iterations // AFTER) if self.then else 0

    @property
    def done(self) -> int:
        """What is done of it."""
        if self._stage is None:
            return sum(0 if news is None else news.done for news in self._news)
        return self._iterations + self._after * self._passed // max(len(self.then), 1)

    def left(self) -> str:
        """The time left, if what comes goes as what has been."""
        spent, done, total = time.monotonic() - self.clock, self.done, self.total
        if total is None or done == 0 or 50 * done < total or done >= total or spent < 1.0:  # the first are unlike the others
            return ""
        seconds = int(spent * (total - done) / done)
        hours, minutes = seconds // 3600, seconds // 60 % 60
        return f"{hours}:{minutes:02}:{seconds % 60:02} left" if hours else f"{minutes}:{seconds % 60:02} left"

    def words(self) -> str:
        """What is going on."""
        if self._stage is not None or self._aside:
            return self._stage or self._aside
        known = [news for news in self._news if news is not None]
        if not known:
            return ""
        ended, warming = sum(news.done >= news.total for news in known), any(news.warming_up for news in known)
        units = len(self._news)
        phase = f"{ended} of {units} {self.noun}s done" if ended else "warm-up" if warming else "drawing"
        if units == 1:
            phase = "warm-up" if warming else "drawing"
        counts = sorted(news.n_clusters for news in known if news.n_clusters > 0)
        if not counts:
            return phase
        span = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
        return f"{phase}, {span} clusters, log joint {max(news.log_joint for news in known):,.1f}"


class Steps(Tally):
    """A job of one thing after the other, such as frames, of which nobody may know how many there are.

    >>> steps = Steps(None)
    >>> steps.move(3, None, "2.0 a second")
    >>> steps.done, steps.total, steps.words()
    (3, None, '2.0 a second')
    """

    def __init__(self, total: int | None) -> None:
        super().__init__(0, 0)
        self._steps: tuple[int, int | None, str] = (0, total, "")

    def move(self, done: int, total: int | None, words: str) -> None:
        """How many are done, of how many, and what there is to say."""
        self._steps = (done, total, words)

    @property
    def total(self) -> int | None:
        """All there are, if that is known."""
        return self._steps[1]

    @property
    def done(self) -> int:
        """Those that are done."""
        return self._steps[0]

    def words(self) -> str:
        """What was said last."""
        return self._steps[2]


class Progress:
    """Shows nothing; the base of what shows something."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def __enter__(self) -> Self:
        """Start showing."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop showing."""

    def show(self, update: Update) -> None:
        """Show news of one chain."""
        self.tally.see(update)
        self.draw()

    def say(self, words: str) -> None:
        """Show what is done meanwhile."""
        self.tally.say(words)
        self.draw()

    def move(self, done: int, total: int | None, words: str) -> None:
        """Show how far `Steps` have come."""
        assert isinstance(self.tally, Steps)
        self.tally.move(done, total, words)
        self.draw()

    def enter(self, words: str) -> None:
        """Show that another stage has begun."""
        self.tally.enter(words)
        self.draw()

    def draw(self) -> None:
        """Bring what is seen up to date."""


class RichProgress(Progress):
    """One bar with what is going on, the time spent and the time left."""

    def __init__(self, rich_progress: Any, tally: Tally) -> None:
        super().__init__(tally)
        self._bars = rich_progress.Progress(
            rich_progress.BarColumn(),
            rich_progress.TaskProgressColumn(),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("{task.fields[left]}"),
            rich_progress.TextColumn("{task.fields[news]}"),
            console=need_extra("rich.console", "progress").Console(stderr=True),
            redirect_stdout=False,
        )
        self._task = self._bars.add_task("", total=tally.total, news="", left="")

    def __enter__(self) -> Self:
        """Start the display."""
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave the last state on the screen."""
        self.draw()
        self._bars.stop()

    def draw(self) -> None:
        """Move the bar."""
        tally = self.tally
        self._bars.update(self._task, completed=tally.done, total=tally.total, news=tally.words(), left=tally.left())


class NotebookProgress(Progress):
    """One bar in the output of a notebook's cell."""

    def __init__(self, display: Any, tally: Tally) -> None:
        super().__init__(tally)
        self._display = display
        self._at = 0.0
        self._shown: Any = None

    def __enter__(self) -> Self:
        """Take a place below the cell."""
        self._shown = self._display({"text/html": self._page(), "text/plain": ""}, raw=True, display_id=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave the last state there."""
        self._at = 0.0
        self.draw()

    def draw(self) -> None:
        """Move the bar, five times a second at most."""
        if self._shown is not None and time.monotonic() - self._at > REDRAWN:
            self._at = time.monotonic()
            self._shown.update({"text/html": self._page(), "text/plain": ""}, raw=True)

    def _page(self) -> str:
        tally = self.tally
        end = "" if tally.total is None else f' max="{tally.total}"'
        bar = f'<progress value="{tally.done}"{end}></progress>'
        return f'<div style="font-family:monospace">{bar} {tally.left()} {tally.words()}</div>'


class LineProgress(Progress):
    """A line on the error stream now and then, for logs: after ten seconds, then ever less often."""

    def __init__(self, tally: Tally) -> None:
        super().__init__(tally)
        self._next, self._gap = time.monotonic() + FIRST_LINE, FIRST_LINE

    def draw(self) -> None:
        """Write a line if it is time for one."""
        if time.monotonic() < self._next or sys.stderr is None:
            return
        total = self.tally.total
        share = f"{self.tally.done:,}" if total is None else f"{100 * self.tally.done // max(total, 1)}%"
        parts = [share, self.tally.left(), self.tally.words()]
        print(f"hedgerow: {', '.join(part for part in parts if part)}", file=sys.stderr, flush=True)
        self._gap = min(2 * self._gap, RARELY)
        self._next = time.monotonic() + self._gap


def in_notebook() -> bool:
    """Whether this runs in a notebook's kernel, which has no terminal but can show things."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


class _Job:
    """A job with stages after its chains, from the first of them on: one display for all."""

    def __init__(self, wanted: bool | None, then: Sequence[str], lines: bool) -> None:
        self.wanted, self.then, self.lines = wanted, then, lines
        self.shown: Progress | None = None

    def adopt(self, units: int, total: int, noun: str) -> Progress:
        tally = Tally(units, total, noun, self.then)
        if self.shown is None:
            self.shown = _display(self.wanted, tally, self.lines).__enter__()
        self.shown.tally = tally
        return _Adopted(self.shown)

    def close(self) -> None:
        if self.shown is not None:
            self.shown.__exit__(None, None, None)
            self.shown = None


class _Adopted(Progress):
    """A part of a job that ends before the job does."""

    def __init__(self, shown: Progress) -> None:
        super().__init__(shown.tally)
        self._shown = shown

    def show(self, update: Update) -> None:
        self._shown.tally = self.tally
        self._shown.show(update)

    def draw(self) -> None:
        self._shown.tally = self.tally
        self._shown.draw()


_JOB: ContextVar[_Job | None] = ContextVar("hedgerow_job", default=None)


@contextmanager
def whole_job(wanted: bool | None, then: Sequence[str] = (), *, lines: bool = False) -> Iterator[_Job]:
    """All that is done inside is one job with one bar: chains, then the stages `then`, which `stage` tells of by name.

    `wanted` is as for `open_progress`; with `lines` a line is written now and then where there is no terminal.
    """
    job = _Job(wanted, then, lines)
    token = _JOB.set(job)
    try:
        yield job
    finally:
        _JOB.reset(token)
        job.close()


def stage(words: str) -> None:
    """Tell whoever looks at the whole job what is done now; the last, "", that it is over."""
    job = _JOB.get()
    if job is None or job.shown is None:
        return
    if words:
        job.shown.enter(words)
    else:
        job.shown.tally.finish()
        job.close()


def open_progress(wanted: bool | None, chains: int, total: int, noun: str = "chain") -> Progress:
    """A bar if asked for; by default in a notebook, and when the error stream is a terminal and rich is installed."""
    job = _JOB.get()
    if job is None or wanted is False:  # a run inside a job that is to be silent is no part of its bar
        return _display(wanted, Tally(chains, total, noun), lines=False)
    return job.adopt(chains, total, noun)


def open_steps(wanted: bool | None, total: int | None) -> Progress:
    """The same for a job of one thing after the other."""
    return _display(wanted, Steps(total), lines=False)


def _display(wanted: bool | None, tally: Tally, lines: bool) -> Progress:
    if wanted is not False and in_notebook():
        return NotebookProgress(sys.modules["IPython"].display.display, tally)
    if wanted is False:
        return Progress(tally)
    if wanted is None and (sys.stderr is None or not sys.stderr.isatty()):
        return LineProgress(tally) if lines else Progress(tally)
    try:
        return RichProgress(need_extra("rich.progress", "progress"), tally)
    except MissingExtraError:
        if wanted:
            raise
        return LineProgress(tally)
