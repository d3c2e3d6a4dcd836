"""Runs killed with SIGKILL at random moments: every one resumes, nothing recorded is lost, the draws are those of a whole run."""

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
from hedgerow.posterior import Posterior
from hedgerow.sampling.chain_files import read_block
from hedgerow.sampling.manifest import newest_manifest

ROWS, DRAWS, CHAINS = 130, 150, 3
KERNELS = [
    "hr.TreeGuided(global_moves=5)",
    "hr.TreeGuidedPublished(G=5)",
    "hr.Gibbs()",
    "hr.SplitMerge(scans=3)",
    "hr.Slice()",
    "hr.Gibbs(subset=30)",
    "hr.cycle(hr.TreeGuidedPublished(G=2), hr.Gibbs(subset=3), hr.SplitMerge(scans=1))",
    "hr.mix(hr.TreeGuidedPublished(G=2), hr.TreeGuided(global_moves=3), hr.Gibbs(subset=3))",
]
# Draws until done; begins a run if none has begun. One iteration a block and a state every few blocks make many moments to hit.
SCRIPT = textwrap.dedent("""
    import sys
    from pathlib import Path
    import hedgerow as hr
    from hedgerow.sampling import Checkpoint, blocks, resume, sample
    folder, out, kernel, rows, draws, chains = Path(sys.argv[1]), sys.argv[2], eval(sys.argv[3]), *map(int, sys.argv[4:])
    blocks._BLOCK_SECONDS = 0.0
    print("up", flush=True)
    if list(folder.glob("manifest-*.hedge")):
        post = resume(Checkpoint(folder, every=0.01))
    else:
        X = hr.data.ring13(seed=0, n=rows)[0]
        model = hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 5), 1.0), hr.GaussianWishart())
        checkpoint = None if out == str(folder) else Checkpoint(folder, every=0.01)
        post = sample(model, X, kernel=kernel, draws=draws, warmup=40, chains=chains, seed=1, checkpoint=checkpoint)
    print("drawn", flush=True)
    post.save(out)
""")


def start(folder: Path, out: Path, kernel: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", SCRIPT, str(folder), str(out), kernel, str(ROWS), str(DRAWS), str(CHAINS)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def finish(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=300)
    assert process.returncode == 0


@pytest.fixture(scope="module")
def references(tmp_path_factory) -> dict[str, hr.Posterior]:
    return {}


def reference(references: dict[str, hr.Posterior], kernel: str, place: Path) -> hr.Posterior:
    """The uninterrupted run, made once a kernel."""
    if kernel not in references:
        out = place / "whole.hedge"
        finish(start(out, out, kernel))
        references[kernel] = Posterior.load(out)
    return references[kernel]


def recorded(folder: Path, whole: hr.Posterior) -> list[int]:
    """Draws of each chain that the folder speaks of, each found to be the uninterrupted run's."""
    manifest = newest_manifest(folder) if folder.is_dir() else None  # killed before it was made
    if manifest is None:
        return [0] * CHAINS
    for index, chain in enumerate(manifest.chains):
        first = 0
        for file in chain.draws:
            block = read_block(folder, file, ROWS)
            np.testing.assert_array_equal(block.labels, whole.labels[index, first : first + len(block)])
            np.testing.assert_array_equal(block.log_joint, whole.log_joint[index, first : first + len(block)])
            first += len(block)
    return [chain.drawn for chain in manifest.chains]


def kill_once(folder: Path, out: Path, kernel: str, chance: random.Random, longest: float) -> bool:
    """Kill a run some time after it is up; whether that was before it was done."""
    process = start(folder, out, kernel)
    time.sleep(chance.uniform(0, longest))
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    printed, _ = process.communicate(timeout=60)
    return alive and "drawn" not in printed


def kill_and_resume(kernel: str, seed: int, references: dict[str, hr.Posterior], place: Path) -> tuple[int, list[list[int]]]:
    """Kill one run up to three times and let it finish; the kills that hit it, and what was recorded after each."""
    chance = random.Random(seed)
    place.mkdir()
    whole = reference(references, kernel, place)
    folder, out = place / "run", place / "resumed.hedge"
    kills, seen, longest = 0, [[0] * CHAINS], 1.5
    for attempt in range(12):
        if not kill_once(folder, out, kernel, chance, longest):
            if kills:
                break
            longest *= 0.5  # it was done before: begin again, kill sooner
            folder = place / f"run{attempt}"
            seen = [[0] * CHAINS]
            continue
        kills += 1
        seen.append(recorded(folder, whole))
        assert all(now >= before for now, before in zip(seen[-1], seen[-2], strict=True)), "recorded draws were lost"
        if kills == 3:
            break
    assert kills > 0
    finish(start(folder, out, kernel))
    post = Posterior.load(out)
    for name in ("labels", "log_joint", "log_u", "alpha", "sigma", "n_clusters"):
        np.testing.assert_array_equal(getattr(post, name), getattr(whole, name), err_msg=name)
    for name, stat in whole.sample_stats.items():
        np.testing.assert_array_equal(post.sample_stats[name], stat, err_msg=name)
    assert not list(folder.glob(".*.tmp"))
    return kills, seen[1:]


@pytest.mark.parametrize("kernel", KERNELS[:2])
def test_a_killed_run_resumes(kernel, references, tmp_path) -> None:
    kill_and_resume(kernel, 0, references, tmp_path / "trial")


@pytest.mark.slow
def test_fifty_killed_runs_resume(references, tmp_path, capsys) -> None:
    kills, partial = 0, 0
    for trial in range(50):
        hits, seen = kill_and_resume(KERNELS[trial % len(KERNELS)], trial, references, tmp_path / str(trial))
        kills += hits
        partial += sum(0 < sum(counts) < DRAWS * CHAINS for counts in seen)
    with capsys.disabled():
        print(f"\n50 runs, {kills} kills, {partial} of them amid the draws; all resumed, all draws equal")
