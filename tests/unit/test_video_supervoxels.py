"""Supervoxels: connected, none too small, counted and touching as their voxels say."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import _core
from hedgerow.apps.video.colour import to_lab
from hedgerow.apps.video.supervoxels import BINS, SupervoxelSettings, find_supervoxels, seam_contacts

skimage = pytest.importorskip("skimage", reason="the twin of supervoxels is that of scikit-image")


def noisy_clip(frames: int = 6, rows: int = 40, columns: int = 50, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    clip = np.full((frames, rows, columns, 3), 60.0)
    clip[:, :, columns // 2 :] = [180, 90, 40]
    clip[:, 10:20, 10:20] = [30, 30, 200]
    return np.clip(clip + rng.normal(0, 12, clip.shape), 0, 255).astype(np.uint8)


def test_colours_agree_with_scikit_image():
    every = np.random.default_rng(0).integers(0, 256, (50, 40, 3)).astype(np.uint8)
    every[0, :3] = [[0, 0, 0], [255, 255, 255], [1, 2, 3]]
    assert np.abs(to_lab(every) - skimage.color.rgb2lab(every)).max() < 1e-3


def plain_slic(lab: np.ndarray, step: int, compactness: float, time_spacing: float, iterations: int) -> np.ndarray:
    """SLIC from a grid of this step in rows and columns and one centre in time, by a loop over centres."""
    shape = lab.shape[:3]
    places = np.stack(np.meshgrid(*(np.arange(k) for k in shape), indexing="ij"), axis=-1).astype(float)
    counts = [len(range(step // 2, side, step)) for side in shape[1:]]
    cells = [np.minimum(np.arange(side) // step, count - 1) for side, count in zip(shape[1:], counts, strict=True)]
    labels = np.broadcast_to(cells[0][:, None] * counts[1] + cells[1], shape).copy()
    reach = (2 * shape[0], 2 * step, 2 * step)
    unit = np.array([time_spacing, 1.0, 1.0]) / max(step, shape[0])
    for _ in range(iterations):
        best = np.full(shape, np.inf)
        means = [(places[labels == k].mean(axis=0), lab[labels == k].mean(axis=0)) for k in range(counts[0] * counts[1])]
        for k, (place, colour) in enumerate(means):
            apart = (((places - place) * unit) ** 2).sum(-1) + (((lab - colour) / compactness) ** 2).sum(-1)
            low = [max(int(at) - r, 0) for at, r in zip(place, reach, strict=True)]
            high = [int(at) + r + 1 for at, r in zip(place, reach, strict=True)]
            low[2], high[2] = low[2] // 8 * 8, -(-high[2] // 8) * 8  # whole blocks
            window = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
            nearer = apart[window] < best[window]
            best[window] = np.where(nearer, apart[window], best[window])
            labels[window] = np.where(nearer, k, labels[window])
    return labels


def test_slic_is_the_one_written_plainly():
    lab = to_lab(noisy_clip(4, 40, 48))
    fast = _core.slic(lab, 60, 9.0, 1.5, 4)  # 4 frames are less than a step: sqrt(40 * 48 / 60) = 5.7, so steps of 6
    plain = plain_slic(lab.astype(float), 6, 9.0, 1.5, 4)
    assert (fast == plain).mean() > 0.995  # ties are broken by rounding


def test_slic_keeps_as_much_of_the_colours_as_the_library_does():
    lab = to_lab(noisy_clip(6, 80, 90))
    theirs = skimage.segmentation.slic(
        lab / np.ptp(lab), 150, 7.0 / np.ptp(lab), 10, convert2lab=False, enforce_connectivity=False, channel_axis=-1, start_label=0
    )
    ours = _core.slic(lab, 150, 7.0, 1.0, 9)

    def left(labels: np.ndarray) -> float:
        flat, sizes = labels.reshape(-1), np.bincount(labels.reshape(-1))
        means = np.stack([np.bincount(flat, lab[..., k].reshape(-1)) / np.maximum(sizes, 1) for k in range(3)], axis=1)
        return float(((lab.reshape(-1, 3) - means[flat]) ** 2).sum())

    assert left(ours) < 1.02 * left(theirs)


def test_connected_pieces_are_those_of_the_library():
    labels = np.random.default_rng(0).integers(0, 3, (5, 17, 23)).astype(np.int32)
    pieces, n = _core.connected_pieces(labels)
    assert n == pieces.max() + 1
    assert np.array_equal(pieces, skimage.measure.label(labels, background=-1, connectivity=1) - 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: _core.slic(np.zeros((0, 2, 2, 3), np.float32), 1, 1.0, 1.0, 1), "hold voxels"),
        (lambda: _core.slic(np.zeros((1, 2, 2, 2), np.float32), 1, 1.0, 1.0, 1), "three colours"),
        (lambda: _core.slic(np.zeros((1, 2, 2, 3), np.float32), 0, 1.0, 1.0, 1), "positive"),
        (lambda: _core.contacts(np.full((1, 2, 2), 5, np.int32), 5), "0 .. n - 1"),
        (lambda: _core.contacts(np.zeros((1, 2, 2), np.int32), 1, np.zeros((1, 2, 3, 3), np.float32)), "three for every voxel"),
    ],
)
def test_the_core_refuses_what_it_cannot_read(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("settings", [SupervoxelSettings(60), SupervoxelSettings(200, 2.0), SupervoxelSettings(30, 40.0)])
def test_every_supervoxel_is_connected_and_none_is_a_crumb(settings):
    found = find_supervoxels(noisy_clip(), settings)
    pieces = skimage.measure.label(found.labels, background=-1, connectivity=1)
    assert pieces.max() == found.n == found.labels.max() + 1
    assert found.sizes.min() >= settings.smallest * found.labels.size / settings.number
    assert found.sizes.sum() == found.labels.size


def test_counts_and_sums_are_those_of_the_voxels():
    clip = noisy_clip()
    found = find_supervoxels(clip, SupervoxelSettings(50))
    assert found.counts.shape == (found.n, BINS)
    lab = to_lab(clip)
    for k in (0, found.n // 2, found.n - 1):
        mine = found.labels == k
        assert found.sizes[k] == mine.sum()
        for channel, span in enumerate(((0, 100), (-60, 60), (-60, 60))):
            expected = np.histogram(np.clip(lab[mine][:, channel], *span), 20, span)[0]
            assert np.array_equal(found.counts[k, 20 * channel : 20 * channel + 20], expected)
        assert np.allclose(found.colour_sums[k], clip[mine].sum(axis=0))
        assert np.allclose(found.place_sums[k], [axis.sum() for axis in np.nonzero(mine)[1:]])


def test_contacts_are_shared_faces_and_what_colours_differ_by_across_them():
    found = find_supervoxels(noisy_clip(4, 12, 14), SupervoxelSettings(12))
    expected, across = np.zeros((found.n, found.n), int), np.zeros((found.n, found.n))
    volume, lab = found.labels, to_lab(noisy_clip(4, 12, 14)).astype(float)
    for axis in range(3):
        a, b = np.moveaxis(volume, axis, 0)[1:], np.moveaxis(volume, axis, 0)[:-1]
        distance = np.sqrt((np.diff(np.moveaxis(lab, axis, 0), axis=0) ** 2).sum(axis=-1))
        for one, other in ((a, b), (b, a)):
            np.add.at(expected, (one, other), 1)
            np.add.at(across, (one, other), distance)
    np.fill_diagonal(expected, 0)
    np.fill_diagonal(across, 0.0)
    assert np.array_equal(found.contacts.toarray(), expected)
    assert np.allclose(found.contrasts.toarray(), across, rtol=1e-4)
    assert np.array_equal(found.contrasts.indices, found.contacts.indices)


def test_surroundings_are_what_touches_twice_over():
    found = find_supervoxels(noisy_clip(4, 12, 14), SupervoxelSettings(12))
    faces = found.contacts.toarray().astype(float)
    step = faces / faces.sum(axis=1, keepdims=True)
    shares = found.counts / found.counts.sum(axis=1, keepdims=True)
    assert np.allclose(found.surroundings, step @ step @ shares * found.counts.sum(axis=1, keepdims=True))
    alone = find_supervoxels(np.zeros((1, 1, 1, 3), np.uint8), SupervoxelSettings(1))
    assert np.array_equal(alone.surroundings, alone.counts)


def test_seam_pairs_and_their_faces():
    before = np.array([[7, 7, 2], [7, 2, 2]])
    after = np.array([[0, 1, 1], [0, 0, 1]])
    dark, light = np.zeros((2, 3, 3), np.float32), np.zeros((2, 3, 3), np.float32)
    light[0, 2] = [3.0, 0.0, 4.0]  # where 2 meets 1
    earlier, later, faces, contrast = seam_contacts(before, after, dark, light)
    assert contrast.tolist() == [0.0, 5.0, 0.0, 0.0]
    assert list(zip(earlier.tolist(), later.tolist(), faces.tolist(), strict=True)) == [
        (2, 0, 1),
        (2, 1, 2),
        (7, 0, 2),
        (7, 1, 1),
    ]


def test_edges_of_colour_are_followed():
    clip = noisy_clip()
    found = find_supervoxels(clip, SupervoxelSettings(60))
    side = np.broadcast_to(np.arange(50) >= 25, found.labels.shape)
    right = np.bincount(found.labels.reshape(-1), side.reshape(-1)) / found.sizes
    wrong = (np.minimum(right, 1 - right) * found.sizes).sum() / found.labels.size
    assert wrong < 0.02


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 7, 5), (3, 2, 2), (10, 1, 30), (2, 33, 17)])
def test_small_and_odd_sizes(shape):
    clip = np.random.default_rng(1).integers(0, 255, (*shape, 3)).astype(np.uint8)
    found = find_supervoxels(clip, SupervoxelSettings(40))
    assert found.labels.shape == shape
    assert found.sizes.sum() == np.prod(shape)
    assert found.contacts.shape == (found.n, found.n)


def test_black_is_one_colour_and_dim_is_cut_like_bright():
    black = find_supervoxels(np.zeros((4, 20, 20, 3), np.uint8), SupervoxelSettings(20))
    assert (black.counts[:, [0, 30, 50]] == black.sizes[:, None]).all()
    # Faint noise on black must not be taken for structure: compactness is in colour units, not in units of contrast.
    dim = np.random.default_rng(0).integers(0, 3, (4, 40, 40, 3)).astype(np.uint8)
    assert find_supervoxels(dim, SupervoxelSettings(20)).n <= 40


def test_the_same_clip_gives_the_same_supervoxels():
    first, second = (find_supervoxels(noisy_clip(), SupervoxelSettings(60)) for _ in range(2))
    assert np.array_equal(first.labels, second.labels)
