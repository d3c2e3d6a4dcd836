"""How good a video segmentation is: the eight measures of LIBSVX (Xu & Corso, CVPR 2012).

A segmentation s and a ground truth g are label volumes of shape (frames, rows, columns). |.| counts voxels;
void voxels of the truth belong to no true segment.

    3-D accuracy                  per g: sum of |s and g| over the s with |s and g| >= |s|/2, over |g|
    3-D undersegmentation error   per g: (sum of |s| over the s that meet g - |g|) / |g|
    2-D versions                  the same on single frames, averaged over the frames where g occurs
    2-D boundary recall           |B(g) and B(s)| / |B(g)| in a frame, no tolerance, averaged over frames
    3-D boundary recall           the same ratio once for the volume, with neighbours before and after in time
    explained variation           sum_s |s| ||mean_s - mean||^2 / sum_p ||x_p - mean||^2 over RGB 0..255
    mean duration                 number of frames in which s occurs, averaged over s

Means over g give each true segment the same weight. A voxel belongs to the boundary B if it is not void and a
4-neighbour in its frame (6-neighbour in the volume) has another label.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.errors import require

__all__ = ["VideoScores", "boundary_map", "curve", "evaluate", "explained_variation", "mean_duration"]

Ints = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

OWNER = "evaluate"


@dataclass(frozen=True)
class VideoScores:
    """LIBSVX's measures of one segmentation; `explained_variation` is nan when no frames were given."""

    n_segments: int
    accuracy_2d: float
    accuracy_3d: float
    undersegmentation_2d: float
    undersegmentation_3d: float
    boundary_recall_2d: float
    boundary_recall_3d: float
    explained_variation: float
    mean_duration: float

    def as_dict(self) -> dict[str, float]:
        """The measures by name."""
        return asdict(self)


def evaluate(
    segments: npt.ArrayLike,
    truth: npt.ArrayLike,
    frames: npt.ArrayLike | None = None,
    *,
    void: int | None = 0,
) -> VideoScores:
    """All measures of a segmentation against a ground truth.

    Parameters
    ----------
    segments : integers (frames, rows, columns)
        The segmentation. Any integers; no label of it is void.
    truth : integers of the same shape
        The ground truth.
    frames : numbers (frames, rows, columns, channels), optional
        The video, for the explained variation.
    void : int or None, default 0
        The label of the truth that is nobody's; None if there is none.

    >>> import numpy as np
    >>> halves = np.repeat([[[1, 1, 2, 2]]], 3, axis=0)
    >>> scores = evaluate(halves, halves)
    >>> scores.accuracy_3d, scores.undersegmentation_3d, scores.mean_duration
    (1.0, 0.0, 3.0)
    """
    compact, n_segments = _compact(_as_volume("segments", segments))
    true = _as_volume("truth", truth)
    same = compact.shape == true.shape
    require(same, OWNER, "truth", true, f"have the shape of segments, {compact.shape}")
    real, n_true = _true_segments(true, void)
    require(n_true > 0, OWNER, "truth", true, "hold at least one voxel that is not void")

    overlaps = _overlaps(compact, real)
    accuracy_2d, under_2d = _framewise(overlaps, n_true)
    accuracy_3d, under_3d = _volumewise(overlaps, n_segments, n_true)
    recall_2d, recall_3d = _boundary_recalls(compact, real)
    variation = float("nan") if frames is None else explained_variation(compact, frames)
    return VideoScores(
        n_segments,
        accuracy_2d,
        accuracy_3d,
        under_2d,
        under_3d,
        recall_2d,
        recall_3d,
        variation,
        mean_duration(compact),
    )


