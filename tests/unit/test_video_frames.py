"""Reading clips: every kind of source gives the same frames, and what is broken is named."""

from __future__ import annotations

import io
import zipfile
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.apps.video.frames import Frames, as_rgb, in_chunks, open_frames, shrink
from hedgerow.errors import ParameterError

av = pytest.importorskip("av", reason="reading video needs the [video] extra")
pytest.importorskip("imageio", reason="reading video needs the [video] extra")
Image = pytest.importorskip("PIL.Image", reason="reading pictures needs the [video] extra")


def moving_square(frames: int = 12, rows: int = 48, columns: int = 64) -> np.ndarray:
    clip = np.zeros((frames, rows, columns, 3), np.uint8)
    for t in range(frames):
        clip[t, 10:30, t : t + 20] = [200, 40, 30]
    return clip


def write_video(path, clip, codec="libx264", options=None, rate=12):
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream(codec, rate=Fraction(rate))
        stream.height, stream.width, stream.pix_fmt = *clip.shape[1:3], "yuv420p"
        for frame in clip:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())


def write_pictures(folder, clip, suffix=".png"):
    folder.mkdir()
    for k, frame in enumerate(clip):
        Image.fromarray(frame).save(folder / f"frame{k}{suffix}")  # frame10 after frame9, not after frame1
    return folder


@pytest.mark.parametrize(("suffix", "codec"), [(".mp4", "libx264"), (".mkv", "libx264"), (".avi", "mpeg4")])
def test_video_files(tmp_path, suffix, codec):
    clip = moving_square()
    path = tmp_path / f"clip{suffix}"
    write_video(path, clip, codec)
    source = open_frames(path)
    assert source.rate == pytest.approx(12)
    assert source.count == 12
    frames = np.stack(list(source))
    assert frames.shape == clip.shape
    assert frames.dtype == np.uint8
    assert np.abs(frames.astype(int) - clip).mean() < 4
    assert np.array_equal(frames, np.stack(list(source))), "reads the same twice"


def test_gif(tmp_path):
    clip = moving_square()
    first, *rest = [Image.fromarray(frame) for frame in clip]
    first.save(tmp_path / "clip.gif", save_all=True, append_images=rest, duration=80)
    frames = np.stack(list(open_frames(tmp_path / "clip.gif")))
    assert frames.shape == clip.shape
    assert np.abs(frames.astype(int) - clip).max() < 8


def test_folder_and_zip_in_natural_order(tmp_path):
    clip = moving_square()
    folder = write_pictures(tmp_path / "frames", clip)
    (folder / "notes.txt").write_text("not a picture")
    assert np.array_equal(np.stack(list(open_frames(folder))), clip)
    with zipfile.ZipFile(tmp_path / "clip.zip", "w") as archive:
        for entry in folder.iterdir():
            archive.write(entry, entry.name)
    source = open_frames(tmp_path / "clip.zip")
    assert source.count == 12
    assert np.array_equal(np.stack(list(source)), clip)


def test_arrays_and_iterables():
    clip = moving_square()
    assert np.array_equal(np.stack(list(open_frames(clip))), clip)
    assert open_frames(list(clip)).repeatable
    once = open_frames(frame for frame in clip)
    assert not once.repeatable
    assert np.array_equal(np.stack(list(once)), clip)
    assert open_frames(once) is once


def test_grey_transparent_sixteen_bits_and_black_and_white():
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert np.array_equal(as_rgb(grey, "x", 0), np.stack([grey] * 3, axis=-1))
    assert np.array_equal(as_rgb(grey[..., None], "x", 0), np.stack([grey] * 3, axis=-1))
    clear = np.array([[[255, 255, 255, 0], [200, 100, 50, 255], [200, 100, 50, 128]]], np.uint8)
    assert as_rgb(clear, "x", 0)[0].tolist() == [[0, 0, 0], [200, 100, 50], [100, 50, 25]]
    assert as_rgb(np.array([[[10, 255]]], np.uint8), "x", 0)[0].tolist() == [[10, 10, 10]]
    assert as_rgb(np.array([[0, 32768, 65535]], np.uint16), "x", 0)[0, :, 0].tolist() == [0, 128, 255]
    assert as_rgb(np.array([[False, True]]), "x", 0)[0, :, 1].tolist() == [0, 255]
    assert as_rgb(np.array([[0, 255]], np.int64), "x", 0).dtype == np.uint8


@pytest.mark.parametrize("bad", [np.zeros((2, 2, 5), np.uint8), np.zeros((0, 4), np.uint8), np.zeros((2, 2))])
def test_what_is_no_picture_is_refused(bad):
    with pytest.raises(ParameterError, match="frame 3"):
        as_rgb(bad, "clip", 3)


