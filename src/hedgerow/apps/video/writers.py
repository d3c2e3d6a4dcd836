"""Files out of a segmentation: label volumes, label pictures, tables, and the clip with its segments drawn in."""

from __future__ import annotations

import csv
import io
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.apps.video.frames import Frame, open_frames
from hedgerow.errors import need_extra, require
from hedgerow.writing import check_path, whole_file, whole_path, write_text

__all__ = ["colours_of", "draw_overlay", "enlarge", "write_csv", "write_label_pictures", "write_overlay", "write_volume"]

Labels = npt.NDArray[np.unsignedinteger]


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, npt.NDArray[Any]]) -> None:
    """Columns by name; numbers with decimals to three of them."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        writer.writerow([f"{value:.3f}" if isinstance(value, float) else value for value in row])
    write_text(path, file.getvalue(), "write_csv")


def write_volume(
    path: str | os.PathLike[str], frames: Iterable[Labels], shape: tuple[int, int, int], kind: type[np.unsignedinteger]
) -> None:
    """`labels` in a compressed npz file that `numpy.load` reads, one frame in memory at a time."""
    with (
        whole_file(path, "write_npz") as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive,
        archive.open("labels.npy", "w", force_zip64=True) as member,
    ):
        little = np.dtype(kind).newbyteorder("<")
        header = {"descr": little.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(member, header)
        for labels in frames:
            member.write(np.ascontiguousarray(labels, dtype=little).tobytes())


def write_label_pictures(folder: str | os.PathLike[str], frames: Iterable[Labels], size: tuple[int, int]) -> None:
    """00001.png, 00002.png, ...: grey levels of 16 bits, or 24 bits over red, green, blue for larger labels."""
    place = check_path(folder, "write_pngs", "folder")
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", suffix=".tmp", dir=place) as made:  # all of them, or those of before
        for k, labels in enumerate(frames):
            _write_picture(Path(made) / f"{k + 1:05d}.png", labels, size)
        for picture in sorted(Path(made).iterdir()):
            os.replace(picture, place / picture.name)


def _write_picture(path: Path, labels: Labels, size: tuple[int, int]) -> None:
    pictures = need_extra("PIL.Image", "video")
    full = enlarge(labels, size)
    if full.dtype != np.uint16:
        require(int(full.max()) < 1 << 24, "write_pngs", "n_segments", int(full.max()) + 1, "be at most 2**24")
        full = np.stack([(full >> shift) & 255 for shift in (0, 8, 16)], axis=-1).astype(np.uint8)
    pictures.fromarray(full).save(path)


def write_overlay(
    path: str | os.PathLike[str],
    source: Any,
    frames: Iterable[Labels],
    names: npt.NDArray[np.integer],
    rate: float,
    opacity: float,
) -> None:
    """The clip with labels drawn in; the suffix of `path` says the format."""
    require(0 <= opacity <= 1, "write_overlay", "opacity", opacity, "lie in [0, 1]")
    clip = open_frames(source)
    require(clip.repeatable, "write_overlay", "source", source, "be something that can be read again")
    colours = colours_of(names)
    drawn = (draw_overlay(frame, labels, colours, opacity) for frame, labels in _pairs(clip, frames, source))
    write = _write_gif if Path(path).suffix.lower() == ".gif" else _write_video
    with whole_path(path, "write_overlay") as place:
        write(place, drawn, rate)


def _pairs(clip: Iterable[Frame], frames: Iterable[Labels], source: Any) -> Iterator[tuple[Frame, Labels]]:
    """Frames with their labels, to the end of both."""
    for frame, labels in zip_longest(clip, frames):
        same = frame is not None and labels is not None
        require(same, "write_overlay", "source", source, "have as many frames as were segmented")
        yield frame, labels


def draw_overlay(frame: Frame, labels: Labels, colours: Frame, opacity: float) -> Frame:
    """One frame, tinted by segment, with the edges between segments in white."""
    full = enlarge(labels, frame.shape[:2])
    tint = colours[full].astype(np.float32)
    mixed = np.rint((1 - opacity) * frame + opacity * tint).astype(np.uint8)
    mixed[_edges(full)] = 255
    return mixed


def colours_of(names: npt.NDArray[np.integer]) -> Frame:
    """A colour for every name, the same wherever that name occurs, and far from those of the names next to it.

    Hues advance by the golden angle, which spreads any run of names round the colour circle.
    """
    turn = (names.astype(np.float64) * 0.6180339887498949) % 1.0
    bright = 0.75 + 0.25 * ((names // 2) % 2)
    pure = 0.6 + 0.4 * ((names // 4) % 2)
    corner = np.abs((turn[:, None] * 6.0 + np.array([0.0, 4.0, 2.0])) % 6.0 - 3.0) - 1.0
    channels = bright[:, None] * (1.0 - pure[:, None] * (1.0 - np.clip(corner, 0.0, 1.0)))
    return np.asarray(np.rint(255 * channels), dtype=np.uint8)


def enlarge(labels: Labels, size: tuple[int, int]) -> Labels:
    """Labels in another size, each pixel from the nearest."""
    if labels.shape == size:
        return labels
    rows, columns = ((np.arange(new) * 2 + 1) * old // (2 * new) for new, old in zip(size, labels.shape, strict=True))
    return np.asarray(labels[rows[:, None], columns[None, :]])


def _edges(labels: Labels) -> npt.NDArray[np.bool_]:
    """One side of every edge, so that lines are a pixel wide."""
    edge = np.zeros(labels.shape, dtype=bool)
    edge[:-1] |= labels[:-1] != labels[1:]
    edge[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    return edge


def _write_video(path: str | os.PathLike[str], frames: Iterator[Frame], rate: float) -> None:
    """H.264, or the usual codec of another container. Sides are made even, as the pixel format wants, by one more line."""
    av = need_extra("av", "video")
    try:
        container = av.open(os.fspath(path), "w")
    except (ValueError, av.error.FFmpegError) as error:
        require(False, "write_overlay", "path", Path(path).suffix, f"end in a video format or .gif ({error})")
    with container:
        codec = "libx264" if container.format.name in ("mp4", "mov", "matroska") else container.default_video_codec
        stream = None
        for frame in frames:
            even = np.pad(frame, ((0, frame.shape[0] % 2), (0, frame.shape[1] % 2), (0, 0)), mode="edge")
            if stream is None:
                stream = container.add_stream(codec, rate=Fraction(rate).limit_denominator(1001))
                stream.height, stream.width = even.shape[:2]
                stream.pix_fmt = "yuv420p"
            for packet in stream.encode(av.VideoFrame.from_ndarray(even, format="rgb24")):
                container.mux(packet)
        assert stream is not None
        for packet in stream.encode():
            container.mux(packet)


def _write_gif(path: str | os.PathLike[str], frames: Iterator[Frame], rate: float) -> None:
    pictures = need_extra("PIL.Image", "video")
    made = (pictures.fromarray(frame).quantize(256, pictures.Quantize.FASTOCTREE) for frame in frames)
    first = next(made)
    first.save(path, save_all=True, append_images=made, duration=max(20, round(1000 / rate)), loop=0, disposal=1)
