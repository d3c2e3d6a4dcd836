"""Trees under any data: the greedy build is the naive one, potentials are sums over partitions, induced trees are prunings."""

from __future__ import annotations

from math import lgamma, log

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import is_valid_linkage

import hedgerow as hr
from hedgerow import _core
from hedgerow.reference import trees as reference
from hedgerow.testing import exact_posterior

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
U = 1.7


def family(kind: str, rng: np.random.Generator, n: int) -> tuple[hr.Likelihood, np.ndarray]:
    """A resolved likelihood and data without ties."""
    if kind == "wishart":
        X = rng.normal(size=(n, 2)) + rng.uniform(0, 4) * rng.integers(0, 3, (n, 1))
        return hr.GaussianWishart(mean=X.mean(0), r=0.2, nu=4.5, psi=np.diag(rng.uniform(0.2, 2, 2))), X
    if kind == "diagonal":
        X = rng.normal(size=(n, 3)) + rng.uniform(0, 3) * rng.integers(0, 2, (n, 1))
        return hr.GaussianDiagonal(mean=X.mean(0), r=0.3, a=1.5, b=0.5), X
    X = rng.multinomial(12, rng.dirichlet(np.ones(9)), n) + rng.multinomial(9, rng.dirichlet(np.ones(9)), n)
    return hr.Multinomial(0.37).resolve(X), X


PRIORS = {"DP": hr.DP(0.8), "NGG": hr.NGG(0.7, 0.3, 1.5), "Stable": hr.Stable(1.3, 0.4), "NIG": hr.NIG(0.5, 0.8)}


def potential(prior: str, likelihood: hr.Likelihood, X: np.ndarray) -> reference.LogPhiH:
    alpha, sigma, tau = PRIORS[prior].measure(PRIORS[prior].values())
    known: dict[frozenset[int], float] = {}

    def log_phi_h(rows: frozenset[int]) -> float:
        if rows not in known:
            m = len(rows)
            kappa = (
                log(alpha) + lgamma(m)
                if prior == "DP"
                else (log(alpha) + lgamma(m - sigma) - lgamma(1 - sigma) - (m - sigma) * log(U + tau))
            )
            known[rows] = kappa + likelihood.log_marginal(X[sorted(rows)])
        return known[rows]

    return log_phi_h


def nodes_of(roots: list[reference.Node]) -> dict[frozenset[int], reference.Node]:
    found, stack = {}, list(roots)
    while stack:
        node = stack.pop()
        found[node.members] = node
        stack += [child for child in (node.left, node.right) if child is not None]
    return found


@QUICK
@given(st.integers(0, 10**6), st.integers(1, 22), st.sampled_from(sorted(PRIORS)), st.sampled_from(["wishart", "diagonal", "counts"]))
def test_greedy_build_is_the_naive_one(seed: int, n: int, prior: str, kind: str) -> None:
    likelihood, X = family(kind, np.random.default_rng(seed), n)
    if len(np.unique(X, axis=0)) < n:
        return  # equal rows tie, and ties may be broken either way
    u = None if prior == "DP" else U
    forest = hr.bhc(hr.Mixture(PRIORS[prior], likelihood), X, u=u)
    log_phi_h = potential(prior, likelihood, X)
    naive = nodes_of(reference.bhc([reference.leaf(i, log_phi_h) for i in range(n)], log_phi_h))
    ours = {frozenset(forest.rows(v).tolist()): v for v in range(len(forest.left))}
    assert set(ours) == set(naive)
    for rows, v in ours.items():
        assert forest.log_phi_t[v] == pytest.approx(naive[rows].log_phi_t, abs=1e-7)
        assert forest.log_d[v] == pytest.approx(naive[rows].log_d, abs=1e-7)


