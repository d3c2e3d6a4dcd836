"""RunFolder: all that the command line knows of a run folder, in one place.

    run.hedge      the draws, with the title, the loss and the columns of the run
    labels.csv     the cluster of every row; labels.parquet too, where asked for
    profiles.csv   what every cluster stands out by
    report.html    the page
    levels.html    the page with a slider from coarse to fine, where asked for; its draws are in run.levels
    checkpoint/    where `sample` streams draws to and `resume` goes on from, with the notes; may be a link to another disk
    .lock          held from before the first draw until the report is written

A folder that `sample(checkpoint=...)` made in Python is its own checkpoint. Files are whole or absent, and no link is written
through: a folder may come from a stranger.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.cli.labels import label_columns, write_labels, write_parquet, write_profiles
from hedgerow.cli.levels import write_page
from hedgerow.cli.model import read_kernel
from hedgerow.cli.output import DEFAULT_LOSS, LOSSES, Interrupted, say, tell_files, tell_findings, text_of
from hedgerow.data.container import fitting, read_container
from hedgerow.data.copies import Copies
from hedgerow.errors import ParameterError
from hedgerow.posterior import DistributedPosterior, Posterior
from hedgerow.resolution import levels
from hedgerow.sampling import run_note, run_status, so_far
from hedgerow.sampling.lock import FolderLock
from hedgerow.sampling.progress import stage
from hedgerow.writing import check_target

__all__ = ["RUN", "RUN_HELP", "Notes", "RunFolder", "make_folder", "read_every", "refuse_links"]

RUN = "run.hedge"
LABELS = "labels.csv"
PROFILES = "profiles.csv"
PARQUET = "labels.parquet"
REPORT = "report.html"
LEVELS, LEVELS_PAGE = "run.levels", "levels.html"
WRITTEN = (RUN, LABELS, PARQUET, PROFILES, REPORT, LEVELS, LEVELS_PAGE)
CHECKPOINT = "checkpoint"
LOCK = ".lock"
OLD_NOTES = "fit.hedge"
"""Where version 0.1 kept its notes, in the checkpoint."""
ASIDE = ".replaced"
"""Where version 0.1 put the checkpoint of a run that it was about to replace."""
OVER_SHARDS = "holds a run over shards{0}. `hedgerow fit --shards PATTERN --out {1} --go-on` goes on with it"
RUN_HELP = f"a run folder, or the file {RUN} in it"
STAGES = ("one partition for all draws", "how sure each row is", "what the clusters are like", "the report")
"""What follows the draws, as a person reads it."""
FILES = {
    REPORT: "everything about the clusters, to open in a browser",
    LEVELS_PAGE: "the same from coarse to fine, with a slider",
    LABELS: "the cluster of every row, and how sure that is",
    PROFILES: "what every cluster stands out by",
    PARQUET: "the same for other programs",
    RUN: "the draws, for hedgerow summary, report and predict",
}


@dataclass(frozen=True)
class Notes:
    """What the files of a run need to know and a sampler does not."""

    title: str
    loss: str
    columns: list[str] | None = None
    rows: list[str] | None = None
    safe_csv: bool = False
    beside: dict[str, list[Any]] | None = None
    parquet: bool = False
    reading: str | None = None
    """How the columns were understood, as JSON."""
    levels: bool = False

    @classmethod
    def read(cls, stored: Any, place: Path) -> Notes:
        """Notes from JSON; what later versions have added may be missing."""
        with fitting(f"{place}: must hold the notes of a fit"):
            later = {field.name for field in fields(cls) if field.default is not MISSING}
            notes = cls(**{field.name: stored[field.name] for field in fields(cls) if field.name not in later or field.name in stored})
            good = (
                isinstance(notes.title, str)
                and notes.loss in LOSSES
                and type(notes.safe_csv) is type(notes.parquet) is type(notes.levels) is bool
            )
            good = good and (notes.beside is None or all(isinstance(column, list) for column in notes.beside.values()))
            good = good and (notes.reading is None or isinstance(notes.reading, str))
            if not (good and _are_texts(notes.rows) and _are_texts(notes.columns)):
                raise ValueError("texts that are none")
        return notes


class RunFolder:
    """A run folder, by its own name or by that of a posterior's file in it; nothing is read or written before it is asked for."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        place = Path(path)
        self.path, self.file = (place.parent, place) if place.is_file() else (place, place / RUN)

    @classmethod
    def make(cls, path: str) -> RunFolder:
        """A folder to write to, made if it is not there."""
        return cls(make_folder(path))

    @property
    def checkpoint(self) -> Path:
        """The folder that draws are streamed to."""
        return self.path if run_status(self.path) is not None else self.path / CHECKPOINT

    @property
    def name(self) -> str:
        """What the run is called if nobody has said it."""
        return text_of(self.path.resolve().name).removesuffix("-run")

    def status(self) -> tuple[int, int] | None:
        """Draws that are there and draws asked for; None where no run has begun."""
        return run_status(self.checkpoint)

    def over_shards(self) -> bool:
        """Whether a run over many files has begun here, as `hedgerow fit --shards` makes."""
        return (self.path / CHECKPOINT / RUN).exists()

    def unfinished(self) -> str | None:
        """In words, how far the run has come, if it has begun and is not done."""
        status = self.status()
        if status is None or (status[0] == status[1] and (self.path / RUN).exists()):
            return None
        return f"{status[0]:,} of {status[1]:,} draws"

    def check_free(self, *, force: bool) -> None:
        """Refuse a folder with a run in it, saying what can be done instead."""
        if self.over_shards():
            raise ParameterError(f"--out {self.path}: holds a run over shards, which --force does not replace. Name another folder.")
        if force:
            return
        begun = self.unfinished()
        if begun is not None:
            what = f"holds a run that is not done ({begun}). `hedgerow resume {self.path}` goes on with it; --force begins anew."
            raise ParameterError(f"--out {self.path}: {what}")
        if (self.path / RUN).exists():
            raise ParameterError(f"--out {self.path}: must not hold a run already (--force replaces it).")

    def check_begun(self) -> tuple[int, int]:
        """`status`, refused where no run has begun."""
        status = self.status()
        if status is None:
            if self.over_shards():
                raise ParameterError(f"{self.path}: {OVER_SHARDS.format('', self.path)}, with --draws to more draws.")
            words = f"{self.path}: must be the folder of a run that has begun, as `hedgerow fit` makes."
            if (self.path / ASIDE).is_dir():
                words += f" {ASIDE} holds the run that version 0.1 was about to replace; in the place of {CHECKPOINT} it is back."
            raise ParameterError(words)
        return status

    def check_links(self) -> None:
        """Refuse links and folders in the place of files that are written, before anything is touched."""
        refuse_links(self.path, (LOCK, *WRITTEN))
        for name in WRITTEN:
            if (self.path / name).is_dir():
                raise ParameterError(f"{self.path}: must have files in the place of files. {name} is a folder.")
        checkpoint = self.path / CHECKPOINT
        if checkpoint.is_symlink() and not checkpoint.is_dir():
            raise ParameterError(f"{self.path}: {CHECKPOINT} is a link and must lead to a folder. Got {os.readlink(checkpoint)}.")

    @contextmanager
    def hold(self, command: str) -> Iterator[None]:
        """The folder to oneself, from before the first draw until the report is written."""
        self.check_links()
        with FolderLock(self.path, command, "out", name=LOCK):
            yield

    @contextmanager
    def drawing(self, *, anew: bool) -> Iterator[Callable[[object], None]]:
        """While chains run: gives what is to be told when they begin, and says what can be done when they end before their time.

        When a run begins `anew`, what is left of the one before goes then and not earlier.
        """
        ours = not anew or self.status() is None  # the checkpoint there is

        def begin(_: object) -> None:
            nonlocal ours, anew
            if anew:
                for name in WRITTEN:
                    (self.path / name).unlink(missing_ok=True)
            ours, anew = True, False

        how = f"`hedgerow resume {self.path}` goes on with it"
        try:
            yield begin
        except KeyboardInterrupt:
            if not ours or self.status() is None:
                raise
            raise Interrupted(f"stopped before the first draw; the run is kept in {self.path}, {how}") from None
        except (OSError, MemoryError):
            if ours and self.status() is not None:
                print(f"hedgerow: the draws so far are kept in {self.path}; once there is room, {how}", file=sys.stderr)
            raise

    def notes(self) -> Notes:
        """What was noted at the fit; a folder that `sample` made in Python has nothing noted."""
        checkpoint = self.checkpoint
        stored = run_note(checkpoint)
        if stored is not None and "title" in stored:
            return Notes.read(stored, checkpoint)
        old = checkpoint / OLD_NOTES
        if not old.exists():
            return Notes(self.name, DEFAULT_LOSS)
        container = read_container(old, "fit", (1,))
        with fitting(f"{old}: must hold the notes of a fit"):
            rows = json.loads(container.arrays["rows"].astype(np.uint8).tobytes())
        return Notes.read(container.content | {"rows": rows}, old)

    def load(self) -> Posterior:
        """The posterior of a run that is done, or was stopped and its draws saved."""
        if not self.file.is_file():
            if self.over_shards():
                raise ParameterError(f"{self.path}: {OVER_SHARDS.format(' that is not done', self.path)}.")
            begun = self.unfinished()
            if begun is not None:
                how = f"`hedgerow resume {self.path}` goes on with it"
                raise ParameterError(f"{self.path}: holds a run that is not done ({begun}). {how}.")
            raise ParameterError(f"{self.path}: must be a run folder with a {RUN} in it, as `hedgerow fit` writes.")
        return Posterior.load(self.file)

    def load_so_far(self) -> Posterior:
        """The draws so far of a run that is not done and may be going on meanwhile."""
        begun = self.status()
        if begun is None:
            return self.load()  # which says how to go on
        try:
            post = so_far(self.checkpoint)
        except ParameterError:
            if begun[0] == 0:  # no chain has set out
                return self.load()
            raise
        notes = self.notes()
        known = {"columns": notes.columns} if notes.columns is not None else {}
        return replace(post, run={**post.run, "title": notes.title, "loss": notes.loss, "interrupted": False, **known})

    def title_of(self, post: Posterior | DistributedPosterior) -> str:
        """The title that the run was given, or the folder's name."""
        title = post.run.get("title")
        return title if isinstance(title, str) else self.name

    def loss_of(self, post: Posterior | DistributedPosterior) -> Any:
        """The loss whose labels were written."""
        loss = post.run.get("loss")
        return loss if loss in LOSSES else DEFAULT_LOSS

    def row_names(self, n: int) -> list[str] | None:
        """Names of the n rows: those noted, or those in the labels, if they are names and not just numbers."""
        if self.status() is not None and (noted := self.notes().rows) is not None:
            return noted if len(noted) == n else None
        if not (self.path / LABELS).is_file():
            return None
        try:
            with open(self.path / LABELS, newline="", encoding="utf-8") as file:
                names = [line["row"] for line in csv.DictReader(file)]
        except (OSError, KeyError, UnicodeDecodeError, csv.Error):
            return None
        return names if len(names) == n and names != [str(i) for i in range(n)] else None

    def report_target(self, out: str | None) -> Path:
        """Where the page goes, in the folder or elsewhere; refused before the work where it cannot."""
        if out is not None:
            check_target(out, "report", "out")
            return Path(out)
        self.check_links()
        return self.path / REPORT

    def write(self, post: Posterior, notes: Notes, progress: bool | None = None) -> None:
        """Write the run, and say what was found; whatever stops this after the draws are saved, says so."""
        loss: Any = notes.loss
        known = {name: value for name, value in (("columns", notes.columns), ("reading", notes.reading)) if value is not None}
        post = replace(post, run={**post.run, "title": notes.title, "loss": loss, **known})
        with self.drawing(anew=False):
            post.save(self.path / RUN)
        try:
            stage(STAGES[0])
            found = post.point_estimate(loss)
            if found.stopped:
                raise KeyboardInterrupt
            stage(STAGES[1])
            columns = label_columns(post, loss, notes.rows, notes.beside)
            write_labels(self.path / LABELS, columns, safe=notes.safe_csv)
            if notes.parquet:
                write_parquet(self.path / PARQUET, columns)
            stage(STAGES[2])
            write_profiles(self.path / PROFILES, post.profiles(found.labels, rows=notes.rows), safe=notes.safe_csv)
            stage(STAGES[3])
            post.report(self.path / REPORT, title=notes.title, loss=loss, rows=notes.rows)
            stage("")
            say()
            tell_findings(post, loss)
            if notes.levels:
                self._write_levels(post, notes, progress)
        except KeyboardInterrupt:
            raise Interrupted(self._answer(post, notes)) from None

    def _answer(self, post: Posterior, notes: Notes) -> str:
        """The labels that there are when the summaries are stopped, written if they are not yet; and words about it."""
        stage("")
        where = f"stopped; the draws are saved in {self.path / RUN}"
        if not (self.path / LABELS).exists():
            loss: Any = notes.loss
            columns = {"row": range(post.n) if notes.rows is None else notes.rows, "cluster": post.best_so_far(loss)}
            write_labels(self.path / LABELS, columns, safe=notes.safe_csv)
            where += f" and the best partition so far in {self.path / LABELS}"
        return f"{where}; `hedgerow resume {self.path}` writes what is missing"

    def _write_levels(self, post: Posterior, notes: Notes, progress: bool | None) -> None:
        """The rows from coarse to fine by the kernel of the run, and their page."""
        assert post.model is not None
        kernel = read_kernel(post.run["kernel"])
        (self.path / LEVELS).unlink(missing_ok=True)
        model, kept = replace(post.model, power=1.0), self.path / LEVELS
        same = None if post.place is None else Copies.at(post.place)
        found = levels(
            model, post.X, kernel=kernel, times=post.times, seed=post.run["seed"], checkpoint=kept, progress=progress, copies=same
        )
        if found.stopped:
            raise KeyboardInterrupt
        write_page(found, self.path / LEVELS_PAGE, notes.title, notes.columns, notes.rows)

    def finish(self, post: Posterior, notes: Notes, progress: bool | None = None) -> None:
        """Write the run and tell everything; a run that was stopped early says how to go on."""
        early, drawn = bool(post.run["interrupted"]), f"{post.draws:,} draws of {post.chains} chains are"
        if post.run.get("warming"):
            drawn = f"no draws yet, but the partitions where {post.chains} chains stood in their warm-up are"
        if early:
            print(f"Stopping: {drawn} there and being saved.", file=sys.stderr)
        self.write(post, notes, progress)
        ended = f": {post.run['until']['why']}" if "until" in post.run else ""
        say(f"- Sampling took {post.run['seconds']:.1f} seconds{ended}; seed {post.run['seed']}.")
        say()
        self.tell_files()
        if early:
            print(f"The run is not done: `hedgerow resume {self.path}` goes on with it.")  # unwrapped: to be copied
            raise Interrupted(f"stopped early; {drawn} saved in {self.path}")

    def tell_files(self) -> None:
        """Say where the files are."""
        tell_files({str(self.path / name): what for name, what in FILES.items() if (self.path / name).exists()})


