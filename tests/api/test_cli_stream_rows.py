"""hedgerow stream as a person meets it: rows in, clusters and events out, bad lines, a state, a stop."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
from tests.checks import feed

from hedgerow.trees import TreeStream


def lines_of(n, seed=0):
    rng = np.random.default_rng(seed)
    for i in range(n):
        k = rng.integers(3)
        yield json.dumps({"sensor": f"s{i}", "t": float(rng.normal(20 + 5 * k, 0.5)), "h": float(rng.normal(0.3 * k, 0.05))})


def test_stream_answers_every_row(monkeypatch, capsys):
    code, told, err = feed(monkeypatch, capsys, lines_of(400), "--id", "sensor")
    rows = [line for line in told if "row" in line]
    assert code == 0
    assert [line["row"] for line in rows] == list(range(400))
    assert [line["id"] for line in rows] == [f"s{i}" for i in range(400)]
    assert "400 rows in" in err
    again = feed(monkeypatch, capsys, lines_of(400), "--id", "sensor", "--whole-batches")[1]
    assert again == feed(monkeypatch, capsys, lines_of(400), "--id", "sensor", "--whole-batches")[1]
    assert {"born"} <= {line["event"] for line in told if "event" in line}


def test_bad_lines_are_told_and_left_out(monkeypatch, capsys):
    good = list(lines_of(300))
    bad = ["nonsense", '{"sensor": "x", "t": 1}', '{"t": Infinity, "h": 0}', '{"t": "warm", "h": 0}', "[1, 2, 3]", "7"]
    code, told, err = feed(monkeypatch, capsys, [*good[:250], *bad, *good[250:]], "--drop", "sensor")
    assert code == 0
    assert sorted(line["line"] for line in told if "error" in line) == [251, 253, 255, 256]  # a cell that is none is a gap
    assert [line["row"] for line in told if "row" in line] == list(range(302))
    assert "4 lines could not be used" in err
    alone = feed(monkeypatch, capsys, good, "--drop", "sensor", "--batch", "300")[1]
    assert len([line for line in alone if "row" in line]) == 300


def test_stream_goes_on_from_its_state(monkeypatch, capsys, tmp_path):
    state = tmp_path / "trees.hedge"
    numbers = [json.dumps([json.loads(line)["t"], json.loads(line)["h"]]) for line in lines_of(300)]
    assert feed(monkeypatch, capsys, numbers[:200], "--state", state)[0] == 0
    code, told, err = feed(monkeypatch, capsys, numbers[200:], "--state", state)
    assert code == 0
    assert [line["row"] for line in told if "row" in line] == list(range(200, 300))
    assert str(state) in err
    code, _, err = feed(monkeypatch, capsys, numbers, "--state", state, "--prior", "DP()")
    assert code == 2
    assert "has its model already" in err


def test_a_model_that_does_not_suit_the_first_rows_ends_the_stream(monkeypatch, capsys):
    code, told, err = feed(monkeypatch, capsys, ["[1, 2]", "[1]"])
    assert (code, told) == (2, [])
    assert "equal length" in err


def test_a_lone_row_is_answered_at_once_and_a_stop_saves(tmp_path):
    state = tmp_path / "trees.hedge"
    arguments = ["stream", "--first", "100", "--drop", "sensor", "--state", str(state)]
    script = f"import sys; from hedgerow.cli import main; sys.exit(main({arguments!r}))"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("".join(f"{line}\n" for line in lines_of(100)))
    process.stdin.flush()
    seen = 0
    while seen < 100:
        seen += "row" in json.loads(process.stdout.readline())
    process.stdin.write('{"sensor": "late", "t": 20.0, "h": 0.0}\n')
    process.stdin.flush()
    line = json.loads(process.stdout.readline())
    while "row" not in line:
        line = json.loads(process.stdout.readline())
    assert line["row"] == 100
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped after 101 rows" in err
    assert TreeStream.load(state).n_seen == 101