def explained_variation(segments: npt.ArrayLike, frames: npt.ArrayLike) -> float:
    """The share of the colours' variance that lies between segments; 1 for a video of one colour."""
    compact, n_segments = _compact(_as_volume("segments", segments))
    video = np.asarray(frames)
    good = video.ndim in (3, 4) and video.shape[:3] == compact.shape
    require(good, OWNER, "frames", video, f"have shape {compact.shape} or that and a last axis of channels")
    channels = video.shape[3] if video.ndim == 4 else 1
    sizes = np.zeros(n_segments)
    sums, squares = np.zeros((n_segments, channels)), 0.0
    for labels, frame in zip(compact, video, strict=True):
        flat = labels.reshape(-1)
        pixels = frame.reshape(len(flat), channels).astype(np.float64)
        sizes += np.bincount(flat, minlength=n_segments)
        for k in range(channels):
            sums[:, k] += np.bincount(flat, weights=pixels[:, k], minlength=n_segments)
        squares += float(np.einsum("ij,ij->", pixels, pixels))
    mean = sums.sum(axis=0) / sizes.sum()
    total = squares - sizes.sum() * float(mean @ mean)
    between = float((sizes * ((sums / sizes[:, None] - mean) ** 2).sum(axis=1)).sum())
    # Rounding leaves a hair of variance in a video of one colour.
    return between / total if total > 1e-12 * max(squares, 1.0) else 1.0


def mean_duration(segments: npt.ArrayLike) -> float:
    """The number of frames in which a segment occurs, averaged over the segments."""
    compact, n_segments = _compact(_as_volume("segments", segments))
    lives = np.zeros(n_segments, dtype=np.int64)
    for labels in compact:
        lives += np.bincount(labels.reshape(-1), minlength=n_segments) > 0
    return float(lives.mean())


def boundary_map(labels: npt.ArrayLike, *, void: int | None = None, in_time: bool = False) -> Bools:
    """Which pixels of one frame, or voxels of a volume, have a neighbour of another label and are not void.

    A frame (rows, columns) or a volume (frames, rows, columns); neighbours in time count if `in_time`.
    """
    volume = np.asarray(labels)
    require(volume.ndim in (2, 3), "boundary_map", "labels", volume, "be one frame or a volume of frames")
    axes = [volume.ndim - 2, volume.ndim - 1] + ([0] if in_time and volume.ndim == 3 else [])
    edge = np.zeros(volume.shape, dtype=bool)
    for axis in axes:
        ahead = tuple(slice(1, None) if k == axis else slice(None) for k in range(volume.ndim))
        behind = tuple(slice(None, -1) if k == axis else slice(None) for k in range(volume.ndim))
        differs = volume[ahead] != volume[behind]
        edge[ahead] |= differs
        edge[behind] |= differs
    if void is not None:
        edge &= volume != void
    return edge


def curve(n_segments: npt.ArrayLike, values: npt.ArrayLike, at: npt.ArrayLike) -> Floats:
    """A measure of one clip at given numbers of segments, by linear interpolation between runs (as LIBSVX does).

    Numbers outside the range of the runs are refused: there is nothing to say about them.
    """
    runs, heights, wanted = np.asarray(n_segments), np.asarray(values, dtype=float), np.asarray(at)
    order = np.argsort(runs, kind="stable")
    within = bool(runs.min() <= wanted.min() and wanted.max() <= runs.max())
    require(within, "curve", "at", at, f"lie between the fewest and the most segments, {runs.min()} and {runs.max()}")
    return np.asarray(np.interp(wanted, runs[order], heights[order]), dtype=np.float64)


def _as_volume(name: str, labels: npt.ArrayLike) -> Ints:
    volume = np.asarray(labels)
    whole = volume.dtype.kind in "iu" and volume.ndim == 3 and volume.size > 0
    require(whole, OWNER, name, volume, "be integers of shape (frames, rows, columns), not empty")
    return volume


def _compact(volume: Ints) -> tuple[npt.NDArray[np.int64], int]:
    """The same partition with labels 0..K-1, and K. A table look-up where the labels allow, else a sort."""
    low, high = int(volume.min()), int(volume.max())
    if high - low <= 4 * volume.size + 1024:
        shifted = volume.astype(np.int64) - low
        present = np.zeros(high - low + 1, dtype=bool)
        present[shifted.reshape(-1)] = True
        numbers = np.cumsum(present) - 1
        return np.asarray(numbers[shifted], dtype=np.int64), int(present.sum())
    values, inverse = np.unique(volume, return_inverse=True)
    return inverse.reshape(volume.shape).astype(np.int64), len(values)


