"""Stopping: one flag that all chains watch, set by callbacks, by errors and by Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Stop", "heed_interrupts", "note_interrupts"]


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

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.interrupted:
            signal.default_int_handler(number, frame)
        stop.asked = stop.interrupted = True

    with _handled(handle):
        yield


@contextmanager
def note_interrupts(stop: Stop) -> Iterator[None]:
    """While this is open Ctrl-C raises as always, and `stop` knows of it: a run inside that was all but done, and returns what was
    drawn as if nothing had been, does not keep a longer job from ending.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        stop.asked = stop.interrupted = True
        signal.default_int_handler(number, frame)

    with _handled(handle):
        yield


@contextmanager
def _handled(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """While this is open Ctrl-C calls this, unless it calls something of the user's own."""
    if threading.current_thread() is not threading.main_thread() or (signal.getsignal(signal.SIGINT) is not signal.default_int_handler):
        yield
        return
    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
