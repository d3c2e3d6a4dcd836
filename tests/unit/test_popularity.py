"""Clusters along time: shares, lives, trajectories and basis measures, by hand and against the enumerated posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import hedgerow as hr
from hedgerow.summaries import popularity, trajectories
from hedgerow.summaries.along_time import matched

CODES = np.array([0, 0, 1, 1, 2, 2])
OWN = np.array([0, 0, 0, 1, 1, 1])
DRAWS = np.array(
    [
        [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]],  # as the partition; row 2 gone over
        [[0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 0]],  # the first split; all joined, which counts for the lower number
    ]
)


def posterior(**changes) -> hr.Posterior:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-4, 1, (12, 2)), rng.normal(4, 1, (12, 2))])
    times = np.tile([1, 1, 2, 2, 3, 3], 4)
    model = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 0.5), basis=[1, 3], decay=0.5), hr.GaussianWishart())
    arguments = {"draws": 30, "warmup": 20, "chains": 2, "seed": 0, "times": times} | changes
    return hr.sample(model, X, **arguments)


def test_matching_counts_pieces_together_and_unions_for_the_larger() -> None:
    homes = [home.tolist() for _, home in matched(DRAWS, OWN)]
    assert homes == [[0, 1], [0, 1], [0, 0, 1], [0]]


def test_shares_lives_and_intervals_by_hand() -> None:
    found = popularity(DRAWS, OWN, CODES, ["a", "b", "c"], prob=0.5)
    np.testing.assert_allclose(found.mean[:, 0], [1.0, (0.5 + 0 + 0.5 + 1) / 4, 0.25])
    np.testing.assert_allclose(found.mean.sum(axis=1), 1.0)
    np.testing.assert_allclose(found.alive[:, 1], [0.0, 0.75, 0.75])
    np.testing.assert_array_equal(found.born, [[0, 1], [0, 1], [0, 1], [0, -1]])
    np.testing.assert_array_equal(found.died, [[1, 2], [0, 2], [1, 2], [2, -1]])
    assert (found.low <= found.mean).all()
    assert (found.mean <= found.high).all()
    lives = found.lives()
    assert lives["born"].tolist() == ["a", "b"]
    assert lives["died"].tolist() == ["b", "c"]
    assert lives["died_high"].tolist() == ["b", "c"]
    assert lives["known"].tolist() == [1.0, 0.75]
    assert "50 %" in str(lives)


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_trajectories_by_hand(offset: float) -> None:
    X = np.arange(12.0).reshape(6, 2) + offset
    found = trajectories(X, DRAWS, OWN, CODES, [1, 2, 3], ["p", "q"])
    np.testing.assert_allclose(found.mean[0, 0], X[:2].mean(axis=0))
    second = np.stack([X[2], X[2], X[2:4].mean(axis=0)])  # draws 0, 2 and 3; in draw 1 the cluster is gone by then
    np.testing.assert_allclose(found.mean[1, 0], second.mean(axis=0))
    np.testing.assert_allclose(found.sd[1, 0], second.std(axis=0), rtol=1e-6)
    assert np.isnan(found.mean[0, 1]).all()
    counts = trajectories(sparse.csr_array(X), DRAWS, OWN, CODES, [1, 2, 3], ["p", "q"])
    np.testing.assert_allclose(counts.mean, found.mean)


def test_trajectories_leave_missing_entries_out() -> None:
    X = np.array([[1.0, np.nan], [3.0, np.nan], [5.0, 2.0], [7.0, 4.0], [1.0, 1.0], [1.0, 1.0]])
    found = trajectories(X, OWN[None], OWN, CODES, [1, 2, 3], ["p", "q"])
    np.testing.assert_allclose(found.mean[0, 0], [2.0, np.nan])
    np.testing.assert_allclose(found.mean[1, 0], [5.0, 2.0])


def test_basis_is_the_conditional_of_z() -> None:
    rng = np.random.default_rng(3)
    own, times = np.repeat([0, 1, 2], 4), np.array([1, 1, 1, 2, 1, 2, 3, 3, 3, 3, 3, 2])
    model = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 0.5), basis=[1, 3], decay=0.5), hr.GaussianWishart())
    split = np.where(np.arange(12) == 0, 3, own)  # one row of the first cluster alone
    labels = np.stack([own, own, split])[None]
    traces = {"log_u": np.log(rng.gamma(2, 1, (1, 3, 3))), "alpha": rng.gamma(2, 1, (1, 3, 2))} | {
        "sigma": np.full((1, 3), 0.3), "tau": np.full((1, 3), 0.5)
    }  # fmt: skip
    post = hr.Posterior(labels=labels, log_joint=np.zeros((1, 3)), X=np.zeros((12, 2)), model=model, times=times, **traces)
    weights = post.basis(own)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    grouping = model.prior.group(times, 12)

    def conditional(rows: np.ndarray, draw: int) -> np.ndarray:
        log = np.log(grouping.q[grouping.codes[rows]]).sum(axis=0) + np.log(traces["alpha"][0, draw])
        log -= (len(rows) - 0.3) * np.log(np.exp(traces["log_u"][0, draw]) @ grouping.q + 0.5)
        return np.exp(log) / np.exp(log).sum()

    for k in (1, 2):
        expected = np.mean([conditional(np.flatnonzero(own == k), draw) for draw in range(3)], axis=0)
        np.testing.assert_allclose(weights[k], expected, rtol=1e-9)
    pieces = [4 * conditional(np.arange(4), 0), 4 * conditional(np.arange(4), 1), 3 * conditional(np.arange(1, 4), 2)]
    pieces.append(conditional(np.arange(1), 2))
    np.testing.assert_allclose(weights[0], np.sum(pieces, axis=0) / 12, rtol=1e-9)


def test_posterior_and_forest_speak_of_the_same_times() -> None:
    post = posterior()
    found = post.popularity()
    assert found.times.tolist() == [1, 2, 3]
    assert found.mean.shape == (3, found.n_clusters)
    assert post.popularity(times=np.tile(["x", "y"], 12)).times.tolist() == ["x", "y"]
    assert post.trajectories().mean.shape == (3, found.n_clusters, 2)
    forest = hr.ibhc(post.model, post.X, times=post.times, seed=0)
    shares = forest.popularity(post.times)
    np.testing.assert_array_equal(shares.low, shares.mean)
    np.testing.assert_allclose(shares.mean.sum(axis=1), 1.0)


def test_plot_takes_numbers_dates_and_labels() -> None:
    post = posterior()
    ax = post.plot_popularity(names=[f"c{k}" for k in range(post.popularity().n_clusters)])
    assert ax.get_xlim() == (1.0, 3.0)
    days = np.array(["2024-01-01", "2024-01-08"], "datetime64[D]")[np.arange(24) % 2]
    shown = post.plot_popularity(times=days)
    assert [text.get_text() for text in shown.get_xticklabels()] == ["2024-01-01", "2024-01-08"]


def test_what_cannot_be_asked_is_said() -> None:
    X = np.random.default_rng(0).normal(size=(10, 2))
    post = hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), X, draws=3, warmup=1, chains=1, seed=0)
    with pytest.raises(hr.ParameterError, match="times must be given"):
        post.popularity()
    with pytest.raises(hr.ParameterError, match="must be that of a MixedNRM"):
        post.basis()
    with pytest.raises(hr.ParameterError, match="one entry for each of the 10 rows"):
        post.popularity(times=[1, 2])
    with pytest.raises(hr.ParameterError, match="prob must lie"):
        post.popularity(times=np.arange(10), prob=0.0)
    with pytest.raises(hr.ParameterError, match="not coordinates"):
        post.plot_popularity(times=np.arange(20).reshape(10, 2))
