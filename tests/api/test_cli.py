"""The command line as a person meets it: what it prints, what it writes, how it fails."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import io, sparse
from tests.checks import run

from hedgerow import data
from hedgerow.cli import main, summary
from hedgerow.posterior import Posterior
from hedgerow.summaries import profiles

SHORT = ["--draws", "20", "--warmup", "20", "--chains", "2", "--seed", "0", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of every kind, and one run."""
    place = tmp_path_factory.mktemp("cli")
    iris = data.iris()
    with open(place / "flowers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["plant", "length", "width", "petal length", "petal width", "species"])
        for i, (row, k) in enumerate(zip(iris.X, iris.labels, strict=True)):
            writer.writerow([f"p{i}", *row, iris.class_names[k]])
    np.savez(place / "flowers.npz", X=iris.X, y=iris.labels)
    np.save(place / "flowers.npy", iris.X)
    np.savetxt(place / "flowers.tsv", iris.X, delimiter="\t")
    toy = data.documents(60, 80, 3)
    io.mmwrite(place / "words.mtx", sparse.coo_matrix(toy.X).astype(int))
    sparse.save_npz(place / "words.npz", sparse.csr_matrix(toy.X))
    (place / "vocabulary.txt").write_text("".join(f"word{i}\n" for i in range(80)))
    rng = np.random.default_rng(0)
    with open(place / "people.csv", "w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["height", "colour", "smoker", "visits"])
        for _ in range(60):
            k = rng.integers(2)
            colour = rng.choice(["red", "green"] if k else ["blue", "green"])
            writer.writerow([f"{160 + 15 * k + rng.normal():.2f}", colour, bool(k), rng.poisson(1 + 4 * k)])
        writer.writerow(["", "NA", "", ""])
    fit = ["fit", str(place / "flowers.csv"), "--id", "plant", "--drop", "species", "--out", str(place / "run"), *SHORT]
    assert main(fit) == 0
    return place


# demo


def test_demo_says_what_it_found_and_where_without_any_extra(command_without, tmp_path):
    target = tmp_path / "d"
    done = command_without(["rich", "rich.progress", "matplotlib", "pandas", "polars", "pyarrow", "arviz"], "demo", "--out", target)
    assert done.returncode == 0, done.stderr
    assert "13 clusters in 1,300 points." in done.stdout
    assert "adjusted Rand index" in done.stdout
    assert {path.name for path in target.iterdir()} == {"report.html", "labels.csv", "profiles.csv", "run.hedge", ".lock"}
    for name in ("report.html", "labels.csv", "profiles.csv", "run.hedge"):
        assert str(target / name) in done.stdout


# fit


def test_fit_writes_a_run_that_can_be_read(folder):
    post = Posterior.load(folder / "run" / "run.hedge")
    assert post.labels.shape == (2, 20, 150)
    assert post.run["columns"] == ["length", "width", "petal length", "petal width"]
    assert "petal length" in (folder / "run" / "report.html").read_text()
    with open(folder / "run" / "labels.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["row"] for line in lines] == [f"p{i}" for i in range(150)]
    assert [int(line["cluster"]) for line in lines] == post.point_estimate().labels.tolist()


@pytest.mark.parametrize(
    ("name", "options", "likelihood"),
    [
        ("flowers.npz", [], "Prepared"),
        ("flowers.npy", [], "Prepared"),
        ("flowers.tsv", [], "Prepared"),
        ("words.mtx", ["--words", "vocabulary.txt"], "Multinomial"),
        ("words.npz", [], "Multinomial"),
        ("people.csv", [], "Product"),
    ],
)
def test_files_of_every_kind(folder, tmp_path, capsys, monkeypatch, name, options, likelihood):
    monkeypatch.chdir(folder)
    code, out, err = run(capsys, "fit", name, *options, "--out", tmp_path, *SHORT)
    assert (code, err) == (0, "")
    assert likelihood in out
    assert type(Posterior.load(tmp_path / "run.hedge").model.likelihood).__name__ == likelihood
    if "--words" in options:
        assert "word7" in (tmp_path / "report.html").read_text()
    if likelihood == "Product":
        assert "names, 3 different ones" in out  # reasons are told
        assert "colour=red" in (tmp_path / "report.html").read_text()


def test_parquet(folder, tmp_path, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    iris = data.iris()
    table = pyarrow.table({f"c{j}": iris.X[:, j] for j in range(4)})
    parquet.write_table(table, tmp_path / "flowers.parquet")
    code, out, _ = run(capsys, "fit", tmp_path / "flowers.parquet", "--columns", "c0,c2", "--out", tmp_path / "run", *SHORT)
    assert code == 0
    assert "150 rows, 2 columns" in out
    assert Posterior.load(tmp_path / "run" / "run.hedge").run["columns"] == ["c0", "c2"]


def test_everything_can_be_overridden(folder, tmp_path, capsys):
    code, _, _ = run(
        capsys, "fit", folder / "flowers.npy", "--prior", "NGG(alpha=Gamma(2, 1), sigma=0.25)", "--likelihood",
        "GaussianDiagonal(r=0.5)", "--kernel", "cycle(Gibbs(), SplitMerge(scans=2))", "--init", "one", "--loss", "binder",
        "--thin", "2", "--out", tmp_path, *SHORT,
    )  # fmt: skip
    assert code == 0
    post = Posterior.load(tmp_path / "run.hedge")
    assert repr(post.model.prior) == "NGG(alpha=Gamma(a=2.0, b=1.0), sigma=0.25, tau=1.0)"
    assert post.model.likelihood.r.tolist() == [0.5] * 4
    assert "SplitMerge(scans=2" in post.run["kernel"]
    assert post.run["thin"] == 2


def test_a_run_is_not_overwritten_unasked(folder, tmp_path, capsys):
    arguments = ["fit", folder / "flowers.npy", "--out", tmp_path, *SHORT]
    assert run(capsys, *arguments)[0] == 0
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert "--force" in err
    assert run(capsys, *arguments, "--force")[0] == 0


def test_interrupt_keeps_the_draws(folder, tmp_path):
    arguments = ["fit", str(folder / "flowers.npy"), "--out", str(tmp_path / "run"), "--draws", "2000000", "--thin", "2"]
    script = f"import sys; from hedgerow.cli import main; sys.exit(main({arguments!r}))"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    for line in process.stdout:  # the model is told just before sampling starts
        if line.startswith("Likelihood"):
            break
    time.sleep(3)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert "saved in" in err
    assert Posterior.load(tmp_path / "run" / "run.hedge").run["interrupted"]
    assert "stopped early" in out


# after the fit


def test_summary_in_words_and_in_json(folder, capsys):
    code, out, _ = run(capsys, "summary", folder / "run")
    assert code == 0
    assert "clusters in 150 points." in out
    assert "r_hat" in out
    assert "stands out by" in out
    assert re.search(r"petal width \d\.\d\d ± 0\.\d\d", out)
    code, out, _ = run(capsys, "summary", folder / "run" / "run.hedge", "--json")
    told = json.loads(out)
    assert code == 0
    assert sum(told["sizes"]) == told["rows"] == 150
    assert sum(told["posterior_of_n_clusters"].values()) == pytest.approx(1.0)


def test_words_fit_the_terminal(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for columns in (50, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        _, out, _ = run(capsys, "summary", folder / "run")
        words, tables = out.split("quantity", 1)
        assert 0.7 * columns < max(map(len, words.splitlines())) < columns
        assert max(map(len, tables.splitlines())) < max(columns, 80)  # numbers side by side do not break


def test_many_clusters_are_not_all_told(capsys):
    n = summary.MOST_CLUSTERS + 3
    found = profiles(np.arange(n + 5.0)[:, None], [*range(n), 0, 0, 0, 0, 0], np.arange(n + 5)[None], names=["a, b"])
    summary._tell_clusters(found)
    told = capsys.readouterr().out.splitlines()
    assert len(told) == summary.MOST_CLUSTERS + 3
    assert told[2].split()[:6] == ["0", "6", "16%", "0.000", "a,", "b"]
    assert told[-1] == "and 3 smaller ones with 3 points together"


def test_report_again(folder, tmp_path, capsys):
    code, out, _ = run(capsys, "report", folder / "run", "--out", tmp_path / "page.html", "--title", "A <title>")
    assert code == 0
    assert str(tmp_path / "page.html") in out
    page = (tmp_path / "page.html").read_text()
    assert "A &lt;title&gt;" in page
    assert "p149" in page  # names of rows come from labels.csv
    (tmp_path / "flowers-run").mkdir()
    (tmp_path / "flowers-run" / "run.hedge").write_bytes((folder / "run" / "run.hedge").read_bytes())
    assert run(capsys, "report", tmp_path / "flowers-run")[0] == 0
    assert "<title>flowers</title>" in (tmp_path / "flowers-run" / "report.html").read_text()


def test_predict_finds_columns_by_name(folder, tmp_path, capsys):
    with open(folder / "flowers.csv", newline="") as file:
        lines = list(csv.DictReader(file))[:5]
    with open(tmp_path / "new.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["petal width", "length", "extra", "petal length", "width"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**line, "extra": 1} for line in lines)
    code, out, _ = run(capsys, "predict", folder / "run", tmp_path / "new.csv")
    assert code == 0
    told = list(csv.DictReader(out.splitlines()))
    assert [line["cluster"] for line in told] == ["1"] * 5  # setosa, the smaller of two
    assert all(0 < float(line["probability"]) <= 1 for line in told)
    code, out, _ = run(capsys, "predict", folder / "run", tmp_path / "new.csv", "--proba", "--out", tmp_path / "p.csv")
    assert code == 0
    table = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[:, 1:].sum(axis=1), 1.0, atol=1e-5)
    (tmp_path / "short.csv").write_text("length,width\n1,2\n")
    code, _, err = run(capsys, "predict", folder / "run", tmp_path / "short.csv")
    assert code == 2
    assert "It lacks petal length, petal width." in err


@pytest.mark.parametrize("ending", ["svg", "nwk", "html"])
def test_tree(folder, tmp_path, capsys, ending):
    target = tmp_path / f"tree.{ending}"
    code, out, _ = run(capsys, "tree", folder / "run", "--out", target)
    assert code == 0
    assert "trees, one for each cluster" in out
    text = target.read_text()
    assert {"svg": "<svg", "nwk": "p149", "html": "p149"}[ending] in text


def test_tree_of_a_file(folder, tmp_path, capsys):
    code, out, _ = run(capsys, "tree", folder / "flowers.npy", "--greedy", "--out", tmp_path / "tree.png")
    assert code == 0
    assert "GaussianWishart" in out
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")


# what goes wrong


WRONG = """\
fit nothing.csv -> nothing.csv: must name an existing file
fit vocabulary.doc -> must end in csv, tsv, txt or mtx (each also with .gz), parquet, npy or npz
fit ragged.csv -> line 3 must have 2 entries
fit empty.csv -> must have at least one row
fit doubled.csv -> a different name for every column
fit broken.npz -> must be a readable .npz file
fit flowers.csv --drop nonsense -> must have the column 'nonsense'
fit flowers.npy --id plant -> must have named columns
fit flowers.npz --array Z -> It has X, y
fit flowers.npy --prior NGG(sigma=1.2) -> NGG(sigma=1.2): sigma must lie in [0, 1)
fit flowers.npy --prior __import__('os') -> must be a number, a text or one of DP
fit flowers.npy --prior DP(alpha=open('x')) -> must be a number, a text or one of DP
fit flowers.npy --prior DP(beta=1) -> DP(...) cannot be made so
fit flowers.npy --prior Gamma(1,1) -> must be one of DP
fit flowers.npy --likelihood DP( -> must be a call such as GaussianWishart()
fit flowers.npy --draws 0 -> sample(draws=0): draws must be
fit flowers.npy --out flowers.csv -> must name a folder
fit words.mtx --words flowers.csv -> must have a line for each of the 80 columns
summary vocabulary.txt -> path must name a whole Hedgerow file
summary . -> must be a run folder
tree flowers.npy --out tree.doc -> must end in png, svg, pdf, nwk or html
tree run --prior DP() -> has its model already
"""


@pytest.mark.parametrize(("arguments", "words"), [line.split(" -> ") for line in WRONG.splitlines()])
def test_errors_are_one_line_and_exit_2(folder, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(folder)
    (folder / "vocabulary.doc").write_text("")
    (folder / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    (folder / "empty.csv").write_text("")
    (folder / "doubled.csv").write_text("a,a\n1,2\n")
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 not a zip")
    code, _, err = run(capsys, *arguments.split())
    assert code == 2
    assert words in err
    assert err.startswith("hedgerow: ")
    assert err.count("\n") == 1


def test_help_version_and_no_command(capsys):
    assert run(capsys)[0] == 2
    for arguments in (["--help"], ["fit", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        out = capsys.readouterr().out
        assert ("examples:" in out) or out.startswith("hedgerow 0.")


def test_unwritable_place_is_exit_1(folder, capsys):
    code, _, err = run(capsys, "report", folder / "run", "--out", "/proc/page.html")
    assert code == 1
    assert "/proc/page.html: No such file or directory" in err
    code, _, err = run(capsys, "report", folder / "run", "--out", folder / "no" / "such" / "page.html")
    assert code == 2
    assert "out must lie in an existing folder" in err


def test_rows_in_time(folder, capsys, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{i // 20},{rng.normal(5 * (i % 2)):.3f},{rng.normal():.3f}\n" for i in range(60)]
    (tmp_path / "moving.csv").write_text("when,a,b\n" + "".join(lines))
    prior = "MixedNRM(NGG(1.0, 0.3, 0.1), decay=0.5)"
    code, out, err = run(capsys, "fit", tmp_path / "moving.csv", "--times", "when", "--prior", prior, "--out", tmp_path / "run", *SHORT)
    assert (code, "Prior: MixedNRM" in out) == (0, True), err
    assert Posterior.load(tmp_path / "run" / "run.hedge").times is not None
