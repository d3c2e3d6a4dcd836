"""`hedgerow stream`: rows of CSV, rows that are forgotten, and events that name rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.checks import answers, feed

RNG = np.random.default_rng(0)
ROWS = [(i, float(x), float(y)) for i, (x, y) in enumerate(RNG.normal(0, 1, (240, 2)) + 6 * RNG.integers(0, 2, (240, 1)))]
EXACT = ["--first", "30", "--batch", "10", "--whole-batches", "--save-every", "0", "--id", "n"]
AS_JSON = [json.dumps({"n": n, "b": x, "a": y}) for n, x, y in ROWS]
AS_CSV = ["n,b,a", *(f"{n},{x!r},{y!r}" for n, x, y in ROWS)]


def test_csv_is_answered_as_json_is(monkeypatch, capsys) -> None:
    _, told, _ = feed(monkeypatch, capsys, AS_JSON, *EXACT)
    for lines in (AS_CSV, [line.replace(",", ";") for line in AS_CSV], ["\ufeff" + AS_CSV[0], *AS_CSV[1:]], ["", *AS_CSV]):
        code, same, _ = feed(monkeypatch, capsys, lines, *EXACT)
        assert code == 0
        assert same == told


def test_words_gaps_and_quotes_in_csv(monkeypatch, capsys) -> None:
    lines = [
        "kind,x",
        *(f'"a, or {"b" if i % 2 else "c"}",{i % 2 * 8 + i / 100}' for i in range(60)),
        ",3.5",
        '"a, or b",',
        "x",
        "x,1,2",
    ]
    _, told, err = feed(monkeypatch, capsys, lines, "--first", "40")
    assert [line["line"] for line in told if "error" in line] == [64, 65]
    assert "must have the 2 fields of the header. Got 1." in next(line["error"] for line in told if "error" in line)
    assert "62 rows" in err


def test_a_state_goes_on_whichever_way_csv_comes_again(monkeypatch, capsys, tmp_path) -> None:
    _, whole, _ = feed(monkeypatch, capsys, AS_CSV, *EXACT, "--forget", "60")
    for name, rest in (("replayed", AS_CSV), ("new", [AS_CSV[0], *AS_CSV[131:]])):
        state = tmp_path / name
        _, first, _ = feed(monkeypatch, capsys, AS_CSV[:131], *EXACT, "--forget", "60", "--state", state)
        again = ["--replay"] if name == "replayed" else []
        code, second, _ = feed(monkeypatch, capsys, rest, *EXACT, "--forget", "60", "--state", state, *again)
        assert code == 0
        assert answers(first) + answers(second) == answers(whole)
    code, _, err = feed(monkeypatch, capsys, AS_CSV, *EXACT, "--forget", "70", "--state", state)
    assert code == 2
    assert "--forget 70: must be as when" in err


def test_rows_are_forgotten_by_the_clock_and_clusters_die(monkeypatch, capsys) -> None:
    lines = ["t,x,y", *(f"{i},{x + (40 if i < 60 else 0)},{y}" for i, x, y in ROWS), f"{10**7},0,0"]
    _, told, _ = feed(
        monkeypatch, capsys, lines, "--first", "30", "--batch", "10", "--whole-batches", "--forget", "0.5min", "--when", "t"
    )
    first = next(line["cluster"] for line in told if "row" in line)
    assert {"event": "died", "cluster": first, "size": 0} == {
        key: value
        for line in told
        if line.get("event") == "died" and line["cluster"] == first
        for key, value in line.items()
        if key != "at"
    }


def test_events_name_rows(monkeypatch, capsys) -> None:
    rng = np.random.default_rng(2)
    lines = ["x,y", *(f"{x},{y}" for x, y in rng.normal(0, 1, (1500, 2)) + 3 * rng.integers(0, 2, (1500, 1)))]
    _, told, _ = feed(monkeypatch, capsys, lines, "--first", "20", "--batch", "20", "--whole-batches")
    moved = [line for line in told if line.get("rows")]
    assert moved
    assert all(line["event"] in ("split", "joined") for line in moved)
    assert all(len(line["rows"]) == line["size"] for line in moved if line["event"] == "split")


@pytest.mark.parametrize(
    ("arguments", "lines", "words"),
    [
        (["--forget", "soon"], AS_JSON, "forget must be a number of rows above 0"),
        (["--forget", "5min"], AS_JSON, "--forget 5min: must come with --when"),
        (["--forget", "5", "--max-nodes", "1000"], AS_JSON, "--max-nodes 1000: must be left out with --forget"),
        ([], ["1,2", "3,4"], "the first line must be JSON, or a CSV header of distinct names"),
        ([], ["a,a", "3,4"], "the first line must be JSON, or a CSV header of distinct names"),
    ],
)
def test_what_cannot_be_is_refused(monkeypatch, capsys, arguments: list[str], lines: list[str], words: str) -> None:
    code, _, err = feed(monkeypatch, capsys, lines, *arguments)
    assert code == 2
    assert words in err
