"""Files of a chain: a stretch of draws, a chain's state, and what its kernel carries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.data.container import FormatError, NotStorableError, fitting, read_container, write_container
from hedgerow.priors.state import LISTS, NAMES, VALUES, fits, with_log_u
from hedgerow.sampling.chain import TRACES, Block
from hedgerow.sampling.manifest import File, StoredState, sha256_of
from hedgerow.summaries.narrow import narrowed

__all__ = [
    "carried_digest",
    "check_file",
    "read_block",
    "read_note",
    "read_state",
    "write_block",
    "write_carried",
    "write_note",
    "write_state",
]

_VERSION = 2
_KNOWN = (1, 2)  # 1 had u for log u, and with the state the first of what a kernel carries, whatever that was
_SCALARS = tuple(name for name in NAMES if name not in LISTS)
_ARRAYS = ("labels", "kernel_counters")
_CARRIED = ("kernel_whole", "kernel_real")
"""The large part of what a kernel carries: it seldom changes, and is written when it does."""


def write_block(path: Path, block: Block, first: int) -> File:
    """Write draws, of which `first` of the chain came before; labels in the smallest type that holds them."""
    arrays: dict[str, npt.NDArray[Any]] = {"labels": narrowed(block.labels)}
    arrays |= {name: getattr(block, name) for name in TRACES}
    arrays |= {f"stats.{i}": values for i, values in enumerate(block.stats.values())}
    content = {"first": first, "stats": list(block.stats)}
    return _write(path, "draws", content, arrays, count=len(block))


def read_block(folder: Path, file: File, n: int) -> Block:
    """Draws of n rows from a file."""
    stored = read_container(folder / file.name, "draws", _KNOWN)
    with fitting(f"resume(...): {file.name} must hold whole draws"):
        arrays = with_log_u(stored.arrays)
        stats = {str(name): arrays[f"stats.{i}"] for i, name in enumerate(stored.content["stats"])}
        labels = arrays["labels"]
        block = Block(labels=labels, stats=stats, **{name: arrays[name] for name in TRACES})
        good = labels.dtype.kind == "u" and labels.shape == (file.count, n)
        good = good and all(values.shape == (file.count,) and values.dtype.kind in "fiu" for values in stats.values())
        for name in TRACES:
            trace = arrays[name]
            plain = trace.shape == (file.count,) or (name in LISTS and trace.ndim == 2 and len(trace) == file.count)
            good = good and plain and trace.dtype.kind in "fiu"
        if not good or (labels.size and int(labels.max()) >= n):
            raise ValueError("arrays of other sizes than the manifest says")
    return block


def write_state(path: Path, state: Mapping[str, Any]) -> File:
    """Write labels, u, hyper-parameters and the kernel's counters; the random-number words go into the manifest."""
    measure = state["measure"]
    content = {name: float(measure[name]) for name in _SCALARS} | {"warming": bool(state["warming"])}
    arrays = {name: measure[name] for name in LISTS} | {name: state[name] for name in _ARRAYS}
    return _write(path, "state", content, arrays)


def carried_digest(state: Mapping[str, Any]) -> str:
    """Fingerprint of what the kernel carries, to see whether it has changed."""
    digest = hashlib.sha256()
    for name in _CARRIED:
        digest.update(np.ascontiguousarray(state[name]).tobytes())
    return digest.hexdigest()


def write_carried(path: Path, state: Mapping[str, Any]) -> File:
    """Write what the kernel carries, but for its counters."""
    return _write(path, "kernel", {}, {name: state[name] for name in _CARRIED})


def read_state(folder: Path, file: StoredState) -> dict[str, Any]:
    """A chain's state, as `Chain.restore` takes it."""
    stored = read_container(folder / file.state.name, "state", _KNOWN)
    carried = read_container(folder / file.kernel.name, "kernel", _KNOWN)
    with fitting(f"resume(...): {file.state.name} must hold a whole state"):
        measure: dict[str, Any] = {name: stored.arrays[name] for name in LISTS}
        # A file may be older than a value that only some priors have.
        measure |= {name: float(stored.content[name] if VALUES[name].common else stored.content.get(name, 0.0)) for name in _SCALARS}
        if not all(fits(name, value) for name, value in measure.items()):
            raise ValueError("hyper-parameters outside their range")
        state: dict[str, Any] = {"labels": stored.arrays["labels"], "measure": measure}
        state |= {name: carried.arrays[name] for name in _CARRIED}
        if "kernel_head" in stored.arrays:
            state["kernel_whole"] = np.concatenate([stored.arrays["kernel_head"], state["kernel_whole"]])
        else:
            state["kernel_counters"] = stored.arrays["kernel_counters"]
        if "warming" in stored.content:  # 0.1.0 left it to the kernel's memory, which has another layout
            state["warming"] = bool(stored.content["warming"])
        state["rng"] = np.array([int(word, 16) for word in file.rng], np.uint64)
    return state


def write_note(path: Path, note: Mapping[str, Any]) -> File:
    """Write what the owner of a run wants back with it, which must be plain JSON."""
    try:
        text = json.dumps(dict(note), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise NotStorableError(f"Checkpoint(note=...): note must be plain JSON. Got {error}.") from error
    return _write(path, "note", {}, {"text": np.frombuffer(text, np.uint8)})  # an array, for it may be long


def read_note(folder: Path, file: File) -> dict[str, Any]:
    """What `write_note` wrote."""
    stored = read_container(folder / file.name, "note", _KNOWN)
    with fitting(f"resume(...): {file.name} must hold a whole note"):
        note = json.loads(stored.arrays["text"].astype(np.uint8).tobytes())
    if not isinstance(note, dict):
        raise FormatError(f"resume(...): {file.name} must hold names and what belongs to them. Got a {type(note).__name__}.")
    return note


def check_file(folder: Path, file: File) -> None:
    """Refuse a file that is gone or is not the one that was written."""
    path = folder / file.name
    if not path.is_file() or sha256_of(path) != file.sha256:
        what = "one that differs" if path.is_file() else "none"
        raise FormatError(f"resume(...): {file.name} must be the file that the run wrote. Got {what}.")


def _write(path: Path, kind: str, content: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], count: int = 0) -> File:
    write_container(path, kind, _VERSION, content, arrays)
    return File(path.name, sha256_of(path), count)
