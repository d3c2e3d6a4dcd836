"""Copies of rows count once: found where equal rows are no accident, put with their rows, told, and left alone elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.cli.run_folder import RUN as RUN_FILE
from hedgerow.data import Copies, iris
from hedgerow.data.container import FormatError, read_container
from hedgerow.errors import ParameterError
from hedgerow.proposing.copies import copies
from hedgerow.sampling import so_far
from hedgerow.sampling.description import read_description, write_description
from hedgerow.sampling.plan import read_plan
from hedgerow.summaries import narrow

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
    counted = hr.sample(hr.Mixture(hr.DP(1.0), hr.GaussianWishart().resolve(X)), X[drawn], **RUN)
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


def test_labels_to_begin_with_are_those_of_all_rows() -> None:
    X, y = table(n=60)
    drawn = again(60)
    proposal = hr.propose(X[drawn])
    short = {**RUN, "draws": 2, "warmup": 0, "chains": 2, "kernel": hr.Gibbs()}
    post = proposal.sample(init=[y[drawn], "one"], **short)
    assert post.n == 60
    assert adjusted_rand_score(post.labels[0, 0], y[drawn]) > 0.9
    with pytest.raises(ParameterError, match="init must be a word, labels of the 60 rows"):
        proposal.sample(init=np.zeros(59, np.int32), **RUN)
    with pytest.raises(ParameterError, match="copies must have one entry for each of the 59 rows"):
        hr.sample(proposal.mixture, X[drawn][:59], copies=proposal.copies, **RUN)
    with pytest.raises(ParameterError, match="copies must be what propose"):
        hr.sample(proposal.mixture, X[drawn], copies=drawn, **RUN)


def test_equal_rows_of_two_times_are_two_observations() -> None:
    X, _ = table(n=60)
    drawn, times = again(60), np.arange(60) % 2
    proposal = hr.propose(X[drawn], prior=hr.MixedNRM(hr.DP(), decay=1.0))
    post = proposal.sample(times=times, **{**RUN, "draws": 4, "warmup": 4})
    assert post.n == 60
    assert list(post.times) == list(times)
    seen = post.seen()
    pairs = {(row, time) for row, time in zip(drawn, times, strict=True)}
    assert seen.n == len(pairs) > len(np.unique(drawn))
    assert post.log_density(X[:2], times=[0, 1]).shape == (2,)


def test_densities_and_predictions_are_those_of_the_rows_that_count(tmp_path: Path) -> None:
    """The answers of a posterior with copies equal those of the posterior of one row each."""
    X, _ = table()
    drawn = again(len(X))
    proposal = hr.propose(X[drawn])
    same = proposal.copies
    assert same is not None
    post = proposal.sample(**RUN)
    alone = hr.sample(proposal.mixture, X[drawn][same.kept], **RUN)
    np.testing.assert_array_equal(alone.labels, post.labels[:, :, same.kept])
    new = X[:20] + 0.1
    centre = alone.point_estimate().labels
    path = tmp_path / "post.hedge"
    post.save(path)
    for one in (post, hr.load(path)):
        np.testing.assert_array_equal(one.place, same.place)
        np.testing.assert_array_equal(one.log_density(new), alone.log_density(new))
        whole = one.predict_proba(new, partition=centre[same.place])
        np.testing.assert_array_equal(whole, alone.predict_proba(new, partition=centre))
        ranks, own = one.outlier_scores()[same.kept], alone.outlier_scores()
        np.testing.assert_array_equal(np.argsort(np.argsort(ranks)), np.argsort(np.argsort(own)))
    apart = np.arange(len(drawn)) % 2  # a partition of the user's own may take copies apart
    np.testing.assert_allclose(post.predict_proba(new, partition=apart).sum(axis=1), 1.0)
    counted = hr.sample(proposal.mixture, X[drawn], init=post.labels[0, -1], **{**RUN, "draws": 1, "warmup": 0, "kernel": hr.Gibbs()})
    assert counted.log_density(X[drawn]).mean() > post.log_density(X[drawn]).mean()


def test_copies_that_lie_in_two_clusters_are_refused() -> None:
    X, y = table(n=9)
    given = {"X": X, "model": None, "log_joint": np.zeros((1, 1))}
    kept = hr.Posterior(labels=y[None, None], place=[0, 1, 2, 0, 1, 2, 3, 1, 2], **given)
    assert kept.seen().n == 4
    with pytest.raises(ParameterError, match="put copies of a row into its cluster"):
        hr.Posterior(labels=y[None, None], place=[0, 0, 1, 2, 3, 4, 5, 6, 7], **given)
    with pytest.raises(ParameterError, match="place must number the rows that count as they come"):
        hr.Posterior(labels=y[None, None], place=[1, 0, 2, 1, 0, 2, 3, 0, 2], **given)


def test_a_run_that_was_stopped_goes_on_with_its_copies(tmp_path: Path) -> None:
    X, _ = table(n=60)
    proposal = hr.propose(X[again(60)])
    whole = proposal.sample(**RUN)
    proposal.sample(**{**RUN, "draws": 10}, checkpoint=tmp_path / "run")
    resumed = hr.resume(tmp_path / "run", draws=40, progress=False)
    np.testing.assert_array_equal(resumed.labels, whole.labels)
    np.testing.assert_array_equal(resumed.place, whole.place)
    np.testing.assert_array_equal(so_far(tmp_path / "run").labels, whole.labels)


def test_levels_count_each_row_once(tmp_path: Path) -> None:
    X, y = table()
    drawn = np.repeat(np.arange(len(X)), 3)
    proposal = hr.propose(X[drawn])
    same = proposal.copies
    assert same is not None
    short = {"draws": 20, "warmup": 20, "chains": 1, "splits": 1, "seed": 0, "progress": False}
    found = hr.levels(proposal.mixture, X[drawn], [0.5, 1.0], copies=same, checkpoint=tmp_path / "drawn.levels", **short)
    alone = hr.levels(proposal.mixture, X[drawn][same.kept], [0.5, 1.0], **short)
    for level, other in zip(found, alone, strict=True):
        assert len(level.labels) == len(drawn)
        np.testing.assert_array_equal(level.posterior.seen().labels, other.posterior.labels)
        np.testing.assert_allclose(level.strength, other.strength)
    again_found = hr.load(tmp_path / "drawn.levels")
    more = again_found.about(2, progress=False)
    assert len(more.labels) == len(drawn)
    assert adjusted_rand_score(y[drawn], found[1].labels) > 0.9
    longer = hr.levels(proposal.mixture, X[drawn], [0.5, 1.0], copies=same, checkpoint=tmp_path / "drawn.levels", **short)
    np.testing.assert_array_equal(longer[0].labels, found[0].labels)


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


def test_copies_that_do_not_number_the_rows_are_refused() -> None:
    X, _ = table(n=9)
    model, place = hr.Mixture(hr.DP(), hr.GaussianDiagonal()), np.array([0, 1, 2, 0, 1, 2, 3, 1, 2])
    good = Copies.at(place)
    assert hr.sample(model, X, copies=good, **{**RUN, "draws": 2}).n == 9
    for wrong in (
        Copies(good.kept[::-1], place),
        Copies(np.array([0, 1, 2, 40]), place),
        Copies(good.kept, place + 1),
        Copies([], [0.5] * 9),
    ):
        with pytest.raises(ParameterError, match="copies must number the rows that count as they come"):
            hr.sample(model, X, copies=wrong, **RUN)
    with pytest.raises(ParameterError, match="copies must have one entry for each of the 8 rows"):
        hr.levels(model, X[:8], copies=good, splits=0, seed=0, progress=False)


def test_levels_do_not_go_on_with_other_copies(tmp_path: Path) -> None:
    X, _ = table(n=40)
    drawn = np.repeat(np.arange(40), 2)
    same = Copies.at(drawn)
    model = hr.propose(X).mixture
    short = {"draws": 4, "warmup": 4, "chains": 1, "splits": 0, "seed": 0, "progress": False, "checkpoint": tmp_path / "one.levels"}
    hr.levels(model, X[drawn], [1.0], copies=same, **short)
    with pytest.raises(ParameterError, match="Got other copies"):
        hr.levels(model, X, [0.5, 1.0], **short)
    assert len(hr.levels(model, X[drawn], [0.5, 1.0], copies=same, **short)) == 2


def test_what_older_versions_cannot_know_is_written_as_a_newer_one(tmp_path: Path) -> None:
    X, _ = table(n=20)
    model = hr.Mixture(hr.DP(), hr.GaussianDiagonal())
    for name, same, version in (("plain", None, 1), ("copies", Copies.at(np.arange(20) // 2), 2)):
        hr.sample(model, X, copies=same, checkpoint=tmp_path / name, **{**RUN, "draws": 2})
        plan = next((tmp_path / name).glob("plan*"))
        assert read_container(plan).version == version
    order = np.repeat(np.arange(10)[::-1], 2)  # each row has one place, but not as they come
    read = read_plan(model, X, hr.Gibbs(), "one", None, draws=1, warmup=0, chains=1, thin=1, seed=0, copies=Copies.at(order))
    write_description(tmp_path / "plan.hedge", replace(read, place=order))
    with pytest.raises(FormatError, match="places must number the rows that count as they come"):
        read_description(tmp_path / "plan.hedge", None, None)


def test_the_basis_of_a_cluster_is_asked_of_the_rows_that_count() -> None:
    X, _ = table(n=60)
    drawn = np.repeat(np.arange(60), 3)
    times = drawn % 2
    model = hr.Mixture(hr.MixedNRM(hr.DP(), decay=1.0), hr.GaussianDiagonal()).resolve(X)
    short = {**RUN, "draws": 5, "kernel": hr.Gibbs()}
    post = hr.sample(model, X[drawn], times=times, copies=Copies.at(drawn), **short)
    alone = hr.sample(model, X, times=np.arange(60) % 2, **short)
    own = alone.point_estimate().labels
    np.testing.assert_allclose(post.basis(own[drawn]), alone.basis(own))


def test_copies_of_very_many_rows_are_kept_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrow, "MANY", 100)
    X, _ = table(n=60)
    drawn = np.repeat(np.arange(60), 2)
    post = hr.propose(X[drawn]).sample(**RUN)
    for one in (post, post.seen()):
        labels: Any = one.labels
        assert isinstance(labels, narrow.NarrowLabels)
        assert labels.stored.dtype == np.uint8
    np.testing.assert_array_equal(post.labels[0], post.seen().labels[0][:, drawn])
