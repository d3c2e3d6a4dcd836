"""Tables that the command line writes: labels, profiles and predictions, as CSV in UTF-8 or as Parquet.

Names stand in them as they stand in the data. A spreadsheet takes a cell that begins with =, +, -, @, a tab or a line's end
for a formula and may run it; with `safe` such a text, unless it is a number, gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from hedgerow.data.files import Dataset
from hedgerow.data.kinds.words import is_gap
from hedgerow.errors import ParameterError, need_extra
from hedgerow.posterior import Posterior
from hedgerow.summaries.profiles import Profiles
from hedgerow.writing import whole_file, whole_path

__all__ = ["SAFE_HELP", "columns_of", "label_columns", "write_labels", "write_parquet", "write_profiles", "write_table"]

SAFE_HELP = "put an apostrophe before texts that a spreadsheet would run as a formula (=, +, -, @ in front)"
OWN = ("row", "cluster", "probability", "outlier")

Columns = dict[str, list[Any]]


def columns_of(source: Dataset) -> Columns:
    """The columns of the table, numbers as numbers, as plain values with None where an entry is missing, to stand beside the labels."""
    if sparse.issparse(source.X):
        raise ParameterError("--with-columns: must come with a table of columns. Got sparse counts, of which nearly all are 0.")
    if source.raw is not None and source.reading is not None:
        kinds = {str(column.name): column for column in source.reading.columns}
        numbers = {name for name, column in kinds.items() if column.kind in ("number", "count")}
        names = source.raw.column_names
        entries = [(source.X if name in numbers else source.raw).column(name).to_numpy() for name in names]
    else:
        names = source.names or [f"x{j}" for j in range(source.X.shape[1])]
        entries = [source.X[:, j] for j in range(len(names))]
    return {
        f"data.{name}" if name in OWN else name: [
            None if isinstance(entry, str) and is_gap(entry) else _plain(entry) for entry in column
        ]
        for name, column in zip(names, entries, strict=True)
    }


def label_columns(post: Posterior, loss: Any, rows: Sequence[str] | None, beside: Mapping[str, Sequence[Any]] | None) -> dict[str, Any]:
    """For each row its cluster, the probability of being there rather than elsewhere, the rank of how unlikely it is, and what was
    asked for beside these."""
    labels = post.point_estimate(loss).labels
    own = (range(post.n) if rows is None else rows, labels, post.uncertainty(labels).probability, post.outlier_scores())
    found: dict[str, Any] = dict(zip(OWN, own, strict=True))
    found |= beside or {}
    odd = [name for name, column in found.items() if len(column) != post.n]
    if odd:
        raise ParameterError(f"labels: must have an entry of {odd[0]!r} for each of {post.n:,} rows. Got {len(found[odd[0]]):,}.")
    return found


def write_labels(path: Path, columns: Mapping[str, Any], *, safe: bool = False) -> None:
    """Labels as CSV, probabilities and ranks to four digits."""
    cells = [[f"{p:.4f}" for p in column] if name in OWN[2:] else column for name, column in columns.items()]
    with whole_file(path) as file:
        write_table(file, list(columns), zip(*cells, strict=True), safe=safe, end="\r\n")


def write_profiles(path: Path, found: Profiles, *, safe: bool = False) -> None:
    """Profiles as CSV; the names of rows and columns in them are texts of the data too."""
    columns = found.clusters.flat()
    with whole_file(path) as file:
        write_table(file, list(columns), zip(*(column.tolist() for column in columns.values()), strict=True), safe=safe)


def write_parquet(path: Path, columns: Mapping[str, Any]) -> None:
    """Labels as a Parquet file; a column of mixed values becomes one of texts."""
    arrow, parquet = need_extra("pyarrow", "parquet"), need_extra("pyarrow.parquet", "parquet")
    made = {}
    for name, column in columns.items():
        values = np.asarray(column).tolist() if name in OWN[1:] else list(column)
        kinds = {type(value) for value in values if value is not None}
        if (kinds - {int, float} and len(kinds) > 1) or str in kinds:
            values = [None if value is None else _written(str(value)) for value in values]
        made[_written(name)] = arrow.array(values)
    with whole_path(path) as place:
        parquet.write_table(arrow.table(made), place)


def write_table(file: BinaryIO, head: Sequence[str], lines: Iterable[Iterable[Any]], *, safe: bool = False, end: str = "\n") -> None:
    """A head and its lines."""
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator=end)
        writer.writerows([_safe(cell) for cell in cells] if safe else cells for cells in itertools.chain([head], lines))
        text.flush()
    finally:
        text.detach()  # the file is its owner's to close


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str) or cell[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n"):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _plain(entry: Any) -> Any:
    """A number, a truth, a text, or None where it is missing."""
    if isinstance(entry, np.generic) and entry.dtype.kind not in "mM":
        entry = entry.item()
    if entry is None or isinstance(entry, (bool, int, str)):
        return entry
    if isinstance(entry, float):
        return entry if np.isfinite(entry) else None
    return None if str(entry) == "NaT" else str(entry)


def _written(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
