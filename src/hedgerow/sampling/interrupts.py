"""Interrupts: Ctrl-C asks a run to stop; a second one stops it at once, as always."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["heed_interrupts"]


@contextmanager
def heed_interrupts(asked: threading.Event) -> Iterator[None]:
    """While this is open the first Ctrl-C sets `asked` instead of raising, so that no block of draws is lost half stored.

    A handler of the user's own stays in place, and outside the main thread there is nothing to do: Python raises
    there only.
    """
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
