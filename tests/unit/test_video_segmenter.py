"""The online segmenter: identities last, nothing said is taken back, only what touches is joined."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from hedgerow.apps.video.hierarchy import Hierarchy, from_tree, join_segments
from hedgerow.apps.video.joining import JoinSettings
from hedgerow.apps.video.metrics import evaluate
from hedgerow.apps.video.run import default_prior, segment
from hedgerow.apps.video.segmenter import Segmenter, divide
from hedgerow.apps.video.supervoxels import SupervoxelSettings
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import Multinomial, Poisson
from hedgerow.mixture import Mixture
from hedgerow.priors import DP
from hedgerow.trees import Forest

skimage = pytest.importorskip("skimage", reason="the twin of supervoxels is that of scikit-image")

COARSE = SupervoxelSettings(80)


def scene(frames: int = 25, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Sky, grass, a box that moves, and a box of the same colour that rests elsewhere; and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.ones((frames, 48, 64), int)
    truth[:, 30:] = 2
    for t in range(frames):
        truth[t, 10:22, 4 + t : 18 + t] = 3
    truth[:, 8:20, 50:60] = 4
    colours = np.array([[0, 0, 0], [90, 130, 220], [60, 150, 50], [220, 60, 40], [220, 60, 40]])
    clip = colours[truth] + rng.normal(0, 5, (*truth.shape, 3))
    return np.clip(clip, 0, 255).astype(np.uint8), truth


def test_a_plain_scene_is_found_and_identities_last():
    clip, truth = scene()
    found = segment(clip, supervoxels=COARSE, progress=False)
    labels = found.labels(4)
    scores = evaluate(labels, truth)
    assert scores.accuracy_3d > 0.97
    assert scores.mean_duration == 25
    # The two red boxes have one colour but never touch.
    moving, resting = labels[0, 15, 10], labels[0, 12, 55]
    assert moving != resting
    assert labels[24, 15, 32] == moving
    assert labels[24, 12, 55] == resting


def test_labels_of_a_chunk_are_final_when_it_is_done():
    clip, _ = scene(40)
    whole = segment(clip, supervoxels=COARSE, progress=False)
    part = segment(clip[:20], supervoxels=COARSE, progress=False)
    assert np.array_equal(whole.labels()[:20], part.labels())


def test_the_seed_decides_everything():
    clip, _ = scene(12)
    first, again = (segment(clip, supervoxels=COARSE, progress=False, seed=3) for _ in range(2))
    assert np.array_equal(first.labels(), again.labels())
    assert np.array_equal(first.hierarchy.height, again.hierarchy.height)


def test_segments_are_connected_in_space_and_time_at_every_cut():
    clip, _ = scene(21)
    found = segment(clip, supervoxels=COARSE, progress=False)
    for n in (None, found.n_segments - 1, 5):
        labels = found.labels(n).astype(int)
        assert skimage.measure.label(labels, background=-1, connectivity=1).max() == labels.max() + 1


def test_larger_beta_gives_fewer_segments():
    clip, _ = scene(10, seed=1)
    rng = np.random.default_rng(2)
    clip = np.clip(clip + rng.normal(0, 25, clip.shape), 0, 255).astype(np.uint8)
    counts = [segment(clip, beta=b, supervoxels=COARSE, progress=False).n_segments for b in (0.1, 3.0, 30.0)]
    assert counts[0] > counts[1] > counts[2]


def test_any_prior_will_do():
    clip, truth = scene(12)
    found = segment(clip, prior=DP(1.0), supervoxels=COARSE, progress=False)
    assert evaluate(found.labels(4), truth).accuracy_3d > 0.97


def test_a_cut_to_black_and_back_starts_new_segments():
    clip, _ = scene(30)
    clip[10:20] = 0
    found = segment(clip, supervoxels=COARSE, progress=False)
    table = found.table()
    black = (table["red"] + table["green"] + table["blue"]) < 10
    assert set(table["first_frame"][black].tolist()) == {10}
    assert set(table["last_frame"][black].tolist()) == {19}
    labels = found.labels()
    assert not set(np.unique(labels[:10])) & set(np.unique(labels[20:]))
    assert len(np.unique(found.labels(12)[10:20])) == 1


@pytest.mark.parametrize("shape", [(1, 9, 7, 3), (1, 1, 1, 3), (3, 5, 4, 3), (11, 31, 1, 3), (2, 16, 16), (2, 16, 16, 4)])
def test_one_frame_odd_sizes_grey_and_transparent(shape):
    clip = np.random.default_rng(0).integers(0, 255, shape).astype(np.uint8)
    found = segment(clip, supervoxels=SupervoxelSettings(10), progress=False)
    labels = found.labels()
    assert labels.shape == shape[:3]
    assert np.array_equal(np.unique(labels), np.arange(found.n_segments))
    assert found.labels(1).max() == 0


def test_large_frames_are_reduced_and_say_so():
    clip, _ = scene(4)
    large = clip.repeat(8, axis=1).repeat(8, axis=2)
    found = segment(large, supervoxels=COARSE, progress=False)
    assert found.source_size == (384, 512)
    assert found.frame_size == (240, 320)
    small = segment(large, supervoxels=COARSE, longest_side=64, progress=False)
    assert small.frame_size == (48, 64)


def test_callbacks_hear_of_every_chunk_and_the_time_left():
    clip, _ = scene(25)
    heard = []  # type: ignore[var-annotated]
    segment(clip, supervoxels=COARSE, progress=False, callbacks=[heard.append])
    assert [update.frames for update in heard] == [10, 20, 25]
    assert heard[-1].seconds_left == 0
    assert heard[0].seconds_left > 0
    segment((frame for frame in clip), supervoxels=COARSE, progress=True, callbacks=[heard.append])
    assert heard[-1].seconds_left is None


def test_memory_does_not_grow_with_the_clip(monkeypatch):
    """Frames come from a generator, so what is held is the segmenter's own; labels go to a file beyond a little."""
    monkeypatch.setattr("hedgerow.apps.video.store._IN_MEMORY", 1 << 15)

    def peak(n_frames: int) -> int:
        rng = np.random.default_rng(0)
        still = scene(1)[0][0].astype(int)
        frames = (np.clip(still + rng.integers(-5, 6, still.shape), 0, 255).astype(np.uint8) for _ in range(n_frames))
        tracemalloc.start()
        segment(frames, supervoxels=SupervoxelSettings(40), progress=False)
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(20)  # modules and caches
    short, long = peak(60), peak(240)
    whole_labels = 240 * 48 * 64 * 4
    assert long - short < whole_labels / 8, "neither frames nor plain labels are kept"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"chunk": 0}, "chunk must"),
        ({"chunk": 2.5}, "chunk must"),
        ({"seed": -1}, "seed must"),
        ({"beta": 0}, "beta must"),
        ({"longest_side": 3}, "longest_side must"),
        ({"supervoxels": 500}, "supervoxels must"),
        ({"prior": 3}, "prior must"),
        ({"joins": 0.5}, "joins must"),
    ],
)
def test_bad_settings_are_refused(wrong, words):
    with pytest.raises(ParameterError, match=words):
        segment(scene(2)[0], progress=False, **wrong)


