"""Files to tables: CSV and its relatives, Parquet, NumPy and Matrix Market files, each as something a likelihood reads."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import mmap
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.data.csr import read_csr
from hedgerow.data.matrix_market import read_matrix_market
from hedgerow.data.npy import read_npy
from hedgerow.data.parquet_pages import unpacked_size
from hedgerow.data.tables import feature_names
from hedgerow.errors import MissingExtraError, ParameterError, need_extra

__all__ = ["Frame", "Source", "add_data_arguments", "read_source"]

MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "."}
TRUTHS = {"true": True, "false": False, "yes": True, "no": False}
DELIMITERS = ",\t;|"


@dataclass(frozen=True, eq=False)
class Column:
    """One column: numbers, or objects with None where an entry is missing."""

    values: npt.NDArray[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self.values.dtype

    def __len__(self) -> int:
        return len(self.values)

    def to_numpy(self) -> npt.NDArray[Any]:
        """The entries."""
        return self.values


@dataclass(frozen=True, eq=False)
class Frame:
    """Named columns, with the few methods by which a PyArrow table is known to the house."""

    column_names: list[str]
    columns: list[Column]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.columns[0]) if self.columns else 0, len(self.columns)

    def column(self, name: str) -> Column:
        """The column of this name."""
        return self.columns[self.column_names.index(name)]

    def select(self, wanted: Sequence[str | int]) -> Frame:
        """Some of the columns, by name or position."""
        places = [self.column_names.index(item) if isinstance(item, str) else int(item) for item in wanted]
        return Frame([self.column_names[i] for i in places], [self.columns[i] for i in places])


@dataclass(frozen=True)
class Source:
    """The rows to cluster, the names of columns and rows if there are any, and the times if they were asked for."""

    X: Any
    names: list[str] | None = None
    rows: list[str] | None = None
    times: npt.NDArray[Any] | None = None


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


def read_source(path: str, options: argparse.Namespace) -> Source:
    """The file at `path`, read as its name says and cut to the columns asked for."""
    place = Path(path)
    if not place.is_file():
        raise ParameterError(f"{path}: must name an existing file.")
    kind = "".join(place.suffixes[-2:]).lower() if place.suffix.lower() == ".gz" else place.suffix.lower()
    table = _read(place, kind, options)
    if feature_names(table) is None:
        for name in ("columns", "drop", "id", "times"):
            if getattr(options, name):
                raise ParameterError(f"--{name} {getattr(options, name)}: {path} must have named columns. It has none.")
        return Source(table, _read_words(options.words, table.shape[1]) if options.words else None)
    return _cut(table, path, options)


def _read(place: Path, kind: str, options: argparse.Namespace) -> Any:
    try:
        if kind in (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"):
            return _read_text(place, header=not options.no_header)
        if kind in (".parquet", ".pq"):
            return _read_parquet(place)
        if kind == ".npy":
            with open(place, "rb") as file:
                return _as_table(read_npy(file, place.stat().st_size)[0], place)
        if kind == ".npz":
            return _read_npz(place, options.array)
        if kind in (".mtx", ".mtx.gz"):
            return read_matrix_market(_unpacked(place).getvalue())
    except (ParameterError, MissingExtraError, MemoryError):
        raise
    except Exception as error:  # readers of others stumble over a stranger's bytes in many ways
        raise ParameterError(f"{place}: must be a readable {kind} file. {error}") from error
    raise ParameterError(f"{place}: must be a csv, tsv, parquet, npy, npz or mtx file. Got {kind or 'no ending'!r}.")


def _unpacked(place: Path) -> io.BytesIO:
    """A file's bytes, unpacked if it is a gz file, up to what a table may reasonably shrink by."""
    if place.suffix.lower() != ".gz":
        return io.BytesIO(place.read_bytes())
    most = 50 * place.stat().st_size + (16 << 20)  # text as Python's lists takes far more memory than as text
    with gzip.open(place, "rb") as file:
        content = file.read(most + 1)
    _check_size(place, len(content), most)
    return io.BytesIO(content)


