"""read: one room for reading tables from files, for the command line, shards and Python alike.

Readers trust nothing. Arrays are compared with the bytes that are there, and a Parquet file, or packed text that unpacks to more
than `IN_PROCESS`, is read in a child process with a limit of memory (`guarded.py`). Small text, npy, npz and Matrix Market
files stay in this process: what they can grow to is known before memory is taken.
"""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.data.archives import read_npz
from hedgerow.data.delimited import MISSING, NoRowsError, is_number, read_delimited
from hedgerow.data.frame import Frame, Series
from hedgerow.data.guarded import memory_for, read_guarded, too_large
from hedgerow.data.kinds import ColumnKind, Reading, said_of, understand
from hedgerow.data.matrix_market import read_matrix_market
from hedgerow.data.npy import read_npy
from hedgerow.data.tables import feature_names
from hedgerow.data.texts import count_words, read_folder
from hedgerow.errors import MissingExtraError, ParameterError, require

__all__ = ["Dataset", "EmptyTableError", "read", "read_table", "with_numbers"]

#: Bytes that a packed text may unpack to before a child process takes over: starting one costs a quarter of a second.
IN_PROCESS = 64 << 20
ENDINGS = "csv, tsv, txt or mtx (each also with .gz), parquet, npy or npz"


class EmptyTableError(ParameterError):
    """A table without rows or columns."""


