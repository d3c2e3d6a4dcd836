"""The experiment on Chen's sequences, on one of them: it writes, it resumes, and the sequence's figures are what they were."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

for module in ("av", "imageio", "matplotlib"):
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


def test_the_judge_of_many_cuts_says_what_evaluate_says(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from papers.aistats2014 import held_out, video

    from hedgerow.apps.video import evaluate

    rng = np.random.default_rng(0)
    fine = np.repeat(np.repeat(np.append(np.arange(60), rng.integers(0, 60, 150)).reshape(6, 5, 7), 3, axis=1), 3, axis=2)
    truth = np.repeat(np.repeat(rng.integers(0, 4, (6, 3, 7)), 5, axis=1), 3, axis=2)
    truth[3:, truth[0] == 2] = 0  # one that leaves
    frames = rng.integers(0, 256, (*fine.shape, 3)).astype(np.uint8)
    judge = held_out.Judge(fine, truth, frames)
    for n in (60, 9, 1):
        coarse = np.concatenate([np.arange(n), rng.integers(0, n, 60 - n)])
        scores = evaluate(coarse[fine], truth, frames).as_dict()
        expected = [scores[name] for name in video.MEASURES.values()]
        assert judge.measures(coarse) == pytest.approx(expected, rel=1e-9)


def test_settings_are_chosen_on_the_other_clips(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from papers.aistats2014 import held_out, video

    table = np.zeros((3, 2, len(video.MEASURES), len(video.AT)))
    table[0, 1] = 10.0  # the second combination is far better on the first clip alone
    table[1:, 0] = 1.0
    assert held_out.choices(table) == [0, 1, 1]
