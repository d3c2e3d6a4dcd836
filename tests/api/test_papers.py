"""The papers' commands run with --tiny (the slow tests: --quick), write what they promise, resume, know the authors' numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("HEDGEROW_DATA", ROOT.parent / "shared" / "data"))
needs_authors_files = pytest.mark.skipif(
    not (DATA / "nrmm_author_toy_runs.npz").exists(), reason="the authors' files are not here (HEDGEROW_DATA)"
)


def run(paper: str, experiment: str, out: Path, data: Path = DATA, size: str = "--tiny") -> dict:
    command = [sys.executable, "-W", "error", "-m", f"papers.{paper}", experiment, size, "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"HEDGEROW_DATA": str(data)}, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    for suffix in (".json", ".md", ".png", ".svg"):
        assert (out / f"{experiment}{suffix}").stat().st_size > 0
    assert not list(out.rglob("*.tmp*"))
    return json.loads((out / f"{experiment}.json").read_text(encoding="utf-8"))


def test_toy_without_the_authors_files_and_resumed(tmp_path):
    out, empty = tmp_path / "out", tmp_path / "empty"
    result = run("nips2015", "toy", out, empty)
    assert result["data"]["name"] == "own ring of 13"
    assert result["authors_logs"] is None
    assert set(result["samplers"]["NGG"]) == {"Gibbs", "SM", "tgMCMC", "TreeGuided"}
    before = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*.json")}
    assert len(before) == 2 * 4 * 2 + 4 + 3
    lost = out / "runs" / "toy" / "DP_SM_1.json"
    lost.unlink()
    other = out / "runs" / "toy" / "DP_Gibbs_0.json"
    kept = json.loads(other.read_text(encoding="utf-8"))
    kept["settings"]["seconds"] = 99.0
    other.write_text(json.dumps(kept), encoding="utf-8")
    again = run("nips2015", "toy", out, empty)
    made = {path.name for path, when in before.items() if path.stat().st_mtime_ns != when}
    assert made == {"DP_SM_1.json", "DP_Gibbs_0.json"}  # the one that was gone and the one of other settings
    assert again["samplers"]["NGG"] == result["samplers"]["NGG"]


@needs_authors_files
def test_toy_beside_the_authors_logs(tmp_path):
    result = run("nips2015", "toy", tmp_path)
    assert result["truth_log_joint_dp"] == pytest.approx(-1577.5696, abs=1e-3)
    logged = result["authors_logs"]["DP"]
    assert logged["tgMCMC"]["max_log_joint"]["mean"] == pytest.approx(-1577.68, abs=0.01)
    assert logged["tgMCMC"]["log_r"]["mean"] == pytest.approx(-3.45, abs=0.05)
    assert logged["tgMCMC"]["proposals_per_iteration"]["mean"] == pytest.approx(10.0, abs=0.05)  # G = 10, not the printed 20
    assert logged["Gibbs"]["milliseconds_per_iteration"]["mean"] == pytest.approx(43.9, abs=0.5)
    assert "authors' log: DP tgMCMC" in (tmp_path / "toy.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("experiment", "sets"), [("tenk", 2), ("nips", 1)])
def test_six_columns(experiment, sets, tmp_path):
    result = run("nips2015", experiment, tmp_path)
    assert len(result["sets"]) == sets
    for part in result["sets"].values():
        assert list(part["samplers"]) == ["Gibbs", "SM", "Gibbs_sub", "SM_sub", "tgMCMC", "TreeGuided"]
        assert 1 <= part["tuning"]["Gibbs_sub"] <= part["data"]["rows"] // 2
        for row in part["samplers"].values():
            assert row["max_log_joint"]["mean"] >= row["mean_log_joint"]["mean"]


def test_synthetic(tmp_path):
    result = run("aistats2014", "synthetic", tmp_path)
    moving = result["sets"]["moving"]
    assert list(moving["methods"]) == ["IBHC", "Gibbs", "SMC", "TreeGuided", "IBHC revising", "IBHC at once"]
    assert len(moving["traces"]["IBHC"]["seconds"]) == 15
    assert (tmp_path / "synthetic_times.svg").exists()
    assert ("figure" in result["sets"]) == (DATA / "ibhc2014_fig3_points.npz").exists()


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["nips", "tenk", "toy"])
def test_nips2015_quick(experiment, tmp_path):
    result = run("nips2015", experiment, tmp_path, size="--quick")
    assert result["settings"]["size"] == "quick"
    for cells in [result["samplers"]["DP"]] if experiment == "toy" else [part["samplers"] for part in result["sets"].values()]:
        assert all(row["max_log_joint"]["mean"] is not None for row in cells.values())


@pytest.mark.slow
def test_aistats2014_quick(tmp_path):
    result = run("aistats2014", "synthetic", tmp_path, size="--quick")
    assert result["settings"]["size"] == "quick"
    assert all(row["max_log_joint"]["mean"] is not None for row in result["sets"]["moving"]["methods"].values())


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "chen").is_dir(), reason="HEDGEROW_DATA does not name a folder with Chen's sequences")
def test_video_quick(tmp_path):
    for module in ("av", "imageio"):
        pytest.importorskip(module, reason="the experiment needs the [video] extra")
    assert run("aistats2014", "video", tmp_path, size="--quick")


def test_the_report_is_that_of_the_results(tmp_path):
    out = tmp_path / "REPORT.md"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "papers.report", "--out", str(out)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert out.read_text(encoding="utf-8") == (ROOT / "papers" / "REPORT.md").read_text(encoding="utf-8"), "run python -m papers.report"
