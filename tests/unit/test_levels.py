"""Levels of categorical columns in every kind of table, unseen ones, and bad input of the discrete likelihoods."""

from __future__ import annotations

import dataclasses
import doctest
import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from tests.checks import HOUSE, refused

from hedgerow.data import mixed as mixed_module
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import Bernoulli, Categorical, Likelihood, Poisson
from hedgerow.likelihoods import bernoulli as bernoulli_module
from hedgerow.likelihoods import categorical as categorical_module
from hedgerow.likelihoods import poisson as poisson_module

NAN, INF = float("nan"), float("inf")

# Where levels come from


COLOURS = ["red", None, "blue", "red"]
TABLES: dict[str, Any] = {
    "lists": [[c, n] for c, n in zip(COLOURS, [1, 2, None, 2], strict=True)],
    "object array": np.array([["red", 1], [None, 2], ["blue", NAN], ["red", 2]], dtype=object),
    "pandas": pd.DataFrame({"colour": COLOURS, "grade": [1, 2, None, 2]}),
    "pandas, other types": pd.DataFrame(
        {"colour": pd.array(COLOURS, dtype="string"), "grade": pd.array([1, 2, None, 2], dtype="Int64")}
    ),
    "polars": pl.DataFrame({"colour": COLOURS, "grade": [1, 2, None, 2]}),
    "polars categorical": pl.DataFrame({"colour": pl.Series(COLOURS, dtype=pl.Categorical), "grade": [1, 2, None, 2]}),
    "arrow": pa.table({"colour": COLOURS, "grade": [1, 2, None, 2]}),
    "arrow dictionary": pa.table({"colour": pa.array(COLOURS).dictionary_encode(), "grade": [1, 2, None, 2]}),
    "masked": np.ma.array(
        np.array([["red", 1], ["?", 2], ["blue", 9], ["red", 2]], dtype=object),
        mask=[[0, 0], [1, 0], [0, 1], [0, 0]],
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_levels_of_every_kind_of_table(kind: str) -> None:
    X = TABLES[kind]
    model = Categorical().resolve(X)
    assert model.levels == (("blue", "red"), (1, 2))
    np.testing.assert_array_equal(model.check(X), [[1, 1], [NAN, 2], [0, NAN], [1, 2]])
    np.testing.assert_array_equal(model.codes(X), [[1, 0], [-1, 1], [0, -1], [1, 1]])
    assert model.log_marginal(X) == pytest.approx(Categorical().resolve(TABLES["lists"]).log_marginal(TABLES["lists"]))
    np.testing.assert_array_equal(model.check(model.check(X)), model.check(X))
    assert model.log_marginal(model.check(X)) == model.log_marginal(X)


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (pd.Categorical(["u", "v", None], categories=["v", "u", "w"]), ("v", "u", "w")),
        (pd.Categorical([3, 1, None], categories=[3, 2, 1]), (3, 2, 1)),
        (pd.Categorical([0.5, 1.5, None]), (0.5, 1.5)),
        (pd.cut([1, 2, 3], [0, 2, 4]), ("(0, 2]", "(2, 4]")),
        (pl.Series(["u", "v", None], dtype=pl.Enum(["v", "u", "w"])), ("v", "u", "w")),
        ([True, True, True], (False, True)),
        ([True, None, True], (False, True)),
        (pd.array([True, None, True], dtype="boolean"), (False, True)),
        ([2.0, -1.0, NAN], (-1, 2)),
        ([None, None, None], ()),
    ],
    ids=str,
)
def test_declared_levels(column: Any, levels: tuple[Any, ...]) -> None:
    frame = pl.DataFrame({"x": column}) if isinstance(column, pl.Series) else pd.DataFrame({"x": column})
    model = Categorical().resolve(frame)
    assert model.levels == (levels,)
    assert [type(level) for level in model.levels[0]] == [type(level) for level in levels]
    assert np.isfinite(model.log_marginal(frame))
    np.testing.assert_array_equal(model.check(model.check(frame)), model.check(frame))
    simulated = model.simulate([0, 0, 1], np.random.default_rng(0))
    np.testing.assert_array_equal(model.check(simulated), simulated)


