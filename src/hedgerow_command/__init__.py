"""The command `hedgerow` before the library is there: Ctrl-C while it is being loaded is one line too, not a traceback.

A package of its own, because whatever lies in `hedgerow` is reached only after all of it has been loaded.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

__all__ = ["main"]


def main() -> int:
    """Load the library and run the command line."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # as nohup and shells do for what runs in the background
        signal.signal(signal.SIGINT, _stop)
    from hedgerow.cli import main as run

    try:
        signal.signal(signal.SIGINT, before)
        return run()
    except KeyboardInterrupt:
        _stop(signal.SIGINT, None)
        return 130


def _stop(number: int, frame: FrameType | None) -> None:
    """Leave at once: an exception would be taken for a broken module by some of those being loaded."""
    if sys.stderr is not None:
        os.write(2, b"hedgerow: stopped; nothing was saved\n")
    os._exit(130)