@dataclass(frozen=True, repr=False)
class Dataset:
    r"""A table that was read, as `sample` and the estimators take it, and what belongs to it.

    Attributes
    ----------
    X : array, sparse matrix or Frame
        The rows.
    names, rows : list of str or None
        Of columns and of rows.
    times : (n,) or None
        The column set apart as times.
    reading : Reading or None
        What the columns were taken for.
    raw : Frame or None
        The columns as they stood in the file.
    notes : tuple of str
        What was guessed about the file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "flowers.csv"
    >>> _ = path.write_text("height,colour\n1.5,red\n2.5,blue\n")
    >>> read(path).names
    ['height', 'colour']
    """

    X: Any
    """An array, a sparse matrix, or a `Frame` of named columns."""
    names: list[str] | None = None
    """Names of the columns, where the file has any."""
    rows: list[str] | None = None
    """Names of the rows, if a column was said to hold them."""
    times: npt.NDArray[Any] | None = None
    """Times or places of the rows, if a column was said to hold them."""
    reading: Reading | None = None
    """What every named column was taken for, and why; print it to read it."""
    raw: Frame | None = None
    """The named columns as the file has them, before they were understood."""
    notes: tuple[str, ...] = ()
    """What was guessed about the file."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        """Rows and columns, then what was guessed."""
        n, d = self.shape
        guessed = str(self.reading).splitlines() if self.reading is not None else []
        return "\n  ".join([f"Dataset: {n:,} rows, {d:,} columns", *self.notes, *guessed])


def read(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    rows: str | None = None,
    times: str | None = None,
    header: bool | None = None,
    array: str | None = None,
    text: str | None = None,
    like: Reading | None = None,
) -> Dataset:
    """Read a table from a file, as its ending says.

    Parameters
    ----------
    path : path
        A csv, tsv or txt file (delimiter, encoding and first line are looked at), a Parquet file, an npy or npz array, a sparse
        matrix as SciPy writes it to npz, or a Matrix Market file. Text and Matrix Market files may be packed by gzip. A folder
        of texts (txt, md) becomes the counts of their words, with the names of the files as names of the rows.
    columns : mapping, default all guessed
        What columns hold, where a guess would be wrong: ``{"zip": "category", "when": "time"}``, as for `understand`.
    only, drop : sequences of names, default all columns
        The columns to use, and those to leave out.
    rows, times : names of columns
        Set apart: the names of the rows, and their times or places.
    header : bool, default guessed
        Whether the first line of a text holds names.
    array : str, default ``X`` or the only one
        Which array of an npz file.
    text : name of a column
        Count the words of this column, by scikit-learn's `CountVectorizer`, and leave the others out.
    like : Reading
        Read the columns as this reading does, that of a file read before: for new rows.

    Returns
    -------
    Dataset
        `X` to sample, with `names`, `rows`, `times`, and what was guessed: `reading` of the columns, `notes` of the file.

    A file that is damaged, or takes far more memory than its size says, is refused with a `ParameterError`.

    >>> import hedgerow as hr
    >>> flowers = hr.data.read("flowers.csv", drop=["species"])  # doctest: +SKIP
    >>> hr.HedgerowClusterer().fit_predict(flowers.X)  # doctest: +SKIP
    """
    require(isinstance(path, str | os.PathLike), "read", "path", path, "be the path of a file, or of a folder of texts")
    place = Path(path)
    if place.is_dir():
        texts, names = read_folder(place)
        return _count(texts, "text", like, rows=names)
    table, notes = read_table(place, header, array)
    if feature_names(table) is None:
        wanted = [*(columns or ()), *(only or ()), *(drop or ()), *(name for name in (rows, times) if name)]
        if wanted:
            raise ParameterError(f"{path}: must have named columns, to find {wanted[0]!r} among them. It has none.")
        return Dataset(table, notes=tuple(notes))
    if like is not None and like.columns[0].how["read"] == "words":
        text = str(like.columns[0].name)
    if text is not None:
        cut = _cut(table, path, [text], None, rows, times, notes)
        texts = ["" if entry is None else str(entry) for entry in cut.X.column(text).to_numpy()]
        return _count(texts, text, like, rows=cut.rows, times=cut.times, notes=cut.notes, raw=cut.X)
    cut = _cut(table, path, only, drop, rows, times, notes)
    reading = understand(cut.X, columns) if like is None else like
    typed, lost = reading.read(cut.X)
    if lost:
        notes = [*notes, f"taken for gaps: {said_of(lost, typed.shape[0])}"]
    return replace(cut, X=typed, names=typed.column_names, reading=reading, raw=cut.X, notes=tuple(notes))


def read_table(place: Path, header: bool | None = None, array: str | None = None) -> tuple[Any, list[str]]:
    """The table of a file as it stands there, before its columns are understood, and what was guessed of the file."""
    if not place.is_file():
        raise ParameterError(f"{place}: must name an existing file, or a folder of texts.")
    kind = "".join(place.suffixes[-2:]).lower() if place.suffix.lower() == ".gz" else place.suffix.lower()
    table, notes = _read(place, kind, header, array)
    if table.shape[0] == 0 or table.shape[1] == 0:
        shown = f"{table.shape[0]:,} rows and {table.shape[1]:,} columns"
        raise EmptyTableError(f"{place}: must have at least one row and one column. Got {shown}.")
    return table, notes


def _count(texts: list[str], name: str, like: Reading | None, notes: tuple[str, ...] = (), **known: Any) -> Dataset:
    """The words of texts, counted; those of a fit, if that is given."""
    counts, words, said = count_words(texts, None if like is None else like.columns[0].how["words"])
    reading = Reading((ColumnKind(name, "text", "counts of its words", {"read": "words", "words": words}, True),))
    return Dataset(counts, words, reading=reading if like is None else like, notes=(*notes, *said), **known)


def _read(place: Path, kind: str, header: bool | None, array: str | None) -> tuple[Any, list[str]]:
    try:
        if kind in (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"):
            return _read_text(place, header)
        if kind in (".parquet", ".pq"):
            head, columns = read_guarded(place, "parquet")
            return _frame(place, head["names"], columns), head["notes"]
        if kind == ".npy":
            with open(place, "rb") as file:
                return _as_table(read_npy(file, place.stat().st_size)[0], place), []
        if kind == ".npz":
            return _as_table(read_npz(place, array), place), []
        if kind in (".mtx", ".mtx.gz"):
            content = _unpacked(place, most := memory_for(place) // 16)  # a number takes 16 times the least that its text does
            if content is None:
                raise too_large(place, most)
            return _as_table(read_matrix_market(content), place), []
    except (ParameterError, MissingExtraError, MemoryError):
        raise
    except NoRowsError as error:
        raise EmptyTableError(f"{place}: must be a readable {kind} file: {error}.") from error
    except Exception as error:  # readers of others stumble over a stranger's bytes in many ways
        raise ParameterError(f"{place}: must be a readable {kind} file: {error}.") from error
    raise ParameterError(f"{place}: must end in {ENDINGS}. Got {kind or 'no ending'!r}.")


def _unpacked(place: Path, most: int) -> bytes | None:
    """A file's bytes, unpacked if it is a gz file; None for one that unpacks to more than `most`."""
    if place.suffix.lower() != ".gz":
        return place.read_bytes()
    with gzip.open(place, "rb") as file:
        content = file.read(most + 1)
    return content if len(content) <= most else None


