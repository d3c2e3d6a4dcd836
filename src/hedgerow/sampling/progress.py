"""Progress: what a person sees while chains run, on the terminal's error stream."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from hedgerow.errors import MissingExtraError, need_extra

__all__ = ["Progress", "Update", "open_progress"]


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
    """Shows nothing; the base of what shows something."""

    def __enter__(self) -> Self:
        """Start showing."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop showing."""

    def show(self, update: Update) -> None:
        """Show news of one chain."""


class RichProgress(Progress):
    """One bar per chain with clusters, log joint and the time left."""

    def __init__(self, rich_progress: Any, chains: int, total: int, noun: str = "chain") -> None:
        self._bars = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}"),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TextColumn("{task.fields[news]}"),
            rich_progress.TimeRemainingColumn(),
            console=need_extra("rich.console", "progress").Console(stderr=True),
        )
        self._tasks = [self._bars.add_task(f"{noun} {chain + 1}", total=total, news="") for chain in range(chains)]

    def __enter__(self) -> Self:
        """Start the display."""
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave the last state on the screen."""
        self._bars.stop()

    def show(self, update: Update) -> None:
        """Move one bar."""
        phase = "warm-up" if update.warming_up else "drawing"
        news = f"{phase}  {update.n_clusters} clusters  log joint {update.log_joint:,.1f}"
        self._bars.update(self._tasks[update.chain], completed=update.done, total=update.total, news=news)


def open_progress(wanted: bool | None, chains: int, total: int, noun: str = "chain") -> Progress:
    """Bars if asked for; by default when the error stream is a terminal and rich is installed."""
    if wanted is False or (wanted is None and (sys.stderr is None or not sys.stderr.isatty())):
        return Progress()
    try:
        return RichProgress(need_extra("rich.progress", "progress"), chains, total, noun)
    except MissingExtraError:
        if wanted:
            raise
        return Progress()