def _most_unpacked(place: Path) -> int:
    return 200 * place.stat().st_size + (64 << 20)


def _check_size(place: Path, size: int, most: int) -> None:
    """A small file must not fill the memory."""
    if size > most:
        raise ParameterError(f"{place}: must not hold far more than its size says. It claims to unpack to more than {most:,} bytes.")


def _read_parquet(place: Path) -> Any:
    parquet = need_extra("pyarrow.parquet", "parquet")
    most = 5 * _most_unpacked(place)
    with open(place, "rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content, memoryview(content) as view:
        _check_size(place, unpacked_size(view), most)
    with parquet.ParquetFile(place) as file:
        schema = file.schema_arrow
        _check_names(place, schema.names)
        _check_size(place, file.metadata.num_rows * sum(_entry_bytes(kind) for kind in schema.types), most)
    texts = [field.name for field in schema if str(field.type) in ("string", "binary", "large_string", "large_binary")]
    with parquet.ParquetFile(place, read_dictionary=texts) as file:  # a long text that every row points at is there once
        table = file.read()
    if texts:
        table.validate(full=True)
        _check_size(place, sum(_spelt_out(chunk) for name in texts for chunk in table.column(name).chunks), most)
        table = table.cast(schema)
    table.validate(full=True)  # text that is none would be noticed later, in other words
    return table


def _entry_bytes(kind: Any) -> int:
    """Memory of one entry, at least."""
    try:
        return max(8, int(kind.bit_width) // 8)
    except ValueError:  # entries of different lengths
        return 8


def _spelt_out(chunk: Any) -> int:
    """Bytes of the texts of a column that holds each of them once."""
    compute = need_extra("pyarrow.compute", "parquet")
    lengths = compute.binary_length(chunk.dictionary).cast("int64")
    return int(compute.sum(lengths.take(chunk.indices)).as_py() or 0)


def _check_names(place: Path, names: Sequence[str]) -> None:
    doubled = sorted(name for name, times in Counter(names).items() if times > 1)
    if doubled:
        raise ParameterError(f"{place}: must have a different name for every column. Got {', '.join(doubled)} twice.")


def _check_shape(place: Path, shape: Sequence[int], length: int) -> None:
    """Rows and columns cost memory even where they are empty."""
    if min(shape) < 0 or sum(shape) > length + 10_000_000:
        raise ParameterError(f"{place}: must be of a size that its contents make likely. It declares {shape[0]:,} by {shape[1]:,}.")


def _read_npz(place: Path, wanted: str | None) -> Any:
    with open(place, "rb") as raw, zipfile.ZipFile(raw) as archive:
        sizes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
        _check_size(place, sum(sizes.values()), _most_unpacked(place))
        arrays = _Arrays(archive, sizes)
        if {"format", "shape", "data"} <= set(sizes):
            return _read_sparse(arrays, place)
        names = list(sizes)
        name = wanted or ("X" if "X" in names else names[0] if len(names) == 1 else "")
        if name not in names:
            raise ParameterError(f"--array {name or '?'}: {place} must have that array. It has {', '.join(names)}.")
        return _as_table(arrays[name], place)


class _Arrays:
    """The arrays of an npz file by name, each read when it is asked for."""

    def __init__(self, archive: zipfile.ZipFile, sizes: Mapping[str, int]) -> None:
        self._archive, self._sizes = archive, sizes

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        member = name if name in self._archive.namelist() else f"{name}.npy"
        with self._archive.open(member) as file:
            return read_npy(file, self._sizes[name])[0]


def _read_sparse(arrays: _Arrays, place: Path) -> Any:
    """A matrix as `scipy.sparse.save_npz` writes it, its indices checked: SciPy's loops believe them."""
    form = arrays["format"].item()
    form = form.decode("ascii") if isinstance(form, bytes) else str(form)
    shape = tuple(int(length) for length in np.ravel(arrays["shape"]))
    if len(shape) != 2:
        raise ParameterError(f"{place}: must hold a table of rows and columns. Got {len(shape)} axes.")
    _check_shape(place, shape, place.stat().st_size)
    if form in ("csr", "csc"):
        turned = read_csr(arrays["data"], arrays["indices"], arrays["indptr"], shape if form == "csr" else shape[::-1])
        found = turned if form == "csr" else turned.T
    elif form == "coo":
        found = sparse.coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=shape)
    else:
        raise ParameterError(f"{place}: must hold a sparse matrix in csr, csc or coo form. Got {form[:20]!r}.")
    return sparse.csr_array(found)


def _as_table(array: npt.NDArray[Any], place: Path) -> npt.NDArray[Any]:
    if array.ndim == 1:
        return array.reshape(-1, 1)
    if array.ndim != 2:
        raise ParameterError(f"{place}: must hold a table of rows and columns. Got an array of shape {array.shape}.")
    return array


def _read_text(place: Path, *, header: bool) -> Frame | npt.NDArray[np.float64]:
    """A text table; columns have names if the first line has them."""
    with io.TextIOWrapper(_unpacked(place), newline="", encoding="utf-8-sig") as file:
        first = file.readline()
        file.seek(0)
        delimiter = max(DELIMITERS, key=first.count)
        lines = [(number, row) for number, row in enumerate(csv.reader(file, delimiter=delimiter), 1) if row]
    if not lines:
        raise ParameterError(f"{place}: must have at least one row. It is empty.")
    width = len(lines[0][1])
    for number, row in lines:
        if len(row) != width:
            raise ParameterError(f"{place}: line {number} must have {width} entries, as the first line has. Got {len(row)}.")
    names = [entry.strip() for entry in lines[0][1]]
    named = header and not all(_is_number(entry) for entry in names)
    body = lines[1:] if named else lines
    if not body:
        raise ParameterError(f"{place}: must have at least one row under its names. It has none.")
    columns = [_read_column([row[j].strip() for _, row in body]) for j in range(width)]
    if not named and all(column.dtype.kind == "f" for column in columns):
        return np.column_stack([column.values for column in columns])
    names = names if named else [f"x{j}" for j in range(width)]
    _check_names(place, names)
    return Frame(names, columns)


def _read_column(entries: list[str]) -> Column:
    """Numbers if all entries are, or true and false, else text; missing entries aside."""
    missing = np.array([entry.lower() in MISSING for entry in entries])
    present = [entry for entry, gone in zip(entries, missing, strict=True) if not gone]
    if all(_is_number(entry) for entry in present):
        values = np.full(len(entries), np.nan)
        values[~missing] = [float(entry) for entry in present]
        return Column(values)
    objects = np.empty(len(entries), dtype=object)
    truths = all(entry.lower() in TRUTHS for entry in present)
    objects[~missing] = [TRUTHS[entry.lower()] for entry in present] if truths else present
    return Column(objects)


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True


def _read_words(path: str, width: int) -> list[str]:
    words = Path(path).read_text(encoding="utf-8").split("\n")
    words = words[:-1] if words and not words[-1] else words
    if len(words) != width:
        raise ParameterError(f"--words {path}: must have a line for each of the {width} columns. Got {len(words)}.")
    return words


def _cut(table: Any, path: str, options: argparse.Namespace) -> Source:
    """The columns asked for, with names and times of rows set apart."""
    names = list(feature_names(table) or ())
    apart = [name for name in (options.id, options.times) if name]
    chosen = _listed(options.columns) or [name for name in names if name not in apart]
    dropped = _listed(options.drop)
    for option, wanted in (("columns", chosen), ("drop", dropped), ("id or --times", apart)):
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise ParameterError(f"--{option}: {path} must have the column {unknown[0]!r}. It has {', '.join(names)}.")
    used = [name for name in chosen if name not in dropped]
    if not used:
        raise ParameterError(f"--drop {options.drop}: must leave at least one column.")
    rows = None if not options.id else [str(entry) for entry in table.column(options.id).to_numpy()]
    times = None if not options.times else np.asarray(table.column(options.times).to_numpy())
    return Source(table.select(used), used, rows, times)


def _listed(text: str | None) -> list[str]:
    return [] if not text else next(csv.reader([text], skipinitialspace=True))
