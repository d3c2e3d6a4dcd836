"""Principal: a density of all columns whose clusters differ along a few directions, how many those are, and where it is proposed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import hedgerow as hr
from hedgerow.likelihoods.principal import directions_in_common
from hedgerow.summaries import ari
from hedgerow.testing import check_likelihood


def wide(n: int, d: int, clusters: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Clusters that differ in a fifth of many columns."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, clusters, n)
    centres = np.zeros((clusters, d))
    centres[:, : d // 5] = rng.normal(size=(clusters, d // 5)) * 0.8
    return centres[kind] + rng.normal(size=(n, d)), kind


def test_its_sums_hold() -> None:
    assert check_likelihood(*hr.Principal.example(), draws=400).passed


def test_the_density_is_that_of_a_gaussian_with_one_variance_for_the_rest() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4)) * [1.0, 10.0, 0.1, 3.0] + 5.0
    model = hr.Principal(n_directions=2).resolve(X)
    theta = model.sample_posterior(X, rng)
    V, rest = np.asarray(model.directions), model.rest
    assert rest is not None
    inside = V.T @ np.linalg.inv(theta.precision) @ V + rest * (np.eye(4) - V.T @ V)
    scale = np.asarray(model.scale)
    mean = model.centre + scale * (theta.mean @ V)
    told = multivariate_normal(mean, inside * np.outer(scale, scale)).logpdf(X)
    np.testing.assert_allclose(model.log_density(theta, X), told, atol=1e-9)


def test_units_change_nothing() -> None:
    X, _ = wide(60, 40, 3)
    factors = np.geomspace(1e-6, 1e6, 40)
    one, other = hr.Principal().resolve(X), hr.Principal().resolve(X * factors + 7.0)
    np.testing.assert_allclose(one.scores(X), other.scores(X * factors + 7.0), atol=1e-6)
    shift = one.log_marginal(X) - other.log_marginal(X * factors + 7.0)
    assert shift == pytest.approx(60 * np.log(factors).sum(), abs=1e-4)


def test_directions_are_counted_against_chance() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(100, 50))
    assert directions_in_common(noise) <= 2
    for shared in (1, 3, 6):
        X = rng.normal(size=(100, shared)) @ rng.normal(size=(shared, 50)) + 0.3 * noise
        assert directions_in_common(X) == shared
    assert directions_in_common(rng.normal(size=(12, 8)) @ rng.normal(size=(8, 300))) == 2  # a fifth of the rows at the most
    assert directions_in_common(np.ones((10, 4))) == 1


@pytest.mark.parametrize("shape", [(100, 200, 4), (60, 1000, 3)])
def test_many_columns_of_few_rows_are_neither_one_cluster_nor_all_alone(shape: tuple[int, int, int]) -> None:
    X, kind = wide(*shape, seed=1)
    proposal = hr.propose(X)
    if shape[1] == 1000:  # of 200 columns those that tell something can be found
        assert type(proposal.likelihood) is hr.Principal
        assert "directions that columns share, since" in proposal.explained()
    labels = proposal.sample(draws=60, warmup=100, chains=1, seed=0, progress=False).point_estimate().labels
    assert 1 < labels.max() + 1 <= shape[2] + 1
    assert ari(labels, kind) > 0.3
    apart = hr.sample(hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianDiagonal()), X, draws=5, warmup=5, chains=1, seed=0, progress=False)
    assert ari(apart.labels[0, -1], kind) < 0.1


def test_kept_by_files_and_at_a_power(tmp_path) -> None:
    X, _ = wide(40, 30, 2)
    model = hr.Mixture(hr.DP(1.0), hr.Principal(), power=0.5)
    post = hr.sample(model, X, draws=5, warmup=5, chains=1, seed=0, progress=False)
    post.save(tmp_path / "run.hedge")
    read = hr.load(tmp_path / "run.hedge")
    assert read.model.likelihood == post.model.likelihood
    np.testing.assert_array_equal(read.log_density(X[:3]), post.log_density(X[:3]))
    assert post.predict(X).shape == (40,)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: hr.Principal(n_directions=0), "n_directions must be a whole number from 1 up"),
        (lambda: hr.Principal(hr.Multinomial()), "be a likelihood of measurements"),
        (lambda: hr.Principal(directions=[[1.0, 1.0]]), "have orthonormal rows"),
        (lambda: hr.Principal(directions=[[1.0], [0.0]]), r"be a \(q, d\) array with q up to d"),
        (lambda: hr.Principal(directions=[[1.0, 0.0]], centre=[0.0] * 3), "centre must have 2 entries"),
        (lambda: hr.Principal(directions=[[1.0, 0.0]], n_directions=2), "be left out, or 1"),
        (lambda: hr.Principal(hr.GaussianWishart(mean=[0, 0]), directions=[[1.0, 0.0]]), "have 1 columns"),
        (lambda: hr.Principal(n_directions=5).resolve(np.eye(4)), "be at most the number of columns 4"),
        (lambda: hr.Principal(rest=-1.0), "rest must be a finite number above 0"),
        (lambda: hr.Principal().resolve([[1.0, np.nan], [0.0, 1.0]]), "must be finite"),
    ],
)
def test_what_is_refused(make, said: str) -> None:
    with pytest.raises(hr.ParameterError, match=said):
        make()
