"""Where the rows of a stream come from: lines with their numbers, and the wish to stop between two batches."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

__all__ = ["Stop", "numbered", "stop_between_batches"]

LONGEST_LINE = 1 << 20


class Stop:
    """Whether somebody asked to stop, and whether nothing is under way that must be ended first."""

    asked = False
    idle = False


@contextmanager
def stop_between_batches() -> Iterator[Stop]:
    """Ctrl-C, and a service manager's stop, end the stream between two batches; a second one ends it at once."""
    stop = Stop()

    def handle(number: int, frame: FrameType | None) -> None:
        again, stop.asked = stop.asked, True
        if again or stop.idle:
            raise KeyboardInterrupt

    before = [(number, signal.signal(number, handle)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield stop
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def numbered(file: TextIO) -> Iterator[tuple[int, str]]:
    """Lines from 1 on. What no person writes in a line is cut off, so that a file without line ends does not fill the memory."""
    reconfigure = getattr(file, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="replace")  # JSON is UTF-8; bytes that are no text make one bad line, not the end
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        while not line.endswith("\n") and (rest := file.readline(LONGEST_LINE)):
            line = "too long" + rest[-1:]
        yield number, line
