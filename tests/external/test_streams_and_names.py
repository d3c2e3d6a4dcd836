"""Names and streams that are not UTF-8, closed or full: the right answer or one sentence, never a traceback."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
import hedgerow_command
from hedgerow import data
from hedgerow.cli.output import from_shell, text_of

SHORT = ["--draws", "20", "--warmup", "20", "--chains", "2", "--seed", "0", "--quiet"]
START = [sys.executable, "-c", "import sys; from hedgerow_command import main; sys.exit(main())"]
POSIX = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
NAME = b"p\xe9-run"  # Latin-1, as old archives have it


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A table with letters of many alphabets, and a run in a folder whose name is not UTF-8."""
    folder = tmp_path_factory.mktemp("names")
    X = data.ring13(seed=0, n=65)[0]
    lines = ["nömen,öst,north", *(f"ñ{i}☃,{a:.3f},{b:.3f}" for i, (a, b) in enumerate(X))]
    (folder / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    code, _, err = call(folder, ["fit", "t.csv", "--id", "nömen", "--out", NAME, *SHORT])
    assert (code, err) == (0, "")
    return folder


def call(folder: Path, arguments: list, more: dict[str, str] | None = None, **streams) -> tuple[int, bytes, str]:
    environment = {**os.environ, **(more or {})}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | streams
    done = subprocess.run([*START, *arguments], cwd=folder, env=environment, timeout=120, **streams)
    err = (done.stderr or b"").decode(errors="replace")
    assert "Traceback" not in err
    return done.returncode, done.stdout or b"", err  # type: ignore[return-value]


def test_a_folder_whose_name_is_not_utf_8(place) -> None:
    report = Path(os.fsdecode(os.fsencode(place) + b"/" + NAME)) / "report.html"
    before = report.read_bytes()
    code, out, _ = call(place, ["report", NAME])
    assert code == 0
    assert NAME in out  # the bytes that can be copied
    assert report.read_bytes() == before
    for name in (b"t\xe9.html", b"t\xe9.nwk", b"t\xe9.svg"):
        assert call(place, ["tree", NAME, "--out", name])[0] == 0
        assert os.path.getsize(os.fsencode(place) + b"/" + name) > 100


@pytest.mark.parametrize("encoding", [{"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii"}, POSIX])
def test_streams_of_other_encodings(place, encoding) -> None:
    code, out, err = call(place, ["summary", NAME], encoding)
    assert (code, err) == (0, "")
    assert (b"+-" if encoding.get("PYTHONIOENCODING") != "latin-1" else b"\xb1") in out  # ± or what there is of it
    code, out, err = call(place, ["predict", NAME, "t.csv", "--id", "nömen"], encoding)
    assert (code, err) == (0, "")
    told = list(csv.DictReader(StringIO(out.decode("utf-8"))))  # a table is UTF-8 wherever it goes
    assert [line["row"] for line in told] == [f"ñ{i}☃" for i in range(65)]


def test_arguments_in_the_posix_locale(place) -> None:
    code, _, err = call(place, ["fit", "t.csv", "--id", "nömen", "--title", "Tïtel", "--out", "c-run", *SHORT], POSIX)
    assert (code, err) == (0, "")
    assert "<title>Tïtel</title>" in (place / "c-run" / "report.html").read_text(encoding="utf-8")
    assert hr.load(place / "c-run" / "run.hedge").run["columns"] == ["öst", "north"]
    code, _, err = call(place, ["fit", "t.csv", "--title", b"T\xefx", "--out", "d-run", *SHORT])
    assert (code, err.count("\n")) == (2, 1)
    assert "must be text in UTF-8" in err
    assert not (place / "d-run").exists()


def test_json_lines_in_the_posix_locale(place) -> None:
    lines = "".join(f'{{"ä": {x:.3f}, "id": "ñ{i}"}}\n' for i, x in enumerate(np.random.default_rng(0).normal(size=30)))
    for encoding in (POSIX, {"PYTHONIOENCODING": "latin-1"}):
        command = [*START, "stream", "--id", "id", "--columns", "ä"]
        done = subprocess.run(command, input=lines.encode(), capture_output=True, env={**os.environ, **encoding}, timeout=120)
        assert done.returncode == 0, done.stderr
        assert rb'"id": "\u00f10"' in done.stdout or '"id": "ñ0"'.encode("latin-1") in done.stdout


def closed(*numbers: int):
    def close() -> None:
        for number in numbers:
            os.close(number)

    return {"preexec_fn": close, "stdout": None if 1 in numbers else subprocess.PIPE, "stdin": None}


@pytest.mark.parametrize(
    ("arguments", "numbers", "code", "words"),
    [
        (["summary", NAME], [1], 2, "standard output must be open"),
        (["predict", NAME, "t.csv", "--id", "nömen"], [1], 2, "standard output must be open"),
        (["stream"], [1], 2, "standard output must be open"),
        (["stream"], [0], 2, "standard input must be open"),
        (["report", NAME, "--out", "x.html"], [0, 1], 0, ""),
        (["fit", "t.csv", "--id", "nömen", "--out", "x-run", "--force", *SHORT], [0, 1], 0, ""),
    ],
)
def test_closed_streams(place, arguments, numbers, code, words) -> None:
    found, _, err = call(place, arguments, **closed(*numbers))
    assert found == code
    assert words in err
    assert err.count("\n") == (code == 2)


def test_a_closed_error_stream_takes_nothing_to_the_answers(place) -> None:
    code, out, _ = call(place, ["summary", "nothing"], **(closed(2) | {"stderr": None}))
    assert (code, out) == (2, b"")


@pytest.mark.parametrize("arguments", [["summary", NAME], ["predict", NAME, "t.csv", "--id", "nömen"]])
def test_full_streams(place, arguments) -> None:
    with open("/dev/full", "wb") as full:
        code, _, err = call(place, arguments, stdout=full)
    assert (code, err) == (1, "hedgerow: No space left on device\n")


def test_ctrl_c_while_the_library_is_loaded(tmp_path) -> None:
    """At any moment of the import; a module that waits stands in for a slow disk."""
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").write_text(
        "import time\nprint('loading', flush=True)\ntry:\n    time.sleep(60)\nexcept BaseException:\n    raise ImportError('broken')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen([*START, "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert process.stdout.readline() == b"loading\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"hedgerow: stopped; nothing was saved\n")


def test_nothing_is_loaded_before_ctrl_c_is_heard() -> None:
    """Every module that is, even `signal` of the standard library, is time in which Ctrl-C would be a traceback."""
    home = Path(hedgerow_command.__file__).parents[1]
    load = f"import sys; sys.path.insert(0, {str(home)!r}); import hedgerow_command; "
    tell = "print({'enum', 'signal', 'types'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", load + tell], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_half_letters_in_names_are_written_as_escapes(tmp_path) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    post = hr.sample(model, X, draws=5, warmup=5, chains=2, seed=0)
    rows = ["\ud800", "\udce9", "$\\frac", "$", *(f"r{i}" for i in range(8))]
    post.report(tmp_path / "p.html", title="\ud800t", rows=rows, names=["\udce9", "b"])
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "<title>\\ud800t</title>" in page
    assert '"\\ud800"' in page  # in the data it is JSON, which reads it back
    forest = hr.ibhc(post.model, X)
    axes = forest.plot(names=rows)
    for ending in ("svg", "png", "pdf"):
        axes.figure.savefig(tmp_path / f"t.{ending}")
    post.plot_scatter(names=["\udce9", "$a$"]).figure.savefig(tmp_path / "s.png")


def test_names_of_files_as_text() -> None:
    assert text_of("p\udce9") == "p?"
    assert text_of("\udcc3\udca9") == "é"  # UTF-8 that an ASCII locale did not know
    assert text_of("é") == "é"
    assert from_shell("p\udce9") == "p\udce9"
