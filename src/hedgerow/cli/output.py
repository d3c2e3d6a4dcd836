"""What a run leaves behind: the run folder, and the words printed about it."""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.posterior import Posterior
from hedgerow.posterior.reporting import findings
from hedgerow.summaries.distances import Loss

__all__ = [
    "LABELS",
    "LOSSES",
    "REPORT",
    "RUN",
    "Interrupted",
    "add_command",
    "line_width",
    "make_folder",
    "say",
    "tell_files",
    "tell_findings",
    "write_pages",
]

RUN = "run.hedge"
LABELS = "labels.csv"
REPORT = "report.html"
LOSSES = ("vi", "binder", "omari")
WIDEST = 96
FILES = {
    REPORT: "everything about the clusters, to open in a browser",
    LABELS: "the cluster of every row, and how sure that is",
    RUN: "the draws, for hedgerow summary, report and predict",
}


class Interrupted(Exception):  # noqa: N818  not an error: the user asked for it
    """Ctrl-C, after what there was has been saved; the text says where."""


def add_command(
    commands: Any, name: str, short: str, long: str, examples: str, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    """A parser for one command, with its examples under the options."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=short,
        description=textwrap.fill(long, WIDEST),
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def line_width() -> int:
    """Characters of a line: those of the terminal, but no more than are read with ease; that many in a file too."""
    if not sys.stdout.isatty():
        return WIDEST
    return max(40, min(WIDEST, shutil.get_terminal_size().columns - 1))


def say(text: str = "", indent: int = 2) -> None:
    """Print a paragraph, wrapped where it is longer than a line, with so many spaces before what is left of it."""
    if len(text) <= line_width():
        print(text)
        return
    indent = min(indent, line_width() // 2)
    print(textwrap.fill(text, line_width(), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False))


def make_folder(path: str) -> Path:
    """The run folder, made if it is not there: refused before the work rather than after it."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"--out {path}: must name a folder. Got a file.")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise ParameterError(f"--out {path}: must name a folder that can be written to. Got one that cannot.")
    return folder


def write_pages(post: Posterior, folder: Path, *, title: str, loss: Loss = "vi", rows: Sequence[str] | None = None) -> None:
    """Write the labels and the report beside the run."""
    write_labels(post, folder / LABELS, loss, rows)
    post.report(folder / REPORT, title=title, loss=loss, rows=rows)


def write_labels(post: Posterior, path: Path, loss: Loss, rows: Sequence[str] | None) -> None:
    """A table with a line for each row: its cluster, and the probability of being there rather than elsewhere."""
    labels = post.point_estimate(loss).labels
    sure = post.uncertainty(labels)
    names = np.arange(post.n) if rows is None else rows
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "cluster", "probability"])
        writer.writerows((name, int(k), f"{p:.4f}") for name, k, p in zip(names, labels, sure.probability, strict=True))


def tell_findings(post: Posterior, loss: Loss = "vi") -> None:
    """Say what was found and how sure that is."""
    lead, sentences = findings(post, post.point_estimate(loss))
    say(lead)
    for sentence in sentences:
        say(f"- {sentence.text}")
    if int(np.bincount(post.n_clusters.ravel()).argmax()) > post.point_estimate(loss).n_clusters:
        say("- Single draws often set a few rows apart; the clusters counted above are what the draws agree on.")


def tell_files(folder: Path) -> None:
    """Say where the files are."""
    say("Files:")
    width = max(len(str(folder / name)) for name in FILES)
    for name, what in FILES.items():
        print(f"  {folder / name!s:<{width}}  {what}")
