"""Run folders: what is remembered in them, files whole or absent, and links of strangers."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet
import pytest
from scipy import sparse
from tests.checks import run

import hedgerow as hr
from hedgerow import data
from hedgerow.cli import main
from hedgerow.cli.run_folder import RunFolder
from hedgerow.data.container import write_container
from hedgerow.sampling.manifest import newest_manifest, write_manifest
from hedgerow.writing import whole_file, whole_path, write_text

SHORT = ["--draws", "20", "--warmup", "20", "--chains", "2", "--quiet"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table with names that are formulas, and a run on it."""
    folder = tmp_path_factory.mktemp("folders")
    X = data.ring13(seed=0, n=65)[0]
    names = ["=1+1", "+x", "-x", "@x", "-5", "plain", *(f"p{i}" for i in range(59))]
    lines = ["plant,east,north", *(f"{name},{a:.4f},{b:.4f}" for name, (a, b) in zip(names, X, strict=True))]
    (folder / "flowers.csv").write_text("\n".join(lines))
    fit = ["fit", folder / "flowers.csv", "--id", "plant", "--out", folder / "run", *SHORT, "--seed", "3"]
    assert main([str(word) for word in (*fit, "--title", "Mine", "--loss", "binder")]) == 0
    return folder


def copied(place, tmp_path):
    """The run in a folder of one's own, with all its files."""
    target = tmp_path / "mine"
    subprocess.run(["cp", "-r", place / "run", target], check=True)
    return target


# what is remembered


def test_title_and_loss_are_remembered(place, tmp_path, capsys):
    target = copied(place, tmp_path)
    before = (target / "report.html").read_bytes()
    assert b"<title>Mine</title>" in before
    assert b"Binder loss" in before
    assert run(capsys, "report", target)[0] == 0
    assert (target / "report.html").read_bytes() == before
    assert run(capsys, "report", target, "--loss", "vi", "--title", "Other", "--out", tmp_path / "o.html")[0] == 0
    assert "<title>Other</title>" in (tmp_path / "o.html").read_text()
    assert "variation of information" in (tmp_path / "o.html").read_text()
    labels = hr.load(target / "run.hedge").point_estimate("binder").labels
    with open(target / "labels.csv", newline="") as file:
        assert [int(line["cluster"]) for line in csv.DictReader(file)] == labels.tolist()


def test_a_title_given_to_resume_is_remembered_too(place, tmp_path, capsys):
    target = copied(place, tmp_path)
    assert run(capsys, "resume", target, "--title", "New", "--quiet")[0] == 0
    assert run(capsys, "resume", target, "--draws", "25", "--quiet")[0] == 0
    assert "<title>New</title>" in (target / "report.html").read_text()
    assert RunFolder(target).notes().loss == "binder"
    assert len(list((target / "checkpoint").glob("note-*"))) == 1


def test_notes_of_version_0_1_are_read(place, tmp_path):
    target = copied(place, tmp_path)
    manifest = newest_manifest(target / "checkpoint")
    write_manifest(target / "checkpoint", replace(manifest, note=None, sequence=manifest.sequence + 1))
    content = {"title": "Old", "loss": "omari", "columns": ["a", "b"], "rows": None}
    rows = np.frombuffer(b'["r0"]', np.uint8)
    write_container(target / "checkpoint" / "fit.hedge", "fit", 1, content, {"rows": rows})
    notes = RunFolder(target).notes()
    assert (notes.title, notes.loss, notes.columns, notes.rows) == ("Old", "omari", ["a", "b"], ["r0"])


def test_row_names_do_not_hang_on_the_labels(place, tmp_path, capsys):
    target = copied(place, tmp_path)
    (target / "labels.csv").write_text("row,cluster\nfalse,0\n")
    assert run(capsys, "report", target)[0] == 0
    assert "p58" in (target / "report.html").read_text()


def test_the_seed_decides_the_draws(place, tmp_path, capsys):
    found = []
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        assert run(capsys, "fit", place / "flowers.csv", "--id", "plant", "--out", tmp_path / name, *SHORT, "--seed", seed)[0] == 0
        post = hr.load(tmp_path / name / "run.hedge")
        assert post.run["seed"] == int(seed)
        found.append(post)
    np.testing.assert_array_equal(found[0].labels, found[1].labels)
    np.testing.assert_array_equal(found[0].log_joint, found[1].log_joint)
    assert not np.array_equal(found[0].log_joint, found[2].log_joint)


# predict


