"""Mixture: the papers' log joints, the sum it claims to be, and words for every way to build it wrongly."""

from __future__ import annotations

import dataclasses
import doctest
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import integrate, sparse
from scipy.special import gammaln

import hedgerow.mixture
from hedgerow.data import pitman_yor_mixture, ring13
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import Custom, GaussianDiagonal, GaussianWishart, Multinomial
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.priors import DP, NGG, NIG, Gamma, PitmanYor, Stable
from hedgerow.sampling import sample
from hedgerow.trees import TreeStream


def test_log_joint_of_the_authors_toy_set(stored: Any) -> None:
    data = stored("nrmm_author_data.npz")
    model = Mixture(DP(alpha=1.0), GaussianWishart.nips2015())
    assert model.log_joint(data["toy_X"], data["toy_y"]) == pytest.approx(-1577.5696, abs=5e-5)


def test_log_joint_of_the_nips_corpus(stored: Any) -> None:
    data = stored("nips_uci_bow.npz")
    parts = (
        data["data"].astype(np.float64),
        data["indices"].astype(np.int32),
        data["indptr"].astype(np.int64),
    )
    X = sparse.csr_array(parts, shape=tuple(data["shape"]))
    model = Mixture(DP(alpha=1.0), Multinomial(beta=0.1))
    assert model.log_joint(X, np.zeros(1500)) == pytest.approx(-5_262_482, abs=1)
    assert model.log_joint(X, np.arange(1500)) == pytest.approx(-4_650_734, abs=1)


@pytest.mark.parametrize(
    "prior",
    [DP(2.0), NGG(1.5, 0.4, 0.7), NIG(1.2, 0.5), Stable(1.0, 0.6), PitmanYor(1.0, 0.3), DP(Gamma(2, 1))],
    ids=repr,
)
def test_log_joint_is_prior_plus_marginals(prior: Any) -> None:
    X, labels, _ = ring13(n=39)
    model = Mixture(prior, GaussianDiagonal()).resolve(X)
    marginals = sum(model.likelihood.log_marginal(X[labels == c]) for c in range(13))
    sizes = np.full(13, 3)
    for u in (0.3, 4.0):
        expected = prior.log_partition(sizes, u) + marginals
        assert model.log_joint(X, labels, u=u) == pytest.approx(expected, rel=1e-12)
    if prior.u_integrates:
        assert model.log_joint(X, labels) == pytest.approx(prior.log_partition(sizes) + marginals, rel=1e-12)
    else:
        with pytest.raises(ParameterError, match="u must be a number"):
            model.log_joint(X, labels)


def test_integrating_u_out_of_the_dirichlet_process() -> None:
    X, labels, _ = ring13(n=26)
    model = Mixture(DP(2.0), GaussianWishart()).resolve(X)
    top = model.log_joint(X, labels, u=13.0)
    mass, _ = integrate.quad(lambda u: np.exp(model.log_joint(X, labels, u=u) - top), 1e-6, 2e4, limit=500)
    assert model.log_joint(X, labels) == pytest.approx(top + np.log(mass), abs=1e-3)


def test_values_override_hyper_parameters() -> None:
    X, labels, _ = ring13(n=26)
    likelihood = GaussianWishart()
    found = Mixture(DP(Gamma(1, 1)), likelihood).log_joint(X, labels, alpha=3.0)
    assert found == pytest.approx(Mixture(DP(3.0), likelihood).log_joint(X, labels))
    n, K, sizes = 26, 13, np.full(13, 2)
    marginals = found - (gammaln(3) - gammaln(3 + n) + K * np.log(3) + gammaln(sizes).sum())
    alone = Mixture(DP(1.0), likelihood).log_joint(X, labels)
    assert alone == pytest.approx(marginals + gammaln(1) - gammaln(1 + n))


def test_only_the_partition_matters() -> None:
    X, labels, _ = pitman_yor_mixture(60, 3, seed=4)
    model = Mixture(NGG(1.0, 0.3, 1.0), GaussianWishart()).resolve(X)
    base = model.log_joint(X, labels, u=2.0)
    rng = np.random.default_rng(0)
    names = rng.permutation(1000)[labels]
    assert model.log_joint(X, names, u=2.0) == pytest.approx(base, rel=1e-12)
    order = rng.permutation(60)
    assert model.log_joint(X[order], names[order], u=2.0) == pytest.approx(base, rel=1e-12)


def test_resolve_shows_the_defaults_and_log_joint_uses_them() -> None:
    X, labels, _ = ring13(n=26)
    model = Mixture(DP(), GaussianWishart.nips2015())
    resolved = model.resolve(X)
    assert not model.is_resolved
    assert resolved.is_resolved
    assert resolved.prior == model.prior
    assert np.linalg.det(resolved.likelihood.psi) == pytest.approx(0.1)  # type: ignore[attr-defined]
    assert resolved.log_joint(X, labels) == model.log_joint(X, labels)
    assert resolved.log_joint(X[:5], labels[:5]) != model.log_joint(X[:5], labels[:5])


