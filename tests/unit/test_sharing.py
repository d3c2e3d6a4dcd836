"""One covariance that clusters share: how it is found, and when it is proposed."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.likelihoods import GaussianWishart, Prepared
from hedgerow.likelihoods.shared import bases, price
from hedgerow.proposing import sharing as module
from hedgerow.summaries import ari

QUICK = {"draws": 60, "warmup": 100, "chains": 1, "seed": 0, "progress": False}


def alike(n: int, d: int, k: int, apart: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clusters on a line, so many of their standard deviations apart, with one slanted covariance."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, k, n)
    A = rng.normal(size=(d, d))
    root = np.linalg.cholesky(A @ A.T / d + 0.2 * np.eye(d))
    along = root @ np.linalg.qr(rng.normal(size=(d, d)))[0][:, 0]
    return apart * kind[:, None] * along + rng.normal(size=(n, d)) @ root.T, kind, root @ root.T


def bent(n: int = 500, seed: int = 0) -> np.ndarray:
    """Rows spread evenly over a slanted box."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.random((n, 5)) @ rng.normal(size=(5, 5)))


def test_clusters_along_one_of_many_directions_are_found() -> None:
    """What is expected by default says one cluster."""
    X, kind, _ = alike(400, 14, 2, 5.0)
    proposal = hr.propose(X)
    assert proposal.shared
    assert "GaussianWishart.shared()" in proposal.explained()
    assert "clusters expected to share one covariance" in proposal.explained()
    assert proposal.scores["candidate"][:2].tolist() == ["one covariance", "full covariances"]
    assert ari(proposal.sample(**QUICK).point_estimate().labels, kind) > 0.9
    before = hr.Mixture(hr.DP(hr.Gamma(1, 1)), GaussianWishart())
    assert hr.sample(before, X, **QUICK).point_estimate().n_clusters == 1


def test_the_covariance_is_that_of_the_clusters() -> None:
    X, _, W = alike(900, 6, 3, 7.0)
    model = GaussianWishart.shared().resolve(X)
    assert model.nu >= 6 + 400
    mean = model.psi / (model.nu - 7)
    assert np.abs(mean - W).max() < 0.15 * np.diag(W).max()


def test_units_and_offsets_change_nothing() -> None:
    X, _, _ = alike(300, 4, 2, 6.0)
    scale = np.array([1e-3, 1.0, 50.0, 1e6])
    first, second = (GaussianWishart.shared().resolve(table) for table in (X, X * scale + 7 * scale))
    assert first.nu == second.nu
    np.testing.assert_allclose(second.psi, first.psi * np.outer(scale, scale), rtol=1e-6)


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(400, 6)),
        bent(),
        np.random.default_rng(1).normal(size=(120, 2)) * np.repeat([0.1, 2.0], 60)[:, None] + np.repeat([[0.0], [9.0]], 60, axis=0),
    ],
    ids=["one bell curve", "a box", "clusters of two widths"],
)
def test_rows_that_do_not_speak_for_it(X: np.ndarray) -> None:
    assert not hr.propose(X).shared


def test_clusters_that_are_free_to_differ_must_be_less_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted trees: one covariance is likelier than what is expected by default, and free ones about it are likelier or not."""
    X, _, _ = alike(200, 3, 2, 6.0)
    first = hr.likelihood_for(X)
    resolved = first.likelihood.resolve(first.X)
    for before, free, taken in ((0.0, 2e4, False), (0.0, 0.0, True), (2e4, 0.0, False)):
        trees = iter([1e4, free, free, free])
        monkeypatch.setattr(module, "best_forest", lambda *_, before=before: (before, 3))
        monkeypatch.setattr(module, "tree_score", lambda *_, trees=trees: next(trees))
        assert bool(module.with_shared(first, resolved)[0].shared) == taken


def test_columns_that_are_left_are_judged_again() -> None:
    """Three clusters of their own shapes in four columns: one covariance describes forty columns of noise, and not these."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 300)
    X = 2.5 * rng.normal(size=(3, 4))[kind]
    for c in range(3):
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        X[kind == c] += rng.normal(size=((kind == c).sum(), 4)) * [1.2, 0.9, 0.6, 0.4] @ turn.T
    table = np.c_[X, rng.normal(size=(300, 40))]
    first = hr.likelihood_for(table)
    assert module.with_shared(first, first.likelihood.resolve(table))[0].shared
    assert not hr.propose(table).shared


def test_gaps_constant_and_copied_columns() -> None:
    X, kind, _ = alike(300, 6, 2, 7.0)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    proposal = hr.propose(X)
    assert proposal.shared
    assert ari(proposal.sample(**QUICK).point_estimate().labels, kind) > 0.8
    for table in (np.c_[X[:, :2], X[:, 1]], np.c_[X[:, :2], np.full(300, 4.0)], X[:9], X[:1], np.zeros((5, 2))):
        model = GaussianWishart.shared().resolve(table)
        assert np.isfinite(model.psi).all()
        assert (np.linalg.eigvalsh(model.psi) > 0).all()


def test_a_number_that_is_given_is_kept() -> None:
    X, _, _ = alike(200, 3, 2, 6.0)
    assert GaussianWishart(nu=40.0, rule="shared").resolve(X).nu == 40.0
    with pytest.raises(hr.ParameterError, match="rule"):
        GaussianWishart(rule="common")


def test_what_a_covariance_costs() -> None:
    assert price(np.eye(3), 100) == pytest.approx(2 * np.log(100) / 2)
    assert price(np.eye(3) + 0.1, 100) == pytest.approx(5 * np.log(100) / 2)
    slanted = list(bases(np.array([[2.0, 1.0], [1.0, 2.0]])))
    assert [pairs[0][1][0, 1] / 99 for pairs in slanted] == pytest.approx([1.0, 0.5, 0.0])


def test_a_prepared_column_has_it_too() -> None:
    X, kind, _ = alike(400, 5, 2, 7.0)
    proposal = hr.propose(np.exp(X / np.abs(X).max() * 6))
    part = proposal.likelihood
    assert isinstance(part, Prepared)
    assert ari(proposal.sample(**QUICK).point_estimate().labels, kind) > 0.9
