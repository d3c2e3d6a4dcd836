"""Predictions with times: the density and the place of a new row against the enumerated posterior, ξ integrated by quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import hedgerow as hr
from hedgerow.reference import prior as reference
from hedgerow.testing import enumerate_partitions

X = np.array([[-1.0, 0.2], [-0.7, -0.3], [0.4, 0.5], [1.1, 0.0], [0.9, -0.6]])
TIMES = np.array([1, 1, 2, 2, 2])
Q = np.array([[1.0, 0.3], [0.2, 1.0]])
NEW = np.array([0.8, 0.1])
BASE = hr.NGG(0.9, 0.3, 0.5)
FAMILY = hr.GaussianWishart(mean=[0, 0], r=0.4, nu=4, psi=0.6 * np.eye(2))


def log_evidence(rows: np.ndarray, times: np.ndarray, together: tuple[int, int] | None = None, step: float = 0.7) -> float:
    """log p(X): all partitions, or those with two rows together; the trapezoid rule over log ξ converges geometrically."""
    bound = FAMILY.bind(rows)
    grid = np.arange(-11.9, 12.0, step)
    log_xi = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    sizes = np.bincount(times - 1, minlength=2)
    bar = np.exp(log_xi) @ Q
    parameters = BASE.measure(BASE.values())
    front = (sizes * log_xi - gammaln(sizes)).sum(axis=1) - reference.psi(bar, *parameters).sum(axis=1)  # with dξ = ξ d log ξ
    kappa = {m: reference.log_kappa(m, bar, *parameters) for m in range(1, len(rows) + 1)}
    terms = []
    for labels in enumerate_partitions(len(rows)):
        if together is not None and labels[together[0]] != labels[together[1]]:
            continue
        total = front + bound.log_marginals(labels).sum()
        for c in range(labels.max() + 1):
            mine = labels == c
            total = total + logsumexp(kappa[int(mine.sum())] + np.log(Q[times[mine] - 1]).sum(axis=0), axis=1)
        terms.append(logsumexp(total))
    return float(logsumexp(terms) + 2 * np.log(step))


@pytest.mark.parametrize("when", [1, 2])
def test_density_and_place_of_a_new_row(when: int) -> None:
    model = hr.Mixture(hr.MixedNRM(BASE, q=Q), FAMILY)
    run = {"kernel": hr.Gibbs(), "draws": 1500, "warmup": 100, "chains": 8, "progress": False}
    post = hr.sample(model, X, times=TIMES, seed=5, **run)
    more, later = np.vstack([X, NEW]), np.append(TIMES, when)
    whole = log_evidence(more, later)
    exact = whole - log_evidence(X, TIMES)
    by_chain = [
        hr.Posterior(**{name: getattr(post, name)[[c]] for name in ("labels", "log_joint", "log_u", "alpha", "sigma", "tau")},
                     X=X, model=post.model, times=TIMES).log_density(NEW[None], times=[when])[0]
        for c in range(post.chains)
    ]  # fmt: skip
    error = np.std(by_chain, ddof=1) / np.sqrt(len(by_chain))
    assert abs(np.mean(by_chain) - exact) < 5 * error + 1e-4
    # The row it is most likely to join, by the share of partitions that have both together.
    place = np.exp(log_evidence(more, later, together=(3, 5)) - whole)
    alone = np.arange(5)  # every row a cluster of its own: the columns are the affinities, shared out
    proba = post.predict_proba(NEW[None], partition=alone, times=[when])[0]
    affinity = [np.exp(log_evidence(more, later, together=(row, 5)) - whole) for row in (0, 2)]
    np.testing.assert_allclose(proba[[0, 2]] / proba[3], np.array(affinity) / place, rtol=0.08)


def test_the_grid_is_fine_enough() -> None:
    assert log_evidence(X, TIMES) == pytest.approx(log_evidence(X, TIMES, step=0.35), abs=1e-6)
