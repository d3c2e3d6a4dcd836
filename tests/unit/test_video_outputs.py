"""What a run leaves behind: volumes, pictures, overlays, tables, and one file that brings it all back."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from hedgerow.apps.video.frames import open_frames
from hedgerow.apps.video.result import Segmentation
from hedgerow.apps.video.run import segment
from hedgerow.apps.video.store import LabelStore
from hedgerow.apps.video.supervoxels import SupervoxelSettings
from hedgerow.apps.video.writers import colours_of, draw_overlay, enlarge, write_label_pictures, write_volume
from hedgerow.errors import ParameterError

for module in ("av", "imageio"):
    pytest.importorskip(module, reason="video needs the [video] extra")
Image = pytest.importorskip("PIL.Image", reason="video needs the [video] extra")


@pytest.fixture(scope="module")
def clip() -> np.ndarray:
    """Odd sides, three colours, 23 frames."""
    rng = np.random.default_rng(0)
    video = np.full((23, 41, 53, 3), [90, 130, 220])
    video[:, 25:] = [60, 150, 50]
    for t in range(23):
        video[t, 5:18, t : t + 15] = [220, 60, 40]
    return np.clip(video + rng.normal(0, 6, video.shape), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def found(clip) -> Segmentation:
    return segment(clip, supervoxels=SupervoxelSettings(60), progress=False)


def test_volume_as_npz(found, tmp_path):
    for n in (None, 3):
        found.write_npz(tmp_path / "labels.npz", n)
        with np.load(tmp_path / "labels.npz", allow_pickle=False) as stored:
            assert stored["labels"].dtype == np.uint16
            assert np.array_equal(stored["labels"], found.labels(n))


def test_wide_volume_and_pictures_beyond_sixteen_bits(tmp_path):
    frames = np.array([[[0, 70_000], [256, 65_536]]], np.uint32)
    write_volume(tmp_path / "wide.npz", frames, frames.shape, np.uint32)
    with np.load(tmp_path / "wide.npz") as stored:
        assert np.array_equal(stored["labels"], frames)
    write_label_pictures(tmp_path / "wide", frames, (2, 2))
    picture = np.asarray(Image.open(tmp_path / "wide" / "00001.png")).astype(int)
    assert np.array_equal(picture @ [1, 256, 65_536], frames[0])


def test_label_pictures(found, tmp_path):
    found.write_pngs(tmp_path / "labels", 5)
    names = sorted(path.name for path in (tmp_path / "labels").iterdir())
    assert (len(names), names[0], names[-1]) == (23, "00001.png", "00023.png")
    for k in (0, 22):
        picture = np.asarray(Image.open(tmp_path / "labels" / names[k]))
        assert np.array_equal(picture, found.labels(5)[k])


@pytest.mark.parametrize("name", ["over.mp4", "over.gif", "over.mkv", "over.avi"])
def test_overlays_can_be_read_again(found, clip, tmp_path, name):
    found.write_overlay(tmp_path / name, clip, 3)
    frames = np.stack(list(open_frames(tmp_path / name)))
    rows, columns = (41, 53) if name.endswith("gif") else (42, 54)
    assert frames.shape == (23, rows, columns, 3)
    expected = draw_overlay(clip[9], found.labels(3)[9], colours_of(np.unique(found.hierarchy.representatives(3))), 0.45)
    assert np.abs(frames[9, :41, :53].astype(int) - expected).mean() < 25


def test_overlay_needs_a_source_that_can_be_read_again_and_is_the_same_clip(found, clip, tmp_path):
    with pytest.raises(ParameterError, match="read again"):
        found.write_overlay(tmp_path / "a.mp4", (frame for frame in clip))
    with pytest.raises(ParameterError, match="as many frames"):
        found.write_overlay(tmp_path / "a.mp4", clip[:20])
    with pytest.raises(ParameterError, match="opacity"):
        found.write_overlay(tmp_path / "a.mp4", clip, opacity=2)
    with pytest.raises(ParameterError, match="video format"):
        found.write_overlay(tmp_path / "a.xyz", clip)
    assert not list(tmp_path.iterdir())


def test_tint_and_edges():
    frame = np.full((2, 4, 3), 100, np.uint8)
    labels = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint16)
    colours = np.array([[200, 0, 0], [0, 0, 200]], np.uint8)
    drawn = draw_overlay(frame, labels, colours, 0.5)
    assert drawn[0, 0].tolist() == [150, 50, 50]
    assert drawn[1, 3].tolist() == [50, 50, 150]
    assert (drawn[:, 1] == 255).all()
    assert draw_overlay(frame, labels, colours, 0.0)[0, 0].tolist() == [100, 100, 100]


def test_colours_stay_with_names_and_neighbours_differ():
    many = colours_of(np.arange(200)).astype(int)
    assert np.array_equal(many[[3, 90]], colours_of(np.array([3, 90])))
    assert np.abs(np.diff(many, axis=0)).sum(axis=1).min() > 60


def test_enlarged_labels_come_from_the_nearest_pixel():
    small = np.array([[1, 2]], np.uint16)
    assert enlarge(small, (2, 6)).tolist() == [[1, 1, 1, 2, 2, 2]] * 2
    assert enlarge(np.array([[1, 2, 3]], np.uint16), (1, 2)).tolist() == [[1, 3]]


def test_pictures_of_reduced_frames_have_the_size_of_the_source(clip, tmp_path):
    reduced = segment(clip, longest_side=27, supervoxels=SupervoxelSettings(30), progress=False)
    assert reduced.frame_size == (21, 27)
    reduced.write_pngs(tmp_path / "full")
    assert next(iter(open_frames(tmp_path / "full"))).shape == (41, 53, 3)
    reduced.write_overlay(tmp_path / "full.gif", clip)
    assert next(iter(open_frames(tmp_path / "full.gif"))).shape == (41, 53, 3)


def test_table_agrees_with_the_labels(found, clip, tmp_path):
    for n in (None, 3):
        table, labels = found.table(n), found.labels(n)
        assert table["voxels"].sum() == labels.size
        for k in (0, len(table["segment"]) - 1):
            mine = labels == k
            alive = np.flatnonzero(mine.any(axis=(1, 2)))
            assert table["voxels"][k] == mine.sum()
            assert (table["first_frame"][k], table["last_frame"][k]) == (alive[0], alive[-1])
            assert table["frames"][k] == len(alive)
            shown = [table[name][k] for name in ("red", "green", "blue")]
            assert shown == pytest.approx(clip[mine].mean(axis=0))
            rows, columns = np.nonzero(mine)[1:]
            assert (table["row"][k], table["column"][k]) == pytest.approx((rows.mean(), columns.mean()))
    found.write_table(tmp_path / "segments.csv", 3)
    with open(tmp_path / "segments.csv", newline="") as file:
        rows = list(csv.DictReader(file))  # type: ignore[assignment]
    assert len(rows) == 3
    assert int(rows[2]["voxels"]) == found.table(3)["voxels"][2]


def test_saved_and_loaded(found, tmp_path):
    found.save(tmp_path / "clip.hedge")
    again = Segmentation.load(tmp_path / "clip.hedge")
    assert repr(again) == repr(found)
    assert np.array_equal(again.labels(4), found.labels(4))
    assert again.record == found.record
    assert again.rate == found.rate
    assert {k: v.tolist() for k, v in again.table(4).items()} == {k: v.tolist() for k, v in found.table(4).items()}


def test_damaged_files_are_refused(found, tmp_path):
    path = tmp_path / "clip.hedge"
    found.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ParameterError):
        Segmentation.load(path)
    # Bytes of the compressed labels overwritten: a zip finds that out, and so must we.
    at = whole.index(b"labels.npy") + 200
    path.write_bytes(whole[:at] + bytes(40) + whole[at + 40 :])
    with pytest.raises(ParameterError):
        Segmentation.load(path)
    with pytest.raises(ParameterError):
        Segmentation.load(tmp_path / "nowhere.hedge")


def test_the_record_says_where_the_time_went(found):
    assert set(found.record["seconds"]) == {"reading", "slic", "supervoxels", "clustering", "hierarchy"}
    assert found.record["beta"] == 0.5


def test_label_store_spills_and_reads_again(monkeypatch):
    monkeypatch.setattr("hedgerow.apps.video.store._IN_MEMORY", 100)
    store = LabelStore(3, 4)
    chunks = [np.random.default_rng(k).integers(0, 1000, (k + 1, 3, 4)).astype(np.int32) for k in range(5)]
    for chunk in chunks:
        store.append(chunk)
    assert store.n_frames == 15
    for _ in range(2):
        assert all(np.array_equal(a, b) for a, b in zip(store, chunks, strict=True))
    again = LabelStore.unpack(*store.packed(), 3, 4)
    assert np.array_equal(np.concatenate(list(again)), np.concatenate(chunks))
    with pytest.raises(ParameterError, match="shape"):
        store.append(np.zeros((1, 4, 3), np.int32))
    whole, lengths, frames = store.packed()
    with pytest.raises(ParameterError, match="frames per chunk"):
        LabelStore.unpack(whole, lengths, frames + 1, 3, 4)
