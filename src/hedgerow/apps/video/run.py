"""segment(): a clip in, its segments out, one chunk in memory at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from hedgerow.apps.video.frames import Frame, in_chunks, open_frames, shrink
from hedgerow.apps.video.joining import JoinSettings
from hedgerow.apps.video.progress import ChunkUpdate
from hedgerow.apps.video.result import Segmentation
from hedgerow.apps.video.segmenter import Segmenter
from hedgerow.apps.video.store import LabelStore
from hedgerow.apps.video.supervoxels import SupervoxelSettings, find_supervoxels
from hedgerow.arguments import check_seed, check_whole
from hedgerow.errors import require
from hedgerow.likelihoods import Multinomial
from hedgerow.mixture import Mixture
from hedgerow.priors import NGG, MixedNRM, Prior
from hedgerow.sampling.progress import open_steps

__all__ = ["default_prior", "segment"]

OWNER = "segment"
USUAL_JOINS = JoinSettings()


def default_prior() -> MixedNRM:
    """The prior of AISTATS 2014: an NGG measure at every chunk, shared with its neighbours."""
    return MixedNRM(NGG(alpha=1.0, sigma=0.3, tau=1e-3), decay=0.2)


def segment(
    source: Any,
    *,
    beta: float = 0.5,
    prior: Prior | None = None,
    chunk: int = 10,
    supervoxels: SupervoxelSettings | None = None,
    joins: JoinSettings | None = USUAL_JOINS,
    longest_side: int | None = 320,
    seed: int = 0,
    progress: bool | None = None,
    callbacks: Iterable[Callable[[ChunkUpdate], object]] = (),
) -> Segmentation:
    """Divide a clip into segments that keep their identity through time.

    Works online: a chunk of frames is divided into supervoxels, these are clustered by colour together with the segments
    that reach the chunk, and what a frame was given is never taken back. See `hedgerow.apps.video.segmenter`.

    Parameters
    ----------
    source : path, array or iterable of frames
        A video file, a folder or zip file of pictures, an array (frames, rows, columns[, channels]), or frames.
    beta : number above 0
        The Dirichlet parameter of the colour histograms: larger values give fewer segments. The result's hierarchy goes
        on to any coarser division, so choose beta for the finest one wanted.
    prior : Prior, optional
        `MixedNRM` over chunks by default; any other prior sees no time.
    chunk : int
        Frames per chunk.
    supervoxels : SupervoxelSettings, optional
        How finely a chunk is divided before clustering.
    joins : JoinSettings or None
        What counts besides a segment's own colours when the hierarchy joins segments. None: nothing, they are joined by
        Bayesian hierarchical clustering with the model that found them.
    longest_side : int or None
        Larger frames are reduced to this many pixels, and outlines are drawn back in full size. None keeps every pixel.
    seed : int
        Decides every random choice: the same seed gives the same segments.
    progress : bool, optional
        A bar with the time left, on the error stream. By default if that is a terminal.
    callbacks : callables
        Called with a `ChunkUpdate` after every chunk.

    >>> import numpy as np
    >>> clip = np.zeros((12, 40, 60, 3), np.uint8)
    >>> clip[:, :, 30:] = [250, 80, 20]
    >>> segment(clip, progress=False).labels(2)[11, 20, [0, 29, 30, 59]].tolist()
    [0, 0, 1, 1]
    """
    check_whole(OWNER, "chunk", chunk)
    check_seed(OWNER, seed, none=False)
    check_whole(OWNER, "longest_side", longest_side, 8, none=True)
    require(joins is None or isinstance(joins, JoinSettings), OWNER, "joins", joins, "be JoinSettings or None")
    settings = supervoxels if supervoxels is not None else SupervoxelSettings()
    require(isinstance(settings, SupervoxelSettings), OWNER, "supervoxels", settings, "be SupervoxelSettings")
    model = Mixture(default_prior() if prior is None else prior, Multinomial(beta))
    listeners = tuple(callbacks)
    frames = open_frames(source)
    sizes: list[tuple[int, int]] = []
    segmenter = Segmenter(model, int(seed))
    clock = _Clock()
    store: LabelStore | None = None
    with open_steps(progress, frames.count) as bars:
        for pictures in clock.reading(in_chunks(_shrunk(frames, longest_side, sizes), int(chunk))):
            with clock.step("supervoxels"):
                pieces = find_supervoxels(pictures, settings)
            clock.move("supervoxels", "slic", pieces.slic_seconds)
            with clock.step("clustering"):
                labels = segmenter.push(pieces)
            if store is None:
                store = LabelStore(*labels.shape[1:])
            store.append(labels)
            update = ChunkUpdate(store.n_frames, frames.count, segmenter.n_segments, clock.elapsed)
            bars.move(update.frames, update.total, f"frames, {update.news}")
            for listener in listeners:
                listener(update)
    assert store is not None, "a source without frames is refused when it is read"
    with clock.step("hierarchy"):
        hierarchy = segmenter.hierarchy(joins)
    record = {
        "source": frames.name,
        "beta": float(beta),
        "chunk": int(chunk),
        "seed": int(seed),
        "supervoxels": asdict(settings),
        "joins": None if joins is None else asdict(joins),
        "seconds": clock.seconds,
    }
    return Segmentation(store, segmenter.sums, hierarchy, sizes[0], frames.rate, record)


def _shrunk(frames: Iterable[Frame], longest: int | None, sizes: list[tuple[int, int]]) -> Iterator[Frame]:
    """Frames in working size; the first one's full size goes to `sizes`."""
    for frame in frames:
        if not sizes:
            sizes.append((frame.shape[0], frame.shape[1]))
        yield shrink(frame, longest)


class _Clock:
    """Where the time went, in seconds by step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    def move(self, name: str, to: str, seconds: float) -> None:
        """Part of one step's time counts as another's."""
        self.seconds[name] -= seconds
        self.seconds[to] = self.seconds.get(to, 0.0) + seconds

    def step(self, name: str) -> _Step:
        return _Step(self, name)

    def reading(self, chunks: Iterator[Frame]) -> Iterator[Frame]:
        """Pass the chunks on, counting the time it takes to get them."""
        while True:
            with self.step("reading"):
                chunk = next(chunks, None)
            if chunk is None:
                return
            yield chunk


class _Step:
    def __init__(self, clock: _Clock, name: str) -> None:
        self._clock, self._name = clock, name

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        spent = time.perf_counter() - self._start
        self._clock.seconds[self._name] = self._clock.seconds.get(self._name, 0.0) + spent