def predicted(capsys, *arguments):
    code, out, err = run(capsys, "predict", *arguments)
    assert code == 0, err
    return list(csv.DictReader(out.splitlines()))


def test_a_row_that_belongs_nowhere_is_minus_one(place, tmp_path, capsys):
    (tmp_path / "new.csv").write_text("east,north\n500,-500\n")
    [line] = predicted(capsys, place / "run", tmp_path / "new.csv")
    assert line["cluster"] == "-1"
    post = hr.load(place / "run" / "run.hedge")
    proba = post.predict_proba([[500.0, -500.0]], partition=post.point_estimate("binder").labels, max_draws=200)
    assert float(line["probability"]) == pytest.approx(proba[0, -1], abs=1e-6)
    [line] = predicted(capsys, place / "run", tmp_path / "new.csv", "--proba")
    assert float(line["none"]) == pytest.approx(proba[0, -1], abs=1e-6)


def test_predict_uses_the_loss_and_the_draws_asked_for(place, tmp_path, capsys):
    X = data.ring13(seed=1, n=30)[0]
    np.savetxt(tmp_path / "new.csv", X, delimiter=",", header="east,north", comments="")
    X = np.loadtxt(tmp_path / "new.csv", delimiter=",", skiprows=1)
    post = hr.load(place / "run" / "run.hedge")
    told = {}
    for loss in ("binder", "vi", "omari"):
        found = post.point_estimate(loss)
        for most in (200, 3):
            lines = predicted(capsys, place / "run", tmp_path / "new.csv", "--loss", loss, "--max-draws", most, "--proba")
            told[loss, most] = np.array([[float(v) for v in list(line.values())[1:]] for line in lines])
            wanted = post.predict_proba(X, partition=found.labels, max_draws=most)
            np.testing.assert_allclose(told[loss, most], wanted, atol=1e-6)
    assert not np.allclose(told["vi", 200], told["vi", 3], atol=1e-4)
    lines = predicted(capsys, place / "run", tmp_path / "new.csv", "--max-draws", 3)
    density = [float(line["log_density"]) for line in lines]
    np.testing.assert_allclose(density, post.log_density(X, max_draws=3), atol=1e-6)
    default = predicted(capsys, place / "run", tmp_path / "new.csv", "--proba")  # the clusters of labels.csv
    assert len(default[0]) == len(told["binder", 200][0]) + 1


# formulas


def test_formulas_stay_unless_safe_csv_is_asked_for(place, tmp_path, capsys):
    def names(path):
        with open(path, newline="") as file:
            return [line["row"] for line in csv.DictReader(file)][:6]

    assert names(place / "run" / "labels.csv") == ["=1+1", "+x", "-x", "@x", "-5", "plain"]
    fit = ["fit", place / "flowers.csv", "--id", "plant", "--out", tmp_path / "run", *SHORT, "--seed", "3", "--safe-csv"]
    assert run(capsys, *fit)[0] == 0
    safe = ["'=1+1", "'+x", "'-x", "'@x", "-5", "plain"]  # a number is none
    assert names(tmp_path / "run" / "labels.csv") == safe
    assert run(capsys, "resume", tmp_path / "run", "--draws", "25", "--quiet")[0] == 0
    assert names(tmp_path / "run" / "labels.csv") == safe
    assert run(capsys, "report", tmp_path / "run")[0] == 0
    assert "'=1+1" not in (tmp_path / "run" / "report.html").read_text()  # the report needs no apostrophes
    predict = ["predict", place / "run", place / "flowers.csv", "--id", "plant", "--safe-csv", "--out", tmp_path / "p.csv"]
    assert run(capsys, *predict)[0] == 0
    assert names(tmp_path / "p.csv") == safe


def test_safe_csv_minds_profiles_too(tmp_path, capsys):
    rows = [f"={i},{x:.4f},{y:.4f}" for i, (x, y) in enumerate(data.ring13(seed=0, n=65)[0])]
    (tmp_path / "t.csv").write_text("\n".join(["id,=east,north", *rows]))
    fit = ["fit", tmp_path / "t.csv", "--id", "id", "--out", tmp_path / "run", *SHORT, "--seed", "3", "--force"]
    cells = {}
    for safe in (False, True):
        assert run(capsys, *fit, *(["--safe-csv"] if safe else []))[0] == 0
        with open(tmp_path / "run" / "profiles.csv", newline="") as file:
            cells[safe] = [cell for line in csv.reader(file) for cell in line]
    assert any(cell.startswith("=") for cell in cells[False])
    assert cells[True] == [f"'{cell}" if cell.startswith("=") else cell for cell in cells[False]]


