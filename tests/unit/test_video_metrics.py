"""LIBSVX's measures on volumes whose answers can be worked out by hand, and on the benchmark's own ground truth."""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hedgerow.apps.video.metrics import boundary_map, curve, evaluate, explained_variation, mean_duration
from hedgerow.errors import ParameterError

DATA = Path(os.environ.get("HEDGEROW_DATA", Path(__file__).parents[3] / "shared" / "data"))
CHEN = ("bus", "container", "garden", "ice", "paris", "salesman", "soccer", "stefan")


def strip(*frames: list[int]) -> np.ndarray:
    """Frames of one row each."""
    return np.array(frames)[:, None, :]


def test_two_segments_against_two_true_ones_worked_by_hand():
    #            true 1: 3 + 2 voxels, true 2: 1 + 2; segment 7: 2 + 2, segment 9: 2 + 2
    truth = strip([1, 1, 1, 2], [1, 1, 2, 2])
    ours = strip([7, 7, 9, 9], [7, 7, 9, 9])
    scores = evaluate(ours, truth)
    assert scores.n_segments == 2
    # 7 lies in 1 (4 of 4), 9 lies in 2 (3 of 4): 4/5 and 3/3.
    assert scores.accuracy_3d == pytest.approx((4 / 5 + 1) / 2)
    # Segments meeting 1: both, 8 voxels; meeting 2: segment 9, 4 voxels.
    assert scores.undersegmentation_3d == pytest.approx(((8 - 5) / 5 + (4 - 3) / 3) / 2)
    # Frame 0: half of 9 lies in 1 and half in 2, which counts for both. Frame 1 is perfect.
    assert scores.accuracy_2d == pytest.approx(((3 / 3 + 2 / 2) / 2 + (1 / 1 + 2 / 2) / 2) / 2)
    assert scores.undersegmentation_2d == pytest.approx((((4 - 3) / 3 + 0) / 2 + ((2 - 1) / 1 + 0) / 2) / 2)
    # True boundary pixels: columns 2, 3 in frame 0, columns 1, 2 in frame 1; ours: columns 1, 2 in both.
    assert scores.boundary_recall_2d == pytest.approx((1 / 2 + 2 / 2) / 2)
    # In time the third column changes: frame 0 has columns 2, 3, frame 1 columns 1, 2 on the true boundary.
    assert scores.boundary_recall_3d == pytest.approx(3 / 4)
    assert scores.mean_duration == 2


def test_exactly_half_inside_counts():
    assert evaluate(strip([5, 5, 5, 5]), strip([1, 1, 0, 0])).accuracy_3d == 1.0
    assert evaluate(strip([5, 5, 5, 5]), strip([1, 0, 0, 0])).accuracy_3d == 0.0


def test_void_belongs_to_nobody_but_fills_segments():
    truth = strip([0, 0, 3, 3])
    scores = evaluate(strip([1, 1, 1, 2]), truth)
    assert scores.accuracy_3d == pytest.approx(1 / 2)  # segment 1 is mostly void
    assert scores.undersegmentation_3d == pytest.approx((4 - 2) / 2)
    # A void pixel is no boundary pixel, its neighbour is.
    assert boundary_map(truth[0], void=0).tolist() == [[False, False, True, False]]
    assert evaluate(strip([1, 1, 1, 2]), truth, void=None).accuracy_3d == pytest.approx((1 + 1 / 2) / 2)


def test_a_true_segment_is_averaged_over_the_frames_where_it_occurs():
    truth = strip([1, 1], [1, 2])
    ours = strip([4, 4], [4, 4])
    scores = evaluate(ours, truth)
    # 1: frame 0 perfect, frame 1 half; 2: frame 1 half. Half is enough to be counted.
    assert scores.accuracy_2d == 1.0
    assert scores.undersegmentation_2d == pytest.approx(((0 + 1) / 2 + 1) / 2)


