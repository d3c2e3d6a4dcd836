"""Video: frames per second of every step at 160 x 240, and memory over a clip of 3,000 frames.

    python -m benchmarks video [frames]

The clip is made up: a textured background that drifts, and discs that move, grow and vanish. Speed is measured from a file, so
that decoding counts; for memory the frames are made as it goes and nothing is kept, so what memory grows by is the segmenter's.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from hedgerow.apps.video import ChunkUpdate, segment
from hedgerow.errors import need_extra

ROWS, COLUMNS = 160, 240
WANTED = 25.0
LIMIT_MB = 1024


def clip(frames: int, seed: int = 0) -> Iterator[np.ndarray]:
    """Frames, one at a time."""
    rng = np.random.default_rng(seed)
    texture = np.repeat(np.repeat(rng.integers(40, 200, (40, 80, 3)), 8, axis=0), 8, axis=1).astype(np.float32)
    row, column = np.mgrid[:ROWS, :COLUMNS]
    discs = rng.uniform(0, 1, (12, 7))
    for t in range(frames):
        shift = (t // 3) % 320
        frame = np.roll(texture, -shift, axis=1)[:ROWS, :COLUMNS].copy()
        for x, y, dx, dy, size, hue, pace in discs:
            centre = ((x + 0.004 * t * (dx - 0.5)) % 1 * COLUMNS, (y + 0.004 * t * (dy - 0.5)) % 1 * ROWS)
            radius = 22 * size * abs(np.sin(0.01 + 0.03 * t * pace)) + 2
            inside = (column - centre[0]) ** 2 + (row - centre[1]) ** 2 < radius**2
            frame[inside] = [255 * hue, 255 * (1 - hue), 120]
        yield np.clip(frame + rng.normal(0, 4, frame.shape), 0, 255).astype(np.uint8)


def write_clip(path: Path, frames: int) -> None:
    """The clip as a file, so that decoding counts."""
    av = need_extra("av", "video")
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(25))
        stream.height, stream.width, stream.pix_fmt = ROWS, COLUMNS, "yuv420p"
        for frame in clip(frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())


def speed(frames: int = 200) -> None:
    """Frames per second from a file to labels and hierarchy, step by step."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        write_clip(path, frames)
        before = time.process_time()
        found = segment(path, progress=False)
        processor = time.process_time() - before
    seconds = found.record["seconds"]
    total = sum(seconds.values())
    print(f"{found}, from a file")
    for name, spent in seconds.items():
        print(f"  {name:12s} {spent:8.2f} s  {frames / spent:8.1f} frames/s")
    print(f"  all of it: {frames / total:.1f} frames/s (wanted {WANTED}), {frames / processor:.1f} a second of one processor; ", end="")
    print(f"SLIC's share {seconds['slic'] / total:.0%}", flush=True)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(frames: int = 3000) -> None:
    """Peak memory as the clip goes on."""

    def note(update: ChunkUpdate) -> None:
        if update.frames % 500 == 0:
            sofar = f"{update.frames:5d} frames  {update.n_segments:6d} segments  {update.rate:5.1f} frames/s"
            print(f"  {sofar}  peak {peak_mb():.0f} MB", flush=True)

    before = peak_mb()
    clock = time.perf_counter()
    found = segment(clip(frames), progress=False, callbacks=[note])
    total = time.perf_counter() - clock
    seconds = found.record["seconds"]
    # Making up the frames is the benchmark's own work, done inside "reading".
    ours = sum(seconds.values()) - seconds["reading"]
    print(f"{found}: {total:.1f} s, peak {peak_mb():.0f} MB (limit {LIMIT_MB}), {before:.0f} MB before it began")
    print(f"  all but the making of frames: {frames / ours:.1f} frames/s")
    print(f"  stored labels: {len(found.store.packed()[0]) / frames:.0f} bytes a frame")


def main(frames: int = 3000) -> None:
    """Speed on a short clip from a file, then memory on a long one."""
    speed()
    memory(frames)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
