"""The options that say how a file is read, and the file read by them."""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

from hedgerow.data.files import Dataset, read
from hedgerow.errors import ParameterError

__all__ = ["add_data_arguments", "read_source"]


def add_data_arguments(parser: Any) -> None:
    """The options that say how a file is read."""
    group = parser.add_argument_group("reading the data")
    group.add_argument("--columns", metavar="A,B,...", help="use these columns only")
    group.add_argument("--drop", metavar="A,B,...", help="leave these columns out")
    group.add_argument("--id", metavar="COLUMN", help="names of the rows, for labels and report")
    group.add_argument("--times", metavar="COLUMN", help="times or places of the rows, for a MixedNRM prior")
    group.add_argument("--no-header", action="store_true", help="the first line of a CSV file holds data, not names")
    group.add_argument("--array", metavar="NAME", help="which array of an npz file (default: X, or the only one)")
    group.add_argument("--words", metavar="FILE", help="names of the columns, one a line (for mtx, npy and npz files)")


def read_source(path: str, options: argparse.Namespace) -> Dataset:
    """The file at `path`, read as its name says and cut to the columns asked for."""
    found = read(
        path,
        only=_listed(options.columns),
        drop=_listed(options.drop),
        rows=options.id,
        times=options.times,
        header=False if options.no_header else None,
        array=options.array,
    )
    if options.words and found.names is None:
        found = replace(found, names=_read_words(options.words, found.X.shape[1]))
    return found


def _read_words(path: str, width: int) -> list[str]:
    words = Path(path).read_text(encoding="utf-8").split("\n")
    words = words[:-1] if words and not words[-1] else words
    if len(words) != width:
        raise ParameterError(f"--words {path}: must have a line for each of the {width} columns. Got {len(words)}.")
    return words


def _listed(text: str | None) -> list[str]:
    return [] if not text else next(csv.reader([text], skipinitialspace=True))
