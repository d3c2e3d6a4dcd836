"""Segmentation: what a run leaves behind, and every view of it from fine to coarse.

It holds the fine labels (compressed), sums over the voxels of each segment, and the hierarchy; not the frames. Every
view takes `n_segments`, the coarseness, and none of them needs a new run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.apps.video import writers
from hedgerow.apps.video.hierarchy import Hierarchy
from hedgerow.apps.video.segmenter import SegmentSums
from hedgerow.apps.video.store import LabelStore
from hedgerow.data.container import FormatError, fitting, read_container, write_container

__all__ = ["Segmentation"]

Table = dict[str, npt.NDArray[Any]]
Labels = npt.NDArray[np.unsignedinteger]

_KIND = "segmentation"


@dataclass(frozen=True, eq=False, repr=False)
class Segmentation:
    """The segments of a clip.

    `frame_size` is the (rows, columns) of the labels, `source_size` that of the source; they differ if the frames were
    reduced. `record` says how the run was made and how long its steps took.
    """

    store: LabelStore
    sums: SegmentSums
    hierarchy: Hierarchy
    source_size: tuple[int, int]
    rate: float
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def n_frames(self) -> int:
        """Frames of the clip."""
        return self.store.n_frames

    @property
    def n_segments(self) -> int:
        """Segments at the finest cut."""
        return self.hierarchy.n

    @property
    def frame_size(self) -> tuple[int, int]:
        """(rows, columns) of the labels."""
        return self.store.rows, self.store.columns

    def iter_labels(self, n_segments: int | None = None) -> Iterator[Labels]:
        """The labels of one frame after the other, (rows, columns), numbered by first appearance."""
        numbers = self.hierarchy.cut(n_segments)
        numbers = numbers.astype(np.uint16 if numbers.max() <= 0xFFFF else np.uint32)
        for chunk in self.store:
            yield from numbers[chunk]

    def labels(self, n_segments: int | None = None) -> Labels:
        """The whole label volume (frames, rows, columns), uint16 where that is enough, else uint32."""
        return np.stack(list(self.iter_labels(n_segments)))

    def table(self, n_segments: int | None = None) -> Table:
        """One row per segment, as columns by name.

        segment, name (the oldest fine segment in it, which stays the same from cut to cut), first_frame, last_frame,
        frames (in how many it occurs), voxels, mean colour red, green, blue, and mean place row, column.
        """
        numbers = self.hierarchy.cut(n_segments)
        names = self.hierarchy.representatives(n_segments)
        n = int(numbers.max()) + 1
        first, last, frames = np.full(n, -1), np.full(n, -1), np.zeros(n, dtype=np.int64)
        for t, labels in enumerate(self.iter_labels(n_segments)):
            here = np.flatnonzero(np.bincount(labels.reshape(-1), minlength=n))
            first[here] = np.where(first[here] < 0, t, first[here])
            last[here] = t
            frames[here] += 1
        voxels = np.bincount(numbers, self.sums.voxels, n)
        rows: Table = {"segment": np.arange(n), "name": np.unique(names), "first_frame": first, "last_frame": last}
        rows |= {"frames": frames, "voxels": voxels.astype(np.int64)}
        for k, colour in enumerate(("red", "green", "blue")):
            rows[colour] = np.bincount(numbers, self.sums.colours[:, k], n) / voxels
        for k, axis in enumerate(("row", "column")):
            rows[axis] = np.bincount(numbers, self.sums.places[:, k], n) / voxels
        return rows

    def write_table(self, path: str | os.PathLike[str], n_segments: int | None = None) -> None:
        """The table as a CSV file."""
        writers.write_csv(path, self.table(n_segments))

    def write_hierarchy(self, path: str | os.PathLike[str]) -> None:
        """The joins from fine to coarse as a CSV file: nodes left and right become `node`, which leaves n_segments."""
        tree = self.hierarchy
        nodes = tree.n + np.arange(len(tree.left))
        columns = {"node": nodes, "left": tree.left, "right": tree.right, "height": tree.height}
        writers.write_csv(path, columns | {"n_segments": 2 * tree.n - 1 - nodes})

    def write_npz(self, path: str | os.PathLike[str], n_segments: int | None = None) -> None:
        """The label volume as `labels` in a compressed npz file, written frame by frame."""
        kind = np.uint16 if self.hierarchy.cut(n_segments).max() <= 0xFFFF else np.uint32
        writers.write_volume(path, self.iter_labels(n_segments), (self.n_frames, *self.frame_size), kind)

    def write_pngs(self, folder: str | os.PathLike[str], n_segments: int | None = None) -> None:
        """One PNG per frame in the size of the source: 16-bit grey levels are the labels.

        With more than 65,536 segments labels are red + 256 green + 65,536 blue instead.
        """
        writers.write_label_pictures(folder, self.iter_labels(n_segments), self.source_size)

    def write_overlay(self, path: str | os.PathLike[str], source: Any, n_segments: int | None = None, *, opacity: float = 0.45) -> None:
        """The clip with its segments coloured and outlined, as .mp4 (or any other video format) or .gif.

        `source` is what was segmented. A segment keeps its colour from first frame to last, and from cut to cut.
        """
        names = np.unique(self.hierarchy.representatives(n_segments))
        writers.write_overlay(path, source, self.iter_labels(n_segments), names, self.rate, opacity)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, whole or not at all."""
        whole, lengths, frames = self.store.packed()
        arrays: Table = {
            "labels": whole,
            "chunk_bytes": lengths,
            "chunk_frames": frames,
            "counts": self.sums.counts,
            "voxels": self.sums.voxels,
            "colours": self.sums.colours,
            "places": self.sums.places,
            "left": self.hierarchy.left,
            "right": self.hierarchy.right,
            "height": self.hierarchy.height,
        }
        content = {
            "frame_size": list(self.frame_size),
            "source_size": list(self.source_size),
            "rate": self.rate,
            "record": self.record,
        }
        write_container(path, _KIND, 1, content, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Segmentation:
        """A segmentation from a file that `save` wrote."""
        stored = read_container(path, _KIND, (1,))
        arrays, content = stored.arrays, stored.content
        with fitting(f"load(path={str(path)!r}): path must name a whole segmentation"):
            rows, columns = (int(side) for side in content["frame_size"])
            store = LabelStore.unpack(arrays["labels"], arrays["chunk_bytes"], arrays["chunk_frames"], rows, columns)
            sums = SegmentSums(arrays["counts"], arrays["voxels"], arrays["colours"], arrays["places"])
            tree = Hierarchy(len(sums.voxels), arrays["left"], arrays["right"], arrays["height"])
            size = (int(content["source_size"][0]), int(content["source_size"][1]))
            found = cls(store, sums, tree, size, float(content["rate"]), dict(content["record"]))
        found._check(str(path))
        return found

    def _check(self, path: str) -> None:
        """Labels and tree must refer to segments that are there."""
        n, joins = self.n_segments, len(self.hierarchy.left)
        children = np.concatenate([self.hierarchy.left, self.hierarchy.right])
        parents = np.tile(n + np.arange(joins), 2)
        tree = joins < n and bool((children >= 0).all() and (children < parents).all())
        tree = tree and len(np.unique(children)) == len(children)
        shapes = self.sums.counts.shape[:1] == self.sums.colours.shape[:1] == self.sums.places.shape[:1] == (n,)
        inside = all(chunk.min() >= 0 and chunk.max() < n for chunk in self.store)
        if not (tree and shapes and inside and n > 0):
            raise FormatError(f"load(path={path!r}): path must name a whole segmentation. Got parts that disagree.")

    def __repr__(self) -> str:
        rows, columns = self.frame_size
        return f"Segmentation({self.n_frames} frames of {columns} x {rows}, {self.n_segments} segments)"
