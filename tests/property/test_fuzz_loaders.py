"""A little of `make fuzz` in every test run, with a fixed seed: hostile files and lines are refused in the house's words."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[2] / "tools" / "fuzz"
GROUPS = [
    ["container", "forest", "csv", "gzip", "npy", "npz", "mtx", "parquet"],
    ["posterior", "sharded", "run"],
    ["stream", "incremental", "jsonl"],
]


@pytest.mark.parametrize("targets", GROUPS, ids="-".join)
def test_readers_withstand_hostile_input(targets, tmp_path) -> None:
    chosen = [word for name in targets for word in ("--target", name)]
    arguments = [sys.executable, str(FUZZ), *chosen, "--cases", "40", "--seed", "1", "--out", str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", 0 findings") == len(targets)


def test_a_reader_that_stumbles_is_found(tmp_path) -> None:
    """The search itself: a crash, an exception, a hang and a large allocation are all findings."""
    script = textwrap.dedent(f"""
        import os, runpy, sys, time
        import numpy as np
        sys.path.insert(0, {str(FUZZ)!r})
        import targets
        acts = {{"crash": lambda path: os.abort(), "error": lambda path: 1 / 0, "hang": lambda path: time.sleep(9),
                 "memory": lambda path: np.ones(2**28)}}
        targets.TARGETS = {{name: targets.Target(targets._npys, "raw", act) for name, act in acts.items()}}
        runpy.run_path({str(FUZZ / "__main__.py")!r}, run_name="__main__")
    """)
    arguments = [sys.executable, "-c", script, "--cases", "1", "--seconds", "1", "--out", str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    for words in ("signal 6", "ZeroDivisionError", "no answer in 1 s", "MemoryError"):
        assert words in done.stdout, done.stdout + done.stderr
    assert {path.name.split("-")[0] for path in tmp_path.iterdir()} == {"crash", "error", "hang", "memory"}
