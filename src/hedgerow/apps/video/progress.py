"""Progress of a run over frames: how far, how fast, how long to go."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from hedgerow.errors import MissingExtraError, need_extra

__all__ = ["ChunkUpdate", "FrameProgress", "open_frame_progress"]


@dataclass(frozen=True)
class ChunkUpdate:
    """News after a chunk."""

    frames: int
    """Frames done."""
    expected: int | None
    """Frames in all, where the source says."""
    n_segments: int
    """Segments so far."""
    seconds: float
    """Since the start."""

    @property
    def rate(self) -> float:
        """Frames per second so far."""
        return self.frames / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """At the rate so far; None where the length is not known."""
        return None if self.expected is None else max(0, self.expected - self.frames) / self.rate


class FrameProgress:
    """Shows nothing; the base of what shows something."""

    def __enter__(self) -> Self:
        """Start showing."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop showing."""

    def show(self, update: ChunkUpdate) -> None:
        """Show news."""


class _Bar(FrameProgress):
    def __init__(self, rich_progress: Any, expected: int | None) -> None:
        self._bars = rich_progress.Progress(
            rich_progress.TextColumn("frames"),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TextColumn("{task.fields[news]}"),
            rich_progress.TimeRemainingColumn(),
            console=need_extra("rich.console", "progress").Console(stderr=True),
        )
        self._task = self._bars.add_task("frames", total=expected, news="")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def show(self, update: ChunkUpdate) -> None:
        news = f"{update.n_segments:,} segments  {update.rate:.1f} frames/s"
        # A container may promise fewer frames than it has.
        total = None if update.expected is None else max(update.expected, update.frames)
        self._bars.update(self._task, completed=update.frames, total=total, news=news)


def open_frame_progress(wanted: bool | None, expected: int | None) -> FrameProgress:
    """A bar if asked for; by default when the error stream is a terminal and rich is installed."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        return FrameProgress()
    try:
        return _Bar(need_extra("rich.progress", "progress"), expected)
    except MissingExtraError:
        if wanted:
            raise
        return FrameProgress()
