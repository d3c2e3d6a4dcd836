"""Sources: where the rows of each shard come from, as something small that can travel to the worker that reads them.

A source is a function without arguments, the path of a .npy or .npz file that workers can read, or a block of a Dask array. The
rows themselves never pass through the coordinator.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.data.files import read
from hedgerow.errors import ParameterError, require

__all__ = ["Source", "read_sources"]


@dataclass(frozen=True, eq=False)
class Source:
    """One shard: its number, a name for messages, and what gives its rows."""

    number: int
    name: str
    origin: Any
    """A path, a function, or the rows themselves: an array here, a future where there is a cluster."""

    def load(self, data: Any = None) -> Any:
        """The rows; `data` stands in for an origin that the cluster has already fetched."""
        if data is not None:
            return data
        if isinstance(self.origin, Path):
            return _load_file(self.origin)
        return self.origin() if callable(self.origin) else self.origin

    @property
    def travels(self) -> bool:
        """Whether the origin can be sent along with a task."""
        return isinstance(self.origin, Path) or callable(self.origin)


def read_sources(owner: str, shards: Any, client: Any) -> list[Source]:
    """The sources of a list of shards or of a Dask array, one for each of its blocks of rows."""
    if _is_dask_array(shards):
        return _blocks(owner, shards, client)
    listed = isinstance(shards, Sequence) and not isinstance(shards, (str, bytes))
    require(listed, owner, "shards", shards, "be a list of functions, paths or arrays, or a Dask array")
    require(len(shards) > 0, owner, "shards", shards, "have at least one shard")
    return [_source(owner, number, item, client) for number, item in enumerate(shards)]


def _source(owner: str, number: int, item: Any, client: Any) -> Source:
    what = f"shards[{number}]"
    if isinstance(item, (str, os.PathLike)):
        path = Path(item)
        require(path.suffix in (".npy", ".npz"), owner, what, item, "end in .npy or .npz; pass a function to read other files")
        return Source(number, str(path), path)
    if callable(item):
        return Source(number, getattr(item, "__name__", type(item).__name__), item)
    if not (sparse.issparse(item) or hasattr(item, "__array__") or hasattr(item, "__dataframe__")):
        require(False, owner, what, item, "be a function without arguments, the path of a .npy or .npz file, or an array")
    wanted = "be a function or a path on a cluster, so that each worker reads its own rows; arrays are for client=None"
    require(client is None, owner, what, item, wanted)
    return Source(number, "array", item)


def _is_dask_array(shards: Any) -> bool:
    return type(shards).__module__.partition(".")[0] == "dask" and hasattr(shards, "to_delayed")


def _blocks(owner: str, array: Any, client: Any) -> list[Source]:
    require(array.ndim == 2, owner, "shards", array, "have rows and columns")
    whole = array if array.numblocks[1] == 1 else array.rechunk({1: -1})
    blocks = whole.to_delayed().reshape(-1).tolist()
    require(len(blocks) > 0, owner, "shards", array, "have at least one block")
    if client is None:
        return [Source(number, f"block {number}", _compute(block)) for number, block in enumerate(blocks)]
    return [Source(number, f"block {number}", future) for number, future in enumerate(client.compute(blocks))]


def _compute(block: Any) -> Callable[[], Any]:
    return lambda: block.compute()


def _load_file(path: Path) -> Any:
    """The array of a .npy file, the only array of a .npz file, or the sparse matrix that SciPy wrote to one; never a pickle."""
    if path.suffix != ".npy":
        return read(path).X
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # the rows stay on disk until they are asked for
    except (OSError, ValueError) as error:
        raise ParameterError(f"shard {path}: the file must hold one array of numbers. Got: {error}.") from error
