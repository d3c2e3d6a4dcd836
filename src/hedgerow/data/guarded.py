"""Reading in a child process with a limit of memory: for files of which a few bytes may ask for all there is."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.data import child
from hedgerow.data.frame import Series
from hedgerow.errors import MissingExtraError, ParameterError, in_bytes

__all__ = ["memory_for", "read_guarded", "too_large"]

#: Memory that reading a file may take: this much, and so many times its size; never more than half of what is free.
FREELY = 1 << 30
TIMES = 1000
#: One thread, one heap: address space is what is bounded, and each of them reserves some.
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def memory_for(path: Path) -> int:
    """Bytes that reading this file may take."""
    return min(FREELY + TIMES * path.stat().st_size, _free() // 2)


def _free() -> int:
    """Bytes of memory that can be had now, as far as the system tells."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):  # Windows has neither
        return 1 << 62


def too_large(path: Path, most: int) -> ParameterError:
    """The refusal of a file that takes more than it may."""
    return ParameterError(
        f"{path}: must not hold far more than its size says. It is {path.stat().st_size:,} bytes and takes more than the "
        f"{in_bytes(most)} of memory that reading it may."
    )


def read_guarded(path: Path, what: str, header: bool | None = None) -> tuple[dict[str, Any], list[Series]]:
    """The columns of a Parquet file or of packed text, as `child.py` reads them; ParameterError for what cannot be read."""
    if what == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise MissingExtraError("This needs pyarrow, which is not installed. Install it with: pip install 'hedgerow[parquet]'")
    most = memory_for(path)
    job = {"what": what, "path": str(path.absolute()), "memory": most, "header": header}
    command = [sys.executable, "-P", "-X", "utf8", child.__file__, json.dumps(job)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | QUIET
    ) as run:
        assert run.stdout is not None
        try:
            head, arrays = child.read_answer(run.stdout)
        except (ValueError, EOFError):  # it ended amid a word
            head, arrays = {}, []
        except BaseException:
            run.kill()
            raise
    if head.get("memory"):
        raise too_large(path, most)
    if run.returncode != 0 or "names" not in head:
        found = head.get("error") or f"its reader ended ({_how(run.returncode)})"
        raise ParameterError(f"{path}: must be a readable {''.join(path.suffixes[-2:])} file: {found}.")
    return head, [_series(kind, parts) for kind, parts in zip(head["kinds"], arrays, strict=True)]


def _how(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with code {code}"


def _series(told: dict[str, Any], parts: list[Any]) -> Series:
    """A column from its arrays."""
    kind = told["kind"]
    if kind == "texts":
        return Series(parts[0], child.unpack(parts[1], parts[2]), told["declared"])
    if kind == "truths":
        values = np.array([False, True, None], dtype=object)[parts[0]]
        return Series(values if (parts[0] < 0).any() else values.astype(bool))
    if kind.startswith("other "):
        return Series(np.full(len(parts[0]), _Unreadable(kind[6:]), dtype=object))
    return Series(parts[0])


class _Unreadable:
    """What stands in a column of lists or the like, so that whoever asks is told."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"an entry of type {self._kind}"
