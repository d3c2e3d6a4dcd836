"""Stopping: one flag that all chains watch, set by callbacks, by errors and by Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Stop", "heed_interrupts"]


class Stop:
    """Whether chains shall stop, and whether a person asked for it.

    Plain attributes: a signal handler must not wait for a lock.
    """

    def __init__(self) -> None:
        self.asked = False
        self.interrupted = False


@contextmanager
def heed_interrupts(stop: Stop) -> Iterator[None]:
    """While this is open the first Ctrl-C sets `stop` instead of raising, so that no block of draws is lost half stored.

    A second one raises as always. A handler of the user's own stays in place, and outside the main thread there is nothing
    to do: Python raises there only.
    """
    if threading.current_thread() is not threading.main_thread() or (signal.getsignal(signal.SIGINT) is not signal.default_int_handler):
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.interrupted:
            signal.default_int_handler(number, frame)
        stop.asked = stop.interrupted = True

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
