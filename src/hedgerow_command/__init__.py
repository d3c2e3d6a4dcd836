"""The command `hedgerow` before the library is there: Ctrl-C while it is being loaded is one line too, not a traceback.

A package of its own, because whatever lies in `hedgerow` is reached only after all of it has been loaded. It takes the handler from
the interpreter itself: `signal` loads more modules first, in whose time a Ctrl-C would still be a traceback. What comes before,
while the interpreter starts, is out of reach.
"""

import _signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

__all__ = ["main"]


def main() -> int:
    """Load the library and run the command line."""
    before = _signal.getsignal(_signal.SIGINT)
    if before is not _signal.SIG_IGN:  # as nohup and shells do for what runs in the background
        _signal.signal(_signal.SIGINT, _stop)
    from hedgerow.cli import main as run

    try:
        _signal.signal(_signal.SIGINT, before)
        return run()
    except KeyboardInterrupt:
        _stop(_signal.SIGINT, None)
        return 130


def _stop(number: int, frame: "FrameType | None") -> None:
    """Leave at once: an exception would be taken for a broken module by some of those being loaded."""
    if sys.stderr is not None:
        os.write(2, b"hedgerow: stopped; nothing was saved\n")
    os._exit(130)
