"""What `hedgerow fit` says beside the answer: columns of long names, names of words, and what to do with very many clusters."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse
from tests.checks import run

from hedgerow import data
from hedgerow.cli.fit import MANY

SHORT = ["--draws", "5", "--warmup", "5", "--chains", "2", "--seed", "0", "--quiet"]


def test_reasons_stand_below_names_that_leave_no_room_beside_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    name = "temperature_of_the_water_at_noon_on_the_first_day_of_the_month_in_celsius"
    with open(tmp_path / "seas.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([name, "sea"])
        writer.writerows([f"{rng.normal():.3f}", rng.choice(["Baltic", "Black"])] for _ in range(60))
    _, out, _ = run(capsys, "fit", tmp_path / "seas.csv", "--out", tmp_path / "run", *SHORT)
    lines = out.splitlines()
    assert lines[lines.index(f"    {name}") + 1].startswith("      GaussianWishart: measurements")
    assert lines[lines.index("    sea") + 1].startswith(("      Bernoulli: ", "      Categorical: ", "      left out: "))
    assert max(map(len, lines)) <= 96


def test_words_are_told_by_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    io.mmwrite(tmp_path / "words.mtx", sparse.coo_matrix(data.documents(60, 80, 3).X).astype(int))
    (tmp_path / "words.txt").write_text("".join(f"word{i}\n" for i in range(80)))
    words = ("--words", tmp_path / "words.txt")
    _, out, _ = run(capsys, "fit", tmp_path / "words.mtx", *words, "--out", tmp_path / "run", *SHORT)
    assert "word0, word1, word2, word3, ..., word79  Multinomial" in out


@pytest.mark.parametrize(("made", "options", "told"), [(100, [], True), (4, [], False), (100, ["--power", "0.99"], False)])
def test_where_clusters_are_very_many_it_says_how_to_get_fewer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: int, options: list[str], told: bool
) -> None:
    rng = np.random.default_rng(1)
    rows = np.repeat(20 * rng.normal(size=(made, 4)), 10, axis=0) + rng.normal(size=(10 * made, 4))
    np.save(tmp_path / "rows.npy", rows)
    _, out, _ = run(capsys, "fit", tmp_path / "rows.npy", *options, "--out", tmp_path / "run", *SHORT)
    found = re.search(r"^(\d+) clusters in", out, re.MULTILINE)
    assert found is not None
    assert (int(found[1]) > MANY) == (made > MANY)
    assert ("`hedgerow levels" in out) == told