def refuse_links(folder: Path, names: Iterable[str]) -> None:
    """Refuse links, and pipes that wait for ever, in the place of what is about to be written: a folder may come from a stranger."""
    for name in names:
        place = folder / name
        if place.is_symlink():
            raise ParameterError(f"{folder}: must have files of its own, not links to others. {name} is a link.")
        if place.exists() and not (place.is_file() or place.is_dir()):
            raise ParameterError(f"{folder}: must have plain files. {name} is a pipe or a device.")


def read_every(seconds: float | None) -> float | None:
    """Seconds between states, as `Checkpoint` takes them."""
    if seconds is not None and not seconds >= 0:
        raise ParameterError(f"--checkpoint-every {seconds}: must be a number of seconds from 0 up.")
    return seconds


def make_folder(path: str) -> Path:
    """A folder to write to, made if it is not there: refused before the work rather than after it."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"--out {path}: must name a folder. Got a file.")
    if folder.is_symlink() and not folder.exists():
        raise ParameterError(f"--out {path}: must name a folder. Got a link to {os.readlink(folder)}, which is not there.")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise ParameterError(f"--out {path}: must name a folder that can be written to. Got one that cannot.")
    return folder


def _are_texts(given: object) -> bool:
    return given is None or (isinstance(given, list) and all(isinstance(item, str) for item in given))
