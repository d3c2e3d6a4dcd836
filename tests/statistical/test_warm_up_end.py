"""A warm-up ends before the first kept draw, for every part of every kernel: nothing remembered from it touches a draw.

A kept step that starts at a draw of the posterior must end at one, whatever the warm-up has seen. Here chains are stopped in the
heat of their warm-up, their partition is replaced by an exact draw, and they take one step. Had a part still to put back what it
remembers, its law would be that of the memory.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import hedgerow as hr
from hedgerow.kernels import Kernel
from hedgerow.sampling import Chain
from hedgerow.testing import exact_posterior

X = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1]])
# α is 1 and u integrates out: the partition is the whole state.
MODEL = hr.Mixture(hr.DP(1.0), hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2)))
TREES = hr.TreeGuided(global_moves=1, sweep_rate=0.1)
PARTS: dict[str, Kernel] = {
    "TreeGuided": TREES,
    "mix": hr.mix(TREES, hr.Gibbs(subset=1)),
    "mix, rarely": hr.mix(TREES, hr.Gibbs(subset=1), weights=(0.1, 0.9)),
    "cycle": hr.cycle(hr.Gibbs(subset=1), TREES),
    "nested": hr.mix(hr.cycle(hr.mix(TREES, TREES), hr.Gibbs(subset=1)), hr.SplitMerge(scans=1)),
}
REPLICATES = 1500
LEVEL = 1e-4


def p_value(kernel: Kernel, iterations: int, *, ended: bool) -> float:
    """Of the partitions one step after exact draws, by Pearson's test; partitions expected fewer than ten times are one cell."""
    exact = exact_posterior(MODEL, X)
    bound = MODEL.likelihood.bind(X)
    rng = np.random.default_rng(1)
    index = {row.tobytes(): i for i, row in enumerate(exact.partitions.astype(np.int32))}
    counts = np.zeros(len(exact.partitions))
    for sequence, drawn in enumerate(rng.choice(len(counts), size=REPLICATES, p=exact.probabilities)):
        chain = Chain(MODEL, X, kernel, labels=np.arange(len(X)), seed=2, sequence=sequence, bound=bound)
        chain.warm_up(iterations, 0, 100)
        if ended:
            chain.end_warm_up()
        chain.restore(chain.state() | {"labels": exact.partitions[drawn].astype(np.int32)})
        counts[index[chain.run(1).labels[0].tobytes()]] += 1
    expected = REPLICATES * exact.probabilities
    rare = expected < 10
    seen, wanted = (np.append(values[~rare], values[rare].sum()) for values in (counts, expected))
    return float(chi2.sf(((seen - wanted) ** 2 / wanted).sum(), len(wanted) - 1))


@pytest.mark.parametrize("iterations", [0, 20], ids=["no warm-up", "while hot"])
@pytest.mark.parametrize("name", PARTS)
def test_a_kept_step_leaves_the_posterior_alone(name: str, iterations: int) -> None:
    assert p_value(PARTS[name], iterations, ended=True) > LEVEL


@pytest.mark.parametrize("name", ["TreeGuided", "mix, rarely", "nested"])
def test_a_memory_put_back_at_the_first_kept_step_is_caught(name: str) -> None:
    assert p_value(PARTS[name], 20, ended=False) < LEVEL


def test_a_rarely_picked_part_does_not_fall_back_to_what_it_remembers() -> None:
    """Sixteen clusters on a grid: the part picked in 3 of 100 iterations is in the midst of its annealing when the warm-up ends."""
    corners = np.array([[i, j] for i in range(4) for j in range(4)] * 40, float)
    rows = 4.0 * corners + np.random.default_rng(0).normal(size=corners.shape)
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart.nips2015())
    kernel = hr.mix(hr.TreeGuided(), hr.Gibbs(), weights=(0.03, 0.97))
    post = hr.sample(model, rows, kernel=kernel, init="one", warmup=100, draws=60, chains=1, seed=19, progress=False)
    # Sweeps move it by a few dozen nats; the memory lay 205 below.
    assert np.diff(post.log_joint[0]).min() > -100.0
    assert post.log_joint[0, 0] > -3900.0
