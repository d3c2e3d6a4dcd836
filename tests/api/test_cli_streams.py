"""The state of `hedgerow stream`: what is in it, who may write it, and input that nobody should send."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checks import answers, feed

from hedgerow.cli import stream_input
from hedgerow.sampling.lock import FolderLock
from hedgerow.trees import TreeStream

RNG = np.random.default_rng(0)
ROWS = [json.dumps({"b": float(x), "a": float(y)}) for x, y in RNG.normal(0, 1, (120, 2)) + 6 * RNG.integers(0, 2, (120, 1))]
EXACT = ["--first", "30", "--batch", "10", "--whole-batches", "--save-every", "0"]


def states(told: list[Any]) -> list[tuple[int, int]]:
    return [(line["lines"], line["rows"]) for line in told if "state" in line]


def test_a_state_tells_its_lines_and_skips_them_on_replay(monkeypatch, capsys, tmp_path) -> None:
    lines = [*ROWS[:40], "", "nonsense", *ROWS[40:]]
    _, whole, _ = feed(monkeypatch, capsys, lines, *EXACT)
    state = tmp_path / "s.hedge"
    _, first, _ = feed(monkeypatch, capsys, lines[:82], "--state", state, *EXACT)
    assert states(first)[0] == (30, 30)
    assert states(first)[-1] == (82, 80)
    code, rest, _ = feed(monkeypatch, capsys, lines, "--state", state, "--replay", *EXACT)
    assert code == 0
    assert states(rest)[0] == (82, 80)
    assert answers(first) + answers(rest) == answers(whole)
    code, again, err = feed(monkeypatch, capsys, lines[:50], "--state", state, "--replay", *EXACT)
    assert code == 2
    assert "must begin with the 122 lines that the state has seen. Got 50 lines." in err
    assert states(again) == [(122, 120)]
    _, more, _ = feed(monkeypatch, capsys, ROWS[:5], "--state", state, *EXACT)  # a feed that goes on is counted on
    assert states(more)[-1] == (127, 125)


def test_columns_are_kept(monkeypatch, capsys, tmp_path) -> None:
    state = tmp_path / "s.hedge"
    feed(monkeypatch, capsys, ROWS[:50], "--state", state, "--columns", "b,a", *EXACT)
    assert TreeStream.load(state).note["columns"] == ["b", "a"]
    other = json.dumps({"a": 0.0, "b": 0.0, "c": 9.0})
    code, told, _ = feed(monkeypatch, capsys, [other], "--state", state)
    assert (code, "row" in told[1]) == (0, True)
    code, _, err = feed(monkeypatch, capsys, [other], "--state", state, "--columns", "a,b")
    assert (code, "must be those of the state, b, a" in err) == (2, True)


def test_the_state_before_is_kept_and_used(monkeypatch, capsys, tmp_path) -> None:
    state = tmp_path / "s.hedge"
    _, told, _ = feed(monkeypatch, capsys, ROWS[:90], "--state", state, *EXACT)
    assert states(told)[-2:] == [(80, 80), (90, 90)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".s.hedge.lock", "s.hedge", "s.hedge.before"]
    for damage, why in ((lambda: state.write_bytes(state.read_bytes()[:-50]), "is damaged"), (state.unlink, "is gone")):
        damage()
        _, told, err = feed(monkeypatch, capsys, [], "--state", state)
        assert states(told) == [(80, 80)]
        assert f"{state} {why}; going on from" in err
    _, told, _ = feed(monkeypatch, capsys, ROWS, "--state", state, "--replay", *EXACT)
    _, whole, _ = feed(monkeypatch, capsys, ROWS, *EXACT)
    assert answers(told) == [line for line in answers(whole) if line.get("row", line.get("at", 0)) >= 80]
    for path in (state, Path(f"{state}.before")):
        path.write_bytes(b"nothing")
    code, _, err = feed(monkeypatch, capsys, ROWS, "--state", state)
    assert (code, "must name a whole Hedgerow file" in err) == (2, True)


def test_a_state_of_python_has_its_rows_as_lines(monkeypatch, capsys, tmp_path) -> None:
    state = tmp_path / "s.hedge"
    feed(monkeypatch, capsys, ROWS[:50], "--state", state)
    stream = TreeStream.load(state)
    stream.save(state, note={})
    assert states(feed(monkeypatch, capsys, [], "--state", state)[1]) == [(50, 50)]
    stream.save(state, note={"lines": "many"})
    (tmp_path / "s.hedge.before").unlink(missing_ok=True)
    code, _, err = feed(monkeypatch, capsys, [], "--state", state)
    assert (code, "must say how many lines it has seen" in err) == (2, True)


def test_a_second_writer_is_refused(monkeypatch, capsys, tmp_path) -> None:
    with FolderLock(tmp_path, "x", name=".s.hedge.lock"):
        code, told, err = feed(monkeypatch, capsys, ROWS, "--state", tmp_path / "s.hedge")
    assert (code, told) == (2, [])
    assert f"name a file that no other run is writing to; process {os.getpid()} on" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--replay"], "--replay: must come with --state"),
        (["--save-every", "-1"], "--save-every -1.0: must be 0 or more"),
        (["--state", "/no/such/folder/s.hedge"], "must lie in an existing folder"),
    ],
)
def test_refused(monkeypatch, capsys, options, words) -> None:
    code, told, err = feed(monkeypatch, capsys, ROWS, *options)
    assert (code, told) == (2, [])
    assert words in err


def test_lines_that_nobody_should_send(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.setattr(stream_input, "LONGEST_LINE", 1000)
    bad = [
        b"\xff\xfe",
        "[" * 900,
        "x" * 5000,
        json.dumps({"a": 10**1500, "b": 0})[:900],
        '{"a": 1' + "0" * 400 + ', "b": 0}',
        '{"a": NaN, "b": 0}',
        '{"a": [1], "b": 0}',
        '{"\\udfff": 0}',
        "{}",
        "[]",
        "[true]",
        "[null]",
        '["1", 2]',
        "\x00",
    ]
    gap = '{"a": "\\ud800", "b": 0}'  # a cell that is no number is a gap, and the line is used
    code, told, err = feed(monkeypatch, capsys, [*ROWS[:60], *bad, gap, *ROWS[60:]], "--state", tmp_path / "s.hedge", *EXACT)
    assert code == 0, err
    assert sorted(line["line"] for line in told if "error" in line) == list(range(61, 61 + len(bad)))
    assert [line["row"] for line in told if "row" in line] == list(range(121))


def test_a_first_object_without_columns_is_a_bad_line(monkeypatch, capsys) -> None:
    code, told, err = feed(monkeypatch, capsys, ["{}", '{"id": 3}', *ROWS[:40]], "--id", "id", *EXACT)
    assert code == 0, err
    assert [line["line"] for line in told if "error" in line] == [1, 2]
    assert [line["row"] for line in told if "row" in line] == list(range(40))


def test_half_letters_come_back(monkeypatch, capsys, tmp_path) -> None:
    lines = [json.dumps({"id": "\ud800", "a": i % 7, "b": float(i)}) for i in range(20)]
    code, told, err = feed(monkeypatch, capsys, lines, "--id", "id", "--state", tmp_path / "s.hedge")
    assert code == 0, err
    assert told[0]["id"] == "\ud800"
    stream = TreeStream.load(tmp_path / "s.hedge")
    stream.save(tmp_path / "t.hedge", note={"\udfff": "\ud800"})
    assert TreeStream.load(tmp_path / "t.hedge").note == {"\udfff": "\ud800"}


def test_columns_are_told_by_name(monkeypatch, capsys) -> None:
    code, _, told = feed(monkeypatch, capsys, ROWS[:40])
    assert code == 0
    assert "(b)" in told
    assert "(a)" in told
    assert "column 0" not in told


def test_the_same_command_starts_it_again(monkeypatch, capsys, tmp_path) -> None:
    """As a service manager does; what the state has for good may be repeated, and cannot be changed."""
    command = ["--state", tmp_path / "s.hedge", "--prior", "DP(alpha=2.0)", "--likelihood", "GaussianDiagonal()", *EXACT]
    command += ["--seed", "4", "--max-nodes", "5000"]
    assert feed(monkeypatch, capsys, ROWS[:60], *command)[0] == 0
    for again in (command, [*command, "--prior", "DP( 2 )"], ["--state", tmp_path / "s.hedge", *EXACT]):
        code, told, err = feed(monkeypatch, capsys, ROWS[60:70], *again)
        assert code == 0, err
        assert len(answers(told)) >= 10
    assert TreeStream.load(tmp_path / "s.hedge").note["options"]["likelihood"] == "GaussianDiagonal()"
    for option, value in (
        ("--prior", "DP(1.0)"), ("--likelihood", "GaussianDiagonal(a=3.0)"), ("--likelihood", "GaussianWishart()"),
        ("--seed", "5"), ("--max-nodes", "6000"),
    ):  # fmt: skip
        code, told, err = feed(monkeypatch, capsys, ROWS[60:70], *command, option, value)
        assert (code, answers(told)) == (2, [])
        assert f"{option} {value}: must be as when --state" in err


def test_a_state_whose_model_was_guessed(monkeypatch, capsys, tmp_path) -> None:
    state = ["--state", tmp_path / "s.hedge", *EXACT]
    assert feed(monkeypatch, capsys, ROWS[:60], *state)[0] == 0
    prior = str(TreeStream.load(tmp_path / "s.hedge").model.prior)
    assert feed(monkeypatch, capsys, ROWS[60:70], *state, "--prior", prior, "--seed", "0")[0] == 0
    code, _, err = feed(monkeypatch, capsys, ROWS[60:70], *state, "--likelihood", "GaussianWishart()")
    assert (code, "a state has its model already" in err) == (2, True)


@pytest.mark.parametrize("name", ["s.hedge.new", "s.hedge.before", ".s.hedge.lock"])
def test_links_beside_a_state_are_refused(monkeypatch, capsys, tmp_path, name) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / name).symlink_to(tmp_path / "victim")
    code, told, err = feed(monkeypatch, capsys, ROWS, "--state", tmp_path / "s.hedge")
    assert (code, told) == (2, [])
    assert "link" in err
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "s.hedge").exists()
