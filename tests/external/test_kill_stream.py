"""A stream killed at random moments and started again answers as one that nobody touched."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.trees import TreeStream

LINES = 1500
OPTIONS = ["--first", "60", "--batch", "15", "--whole-batches", "--save-every", "0", "--max-nodes", "1000", "--id", "n"]
SCRIPT = "import sys; from hedgerow.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Rows of nine clusters that come one after the other, a few bad lines, a few empty ones."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 6, (9, 2))
    path = tmp_path_factory.mktemp("stream") / "rows.jsonl"
    with open(path, "w") as file:
        for i in range(LINES):
            x = rng.normal(centres[rng.integers(3 + 6 * i // LINES)])
            line = json.dumps({"n": i, "a": round(x[0], 3), "b": round(x[1], 3)})
            file.write("\n" if i % 97 == 5 else "nonsense\n" if i % 113 == 7 else f"{line}\n")
    return path


def start(source: Path, state: Path, out: Path) -> subprocess.Popen[bytes]:
    with open(source, "rb") as rows, open(out, "wb") as answers:
        arguments = [sys.executable, "-c", SCRIPT, "stream", "--state", str(state), "--replay", *OPTIONS]
        return subprocess.Popen(arguments, stdin=rows, stdout=answers, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory) -> tuple[list[Any], TreeStream]:
    """The answers of a process that nobody kills, and its last state."""
    place = tmp_path_factory.mktemp("whole")
    process = start(source, place / "state.hedge", place / "out")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    answers, _ = merge([], {}, place / "out")
    return answers, TreeStream.load(place / "state.hedge")


def merge(answers: list[Any], borders: dict[int, int], out: Path) -> tuple[list[Any], int]:
    """Answers so far with those of one process after them, which begins where its state was; and the lines in that state."""
    began = 0
    for number, text in enumerate(out.read_text().splitlines()):
        told = json.loads(text)
        if "state" not in told:
            if number == 0:  # killed before the first state was saved: it all comes again
                answers.clear()
            answers.append(told)
            continue
        if number == 0:  # killed after a save and before it was told: then the answers end where the state does
            began = told["lines"]
            del answers[borders.get(told["rows"], len(answers)) :]
        borders[told["rows"]] = len(answers)
    return answers, began


def kill_and_restart(source: Path, whole: tuple[list[Any], TreeStream], seed: int, place: Path, kills: int = 3) -> int:
    """Kill one stream some times and let it finish; the kills that met it amid its rows."""
    place.mkdir()
    chance, state = random.Random(seed), place / "state.hedge"
    answers: list[Any] = []
    borders: dict[int, int] = {}
    hits, seen = 0, 0
    length = sum(len(json.dumps(told)) for told in whole[0])  # of what is answered: by a clock a fast machine is done before
    for attempt in range(kills + 1):
        out = place / f"out{attempt}"
        process = start(source, state, out)
        if attempt < kills:
            enough = chance.uniform(0, 0.7) * length
            while out.stat().st_size <= enough and process.poll() is None:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
        _, err = process.communicate(timeout=300)
        assert process.returncode in ((-signal.SIGKILL, 0) if attempt < kills else (0,)), err
        hits += process.returncode != 0
        answers, began = merge(answers, borders, out)
        assert began >= seen, "a state was lost"
        seen = began
    assert answers == whole[0]
    twin = TreeStream.load(state)
    assert twin.events == whole[1].events
    assert twin.n_seen == whole[1].n_seen
    np.testing.assert_array_equal(twin.cluster_ids, whole[1].cluster_ids)
    for name, value in whole[1].values.items():
        np.testing.assert_array_equal(twin.values[name], value, err_msg=name)
    return hits


def test_a_killed_stream_goes_on(source, whole, tmp_path) -> None:
    assert kill_and_restart(source, whole, 0, tmp_path / "trial", kills=2) > 0
    assert {"row", "event", "line"} <= {key for told in whole[0] for key in told}


@pytest.mark.slow
def test_fifty_killed_streams_go_on(source, whole, tmp_path, capsys) -> None:
    hits = sum(kill_and_restart(source, whole, trial, tmp_path / str(trial)) for trial in range(50))
    with capsys.disabled():
        print(f"\n50 streams, {hits} kills; all went on, all answers and events equal")
