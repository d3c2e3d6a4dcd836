"""Forests: potentials against brute force, bounds, exchange forms, files, connectivity, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

import hedgerow as hr
from hedgerow.reference import trees as reference
from hedgerow.testing import exact_posterior

RNG = np.random.default_rng(0)
PLANE = np.vstack([RNG.normal(0, 0.4, (4, 2)), RNG.normal(2.5, 0.4, (4, 2))])
COUNTS = np.array([[3, 1, 0, 0], [2, 0, 1, 0], [0, 2, 1, 1], [1, 1, 1, 1], [0, 0, 2, 3], [0, 1, 0, 2]])
LIKELIHOODS = {
    "GaussianWishart": (hr.GaussianWishart(mean=[1, 1], r=0.3, nu=4, psi=0.5 * np.eye(2)), PLANE),
    "GaussianDiagonal": (hr.GaussianDiagonal(mean=[1, 1], r=0.3, a=1.5, b=0.25), PLANE),
    "Multinomial": (hr.Multinomial(0.6), COUNTS),
}
PRIORS = {"DP": hr.DP(0.8), "NGG": hr.NGG(0.7, 0.3, 1.5), "NIG": hr.NIG(0.5, 0.8), "Stable": hr.Stable(1.3, 0.4)}


def build(prior: str, likelihood: str, builder: str) -> tuple[hr.Forest, hr.Mixture, np.ndarray, float | None]:
    family, X = LIKELIHOODS[likelihood]
    model = hr.Mixture(PRIORS[prior], family)
    u = None if prior == "DP" else 1.3
    grow = hr.bhc if builder == "bhc" else hr.ibhc
    return grow(model, X, u=u, seed=1), model, X, u


def tree_partitions(forest: hr.Forest, node: int) -> list[list[list[int]]]:
    """Every partition of the rows below a node that its tree allows."""
    whole = [[sorted(forest.rows(node).tolist())]]
    if forest.left[node] < 0:
        return whole
    pairs = [a + b for a in tree_partitions(forest, forest.left[node]) for b in tree_partitions(forest, forest.right[node])]
    return whole + pairs


@pytest.mark.parametrize("builder", ["bhc", "ibhc"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("prior", PRIORS)
def test_potentials_bound_and_joint(prior: str, likelihood: str, builder: str) -> None:
    forest, model, X, u = build(prior, likelihood, builder)
    forest.validate()
    family = model.likelihood.resolve(X)
    total = 0.0
    for root in forest.roots:
        terms = []
        for parts in tree_partitions(forest, root):
            labels = np.full(len(X), -1)
            for number, rows in enumerate(parts):
                labels[rows] = number
            inside = labels >= 0
            sizes = np.bincount(labels[inside])
            weight = sum(reference_weight(prior, int(m), u) for m in sizes)
            terms.append(weight + sum(family.log_marginal(X[np.flatnonzero(labels == k)]) for k in range(len(sizes))))
        assert forest.log_phi_t[root] == pytest.approx(np.logaddexp.reduce(terms), abs=1e-8)
        total += forest.log_phi_t[root]
    assert forest.log_bound == pytest.approx(forest.log_front + total)
    assert forest.log_joint == pytest.approx(model.log_joint(X, forest.labels, u=u), abs=1e-8)
    evidence = exact_posterior(model, X, u=u).log_evidence
    assert forest.log_joint <= forest.log_bound <= evidence + 1e-9


def reference_weight(prior: str, m: int, u: float | None) -> float:
    from scipy.special import gammaln

    if prior == "DP":
        return float(np.log(0.8) + gammaln(m))
    alpha, sigma, tau = PRIORS[prior].measure(PRIORS[prior].values())
    return float(np.log(alpha) + gammaln(m - sigma) - gammaln(1 - sigma) - (m - sigma) * np.log(u + tau))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("prior", PRIORS)
def test_bhc_is_the_naive_one(prior: str, likelihood: str) -> None:
    family, X = LIKELIHOODS[likelihood]
    if likelihood != "Multinomial":
        X = np.vstack([np.random.default_rng(3).normal(c, 0.6, (8, 2)) for c in (0, 1.5, 3)])
    u = None if prior == "DP" else 1.3
    family = family.resolve(X)
    forest = hr.bhc(hr.Mixture(PRIORS[prior], family), X, u=u)

    def log_phi_h(members: frozenset[int]) -> float:
        return reference_weight(prior, len(members), u) + family.log_marginal(X[sorted(members)])

    naive = reference.bhc([reference.leaf(i, log_phi_h) for i in range(len(X))], log_phi_h)
    ours = {frozenset(forest.rows(v).tolist()) for v in range(len(forest.left))}
    theirs, stack = set(), list(naive)
    while stack:
        node = stack.pop()
        theirs.add(node.members)
        stack += [child for child in (node.left, node.right) if child is not None]
    assert ours == theirs
    assert forest.log_phi_t[forest.roots].sum() == pytest.approx(sum(node.log_phi_t for node in naive), abs=1e-8)


@pytest.mark.parametrize("builder", ["bhc", "ibhc"])
def test_linkage(builder: str) -> None:
    forest, *_ = build("NGG", "GaussianWishart", builder)
    Z = forest.to_linkage()
    assert is_valid_linkage(Z, throw=True)
    assert (np.diff(Z[:, 2]) >= 0).all()
    cut = fcluster(Z, forest.n_clusters, "maxclust") if forest.n_clusters > 1 else np.ones(len(PLANE))
    assert len(np.unique(cut)) == forest.n_clusters


def test_newick_names_and_quotes() -> None:
    forest, *_ = build("DP", "Multinomial", "bhc")
    text = forest.to_newick(names=["a", "b b", "it's", "d", "e", "f"])
    assert text.count(";") == forest.n_clusters
    assert "'b b'" in text
    assert "'it''s'" in text
    with pytest.raises(hr.ParameterError, match="names"):
        forest.to_newick(names=["a"])


def test_save_and_load(tmp_path) -> None:
    forest, *_ = build("NGG", "GaussianWishart", "ibhc")
    forest.save(tmp_path / "forest.hedge")
    again = hr.Forest.load(tmp_path / "forest.hedge")
    assert again.log_bound == forest.log_bound
    assert np.array_equal(again.labels, forest.labels)


def test_cut_is_finer_at_higher_levels() -> None:
    forest, *_ = build("NGG", "GaussianWishart", "ibhc")
    assert np.array_equal(forest.cut(0.5), forest.labels)
    sizes = [forest.cut(level).max() for level in (0.0, 0.5, 0.9, 0.999, 1.0)]
    assert sizes == sorted(sizes)
    with pytest.raises(hr.ParameterError, match="level must lie"):
        forest.cut(2)


def test_validate_says_what_is_broken() -> None:
    forest, *_ = build("DP", "GaussianWishart", "bhc")
    broken = {name: getattr(forest, name).copy() for name in ("left", "right", "parent", "size", "log_phi_h", "log_phi_t", "log_d")}
    broken["size"][-1] += 1
    with pytest.raises(hr.ParameterError, match="size must be"):
        hr.Forest(**broken).validate()


def test_same_seed_same_forest() -> None:
    model = hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2)), hr.GaussianWishart())
    X = hr.data.ring13(seed=1).X
    one, two = (hr.ibhc(model, X, passes=2, seed=4) for _ in range(2))
    assert np.array_equal(one.left, two.left)
    assert one.log_joint == two.log_joint


def test_order_does_not_decide_the_ring() -> None:
    X, truth, _ = hr.data.ring13(seed=0)
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart())
    found = [hr.ibhc(model, X, passes=5, seed=s) for s in range(6)]
    assert sum(forest.n_clusters == 13 for forest in found) >= 5
    assert truth.max() == 12


@pytest.mark.parametrize("builder", [hr.bhc, hr.ibhc])
def test_connectivity_keeps_apart_what_does_not_touch(builder) -> None:
    X = np.repeat(np.array([[0.0, 0.0], [0.1, 0.1]]), 10, axis=0)
    line = sparse.diags_array([[*np.ones(9), 0, *np.ones(9)]], offsets=[1], shape=(20, 20))
    forest = builder(hr.Mixture(hr.DP(1.0), hr.GaussianWishart()), X, connectivity=line, seed=0)
    labels = forest.labels
    assert not set(labels[:10]) & set(labels[10:])


def test_rough_start_has_few_trees() -> None:
    X = hr.data.ring13(seed=0).X
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart())
    assert hr.ibhc(model, X, insert="top", seed=0).n_clusters < hr.ibhc(model, X, seed=0).n_clusters


def test_groups() -> None:
    toy = hr.data.moving_clusters(20, steps=4, seed=1)
    model = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 1e-3), basis=[2, 4], decay=0.2), hr.GaussianWishart())
    forest = hr.ibhc(model, toy.X, times=toy.times, passes=2, seed=0)
    forest.validate()
    expected = model.log_joint(toy.X, forest.labels, u=np.exp(forest.values["log_u"]), times=toy.times)
    assert forest.log_joint == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"passes": 0}, "passes must be"),
        ({"repair": "glue"}, "repair must be"),
        ({"insert": "side"}, "insert must be"),
        ({"seed": -1}, "seed must be"),
        ({"u": -1.0}, "u must be"),
        ({"connectivity": np.eye(8)}, "connectivity must be"),
        ({"times": [1] * 8}, "times must be left out"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_bad_arguments(arguments: dict, words: str) -> None:
    model = hr.Mixture(hr.NGG(1.0, 0.3), hr.GaussianWishart())
    with pytest.raises(hr.ParameterError, match=words):
        hr.ibhc(model, PLANE, **arguments)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows(rows: int) -> None:
    for builder in (hr.bhc, hr.ibhc):
        forest = builder(hr.Mixture(hr.DP(), hr.GaussianWishart()), PLANE[:rows], seed=0)
        forest.validate()
        assert forest.n == rows