@QUICK
@given(
    st.integers(0, 10**6),
    st.integers(2, 7),
    st.sampled_from(sorted(PRIORS)),
    st.sampled_from(["wishart", "diagonal", "counts"]),
    st.sampled_from(["bhc", "reinsert", "bhc repair", "letter", "top"]),
)
def test_potentials_are_sums_over_partitions_and_bound_the_evidence(seed: int, n: int, prior: str, kind: str, way: str) -> None:
    likelihood, X = family(kind, np.random.default_rng(seed), n)
    model = hr.Mixture(PRIORS[prior], likelihood)
    u = None if prior == "DP" else U
    options = {
        "reinsert": {},
        "bhc repair": {"repair": "bhc"},
        "letter": {"balance": False},
        "top": {"insert": "top"},
    }
    forest = hr.bhc(model, X, u=u) if way == "bhc" else hr.ibhc(model, X, u=u, seed=seed, passes=2, **options[way])  # type: ignore[arg-type]
    forest.validate()
    log_phi_h = potential(prior, likelihood, X)

    def as_node(v: int) -> reference.Node:
        if forest.left[v] < 0:
            return reference.leaf(v, log_phi_h)
        return reference.join(as_node(forest.left[v]), as_node(forest.right[v]), log_phi_h)

    for root in forest.roots:
        brute = reference.brute_force_log_phi_t(as_node(int(root)), log_phi_h)
        assert forest.log_phi_t[root] == pytest.approx(brute, abs=1e-7)
    evidence = exact_posterior(model, X, u=u).log_evidence
    assert forest.log_joint <= forest.log_bound + 1e-9
    assert forest.log_bound <= evidence + 1e-7
    assert forest.log_joint == pytest.approx(model.log_joint(X, forest.labels, u=u), abs=1e-7)
    assert is_valid_linkage(forest.to_linkage())


def random_tree(n: int, rng: np.random.Generator, lopsided: bool) -> tuple[np.ndarray, np.ndarray]:
    left, right = np.full(2 * n - 1, -1, np.int32), np.full(2 * n - 1, -1, np.int32)
    roots = rng.permutation(n).tolist()
    for v in range(n, 2 * n - 1):
        i, j = (len(roots) - 1, 0) if lopsided else rng.choice(len(roots), 2, replace=False)
        pair = [roots[i], roots[j]]
        rng.shuffle(pair)
        left[v], right[v] = pair
        roots = [r for k, r in enumerate(roots) if k not in (i, j)] + [v]
    return left, right


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 300), st.booleans())
def test_induced_tree_is_the_pruned_guide(seed: int, n: int, lopsided: bool) -> None:
    rng = np.random.default_rng(seed)
    left, right = random_tree(n, rng, lopsided)
    tree = _core.Guide(left, right)
    rows = rng.choice(n, rng.integers(1, n + 1), replace=False).astype(np.int32)
    induced, whole = tree.induced(rows), tree.induced(np.arange(n, dtype=np.int32))
    kept = set(rows.tolist())
    pruned: dict[int, object] = {}
    for v in range(2 * n - 1):  # children come before parents
        if left[v] < 0:
            pruned[v] = v if v in kept else None
        else:
            a, b = pruned[left[v]], pruned[right[v]]
            pruned[v] = b if a is None else a if b is None else (a, b)
    built: dict[int, object] = {~p: int(row) for p, row in enumerate(induced["rows"])}
    for k in induced["order"].tolist():
        first, second = induced["left"][k], induced["right"][k]
        built[k] = (built[first], built[second])
        assert (induced["begin"][k], induced["end"][k]) == (
            ~first if first < 0 else induced["begin"][first],
            ~second + 1 if second < 0 else induced["end"][second],
        )
        for child in (first, second):
            assert child < 0 or induced["parent"][child] == k
        inside = {int(row) for row in induced["rows"][induced["begin"][k] : induced["end"][k]]}
        gap = induced["gap"][k]
        assert inside <= set(tree.order[whole["begin"][gap] : whole["end"][gap]].tolist())
    top = built[induced["root"]] if len(rows) > 1 else built[~0]
    assert top == pruned[2 * n - 2]


@QUICK
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 25), st.booleans())
def test_a_stream_is_a_valid_forest_after_every_batch(seed: int, n: int, size: int, revise: bool) -> None:
    rng = np.random.default_rng(seed)
    likelihood, X = family("wishart", rng, n)
    stream = hr.trees.TreeStream(hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2), 1.0), likelihood), seed=seed, revise=revise)
    for start in range(0, n, size):
        ids = stream.add(X[start : start + size])
        assert (ids == stream.labels[start : start + size]).all()
        forest, points = stream.to_forest()
        forest.validate()
        assert points.tolist() == list(range(min(n, start + size)))
        assert len(set(zip(forest.labels.tolist(), stream.labels.tolist(), strict=True))) == stream.n_clusters
        assert set(stream.cluster_ids.tolist()) == set(stream.labels.tolist())
    sizes = np.bincount(forest.labels)
    u, alpha = np.exp(stream.values["log_u"][0]), stream.values["alpha"][0]
    sigma = stream.values["sigma"]
    prior = hr.NGG(1.0, 0.5, 1.0).log_partition(sizes, u, alpha=alpha, sigma=sigma)
    data = sum(likelihood.log_marginal(X[forest.labels == k]) for k in range(len(sizes)))
    assert forest.log_joint == pytest.approx(prior + data, abs=1e-6)
