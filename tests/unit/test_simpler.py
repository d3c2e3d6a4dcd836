"""What is proposed where the usual rules ask too much of few rows: fewer columns, columns apart, counts as measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.data import iris, wine
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Poisson, Prepared
from hedgerow.proposing import simpler as module
from hedgerow.proposing.scores import left_out, of_one_law
from hedgerow.proposing.simpler import clearly_better, simpler
from hedgerow.summaries import ari

QUICK = {"draws": 60, "warmup": 100, "chains": 1, "seed": 0, "progress": False}


def slanted(n: int, noise: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three slanted clusters in four columns, and columns of noise."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    X = 2.5 * rng.normal(size=(3, 4))[kind]
    for c in range(3):
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        X[kind == c] += rng.normal(size=((kind == c).sum(), 4)) * [1.2, 0.9, 0.6, 0.4] @ turn.T
    return np.c_[X, rng.normal(size=(n, noise))], kind


def families(proposal: hr.likelihoods.proposal.Proposal) -> set[type]:
    return {type(part.likelihood if isinstance(part, Prepared) else part) for part in proposal.likelihood.factors()}


def test_columns_of_noise_are_set_aside_and_the_others_stay_correlated() -> None:
    X, kind = slanted(300, 40)
    proposal = hr.propose(X)
    used = [column for reason in proposal.reasons if reason.choice != "left out" for column in reason.columns]
    assert set(range(4)) <= set(used)
    assert len(used) <= 6
    assert families(proposal) == {GaussianWishart}
    best = proposal.sample(**QUICK).point_estimate()
    assert ari(best.labels, kind) > 0.9
    told = {reason.why for reason in proposal.reasons if reason.choice == "left out"}
    assert all("the clusters of the other columns say nothing about it" in why for why in told)


def test_columns_that_were_asked_for_stay() -> None:
    X, _ = slanted(300, 40)
    proposal = hr.propose(X, columns={20: "number"})
    kept = next(reason for reason in proposal.reasons if 20 in reason.columns)
    assert kept.choice != "left out"


def test_columns_apart_where_rows_are_few_to_correlate_them() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 400)
    widths = np.exp(rng.normal(0.0, 0.7, (4, 40)))
    X = rng.normal(size=(4, 40))[kind] + widths[kind] * rng.normal(size=(400, 40))
    proposal = hr.propose(X)
    assert families(proposal) == {GaussianDiagonal}
    assert "columns apart, which describes rows left out better" in proposal.explained()
    assert ari(proposal.sample(**QUICK).point_estimate().labels, kind) > 0.95


@pytest.mark.parametrize("X", [iris().X, wine().X, slanted(400, 0)[0]])
def test_slanted_clusters_keep_their_covariances(X: np.ndarray) -> None:
    proposal = hr.propose(X)
    assert families(proposal) == {GaussianWishart}
    assert not any(reason.choice == "left out" for reason in proposal.reasons)


def test_boxes_that_tile_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """However well they describe rows left out: the planted scores say that, with twice the clusters."""
    X = slanted(150, 0)[0]
    first = hr.likelihood_for(X)
    resolved = first.likelihood.resolve(X)

    def planted(clusters: int) -> Any:
        def judge(likelihood: Any, rows: np.ndarray) -> tuple[np.ndarray, int]:
            apart = isinstance(likelihood, GaussianDiagonal)
            return np.full(len(rows) // 2, float(apart)), clusters if apart else 3

        return judge

    monkeypatch.setattr(module, "set_aside", lambda proposal, likelihood, *_: (proposal, likelihood))
    for clusters, family in ((6, GaussianWishart), (5, GaussianDiagonal)):
        monkeypatch.setattr(module, "left_out", planted(clusters))
        assert families(simpler(first, resolved)[0]) == {family}


def counted(spread: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Three clusters of counts; with `spread` they vary more than Poisson's law allows."""
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 3, 300)
    mean = rng.gamma(1.5, 4, (3, 6))[kind]
    values = rng.negative_binomial(2, 2 / (2 + mean)) if spread else rng.poisson(mean)
    return pd.DataFrame(values).add_prefix("n"), kind


def test_counts_that_vary_more_than_poisson_are_measurements() -> None:
    frame, _ = counted(spread=True)
    frame += 1  # none of them is none
    proposal = hr.propose(frame)
    assert Poisson not in families(proposal)
    assert "taken for measurements: counts would take" in proposal.explained()
    assert proposal.sample(**QUICK).point_estimate().n_clusters <= 10
    kept = hr.propose(frame, columns=dict.fromkeys(frame.columns, "count"))
    assert families(kept) == {Poisson}


def none_or_many(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three clusters of counts that vary more than Poisson's law allows, some rows with none at all."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, 400)
    mean, none = np.exp(rng.normal(1.5, 1, (3, 6)))[kind], rng.uniform(0.1, 0.7, (3, 6))[kind]
    values = rng.negative_binomial(3, 3 / (3 + mean))
    return pd.DataFrame(np.where(rng.random((400, 6)) < none, 0, values)).add_prefix("n"), kind


def test_counts_with_many_zeros_are_none_or_how_many() -> None:
    frame, kind = none_or_many(0)
    proposal = hr.propose(frame)
    assert Poisson not in families(proposal)
    assert "taken for none or how many: counts would take" in proposal.explained()
    assert "0 taken for an answer of its own" in proposal.explained()
    post = proposal.sample(**QUICK)
    found = post.point_estimate()
    assert found.n_clusters <= 8
    assert ari(found.labels, kind) > 0.4
    assert len(post.predict(frame.iloc[:5])) == 5
    kept = hr.propose(frame, columns=dict.fromkeys(frame.columns, "count"))
    assert families(kept) == {Poisson}


def test_counts_stay_counts() -> None:
    frame, _ = counted(spread=False)
    assert Poisson in families(hr.propose(frame))


def test_new_rows_are_read_as_the_first_were() -> None:
    frame, _ = counted(spread=True)
    post = hr.propose(frame).sample(**QUICK)
    assert len(post.predict(frame.iloc[:5])) == 5


@pytest.mark.parametrize(("gain", "better"), [([1.0, 1.1, 0.9, 1.0], True), ([1.0, -1.0, 2.0, -1.5], False), ([-1.0] * 4, False)])
def test_clearly_better(gain: Sequence[float], better: bool) -> None:
    old = np.array([3.0, -2.0, 0.0, 1.0])
    assert clearly_better(old + gain, old) is better


def test_one_law_is_that_of_rows_in_one_cluster() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2))
    likelihood = GaussianDiagonal().resolve(rows)
    logs = of_one_law(likelihood, rows)
    together = [likelihood.log_marginal(np.vstack([rows[::2], row])) - likelihood.log_marginal(rows[::2]) for row in rows[1::2]]
    np.testing.assert_allclose(logs, np.array(together) + np.log(30 / 31), rtol=1e-9)
    assert left_out(likelihood, rows)[0].shape == (30,)
