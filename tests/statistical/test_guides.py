"""TreeGuided is exact whatever its guide: good, random or a caterpillar, with and without Gibbs sweeps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import hedgerow as hr
from hedgerow.testing import check_kernel, geweke

PRIORS = {"DP": hr.DP(0.8), "NGG": hr.NGG(0.7, 0.3, 1.5), "NIG": hr.NIG(0.5, 0.8)}
PLANE = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1], [1.1, -0.2]])
COUNTS = np.array([[3, 1, 0, 0], [2, 0, 1, 0], [0, 2, 1, 1], [1, 1, 1, 1], [0, 0, 2, 3], [0, 1, 0, 2]])
LIKELIHOODS = {
    "GaussianWishart": (hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2)), PLANE),
    "Multinomial": (hr.Multinomial(0.6), COUNTS),
}


def caterpillar(n: int, seed: int) -> np.ndarray:
    """A guide as deep as it has rows, in random order."""
    order = np.random.default_rng(seed).permutation(n)
    top, rows = order[0], []
    for i in range(1, n):
        rows.append([top, order[i], i, i + 1])
        top = n + i - 1
    return np.array(rows, float)


def random_tree(n: int, seed: int) -> np.ndarray:
    """A guide that joins two roots at random until one is left."""
    rng = np.random.default_rng(seed)
    roots, sizes, rows = list(range(n)), [1] * n, []
    for i in range(n - 1):
        a, b = sorted(rng.choice(len(roots), 2, replace=False), reverse=True)
        left, right = roots.pop(a), roots.pop(b)
        sizes.append(sizes[left] + sizes[right])
        rows.append([left, right, i, sizes[-1]])
        roots.append(n + i)
    return np.array(rows, float)


GUIDES = {
    "ward": lambda X: linkage(np.asarray(X, float), "ward"),
    "random": lambda X: random_tree(len(X), 1),
    "caterpillar": lambda X: caterpillar(len(X), 2),
    "three at once": lambda X: [random_tree(len(X), 3), caterpillar(len(X), 4), linkage(np.asarray(X, float), "single")],
}


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("guide", GUIDES)
def test_exact_whatever_the_guide(guide: str, prior: str, likelihood: str) -> None:
    family, X = LIKELIHOODS[likelihood]
    model = hr.Mixture(PRIORS[prior], family)
    alone = hr.TreeGuided(guides=GUIDES[guide](X), sweep_rate=0.0, global_moves=10, single_moves=0)
    fixed = None if prior == "DP" else 1.7
    check_kernel(alone, model, X, u=fixed).raise_if_failed()


@pytest.mark.parametrize("warmup", [0, 30])  # even weights, and those that the warm-up saw
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("prior", PRIORS)
def test_births_and_deaths_alone_are_exact(prior: str, likelihood: str, warmup: int) -> None:
    family, X = LIKELIHOODS[likelihood]
    model = hr.Mixture(PRIORS[prior], family)
    alone = hr.TreeGuided(global_moves=0, single_moves=20, sweep_rate=0.0)
    if warmup:  # sweeps in the warm-up only: what they saw must not matter
        alone = hr.TreeGuided(global_moves=0, single_moves=20, sweep_rate=0.1)
    check_kernel(alone, model, X, u=None if prior == "DP" else 1.7, warmup=40 + warmup).raise_if_failed()


def test_sweeps_over_doubtful_rows_are_exact() -> None:
    far = np.vstack([PLANE, [[8.0, 8.0]]])  # a row that hardly ever moves
    model = hr.Mixture(hr.NGG(0.7, 0.3, 1.5), LIKELIHOODS["GaussianWishart"][0])
    check_kernel(hr.TreeGuided(global_moves=0, single_moves=0), model, far, warmup=60).raise_if_failed()


@pytest.mark.parametrize("guide", ["random", "caterpillar"])
def test_geweke_with_bad_guides(guide: str) -> None:
    family, X = LIKELIHOODS["GaussianWishart"]
    model = hr.Mixture(hr.NGG(hr.Gamma(2, 2), hr.Beta(2, 2)), family)
    kernel = hr.TreeGuided(guides=GUIDES[guide](X), sweep_rate=0.3, global_moves=5)
    geweke(kernel, model, len(X), replicates=50, steps=12, prior_draws=1200).raise_if_failed()
