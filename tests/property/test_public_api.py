"""The public API, by hypothesis: any small model, data, kernel and options give a right posterior or a ParameterError, nothing else."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import hedgerow as hr
from hedgerow.kernels import KERNELS
from hedgerow.likelihoods import LIKELIHOODS as FAMILIES
from hedgerow.priors import LAWS, PRIORS, Prior
from hedgerow.summaries import is_canonical
from hedgerow.trees import TreeStream

EXAMPLES = int(os.environ.get("HEDGEROW_EXAMPLES", "60"))  # a few thousand for a long look
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

positive = st.floats(1e-3, 1e3)
gammas = st.builds(hr.Gamma, st.floats(0.2, 5), st.floats(0.2, 5))
betas = st.builds(hr.Beta, st.floats(0.5, 5), st.floats(0.5, 5))
fractions = st.one_of(st.just(0.0), st.floats(1e-12, 0.95))


def prior_of(kind: type[Prior]) -> st.SearchStrategy[Prior]:
    """Every hyper-parameter a number or a law, by the type of its field."""
    kinds = get_type_hints(kind)
    by_law = {"Gamma": st.one_of(positive, gammas), "Beta": st.one_of(fractions, betas)}
    chosen = {f.name: by_law[get_args(kinds[f.name])[1].__name__] for f in fields(kind)}

    def made(values: dict[str, Any]) -> Prior | None:
        try:
            return kind(**values)
        except hr.ParameterError:  # some measures have no σ = 0
            return None

    return st.fixed_dictionaries(chosen).map(made).filter(lambda prior: prior is not None)  # type: ignore[return-value]


priors = st.one_of(*(prior_of(kind) for kind in PRIORS if not kind.grouped))
kernels = st.one_of(
    st.builds(hr.Gibbs, st.one_of(st.none(), st.integers(1, 4))),
    st.builds(hr.SplitMerge, st.integers(0, 4)),
    st.builds(hr.TreeGuided, st.one_of(st.none(), st.integers(0, 5))),
    st.builds(hr.TreeGuidedPublished, st.integers(0, 3)),
    st.sampled_from([kernel for kind in KERNELS if kind is not hr.Slice for kernel in kind.examples()]),
    st.builds(lambda a, b: hr.cycle(hr.Gibbs(), hr.SplitMerge(a), hr.TreeGuided(b)), st.integers(1, 2), st.integers(1, 2)),
    st.builds(lambda a: hr.mix(hr.Gibbs(), hr.SplitMerge(a)), st.integers(1, 2)),
)


@st.composite
def families(draw: st.DrawFn) -> tuple[Any, Any]:
    """A likelihood and rows that suit it, with units, offsets, ties, gaps and constant columns as they come."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 14)), draw(st.integers(1, 4))
    if draw(st.integers(0, 4)) == 0:  # every likelihood there is, on rows of its own making
        family, X = draw(st.sampled_from([case for kind in FAMILIES if (case := kind.example()) is not None]))
        resolved = family.resolve(X)
        return resolved, resolved.simulate(np.sort(rng.integers(0, 3, n)), rng)
    kind = draw(st.sampled_from(["wishart", "diagonal", "multinomial", "sparse", "bernoulli", "categorical", "poisson", "product"]))
    real = rng.normal(0, 1, (n, d)) * 10.0 ** draw(st.integers(-6, 6)) + draw(st.sampled_from([0.0, 1.0, -1e6, 1e9]))
    if draw(st.booleans()):
        real[:, 0] = real[0, 0]
    if draw(st.booleans()):
        real[n // 2 :] = real[: n - n // 2]
    counts = rng.poisson(draw(st.sampled_from([0.3, 3.0, 300.0])), (n, d)).astype(float)
    codes = rng.integers(0, draw(st.integers(1, 3)), (n, d)).astype(float)
    gaps = np.where(rng.random((n, d)) < 0.2, np.nan, 1.0) if draw(st.booleans()) else 1.0
    match kind:
        case "wishart":
            return hr.GaussianWishart(), real
        case "diagonal":
            return hr.GaussianDiagonal(), real * gaps
        case "multinomial":
            return hr.Multinomial(draw(positive)), counts
        case "sparse":
            return hr.Multinomial(draw(positive)), sparse.csr_array(counts)
        case "bernoulli":
            return hr.Bernoulli(), (codes > 0) * gaps
        case "categorical":
            return hr.Categorical(), codes * gaps
        case "poisson":
            return hr.Poisson(), counts
    both = np.column_stack([real[:, :1], counts[:, :1], codes[:, :1]])
    return hr.Product({(0,): hr.GaussianDiagonal(), (1,): hr.Poisson(), (2,): hr.Categorical()}), both


def sample(model: hr.Mixture, X: Any, **options: Any) -> hr.Posterior | None:
    """A posterior, or None where the model or the data are refused in the house's words."""
    try:
        return hr.sample(model, X, **options)
    except hr.ParameterError as error:
        in_house_form(error)
        return None


def in_house_form(error: Exception) -> None:
    assert "must" in str(error)


@SETTINGS
@given(priors, families(), kernels, st.integers(1, 3), st.integers(0, 3), st.integers(1, 2), st.integers(1, 2), st.integers(0, 2**40))
def test_sampling(prior, family, kernel, draws, warmup, chains, thin, seed) -> None:
    likelihood, X = family
    model = hr.Mixture(prior, likelihood)
    options = {"kernel": kernel, "draws": draws, "warmup": warmup, "chains": chains, "thin": thin, "seed": seed}
    post = sample(model, X, **options)
    if post is None:
        return
    n = X.shape[0]
    assert post.labels.shape == (chains, draws, n)
    assert post.labels.dtype == np.int32
    assert post.n_clusters.shape == post.log_joint.shape == (chains, draws)
    assert np.isfinite(post.log_joint).all()
    for chain in range(chains):
        for draw in range(draws):
            labels = post.labels[chain, draw]
            assert is_canonical(labels)
            assert post.n_clusters[chain, draw] == labels.max() + 1
            values = {name: float(getattr(post, name)[chain, draw]) for name in prior.values() if getattr(post, name) is not None}
            u = None if prior.u_integrates else float(np.exp(min(post.log_u[chain, draw], 709.0)))
            if u is not None and not (0 < u < 1e307):
                continue  # beyond what a float can hold; the chain works with its logarithm
            again = post.model.log_joint(X, labels, u, **values)
            # The chain's statistics are kept by rank-one updates, which cost digits where clusters are far wider than the base measure.
            assert np.isclose(again, post.log_joint[chain, draw], rtol=1e-5, atol=1e-3), (again, post.log_joint[chain, draw])
    twin = sample(model, X, **options)
    assert twin is not None
    np.testing.assert_array_equal(twin.labels, post.labels)
    np.testing.assert_array_equal(twin.log_joint, post.log_joint)


@SETTINGS
@given(priors, families(), st.integers(0, 2**40))
def test_trees(prior, family, seed) -> None:
    likelihood, X = family
    model = hr.Mixture(prior, likelihood)
    for build in (hr.bhc, hr.ibhc):
        try:
            forest = build(model, X, seed=seed)
        except hr.ParameterError:
            continue
        forest.validate()
        assert forest.labels.shape == (X.shape[0],)
        assert is_canonical(forest.labels)
        assert np.isfinite(forest.log_joint)
        assert forest.log_bound >= forest.log_joint - 1e-6 * (1 + abs(forest.log_joint))
        np.testing.assert_array_equal(build(model, X, seed=seed).labels, forest.labels)


@SETTINGS
@given(priors, families(), st.integers(0, 2**40), st.integers(1, 5))
def test_streams(prior, family, seed, size) -> None:
    likelihood, X = family
    rows = X.tocsr() if sparse.issparse(X) else X
    try:
        model = hr.Mixture(prior, likelihood).resolve(X)  # from all rows: a batch of one says little
    except hr.ParameterError:
        return
    stream = TreeStream(model, seed=seed)
    for first in range(0, X.shape[0], size):
        ids = stream.add(rows[first : first + size])
        assert set(ids.tolist()) <= set(stream.cluster_ids.tolist())
    assert stream.n_seen == len(stream.labels) == X.shape[0]
    assert stream.cluster_sizes.sum() == X.shape[0]
    weights = stream.predict_log_weights(rows[:2])
    assert weights.shape == (min(2, X.shape[0]), stream.n_clusters + 1)
    assert not np.isnan(weights).any()


ARRAYS: dict[str, Any] = {
    "strings": np.array([["a", "b"], ["c", "d"]]),
    "objects": np.array([[None, {}], [1, "x"]], dtype=object),
    "ragged": [[1.0, 2.0], [3.0]],
    "nothing": [],
    "no rows": np.empty((0, 2)),
    "no columns": np.empty((3, 0)),
    "no array": None,
    "a text": "X",
    "a number": 3.0,
    "a set": {1, 2},
    "one row": np.ones((1, 2)),
    "one entry": np.ones((1, 1)),
    "one axis": np.arange(5.0),
    "three axes": np.zeros((2, 2, 2)),
    "constant": np.full((6, 3), 7.0),
    "doubled columns": np.repeat(np.arange(8.0)[:, None], 3, axis=1),
    "far away": np.random.default_rng(0).normal(0, 1, (8, 2)) + 1e9,
    "very far away": np.random.default_rng(0).normal(0, 1, (8, 2)) + 1e15,
    "tiny": np.random.default_rng(0).normal(0, 1e-200, (8, 2)),
    "huge": np.random.default_rng(0).normal(0, 1e200, (8, 2)),
    "largest": np.full((4, 2), 1.7e308) * [[1], [-1], [1], [-1]],
    "infinite": np.array([[1.0, np.inf], [2.0, 3.0], [0.0, 1.0]]),
    "missing": np.array([[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]]),
    "all missing": np.full((4, 2), np.nan),
    "a column missing": np.array([[1.0, np.nan], [2.0, np.nan], [0.0, np.nan]]),
    "true and false": np.array([[True, False], [False, False], [True, True]]),
    "complex": np.ones((3, 2)) * 1j,
    "large whole numbers": np.array([[2**62, 1], [2**40, 3], [0, 2**53]]),
    "unsigned": np.array([[2**64 - 1, 1], [3, 3]], dtype=np.uint64),
    "python integers": np.array([[10**30, 1], [1, 2]], dtype=object),
    "negative": np.array([[-1, 2], [3, 4], [0, 1]]),
    "half": np.array([[0.5, 2], [3, 4], [0, 1]]),
    "dates": np.array([["2020-01-01"], ["2021-01-01"]], dtype="M8[D]"),
    "single precision": np.random.default_rng(0).normal(0, 1, (8, 2)).astype(np.float32),
    "half precision": np.random.default_rng(0).normal(0, 1, (8, 2)).astype(np.float16),
    "masked": np.ma.masked_array(np.ones((3, 2)), mask=[[0, 1], [0, 0], [0, 0]]),
    "sparse": sparse.csr_array(np.eye(4)),
    "sparse and negative": sparse.csr_array(-np.eye(4)),
    "sparse and empty": sparse.csr_array((3, 4)),
    "sparse and infinite": sparse.csr_array(np.diag([1.0, np.inf])),
    "structured": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "reversed": np.random.default_rng(0).normal(0, 1, (8, 3))[::-1, ::-1],
    "big endian": np.random.default_rng(0).normal(0, 1, (8, 2)).astype(">f8"),
}
LIKELIHOODS = [kind() for kind in FAMILIES if kind.from_values and kind not in (hr.Product, hr.Prepared)]
LIKELIHOODS.append(hr.Product({(0,): hr.GaussianDiagonal(), (1,): hr.Poisson()}))
LIKELIHOODS.append(hr.Prepared(hr.GaussianDiagonal(), [hr.Preparation(unit=1.0), hr.Preparation(scale="yeo-johnson", shape=0.5)]))


@pytest.mark.parametrize("name", ARRAYS)
def test_input_of_every_kind(name) -> None:
    """A right posterior, forest and estimator, or the house's refusal."""
    X = ARRAYS[name]
    for likelihood in LIKELIHOODS:
        model = hr.Mixture(hr.NGG(hr.Gamma(1, 1), 0.2, 1.0), likelihood)
        post = sample(model, X, draws=2, warmup=2, chains=1, seed=0)
        if post is not None:
            assert np.isfinite(post.log_joint).all()
            assert is_canonical(post.labels)
        for build in (hr.bhc, hr.ibhc):
            with contextlib.suppress(hr.ParameterError):
                assert np.isfinite(build(model, X).log_joint)
        with contextlib.suppress(hr.ParameterError):
            TreeStream(model, seed=0).add(X)


@pytest.mark.parametrize("name", ARRAYS)
def test_estimators_take_or_refuse_it(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of what it converts
        for estimator in (hr.HedgerowClusterer(draws=4, warmup=4, chains=1, random_state=0), hr.IncrementalBHC(random_state=0)):
            try:
                labels = estimator.fit(ARRAYS[name]).labels_
            except (ValueError, TypeError):  # scikit-learn's own, by its contract
                continue
            assert labels.min() >= 0


OPTIONS: list[dict[str, Any]] = [
    {"draws": -1}, {"draws": 1.5}, {"draws": None}, {"draws": True}, {"draws": "3"}, {"warmup": -1}, {"chains": 0}, {"thin": 0},
    {"seed": -1}, {"seed": 1.5}, {"seed": "x"}, {"init": "nonsense"}, {"init": [0, 1]}, {"init": np.zeros(3)},
    {"init": -np.ones(8, int)}, {"init": object()}, {"times": [1, 2]}, {"kernel": "Gibbs"}, {"kernel": hr.Gibbs},
    {"callbacks": 3}, {"callbacks": [3]}, {"progress": "yes"}, {"backend": "gpu"}, {"checkpoint": 3}, {"checkpoint": b"x"},
    {"draws": np.int64(2), "seed": np.uint32(3)}, {"seed": 10**40}, {"init": ["one", "singletons"]}, {"init": np.arange(8)[::-1]},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: re.sub(r" at 0x\w+", "", str(options)))
def test_options_of_every_kind(options) -> None:
    X = np.random.default_rng(0).normal(0, 1, (8, 2))
    sample(hr.Mixture(hr.DP(), hr.GaussianDiagonal()), X, **({"draws": 2, "warmup": 1, "chains": 1} | options))


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.lists(st.floats(), max_size=3), st.complex_numbers()
)


@settings(max_examples=3 * EXAMPLES, deadline=None)
@given(
    st.sampled_from([hr.Mixture, *PRIORS, *LAWS, *FAMILIES, *(kind for kind in KERNELS if fields(kind))]),
    st.lists(anything, min_size=1, max_size=3),
)
def test_constructors_refuse_in_the_house_s_words(cls, values) -> None:
    try:
        made = cls(*values)
    except hr.ParameterError as error:
        in_house_form(error)
    except TypeError as error:
        if "argument" not in str(error):  # more of them than it has, or fewer
            raise
    else:
        assert repr(made)