def test_grey_and_transparent_pictures_from_files(tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    Image.fromarray(np.full((4, 6), 90, np.uint8)).save(folder / "1.png")
    Image.fromarray(np.full((4, 6, 4), [10, 20, 30, 255], np.uint8), "RGBA").save(folder / "2.png")
    Image.fromarray(np.full((4, 6, 3), [10, 20, 30], np.uint8)).quantize(4).save(folder / "3.png")
    first, second, third = open_frames(folder)
    assert first[0, 0].tolist() == [90, 90, 90]
    assert second[0, 0].tolist() == third[0, 0].tolist() == [10, 20, 30]


def test_sizes_that_change_are_refused():
    clip = [np.zeros((4, 6, 3), np.uint8), np.zeros((4, 8, 3), np.uint8)]
    with pytest.raises(ParameterError, match="frame 1 is 8 x 4, those before 6 x 4"):
        list(open_frames(clip))


def test_broken_files_are_named(tmp_path):
    write_video(tmp_path / "good.mp4", moving_square())
    good = (tmp_path / "good.mp4").read_bytes()
    cases = {
        "half.mp4": good[: len(good) // 2],
        "noise.mp4": np.random.default_rng(0).bytes(4000),
        "text.avi": b"not a video " * 40,
        "picture.zip": b"not a zip",
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ParameterError, match=name):
            list(open_frames(tmp_path / name))
    (tmp_path / "empty.mp4").write_bytes(b"")
    with pytest.raises(ParameterError, match="not be an empty file"):
        open_frames(tmp_path / "empty.mp4")
    with pytest.raises(ParameterError, match="exists"):
        open_frames(tmp_path / "nowhere.mp4")


def test_a_clip_that_stops_early_is_refused(tmp_path):
    clip = np.random.default_rng(0).integers(0, 255, (60, 64, 64, 3)).astype(np.uint8)
    write_video(tmp_path / "whole.mp4", clip, options={"movflags": "faststart"})
    whole = (tmp_path / "whole.mp4").read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ParameterError, match=r"cut\.mp4.*(ends after|cannot be decoded)"):
        list(open_frames(tmp_path / "cut.mp4"))


def test_a_broken_picture_among_good_ones_is_named(tmp_path):
    folder = write_pictures(tmp_path / "frames", moving_square(4))
    (folder / "frame2.png").write_bytes((folder / "frame2.png").read_bytes()[:60])
    with pytest.raises(ParameterError, match=r"frame2\.png cannot be read"):
        list(open_frames(folder))


def picture(grey: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((4, 6, 3), grey, np.uint8)).save(file, "png")
    return file.getvalue()


def test_names_with_any_digits_are_in_order(tmp_path):
    names = ["1²3.png", "2.png", f"{'9' * 200}.png", "010.png", "٣.png"]
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for i, name in enumerate(names):
            archive.writestr(name, picture(i))
        archive.writestr(f"{'1' * 5000}.png", picture(9))
    greys = [int(frame[0, 0, 0]) for frame in open_frames(tmp_path / "x.zip")]
    assert greys == [0, 1, 3, 2, 9, 4]


def test_a_member_with_a_password_is_named(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("1.png", picture(1))
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag of encryption, in both of a member's headers
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=r"1\.png cannot be read .*encrypted"):
        list(open_frames(path))


def test_a_member_that_unpacks_to_far_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow.apps.video.frames._LARGEST_PICTURE", 1 << 16)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.png", picture(1) + bytes(1 << 20))
    with pytest.raises(ParameterError, match=r"1\.png cannot be read \(more than 64\.0 KiB unpacked\)"):
        list(open_frames(tmp_path / "x.zip"))


def test_empty_sources_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="hold pictures"):
        open_frames(tmp_path)
    with pytest.raises(ParameterError, match="no frame"):
        list(open_frames([]))
    for nothing in (np.zeros((0, 4, 4, 3), np.uint8), np.zeros((4, 4)), 3, None):
        with pytest.raises(ParameterError, match="source must be"):
            open_frames(nothing)


@pytest.mark.parametrize(
    ("frames", "sizes"),
    [(1, [1]), (10, [10]), (14, [14]), (15, [10, 5]), (20, [10, 10]), (24, [10, 14]), (25, [10, 10, 5]), (3, [3])],
)
def test_chunks_leave_no_crumbs(frames, sizes):
    clip = np.arange(frames, dtype=np.uint8)[:, None, None, None] * np.ones((1, 2, 2, 3), np.uint8)
    chunks = list(in_chunks(iter(clip), 10))
    assert [len(chunk) for chunk in chunks] == sizes
    assert np.array_equal(np.concatenate(chunks), clip)


def test_chunks_are_handed_on_while_the_clip_is_still_coming():
    read = 0

    def endless():
        nonlocal read
        while True:
            read += 1
            yield np.zeros((2, 2, 3), np.uint8)

    chunks = in_chunks(endless(), 10)
    for k in range(1, 5):
        next(chunks)
        assert read <= 10 * k + 5


def test_shrinking_keeps_the_shape_and_averages():
    frame = np.zeros((120, 640, 3), np.uint8)
    frame[:, ::2] = 100
    small = shrink(frame, 320)
    assert small.shape == (60, 320, 3)
    assert np.unique(small).tolist() == [50]
    assert shrink(frame, None) is frame
    assert shrink(small, 320) is small
    assert shrink(np.zeros((1, 1000, 3), np.uint8), 100).shape == (1, 100, 3)


def test_a_source_says_what_it_is():
    source = open_frames(moving_square(3))
    assert isinstance(source, Frames)
    assert (source.count, source.rate) == (3, 25.0)
