"""Priors: what they refuse, what they believe, and that all their answers tell of one law."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc, gammaincc, gammaln

from hedgerow.errors import ParameterError
from hedgerow.priors import DP, NGG, NIG, Beta, Gamma, PitmanYor, Prior, Stable
from hedgerow.testing import check_prior, enumerate_partitions
from hedgerow.testing.exact import log_prior_by_type
from hedgerow.testing.partitions import size_types

PRIORS: list[Prior] = [
    DP(),
    DP(Gamma(2, 1.5)),
    NGG(),
    NGG(alpha=0.4, sigma=0.7, tau=3.0),
    NGG(sigma=0.0, tau=2.0),
    NIG(),
    NIG(Gamma(2, 1), Gamma(1.5, 2)),
    Stable(),
    Stable(Gamma(2, 1), Beta(2, 3)),
    PitmanYor(),
    PitmanYor(Gamma(2, 1), Beta(1, 2)),
]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_conformance(prior: Prior) -> None:
    check_prior(prior, draws=1500).raise_if_failed()


def test_conformance_of_the_papers_prior() -> None:
    check_prior(NGG(Gamma(1, 1), Beta(1.5, 1.5)), n=3, draws=1000).raise_if_failed()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: NGG(sigma=1.2), "NGG(sigma=1.2): sigma must lie in [0, 1). Got 1.2."),
        (lambda: NGG(sigma=-0.1), "NGG(sigma=-0.1): sigma must lie in [0, 1). Got -0.1."),
        (lambda: NGG(sigma=float("nan")), "sigma must lie in [0, 1)"),
        (lambda: NGG(sigma=Gamma(1, 1)), "sigma must be a number in [0, 1) or a Beta law"),  # type: ignore[arg-type]
        (lambda: NGG(alpha=Beta(1, 1)), "alpha must be a number above 0 or a Gamma law"),  # type: ignore[arg-type]
        (lambda: NGG(tau=0), "NGG(tau=0): tau must be a finite number above 0. Got 0."),
        (lambda: DP(alpha=0), "DP(alpha=0): alpha must be a finite number above 0. Got 0."),
        (lambda: DP(alpha=float("inf")), "DP(alpha=inf)"),
        (lambda: DP(alpha="one"), "DP(alpha='one')"),  # type: ignore[arg-type]
        (lambda: DP(alpha=True), "DP(alpha=True)"),
        (lambda: DP(alpha=np.ones(2)), "DP(alpha=<ndarray of shape (2,)"),  # type: ignore[arg-type]
        (lambda: Stable(sigma=0), "Stable(sigma=0): sigma must lie in (0, 1). Got 0."),
        (lambda: PitmanYor(sigma=0), "PitmanYor(sigma=0): sigma must lie in (0, 1). Got 0."),
        (lambda: PitmanYor(theta=-0.1), "theta must be a finite number above 0"),
        (lambda: NIG(tau=-1), "NIG(tau=-1)"),
        (lambda: Gamma(0, 1), "Gamma(a=0): a must be a finite number above 0. Got 0."),
        (lambda: Beta(1, -2), "Beta(b=-2)"),
        (lambda: DP().expected_clusters(0), "n must be a whole number from 1 up. Got 0."),
        (lambda: DP().sample_partition(2.5), "n must be a whole number"),  # type: ignore[arg-type]
        (lambda: DP().log_partition([2, 0]), "sizes must be a list of positive whole numbers"),
        (lambda: DP().log_partition([]), "sizes must be"),
        (lambda: DP().log_partition([2], sigma=0.1), "DP has no sigma, only alpha"),
        (lambda: NGG().log_partition([2]), "NGG has no closed form with u integrated out"),
        (lambda: NGG().log_partition([2], u=-1.0), "u must be above 0"),
        (lambda: NGG().log_partition([2], u=1.0, log_u=0.0), "log_u must be left out"),
        (lambda: PitmanYor().log_partition([2], alpha=1.0), "PitmanYor has no alpha"),
        (lambda: NGG.from_nips2015(1.0, Beta(1, 1)), "independent laws cannot say that"),  # type: ignore[arg-type]
        (lambda: NGG.from_nips2015(1.0, 0.0), "sigma must lie in (0, 1)"),
        (lambda: NGG.from_nips2015(-1.0, 0.5), "alpha must be a finite number above 0"),
    ],
)
def test_refusals_are_in_the_house_form(build: Any, words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        build()
    assert words in str(caught.value)


def test_values_and_laws() -> None:
    prior = NGG(alpha=Gamma(2, 4), sigma=Beta(1, 3), tau=2)
    assert prior.values() == {"alpha": 0.5, "sigma": 0.25, "tau": 2.0}
    assert prior.laws() == {"alpha": Gamma(2, 4), "sigma": Beta(1, 3)}
    assert NIG().values() == {"alpha": 1.0, "tau": 1.0}
    assert PitmanYor().values() == {"theta": 1.0, "sigma": 0.25}
    assert {DP(1), DP(1.0), DP(2)} == {DP(1.0), DP(2.0)}
    assert eval(repr(prior)) == prior
    assert pickle.loads(pickle.dumps(prior)) == prior


def test_nips2015_parameters() -> None:
    assert NGG.from_nips2015(2.0, 0.25) == NGG(alpha=0.5, sigma=0.25, tau=1.0)
    rescaled = NGG.from_nips2015(Gamma(3, 2), 0.25)
    assert rescaled == NGG(alpha=Gamma(3, 8), sigma=0.25)
    # E[alpha sigma] = 3/2 * 0.25
    assert rescaled.values()["alpha"] == pytest.approx(0.375)


def test_log_partition_is_the_formula() -> None:
    # p(Π, u) = u^(n-1) e^(-ψ) / Γ(n) Π κ, written out by hand for sizes 2 and 1
    alpha, sigma, tau, u = 1.3, 0.4, 0.7, 2.1
    psi = alpha / sigma * ((tau + u) ** sigma - tau**sigma)
    kappa = {m: np.log(alpha) + gammaln(m - sigma) - gammaln(1 - sigma) - (m - sigma) * np.log(u + tau) for m in (1, 2)}
    wanted = 2 * np.log(u) - psi - gammaln(3) + kappa[1] + kappa[2]
    assert NGG(alpha, sigma, tau).log_partition([2, 1], u=u) == pytest.approx(wanted, rel=1e-13)
    assert NGG().log_partition([2, 1], u=u, alpha=alpha, sigma=sigma, tau=tau) == pytest.approx(wanted, rel=1e-13)
    assert DP(1.7).log_partition([2, 1]) == pytest.approx(np.log(1.7**2 / (1.7 * 2.7 * 3.7)), rel=1e-13)
    # Pitman-Yor urn: 1, then (1-σ)/(θ+1), then (θ+σ)/(θ+2)
    assert PitmanYor(1.5, 0.25).log_partition([2, 1]) == pytest.approx(np.log(0.75 / 2.5 * 1.75 / 3.5), rel=1e-13)


def test_u_beyond_the_floats() -> None:
    prior = Stable(sigma=0.01)
    x = np.array([-2000.0, 0.0, 2000.0])
    assert np.all(np.isfinite(prior.log_partition([3, 1], log_u=x)))
    assert prior.log_partition([3, 1], log_u=1.5) == pytest.approx(prior.log_partition([3, 1], u=np.exp(1.5)))


def test_pitman_yor_is_ngg_with_a_gamma_law() -> None:
    theta, sigma = 1.3, 0.4
    partitions = enumerate_partitions(5)
    types, which = size_types(partitions)
    through_ngg = log_prior_by_type(NGG(Gamma(theta / sigma, 1 / sigma), sigma), types)[which]
    directly = [PitmanYor(theta, sigma).log_partition(types[t]) for t in which]
    np.testing.assert_allclose(through_ngg, directly, atol=1e-8)
    ngg = NGG(Gamma(theta / sigma, 1 / sigma), sigma)
    for n in (7, 5_000, 1_000_000):
        assert ngg.expected_clusters(n) == pytest.approx(PitmanYor(theta, sigma).expected_clusters(n), rel=1e-7)


def test_pitman_yor_with_alpha_is_the_joint_with_its_law() -> None:
    prior = PitmanYor(1.3, 0.4)
    x = np.linspace(-40, 8, 6001)
    terms = prior.log_partition([2, 1, 3], u=2.2, alpha=np.exp(x)) + x
    assert np.log(np.exp(terms).sum() * (x[1] - x[0])) == pytest.approx(prior.log_partition([2, 1, 3], u=2.2), abs=1e-9)


def test_pitman_yor_draws_alpha_from_its_law() -> None:
    """Over partitions and u, alpha is Gamma(theta/sigma) with rate 1/sigma again: mean theta, variance theta sigma."""
    prior, rng = PitmanYor(1.5, 0.4), np.random.default_rng(2)
    alpha = np.array([prior.sample_joint(10, rng).values["alpha"] for _ in range(2000)])
    assert alpha.mean() == pytest.approx(1.5, abs=4 * np.sqrt(1.5 * 0.4 / 2000))


def test_expected_clusters_closed_forms() -> None:
    n, alpha = 400, 1.7
    assert DP(alpha).expected_clusters(n) == pytest.approx(sum(alpha / (alpha + i) for i in range(n)), rel=1e-12)
    theta, sigma = 0.8, 0.35
    K = 1.0
    for i in range(1, n):
        K += (theta + sigma * K) / (theta + i)
    assert PitmanYor(theta, sigma).expected_clusters(n) == pytest.approx(K, rel=1e-11)
    # σ near 0 is the Dirichlet process with α = θ: no cancellation
    assert PitmanYor(alpha, 1e-11).expected_clusters(n) == pytest.approx(DP(alpha).expected_clusters(n), rel=1e-9)
    assert Stable(sigma=0.5).expected_clusters(n) == pytest.approx(np.exp(gammaln(n + 0.5) - gammaln(n) - gammaln(1.5)), rel=1e-11)
    assert Stable(alpha=9.0, sigma=0.5).expected_clusters(n) == Stable(sigma=0.5).expected_clusters(n)


def generalized_stirling(n: int, sigma: float) -> np.ndarray[Any, Any]:
    """S(n, k): the sum over partitions of n into k clusters of Π_c (1-σ)(2-σ)...(|c|-1-σ)."""
    table = np.zeros(n + 1)
    table[0] = 1.0
    for m in range(n):
        k = np.arange(n + 1)
        table = (m - sigma * k) * table + np.concatenate([[0.0], table[:-1]])
    return table[1:]


@pytest.mark.parametrize("sigma", [0.02, 0.3, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("alpha", [1e-3, 0.5, 20.0])
def test_expected_clusters_of_ngg_against_the_law_of_k(alpha: float, sigma: float) -> None:
    # P(K=k) = V(n,k) S(n,k), V by a fine trapezoidal rule on u = exp(e^y) - 1
    n = 25
    x = np.linspace(-3.6, 12, 20001)
    y = x - np.exp(-x)
    stretch = np.exp(y)
    log_u = stretch + np.log(-np.expm1(-stretch))
    log_jacobian = stretch + y + np.log1p(np.exp(-x))
    k = np.arange(1, n + 1)
    with np.errstate(over="ignore"):
        psi = alpha / sigma * np.expm1(sigma * stretch)
    front = (n - 1) * log_u - psi - gammaln(n) - n * stretch + log_jacobian
    V = np.exp(front + k[:, None] * (np.log(alpha) + sigma * stretch)).sum(axis=1) * (x[1] - x[0])
    p = V * generalized_stirling(n, sigma)
    assert p.sum() == pytest.approx(1, abs=1e-8)
    assert NGG(alpha, sigma).expected_clusters(n) == pytest.approx(float(p @ k), rel=2e-7)


def test_expected_clusters_limits_and_scale() -> None:
    assert NGG(1e-9, 0.4).expected_clusters(1000) == pytest.approx(Stable(sigma=0.4).expected_clusters(1000), rel=1e-6)
    assert NGG(2.0, 1e-7).expected_clusters(1000) == pytest.approx(DP(2.0).expected_clusters(1000), rel=1e-5)
    # only α τ^σ matters
    assert NGG(2.0, 0.4, 3.0).expected_clusters(500) == pytest.approx(NGG(2.0 * 3.0**0.4, 0.4, 1.0).expected_clusters(500), rel=1e-9)
    assert NIG(2.0, 3.0).expected_clusters(500) == NGG(2.0, 0.5, 3.0).expected_clusters(500)


@pytest.mark.parametrize("prior", [DP(5.0), NGG(), NIG(), Stable(), PitmanYor(), NGG(Gamma(1, 1), 0.4)], ids=repr)
def test_a_million_points_in_reasonable_time(prior: Prior) -> None:
    start = time.process_time()
    expected = prior.expected_clusters(1_000_000)
    labels = prior.sample_partition(100_000, seed=1)
    assert time.process_time() - start < 5
    assert 1 < expected < 1_000_000
    assert labels.shape == (100_000,)
    assert labels.dtype == np.int32
    assert labels[0] == 0


@pytest.mark.parametrize("prior", [NGG(0.5, 0.6), NIG(), Stable(sigma=0.4), PitmanYor(2.0, 0.3)], ids=repr)
def test_draws_of_many_points_have_the_expected_clusters(prior: Prior) -> None:
    K = np.array([prior.sample_partition(3000, seed).max() + 1 for seed in range(150)])
    error = K.std(ddof=1) / np.sqrt(K.size)
    # 5 standard errors: false alarm 6e-7 per prior, and the seeds are fixed
    assert abs(K.mean() - prior.expected_clusters(3000)) < 5 * error


def test_rules_of_the_laws() -> None:
    for a in (0.3, 1.0, 7.0, 300.0):
        x, w = Gamma(a, 2.0).rule(40)
        assert w.sum() == pytest.approx(1)
        assert w @ x == pytest.approx(a / 2, rel=1e-8)
        assert w @ x**2 == pytest.approx(a * (a + 1) / 4, rel=1e-8)
    for a, b in ((0.5, 0.5), (1.0, 1.0), (1.5, 4.0), (40.0, 60.0)):
        x, w = Beta(a, b).rule(12)
        assert w @ x == pytest.approx(a / (a + b))
        assert w @ x**2 == pytest.approx(a * (a + 1) / ((a + b) * (a + b + 1)))
    x, w = Gamma(0.001, 0.001).rule(400)  # mostly below every float
    assert w[x > 1e-6].sum() == pytest.approx(gammaincc(0.001, 1e-9), rel=0.05)
    for a, b in ((0.1, 0.1), (0.5, 0.5), (1.0, 3.0), (1.5, 4.0), (40.0, 60.0)):
        x, w = Beta(a, b).wide_rule(60)
        assert w @ x == pytest.approx(a / (a + b), rel=1e-6)
        assert w @ x**2 == pytest.approx(a * (a + 1) / ((a + b) * (a + b + 1)), rel=1e-6)
        assert w @ (x < 1e-6) == pytest.approx(betainc(a, b, 1e-6), rel=0.3, abs=1e-8)  # a step between two nodes
    assert Gamma(2, 3).log_density(0.5) == pytest.approx(np.log(9 * 0.5 * np.exp(-1.5)))
    assert Beta(2, 3).log_density(0.5) == pytest.approx(np.log(12 * 0.5 * 0.25))


class _NoGamma(NGG):
    """p(Π, u) without 1/Γ(n)."""

    def _log_joint(self, sizes: Any, log_u: Any, values: Any) -> Any:
        return super()._log_joint(sizes, log_u, values) + gammaln(sizes.sum())


class _NoTau(NGG):
    """ψ(u) without - τ^σ."""

    def _log_joint(self, sizes: Any, log_u: Any, values: Any) -> Any:
        return super()._log_joint(sizes, log_u, values) - values["alpha"] / values["sigma"] * values["tau"] ** values["sigma"]


class _Uneven(NGG):
    """A law that looks at the order of the clusters."""

    def _log_joint(self, sizes: Any, log_u: Any, values: Any) -> Any:
        return super()._log_joint(sizes, log_u, values) + 0.01 * sizes[0]


class _Optimist(NGG):
    """Expects one cluster in a thousand too many."""

    def _expected_clusters(self, n: int) -> float:
        return 1.001 * super()._expected_clusters(n)


class _WrongUrn(NGG):
    """Draws with another σ than it says."""

    def _sample(self, n: int, values: Any, rng: Any) -> Any:
        return super()._sample(n, values | {"sigma": 0.8 * values["sigma"]}, rng)


class _WrongCore(NGG):
    """Tells the compiled core another τ."""

    def to_core(self, grouping: Any = None) -> Any:
        return NGG(self.alpha, self.sigma, 1.01).to_core(grouping)


@pytest.mark.parametrize("planted", [_NoGamma, _NoTau, _Uneven, _Optimist, _WrongUrn, _WrongCore])
def test_check_prior_catches_planted_errors(planted: type[NGG]) -> None:
    report = check_prior(planted(), n=4, draws=4000)
    assert not report.passed
    with pytest.raises(AssertionError, match="FAIL"):
        report.raise_if_failed()


@pytest.mark.parametrize("n", [1, 20, 1000])
@pytest.mark.parametrize("mass", [1e-100, 1e-5, 999.0, 1001.0, 1e7, 1e10])
def test_expected_clusters_at_any_mass(mass: float, n: int) -> None:
    steps = np.arange(n)
    assert DP(mass).expected_clusters(n) == pytest.approx((mass / (mass + steps)).sum(), rel=1e-11)
    expected = 1.0
    for i in range(1, n):
        expected += (mass + 0.25 * expected) / (mass + i)
    assert PitmanYor(mass, 0.25).expected_clusters(n) == pytest.approx(expected, rel=1e-11)


def test_expected_clusters_at_the_ends_of_ngg() -> None:
    for sigma in (0.3, 0.9):
        assert NGG(1e-100, sigma, 1e-100).expected_clusters(50) == pytest.approx(Stable(1.0, sigma).expected_clusters(50), rel=1e-6)
        assert NGG(1e100, sigma).expected_clusters(50) == pytest.approx(50, rel=1e-6)
    assert NGG(3.0, 1e-12).expected_clusters(50) == pytest.approx(DP(3.0).expected_clusters(50), rel=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: DP(1e300), r"DP\(alpha=1e\+300\): alpha must lie between 1e-100 and 1e\+10"),
        (lambda: NGG(alpha=1e-320), r"NGG\(alpha=.*: alpha must lie between 1e-100 and 1e\+100"),
        (lambda: NGG(alpha=10**400), r"alpha must be a finite number above 0"),
        (lambda: NGG(sigma=1e-300), r"sigma must be 0 or lie at least 1e-12 from 0 and from 1"),
        (lambda: Stable(sigma=1 - 1e-16), r"Stable\(sigma=.*: sigma must lie at least 1e-12 from 0 and from 1"),
        (lambda: Gamma(1e50, 1), r"Gamma\(a=1e\+50\): a must lie between 1e-100 and 1e\+10"),
        (lambda: Beta(1, 1e-50), r"Beta\(b=1e-50\): b must lie between 1e-10 and 1e\+10"),
    ],
)
def test_hyper_parameters_that_arithmetic_cannot_bear_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()
