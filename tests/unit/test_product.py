"""Product: the sum of its groups, whatever the table; columns by name and by position; new data; files; bad input."""

from __future__ import annotations

import dataclasses
import doctest
import json
import pickle
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import hedgerow.likelihoods as families
from hedgerow.data import as_labels
from hedgerow.data.container import decode, encode
from hedgerow.errors import ParameterError
from hedgerow.kernels import Gibbs, Slice, TreeGuided
from hedgerow.likelihoods import (
    Bernoulli,
    Categorical,
    Custom,
    GaussianDiagonal,
    GaussianWishart,
    Multinomial,
    Poisson,
    Product,
)
from hedgerow.likelihoods import product as product_module
from hedgerow.mixture import Mixture
from hedgerow.priors import DP
from hedgerow.reference import likelihoods as reference
from hedgerow.sampling import Chain, sample

NAN = float("nan")


def people(n: int = 30, seed: int = 0) -> pd.DataFrame:
    """Two kinds of people, some entries missing."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "height": rng.normal(1.6 + 0.2 * kind, 0.05),
            "note": [f"row {i}" for i in range(n)],
            "sex": np.where(rng.random(n) < 0.2 + 0.6 * kind, "f", "m"),
            "visits": rng.poisson(1 + 6 * kind),
            "weight": rng.normal(60 + 20 * kind, 5),
            "smoker": rng.random(n) < 0.3 + 0.4 * kind,
            "income": rng.normal(1000, 10, n),
        }
    )
    frame.loc[3, "sex"] = None
    frame.loc[4, "income"] = NAN
    return frame


def model() -> Product:
    return Product(
        {
            ("weight", "height"): GaussianWishart(),
            "sex": Categorical(),
            ("visits",): Poisson(),
            "smoker": Bernoulli(),
            ("income",): GaussianDiagonal(),
        }
    )


USED = ("height", "sex", "visits", "weight", "smoker", "income")


# The sum of its groups


@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_equals_the_twin(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 3, n),
            rng.poisson(3, n),
            rng.normal(size=n),
            rng.integers(0, 2, n),
        ]
    ).astype(float)
    X[:, 1:3][rng.random((n, 2)) < 0.2] = NAN
    labels = as_labels(rng.integers(0, 3, n), n, "test")
    wishart = GaussianWishart([0.0, 0.5], 0.3, 4.0, np.eye(2))
    beta = (0.2, 0.5, 1.0)
    parts = {
        (3, 0): wishart,
        1: Categorical([beta], [[0, 1, 2]]),
        2: Poisson([1.0], [0.4]),
        4: Bernoulli([0.5], [0.6]),
    }
    found = Product(parts).resolve(X).bind(X).log_marginals(labels)
    twins: list[tuple[list[int], Any]] = [
        ([3, 0], lambda rows: reference.gaussian_wishart_log_marginal(rows, [0.0, 0.5], 0.3, 4.0, np.eye(2))),
        ([1], lambda rows: reference.categorical_log_marginal(rows, [beta])),
        ([2], lambda rows: reference.poisson_log_marginal(rows, [1.0], [0.4])),
        ([4], lambda rows: reference.bernoulli_log_marginal(rows, [0.5], [0.6])),
    ]
    expected = [reference.product_log_marginal(X[labels == c], twins) for c in range(labels.max() + 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_groups_are_resolved_and_read_apart() -> None:
    frame = people()
    product = model().resolve(frame)
    assert product.columns == USED
    assert product.n_columns == 6
    assert [places for places, _ in product.groups()] == [[3, 0], [1], [2], [4], [5]]
    total = 0.0
    for columns, part in product.parts:
        alone = type(part)().resolve(frame[list(columns)])
        assert part == alone
        total += alone.log_marginal(frame[list(columns)])
    assert product.log_marginal(frame) == pytest.approx(total)


def test_multinomial_and_custom_groups() -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.poisson(2, (8, 3)), rng.normal(size=8)])
    own = Custom(lambda x: np.column_stack([np.ones(len(x)), x]), lambda s: -(s[:, 1] ** 2) / (1 + s[:, 0]))
    product = Product([((0, 1, 2), Multinomial()), (3, own)]).resolve(X)
    words = Multinomial().resolve(X[:, :3]).log_marginal(X[:, :3])
    assert product.log_marginal(X) == pytest.approx(words + own.resolve(X[:, 3:]).log_marginal(X[:, 3:]))
    simulated = Product([((1, 0), Multinomial()), (2, Poisson())]).resolve(X[:, :3]).simulate([0, 1, 0], rng)
    assert simulated.shape == (3, 3)
    np.testing.assert_array_equal(simulated[:, :2].sum(axis=1), 20)
    with pytest.raises(ValueError, match="parameters can be drawn"):
        Chain(Mixture(DP(), product), X, Slice(), seed=0).run(1)


def test_parameters_and_densities() -> None:
    frame, rng = people(), np.random.default_rng(2)
    product = model().resolve(frame)
    theta = product.sample_posterior(frame, rng)
    parts = [part.log_density(t, frame[list(c)]) for t, (c, part) in zip(theta, product.parts, strict=True)]
    np.testing.assert_allclose(product.log_density(theta, frame), np.sum(parts, axis=0))
    assert len(product.sample_posterior(product.check(frame)[:0], rng)) == 5
    simulated = product.simulate(np.repeat([0, 1], 5), rng)
    np.testing.assert_array_equal(product.check(simulated), simulated)
    assert set(simulated[:, 1]) <= {0.0, 1.0}


# Tables


def as_table(frame: pd.DataFrame, kind: str) -> Any:
    if kind == "polars":
        return pl.from_pandas(frame)
    if kind == "arrow":
        return pa.Table.from_pandas(frame)
    return frame if kind == "pandas" else frame[frame.columns[::-1]]


@pytest.mark.parametrize("kind", ["pandas", "reversed", "polars", "arrow"])
def test_every_kind_of_frame(kind: str) -> None:
    frame = people()
    product = model().resolve(frame)
    table = as_table(frame, kind)
    np.testing.assert_array_equal(product.check(table), product.check(frame))
    again = model().resolve(table)
    assert again.log_marginal(table) == pytest.approx(product.log_marginal(frame))


def test_checked_data_can_be_checked_again() -> None:
    frame = people()
    for product in (
        model().resolve(frame),
        Product([((4, 0), GaussianWishart()), (2, Categorical())]).resolve(frame),
    ):
        data = product.check(frame)
        assert data.dtype == np.float64
        assert data.flags.c_contiguous
        assert data.shape == (30, product.n_columns)
        np.testing.assert_array_equal(product.check(data), data)
        assert product.resolve(data) == product
        assert product.log_marginal(data) == product.log_marginal(frame)
        rows: npt.NDArray[np.intp] = np.arange(30)[::-1]
        assert product.log_marginal(data[rows]) == pytest.approx(product.log_marginal(frame))


def test_positions() -> None:
    frame = people()
    product = Product([((4, 0), GaussianWishart()), (2, Categorical())]).resolve(frame)
    assert (product.columns, product.width) == ((0, 2, 4), 7)
    named = Product([(("weight", "height"), GaussianWishart()), ("sex", Categorical())]).resolve(frame)
    np.testing.assert_array_equal(product.check(frame), named.check(frame))
    np.testing.assert_array_equal(product.check(frame.to_numpy()), product.check(frame))
    np.testing.assert_array_equal(product.check(frame.to_numpy().tolist()), product.check(frame))
    for wrong in (frame.iloc[:, :6], frame.iloc[:, :2], np.ones((3, 4))):
        with pytest.raises(ParameterError, match="X must have 7 columns, as the model was resolved with"):
            product.check(wrong)


def test_new_data() -> None:
    frame = people()
    fitted = Mixture(DP(), model()).resolve(frame)
    post = sample(fitted, frame, kernel=TreeGuided(), draws=30, warmup=30, chains=2, seed=0)
    assert post.X.shape == (30, 6)
    new = frame.iloc[[5, 3], ::-1].reset_index(drop=True)
    np.testing.assert_allclose(post.log_density(new), post.log_density(frame.iloc[[5, 3]]))
    new.loc[0, "sex"] = "x"
    with pytest.warns(UserWarning, match="Taken for gaps: 1 of 2 entries of column 0 'sex' are none of its levels, such as 'x'"):
        found = post.log_density(new)
    new.loc[0, "sex"] = None
    np.testing.assert_array_equal(post.log_density(new), found)
    new.loc[0, "sex"] = "x"
    for unseen in ("missing", "refuse"):
        parts = tuple((c, dataclasses.replace(p, unseen=unseen) if c == ("sex",) else p) for c, p in fitted.likelihood.parts)  # type: ignore[attr-defined]
        product = Product(parts, fitted.likelihood.columns)  # type: ignore[attr-defined]
        if unseen == "missing":
            assert np.isnan(product.check(new)[0, 1])
            continue
        with pytest.raises(ParameterError, match=r"Product, in the group .'sex',.: Categorical.*one of the levels 'f', 'm'"):
            product.check(new)


def test_finds_the_two_kinds_of_people() -> None:
    frame = people(200, seed=3)
    chain = Chain(Mixture(DP(1.0), model()), frame, Gibbs(), labels=np.zeros(200, int), seed=1)
    chain.run(50)
    labels = chain.run(1).labels[0]
    kind = frame["weight"].to_numpy() > 70
    largest = np.argsort(-np.bincount(labels))[:2]
    agree = max(((labels == largest[i]) == kind).mean() for i in (0, 1))
    assert agree > 0.9


# Values


def test_a_product_is_a_value() -> None:
    frame = people()
    for product in (model(), model().resolve(frame)):
        assert pickle.loads(pickle.dumps(product)) == product
        assert dataclasses.replace(product) == product
        with pytest.raises(dataclasses.FrozenInstanceError):
            product.columns = None  # type: ignore[misc]
    assert model() == Product(list(model().parts))
    assert model() != Product({"sex": Categorical()})
    assert repr(Product({("a", "b"): Poisson(), "c": Bernoulli()})) == (
        "Product({('a', 'b'): Poisson(a=None, b=None), ('c',): Bernoulli(a=None, b=None)})"
    )


def test_can_be_stored() -> None:
    product = model().resolve(people())
    names = ("Product", "GaussianWishart", "GaussianDiagonal", "Categorical", "Poisson", "Bernoulli")
    classes = {name: getattr(families, name) for name in names}
    arrays: dict[str, npt.NDArray[Any]] = {}
    text = json.dumps(encode(product, arrays, "model", classes))
    assert decode(json.loads(text), arrays, classes) == product


def test_docstring_examples() -> None:
    result = doctest.testmod(product_module)
    assert result.attempted > 0
    assert result.failed == 0


# Bad input

G, P = GaussianWishart(), Poisson()
BAD_PARTS: list[tuple[Any, str]] = [
    ({}, "parts must be a mapping from columns to likelihoods, or a sequence of such pairs"),
    ([], "parts must be a mapping"),
    (P, "parts must be a mapping"),
    ([("a", P, 1)], "parts must be a mapping"),
    ({"a": Poisson}, "parts['a'] must be an instance, not the class: write Poisson()"),
    ({"a": 3}, "parts['a'] must be a likelihood, such as Poisson()"),
    ({"a": Product({"a": P})}, "parts['a'] must not be a Product itself: list its groups here"),
    ({(): P}, "parts must name at least one column in each group"),
    ({1.5: P}, "parts must name at least one column in each group"),
    ({("a", 1): P}, "parts must give columns by name, or by position counted from 0"),
    ({-1: P}, "parts must give columns by name, or by position counted from 0"),
    ({True: P}, "parts must give columns by name, or by position counted from 0"),
    ({"a": P, 1: G}, "parts must give all columns by name or all by position"),
    ({("a", "b"): P, "b": G}, "parts must have every column in one group only. Got 'b'"),
    ({("a", "a"): P}, "parts must have every column in one group only. Got 'a'"),
    ({"a": Poisson(1.0, [1.0, 2.0])}, "parts['a'] must have 1 columns, as its group has"),
]


@pytest.mark.parametrize(("parts", "words"), BAD_PARTS, ids=lambda x: str(x)[:40])
def test_bad_parts(parts: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        Product(parts)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"columns": ("a",)}, "columns must be the columns of the groups"),
        ({"columns": 1.5}, "columns must name at least one column"),
        ({"width": 3}, "width must be a whole number, with positions only"),
    ],
)
def test_bad_columns(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Product({"a": P, "b": G}, **arguments)
    with pytest.raises(ParameterError, match="width must be above the last position 3"):
        Product({3: P}, width=3)


def test_bad_data() -> None:
    frame = people()
    bad: list[tuple[Any, str]] = [
        (frame.drop(columns="sex"), "X must have a column 'sex'; its columns are 'height', 'note'"),
        (pd.concat([frame, frame[["sex"]]], axis=1), "X must have one column 'sex', not 2"),
        (frame.to_numpy(), "X must be a data frame, as the columns are given by name"),
        (frame.iloc[:0], "X must have at least one row"),
        (pd.DataFrame(), "X must have at least one column"),
        (sparse.csr_array(np.eye(6)), "X must be dense"),
        (np.ones(6), "X must be two-dimensional"),
        (
            frame.assign(visits=0.5),
            "Product, in the group ('visits',): Poisson(X[0, 0]=0.5): X[0, 0] must be a whole",
        ),
        (
            frame.assign(weight=np.inf),
            "Product, in the group ('weight', 'height'): GaussianWishart(X[0, 0]=inf)",
        ),
    ]
    for X, words in bad:
        for door in (model().check, model().resolve, lambda X: Mixture(DP(), model()).log_joint(X, [0] * 30)):
            with pytest.raises(ParameterError, match=re.escape(words)):
                door(X)
    product = model().resolve(frame)
    with pytest.raises(ParameterError, match=r"X must have 6 columns, as the model was resolved with \('height', 'sex'"):
        product.check(np.ones((3, 7)))
    with pytest.raises(ParameterError, match="X must have a column 3, counted from 0"):
        Product({3: P}).check([[1, 2]])


@pytest.mark.parametrize("call", ["bind", "log_marginal", "simulate", "sample_posterior"])
def test_open_groups_are_named(call: str) -> None:
    frame, rng = people(), np.random.default_rng(0)
    arguments = {"simulate": ([0, 0], rng), "sample_posterior": (frame, rng)}.get(call, (frame,))
    with pytest.raises(ParameterError, match=r"columns must be known here: call resolve\(X\) first"):
        getattr(model(), call)(*arguments)
    half = Product({"visits": P}, columns=("visits",))
    with pytest.raises(ParameterError, match=r"parts\[\('visits',\)\] must be resolved here"):
        getattr(half, call)(*arguments)
