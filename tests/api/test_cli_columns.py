"""Columns on the command line: what is guessed and said, overrides, and new rows that are not as the first ones were."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli import main

SHORT = ("--draws", "20", "--warmup", "20", "--chains", "2", "--seed", "1", "--quiet")
RNG = np.random.default_rng(1)
N = 60


def shop() -> pd.DataFrame:
    """Sixty orders as a person keeps them."""
    kind = RNG.integers(0, 2, N)
    return pd.DataFrame(
        {
            "order": np.arange(1, N + 1),
            "when": [
                f"{d:02d}.{m:02d}.2023 {h:02d}:15"
                for d, m, h in zip(1 + RNG.integers(0, 28, N), 1 + RNG.integers(0, 12, N), 9 + 9 * kind, strict=True)
            ],
            "price": [f"{p:.2f}".replace(".", ",") for p in 20 + 400 * kind + RNG.normal(0, 3, N)],
            "zip": RNG.choice(["02139", "10001"], N),
            "paid": RNG.choice(["ja", "nein"], N),
            "colour": RNG.choice(["red", "blue"], N),
        }
    )


@pytest.fixture
def run_folder(tmp_path):
    table = shop()
    table.to_csv(tmp_path / "shop.csv", index=False, sep=";", encoding="utf-16")
    assert main(["fit", str(tmp_path / "shop.csv"), "--out", str(tmp_path / "run"), "--likelihood", DIAGONAL, *SHORT]) == 0
    return tmp_path, table


DIAGONAL = (
    "Product({('price', 'when', 'when: hour (cos)', 'when: hour (sin)'): GaussianDiagonal(), "
    "('zip', 'colour'): Categorical(), 'paid': Bernoulli()})"
)


def test_what_was_guessed_is_said(tmp_path, capsys) -> None:
    shop().to_csv(tmp_path / "shop.csv", index=False, sep=";", encoding="utf-16")
    assert (
        main(["fit", str(tmp_path / "shop.csv"), "--out", str(tmp_path / "run"), "--drop", "colour", "--column", "zip=number", *SHORT])
        == 0
    )
    said = " ".join(capsys.readouterr().out.split())
    assert "Text in UTF-16. - Entries apart by ';'." in said
    for words in (
        "counts up by one from row to row, like a row number",
        "numbers with decimal commas",
        "yes or no (ja, nein)",
        "dates, the day first: days since the first, hour",
        "zip GaussianWishart as given",
    ):
        assert words in said
    assert "colour" not in said


def test_new_rows_are_read_as_the_first_were(run_folder, capsys) -> None:
    place, table = run_folder
    new = table.iloc[:4].drop(columns=["order"])[["colour", "price", "paid", "zip", "when"]]
    new.loc[0, "colour"] = "mauve"
    new.loc[1, "price"] = "unknown"
    new.loc[2, "paid"] = None
    new.to_csv(place / "new.csv", index=False)
    capsys.readouterr()
    assert main(["predict", str(place / "run"), str(place / "new.csv")]) == 0
    out, err = capsys.readouterr()
    assert "taken for gaps: colour: 1 of 4 entries ('mauve')" in err
    density = [float(line.split(",")[3]) for line in out.splitlines()[1:]]
    post = hr.load(place / "run" / "run.hedge")
    with pytest.warns(UserWarning, match="colour: 1 of 4 entries"):
        np.testing.assert_allclose(post.log_density(new, max_draws=200), density, atol=1e-6)
    assert np.isfinite(density).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--column", "zip"], "--column zip: must be NAME=KIND"),
        (["--column", "zip=nonsense"], "must be one of number, count, category"),
        (["--column", "nobody=number"], "must name columns of X"),
        (["--column", "colour=time"], "must hold dates, times or seconds since 1970"),
    ],
)
def test_overrides_that_cannot_be(tmp_path, capsys, options, words) -> None:
    shop().to_csv(tmp_path / "shop.csv", index=False)
    assert main(["fit", str(tmp_path / "shop.csv"), *options]) == 2
    assert words in capsys.readouterr().err


def test_headers_that_are_numbers(tmp_path, capsys) -> None:
    years = pd.DataFrame(RNG.normal(size=(40, 2)), columns=["2019", "2020"])
    years.to_csv(tmp_path / "years.csv", index=False)
    assert main(["fit", str(tmp_path / "years.csv"), "--header", "--out", str(tmp_path / "run"), *SHORT]) == 0
    assert "40 rows, 2 columns" in " ".join(capsys.readouterr().out.split())
    assert hr.load(tmp_path / "run" / "run.hedge").run["columns"] == ["2019", "2020"]
    assert main(["fit", str(tmp_path / "years.csv"), "--no-header", "--out", str(tmp_path / "other"), *SHORT]) == 0
    assert "41 rows, 2 columns" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("name", "make"), [("x.npy", lambda p: np.save(p, np.zeros((0, 3)))), ("x.csv", lambda p: p.write_text("a,b\n"))]
)
def test_no_rows_is_said_so(tmp_path, capsys, name, make) -> None:
    make(tmp_path / name)
    assert main(["fit", str(tmp_path / name)]) == 2
    assert "at least one row" in capsys.readouterr().err


def test_a_stream_takes_gaps_and_new_levels(monkeypatch, capsys, tmp_path) -> None:
    rows = [{"colour": "rb"[i % 2], "size": int(RNG.poisson(1 + i % 2 * 6))} for i in range(40)]
    later = [{"size": 3}, {"colour": "mauve", "size": "?"}, {"colour": "r", "size": 9}, {"other": 1}]
    command = ["stream", "--first", "40", "--whole-batches", "--state", str(tmp_path / "s.hedge")]
    for part in (rows, later):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(json.dumps(row) + "\n" for row in part)))
        assert main(command) == 0
    out, err = capsys.readouterr()
    answers = [json.loads(line) for line in out.splitlines()]
    assert len([answer for answer in answers if "row" in answer]) == 43
    assert [answer["error"] for answer in answers if "error" in answer] == ["an object must have one of the keys colour, size."]
    assert "1 entries were taken for gaps, 1 lines could not be used" in err


def test_an_instruction_set_that_there_is_not_is_refused() -> None:
    code = "import sys; from hedgerow.cli import main; sys.exit(main(['demo']))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"HEDGEROW_ISA": "foo"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.strip() == "hedgerow: HEDGEROW_ISA=foo: must be baseline, avx2 or avx512, and one that this machine has."