# labels with more beside them


def test_labels_with_the_columns_of_the_data(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{'' if i == 3 else rng.choice(['=red', 'blue'])},{i % 2 == 0},r{i}" for i, x in enumerate(rng.normal(size=40))]
    (tmp_path / "t.csv").write_text("\n".join(["height,cluster,smoker,name", *lines]))
    fit = ["fit", tmp_path / "t.csv", "--id", "name", "--out", tmp_path / "run", *SHORT, "--seed", "1", "--with-columns", "--parquet"]
    code, out, err = run(capsys, *fit)
    assert code == 0, err
    assert "labels.parquet" in out
    for command in ([], ["resume", tmp_path / "run", "--draws", "25", "--quiet"]):
        assert not command or run(capsys, *command)[0] == 0
        with open(tmp_path / "run" / "labels.csv", newline="") as file:
            told = list(csv.DictReader(file))
        assert list(told[0]) == ["row", "cluster", "probability", "outlier", "height", "data.cluster", "smoker"]
        assert [float(line["height"]) for line in told] == [float(line.split(",")[0]) for line in lines]
        assert [line["data.cluster"] for line in told] == [line.split(",")[1] for line in lines]
        table = pyarrow.parquet.read_table(tmp_path / "run" / "labels.parquet").to_pydict()
        assert table["cluster"] == [int(line["cluster"]) for line in told]
        assert table["row"] == [line["row"] for line in told] == [f"r{i}" for i in range(40)]
        np.testing.assert_allclose(table["probability"], [float(line["probability"]) for line in told], atol=5e-5)
        assert table["data.cluster"][3] is None
    assert run(capsys, *fit, "--force", "--safe-csv")[0] == 0
    assert "'=red" in (tmp_path / "run" / "labels.csv").read_text()
    (tmp_path / "words.npz").write_bytes(b"")
    sparse.save_npz(tmp_path / "words.npz", sparse.csr_matrix(data.documents(20, 30, 2).X))
    code, _, err = run(capsys, "fit", tmp_path / "words.npz", "--out", tmp_path / "w", "--with-columns", *SHORT)
    assert (code, "must come with a table of columns" in err) == (2, True)


def test_notes_that_do_not_fit_their_run_are_refused(place, tmp_path, capsys):
    """A folder of a stranger's: nothing that it says may end in a traceback."""
    target = copied(place, tmp_path)
    note = hr.sampling.run_note(target / "checkpoint")
    wrong = (
        ({"rows": ["one"]}, "an entry of 'row' for each of 65 rows"),
        ({"beside": {"a": [1]}}, "an entry of 'a'"),
        ({"beside": 3}, "notes of a fit"),
    )
    for change, words in wrong:
        hr.resume(hr.Checkpoint(target / "checkpoint", note=note | change))
        code, _, err = run(capsys, "resume", target, "--quiet")
        assert code == 2
        assert words in err


# whole or absent


class Full:
    """A disk that takes so many bytes."""

    def __init__(self, limit):
        self.limit = limit

    def __call__(self):
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self.limit))


def limited(limit, *arguments):
    command = [sys.executable, "-c", "import sys; from hedgerow_command import main; sys.exit(main())", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=Full(limit), timeout=120)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["report", "mine"], "mine/report.html"),
        (["predict", "mine", "mine/labels.csv", "--out", "p.csv"], "p.csv"),
        (["tree", "mine", "--out", "t.png"], "t.png"),
        (["tree", "mine", "--out", "t.nwk"], "t.nwk"),
        (["tree", "mine", "--out", "t.html"], "t.html"),
    ],
)
def test_a_full_disk_leaves_the_file_of_before(place, tmp_path, arguments, name):
    target = copied(place, tmp_path)
    X = data.ring13(seed=0, n=65)[0]
    np.savetxt(target / "labels.csv", X, delimiter=",", header="east,north", comments="")
    (tmp_path / name).write_text("of before")
    arguments = [tmp_path / word if re.search(r"mine|\.", word) else word for word in arguments]
    done = limited(500, *arguments)
    assert done.returncode == 1, done.stderr
    assert "File too large" in done.stderr
    assert os.path.basename(name) in done.stderr
    assert ".tmp" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / name).read_text() == "of before"
    assert not [path for path in tmp_path.rglob("*") if ".tmp" in path.name]


