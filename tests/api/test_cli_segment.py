"""hedgerow segment as a person meets it: a clip in, a folder out, cut anew at will; every refusal one line."""

from __future__ import annotations

import csv
import shutil
from fractions import Fraction

import numpy as np
import pytest
from tests.checks import run as run_command

from hedgerow.apps.video.frames import open_frames
from hedgerow.apps.video.result import Segmentation
from hedgerow.cli import main

pytest.importorskip("imageio", reason="hedgerow segment needs the [video] extra")
av = pytest.importorskip("av", reason="hedgerow segment needs the [video] extra")
Image = pytest.importorskip("PIL.Image", reason="hedgerow segment needs the [video] extra")

FILES = {"overlay.mp4", "segments.csv", "labels.npz", "hierarchy.csv", "segmentation.hedge"}


def moving_square(frames: int = 14) -> np.ndarray:
    clip = np.full((frames, 40, 56, 3), [90, 130, 220], np.uint8)
    clip[:, 25:] = [60, 150, 50]
    for t in range(frames):
        clip[t, 5:18, 2 * t : 2 * t + 15] = [220, 60, 40]
    return clip


def write_video(path, clip):
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(12))
        stream.height, stream.width, stream.pix_fmt = *clip.shape[1:3], "yuv420p"
        for frame in clip:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A clip, and one run on it."""
    folder = tmp_path_factory.mktemp("segment")
    write_video(folder / "clip.mp4", moving_square())
    arguments = ["segment", str(folder / "clip.mp4"), "--out", str(folder / "run"), "--supervoxels", "60", "--segments", "3"]
    assert main([*arguments, "--quiet"]) == 0
    return folder


def run(capsys, *arguments):
    return run_command(capsys, "segment", *arguments)


def volume(folder):
    with np.load(folder / "labels.npz", allow_pickle=False) as stored:
        return stored["labels"]


def test_a_run_leaves_everything_to_look_at_and_to_cut_anew(place):
    folder = place / "run"
    assert {path.name for path in folder.iterdir()} == FILES
    labels = volume(folder)
    assert labels.shape == (14, 40, 56)
    inside = [labels[t, 11, 2 * t + 7] for t in range(14)]
    assert len({*inside, labels[0, 2, 50], labels[0, 35, 20]}) == 3, "the square keeps one label, sky and grass have their own"
    with open(folder / "segments.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["frames"]) for row in rows] == [14, 14, 14]
    assert sum(int(row["voxels"]) for row in rows) == labels.size
    assert np.stack(list(open_frames(folder / "overlay.mp4"))).shape == (14, 40, 56, 3)
    found = Segmentation.load(folder / "segmentation.hedge")
    with open(folder / "hierarchy.csv", newline="") as file:
        joins = list(csv.DictReader(file))
    assert len(joins) == found.n_segments - found.hierarchy.fewest
    assert int(joins[-1]["n_segments"]) == found.hierarchy.fewest


def test_a_folder_is_cut_anew_without_a_new_run(place, tmp_path, capsys):
    code, out, err = run(capsys, place / "run", "--segments", "2", "--overlay", "gif", "--pngs", "--out", tmp_path / "two")
    assert (code, err) == (0, "")
    assert "Written with 2;" in out
    assert "SLIC" not in out
    coarse, fine = volume(tmp_path / "two"), volume(place / "run")
    assert len(np.unique(coarse)) == 2
    pairs = {(f, c) for f, c in zip(fine.ravel().tolist(), coarse.ravel().tolist(), strict=True)}
    assert len(pairs) == 3, "cuts are nested"
    assert next(iter(open_frames(tmp_path / "two" / "overlay.gif"))).shape == (40, 56, 3)
    assert len(list((tmp_path / "two" / "labels").iterdir())) == 14
    code, out, _ = run(capsys, tmp_path / "two" / "segmentation.hedge", "--segments", "all", "--overlay", "none")
    assert code == 0
    found = Segmentation.load(place / "run" / "segmentation.hedge")
    assert np.array_equal(volume(tmp_path / "two"), found.labels()), "the copy can be cut in its turn, to the finest too"


def test_pictures_and_what_the_run_took(place, tmp_path, capsys):
    folder = tmp_path / "frames"
    folder.mkdir()
    for k, frame in enumerate(moving_square(3)):
        Image.fromarray(frame).save(folder / f"{k}.png")
    code, out, err = run(capsys, folder, "--out", tmp_path / "out", "--supervoxels", "40", "--overlay", "none", "--longest-side", "28")
    assert (code, err) == (0, "")
    assert "3 frames of 28 x 20" in out
    assert "% of them in SLIC" in out
    assert "the nearest number is" in out, "a clip of three colours has no 200 segments"
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES - {"overlay.mp4"}


def odd_clips():
    plain = moving_square(4)
    cut = plain.copy()
    cut[2:] = 0
    alpha = np.concatenate([plain, np.full((*plain.shape[:3], 1), 128, np.uint8)], axis=-1)
    return {"grey": plain[..., 0], "transparent": alpha, "one frame": plain[:1], "odd sides": plain[:, :37, :53], "cut to black": cut}


@pytest.mark.parametrize("kind", list(odd_clips()))
def test_unusual_clips(tmp_path, capsys, kind):
    clip = odd_clips()[kind]
    (tmp_path / "frames").mkdir()
    for k, frame in enumerate(clip):
        Image.fromarray(frame).save(tmp_path / "frames" / f"{k}.png")
    options = ("--out", tmp_path / "out", "--supervoxels", "40", "--segments", "all", "--pngs", "--quiet")
    code, _, err = run(capsys, tmp_path / "frames", *options)
    assert (code, err) == (0, "")
    labels = volume(tmp_path / "out")
    assert labels.shape == clip.shape[:3]
    assert np.array_equal(np.asarray(Image.open(tmp_path / "out" / "labels" / "00001.png")), labels[0])
    rows, columns = clip.shape[1:3]
    drawn = next(iter(open_frames(tmp_path / "out" / "overlay.mp4")))
    assert drawn.shape == (rows + rows % 2, columns + columns % 2, 3)


def test_one_seed_one_answer(place, tmp_path, capsys):
    for name in ("a", "b"):
        arguments = ("--out", tmp_path / name, "--seed", "3", "--overlay", "none", "--supervoxels", "60", "--segments", "all")
        assert run(capsys, place / "clip.mp4", *arguments)[0] == 0
    assert np.array_equal(volume(tmp_path / "a"), volume(tmp_path / "b"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{}/run", "--segments", "0"], "--segments 0: must be a whole number from 1 up, or 'all'"),
        (["{}/run", "--segments", "many"], "--segments many"),
        (["{}/run", "--segments", "100000"], "must lie between 1 and"),
        (["{}/run", "--beta", "2"], "--beta: cannot change a run that is made"),
        (["{}/run", "--edges", "1"], "--edges: cannot change"),
        (["{}/clip.mp4", "--out", "{}/new", "--edges", "-1"], "edges must"),
        (["{}/run", "--surroundings", "1"], "--surroundings: cannot change"),
        (["{}/run", "--longest-side", "8"], "--longest-side: cannot change"),
        (["{}/run", "--clip", "{}/gone.mp4"], "the clip is not there any more; say where with --clip"),
        (["{}/clip.mp4", "--clip", "{}/clip.mp4"], "is for a folder that is cut anew"),
        (["{}/clip.mp4", "--out", "{}/run"], "--force replaces it"),
        (["{}/clip.mp4", "--out", "{}/new", "--beta", "-1"], "beta must"),
        (["{}/clip.mp4", "--out", "{}/new", "--chunk", "0"], "chunk must"),
        (["{}/clip.mp4", "--out", "{}/new", "--supervoxels", "0"], "number must"),
        (["{}/nowhere.mp4"], "name a file or folder that exists"),
        (["{}/broken.mp4"], "no video that PyAV can open"),
        (["{}/empty"], "hold pictures"),
        (["{}/run/segments.csv"], "no video that PyAV can open"),
    ],
)
def test_refusals_are_one_line_and_leave_the_run_alone(place, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(place)
    (place / "broken.mp4").write_bytes(b"this is no video" * 50)
    (place / "empty").mkdir(exist_ok=True)
    before = (place / "run" / "labels.npz").read_bytes()
    code, out, err = run(capsys, *(argument.format(place) for argument in arguments))
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("hedgerow: ")
    assert err.count("\n") == 1
    assert (place / "run" / "labels.npz").read_bytes() == before


def test_a_damaged_run_is_refused(place, tmp_path, capsys):
    whole = (place / "run" / "segmentation.hedge").read_bytes()
    (tmp_path / "segmentation.hedge").write_bytes(whole[: len(whole) // 2])
    code, _, err = run(capsys, tmp_path, "--overlay", "none")
    assert code == 2
    assert "segmentation.hedge" in err


def test_without_the_extra_it_says_what_to_install(command_without, place, tmp_path):
    modules = ["av", "imageio", "imageio.v3"]
    done = command_without(modules, "segment", place / "clip.mp4", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "pip install 'hedgerow[video]'" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["mkv", "mov", "avi", "webm"])
def test_overlays_of_every_kind(place, tmp_path, capsys, kind):
    assert run(capsys, place / "run", "--overlay", kind, "--out", tmp_path / "out")[0] == 0
    assert np.stack(list(open_frames(tmp_path / "out" / f"overlay.{kind}"))).shape == (14, 40, 56, 3)


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["segment", "--help"])
    assert stop.value.code == 0
    assert "hedgerow segment clip.mp4 --segments 50" in capsys.readouterr().out


@pytest.mark.parametrize("name", [*sorted(FILES), "labels", "overlay.gif"])
def test_links_in_the_place_of_files_are_refused(place, tmp_path, capsys, name):
    """A folder may come from a stranger: neither a new run nor a new cut writes through a link, or instead of one."""
    folder = shutil.copytree(place / "run", tmp_path / "run")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    if name == "segmentation.hedge":
        victim = (folder / name).rename(tmp_path / "saved")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(victim)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for more in ([folder, "--segments", "2"], [place / "clip.mp4", "--out", folder, "--force", "--quiet"]):
        code, _, err = run(capsys, *more)
        assert (code, f"{name} is a link" in err) == (2, True), err
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
        assert (folder / name).is_symlink()