def test_new_data_in_another_order_keep_their_codes() -> None:
    model = Categorical().resolve([["a"], ["b"], ["c"]])
    np.testing.assert_array_equal(model.check([["c"], ["c"], [None], ["a"]])[:, 0], [2, 2, NAN, 0])
    wide = pd.DataFrame({"x": pd.Categorical(["c"], categories=["z", "c"])})
    np.testing.assert_array_equal(model.check(wide), [[2]])


@pytest.mark.parametrize(
    ("levels", "X", "words"),
    [
        (
            [["a", "b"]],
            [["a"], ["z"]],
            r"X[1, 0] must be one of the levels 'a', 'b' (row 1, column 0, counted",
        ),
        ([["a", "b"]], pd.DataFrame({"x": ["a", "z"]}), "row 1, column 0 'x', counted from 0"),
        ([["a", "b"]], [[0], [2]], "X[1, 0] must be one of the levels 'a', 'b'"),
        ([["a", "b"]], [[0.5]], "X[0, 0] must be one of the levels 'a', 'b'"),
        ([[1, 2]], [[1], [3]], "X[1, 0] must be one of the levels 1, 2"),
        ([[1, 2]], [["a"]], "X[0, 0] must be one of the levels 1, 2"),
        ([[1, 2]], [[INF]], "X[0, 0] must be one of the levels 1, 2"),
        ([range(9)], [[9]], "be one of the levels 0, 1, 2, 3, 4, 5, ... (9 in all)"),
        ([[]], [["a"]], "be one of the levels (none)"),
    ],
)
def test_unseen_levels(levels: Any, X: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)) as caught:
        Categorical(levels=levels, unseen="refuse").check(X)
    assert HOUSE.match(str(caught.value)), str(caught.value)
    lenient = Categorical(levels=levels, unseen="missing").check(X)
    assert np.isnan(lenient[-1, 0])


def test_levels_survive_an_array_of_numbers() -> None:
    """Numbers in a column of names are positions; numbers in a column of numbers are the numbers."""
    model = Categorical(levels=[["a", "b"], [5, 7]])
    np.testing.assert_array_equal(model.check([["b", 5.0]]), model.check(np.array([[1.0, 5.0]])))


# Values


def examples() -> list[Likelihood]:
    X = np.array([[0, 1], [1, 1], [0, 0]])
    return [
        Bernoulli(),
        Bernoulli().resolve(X),
        Bernoulli(a=[1.0, 2.0]),
        Categorical(),
        Categorical(0.5),
        Categorical([0.5, 0.25]),
        Categorical(unseen="missing"),
        Categorical(levels=[["a", "b"]]),
        Categorical().resolve(X),
        Poisson(),
        Poisson(2.0),
        Poisson().resolve(X),
    ]


@pytest.mark.parametrize("model", examples(), ids=repr)
def test_a_likelihood_is_a_value(model: Likelihood) -> None:
    assert pickle.loads(pickle.dumps(model)) == model
    assert dataclasses.replace(model) == model  # type: ignore[type-var]
    assert len([other for other in examples() if other == model]) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.a = 2.0  # type: ignore[attr-defined]
    for value in vars(model).values():
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable


@pytest.mark.parametrize("model", [Bernoulli(), Bernoulli(1.0, 1.0), Categorical(), Categorical(0.5), Poisson()], ids=repr)
@pytest.mark.parametrize("call", ["bind", "log_marginal", "simulate", "sample_posterior"])
def test_open_hyper_parameters_are_named(model: Likelihood, call: str) -> None:
    rng = np.random.default_rng(0)
    arguments = {"simulate": ([0, 0], rng), "sample_posterior": ([[1, 0]], rng)}.get(call, ([[1, 0]],))
    with pytest.raises(ParameterError, match=r"must be .* here: call resolve\(X\) first"):
        getattr(model, call)(*arguments)


