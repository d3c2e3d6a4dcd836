"""Labels of a posterior whose rows lie in shards: where they are kept, and what knows its clusters and works on its rows.

Labels are kept in this process, in a folder, or packed into one file. Clusters of a draw are kept as sizes and statistics, which is all
that predictions take. Rows stay where they are: whoever has them (`Rows`) is given work to do on them, shard by shard.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ParameterError, require
from hedgerow.posterior.traced import FloatArray
from hedgerow.summaries.partitions import canonical, merge_points
from hedgerow.summaries.points import Points

__all__ = [
    "FolderLabels",
    "Joined",
    "KeptLabels",
    "KnownClusters",
    "MemoryLabels",
    "PackedLabels",
    "Rows",
    "Work",
    "draw_folder",
    "join",
    "read_labels",
    "shard_file",
]

LongArray = npt.NDArray[np.int64]
Labels = npt.NDArray[Any]


class Work(Protocol):
    """What is done on the checked rows of one shard; it must be possible to pickle it."""

    def __call__(self, X: Any) -> Any:
        """The answer, small enough to travel."""
        ...


class Rows(Protocol):
    """Whoever has the rows."""

    def each(self, works: Sequence[Work]) -> list[Any]:
        """Have every shard that has rows do its work; their answers in the order of the shards."""
        ...


class KnownClusters(NamedTuple):
    """The clusters of one draw: packed statistics, where each begins, and rows."""

    numbers: FloatArray
    start: LongArray
    sizes: LongArray


def draw_folder(folder: Path, draw: int) -> Path:
    """Where the shards write the labels of a draw of a chain."""
    return folder / f"draw-{draw:06d}"


def shard_file(folder: Path, shard: int) -> Path:
    """Where a shard writes its labels."""
    return folder / f"shard-{shard:05d}.npy"


class KeptLabels(ABC):
    """Labels by draw and shard. A draw has a number counted over all chains; a label means the same cluster in all shards."""

    @property
    @abstractmethod
    def positions(self) -> Sequence[int]:
        """The draws that have labels, in order."""

    @abstractmethod
    def read(self, position: int, shard: int) -> Labels:
        """Labels of the rows of a shard in a draw."""


@dataclass(frozen=True, eq=False)
class MemoryLabels(KeptLabels):
    """Here, by draw and shard."""

    kept: Mapping[int, Sequence[Labels]]

    @property
    def positions(self) -> Sequence[int]:
        """See `KeptLabels`."""
        return sorted(self.kept)

    def read(self, position: int, shard: int) -> Labels:
        """See `KeptLabels`."""
        return self.kept[position][shard]


@dataclass(frozen=True, eq=False)
class FolderLabels(KeptLabels):
    """In files that the shards wrote."""

    folders: Mapping[int, Path]

    @property
    def positions(self) -> Sequence[int]:
        """See `KeptLabels`."""
        return sorted(self.folders)

    def read(self, position: int, shard: int) -> Labels:
        """See `KeptLabels`."""
        path = shard_file(self.folders[position], shard)
        if not path.is_file():
            wanted = "the labels of the run must still be in their folder"
            raise ParameterError(f"DistributedPosterior.labels(...): {wanted}. {path} is not there.")
        labels: Labels = np.load(path, allow_pickle=False)
        return labels


@dataclass(frozen=True, eq=False)
class PackedLabels(KeptLabels):
    """As one file holds them: labels (draws, points), and the point of every row, shard after shard."""

    labels: Labels
    place: npt.NDArray[np.intp]
    kept: Sequence[int]
    ends: Sequence[int]

    @property
    def positions(self) -> Sequence[int]:
        """See `KeptLabels`."""
        return self.kept

    def read(self, position: int, shard: int) -> Labels:
        """See `KeptLabels`."""
        first = self.ends[shard - 1] if shard else 0
        found: Labels = self.labels[list(self.kept).index(position)][self.place[first : self.ends[shard]]]
        return found


def read_labels(kept: KeptLabels, position: int, shard: int, rows: int) -> Labels:
    """Labels of a shard, which must be that many."""
    if rows == 0:
        return np.zeros(0, np.uint8)
    part = kept.read(position, shard)
    good = part.shape == (rows,) and part.dtype.kind in "iu"
    require(good, "DistributedPosterior.labels", f"shard {shard}", part, f"have {rows} labels")
    return part


class Joined(NamedTuple):
    """Draws of all shards as points; for each draw its number, and the canonical label of each cluster of the chain."""

    points: Points
    positions: Sequence[int]
    numbering: Sequence[npt.NDArray[np.int32]]
    raw: Labels
    """Labels (draws, points) by the chain's own numbers."""


def join(kept: KeptLabels, positions: Sequence[int], shard_rows: Sequence[int]) -> Joined:
    """The draws at these positions, put together from the points of every shard."""
    parts = []
    for shard, rows in enumerate(shard_rows):
        if rows == 0:
            parts.append((np.zeros((len(positions), 0), np.int32), np.zeros(0, np.int64), np.zeros(0, np.intp)))
            continue
        whole = np.stack([read_labels(kept, position, shard, rows) for position in positions])
        merged, copies, place = merge_points(whole)
        parts.append((merged.astype(np.int32), copies, place))
    points = Points.join(parts)
    labels = np.concatenate([part[0] for part in parts], axis=1)
    raw = np.empty_like(points.draws)
    raw[:, _places(points, parts)] = labels
    numbering = []
    for own, known in zip(raw, points.draws, strict=True):
        number = np.full(int(own.max()) + 1, -1, np.int32)
        number[own] = known
        require(bool((number >= 0).all()), "DistributedPosterior", "labels", own, "use every number from 0 up, as a whole draw does")
        numbering.append(number)
    return Joined(points, tuple(positions), numbering, raw)


def _places(points: Points, parts: Sequence[tuple[Labels, LongArray, npt.NDArray[np.intp]]]) -> npt.NDArray[np.intp]:
    """The point of every point of every shard."""
    found, row = [], 0
    for merged, _, place in parts:
        own = np.empty(merged.shape[1], np.intp)
        own[place] = points.place[row : row + len(place)]
        found.append(own)
        row += len(place)
    return np.concatenate(found)


def narrow(labels: Labels) -> Labels:
    """In as few bytes as they need."""
    return canonical(labels).astype(np.uint8) if labels.size == 0 else labels.astype(np.min_scalar_type(int(labels.max())))
