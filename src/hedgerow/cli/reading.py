"""The options that say how a file is read, and the file read by them."""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

from hedgerow.data.files import Dataset, read
from hedgerow.data.kinds import KINDS, Reading
from hedgerow.errors import ParameterError

__all__ = ["add_data_arguments", "read_kinds", "read_source"]


def add_data_arguments(parser: Any) -> None:
    """The options that say how a file is read."""
    group = parser.add_argument_group("reading the data")
    group.add_argument("--columns", metavar="A,B,...", help="use these columns only")
    group.add_argument("--drop", metavar="A,B,...", help="leave these columns out")
    group.add_argument(
        "--column",
        metavar="NAME=KIND",
        action="append",
        help=f"what a column holds: {', '.join(KINDS)} (may be repeated; default: guessed)",
    )
    group.add_argument("--id", metavar="COLUMN", help="names of the rows, for labels and report")
    group.add_argument("--times", metavar="COLUMN", help="times or places of the rows, for a MixedNRM prior")
    group.add_argument(
        "--header", action=argparse.BooleanOptionalAction, help="whether the first line of a text holds names (default: guessed)"
    )
    group.add_argument("--array", metavar="NAME", help="which array of an npz file (default: X, or the only one)")
    group.add_argument("--text", metavar="COLUMN", help="cluster by the words of this column alone")
    group.add_argument("--words", metavar="FILE", help="names of the columns, one a line (for mtx, npy and npz files)")


def read_source(path: str, options: argparse.Namespace, like: Reading | None = None) -> Dataset:
    """The file at `path`, read as its name says and cut to the columns asked for; `like` that of a fit for new rows."""
    found = read(
        path,
        columns=read_kinds(options.column),
        only=_listed(options.columns),
        drop=_listed(options.drop),
        rows=options.id,
        times=options.times,
        header=options.header,
        array=options.array,
        text=options.text,
        like=like,
    )
    if options.words and found.names is None:
        found = replace(found, names=_read_words(options.words, found.X.shape[1]))
    return found


def read_kinds(given: list[str] | None) -> dict[str, str]:
    """Columns and their kinds from NAME=KIND."""
    kinds = {}
    for text in given or ():
        name, mark, kind = text.rpartition("=")
        if not mark:
            raise ParameterError(f"--column {text}: must be NAME=KIND, with a kind of {', '.join(KINDS)}.")
        kinds[name] = kind
    return kinds


def _read_words(path: str, width: int) -> list[str]:
    words = Path(path).read_text(encoding="utf-8").split("\n")
    words = words[:-1] if words and not words[-1] else words
    if len(words) != width:
        raise ParameterError(f"--words {path}: must have a line for each of the {width} columns. Got {len(words)}.")
    return words


def _listed(text: str | None) -> list[str]:
    return [] if not text else next(csv.reader([text], skipinitialspace=True))