def test_a_full_disk_leaves_no_stump_of_a_new_run(place, tmp_path, capsys):
    """The page does not fit, the run does: labels and run are whole, the report is absent, and can be written later."""
    done = limited(60_000, "fit", place / "flowers.csv", "--id", "plant", "--out", tmp_path / "run", *SHORT)
    assert done.returncode == 1
    assert "report.html: File too large" in done.stderr
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"run.hedge", "labels.csv", "profiles.csv", "checkpoint", ".lock"}
    assert run(capsys, "report", tmp_path / "run")[0] == 0


def test_whole_files(tmp_path):
    target = tmp_path / "name"
    target.write_text("old")
    target.chmod(0o640)

    def stop_half_way():
        with whole_file(target) as file:
            file.write(b"half")
            file.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stop_half_way()
    assert target.read_text() == "old"
    write_text(target, "\ud800é")
    assert target.read_bytes() == b"\\ud800\xc3\xa9"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["name"]
    link = tmp_path / "link"
    link.symlink_to(target)
    write_text(link, "own")
    assert (target.read_bytes(), link.read_text(), link.is_symlink()) == (b"\\ud800\xc3\xa9", "own", False)
    long = tmp_path / f"{'é' * 120}.txt"  # 244 bytes of the 255 that a name may have
    write_text(long, "")
    assert long.exists()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole_path(pipe) as there:
        assert there == pipe
        there.write_text("through")
    assert os.read(reader, 10) == b"through"
    os.close(reader)
    for wrong, words in (
        ("", "not empty"),
        ("a\0b", "without a NUL"),
        (tmp_path, "not a folder"),
        (tmp_path / "x" / "y", "existing folder"),
    ):
        with pytest.raises(hr.ParameterError, match=words):
            write_text(wrong, "")


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_checkpoints_that_are_no_paths(path):
    X = np.zeros((3, 1))
    model = hr.Mixture(hr.DP(), hr.GaussianDiagonal())
    for call in (hr.Checkpoint, hr.resume, lambda given: hr.sample(model, X, draws=1, checkpoint=given)):
        with pytest.raises(hr.ParameterError, match="must be a path, not empty and without a NUL"):
            call(path)


@pytest.mark.parametrize("command", [["fit", "flowers.csv", "--out", ""], ["report", "run", "--out", ""], ["stream", "--state", ""]])
def test_empty_paths_are_refused(place, capsys, monkeypatch, command):
    """A variable that was never set."""
    monkeypatch.chdir(place)
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 2
    assert "must be a path; got an empty text" in capsys.readouterr().err


# links of strangers


@pytest.mark.parametrize("name", [".lock", "labels.csv", "labels.parquet", "profiles.csv", "report.html", "run.hedge"])
@pytest.mark.parametrize("command", ["resume", "report", "fit"])
def test_links_in_the_place_of_files_are_refused(place, tmp_path, capsys, name, command):
    target = copied(place, tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (target / name).unlink(missing_ok=True)
    (target / name).symlink_to(victim)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    more = {"resume": [target, "--quiet"], "report": [target], "fit": [place / "flowers.csv", "--out", target, "--force", *SHORT]}
    code, _, err = run(capsys, command, *more[command])
    assert code == 2
    assert f"{name} is a link" in err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["lock", "labels.npy", "plan.hedge", "chain0-draws-000099.hedge", "manifest-000099.hedge"])
def test_links_in_a_checkpoint_are_refused(place, tmp_path, capsys, name):
    target = copied(place, tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (target / "checkpoint" / name).unlink(missing_ok=True)
    (target / "checkpoint" / name).symlink_to(victim)
    for more in (["resume", target, "--quiet"], ["fit", place / "flowers.csv", "--out", target, "--force", *SHORT]):
        code, _, err = run(capsys, *more)
        assert (code, victim.read_text()) == (2, "precious"), err
        assert name in err or "whole Hedgerow file" in err


def test_what_is_set_aside_by_a_stranger_moves_nothing(place, tmp_path, capsys):
    """`checkpoint` leads to somebody's folder and `.replaced` is there: once upon a time all files of that folder were moved."""
    target = copied(place, tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("precious")
    (target / "checkpoint").rename(target / ".replaced")
    (target / "checkpoint").symlink_to(home)
    code, _, err = run(capsys, "resume", target)
    assert (code, "holds the run that version 0.1 was about to replace" in err) == (2, True)
    assert [path.name for path in home.iterdir()] == ["thesis.txt"]