def test_explained_variation_by_hand():
    video = np.zeros((1, 1, 4, 3))
    video[0, 0, :, 0] = [0, 2, 10, 12]
    total = 36 + 16 + 16 + 36
    assert explained_variation(strip([1, 1, 2, 2]), video) == pytest.approx(100 / total)
    assert explained_variation(strip([1, 2, 3, 4]), video) == pytest.approx(1.0)
    assert explained_variation(strip([1, 1, 1, 1]), video) == pytest.approx(0.0)
    assert explained_variation(strip([1, 2, 1, 2]), np.full((1, 1, 4, 3), 77, np.uint8)) == 1.0
    assert np.isnan(evaluate(strip([1, 2]), strip([1, 2])).explained_variation)


def test_mean_duration_counts_frames_not_spans():
    assert mean_duration(strip([1, 2], [1, 1], [2, 1])) == pytest.approx((3 + 2) / 2)


def test_boundaries_in_a_frame_and_in_time():
    cube = np.zeros((3, 3, 3), dtype=int)
    cube[1, 1, 1] = 1
    flat, deep = boundary_map(cube), boundary_map(cube, in_time=True)
    assert flat.sum() == 5
    assert deep.sum() == 7
    assert deep[0, 1, 1]
    assert not flat[0].any()
    assert np.array_equal(flat[1], boundary_map(cube[1]))


def brute(ours: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """3-D accuracy and undersegmentation error, to the letter."""
    accuracies, errors = [], []
    for g in np.unique(truth[truth != 0]):
        inside = touched = 0
        for s in np.unique(ours):
            common = int(((ours == s) & (truth == g)).sum())
            size = int((ours == s).sum())
            inside += common if 2 * common >= size else 0
            touched += size if common else 0
        size = int((truth == g).sum())
        accuracies.append(inside / size)
        errors.append((touched - size) / size)
    return float(np.mean(accuracies)), float(np.mean(errors))


volumes = st.tuples(*[st.integers(1, 4)] * 3)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=volumes)
def test_equals_the_definition_on_random_volumes(data, shape):
    ours = data.draw(arrays(np.int64, shape, elements=st.sampled_from([-3, 0, 5, 10**12])))
    truth = data.draw(arrays(np.int64, shape, elements=st.integers(0, 3)))
    if not (truth != 0).any():
        truth.flat[0] = 1
    scores = evaluate(ours, truth)
    assert (scores.accuracy_3d, scores.undersegmentation_3d) == pytest.approx(brute(ours, truth))
    frames = [brute(o[None], t[None]) for o, t in zip(ours, truth, strict=True) if (t != 0).any()]
    if len(np.unique(truth[truth != 0])) == 1:
        assert scores.accuracy_2d == pytest.approx(np.mean([f[0] for f in frames]))
        assert scores.undersegmentation_2d == pytest.approx(np.mean([f[1] for f in frames]))


@settings(max_examples=30, deadline=None)
@given(shape=volumes, data=st.data())
def test_names_of_labels_do_not_matter(shape, data):
    ours = data.draw(arrays(np.int64, shape, elements=st.integers(0, 4)))
    truth = data.draw(arrays(np.int64, shape, elements=st.integers(1, 3)))
    renamed = np.array([900, -7, 3, 10**9, 0])[ours]
    assert repr(evaluate(ours, truth)) == repr(evaluate(renamed, truth * 100))


def test_no_boundary_at_all_is_nan_and_an_all_void_truth_is_refused():
    one = np.ones((2, 3, 3), dtype=int)
    assert np.isnan(evaluate(one, one).boundary_recall_2d)
    with pytest.raises(ParameterError, match="not void"):
        evaluate(one, 0 * one)


@pytest.mark.parametrize(
    ("segments", "truth", "words"),
    [
        (np.ones((2, 2)), np.ones((2, 2), int), "segments must be integers of shape"),
        (np.ones((1, 2, 2)), np.ones((1, 2, 2), int), "segments must be integers of shape"),
        (np.ones((1, 2, 2), int), np.ones((2, 2, 2), int), "truth must have the shape of segments"),
    ],
)
def test_bad_volumes_are_refused(segments, truth, words):
    with pytest.raises(ParameterError, match=words):
        evaluate(segments, truth)


