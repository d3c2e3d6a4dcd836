"""Trees stay shallow where rows hardly know one another, trees that are two clusters are parted, and builds go back to their best."""

from __future__ import annotations

import pickle

import numpy as np
import numpy.typing as npt
import pytest

import hedgerow as hr
from hedgerow import _core
from hedgerow.trees import TreeStream

Rows = npt.NDArray[np.float64]


def overlapping(seed: int, per: int = 120) -> tuple[Rows, npt.NDArray[np.intp]]:
    """Eight round clusters, some of which overlap."""
    rng = np.random.default_rng(seed)
    z = np.repeat(np.arange(8), per)
    return rng.normal(0, 5, (8, 2))[z] + rng.normal(size=(len(z), 2)), z


def depths(forest: hr.Forest) -> npt.NDArray[np.intp]:
    depth = np.zeros(len(forest.parent), int)
    for v in range(len(depth) - 1, -1, -1):
        if forest.parent[v] >= 0:
            depth[v] = depth[forest.parent[v]] + 1
    return depth[: forest.n]


@pytest.mark.parametrize("seed", range(2))
def test_rows_that_would_not_join_by_themselves_make_no_path(seed: int) -> None:
    made = hr.data.moving_clusters(60, seed=26, centre_sd=10.0, point_sd=1.5)
    prior = hr.MixedNRM(hr.NGG(0.3, 0.3, 1e-3), basis=range(2, 16, 2), decay=0.2)
    model = hr.Mixture(prior, hr.GaussianWishart(mean=made.X.mean(axis=0), r=1.0, nu=6.0, psi=np.cov(made.X.T)))
    forest = hr.ibhc(model, made.X, times=made.times, passes=2, seed=seed)
    forest.validate()
    assert depths(forest).mean() < 20
    assert depths(forest).max() < 90


@pytest.mark.parametrize("prior", [hr.DP(1.0), hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2), 1.0)], ids=["fixed", "sampled"])
def test_a_few_passes_are_as_good_as_the_clusters_drawn(prior: hr.DP | hr.NGG) -> None:
    for seed in range(4):
        X, z = overlapping(seed)
        model = hr.Mixture(prior, hr.GaussianWishart())
        forest = hr.ibhc(model, X, passes=10, seed=seed)
        forest.validate()
        fixed = hr.Mixture(hr.DP(1.0), model.likelihood).resolve(X)
        assert fixed.log_joint(X, forest.labels) > fixed.log_joint(X, z) - 1.0


def test_a_pass_moves_no_row_for_nothing() -> None:
    X, _ = overlapping(5)
    family = hr.Mixture(hr.DP(1.0), hr.GaussianWishart()).resolve(X).likelihood
    builder = _core.TreeBuilder(family.bind(X), hr.DP(1.0).to_core(), seed=1)
    builder.ibhc()
    values = [builder.log_joint()]
    for _ in range(5):
        builder.revise("reinsert", False)
        values.append(builder.log_joint())
    assert (np.diff(values) > -1e-6).all()  # nothing is sampled: passes can only gain


def test_back_to_what_was_kept() -> None:
    made = hr.data.moving_clusters(10, seed=2, centre_sd=10.0, point_sd=1.5)
    prior = hr.MixedNRM(hr.NGG(1.0, 0.2, 1e-3), basis=range(2, 16, 2), decay=0.2)
    model = hr.Mixture(prior, hr.GaussianWishart.nips2015()).resolve(made.X)
    grouping = prior.group(made.times, len(made.X), "test")
    builder = _core.TreeBuilder(model.likelihood.bind(made.X), prior.to_core(grouping), grouping.codes, seed=3)
    builder.go_back()  # nothing was kept: nothing happens
    builder.ibhc()
    builder.keep()
    arrays, state, log_joint = builder.arrays(), builder.state(), builder.log_joint()
    for _ in range(3):
        builder.resample(True, False)
        builder.revise()
    assert builder.log_joint() != log_joint
    builder.go_back()
    assert builder.log_joint() == pytest.approx(log_joint, rel=1e-12)
    for name, array in builder.arrays().items():
        np.testing.assert_array_equal(array, arrays[name])
    np.testing.assert_array_equal(builder.state()["log_u"], state["log_u"])
    builder.revise()  # and the trees can be worked on
    assert builder.log_joint() >= log_joint - 1e-6


def test_a_stream_of_very_many_groups() -> None:
    rng = np.random.default_rng(4)
    prior = hr.MixedNRM(hr.NGG(1.0, 0.2, 1e-3), basis=range(0, 90, 30), decay=0.05)
    stream = TreeStream(hr.Mixture(prior, hr.GaussianWishart(mean=[0, 0], r=0.1, nu=5, psi=np.eye(2))), seed=5)
    batches = [8.0 * rng.integers(0, 3, (6, 1)) + rng.normal(size=(6, 2)) for _ in range(90)]
    for t, X in enumerate(batches):
        stream.add(X, np.full(6, t))
        if t == 80:
            copy = pickle.loads(pickle.dumps(stream))
    for t in range(81, 90):
        copy.add(batches[t], np.full(6, t))
    np.testing.assert_array_equal(copy.labels, stream.labels)
    np.testing.assert_array_equal(copy.values["log_u"], stream.values["log_u"])
    values = stream.values
    assert np.isfinite(values["log_u"]).all()
    times = np.repeat(np.arange(90), 6)
    again = stream.model.log_joint(np.concatenate(batches), stream.labels, np.exp(values["log_u"]), times=times, alpha=values["alpha"])
    assert stream.log_joint == pytest.approx(again, rel=1e-9)
