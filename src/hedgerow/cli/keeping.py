"""What `fit` and `resume` share: the checkpoint inside a run folder, what is noted beside it, and how a run is finished."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.cli.output import LOSSES, RUN, Interrupted, say, tell_files, tell_findings, write_pages
from hedgerow.cli.replacing import ASIDE, CHECKPOINT, RECORD, settle
from hedgerow.data.container import FormatError, read_container, write_container
from hedgerow.errors import ParameterError
from hedgerow.posterior import Posterior
from hedgerow.sampling import run_status
from hedgerow.sampling.lock import FolderLock

__all__ = ["Record", "finish", "hold", "kept_whatever_happens", "read_every", "read_record", "read_title", "unfinished", "write_record"]


@dataclass(frozen=True)
class Record:
    """What the files of a run need to know and a sampler does not."""

    title: str
    loss: str
    columns: list[str] | None = None
    rows: list[str] | None = None


def write_record(folder: Path, record: Record) -> None:
    """Note it beside the checkpoint, before the run begins: a run killed later is finished in the same words."""
    content = asdict(record) | {"rows": None}
    text = json.dumps(record.rows, ensure_ascii=False).encode()  # may be long: bytes of an array have no bound
    write_container(folder / CHECKPOINT / RECORD, "fit", 1, content, {"rows": np.frombuffer(text, np.uint8)})


def read_record(folder: Path) -> Record:
    """What was noted; a folder that `sample` made in Python has nothing noted."""
    path = folder / CHECKPOINT / RECORD
    if not path.exists():
        return Record(title=folder.resolve().name, loss=LOSSES[0])
    stored = read_container(path, "fit", (1,))
    try:
        parts = {field.name: stored.content[field.name] for field in fields(Record)}
        record = Record(**parts | {"rows": json.loads(stored.arrays["rows"].astype(np.uint8).tobytes())})
        good = isinstance(record.title, str) and record.loss in LOSSES
        if not (good and _are_texts(record.rows) and _are_texts(record.columns)):
            raise ValueError("texts that are none")
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise FormatError(f"{path}: must hold the notes of a fit. Got parts that do not fit: {error}.") from error
    return record


def _are_texts(given: object) -> bool:
    return given is None or (isinstance(given, list) and all(isinstance(item, str) for item in given))


@contextmanager
def hold(folder: Path, command: str) -> Iterator[None]:
    """The run folder to oneself, from before the first draw until the report is written."""
    with FolderLock(folder, command, "out", name=".lock"):
        settle(folder)
        yield


def read_every(seconds: float | None) -> float | None:
    """Seconds between states, as `Checkpoint` takes them."""
    if seconds is not None and not seconds >= 0:
        raise ParameterError(f"--checkpoint-every {seconds}: must be a number of seconds from 0 up.")
    return seconds


def read_title(title: str | None, other: str) -> str:
    """The title asked for, or another; refused before the work if no file could hold it."""
    if title is None:
        return other.encode("utf-8", "replace").decode()  # the name of a file may be any bytes
    try:
        title.encode()
    except UnicodeEncodeError as error:
        raise ParameterError(f"--title {title!r}: must be text in UTF-8. Got bytes that are none.") from error
    return title


def unfinished(folder: Path) -> str | None:
    """In words, how far the run of a folder has come, if it has begun and is not done."""
    status = run_status(folder / CHECKPOINT)
    if status is None or (status[0] == status[1] and (folder / RUN).exists()):
        return None
    return f"{status[0]:,} of {status[1]:,} draws"


@contextmanager
def kept_whatever_happens(folder: Path) -> Iterator[None]:
    """Say what can be done when sampling ends before its time."""
    how = f"`hedgerow resume {folder}` goes on with it"
    try:
        yield
    except KeyboardInterrupt:
        if run_status(folder / CHECKPOINT) is None:
            raise
        raise Interrupted(f"stopped before the first draw; the run is kept in {folder}, {how}") from None
    except (OSError, MemoryError):
        if run_status(folder / CHECKPOINT) is not None and not (folder / ASIDE).exists():
            print(f"hedgerow: the draws so far are kept in {folder}; once there is room, {how}", file=sys.stderr)
        raise


def finish(post: Posterior, folder: Path, record: Record) -> None:
    """Write the run folder and tell; whatever stops this after the run is saved, says so."""
    early = bool(post.run["interrupted"])
    if record.columns is not None:
        post = replace(post, run={**post.run, "columns": record.columns})
    if early:
        print(f"Stopping: {post.draws:,} draws of {post.chains} chains are there and are being saved.", file=sys.stderr)
    with kept_whatever_happens(folder):
        post.save(folder / RUN)
    loss: Any = record.loss
    try:
        write_pages(post, folder, title=record.title, loss=loss, rows=record.rows)
        say()
        tell_findings(post, loss)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped; the draws are saved in {folder / RUN}, labels and report may be missing") from None
    say(f"- Sampling took {post.run['seconds']:.1f} seconds; seed {post.run['seed']}.")
    say()
    tell_files(folder)
    if early:
        print(f"The run is not done: `hedgerow resume {folder}` goes on with it.")  # unwrapped: to be copied
        raise Interrupted(f"stopped early; {post.draws:,} draws of {post.chains} chains are saved in {folder}")
