"""The reference's trees: potentials against brute force, bounds against enumeration, both repairs of IBHC."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart
from hedgerow.mixture import Mixture
from hedgerow.priors import DP, NGG
from hedgerow.reference import gibbs, prior, trees
from hedgerow.testing import exact_posterior
from hedgerow.testing.partitions import partition_index, subset_log_marginals


def make_potential(X: Any, alpha: float) -> Any:
    """log φ_h of an NGG(alpha, 0.3, 1) with u = 1.1 on the rows of X, from the table of all subsets."""
    model = GaussianWishart(mean=[0, 0], r=0.2, nu=4, psi=0.8 * np.eye(2))
    table = subset_log_marginals(model, X)

    def log_phi_h(members: frozenset[int]) -> float:
        return float(prior.log_kappa(len(members), 1.1, alpha, 0.3, 1.0) + table[sum(1 << i for i in members)])

    log_phi_h.model, log_phi_h.X = Mixture(NGG(alpha, 0.3, 1.0), model), X  # type: ignore[attr-defined]
    return log_phi_h


@pytest.fixture(scope="module")
def potential() -> Any:
    """Two groups of four, well apart."""
    rng = np.random.default_rng(4)
    return make_potential(np.concatenate([rng.normal(-1.5, 0.6, (4, 2)), rng.normal(1.5, 0.6, (4, 2))]), 1.0)


@pytest.fixture(scope="module")
def doubtful() -> Any:
    """One cloud under a small alpha: trees grow, then an insertion splits them."""
    return make_potential(np.random.default_rng(2).normal(size=(8, 2)), 0.3)


def leaves(potential: Any, n: int = 8) -> list[trees.Node]:
    return [trees.leaf(i, potential) for i in range(n)]


def check_tree(node: trees.Node, potential: Any) -> None:
    assert node.log_phi_t == pytest.approx(trees.brute_force_log_phi_t(node, potential))
    if node.left is None or node.right is None:
        assert node.members == {min(node.members)}
        return
    assert node.left.members | node.right.members == node.members
    assert not node.left.members & node.right.members
    assert 1 / (1 + np.exp(node.log_d)) == pytest.approx(np.exp(node.log_phi_h - node.log_phi_t))
    check_tree(node.left, potential)
    check_tree(node.right, potential)


def test_phi_t_sums_the_tree_consistent_partitions_and_bounds_the_evidence(potential: Any) -> None:
    (root,) = trees.bhc(leaves(potential), potential, full=True)
    check_tree(root, potential)
    cuts = list(trees.tree_partitions(root))
    assert len(set(map(frozenset, cuts))) == len(cuts)
    front = prior.log_joint_u([8], 1.1, 1.0, 0.3, 1.0) - prior.log_kappa(8, 1.1, 1.0, 0.3, 1.0)
    exact = exact_posterior(potential.model, potential.X, u=1.1)
    bound = front + root.log_phi_t
    assert bound <= exact.log_evidence
    labels = np.array([gibbs.labels_of(cut, 8) for cut in cuts])
    consistent = exact.log_joint[partition_index(exact.partitions, labels)]
    assert bound == pytest.approx(logsumexp(consistent))


def test_dp_bound_with_u_integrated_out() -> None:
    X = np.random.default_rng(5).normal(size=(6, 1))
    likelihood = GaussianDiagonal(mean=[0.0], r=[0.5], a=[2.0], b=[1.0])
    table = subset_log_marginals(likelihood, X)

    def log_phi_h(members: frozenset[int]) -> float:
        return float(np.log(1.5) + gammaln(len(members)) + table[sum(1 << i for i in members)])

    (root,) = trees.bhc([trees.leaf(i, log_phi_h) for i in range(6)], log_phi_h, full=True)
    bound = gammaln(1.5) - gammaln(7.5) + root.log_phi_t
    assert bound <= exact_posterior(Mixture(DP(1.5), likelihood), X).log_evidence


def test_bhc_stops_where_nothing_is_worth_merging(potential: Any) -> None:
    roots = trees.bhc(leaves(potential), potential)
    assert frozenset().union(*(r.members for r in roots)) == set(range(8))
    assert sum(len(r.members) for r in roots) == 8
    for a, b in itertools.combinations(roots, 2):
        assert trees.log_d(a, b, potential) >= 0
    for root in roots:
        check_tree(root, potential)
    # the two well separated groups are not mixed
    assert all(r.members <= {0, 1, 2, 3} or r.members <= {4, 5, 6, 7} for r in roots)


def test_seq_insert_takes_the_best_of_three_places(potential: Any) -> None:
    a, b, c = (trees.leaf(i, potential) for i in (0, 1, 2))
    for left, right, x in itertools.permutations((a, b, c)):
        node = trees.join(left, right, potential)
        found = trees.seq_insert(node, x, potential)
        places = [
            trees.join(node, x, potential),
            trees.join(trees.join(left, x, potential), right, potential),
            trees.join(left, trees.join(right, x, potential), potential),
        ]
        assert found.log_phi_t == pytest.approx(max(p.log_phi_t for p in places))


@pytest.mark.parametrize("repair", ["bhc", "reinsert"])
def test_ibhc_makes_a_forest_of_all_rows(doubtful: Any, repair: str) -> None:
    cuts = 0
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(8).tolist()
        roots = trees.ibhc(order, doubtful, repair)
        assert sorted(i for r in roots for i in r.members) == list(range(8))
        for root in roots:
            check_tree(root, doubtful)
        if repair == "bhc":
            assert all(trees.log_d(a, b, doubtful) >= 0 for a, b in itertools.combinations(roots, 2))
        cuts += _count_cuts(order, doubtful)
    assert cuts > 0  # or this test would not see the repairs


def _count_cuts(order: list[int], potential: Any) -> int:
    roots: list[trees.Node] = []
    cuts = 0
    for i in order:
        roots, pieces = trees._insert(roots, trees.leaf(i, potential), potential)
        cuts += bool(pieces)
        roots = roots + pieces
    return cuts


def test_the_two_repairs_differ(doubtful: Any) -> None:
    orders = [np.random.default_rng(seed).permutation(8).tolist() for seed in range(20)]
    forests = [[{r.members for r in trees.ibhc(o, doubtful, how)} for o in orders] for how in ("bhc", "reinsert")]
    assert forests[0] != forests[1]


def test_a_cut_takes_the_ancestors_apart(potential: Any) -> None:
    a, b, c, x = (trees.leaf(i, potential) for i in (0, 1, 2, 3))
    inner = trees.join(trees.join(a, x, potential), b, potential)
    split = trees.Node(inner.members, inner.log_phi_h, inner.log_phi_t, 0.5, inner.left, inner.right)
    root = trees.join(split, c, potential)
    pieces = trees._cut(root, x)
    assert [p.members for p in pieces] == [{0, 3}, {1}, {2}]
    whole = trees.join(a, x, potential)
    assert whole.log_d < 0
    assert trees._cut(whole, x) == [whole]


def test_ibhc_refuses_an_unknown_repair(potential: Any) -> None:
    with pytest.raises(ValueError, match="repair must be"):
        trees.ibhc([0, 1], potential, "none")
