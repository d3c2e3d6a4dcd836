"""One file of every kind that the house writes, small, with what is in them: files of a version must load in all later ones.

python tests/golden/old_files.py        writes files-<version of this build>.zip, once for every release
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from models import PRIORS, small, times_for, wide

import hedgerow as hr
from hedgerow.apps.video.run import segment
from hedgerow.apps.video.supervoxels import SupervoxelSettings
from hedgerow.sampling import Checkpoint
from hedgerow.trees import TreeStream

QUICK: dict[str, Any] = {"draws": 4, "warmup": 4, "chains": 2, "seed": 1, "progress": False}


def write(folder: Path) -> None:
    """Write everything into a new folder, and `facts.json` with what a reader must find."""
    folder.mkdir(parents=True)
    facts: dict[str, Any] = {"posteriors": _posteriors(folder), "forests": {}, "streams": {}}
    X = wide()["GaussianWishart"][1][:24]
    model = hr.Mixture(PRIORS["NGG, laws"], hr.GaussianWishart.nips2015())
    forest = hr.ibhc(model, X, passes=1, seed=1)
    forest.save(folder / "forest.npz")
    facts["forests"]["forest.npz"] = {"labels": forest.labels.tolist(), "log_joint": forest.log_joint}
    for i, (name, prior) in enumerate(itertools.product(("GaussianDiagonal", "Multinomial", "Product"), ("DP, law", "MixedNRM"))):
        family, rows = wide()[name]
        stream = TreeStream(hr.Mixture(PRIORS[prior], family), seed=2)
        stream.add(rows[:24], times_for(PRIORS[prior], 24))
        stream.save(folder / f"stream-{i}.npz", note={"line": i})
        facts["streams"][f"stream-{i}.npz"] = {
            "model": repr(stream.model),
            "labels": stream.labels.tolist(),
            "log_joint": stream.log_joint,
        }
    online = hr.IncrementalBHC(random_state=3).fit(X)
    online.save(folder / "incremental.npz")
    facts["incremental.npz"] = online.labels_.tolist()
    clip = np.zeros((6, 24, 32, 3), np.uint8)
    clip[:, :, 16:] = (220, 60, 40)
    segment(clip, supervoxels=SupervoxelSettings(12), progress=False).save(folder / "video.npz")
    facts["runs"] = _runs(folder, model, X)
    _run_folder(folder, X)
    (folder / "facts.json").write_text(json.dumps(facts))


def _posteriors(folder: Path) -> dict[str, Any]:
    """One posterior for each likelihood, each under another prior, and the other priors under the first likelihood."""
    facts = {}
    families = [name for name in small() if name != "Custom"]
    pairs = [(families[min(i, len(families) - 1)], prior) for i, prior in enumerate(PRIORS)]
    for i, (likelihood, prior) in enumerate(pairs):
        family, X = small()[likelihood]
        post = hr.sample(hr.Mixture(PRIORS[prior], family), X, times=times_for(PRIORS[prior], 6), **QUICK)
        post.save(folder / f"posterior-{i}.npz")
        facts[f"posterior-{i}.npz"] = {
            "model": repr(post.model),
            "labels": post.labels.ravel().tolist(),
            "log_joint": post.log_joint.ravel().tolist(),
            "log_u": np.asarray(post.log_u).ravel().tolist(),
        }
    return facts


def _runs(folder: Path, model: hr.Mixture, X: Any) -> dict[str, Any]:
    """A finished run, and one that was stopped on the way."""
    facts = {}
    for i, kernel in enumerate((hr.TreeGuided(2), hr.mix(hr.SplitMerge(scans=1), hr.Gibbs()))):
        whole = hr.sample(model, X, kernel=kernel, checkpoint=folder / f"run-{i}", **QUICK)
        facts[f"run-{i}"] = {"labels": whole.labels.ravel().tolist(), "log_joint": whole.log_joint.ravel().tolist()}
    left = iter(range(3, -1, -1))
    with contextlib.suppress(RuntimeError):
        stop = [lambda update: next(left, 0) == 0]
        stopped = Checkpoint(folder / "run-stopped", every=0)
        hr.sample(model, X, kernel=hr.TreeGuided(2), checkpoint=stopped, callbacks=stop, **(QUICK | {"draws": 60, "chains": 1}))
    return facts


def _run_folder(folder: Path, X: Any) -> None:
    """A run folder of the command line, without the pages that are made from it."""
    np.savetxt(folder / "rows.csv", X, delimiter=",", fmt="%.4f", header="a,b,c,d", comments="")
    command = ["fit", "rows.csv", "--out", "fitted", "--draws", "4", "--warmup", "4", "--chains", "1", "--seed", "1"]
    subprocess.run([sys.executable, "-c", "from hedgerow.cli import main; main()", *command], check=True, cwd=folder)
    (folder / "fitted" / "report.html").unlink(missing_ok=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        write(Path(place) / "files")
        shutil.make_archive(str(Path(__file__).parent / f"files-{hr.__version__}"), "zip", Path(place) / "files")
