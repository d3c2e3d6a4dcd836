"""Copies of rows count once: found where equal rows are no accident, put with their rows, told, and left alone elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.cli.run_folder import RUN as RUN_FILE
from hedgerow.data import iris
from hedgerow.proposing.copies import Copies, copies

RUN = {"draws": 40, "warmup": 40, "chains": 1, "seed": 0, "progress": False}


def table(n: int = 120, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three bell curves."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return 6.0 * rng.standard_normal((3, d))[y] + rng.standard_normal((n, d)), y


def again(n: int, seed: int = 1) -> np.ndarray:
    """Rows drawn with replacement."""
    return np.random.default_rng(seed).integers(0, n, n)


def found(X: object) -> Copies | None:
    return hr.propose(X).copies


def test_a_table_drawn_with_replacement_has_the_clusters_of_the_table() -> None:
    X, y = table()
    drawn = np.repeat(np.arange(len(X)), 3)
    proposal = hr.propose(X[drawn])
    assert "240 of 360 rows are exact copies: each counts once" in proposal.explained()
    assert "240 of 360 rows" in proposal._repr_html_()
    assert proposal.mixture.likelihood == hr.propose(X).mixture.likelihood
    post = proposal.sample(**RUN)
    assert post.n == len(post.X) == 360
    assert adjusted_rand_score(y[drawn], post.point_estimate().labels) > 0.9
    counted = hr.sample(proposal.mixture, X[drawn], **RUN)
    assert counted.point_estimate().n_clusters > post.point_estimate().n_clusters  # heaps


def test_all_copies_of_a_row_are_in_its_cluster_and_labels_are_numbered_as_they_appear() -> None:
    X, _ = table()
    drawn = again(len(X))
    post = hr.propose(X[drawn]).sample(**RUN)
    for labels in post.labels[0]:
        for row in np.unique(drawn):
            assert len(np.unique(labels[drawn == row])) == 1
        _, first = np.unique(labels, return_index=True)
        assert (np.diff(first) > 0).all()
    assert post.predict(X[:3]).shape == (3,)
    assert np.isfinite(post.log_density(X[:3])).all()


def test_the_estimator_does_the_same() -> None:
    X, y = table()
    drawn = again(len(X))
    fit = hr.HedgerowClusterer(draws=40, warmup=40, chains=2, random_state=0).fit(X[drawn])
    assert adjusted_rand_score(y[drawn], fit.labels_) > 0.9
    assert len(fit.labels_) == len(fit.probabilities_) == len(fit.outlier_scores_) == fit.posterior_.n == len(X)
    weights = np.bincount(drawn, minlength=len(X))
    weighted = hr.HedgerowClusterer(draws=40, warmup=40, chains=2, random_state=0).fit(X, sample_weight=weights)
    assert (weighted.labels_ == -1).sum() == (weights == 0).sum()
    coarse = hr.HedgerowClusterer(draws=10, warmup=10, chains=1, random_state=0, levels=3).fit(X[drawn])
    assert len(coarse.labels_) == len(X)


@pytest.mark.parametrize("digits", [1, 2, 8])
def test_rounded_tables_too(digits: int) -> None:
    X = np.round(table()[0], digits)
    assert found(X) is None
    same = found(X[again(len(X))])
    assert same is not None
    assert len(same.kept) < len(X)


def test_gaps_and_names_are_compared_as_well() -> None:
    X, y = table()
    frame = pd.DataFrame(np.where(np.random.default_rng(3).random(X.shape) < 0.1, np.nan, X), columns=list("abcd"))
    frame["colour"] = np.array(["red", "green", "blue"])[y]
    drawn = again(len(X))
    same = found(frame.iloc[drawn])
    assert same is not None
    assert len(same.kept) == len(np.unique(drawn))
    post = hr.propose(frame.iloc[drawn]).sample(**RUN)
    assert post.n == len(X)
    told_apart = frame.iloc[drawn].reset_index(drop=True)
    told_apart["colour"] = np.array(["red", "green", "blue"])[np.arange(len(X)) % 3]
    other = found(told_apart)
    assert other is None or len(other.kept) > len(same.kept)


def test_accidents_are_left_alone() -> None:
    """Equal rows because of coarse steps, few of them, answers of their own, and tables without measurements."""
    rng = np.random.default_rng(5)
    assert found(iris().X) is None
    assert found(np.round(2.0 * rng.standard_normal((2000, 2)))) is None
    assert found(np.round(rng.standard_normal((1000, 3)), 1)) is None
    assert found(rng.integers(0, 3, (300, 5)).astype(str)) is None
    X, _ = table()
    assert found(np.vstack([X, X[:1]])) is None  # 1 in 121
    off = np.vstack([X, np.zeros((30, 4))])
    assert found(off) is None
    assert copies(X, None) is None
    both = found(np.vstack([off, X]))
    assert both is not None
    assert len(both.kept) == len(off)


def test_times_and_labels_to_begin_with_are_those_of_all_rows() -> None:
    X, _ = table(n=60)
    drawn = again(60)
    proposal = hr.propose(X[drawn])
    post = proposal.sample(init=np.zeros(60, np.int32), **RUN)
    assert post.n == 60
    groups = hr.propose(X[drawn], prior=hr.MixedNRM(hr.DP(), decay=1.0))
    assert groups.sample(times=np.arange(60) % 2, **{**RUN, "draws": 4, "warmup": 4}).n == 60


def test_the_command_line_writes_labels_of_all_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = table()
    drawn = again(len(X))
    lines = ["name,a,b,c,d", *(f"r{i},{','.join(f'{x:.6f}' for x in X[row])}" for i, row in enumerate(drawn))]
    path, out = tmp_path / "drawn.csv", tmp_path / "run"
    path.write_text("\n".join(lines))
    options = ["--id", "name", "--draws", "30", "--warmup", "30", "--chains", "2", "--seed", "0", "--quiet", "--with-columns"]
    main(["fit", str(path), "--out", str(out), *options])
    assert "rows are exact copies: each counts once" in " ".join(capsys.readouterr().out.split())
    labels = pd.read_csv(out / "labels.csv")
    assert list(labels["row"]) == [f"r{i}" for i in range(len(X))]
    assert adjusted_rand_score(y[drawn], labels["cluster"]) > 0.9
    np.testing.assert_allclose(labels["a"], X[drawn, 0], atol=1e-6)
    before = hr.load(out / RUN_FILE)
    assert before.n == len(X)
    main(["resume", str(out), "--draws", "40", "--quiet"])
    longer = hr.load(out / RUN_FILE)
    assert longer.labels.shape == (2, 40, len(X))
    np.testing.assert_array_equal(longer.labels[:, :30], before.labels)
    main(["predict", str(out), str(path)])
    assert len(pd.read_csv(out / "labels.csv")) == len(X)
