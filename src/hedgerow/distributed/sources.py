"""Sources: where the rows of each shard come from, as something small that can travel to the worker that reads them.

A source is a function without arguments, the path of a file that workers can read, or a block of a Dask array or data frame. The
rows themselves never pass through the coordinator. Columns that have to be understood first are read by a `Reading`, the same for all
shards. A shard may be empty, as a block is after a filter.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.data import Reading
from hedgerow.data.files import EmptyTableError, read, read_table, with_numbers
from hedgerow.data.kinds import Lost
from hedgerow.errors import ParameterError, require

__all__ = ["Source", "at_sources", "files_of", "read_sources"]

_ENDINGS = (".npy", ".npz", ".parquet", ".pq", ".csv", ".tsv", ".txt", ".gz", ".mtx")


@dataclass(frozen=True, eq=False)
class Source:
    """One shard: its number, a name for messages, what gives its rows, and how its columns are read."""

    number: int
    name: str
    origin: Any
    """A path, a function, or the rows themselves: an array here, a future where there is a cluster."""
    reading: Reading | None = None

    def load(self, data: Any = None) -> tuple[Any, Lost]:
        """The rows, and what of them could not be read; `data` stands in for an origin that the cluster has already fetched."""
        if isinstance(self.origin, Path) and data is None:
            return _load_file(self.origin, self.reading), {}
        rows = data if data is not None else self.origin() if callable(self.origin) else self.origin
        return (rows, {}) if self.reading is None or rows.shape[0] == 0 else self.reading.read(rows)

    def raw(self, data: Any = None) -> Any:
        """The table before its columns are understood."""
        if isinstance(self.origin, Path) and data is None:
            try:
                return read_table(self.origin)[0]
            except EmptyTableError:
                return np.empty((0, 0))
        return replace(self, reading=None).load(data)[0]

    @contextmanager
    def named(self) -> Iterator[None]:
        """What is refused inside is refused with the name of the shard."""
        try:
            yield
        except ParameterError as error:
            raise ParameterError(f"shards[{self.number}] ({self.name}): {error}") from error

    @property
    def travels(self) -> bool:
        """Whether the origin can be sent along with a task."""
        return isinstance(self.origin, Path) or callable(self.origin)

    @property
    def bare(self) -> Source:
        """Without an origin that must not be sent along."""
        return self if self.travels else replace(self, origin=None)


def at_sources(do: Callable[..., Any], sources: Sequence[Source], works: Sequence[Any], client: Any) -> list[Any]:
    """`do(source, work)` of every source, here or by workers, which read the rows themselves; the answers in the same order."""
    if client is None:
        return [do(source, work) for source, work in zip(sources, works, strict=True)]
    sent = [(source.bare, work, None if source.travels else source.origin) for source, work in zip(sources, works, strict=True)]
    answers: list[Any] = client.gather([client.submit(do, source, work, data=data, pure=False) for source, work, data in sent])
    return answers


def read_sources(owner: str, shards: Any, client: Any, reading: Reading | None = None) -> list[Source]:
    """The sources of a list of shards, of the files of a folder or pattern, or of a Dask array or frame, one for each of its blocks."""
    require(reading is None or isinstance(reading, Reading), owner, "reading", reading, "be a hedgerow.data.Reading")
    if _is_dask(shards):
        found = _blocks(owner, shards, client)
    else:
        if isinstance(shards, (str, os.PathLike)):
            shards = files_of(owner, shards)
        listed = isinstance(shards, Sequence) and not isinstance(shards, bytes)
        require(listed, owner, "shards", shards, "be a list of functions, paths or arrays, a folder or pattern of files, or Dask's")
        require(len(shards) > 0, owner, "shards", shards, "have at least one shard")
        found = [_source(owner, number, item, client) for number, item in enumerate(shards)]
    return found if reading is None else [replace(source, reading=reading) for source in found]


def files_of(owner: str, place: str | os.PathLike[str]) -> list[str]:
    """The files of a folder, or those that a pattern names, in order."""
    text = os.fspath(place)
    if Path(text).is_dir():
        files = sorted(str(path) for path in Path(text).iterdir() if path.suffix in _ENDINGS)
    else:
        files = sorted(glob.glob(text))
    require(len(files) > 0, owner, "shards", text, "be a folder with files, or a pattern such as 'part-*.parquet' that some files have")
    return files


def _source(owner: str, number: int, item: Any, client: Any) -> Source:
    what = f"shards[{number}]"
    if isinstance(item, (str, os.PathLike)):
        path = Path(item)
        wanted = "be a file that hedgerow.data.read() can read, such as .npy or .parquet; pass a function to read other files"
        require(path.suffix in _ENDINGS, owner, what, item, wanted)
        return Source(number, str(path), path)
    if callable(item):
        return Source(number, getattr(item, "__name__", type(item).__name__), item)
    if not (sparse.issparse(item) or hasattr(item, "__array__") or hasattr(item, "__dataframe__") or hasattr(item, "column_names")):
        require(False, owner, what, item, "be a function without arguments, the path of a file, or an array")
    wanted = "be a function or a path on a cluster, so that each worker reads its own rows; arrays are for client=None"
    require(client is None, owner, what, item, wanted)
    return Source(number, "array", item)


def _is_dask(shards: Any) -> bool:
    return type(shards).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(shards, "to_delayed")


def _blocks(owner: str, table: Any, client: Any) -> list[Source]:
    if hasattr(table, "numblocks"):
        require(table.ndim == 2, owner, "shards", table, "have rows and columns")
        table = table if table.numblocks[1] == 1 else table.rechunk({1: -1})
        blocks = table.to_delayed().reshape(-1).tolist()
        word = "block"
    else:
        require(table.ndim == 2, owner, "shards", table, "be a frame of columns")
        blocks, word = list(table.to_delayed()), "partition"
    require(len(blocks) > 0, owner, "shards", table, "have at least one block")
    if client is None:
        return [Source(number, f"{word} {number}", _compute(block)) for number, block in enumerate(blocks)]
    return [Source(number, f"{word} {number}", future) for number, future in enumerate(client.compute(blocks))]


def _compute(block: Any) -> Callable[[], Any]:
    return lambda: block.compute()


def _load_file(path: Path, reading: Reading | None) -> Any:
    """The array of a .npy file, the only array of a .npz file, or the table of any other that `read` knows; never a pickle.

    Without a reading columns are what they are, as those of arrays: what one shard would make of them another would not.
    """
    if path.suffix != ".npy" or reading is not None:
        try:
            return with_numbers(read_table(path)[0]) if reading is None else read(path, like=reading).X
        except EmptyTableError:
            return np.empty((0, 0))
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # the rows stay on disk until they are asked for
    except (OSError, ValueError) as error:
        raise ParameterError(f"shard {path}: the file must hold one array of numbers. Got: {error}.") from error
