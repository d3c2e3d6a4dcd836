"""The published tree-guided sampler fails the exam that the exact one passes: documentation that runs."""

from __future__ import annotations

import numpy as np

import hedgerow as hr
from hedgerow.sampling import Chain
from hedgerow.testing import check_kernel, exact_posterior

X = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1]])
MODEL = hr.Mixture(hr.NGG(1.0, 0.3, 1.0), hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2)))
DRAWS = 30_000


def total_variation(kernel: hr.Kernel) -> float:
    """Distance between the histogram of a chain over all 203 partitions and the enumerated posterior, u fixed at 1."""
    exact = exact_posterior(MODEL, X, u=1.0)
    place = {tuple(row): i for i, row in enumerate(exact.partitions.tolist())}
    chain = Chain(MODEL, X, kernel, labels=np.zeros(6, int), seed=1, start={"u": 1.0}, update_u=False, update_hyper=False)
    rows, counts = np.unique(chain.run(DRAWS).labels, axis=0, return_counts=True)
    seen = np.zeros(len(exact.partitions))
    for row, count in zip(rows.tolist(), counts, strict=True):
        seen[place[tuple(row)]] = count / DRAWS
    return float(np.abs(seen - exact.probabilities).sum() / 2)


def test_bias_is_there_and_of_the_size_told():
    # Independent draws of this size would be at 0.5 * sum sqrt(2 p (1-p) / (pi N)) = 0.02 or so; 0.05 is beyond any noise.
    assert total_variation(hr.Gibbs()) < 0.05
    assert total_variation(hr.TreeGuided()) < 0.05
    published = total_variation(hr.TreeGuidedPublished())
    assert 0.1 < published < 0.4
    assert total_variation(hr.TreeGuidedPublished(G=0)) > published  # local moves alone are worse


def test_it_fails_the_exam():
    assert not check_kernel(hr.TreeGuidedPublished(), MODEL, X, u=1.0).passed