def _true_segments(true: Ints, void: int | None) -> tuple[npt.NDArray[np.int64], int]:
    """The truth with labels 1..G and 0 for void, and G."""
    values, inverse = np.unique(true, return_inverse=True)
    numbers = np.arange(1, len(values) + 1)
    if void is not None and void in values:
        at = int(np.searchsorted(values, void))
        numbers[at] = 0
        numbers[at + 1 :] -= 1
    return numbers[inverse].reshape(true.shape).astype(np.int64), int(numbers.max())


@dataclass(frozen=True)
class _Overlaps:
    """|s and g| in each frame, for the pairs that meet: parallel arrays, plus |s| in that frame."""

    frame: Ints
    segment: Ints
    true: Ints
    common: Ints
    segment_size: Ints


def _overlaps(segments: Ints, real: Ints) -> _Overlaps:
    """Every frame's table of common sizes, void included as true segment 0."""
    width = int(real.max()) + 1
    pieces = []
    for t, (s, g) in enumerate(zip(segments, real, strict=True)):
        keys, common = np.unique(s.reshape(-1) * width + g.reshape(-1), return_counts=True)
        segment, true = np.divmod(keys, width)
        _, inverse = np.unique(segment, return_inverse=True)
        size = np.bincount(inverse, weights=common).astype(np.int64)[inverse]
        pieces.append(np.stack([np.full(len(keys), t), segment, true, common, size]))
    table = np.concatenate(pieces, axis=1)
    return _Overlaps(*table)


def _framewise(table: _Overlaps, n_true: int) -> tuple[float, float]:
    """2-D accuracy and undersegmentation error: per (frame, true segment), then over frames, then over g."""
    n_frames = int(table.frame[-1]) + 1
    shape = (n_frames, n_true + 1)
    cell = table.frame * (n_true + 1) + table.true
    size = np.bincount(cell, table.common, minlength=shape[0] * shape[1]).reshape(shape)[:, 1:]
    good = np.where(2 * table.common >= table.segment_size, table.common, 0)
    inside = np.bincount(cell, good, minlength=shape[0] * shape[1]).reshape(shape)[:, 1:]
    touched = np.bincount(cell, table.segment_size, minlength=shape[0] * shape[1]).reshape(shape)[:, 1:]
    occurs = size > 0
    divisor = np.where(occurs, size, 1)
    accuracy = (inside / divisor).sum(axis=0) / occurs.sum(axis=0)
    under = (np.where(occurs, touched - size, 0) / divisor).sum(axis=0) / occurs.sum(axis=0)
    return float(accuracy.mean()), float(under.mean())


def _volumewise(table: _Overlaps, n_segments: int, n_true: int) -> tuple[float, float]:
    """3-D accuracy and undersegmentation error."""
    pairs, inverse = np.unique(table.segment * (n_true + 1) + table.true, return_inverse=True)
    common = np.bincount(inverse, table.common)
    segment, true = np.divmod(pairs, n_true + 1)
    sizes = np.bincount(table.segment, table.common, minlength=n_segments)[segment]
    size = np.bincount(true, common, minlength=n_true + 1)[1:]
    inside = np.bincount(true, np.where(2 * common >= sizes, common, 0), minlength=n_true + 1)[1:]
    touched = np.bincount(true, sizes, minlength=n_true + 1)[1:]
    return float((inside / size).mean()), float(((touched - size) / size).mean())


def _boundary_recalls(segments: Ints, real: Ints) -> tuple[float, float]:
    """2-D and 3-D recall; frames without a true boundary are left out, nan if there is none at all."""
    flat_true, flat_ours = boundary_map(real, void=0), boundary_map(segments)
    wanted = flat_true.sum(axis=(1, 2))
    found = (flat_true & flat_ours).sum(axis=(1, 2))
    has = wanted > 0
    recall_2d = float((found[has] / wanted[has]).mean()) if has.any() else float("nan")
    deep_true = boundary_map(real, void=0, in_time=True)
    deep_ours = boundary_map(segments, in_time=True)
    total = int(deep_true.sum())
    recall_3d = float((deep_true & deep_ours).sum() / total) if total else float("nan")
    return recall_2d, recall_3d
