"""The command `hedgerow`: cluster a file, look at a run, predict; every error one line that says what to do.

Exit codes: 0 done; 1 a file cannot be written or the machine refuses; 2 something asked for cannot be done as asked;
130 stopped by Ctrl-C (draws made until then are kept, and it says where).
"""

from __future__ import annotations

from hedgerow.cli.command import main

__all__ = ["main"]