def test_frames_of_another_size_are_refused():
    with pytest.raises(ParameterError, match="frames must have shape"):
        evaluate(np.ones((1, 2, 2), int), np.ones((1, 2, 2), int), np.zeros((1, 2, 3, 3)))


@pytest.fixture(scope="module")
def truths() -> dict[str, np.ndarray]:
    path = DATA / "chen" / "ground_truth_160x240.npz"
    if not path.exists():
        pytest.skip(f"Chen's ground truth is not at {path}; set HEDGEROW_DATA")
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def baselines() -> list[dict[str, str]]:
    path = DATA / "libsvx_chen_baselines.csv"
    if not path.exists():
        pytest.skip(f"LIBSVX's stored results are not at {path}; set HEDGEROW_DATA")
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_ground_truth_as_segmentation_is_perfect_and_all_eight_take_seconds(truths):
    clock = time.process_time()
    for name in CHEN:
        scores = evaluate(truths[name], truths[name])
        perfect = (scores.accuracy_2d, scores.accuracy_3d, scores.boundary_recall_2d, scores.boundary_recall_3d)
        assert perfect == (1, 1, 1, 1)
        assert (scores.undersegmentation_2d, scores.undersegmentation_3d) == (0, 0)  # type: ignore[unreachable]
    assert time.process_time() - clock < 15


def test_stored_results_lie_within_what_the_definitions_allow(truths):
    """One segment for all is the worst undersegmentation there is, one per frame and true segment bounds nothing.

    A definition that differed (void counted, errors not divided by |g|, means over voxels) would put the stored numbers
    of coarse segmentations, which come close to that worst case, outside.
    """
    worst = {name: evaluate(np.zeros_like(truths[name]), truths[name]) for name in CHEN}
    closest = 0.0
    for row in baselines():
        if row["table"] != "main":
            continue
        bound = worst[row["video"]]
        assert float(row["ue_3d"]) <= bound.undersegmentation_3d * (1 + 1e-5)
        assert float(row["ue_2d"]) <= bound.undersegmentation_2d * (1 + 1e-5)
        closest = max(closest, float(row["ue_3d"]) / bound.undersegmentation_3d)
        for rate in ("acc_2d", "acc_3d", "br_2d", "br_3d"):
            assert 0 <= float(row[rate]) <= 1
    assert closest > 0.6


def test_curves_between_runs():
    assert curve([300, 100, 200], [9.0, 1.0, 5.0], [100, 150, 300]).tolist() == [1.0, 3.0, 9.0]
    with pytest.raises(ParameterError, match="100 and 300"):
        curve([100, 300], [1.0, 2.0], [90, 200])


COLUMNS = {
    "2D accuracy": ("main", "acc_2d", 2e-4),
    "3D accuracy": ("main", "acc_3d", 2e-4),
    "2D UE": ("main", "ue_2d", 6e-3),
    "3D UE": ("main", "ue_3d", 2e-2),
    "2D BR": ("main", "br_2d", 2e-4),
    "3D BR": ("main", "br_3d", 2e-4),
    "EV": ("ev", "explained_variation", 2e-4),
    "mean duration": ("length", "mean_duration", 8e-3),
}
STORED = {"SWA": "swa", "GB": "gb", "GBH": "gbh", "Meanshift": "meanshift", "Nystrom": "nys"}


def test_curves_of_the_stored_results_are_those_of_the_paper():
    rows = baselines()
    with open(DATA / "ibhc2014_fig4_curves.csv", newline="") as file:
        printed = list(csv.DictReader(file))
    for metric, (table, column, tolerance) in COLUMNS.items():
        for method, short in STORED.items():
            points = [row for row in printed if (row["metric"], row["method"]) == (metric, method)]
            at = [int(row["n_segments"]) for row in points]
            curves = []
            for video in CHEN:
                runs = [r for r in rows if (r["table"], r["method"], r["video"]) == (table, short, video)]
                curves.append(curve([int(r["n_supervoxels"]) for r in runs], [float(r[column]) for r in runs], at))
            expected = [float(row["value"]) for row in points]
            assert np.abs(np.mean(curves, axis=0) - expected).max() < tolerance, (metric, method)
