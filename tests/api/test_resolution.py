"""Levels from coarse to fine: the ladder, strength between halves, files, runs that stop and go on, pictures."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.plots import flow_geometry
from hedgerow.resolution.ladder import Ladder
from hedgerow.resolution.reporting import FEW, opened_at

levels_module = importlib.import_module("hedgerow.resolution.levels")  # the package has a function of that name
QUICK = {"draws": 15, "warmup": 15, "splits": 1, "seed": 0, "progress": False}


def blobs(n: int = 120, apart: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    """Two pairs of blobs: far apart the pairs, nearer those of a pair."""
    truth = np.arange(n) % 4
    middle = np.array([[0.0, 0.0], [apart, 0.0], [0.0, 8 * apart], [apart, 8 * apart]])
    return np.random.default_rng(0).normal(size=(n, 2)) + middle[truth], truth


def model() -> hr.Mixture:
    return hr.Mixture(hr.DP(), hr.GaussianDiagonal())


@pytest.fixture(scope="module")
def found() -> hr.Levels:
    return hr.levels(model(), blobs()[0], n_levels=6, **QUICK)  # type: ignore[arg-type]


def test_levels_go_from_one_cluster_to_the_posterior(found: hr.Levels) -> None:
    assert found.powers == sorted(found.powers)
    assert found[-1].power == 1.0
    assert found[0].n_clusters == 1
    assert found[-1].n_clusters >= 4
    assert found[0].strength > 0.95
    assert len(found) <= 6
    for level in found:
        assert level.posterior.model.power == level.power  # type: ignore[union-attr]
        assert level.strengths.shape == (1, 2)
        assert np.array_equal(level.labels, level.posterior.point_estimate().labels)


def test_clusters_that_are_there_are_strong(found: hr.Levels) -> None:
    best = found.about(4)
    assert best.n_clusters == 4
    assert hr.summaries.ari(best.labels, blobs()[1]) > 0.95
    assert best.strength > 0.9
    assert found.finest(0.8).n_clusters >= 4


@pytest.mark.parametrize("tails", ["t", "exponential"])
def test_a_single_blob_is_one_cluster_whatever_its_tails(tails: str) -> None:
    """At power 1 it falls into pieces, which halves find again; they are no clusters, since rows do not know their piece."""
    rng = np.random.default_rng(1)
    X = rng.standard_t(3, size=(600, 2)) if tails == "t" else rng.exponential(size=(600, 2))
    mixture = hr.Mixture(hr.DP(), hr.GaussianWishart())
    levels = hr.levels(mixture, X, [1.0, 0.05], **QUICK)  # type: ignore[arg-type]
    assert levels[0].n_clusters == 1
    assert levels[0].strength > 0.95
    assert levels[1].n_clusters > 2
    assert levels[1].strength < 0.8
    assert levels.finest(0.8) is levels[0]


def test_about_adds_levels_and_says_so() -> None:
    levels = hr.levels(model(), blobs()[0], [1.0, 0.1], **QUICK)  # type: ignore[arg-type]
    assert next(level.n_clusters for level in levels) == 1
    before = len(levels)
    level = levels.about(2)
    assert level.n_clusters == 2
    assert len(levels) > before
    assert "was added to come near 2" in levels.notes[0]
    assert levels.about(2) is level  # asked again, nothing is run
    again = len(levels)
    levels.about(2)
    assert len(levels) == again


def test_a_cluster_parts_into_those_that_share_its_rows(found: hr.Levels) -> None:
    table = found.flow()
    for coarse, fine in zip(found.items[:-1], found.items[1:], strict=True):
        own = table["power"] == coarse.power
        assert (table["finer_power"][own] == fine.power).all()
        assert table["rows"][own].sum() == 120
        for a, b, rows in zip(table["cluster"][own], table["finer_cluster"][own], table["rows"][own], strict=True):
            assert rows == np.sum((coarse.labels == a) & (fine.labels == b))


def test_the_file_holds_all_of_it(found: hr.Levels, tmp_path: Path) -> None:
    found.save(tmp_path / "all.levels")
    again = hr.load(tmp_path / "all.levels")
    assert isinstance(again, hr.Levels)
    assert again.powers == found.powers
    for a, b in zip(again, found, strict=True):
        assert np.array_equal(a.posterior.labels, b.posterior.labels)
        assert np.array_equal(a.strengths, b.strengths)
        assert np.array_equal(a.posterior.X, b.posterior.X)
    assert str(again) == str(found)
    with pytest.raises(ParameterError, match="stored posterior"):
        hr.Posterior.load(tmp_path / "all.levels")


def test_sparse_counts_are_stored_once(tmp_path: Path) -> None:
    counts = sparse.csr_array(np.random.default_rng(0).poisson(1.0, size=(40, 12)))
    mixture = hr.Mixture(hr.DP(), hr.Multinomial(0.5))
    levels = hr.levels(mixture, counts, [1.0, 0.1], **QUICK)  # type: ignore[arg-type]
    levels.save(tmp_path / "counts.levels")
    again = hr.load(tmp_path / "counts.levels")
    assert (counts != again[0].posterior.X).nnz == 0  # type: ignore[index]
    assert (counts != again[1].posterior.X).nnz == 0  # type: ignore[index]


def test_a_run_that_was_stopped_goes_on_to_the_same_draws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    X, powers, path = blobs(60)[0], [1.0, 0.2, 0.05], tmp_path / "run.levels"
    whole = hr.levels(model(), X, powers, **QUICK)  # type: ignore[arg-type]
    right = Ladder.level
    seen: list[float] = []

    def stopped(self: Ladder, power: float, *rest: object) -> object:
        seen.append(power)
        return None if power == 0.05 else right(self, power, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Ladder, "level", stopped)
    part = hr.levels(model(), X, powers, checkpoint=path, **QUICK)  # type: ignore[arg-type]
    assert len(part) == 2
    assert "was stopped" in part.notes[0]
    monkeypatch.undo()
    rest = hr.levels(model(), X, powers, checkpoint=path, **QUICK)  # type: ignore[arg-type]
    assert rest.powers == whole.powers
    for a, b in zip(rest, whole, strict=True):
        assert np.array_equal(a.posterior.labels, b.posterior.labels)
        assert np.array_equal(a.strengths, b.strengths)
    with pytest.raises(ParameterError, match=r"one of this run\. Got other model"):
        hr.levels(model(), X + 1, powers, checkpoint=path, **QUICK)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Got other numbers"):
        hr.levels(model(), X, powers, checkpoint=path, **{**QUICK, "draws": 16})  # type: ignore[arg-type]


def test_ctrl_c_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.resolution import ladder

    calls: list[int] = []
    right = hr.sample

    def interrupted(*given: object, **more: object) -> object:
        calls.append(1)
        if len(calls) > 3:  # the first level takes three: the whole and two halves
            raise KeyboardInterrupt
        return right(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(ladder, "sample", interrupted)
    levels = hr.levels(model(), blobs(60)[0], **QUICK)  # type: ignore[arg-type]
    assert levels.powers == [1.0]
    calls.extend([1] * 5)
    with pytest.raises(KeyboardInterrupt):
        hr.levels(model(), blobs(60)[0], **QUICK)  # type: ignore[arg-type]


STOPPED = {"sample": 5, "point_estimate": 5, "placement": 3, "agreement": 3, "save": 1}  # which call is in the second level


@pytest.mark.parametrize("where", STOPPED)
def test_ctrl_c_is_never_lost(where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A real signal in the second level, at the end of each thing that a level is made of: what is inside may have taken it in."""
    X, path = blobs(60)[0], tmp_path / "run.levels"
    whole = hr.levels(model(), X, [1.0, 0.3, 0.05], **QUICK)  # type: ignore[arg-type]
    place: Any = {"point_estimate": hr.Posterior, "save": hr.Levels}.get(where, importlib.import_module("hedgerow.resolution.ladder"))
    right, calls = getattr(place, where), []

    def signalled(*given: Any, **more: Any) -> Any:
        told = right(*given, **more)
        calls.append(1)
        if len(calls) == STOPPED[where]:
            kept = signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
            with contextlib.suppress(KeyboardInterrupt):  # as `sample` and `point_estimate` do, which keep what they have
                signal.raise_signal(signal.SIGINT)
            assert kept is not signal.default_int_handler  # somebody notes it
        return told

    monkeypatch.setattr(place, where, signalled)
    part = hr.levels(model(), X, [1.0, 0.3, 0.05], checkpoint=path, **QUICK)  # type: ignore[arg-type]
    monkeypatch.undo()
    assert part.stopped
    assert 1 <= len(part) < 3
    assert "The run was stopped" in part.notes[-1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    rest = hr.levels(model(), X, [1.0, 0.3, 0.05], checkpoint=path, **QUICK)  # type: ignore[arg-type]
    assert not rest.stopped
    for a, b in zip(rest, whole, strict=True):
        assert np.array_equal(a.labels, b.labels)
        assert np.array_equal(a.strengths, b.strengths)


def test_an_estimate_cut_short_is_no_level(monkeypatch: pytest.MonkeyPatch) -> None:
    right = hr.Posterior.point_estimate
    monkeypatch.setattr(hr.Posterior, "point_estimate", lambda *a, **k: dataclasses.replace(right(*a, **k), stopped=True))
    with pytest.raises(KeyboardInterrupt):
        hr.levels(model(), blobs(60)[0], [1.0], **QUICK)  # type: ignore[arg-type]


def test_a_search_that_is_stopped_says_so_and_ends_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = hr.levels(model(), blobs(60)[0], [1.0, 0.02], **{**QUICK, "splits": 0})  # type: ignore[arg-type]
    monkeypatch.setattr(Ladder, "level", lambda *given: None)
    assert levels.about(3) in list(levels)
    assert levels.stopped
    assert levels.notes == ["The search for 3 clusters was stopped."]
    monkeypatch.undo()
    right = Ladder.level
    monkeypatch.setattr(Ladder, "level", lambda self, power, *rest: right(self, power, *rest) if power == 1 else None)
    with pytest.raises(KeyboardInterrupt):
        hr.HedgerowClusterer(about=2, draws=10, warmup=10, chains=1, random_state=0).fit(blobs(60)[0])


def test_levels_of_rows_in_time() -> None:
    X, _, times = hr.data.moving_clusters(n=12, steps=3, seed=0)
    mixture = hr.Mixture(hr.MixedNRM(hr.DP(), decay=1.0), hr.GaussianDiagonal())
    levels = hr.levels(mixture, X, [1.0, 0.1], times=times, **QUICK)  # type: ignore[arg-type]
    assert all(0 <= level.strength <= 1 for level in levels)


def test_the_flow_is_drawn_to_scale(found: hr.Levels) -> None:
    geometry = flow_geometry([level.labels for level in found])
    for level, bars in zip(found, geometry.bars, strict=True):
        assert bars[:, 1] - bars[:, 0] == pytest.approx(np.bincount(level.labels) / 120)
    for bands in geometry.bands:
        assert (bands[:, 3] - bands[:, 2]) == pytest.approx(bands[:, 5] - bands[:, 4])
        assert (bands[:, 3] - bands[:, 2]).sum() == pytest.approx(1.0)
    pytest.importorskip("matplotlib")
    assert len(found.plot().patches) == sum(level.n_clusters for level in found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"powers": []}, "powers must be at least one"),
        ({"powers": [1.5]}, r"powers must be at least one number in \(0, 1\].* Got \[1.5\]"),
        ({"powers": [0.5, 0.0]}, "powers must be at least one number"),
        ({"powers": [0.5, float("nan")]}, "powers must be at least one number"),
        ({"powers": ["a"]}, "powers must be at least one number"),
        ({"powers": "0.5"}, "powers must be at least one number"),
        ({"powers": 0.5}, "powers must be at least one number"),
        ({"seed": -1}, "seed must be a whole number from 0 up"),
        ({"seed": "x"}, "seed must be a whole number from 0 up"),
        ({"seed": 1.5}, "seed must be a whole number from 0 up"),
        ({"draws": 0}, "draws must be a whole number from 1"),
        ({"splits": -1}, "splits must be a whole number from 0"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        hr.levels(model(), blobs(20)[0], **{**QUICK, **arguments})  # type: ignore[arg-type]


def test_a_strength_that_no_level_has_is_said() -> None:
    levels = hr.levels(model(), blobs(40)[0], [1.0], **{**QUICK, "splits": 0})  # type: ignore[arg-type]
    assert np.isnan(levels[0].strength)
    with pytest.raises(ParameterError, match=r"strength must be reached by a level, and none was measured \(splits=0\)"):
        levels.finest(0.8)


@pytest.mark.parametrize("strength", [1.1, -0.1, float("nan"), "a", None])
def test_strengths_that_none_can_have_are_refused(found: hr.Levels, strength: Any) -> None:
    with pytest.raises(ParameterError, match="strength must be a number from 0 to 1"):
        found.finest(strength)


@pytest.mark.parametrize("clusters", [0, -1, 2.5, "3", None, float("nan"), True])
def test_about_wants_a_whole_number(found: hr.Levels, clusters: Any) -> None:
    with pytest.raises(ParameterError, match="clusters must be a whole number from 1 up"):
        found.about(clusters)
    with pytest.raises(ParameterError, match="about must be a whole number from 1 up"):
        hr.HedgerowClusterer(about=clusters if clusters is not None else "none").fit(blobs(20)[0])


def test_the_estimator_looks_for_the_power_and_keeps_what_it_saw() -> None:
    X, truth = blobs()
    quick = {"draws": 30, "warmup": 30, "chains": 2, "random_state": 0, "likelihood": hr.GaussianDiagonal()}
    found = hr.HedgerowClusterer(about=2, **quick).fit(X)
    assert found.n_clusters_ == 2
    assert found.model_.power == found.levels_.about(2).power < 1
    assert hr.summaries.ari(found.labels_, truth // 2) > 0.95
    agreed = hr.HedgerowClusterer(levels=[1.0, 0.05], **quick).fit(X)
    assert agreed.model_.power == agreed.levels_.finest().power
    coarse = hr.HedgerowClusterer(power=0.05, **quick).fit(X)
    assert coarse.model_.power == 0.05
    assert coarse.n_clusters_ == 1
    assert not hasattr(coarse, "levels_")
    with pytest.raises(ParameterError, match="power must be left out"):
        hr.HedgerowClusterer(power=0.5, about=2, **quick).fit(X)


def test_levels_of_a_frame_with_columns_of_all_kinds() -> None:
    pandas = pytest.importorskip("pandas")
    X, truth = blobs(80)
    frame = pandas.DataFrame({"x": X[:, 0], "y": X[:, 1], "kind": np.array(["a", "b"])[truth // 2]})
    family = hr.Product({"x": hr.GaussianDiagonal(), "y": hr.GaussianDiagonal(), "kind": hr.Categorical()})
    found = hr.levels(hr.Mixture(hr.DP(), family), frame, [1.0, 0.3], **QUICK)  # type: ignore[arg-type]
    assert all(0 <= level.strength <= 1 for level in found)


def test_the_page_opens_where_halves_agree_and_says_so(found: hr.Levels, tmp_path: Path) -> None:
    best = found.finest(0.8)
    page = found.report(tmp_path / "page.html", title="Four blobs").read_text(encoding="utf-8")
    assert f"{best.n_clusters} clusters in 120 points; halves of the points agree on them to" in page
    assert page.count('<div class="view"') == page.count('<button type="button" data-level-button=') == len(found)
    shown = [at for at in range(len(found)) if f'data-view="{at}">' in page]
    assert [found[at] for at in shown] == [best]


def test_the_page_of_a_table_that_falls_apart_opens_coarse(tmp_path: Path) -> None:
    levels = hr.levels(model(), blobs()[0], [1.0, 0.01], **{**QUICK, "splits": 0})  # type: ignore[arg-type]
    page = levels.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "was not measured" in page
    level = SimpleNamespace
    ladder: Any = [level(strength=0.5, n_clusters=k, n_small=small) for k, small in ((1, 0), (FEW + 3, 3), (900, 600))]
    assert opened_at(ladder, 0.8) == 1  # the finest with few clusters of a size
    assert opened_at(ladder, 0.5) == 2
    assert opened_at(ladder[2:], 0.8) == 0


def test_colours_go_on_into_the_largest_part() -> None:
    coarse, middle, fine = [0] * 10, [0] * 6 + [1] * 4, [2] + [0] * 5 + [1] * 4
    assert [colors.tolist() for colors in flow_geometry([coarse, middle, fine]).colors] == [[0], [0, 1], [0, 1, 2]]
    swapped = [1] * 6 + [0] * 4
    assert flow_geometry([middle, swapped]).colors[1].tolist() == [1, 0]


def test_a_run_that_needs_fewer_levels_ends_with_a_full_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    opened = levels_module.open_progress

    def watched(*given: Any) -> Any:
        kept.append(opened(*given))
        return kept[-1]

    monkeypatch.setattr(levels_module, "open_progress", watched)
    found = hr.levels(model(), blobs(apart=0.0)[0], n_levels=6, **{**QUICK, "seed": 2})  # type: ignore[arg-type]
    assert len(found) < 6
    tally = kept[0].tally
    assert tally.done == tally.total > 0
    assert f"{len(found)} of {len(found)} levels done" in tally.words() or len(found) == 1
