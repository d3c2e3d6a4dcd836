"""An estimator saved after every batch and killed at random moments goes on as one that nobody touched."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr

BATCHES, SIZE = 60, 25
SCRIPT = textwrap.dedent("""
    import sys
    from pathlib import Path
    import numpy as np
    import hedgerow as hr
    path, batches = Path(sys.argv[1]), np.load(sys.argv[2])
    online = hr.IncrementalBHC.load(path) if path.exists() else hr.IncrementalBHC(random_state=0)
    done = len(online.labels_) // batches.shape[1] if path.exists() else 0
    print(done, flush=True)
    for batch in batches[done:]:
        online.partial_fit(batch)
        online.save(path)
        print("saved", flush=True)
""")


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("rows") / "batches.npy"
    np.save(path, rng.normal(0, 0.4, (BATCHES, SIZE, 2)) + 4 * rng.integers(0, 3, (BATCHES, SIZE, 2)))
    return path


@pytest.fixture(scope="module")
def whole(source) -> hr.IncrementalBHC:
    online = hr.IncrementalBHC(random_state=0)
    for batch in np.load(source):
        online.partial_fit(batch)
    return online


def kill_and_restart(source: Path, whole: hr.IncrementalBHC, seed: int, place: Path, kills: int = 3) -> int:
    """Kill a process some times and let it finish; the kills that met it amid its batches."""
    place.mkdir()
    path, chance = place / "trees.hedge", random.Random(seed)
    hits = seen = 0
    for attempt in range(kills + 1):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), str(source)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        done = int(process.stdout.readline())
        assert done >= seen, "a saved batch was lost"
        seen = done
        if attempt < kills:  # after some batches and a moment, so that there are always some left
            for _ in range(chance.randrange(1 + (BATCHES - done) // 2)):
                process.stdout.readline()
            time.sleep(chance.uniform(0, 0.01))
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=120)
        assert process.returncode in ((-signal.SIGKILL, 0) if attempt < kills else (0,))
        hits += process.returncode != 0
    twin = hr.IncrementalBHC.load(path)
    np.testing.assert_array_equal(twin.labels_, whole.labels_)
    assert twin.events_ == whole.events_
    return hits


def test_a_killed_estimator_goes_on(source, whole, tmp_path) -> None:
    assert kill_and_restart(source, whole, 0, tmp_path / "trial", kills=2) > 0


@pytest.mark.slow
def test_fifty_killed_estimators_go_on(source, whole, tmp_path, capsys) -> None:
    hits = sum(kill_and_restart(source, whole, trial, tmp_path / str(trial)) for trial in range(50))
    with capsys.disabled():
        print(f"\n50 estimators, {hits} kills; all went on, all labels and events equal")
