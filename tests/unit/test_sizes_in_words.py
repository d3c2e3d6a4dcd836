"""Amounts of memory in words: never 0.0 of anything, whether a run needs bytes or terabytes, nor 1,024.0 of what has a larger unit."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import in_bytes
from hedgerow.sampling import checkpoint


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1023, "1,023 bytes"),
        (1024, "1.0 KiB"),
        (2**20 - 1, "1.0 MiB"),
        (2**20 - 2**10, "1,023.0 KiB"),
        (2**30 - 1, "1.0 GiB"),
        (2**50, "1,048,576.0 GiB"),
    ],
)
def test_units(size: int, words: str) -> None:
    assert in_bytes(size) == words


def test_no_amount_is_nothing() -> None:
    for power in np.linspace(1, 50, 2000):
        number = float(in_bytes(2.0**power).split()[0].replace(",", ""))
        assert 1.0 <= number < (1024 if power < 39.99 else np.inf)


def test_a_small_run_that_a_smaller_disk_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(0, 0, 100))  # type: ignore[attr-defined]
    model = hr.Mixture(hr.DP(), hr.GaussianDiagonal())
    with pytest.raises(hr.ParameterError, match=r"of 3 rows need at least 300 bytes and the disk of the checkpoint has 100 bytes free"):
        hr.sample(model, [[0.0], [1.0], [5.0]], draws=50, warmup=5, chains=2, seed=0, checkpoint=tmp_path / "run")