@pytest.mark.parametrize("module", [mixed_module, bernoulli_module, categorical_module, poisson_module])
def test_docstring_examples(module: Any) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


# Bad input


BAD: list[tuple[Any, Any, str]] = [
    (
        Bernoulli,
        [[0, 1], [0, 2]],
        r"X\[1, 1\] must be 0, 1 or missing \(row 1, column 1, counted from 0\). Got 2",
    ),
    (Bernoulli, pd.DataFrame({"a": [0.5]}), "row 0, column 0 'a'"),
    (Bernoulli, [[INF]], r"X\[0, 0\] must be finite"),
    (Bernoulli, [["yes"]], r"X\[0, 0\] must be a real number. Got 'yes'"),
    (Poisson, [[1, -1]], r"X\[0, 1\] must be a count, 0 or more"),
    (Poisson, [[1.5]], r"X\[0, 0\] must be a whole number"),
    (Poisson, [[1e13]], r"X\[0, 0\] must be at most 1e\+12"),
    (Poisson, [[INF]], r"X\[0, 0\] must be finite"),
    (Poisson, [["a"]], r"X\[0, 0\] must be a real number"),
    (Categorical, [[1.5]], r"X\[0, 0\] must be a name or a whole number, as levels are \(row 0, column 0"),
    (Categorical, [[INF]], r"X\[0, 0\] must be a name or a whole number"),
    (Categorical, [["a"], [1]], r"X\[:, 0\]\[0\] must be a number, as others in its column are. Got 'a'"),
    (
        Categorical,
        pd.DataFrame({"a": ["x", 1]}),
        r"X\['a'\]\[0\] must be a number, as others in its column are",
    ),
    (
        Categorical,
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
        r"X\['a'\] must hold numbers or names, not dates",
    ),
    (Categorical, np.array([[1j]]), "must hold real numbers or names, not complex numbers"),
    (Categorical, np.array([[(1,)]], dtype=[("f", int)]), "must hold numbers or names, not entries of type"),
    (Categorical, [[{}]], r"must be a number or a name"),
]


@pytest.mark.parametrize(("family", "X", "words"), BAD)
def test_bad_data(family: Any, X: Any, words: str) -> None:
    refused(family(), X, words)


@pytest.mark.parametrize("family", [Bernoulli, Categorical, Poisson])
@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.empty((0, 2)), "X must have at least one row"),
        (np.empty((3, 0)), "X must have at least one column"),
        (pd.DataFrame(), "X must have at least one column"),
        (pd.DataFrame({"a": []}), "X must have at least one row"),
        (np.ones(3), r"use X.reshape\(-1, 1\) if it is one column"),
        (3.0, "X must be two-dimensional"),
        ("X", "X must be a "),
        ([[1, 2], [1]], "rows of equal length"),
        (sparse.csr_array(np.eye(2)), r"X must be dense: X.toarray\(\)"),
    ],
)
def test_bad_shapes(family: Any, X: Any, words: str) -> None:
    refused(family(), X, words)


@pytest.mark.parametrize("family", [Bernoulli, Categorical, Poisson])
def test_wrong_dimension_later(family: Any) -> None:
    model = family().resolve([[0, 1], [1, 0]])
    for door in (model.check, model.resolve, model.bind, model.log_marginal):
        with pytest.raises(ParameterError, match="X must have 2 columns, as the model was resolved with"):
            door([[1, 0, 1]])


def test_weights_that_do_not_fit_the_data() -> None:
    with pytest.raises(ParameterError, match=r"beta\[0\] must have 3 weights, one per level"):
        Categorical([[1.0, 2.0]]).resolve([["a"], ["b"], ["c"]])
