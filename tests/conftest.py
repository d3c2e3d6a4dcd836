"""What holds for all tests: Ctrl-C works, even where SIGINT was ignored at the start, as in background jobs of a shell."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