@pytest.mark.parametrize("wrong", [{"edges": -1.0}, {"edges": float("nan")}, {"surroundings": -0.1}, {"surroundings": "3"}])
def test_bad_join_settings_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        JoinSettings(**wrong)


def test_a_segmenter_takes_histograms_only():
    with pytest.raises(ParameterError, match="Multinomial"):
        Segmenter(Mixture(default_prior(), Poisson()))


@pytest.mark.parametrize("wrong", [{"number": 0}, {"compactness": 0}, {"time_spacing": -1}, {"smallest": 2.0}])
def test_bad_supervoxel_settings_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        SupervoxelSettings(**wrong)


def tree(left: list[int], right: list[int], n: int) -> Forest:
    """A forest with this shape over n rows."""
    size = n + len(left)
    parent, sizes = np.full(size, -1), np.ones(size, int)
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        parent[a] = parent[b] = n + k
        sizes[n + k] = sizes[a] + sizes[b]
    blank = np.full(n, -1)
    zeros = np.zeros(size)
    return Forest(np.r_[blank, left], np.r_[blank, right], parent, sizes, zeros, zeros, zeros)


def touching(pairs: list[tuple[int, int, int]], n: int) -> sparse.csr_array:
    full = np.zeros((n, n), int)
    for a, b, faces in pairs:
        full[a, b] = full[b, a] = faces
    return sparse.csr_array(full)