def _as_table(array: Any, place: Path) -> Any:
    if array.ndim == 1:
        return array.reshape(-1, 1)
    if array.ndim != 2:
        raise ParameterError(f"{place}: must hold a table of rows and columns. Got an array of shape {array.shape}.")
    return array


def _read_text(place: Path, header: bool | None) -> tuple[Frame | npt.NDArray[np.float64], list[str]]:
    """A text table; a matrix if it has no names and holds numbers only."""
    content = _unpacked(place, IN_PROCESS)
    if content is None:
        head, columns = read_guarded(place, "delimited", header)
        names, notes = head["names"], head["notes"]
    else:
        found = read_delimited(content, header)
        names, notes = found.names, found.notes
        columns = [Series(codes, texts) for codes, texts in zip(found.codes, found.texts, strict=True)]
    if names is None and all(_is_plain(column) for column in columns):
        return np.column_stack([_numbers(column) for column in columns]), notes
    return _frame(place, names or [f"x{j}" for j in range(len(columns))], columns), notes


def _is_plain(column: Series) -> bool:
    """Whether all entries of a column are numbers as programs write them, or missing."""
    return all(text.lower() in MISSING or is_number(text) for text in column.texts or ())


def _numbers(column: Series) -> npt.NDArray[np.float64]:
    table = np.array([float(text) if text.lower() not in MISSING else np.nan for text in column.texts or ()])
    return np.asarray(table[column.values])


def with_numbers(table: Any) -> Any:
    """The table with texts that are all numbers read as such, and nothing else: no column is left out or understood."""
    if not isinstance(table, Frame):
        return table
    plain = [column.texts is not None and not column.declared and _is_plain(column) for column in table.columns]
    return Frame(table.column_names, [Series(_numbers(c)) if numbers else c for c, numbers in zip(table.columns, plain, strict=True)])


def _frame(place: Path, names: list[str], columns: list[Series]) -> Frame:
    doubled = sorted(name for name, times in Counter(names).items() if times > 1)
    if doubled:
        raise ParameterError(f"{place}: must have a different name for every column. Got {', '.join(doubled)} twice.")
    return Frame(names, columns)


def _cut(
    table: Frame,
    path: Any,
    only: Sequence[str] | None,
    drop: Sequence[str] | None,
    rows: str | None,
    times: str | None,
    notes: list[str],
) -> Dataset:
    """The columns asked for, with names and times of rows set apart."""
    names = table.column_names
    apart = [name for name in (rows, times) if name]
    chosen = list(only or [name for name in names if name not in apart])
    for name in (*chosen, *(drop or ()), *apart):
        if name not in names:
            raise ParameterError(f"{path}: must have the column {name!r}. It has {', '.join(names)}.")
    used = [name for name in chosen if name not in (drop or ())]
    if not used:
        raise ParameterError(f"{path}: must keep at least one column. All were dropped.")
    named = None if not rows else [str(entry) for entry in table.column(rows).to_numpy()]
    when = None if not times else np.asarray(table.column(times).to_numpy())
    return Dataset(table.select(used), used, named, when, notes=tuple(notes))
