"""The golden record: draws of every kernel, prior and likelihood, of trees, streams and shards, one line each.

    python tests/golden             record again (`make golden`)
    python tests/golden --print     print the lines of this build

The draws are made in a child process with HEDGEROW_ISA=baseline, so that the machine's instruction set does not
matter. A line is the case's name and its arrays: whole numbers as they are, floats with all their digits.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
RECORD = Path(__file__).parent / "draws.txt"


def signature() -> str:
    """What the last bits of floats depend on: the compiler, the C library's functions, and NumPy's."""
    from hedgerow import _core

    libc = " ".join(platform.libc_ver())
    return f"{_core.compiler()}; {platform.machine()}; {libc}; numpy {np.__version__}"


def line(name: str, found: dict[str, Any]) -> str:
    """One line of the record."""
    return "\t".join([name, *(f"{key}={_text(np.asarray(value))}" for key, value in found.items())])


def _text(values: np.ndarray) -> str:
    flat = values.ravel().tolist()
    if values.dtype.kind in "iu":
        short = len(flat) > 1 and min(flat) >= 0 and max(flat) < len(DIGITS)
        return "".join(DIGITS[k] for k in flat) if short else ",".join(map(str, flat))
    return ",".join(repr(float(x)) for x in flat)


def print_lines() -> None:
    """The lines of this build, under the instruction set that the environment names."""
    from cases import all_cases

    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    print("# made with", signature())
    for name, draw in all_cases():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(line(name, draw()))


def lines_of_this_build() -> str:
    """What `--print` prints in a child process with the baseline loops."""
    command = [sys.executable, str(Path(__file__).parent), "--print"]
    done = subprocess.run(command, env=os.environ | {"HEDGEROW_ISA": "baseline"}, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        print_lines()
    else:
        RECORD.write_text(lines_of_this_build(), encoding="utf-8")
        print(f"{RECORD}: say in CHANGES.md which draws changed on purpose, and why")
