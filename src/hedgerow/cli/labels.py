"""Tables that the command line writes: labels and predictions, as CSV in UTF-8.

Names stand in them as they stand in the data. A spreadsheet takes a cell that begins with =, +, -, @, a tab or a line's end
for a formula and may run it; with `safe` such a text, unless it is a number, gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hedgerow.posterior import Posterior
from hedgerow.writing import whole_file

__all__ = ["SAFE_HELP", "write_labels", "write_table"]

SAFE_HELP = "put an apostrophe before texts that a spreadsheet would run as a formula (=, +, -, @ in front)"


def write_labels(post: Posterior, path: Path, loss: Any, rows: Sequence[str] | None, *, safe: bool = False) -> None:
    """A table with a line for each row: its cluster, and the probability of being there rather than elsewhere."""
    labels = post.point_estimate(loss).labels
    sure = post.uncertainty(labels)
    names = range(post.n) if rows is None else rows
    lines = ((name, int(k), f"{p:.4f}") for name, k, p in zip(names, labels, sure.probability, strict=True))
    with whole_file(path) as file:
        write_table(file, ["row", "cluster", "probability"], lines, safe=safe, end="\r\n")


def write_table(file: BinaryIO, head: Sequence[str], lines: Iterable[Sequence[Any]], *, safe: bool = False, end: str = "\n") -> None:
    """A head and its lines; only the first cell of a line is text of the user's."""
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator=end)
        writer.writerow(head)
        writer.writerows([_safe(cells[0]), *cells[1:]] if safe else cells for cells in lines)
        text.flush()
    finally:
        text.detach()  # the file is its owner's to close


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str) or cell[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n"):
        return cell
    try:
        return cell if np.isfinite(float(cell)) else f"'{cell}"
    except ValueError:
        return f"'{cell}"
