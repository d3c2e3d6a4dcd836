"""Replacing a run with another: the old one is set aside, and goes for good when the new one has begun to draw.

Whatever is wrong with the new run shows before that, and then the old one comes back as it was. A process killed in between
leaves both; whoever opens the folder next puts that right.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow.cli.output import RUN, Interrupted
from hedgerow.sampling import clear_folder
from hedgerow.sampling.lock import FolderLock

__all__ = ["ASIDE", "CHECKPOINT", "RECORD", "replacing", "settle"]

CHECKPOINT = "checkpoint"
"""Folder within the run folder that `sample` streams to and `resume` goes on from."""
RECORD = "fit.hedge"
"""File in it: what the files of a run need to know and a sampler does not."""
ASIDE = ".replaced"
"""Folder that the checkpoint and the run of before become, as long as they may be needed again."""


@contextmanager
def replacing(folder: Path) -> Iterator[Callable[[object], None]]:
    """An empty checkpoint to begin a run in; gives what is to be called when the run draws."""
    _set_aside(folder)
    (folder / CHECKPOINT).mkdir(exist_ok=True)
    try:
        yield lambda _: _drop(folder)
    except Interrupted:  # by the user, who is told that the new run is kept
        _drop(folder)
        raise
    except BaseException:
        _put_back(folder)
        raise
    _drop(folder)


def settle(folder: Path) -> None:
    """After a kill amid a replacement: the new run if it has begun, or else the old one."""
    begun = any((folder / CHECKPOINT).glob("manifest-*.hedge"))
    (_drop if begun else _put_back)(folder)


def _set_aside(folder: Path) -> None:
    checkpoint, aside = folder / CHECKPOINT, folder / ASIDE
    if checkpoint.is_dir():
        with FolderLock(checkpoint, "fit", "out"):  # refused while somebody writes to it
            checkpoint.rename(aside)
    elif (folder / RUN).exists():
        aside.mkdir()
    if (folder / RUN).exists():
        os.replace(folder / RUN, aside / RUN)


def _put_back(folder: Path) -> None:
    checkpoint, aside = folder / CHECKPOINT, folder / ASIDE
    if not aside.is_dir():
        return
    for path in checkpoint.glob("manifest-*.hedge"):  # first of all: without one the new run has never begun
        path.unlink()
    if (aside / RUN).exists():
        os.replace(aside / RUN, folder / RUN)
    _remove(checkpoint, into=aside)
    aside.rename(checkpoint)


def _drop(folder: Path) -> None:
    aside = folder / ASIDE
    if aside.is_dir():
        (aside / RUN).unlink(missing_ok=True)
        _remove(aside, into=folder / CHECKPOINT)


def _remove(place: Path, into: Path) -> None:
    """Take a checkpoint away; files that are not ours go elsewhere."""
    if not place.is_dir():
        return
    clear_folder(place)
    for name in (RECORD, "lock"):
        (place / name).unlink(missing_ok=True)
    for path in place.iterdir():
        path.rename(into / path.name)
    place.rmdir()