def test_a_cluster_with_two_earlier_segments_is_divided_along_its_tree():
    # Rows 0, 1 are earlier segments; ((0 2) (1 3)) with 4 on top, which shares more faces with 3.
    forest = tree([0, 1, 5, 7], [2, 3, 6, 4], 5)
    parts = divide(forest, 2, touching([(0, 2, 1), (1, 3, 1), (4, 2, 2), (4, 3, 5)], 5))
    assert parts[0] == parts[2] != parts[1]
    assert parts[1] == parts[3] == parts[4]


def test_what_hangs_on_loose_pieces_finds_its_way():
    # 4 touches 1; 3 touches only 4; both were left without an earlier segment.
    forest = tree([0, 5, 6, 7], [1, 2, 3, 4], 5)
    parts = divide(forest, 2, touching([(0, 2, 1), (1, 4, 1), (4, 3, 1)], 5))
    assert parts[0] == parts[2]
    assert parts[1] == parts[4] == parts[3]


def test_trees_with_at_most_one_earlier_segment_stay_whole():
    forest = tree([0, 2], [1, 3], 5)
    parts = divide(forest, 1, touching([(0, 1, 1), (2, 3, 1)], 5))
    assert parts[0] == parts[1]
    assert parts[2] == parts[3]
    assert len({parts[0], parts[2], parts[4]}) == 3


def test_cuts_are_nested_and_names_outlive_them():
    # Heights 1, 3, 2: the join (2 3) at 3 is made after ((0 1) 4) at 2.
    hierarchy = from_tree(5, np.array([-1] * 5 + [0, 2, 5, 7]), np.array([-1] * 5 + [1, 3, 4, 6]), np.array([0.0] * 5 + [1, 3, 2, 9]))
    assert hierarchy.height.tolist() == [1, 2, 3, 9]
    assert hierarchy.cut(4).tolist() == [0, 0, 1, 2, 3]
    assert hierarchy.cut(3).tolist() == [0, 0, 1, 2, 0]
    assert hierarchy.cut(2).tolist() == [0, 0, 1, 1, 0]
    assert hierarchy.cut(1).tolist() == [0] * 5
    assert hierarchy.cut(None).tolist() == [0, 1, 2, 3, 4]
    assert hierarchy.representatives(2).tolist() == [0, 0, 2, 2, 0]


def test_a_low_join_above_a_high_one_waits_for_it():
    hierarchy = from_tree(3, np.array([-1] * 3 + [0, 3]), np.array([-1] * 3 + [1, 2]), np.array([0.0] * 3 + [5, -2]))
    assert hierarchy.height.tolist() == [5, 5]
    assert hierarchy.cut(2).tolist() == [0, 0, 1]


@pytest.mark.parametrize("n", [0, 6, 2.0, "3"])
def test_impossible_cuts_are_refused(n):
    hierarchy = Hierarchy(5, np.array([0, 5]), np.array([1, 2]), np.array([0.0, 1.0]))
    assert hierarchy.fewest == 3
    with pytest.raises(ParameterError, match="from 3 to 5"):
        hierarchy.cut(n)


def test_only_touching_segments_are_joined_and_alike_ones_first():
    counts = np.zeros((4, 60), np.int64)
    counts[[0, 2, 3], 5] = 900
    counts[1, 40] = 900
    model = Mixture(default_prior(), Multinomial(0.5))
    chain = touching([(0, 1, 1), (1, 2, 1), (2, 3, 1)], 4)
    hierarchy = join_segments(model, counts, chain)
    assert hierarchy.cut(3).tolist() == [0, 1, 2, 2]
    assert hierarchy.fewest == 1
    apart = join_segments(model, counts, touching([(0, 1, 1), (2, 3, 1)], 4))
    assert apart.fewest == 2


def test_more_counts_than_the_core_holds():
    counts = np.zeros((3, 60), np.int64)
    counts[:2, 5] = 10**10
    counts[2, 9] = 10**10
    hierarchy = join_segments(Mixture(DP(1.0), Multinomial(0.5)), counts, touching([(0, 1, 1), (1, 2, 1)], 3))
    assert hierarchy.cut(2).tolist() == [0, 0, 1]
