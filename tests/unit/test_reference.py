"""The reference twin: the papers' oracles, identities that pin each formula, and core == twin on random input."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp

from hedgerow.kernels import Gibbs
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Multinomial
from hedgerow.mixture import Mixture
from hedgerow.priors import DP, NGG, NIG, PitmanYor, Prior, Stable
from hedgerow.reference import gibbs, likelihoods, mixed, prior, slicing
from hedgerow.sampling import Chain
from hedgerow.summaries.partitions import canonical
from hedgerow.testing import enumerate_partitions


def twin_log_marginals(model: Any, X: Any, labels: np.ndarray) -> list[float]:
    return [model.reference(X[np.flatnonzero(labels == c)]) for c in range(labels.max() + 1)]


# ---- the papers' numbers ----


def test_authors_toy_set(stored: Any) -> None:
    data = stored("nrmm_author_data.npz")
    X, y = data["toy_X"], data["toy_y"]
    base = likelihoods.nips2015_gaussian_wishart(X)
    assert np.linalg.det(base[3]) == pytest.approx(0.1)
    clusters = [X[y == c] for c in np.unique(y)]
    total = prior.log_dp_partition([len(c) for c in clusters], 1.0)
    total += sum(likelihoods.gaussian_wishart_log_marginal(c, *base) for c in clusters)
    assert total == pytest.approx(-1577.5696, abs=5e-5)


def test_nips_corpus(stored: Any) -> None:
    data = stored("nips_uci_bow.npz")
    parts = (data["data"].astype(float), data["indices"].astype(np.int64), data["indptr"].astype(np.int64))
    X = sparse.csr_matrix(parts, shape=tuple(data["shape"]))
    n = X.shape[0]
    one = prior.log_dp_partition([n], 1.0) + likelihoods.multinomial_log_marginal(X, 0.1)
    assert one == pytest.approx(-5_262_482, abs=0.5)
    singletons = prior.log_dp_partition(np.ones(n), 1.0)
    singletons += sum(likelihoods.multinomial_log_marginal(X[i], 0.1) for i in range(n))
    assert singletons == pytest.approx(-4_650_734, abs=0.5)


# ---- partition laws ----


@pytest.mark.parametrize(("alpha", "sigma", "tau"), [(1.0, 0.3, 1.0), (0.4, 0.7, 0.2), (2.0, 0.5, 3.0)])
def test_psi_and_kappa_are_integrals_of_the_levy_intensity(alpha: float, sigma: float, tau: float) -> None:
    def rho(w: float) -> float:
        return float(alpha / np.exp(gammaln(1 - sigma)) * w ** (-1 - sigma) * np.exp(-tau * w))

    u = 1.7
    psi = sum(quad(lambda w: -np.expm1(-u * w) * rho(w), *ends)[0] for ends in ((0, 1), (1, np.inf)))
    assert prior.psi(u, alpha, sigma, tau) == pytest.approx(psi, rel=1e-7)
    for m in (1, 2, 5):
        kappa = sum(quad(lambda w: w**m * np.exp(-u * w) * rho(w), *ends)[0] for ends in ((0, 1), (1, np.inf)))  # noqa: B023
        assert np.exp(prior.log_kappa(m, u, alpha, sigma, tau)) == pytest.approx(kappa, rel=1e-7)


def test_psi_limits() -> None:
    assert prior.psi(2.0, 1.5, 0.0, 0.5) == pytest.approx(1.5 * np.log(5))
    assert prior.psi(2.0, 1.5, 1e-12, 0.5) == pytest.approx(1.5 * np.log(5))
    assert prior.psi(2.0, 1.5, 0.5, 0.0) == pytest.approx(3.0 * np.sqrt(2))
    assert prior.psi(2.0, 1.5, 0.5, 1e-14) == pytest.approx(3.0 * np.sqrt(2), rel=1e-6)
    assert prior.psi(0.0, 1.5, 0.5, 1.0) == 0
    assert prior.psi_at_log(900.0, 1.0, 0.9, 1.0) == np.inf
    assert prior.psi_at_log(-900.0, 1.0, 0.9, 1.0) == 0


def test_predictive_weights_are_ratios_of_the_joint() -> None:
    u, measure = 1.3, (0.8, 0.35, 0.6)
    # Adding a point multiplies u^(n-1)/Γ(n) by u/n; what is left is κ(m+1)/κ(m) or κ(1).
    front = np.log(u / 5)
    base = prior.log_joint_u([3, 2], u, *measure)
    assert prior.log_joint_u([4, 2], u, *measure) - base - front == pytest.approx(prior.log_old(3, u, *measure))
    assert prior.log_joint_u([3, 2, 1], u, *measure) - base - front == pytest.approx(prior.log_new(u, *measure))


def test_conditionals_are_slices_of_the_joint() -> None:
    sizes, u, alpha, sigma, tau = [3, 1, 2], 1.4, 0.9, 0.3, 0.7
    n, K = 6, 3

    def differences(found: Any, wanted: Any) -> None:
        np.testing.assert_allclose(np.diff(found), np.diff(wanted), rtol=1e-10, atol=1e-10)

    v = np.array([-1.0, 0.2, 1.9])
    differences(prior.u_log_density(v, n, K, alpha, sigma, tau), prior.log_joint_u(sizes, np.exp(v), alpha, sigma, tau) + v)
    shape, rate = prior.alpha_conditional(K, u, sigma, tau, 2.0, 3.0)
    a = np.array([0.3, 1.0, 2.5])
    law = np.log(a) - 3 * a
    differences((shape - 1) * np.log(a) - rate * a, law + prior.log_joint_u(sizes, u, a, sigma, tau))
    s = 1 / (1 + np.exp(-v))
    law = 2 * np.log(s) + 3 * np.log1p(-s)  # Beta(2, 3) and the Jacobian s(1-s)
    found = [prior.sigma_log_density(x, sizes, u, alpha, tau, 2.0, 3.0) for x in v]
    differences(found, law + prior.log_joint_u(sizes, u, alpha, s, tau))
    found = [prior.tau_log_density(x, sizes, u, alpha, sigma, 2.0, 3.0) for x in v]
    differences(found, 2 * v - 3 * np.exp(v) + prior.log_joint_u(sizes, u, alpha, sigma, np.exp(v)))


# ---- mixed measures ----


def test_one_basis_and_one_group_is_the_plain_law() -> None:
    sizes = np.array([3, 1, 2])
    found = mixed.log_mixed_joint(sizes[:, None], [1.4], [[1.0]], 0.9, 0.3, 0.7)
    assert found == pytest.approx(prior.log_joint_u(sizes, 1.4, 0.9, 0.3, 0.7))


def test_basis_labels_sum_out() -> None:
    counts = np.array([[2, 0], [1, 1], [0, 3]])
    q = np.array([[1.0, 0.3], [0.5, 1.0]])
    xi, alpha = [0.8, 2.0], np.array([0.7, 1.4])
    parts = [mixed.log_mixed_joint_z(counts, z, xi, q, alpha, 0.3, 0.5) for z in itertools.product(range(2), repeat=3)]
    assert mixed.log_mixed_joint(counts, xi, q, alpha, 0.3, 0.5) == pytest.approx(logsumexp(parts))


def test_a_zero_coefficient_forbids_only_what_it_touches() -> None:
    q = np.array([[1.0, 0.0], [0.5, 1.0]])
    terms = mixed.log_cluster_terms([[1, 0], [0, 1]], [1.0, 1.0], q, 1.0, 0.3, 1.0)
    assert np.isneginf(terms[0, 1])
    assert np.isfinite(terms[[0, 1, 1], [0, 0, 1]]).all()


def test_mixed_law_is_normalised_and_has_the_right_marginal() -> None:
    # Two points of group 0, one of group 1: integrate ξ on a log grid, sum over the five partitions.
    q = np.array([[1.0, 0.4], [0.3, 1.0]])
    alpha, sigma, tau = np.array([0.8, 1.5]), 0.3, 1.0
    v = np.linspace(-26, 40, 331)
    step = v[1] - v[0]
    groups = np.array([0, 0, 1])
    total, together = 0.0, 0.0
    for labels in enumerate_partitions(3):
        K = labels.max() + 1
        counts = np.array([[np.sum((labels == c) & (groups == t)) for t in range(2)] for c in range(K)])
        value = _mixed_on_grid(counts, v, q, alpha, sigma, tau) * step**2
        total += value
        together += value * (labels[0] == labels[1])
    assert total == pytest.approx(1, abs=1e-5)
    # The group's own two points: a normalised measure with exponent Σ_r ψ_r(q[0,r] u), one auxiliary variable.
    bar = np.exp(v)[:, None] * q[0]
    front = 2 * v - prior.psi(bar, alpha, sigma, tau).sum(axis=1)
    pair = logsumexp(2 * np.log(q[0]) + prior.log_kappa(2, bar, alpha, sigma, tau), axis=1)
    assert together == pytest.approx(float(np.exp(front + pair).sum() * step), abs=1e-5)


def _mixed_on_grid(counts: Any, v: Any, q: Any, alpha: Any, sigma: float, tau: float) -> float:
    """Sum of p(Π, ξ) ξ_0 ξ_1 over the grid of log ξ, vectorised by hand from A14 eq. 14 and 31."""
    xi0, xi1 = np.exp(v)[:, None], np.exp(v)[None, :]
    n0, n1 = counts.sum(axis=0)
    total = n0 * v[:, None] - gammaln(n0) + n1 * v[None, :] - gammaln(n1)
    bars = [q[0, r] * xi0 + q[1, r] * xi1 for r in range(2)]
    total = total - sum(prior.psi(bars[r], alpha[r], sigma, tau) for r in range(2))
    for row in counts:
        terms = [row @ np.log(q[:, r]) + prior.log_kappa(row.sum(), bars[r], alpha[r], sigma, tau) for r in range(2)]
        total = total + np.logaddexp(*terms)
    spot = mixed.log_mixed_joint(counts, [np.exp(v[150]), np.exp(v[140])], q, alpha, sigma, tau)
    assert total[150, 140] == pytest.approx(spot + v[150] + v[140])
    return float(np.exp(total).sum())


# ---- likelihoods ----


def test_gaussian_wishart_by_its_student_predictives() -> None:
    rng = np.random.default_rng(0)
    X, d = rng.normal(size=(5, 2)), 2
    mean, r, nu, psi = np.array([0.3, -0.2]), 0.7, 4.5, np.array([[1.0, 0.3], [0.3, 0.8]])
    total = 0.0
    for x in X:
        shape = psi * (r + 1) / (r * (nu - d + 1))
        total += stats.multivariate_t(mean, shape, df=nu - d + 1).logpdf(x)
        psi = psi + r / (r + 1) * np.outer(x - mean, x - mean)
        mean, r, nu = (r * mean + x) / (r + 1), r + 1, nu + 1
    start = (np.array([0.3, -0.2]), 0.7, 4.5, np.array([[1.0, 0.3], [0.3, 0.8]]))
    assert likelihoods.gaussian_wishart_log_marginal(X, *start) == pytest.approx(total)
    assert likelihoods.gaussian_wishart_log_marginal(X[:0], *start) == 0


def test_gaussian_diagonal_is_gaussian_wishart_in_one_dimension_and_drops_missing() -> None:
    x = np.array([[0.3], [1.1], [-0.4]])
    # Gamma(a, b) on the precision is Wishart(ν = 2a, Ψ = 2b) in one dimension
    wishart = likelihoods.gaussian_wishart_log_marginal(x, [0.2], 0.5, 3.0, [[1.4]])
    assert likelihoods.gaussian_diagonal_log_marginal(x, 0.2, 0.5, 1.5, 0.7) == pytest.approx(wishart)
    y = np.array([[0.3, np.nan], [1.1, 2.0], [np.nan, 0.5], [np.nan, np.nan]])
    apart = likelihoods.gaussian_diagonal_log_marginal(y[:2, :1], 0.2, 0.5, 1.5, 0.7)
    apart += likelihoods.gaussian_diagonal_log_marginal(y[1:3, 1:], 0.2, 0.5, 1.5, 0.7)
    assert likelihoods.gaussian_diagonal_log_marginal(y, 0.2, 0.5, 1.5, 0.7) == pytest.approx(apart)


def test_multinomial_sums_to_one_and_reads_sparse() -> None:
    rows = [r for r in itertools.product(range(4), repeat=3) if sum(r) == 3]
    first = np.array([[1, 0, 2]])
    given = likelihoods.multinomial_log_marginal(first, 0.4)
    chances = [np.exp(likelihoods.multinomial_log_marginal(np.vstack([first, r]), 0.4) - given) for r in rows]
    assert sum(chances) == pytest.approx(1)
    X = np.array([[3, 0, 0, 1], [0, 0, 0, 0], [1, 2, 0, 0]])
    assert likelihoods.multinomial_log_marginal(sparse.csr_array(X), 0.4) == pytest.approx(likelihoods.multinomial_log_marginal(X, 0.4))


# ---- sampler ----


def test_slice_step_leaves_a_normal_law_invariant() -> None:
    rng = np.random.default_rng(1)
    starts = rng.normal(size=3000)
    moved = np.array([slicing.slice_step(lambda x: -0.5 * x * x, x, rng, width=0.7) for x in starts])
    assert stats.kstest(moved, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(starts, moved)[0, 1]) < 0.7


def test_sweep_draws_from_the_full_conditional() -> None:
    # One row left to move: from {0,1} and {2} the conditional of row 1 is known; take the sweep of a two-row set.
    values = {frozenset((0,)): -1.0, frozenset((1,)): -1.5, frozenset((0, 1)): -2.0}
    rng = np.random.default_rng(2)
    log_old, log_new = gibbs.nrm_weights(1.2, 0.8, 0.3, 1.0)
    joined = np.exp(log_old(1) - 2.0)
    chance = joined / (joined + np.exp(log_new(1) - 2.5))
    clusters = [frozenset((0, 1))]
    together = []
    for _ in range(4000):
        clusters = gibbs.sweep(clusters, values.__getitem__, log_old, log_new, rng)
        together.append(len(clusters) == 1)
    assert np.mean(together) == pytest.approx(chance, abs=5 * np.sqrt(chance * (1 - chance) / 4000))
    assert gibbs.labels_of([frozenset((2,)), frozenset((0, 1))], 3).tolist() == [0, 0, 1]
    assert set(gibbs.clusters_of([5, 2, 5])) == {frozenset((0, 2)), frozenset((1,))}


# ---- core == twin ----

numbers = st.floats(-5, 5).map(lambda x: round(x, 3))


@st.composite
def dense(draw: Any, missing: bool) -> Any:
    n, d = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    entry = st.one_of(numbers, st.just(float("nan"))) if missing else numbers
    X = np.array(draw(st.lists(st.lists(entry, min_size=d, max_size=d), min_size=n, max_size=n)))
    labels = canonical(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    return X, labels


@settings(max_examples=60, deadline=None)
@given(dense(missing=False), st.floats(0.05, 5), st.floats(0.1, 9))
def test_core_gaussian_wishart_is_the_twin(case: Any, r: float, extra: float) -> None:
    X, labels = case
    d = X.shape[1]
    model = GaussianWishart(mean=np.linspace(-1, 1, d), r=r, nu=d - 1 + extra, psi=np.eye(d) + 0.2)
    np.testing.assert_allclose(model.bind(X).log_marginals(labels), twin_log_marginals(model, X, labels), rtol=1e-10, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(dense(missing=True), st.floats(0.05, 5), st.floats(0.1, 9), st.floats(0.1, 9))
def test_core_gaussian_diagonal_is_the_twin(case: Any, r: float, a: float, b: float) -> None:
    X, labels = case
    d = X.shape[1]
    model = GaussianDiagonal(mean=np.linspace(-1, 1, d), r=np.full(d, r), a=np.full(d, a), b=np.full(d, b))
    np.testing.assert_allclose(model.bind(X).log_marginals(labels), twin_log_marginals(model, X, labels), rtol=1e-10, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.floats(0.01, 20))
def test_core_multinomial_is_the_twin(data: Any, beta: float) -> None:
    n, d = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 6))
    X = np.array(data.draw(st.lists(st.lists(st.integers(0, 30), min_size=d, max_size=d), min_size=n, max_size=n)))
    labels = canonical(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    model = Multinomial(beta).resolve(X)
    checked = model.check(X)
    np.testing.assert_allclose(model.bind(X).log_marginals(labels), twin_log_marginals(model, checked, labels), rtol=1e-10, atol=1e-8)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
    st.floats(1e-3, 1e3),
    st.floats(0.01, 50),
    st.floats(0.01, 0.99),
    st.floats(0.01, 20),
    st.sampled_from(["DP", "NGG", "NIG", "Stable", "PitmanYor"]),
)
def test_core_prior_is_the_twin(labels: list[int], u: float, alpha: float, sigma: float, tau: float, kind: str) -> None:
    first = canonical(labels)
    sizes = np.bincount(first)
    cases: dict[str, tuple[Prior, float]] = {
        "DP": (DP(alpha), prior.log_dp_partition(sizes, alpha)),
        "NGG": (NGG(alpha, sigma, tau), prior.log_joint_u(sizes, u, alpha, sigma, tau)),
        "NIG": (NIG(alpha, tau), prior.log_joint_u(sizes, u, alpha, 0.5, tau)),
        "Stable": (Stable(alpha, sigma), prior.log_joint_u(sizes, u, alpha, sigma, 0.0)),
        "PitmanYor": (PitmanYor(alpha, sigma), prior.log_py_partition(sizes, alpha, sigma)),
    }
    chosen, wanted = cases[kind]
    likelihood = GaussianDiagonal(mean=[0.0], r=[1.0], a=[1.0], b=[1.0])
    X = np.linspace(-1, 1, len(first))[:, None]
    chain = Chain(Mixture(chosen, likelihood), X, Gibbs(), labels=first, seed=0, start={"u": u})
    data = float(likelihood.bind(X).log_marginals(first).sum())
    assert chain.log_joint() - data == pytest.approx(wanted, rel=1e-9, abs=1e-8)
