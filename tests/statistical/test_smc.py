"""Sequential Monte Carlo: unbiased evidence against enumeration, weighted draws, standard errors."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import _core
from hedgerow.testing import exact_posterior

PLANE = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1]])
GAUSSIAN = hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2))
PRIORS = {
    "DP": hr.DP(0.8),
    "NGG": hr.NGG(0.7, 0.3, 1.5),
    "Stable": hr.Stable(1.3, 0.45),
    "PitmanYor": hr.PitmanYor(0.6, 0.3),
    "DP sampled": hr.DP(hr.Gamma(2, 2)),
    "NGG sampled": hr.NGG(hr.Gamma(2, 2), hr.Beta(2, 2)),
}


@pytest.mark.parametrize("prior", PRIORS)
def test_evidence_is_unbiased(prior: str) -> None:
    model = hr.Mixture(PRIORS[prior], GAUSSIAN)
    exact = exact_posterior(model, PLANE).log_evidence
    bound, core = GAUSSIAN.bind(PLANE), PRIORS[prior].to_core()
    runs = [_core.smc(bound, core, None, 20, 0.5, seed, 0, True)["log_evidence"] for seed in range(1000)]
    ratio = np.exp(np.array(runs) - exact)
    # The mean of 1,000 unbiased ratios is normal round 1; four standard errors are a false alarm of 6e-5.
    assert abs(ratio.mean() - 1.0) < 4.0 * ratio.std(ddof=1) / np.sqrt(len(ratio))


def test_weighted_draws_follow_the_posterior():
    model = hr.Mixture(PRIORS["NGG"], GAUSSIAN)
    exact = exact_posterior(model, PLANE)
    result = hr.smc(model, PLANE, particles=2000, runs=4, seed=3)
    place = {tuple(row): i for i, row in enumerate(exact.partitions.tolist())}
    seen = np.zeros(len(exact.partitions))
    np.add.at(seen, [place[tuple(row)] for row in result.labels.tolist()], result.weights)
    assert np.abs(seen - exact.probabilities).sum() / 2 < 0.06
    assert result.draw(10, seed=0).shape == (10, 6)


def test_runs_weigh_as_much_as_their_evidence():
    """With three particles the runs' evidence differs by factors, and runs counted alike would favour what poor runs find."""
    model = hr.Mixture(PRIORS["NGG"], GAUSSIAN)
    exact = exact_posterior(model, PLANE)
    result = hr.smc(model, PLANE, particles=3, runs=3000, seed=2)
    share = np.exp(result.run_log_evidence - np.logaddexp.reduce(result.run_log_evidence))
    weights = result.weights.reshape(3000, 3)
    assert weights.sum(axis=1) == pytest.approx(share)
    K = result.n_clusters.reshape(3000, 3)
    means = (weights * K).sum(axis=1) / share

    def score(weight: np.ndarray) -> float:
        mean = weight @ means
        return (mean - exact.expect(exact.n_clusters)) / np.sqrt((weight**2) @ (means - mean) ** 2)

    # A ratio of means: its error by the delta method, four of which are a false alarm of 6e-5.
    assert abs(score(share)) < 4
    assert abs(score(np.full(3000, 1 / 3000))) > 4


def test_standard_error_covers():
    model = hr.Mixture(PRIORS["NGG"], GAUSSIAN)
    exact = exact_posterior(model, PLANE).log_evidence
    for runs, particles in ((1, 400), (8, 50)):
        z = []
        for seed in range(40):
            result = hr.smc(model, PLANE, particles=particles, runs=runs, seed=seed)
            z.append((result.log_evidence - exact) / result.log_evidence_se)
        assert 0.5 < np.std(z) < 2.0


def test_hyper_parameters_move_in_every_particle():
    """Drawn once and then only copied they would run out: some hundred of these would be left."""
    X = np.repeat([[0, 0], [1, 1]], 20, axis=0)
    result = hr.smc(hr.Mixture(hr.DP(hr.Gamma(0.5, 0.05)), hr.Bernoulli(0.5, 0.5)), X, particles=100, runs=4, seed=1)
    assert len(np.unique(result.alpha)) == 400


def test_same_seed_same_answer():
    model = hr.Mixture(hr.DP(), GAUSSIAN)
    one, two = (hr.smc(model, PLANE, seed=5, runs=2) for _ in range(2))
    assert one.log_evidence == two.log_evidence
    assert np.array_equal(one.labels, two.labels)


@pytest.mark.parametrize(
    ("name", "value"), [("particles", 1), ("particles", 2.5), ("runs", 0), ("seed", -1), ("threshold", 1.5), ("model", "DP")]
)
def test_bad_arguments(name: str, value: object) -> None:
    arguments = {"model": hr.Mixture(hr.DP(), GAUSSIAN), name: value}
    model = arguments.pop("model")
    with pytest.raises(hr.ParameterError, match=f"smc\\({name}="):
        hr.smc(model, PLANE, **arguments)


def test_times_are_refused_without_groups():
    with pytest.raises(hr.ParameterError, match="times must be left out"):
        hr.smc(hr.Mixture(hr.DP(), GAUSSIAN), PLANE, times=[1, 1, 2, 2, 3, 3])