def test_a_model_is_a_frozen_value() -> None:
    model = Mixture(DP(), GaussianWishart()).resolve(ring13(n=26).X)
    assert pickle.loads(pickle.dumps(model)) == model
    assert model != Mixture(DP(), GaussianWishart())
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.prior = DP(2.0)  # type: ignore[misc]
    assert repr(Mixture(DP(1.0), Multinomial())).startswith("Mixture(prior=DP(alpha=1.0), likelihood=Multinomial(")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((DP, GaussianWishart()), r"prior must be an instance, not the class: write DP\(\)"),
        (
            (DP(), GaussianWishart),
            r"likelihood must be an instance, not the class: write GaussianWishart\(\)",
        ),
        ((GaussianWishart(), DP()), "prior must be a prior: the prior comes first, the likelihood second"),
        ((DP(), DP()), "likelihood must be a likelihood: the prior comes first, the likelihood second"),
        (("dp", GaussianWishart()), r"Mixture\(prior='dp'\): prior must be a prior, such as DP\(\)"),
        ((None, GaussianWishart()), r"Mixture\(prior=None\): prior must be a prior, such as DP\(\)"),
        ((DP(), "gaussian"), r"likelihood must be a likelihood, such as GaussianWishart\(\)"),
        ((DP(), int), r"likelihood must be a likelihood, such as GaussianWishart\(\)"),
    ],
)
def test_bad_parts_are_refused_at_construction(arguments: tuple[Any, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Mixture(*arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"u": 0.0}, "u must be a finite number above 0"),
        ({"u": -1.0}, "u must be a finite number above 0"),
        ({"u": np.nan}, "u must be a finite number above 0"),
        ({"u": np.inf}, "u must be a finite number above 0"),
        ({"u": "1"}, "u must be a finite number above 0"),
        ({"u": True}, "u must be a finite number above 0"),
        ({"u": 10**400}, "u must be a finite number above 0"),
        ({"sigma": 0.5}, r"Mixture\(sigma=0.5\): sigma must be a hyper-parameter of DP \(alpha\)"),
        ({"labels": [0, 1]}, "labels must have one entry for each of the 4 rows of X"),
        ({"labels": [0, 1, np.nan, 1]}, r"labels\[2\] must be a whole number"),
        ({"labels": [[0, 1, 1, 0]]}, "labels must be one-dimensional"),
        ({"X": [0.0, 1.0, 2.0, 3.0]}, r"X.reshape\(-1, 1\)"),
        ({"X": [[0.0, 1.0], [2.0, np.nan]]}, r"X must have no missing entries here"),
    ],
)
def test_bad_arguments_of_log_joint(arguments: dict[str, Any], words: str) -> None:
    given = {"X": np.arange(8.0).reshape(4, 2), "labels": [0, 0, 1, 1], **arguments}
    with pytest.raises(ParameterError, match=words):
        Mixture(DP(), GaussianWishart()).log_joint(given.pop("X"), given.pop("labels"), **given)


def test_docstring_example() -> None:
    result = doctest.testmod(hedgerow.mixture)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"alpha": -1.0}, r"Mixture\(alpha=-1.0\): alpha must be a finite number above 0"),
        ({"alpha": None}, "alpha must be a finite number above 0"),
        ({"tau": [1.0, 2.0]}, "tau must be a finite number above 0"),
        ({"sigma": 1.0}, r"sigma must be a number in \[0, 1\)"),
        ({"sigma": float("nan")}, r"sigma must be a number in \[0, 1\)"),
    ],
)
def test_values_that_no_measure_has_are_refused(values: dict[str, Any], words: str) -> None:
    model = Mixture(NGG(), GaussianWishart())
    with pytest.raises(ParameterError, match=words):
        model.log_joint(np.eye(3), [0, 0, 1], u=1.0, **values)


# ---- powers


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"power": 0.0}, r"Mixture\(power=0.0\): power must lie in \(0, 1\]"),
        ({"power": 1.2}, r"power must lie in \(0, 1\]"),
        ({"power": "half"}, r"power must lie in \(0, 1\]"),
        ({"worth": -3}, r"Mixture\(worth=-3\): worth must be a finite number above 0"),
        ({"worth": 10, "power": 0.5}, "power must be left out when worth is given"),
    ],
)
def test_powers_that_are_none(options, words) -> None:
    with pytest.raises(ParameterError, match=words):
        Mixture(DP(), GaussianDiagonal(), **options)


def test_a_family_of_ones_own_says_whether_it_can_be_raised() -> None:
    def ones(X):
        return np.ones((len(X), 1))

    with pytest.raises(ParameterError, match="power must be left out: Custom cannot be raised to a power"):
        Mixture(DP(), Custom(ones, lambda s: -s[:, 0]), power=0.5)
    model = Mixture(DP(), Custom(ones, lambda s: -s[:, 0], scales=True), power=0.5).resolve(np.zeros((4, 1)))
    assert model.bind(np.zeros((4, 1))).log_marginals(np.zeros(4, np.int32))[0] == -2.0


def test_worth_becomes_a_power_once_the_rows_are_known(tmp_path) -> None:
    X = np.random.default_rng(0).normal(0, 1, (30, 2))
    open_model = Mixture(DP(), GaussianDiagonal(), worth=10)
    assert not open_model.is_resolved
    assert repr(open_model).endswith(", worth=10.0)")
    model = open_model.resolve(X)
    assert (model.power, model.worth) == (0.25, None)
    assert model.is_resolved
    assert model.resolve(X[:5]) == model
    assert open_model.log_joint(X, np.zeros(30, int)) == model.log_joint(X, np.zeros(30, int))
    post = sample(open_model, X, draws=3, warmup=2, chains=1, seed=0, progress=False)
    assert post.model.power == 0.25
    post.save(tmp_path / "x")
    assert Posterior.load(tmp_path / "x").model == post.model
    with pytest.raises(ParameterError, match="have a power, not a worth"):
        TreeStream(open_model)
