"""Progress: what a person sees while chains run, on the terminal's error stream or below a notebook's cell."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from hedgerow.errors import MissingExtraError, need_extra

__all__ = ["Progress", "Update", "in_notebook", "open_bars", "open_progress"]

REDRAWN = 0.2  # seconds


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


class Progress:
    """Shows nothing; the base of what shows bars."""

    def __enter__(self) -> Self:
        """Start showing."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop showing, and leave the last state there."""

    def move(self, bar: int, done: int, total: int | None, news: str) -> None:
        """Move one bar; `total` is None where nobody knows it."""

    def show(self, update: Update) -> None:
        """Show news of one chain."""
        self.move(update.chain, update.done, update.total, _news(update))


class RichProgress(Progress):
    """Bars in a terminal, each with news and the time left."""

    def __init__(self, rich_progress: Any, names: Sequence[str], total: int | None) -> None:
        self._bars = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}"),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TextColumn("{task.fields[news]}"),
            rich_progress.TimeRemainingColumn(),
            console=need_extra("rich.console", "progress").Console(stderr=True),
        )
        self._tasks = [self._bars.add_task(name, total=total, news="") for name in names]

    def __enter__(self) -> Self:
        """Start the display."""
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End it."""
        self._bars.stop()

    def move(self, bar: int, done: int, total: int | None, news: str) -> None:
        """Move one bar."""
        self._bars.update(self._tasks[bar], completed=done, total=total, news=news)


class NotebookProgress(Progress):
    """Bars in the output of a notebook's cell."""

    def __init__(self, display: Any, names: Sequence[str], total: int | None) -> None:
        self._display = display
        self._bars: list[tuple[str, int, int | None, str]] = [(name, 0, total, "") for name in names]
        self._at = 0.0
        self._shown: Any = None

    def __enter__(self) -> Self:
        """Take a place below the cell."""
        self._shown = self._display({"text/html": self._page(), "text/plain": ""}, raw=True, display_id=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Draw once more."""
        self._draw()

    def move(self, bar: int, done: int, total: int | None, news: str) -> None:
        """Move one bar, five times a second at most."""
        self._bars[bar] = (self._bars[bar][0], done, total, news)
        if time.monotonic() - self._at > REDRAWN:
            self._draw()

    def _draw(self) -> None:
        self._at = time.monotonic()
        if self._shown is not None:
            self._shown.update({"text/html": self._page(), "text/plain": ""}, raw=True)

    def _page(self) -> str:
        lines = []
        for name, done, total, news in self._bars:
            end, of = ("", "") if total is None else (f' max="{total}"', f" of {total:,}")
            told = f"{news} ({done:,}{of})" if news else ""
            lines.append(f'<div style="font-family:monospace">{name} <progress value="{done}"{end}></progress> {told}</div>')
        return "".join(lines)


def in_notebook() -> bool:
    """Whether this runs in a notebook's kernel, which has no terminal but can show things."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


def _news(update: Update) -> str:
    phase = "warm-up" if update.warming_up else "drawing"
    return f"{phase}  {update.n_clusters} clusters  log joint {update.log_joint:,.1f}" if update.n_clusters > 0 else phase


def open_progress(wanted: bool | None, chains: int, total: int, noun: str = "chain") -> Progress:
    """A bar for each chain, as `open_bars` opens them."""
    return open_bars(wanted, [f"{noun} {chain + 1}" for chain in range(chains)], total)


def open_bars(wanted: bool | None, names: Sequence[str], total: int | None) -> Progress:
    """Bars if asked for; by default in a notebook, and when the error stream is a terminal and rich is installed."""
    if wanted is not False and in_notebook():
        return NotebookProgress(sys.modules["IPython"].display.display, names, total)
    if wanted is False or (wanted is None and (sys.stderr is None or not sys.stderr.isatty())):
        return Progress()
    try:
        return RichProgress(need_extra("rich.progress", "progress"), names, total)
    except MissingExtraError:
        if wanted:
            raise
        return Progress()
