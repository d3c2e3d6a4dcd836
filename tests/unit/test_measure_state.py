"""The state of a measure: one list of names in Python and in the core, log u kept in the place of u, u answered for a version."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.data.container import read_container, write_container
from hedgerow.priors.state import LISTS, NAMES, VALUES, fits, packed, with_log_u
from hedgerow.sampling import Chain
from hedgerow.trees import TreeStream

X = np.array([[0, 1], [0, 1], [1, 0]])
FAMILY = hr.Bernoulli(0.5, 0.5)
VAGUE = hr.Mixture(hr.NGG(0.002, 0.002, 1.0), FAMILY)


@pytest.fixture(scope="module")
def vague() -> hr.Posterior:
    """Draws in some of which u is beyond every float."""
    return hr.sample(VAGUE, X, kernel=hr.Gibbs(), draws=4000, warmup=50, chains=2, seed=1)


def test_the_core_has_the_same_names() -> None:
    measure = Chain(VAGUE, X, hr.Gibbs(), seed=0).state()["measure"]
    assert tuple(measure) == NAMES
    assert [name for name, value in measure.items() if np.ndim(value)] == list(LISTS)
    assert set(VALUES) >= {name for cls in (hr.NGG, hr.PitmanYor, hr.Stable, hr.DP) for name in cls.examples()[0].values()}


@pytest.mark.parametrize(
    "spoilt",
    [
        {"log_u": np.zeros(2)},
        {"alpha": np.array([-1.0])},
        {"sigma": 1.0},
        {"tau": np.nan},
        {"log_u": np.array([np.inf])},
        {"xi": 1.0},
        {"theta": "one"},
        {"tau": np.ones(2)},
        {"alpha": 1.0},
        {"log_u": np.array(["one"])},
        {"log_u": np.zeros((1, 1))},
    ],
    ids=lambda spoilt: next(iter(spoilt)),
)
def test_states_that_no_measure_is_in(spoilt: dict[str, object]) -> None:
    chain = Chain(VAGUE, X, hr.Gibbs(), seed=0)
    state = chain.state()
    with pytest.raises(hr.ParameterError, match="does not fit"):
        chain.restore(state | {"measure": state["measure"] | spoilt})
    with pytest.raises(hr.ParameterError, match=r"does not fit.*lacks tau"):
        chain.restore(state | {"measure": {name: value for name, value in state["measure"].items() if name != "tau"}})
    chain.restore(state)


def test_nothing_is_infinite_where_u_leaves_the_floats(vague: hr.Posterior, tmp_path: Path) -> None:
    assert vague.log_u.max() > 750  # e^709.8 is the largest float
    assert np.isfinite(vague.log_u).all()
    table = vague.summary()
    assert "log_u" in table["quantity"].tolist()
    for name in ("mean", "sd", "hdi_low", "hdi_high", "mcse", "ess_bulk", "ess_tail", "r_hat"):
        assert np.isfinite(table[name]).all(), name
    assert not {"inf", "nan"} & set(str(table).lower().split())
    vague.save(tmp_path / "post")
    np.testing.assert_array_equal(hr.load(tmp_path / "post").log_u, vague.log_u)
    assert np.isfinite(vague.log_density(X, max_draws=50)).all()
    far = np.flatnonzero(vague.log_u[0] > 750)
    beyond = {name: getattr(vague, name)[:1, far] for name in ("labels", "log_joint", *NAMES[:-1])}
    only = dataclasses.replace(vague, n_clusters=None, sample_stats={}, **beyond)
    assert np.isfinite(only.log_density(X)).all()


def test_mixed_measures_keep_log_xi(tmp_path: Path) -> None:
    times = np.array([0, 0, 1])
    model = hr.Mixture(hr.MixedNRM(hr.NGG(0.002, 0.002, 1.0), q=[[1.0, 0.2], [0.2, 1.0]]), FAMILY)
    post = hr.sample(model, X, kernel=hr.Gibbs(), draws=3000, warmup=50, chains=2, seed=1, times=times)
    assert post.log_u.max() > 750
    assert post.log_u.shape == (2, 3000, 2)
    table = post.summary()
    assert {"log_u[0]", "log_u[1]"} <= set(table["quantity"].tolist())
    assert all(np.isfinite(table[name]).all() for name in ("mean", "sd", "ess_bulk", "r_hat"))
    weights = post.basis(np.array([0, 0, 1]))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_u_is_answered_with_a_word(vague: hr.Posterior, tmp_path: Path) -> None:
    with pytest.warns(FutureWarning, match="Posterior: u is kept as log_u"):
        u = vague.u
    assert np.isinf(u).any()
    there = vague.log_u < 700
    np.testing.assert_allclose(u[there], np.exp(vague.log_u[there]), rtol=1e-15)
    with pytest.warns(FutureWarning, match="u will go in"):
        assert vague.traces()["u"].shape == vague.log_u.shape
    assert "u" not in vague.traces()
    few = {name: getattr(vague, name)[:, :5] for name in ("labels", "log_joint", "alpha", "sigma", "tau")}
    with pytest.warns(FutureWarning, match="Posterior"):
        made = hr.Posterior(**few, u=np.full((2, 5), 2.0), X=X, model=VAGUE)  # type: ignore[call-arg]
    np.testing.assert_array_equal(made.log_u, np.log(np.full((2, 5), 2.0)))
    forest = hr.ibhc(VAGUE, X, seed=0)
    stream = TreeStream(VAGUE, seed=0)
    stream.add(X)
    for values in (forest.values, stream.values):
        with pytest.warns(FutureWarning, match="log_u"):
            np.testing.assert_array_equal(values["u"], np.exp(values["log_u"]))
        with pytest.raises(KeyError, match="zeta"):
            values["zeta"]


def test_records_of_u_become_log_u(vague: hr.Posterior, tmp_path: Path) -> None:
    found = with_log_u({"u": np.array([1.0, np.inf, 0.0]), "tau": 2.0})
    assert fits("log_u", found["log_u"])
    assert found["log_u"][0] == 0.0
    assert 709 < found["log_u"][1] < 710
    assert set(found) == {"log_u", "tau"}
    vague.save(tmp_path / "new")  # and as 0.1.0 would have written it
    stored = read_container(tmp_path / "new", "posterior", (2,))
    arrays = dict(stored.arrays)
    with np.errstate(over="ignore"):
        arrays["u"] = np.exp(arrays.pop("log_u"))
    write_container(tmp_path / "old", "posterior", 1, stored.content, arrays)
    old = hr.load(tmp_path / "old")
    np.testing.assert_allclose(old.log_u, np.clip(vague.log_u, -745, np.log(np.finfo(float).max)), rtol=1e-13)
    assert np.isfinite(old.summary()["mean"]).all()


def test_what_a_prior_has_no_use_for_is_nought() -> None:
    assert packed({"log_u": 0.0, "alpha": [1.0, 2.0], "sigma": 0.5, "tau": 1.0})["theta"] == 0.0
    assert hr.NGG().carried() == NAMES[:-1]
    assert hr.PitmanYor().carried() == NAMES


def test_the_old_name_of_a_sequence_is_taken_with_a_warning() -> None:
    model, X = hr.Mixture(hr.DP(), hr.GaussianWishart()), np.array([[0.0], [0.1], [9.0]])
    new = Chain(model, X, hr.Gibbs(), seed=0, sequence=3)
    with pytest.warns(FutureWarning, match="sequence"):
        old = Chain(model, X, hr.Gibbs(), seed=0, stream=3)
    np.testing.assert_array_equal(new.run(5).labels, old.run(5).labels)


@pytest.mark.parametrize("base", [hr.NGG(hr.Gamma(0.019, 1), 0.3), hr.NIG(hr.Gamma(0.001, 0.001)), hr.Stable(hr.Gamma(0.001, 1), 0.5)])
def test_a_law_that_several_masses_cannot_follow_is_refused(base: hr.NGG) -> None:
    """Of three masses of which some are below 1e-300 the log joint was no number, nor was the evidence."""
    with pytest.raises(hr.ParameterError, match=r"law of alpha with a shape of 0\.02 or more"):
        hr.MixedNRM(base, decay=1.0)


@pytest.mark.parametrize("base", [hr.NGG(hr.Gamma(0.02, 0.02), 0.3), hr.DP(hr.Gamma(0.001, 0.001))])
def test_laws_that_are_not_refused_give_numbers(base: hr.Prior) -> None:
    times, X = np.arange(12) % 3, np.arange(24).reshape(12, 2) % 2
    model = hr.Mixture(hr.MixedNRM(base, decay=1.0), hr.Bernoulli(0.5, 0.5))
    post = hr.sample(model, X, times=times, kernel=hr.Gibbs(), draws=1500, warmup=100, chains=2, seed=3, progress=False)
    assert np.isfinite(post.log_joint).all()
    assert np.isfinite(post.log_u).all()
    assert not set(str(post.summary()).lower().split()) & {"inf", "-inf", "nan"}
    assert np.isfinite(hr.smc(model, X, times=times, particles=40, seed=0).log_evidence)
