"""The experiment on Chen's sequences, on one of them: it writes, it resumes, and the sequence's figures are what they were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

for module in ("av", "imageio", "skimage", "matplotlib"):
    pytest.importorskip(module, reason="the experiment needs the [video] and [plot] extras")

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("HEDGEROW_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "chen").is_dir(), reason="HEDGEROW_DATA does not name a folder with Chen's sequences")
def test_one_sequence(monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(ROOT)
    from papers.aistats2014 import video

    monkeypatch.setattr(video, "SEQUENCES", ("ice",))
    first = video.main(quick=True, out=tmp_path)
    for suffix in ("json", "md", "png", "svg"):
        assert (tmp_path / f"video.{suffix}").stat().st_size > 0
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.json")}
    again = video.main(quick=True, out=tmp_path)
    assert made == {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.json")}
    curves = again["curves"]["edges"]
    assert curves["3D accuracy"].tolist() == first["curves"]["edges"]["3D accuracy"].tolist()
    assert curves["3D accuracy"].min() > 0.87
    assert curves["2D accuracy"].min() > 0.88
    assert curves["EV"].min() > 0.93
    assert curves["mean duration"].min() > 28
