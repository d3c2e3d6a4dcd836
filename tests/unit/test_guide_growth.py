"""Guides grown from data are one tree over all rows, whatever the order, u and the units of the columns."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import _core
from hedgerow.sampling import Chain


@pytest.mark.parametrize("u", [0.5, 50.0, 5000.0])
def test_joined_roots_hold_every_row(u):
    X = hr.data.pitman_yor_mixture(1500, 3, seed=2).X
    model = hr.Mixture(hr.NGG(1.0, 0.3, 1.0), hr.GaussianWishart()).resolve(X)
    bound = model.likelihood.bind(X)
    for seed in range(8):
        builder = _core.TreeBuilder(bound, model.prior.to_core(), seed=seed)
        state = builder.state()
        builder.set_state(np.array([np.log(u)]), state["alpha"], state["sigma"], state["tau"], state["theta"])
        builder.ibhc()
        builder.join_roots()
        assert len(builder.arrays()["left"]) == 2 * len(X) - 1


def test_default_kernel_on_raw_wine():
    wine = hr.data.wine()
    model = hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2)), hr.GaussianWishart())
    for seed in range(5):
        chain = Chain(model, wine.X, hr.TreeGuided(), seed=seed)
        chain.warm_up(20, 0, 20)
        assert np.isfinite(chain.run(5).log_joint).all()


def test_guides_of_your_own_must_fit():
    X = hr.data.ring13(n=130, seed=0).X
    with pytest.raises(hr.ParameterError, match="guide must"):
        hr.TreeGuided(guide=np.zeros((3, 2)))
    from scipy.cluster.hierarchy import linkage

    with pytest.raises(hr.ParameterError, match="join the 130 rows"):
        hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), X, kernel=hr.TreeGuided(guide=linkage(X[:10])), draws=1, chains=1)
    assert hr.TreeGuided(guide=linkage(X)) == hr.TreeGuided(guide=linkage(X))
