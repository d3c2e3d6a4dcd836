"""Frames of a video, one at a time: from a video file, a folder or zip file of pictures, or an array.

Whatever comes in, RGB frames of 8 bits and one size come out. Nothing but the frame at hand is kept, so a clip may
be of any length. What cannot be read is refused with the name of the file and, where there is one, of the frame.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ParameterError, in_bytes, need_extra, require

__all__ = ["Frames", "in_chunks", "open_frames", "shrink"]

Frame = npt.NDArray[np.uint8]

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm"})
_USUAL_RATE = 25.0
_LARGEST_PICTURE = 256 << 20  # bytes of a file in an archive: eight times a frame of 8K without compression


@dataclass(frozen=True)
class Frames:
    """A source of RGB frames (rows, columns, 3) of type uint8; iterating reads it from the start."""

    name: str
    rate: float
    """Frames per second; 25 where the source does not say."""
    count: int | None
    """How many to expect, None where the source does not say. Containers may be off by a few."""
    read: Callable[[], Iterator[Any]]
    repeatable: bool = True
    """Whether it can be read twice."""

    def __iter__(self) -> Iterator[Frame]:
        """The frames in order, checked and made RGB."""
        size: tuple[int, ...] | None = None
        k = -1
        for k, raw in enumerate(self.read()):
            frame = as_rgb(raw, self.name, k)
            if size is not None and frame.shape != size:
                wanted = f"{size[1]} x {size[0]}"
                raise _broken(self.name, f"frame {k} is {frame.shape[1]} x {frame.shape[0]}, those before {wanted}")
            size = frame.shape
            yield frame
        if k < 0:
            raise _broken(self.name, "it holds no frame")


def open_frames(source: Any) -> Frames:
    """The frames of a source.

    Parameters
    ----------
    source : path, array or iterable
        A video file (whatever PyAV can decode), a folder or a .zip file of pictures (in the order of the numbers in
        their names), an array (frames, rows, columns[, channels]), or anything that yields frames.
    """
    if isinstance(source, Frames):
        return source
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source))
    if isinstance(source, np.ndarray):
        good = source.ndim in (3, 4) and len(source) > 0
        require(good, "segment", "source", source, "be frames of shape (frames, rows, columns[, channels])")
        return Frames("array", _USUAL_RATE, len(source), lambda: iter(source))
    good = isinstance(source, Iterable) and not isinstance(source, bytes | dict)
    require(good, "segment", "source", source, "be a path, an array of frames or an iterable of frames")
    count = len(source) if hasattr(source, "__len__") else None
    return Frames("frames", _USUAL_RATE, count, lambda: iter(source), repeatable=not isinstance(source, Iterator))


def in_chunks(frames: Iterable[Frame], length: int) -> Iterator[Frame]:
    """Stacks of `length` frames; the last one takes a rest shorter than half a chunk, so that it can hold a motion."""
    waiting: list[Frame] = []
    for frame in frames:
        waiting.append(frame)
        if len(waiting) == length + (length + 1) // 2:
            yield np.stack(waiting[:length])
            del waiting[:length]
    if len(waiting) >= length + (length + 1) // 2:
        yield np.stack(waiting[:length])
        del waiting[:length]
    if waiting:
        yield np.stack(waiting)


def shrink(frame: Frame, longest: int | None) -> Frame:
    """The frame with its longer side reduced to `longest` pixels by averaging; smaller frames stay as they are."""
    rows, columns = frame.shape[:2]
    if longest is None or max(rows, columns) <= longest:
        return frame
    scale = longest / max(rows, columns)
    size = (max(1, round(rows * scale)), max(1, round(columns * scale)))
    picture = need_extra("PIL.Image", "video").fromarray(frame)
    box = need_extra("PIL.Image", "video").Resampling.BOX
    return np.asarray(picture.resize((size[1], size[0]), box), dtype=np.uint8)


def as_rgb(raw: Any, name: str, k: int) -> Frame:
    """One frame as 8-bit RGB: grey is repeated, what is transparent is laid over black, 16 bits are rounded to 8."""
    frame = np.asarray(raw)
    if frame.ndim == 2:
        frame = frame[..., None]
    if frame.ndim != 3 or frame.shape[2] not in (1, 2, 3, 4) or 0 in frame.shape:
        raise _broken(name, f"frame {k} has shape {frame.shape}, which is no picture")
    frame = _as_bytes(frame, name, k)
    channels = frame.shape[2]
    if channels in (2, 4):
        opacity = frame[..., -1:].astype(np.uint16)
        frame = ((frame[..., :-1] * opacity + 127) // 255).astype(np.uint8)
    return np.ascontiguousarray(np.broadcast_to(frame, (*frame.shape[:2], 3)))


def _as_bytes(frame: npt.NDArray[Any], name: str, k: int) -> Frame:
    if frame.dtype == np.uint8:
        return frame
    if frame.dtype == np.bool_:
        return frame.astype(np.uint8) * np.uint8(255)
    if frame.dtype == np.uint16:
        return ((frame.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
    whole = frame.dtype.kind in "iu" and frame.min() >= 0 and frame.max() <= 255
    if whole:
        return frame.astype(np.uint8)
    raise _broken(name, f"frame {k} has values of type {frame.dtype}, not 8 or 16 bits per channel")


def _open_path(path: Path) -> Frames:
    require(path.exists(), "segment", "source", str(path), "name a file or folder that exists")
    if path.is_dir():
        pictures = {entry.name: entry for entry in path.iterdir() if entry.suffix.lower() in PICTURES}
        return _pictures(str(path), pictures, lambda key: pictures[key].read_bytes())
    if path.suffix.lower() == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if Path(name).suffix.lower() in PICTURES]
        except zipfile.BadZipFile as error:
            raise _broken(str(path), f"it is no zip file ({error})") from error
        return _pictures(str(path), dict.fromkeys(names), lambda key: _unzip(path, key))
    return _video(path)


def _unzip(path: Path, name: str) -> bytes:
    """One picture of an archive, up to what a picture may take."""
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        content = file.read(_LARGEST_PICTURE + 1)
    if len(content) > _LARGEST_PICTURE:
        raise ValueError(f"more than {in_bytes(_LARGEST_PICTURE)} unpacked")
    return content


def _pictures(name: str, entries: dict[str, Any], load: Callable[[str], bytes]) -> Frames:
    """Pictures in the order of the numbers in their names (frame2 before frame10)."""
    require(len(entries) > 0, "segment", "source", name, f"hold pictures ({', '.join(sorted(PICTURES))})")
    order = sorted(entries, key=_natural)

    def read() -> Iterator[Any]:
        reader = need_extra("imageio.v3", "video")
        need_extra("PIL.Image", "video")
        for entry in order:
            try:
                yield reader.imread(io.BytesIO(load(entry)), plugin="pillow", index=0)
            except MemoryError:
                raise
            except Exception as error:  # passwords, methods nobody has, bombs: zipfile and Pillow have an exception for each
                raise _broken(name, f"{_short(entry)} cannot be read ({error})") from error

    return Frames(name, _USUAL_RATE, len(order), read)


def _natural(name: str) -> tuple[Any, ...]:
    """Digits as numbers, of any length; the name itself settles ties."""
    digits = [part.lstrip("0") if i % 2 else part for i, part in enumerate(re.split(r"([0-9]+)", name))]
    return (*((len(part), part) if i % 2 else (-1, part) for i, part in enumerate(digits)), (0, name))


def _short(entry: str) -> str:
    return entry if len(entry) <= 60 else f"{entry[:40]}...{entry[-17:]}"


def _video(path: Path) -> Frames:
    """A video file through PyAV, its rate and length from the container."""
    name = str(path)
    reader, av = need_extra("imageio.v3", "video"), need_extra("av", "video")
    require(path.stat().st_size > 0, "segment", "source", name, "not be an empty file")
    try:
        with av.open(name) as container:
            stream = container.streams.video[0]
            promised = int(stream.frames)
            rate = float(stream.average_rate or 0.0) or _USUAL_RATE
            seconds = float(container.duration or 0) / av.time_base
    except (OSError, ValueError, IndexError, av.error.FFmpegError) as error:
        raise _broken(name, f"it is no video that PyAV can open ({error})") from error

    def read() -> Iterator[Any]:
        k = 0
        try:
            for frame in reader.imiter(path, plugin="pyav"):
                yield frame
                k += 1
        except (OSError, ValueError, IndexError, av.error.FFmpegError) as error:
            raise _broken(name, f"it cannot be decoded beyond frame {k} ({error})") from error
        # Decoders end quietly where data are missing. A few frames more or less are the container's way of counting.
        if k < 0.9 * promised:
            raise _broken(name, f"it ends after {k} of the {promised} frames it should have")

    return Frames(name, rate, promised or round(seconds * rate) or None, read)


def _broken(name: str, reason: str) -> ParameterError:
    return ParameterError(f"segment(source={name!r}): source must be a video that can be read to its end; {reason}.")
