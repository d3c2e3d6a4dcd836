"""Label volumes of any length: chunks kept compressed, in a temporary file once they outgrow a little memory."""

from __future__ import annotations

import tempfile
import weakref
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hedgerow.errors import require

__all__ = ["LabelStore"]

Labels = npt.NDArray[np.int32]

#: Kept in memory up to this size; neighbouring labels are alike, so that is thousands of small frames.
_IN_MEMORY = 32 << 20


class LabelStore:
    """Chunks of int32 labels (frames, rows, columns), appended in order and read as often as wanted."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115, it lives as long as the store
        weakref.finalize(self, self._file.close)
        self._lengths: list[int] = []
        self._frames: list[int] = []

    @property
    def n_frames(self) -> int:
        """Frames so far."""
        return sum(self._frames)

    def append(self, labels: npt.NDArray[np.integer]) -> None:
        """Add a chunk."""
        good = labels.ndim == 3 and labels.shape[1:] == (self.rows, self.columns)
        require(good, "LabelStore", "labels", labels, f"have shape (frames, {self.rows}, {self.columns})")
        packed = zlib.compress(np.ascontiguousarray(labels, dtype="<i4").tobytes(), 1)
        self._file.seek(0, 2)
        self._file.write(packed)
        self._lengths.append(len(packed))
        self._frames.append(len(labels))

    def __iter__(self) -> Iterator[Labels]:
        """The chunks in order."""
        at = 0
        for length, frames in zip(self._lengths, self._frames, strict=True):
            self._file.seek(at)
            plain = zlib.decompress(self._file.read(length))
            at += length
            yield np.frombuffer(plain, dtype="<i4").reshape(frames, self.rows, self.columns)

    def packed(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """All compressed bytes, and the bytes and frames of every chunk: what `unpack` takes."""
        self._file.seek(0)
        whole = np.frombuffer(self._file.read(), dtype=np.uint8)
        return whole, np.array(self._lengths, dtype=np.int64), np.array(self._frames, dtype=np.int64)

    @classmethod
    def unpack(
        cls,
        whole: npt.NDArray[np.uint8],
        lengths: npt.NDArray[np.int64],
        frames: npt.NDArray[np.int64],
        rows: int,
        columns: int,
    ) -> LabelStore:
        """A store from what `packed` gave; every chunk is decompressed once to see that it is whole."""
        store = cls(rows, columns)
        good = len(lengths) == len(frames) and int(lengths.sum()) == len(whole) and (lengths > 0).all()
        require(bool(good), "LabelStore", "lengths", lengths, "describe the packed bytes")
        store._file.write(whole.tobytes())
        store._lengths, store._frames = lengths.tolist(), frames.tolist()
        at = 0
        for length, count in zip(store._lengths, store._frames, strict=True):
            expected = 4 * count * rows * columns
            opener = zlib.decompressobj()
            plain = opener.decompress(whole[at : at + length].tobytes(), expected + 1)
            require(len(plain) == expected, "LabelStore", "whole", whole, f"hold {count} frames per chunk as declared")
            at += length
        return store
