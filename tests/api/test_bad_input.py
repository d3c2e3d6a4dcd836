"""Bad input, as a table: every likelihood answers in the house's form of error, or with the right answer."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.checks import HOUSE, refused

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import Bernoulli, Categorical, Custom, GaussianDiagonal, GaussianWishart, Multinomial, Poisson
from hedgerow.mixture import Mixture
from hedgerow.priors import DP

NAN, INF = float("nan"), float("inf")
GOOD = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0], [0.0, 7.0]])

#: Owner(name=value): name must <requirement>. Got <value>.


def plain_sum() -> Custom:
    """The simplest family there is: statistics are the row, the log marginal minus their sum."""
    return Custom(lambda X: np.nan_to_num(X), lambda s: -s.sum(axis=1))


FAMILIES: dict[str, Any] = {
    "GaussianWishart": GaussianWishart,
    "GaussianDiagonal": GaussianDiagonal,
    "Multinomial": Multinomial,
    "Custom": plain_sum,
}


def spoilt(value: Any, row: int = 2, column: int = 1, dtype: Any = float) -> np.ndarray:
    X = GOOD.astype(dtype)
    X[row, column] = value
    return X


# name of the case: (data, words of the error)
REFUSED_BY_ALL: dict[str, tuple[Any, str]] = {
    "+inf": (spoilt(INF), r"X\[2, 1\] must be finite \(row 2, column 1, counted from 0\). Got inf"),
    "-inf": (spoilt(-INF), r"X\[2, 1\] must be finite \(row 2, column 1, counted from 0\). Got -inf"),
    "inf in a frame": (pd.DataFrame(spoilt(INF), columns=["a", "b"]), "row 2, column 1 'b'"),
    "no rows": (np.empty((0, 2)), "X must have at least one row"),
    "no columns": (np.empty((3, 0)), "X must have at least one column"),
    "empty list": ([], "X must be two-dimensional"),
    "list of empty rows": ([[], []], "X must have at least one column"),
    "empty frame": (pd.DataFrame(), "X must have at least one column"),
    "frame without rows": (pd.DataFrame({"a": []}), "X must have at least one row"),
    "one-dimensional": (GOOD[:, 0], r"use X.reshape\(-1, 1\) if it is one column"),
    "series": (pd.Series([1.0, 2.0]), r"use X.reshape\(-1, 1\) if it is one column"),
    "scalar": (3.0, "X must be two-dimensional"),
    "three-dimensional": (np.ones((2, 2, 2)), "X must be two-dimensional"),
    "None": (None, "X must be two-dimensional"),
    "text": ("X", "X must be a matrix of numbers, not text"),
    "array of text": (np.array([["a", "b"]]), "X must hold numbers, not text"),
    "numbers as text": (np.array([["1", "2"]]), "X must hold numbers, not text"),
    "text in a list": ([[1.0, "a"]], r"X\[0, 1\] must be a real number. Got 'a'"),
    "text in an object array": (spoilt("a", dtype=object), r"X\[2, 1\] must be a real number. Got 'a'"),
    "number as text in an object array": (
        spoilt("4", dtype=object),
        r"X\[2, 1\] must be a real number. Got '4'",
    ),
    "object that is no number": (spoilt(dict, dtype=object), r"X\[2, 1\] must be a real number"),
    "text column": (pd.DataFrame({"a": [1.0], "b": ["x"]}), r"X\['b'\]"),
    "date column": (
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
        r"X\['a'\] must hold numbers, not dates",
    ),
    "complex": (GOOD.astype(complex), "X must hold real numbers, not complex ones"),
    "dates": (np.array([["2020-01-01"]], dtype="M8[D]"), "X must hold numbers, not dates"),
    "ragged": ([[1.0, 2.0], [3.0]], "X must be a matrix of numbers with rows of equal length"),
    "ragged object array": (np.array([[1.0, 2.0], [3.0]], dtype=object), "rows of equal length"),
    "structured": (np.zeros(2, dtype=[("a", float)]), "X must hold numbers, not entries of type"),
    "beyond squaring": (spoilt(1e200), r"X\[2, 1\] must be at most"),
}
REFUSED_WHERE_NOTHING_MAY_BE_MISSING: dict[str, tuple[Any, str]] = {
    "NaN": (spoilt(NAN), r"X\[2, 1\] must be finite \(row 2, column 1, counted from 0\). Got nan"),
    "None in an object array": (spoilt(None, dtype=object), r"X\[2, 1\] must be finite"),
    "NA in a frame": (
        pd.DataFrame({"a": [1, 2], "b": pd.array([1, None], dtype="Int64")}),
        r"X\[1, 1\] must be fin",
    ),
    "masked": (np.ma.masked_equal(GOOD, 7.0), r"X\[3, 1\] must be finite"),
}
REFUSED_AS_COUNTS: dict[str, tuple[Any, str]] = {
    "negative": (
        spoilt(-1),
        r"X\[2, 1\] must be a count, 0 or more \(row 2, column 1, counted from 0\). Got -1.0",
    ),
    "fractional": (
        spoilt(0.5),
        r"X\[2, 1\] must be a whole number \(row 2, column 1, counted from 0\). Got 0.5",
    ),
    "1e9 offset": (GOOD + 1e9, "X must sum to at most 2e9 counts over all rows"),
    "inexact": (spoilt(2.0**60), r"X\[2, 1\] must be at most 2\*\*53"),
    "negative sparse": (sparse.csr_array(spoilt(-1)), r"X\[2, 1\] must be a count, 0 or more"),
    "fractional sparse": (sparse.csc_array(spoilt(0.5)), r"X\[2, 1\] must be a whole number"),
    "NaN sparse": (sparse.coo_array(spoilt(NAN)), r"X\[2, 1\] must be finite"),
    "inf sparse": (sparse.coo_array(spoilt(INF)), r"X\[2, 1\] must be finite"),
    "complex sparse": (sparse.csr_array(GOOD.astype(complex)), "X must hold real numbers"),
    "sparse without rows": (sparse.csr_array((0, 3)), "X must have at least one row"),
    "sparse without columns": (sparse.csr_array((3, 0)), "X must have at least one column"),
    "sparse vector": (sparse.coo_array(np.ones(3)), "X must be two-dimensional"),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", REFUSED_BY_ALL)
def test_refused_by_all(family: str, case: str) -> None:
    X, words = REFUSED_BY_ALL[case]
    refused(FAMILIES[family](), X, words)


@pytest.mark.parametrize("family", ["Multinomial"])
@pytest.mark.parametrize("case", REFUSED_WHERE_NOTHING_MAY_BE_MISSING)
def test_missing_entries(family: str, case: str) -> None:
    X, words = REFUSED_WHERE_NOTHING_MAY_BE_MISSING[case]
    refused(FAMILIES[family](), X, words)
    assert np.isnan(GaussianDiagonal().check(X)).sum() == 1
    assert np.isfinite(GaussianDiagonal().resolve(X).log_marginal(X))


@pytest.mark.parametrize("case", REFUSED_AS_COUNTS)
def test_bad_counts(case: str) -> None:
    X, words = REFUSED_AS_COUNTS[case]
    refused(Multinomial(), X, words)


@pytest.mark.parametrize("family", ["GaussianWishart", "GaussianDiagonal", "Custom"])
def test_sparse_data_are_not_made_dense_behind_your_back(family: str) -> None:
    refused(FAMILIES[family](), sparse.csr_array(GOOD), r"X must be dense: X.toarray\(\)")


@pytest.mark.parametrize("family", FAMILIES)
def test_wrong_dimension_later(family: str) -> None:
    model = FAMILIES[family]().resolve(GOOD)
    for X in (GOOD[:, :1], np.ones((3, 3))):
        for door in (model.check, model.resolve, model.bind, model.log_marginal):
            with pytest.raises(ParameterError, match="X must have 2 columns, as the model was resolved with"):
                door(X)
    with pytest.raises(ParameterError, match="X must be two-dimensional"):
        model.bind(GOOD[0])


# Odd but right: the answer must be finite, the same for rows in any order, and X left as it was


RNG = np.random.default_rng(0)
ODD: dict[str, np.ndarray] = {
    "one row": GOOD[:1],
    "one column": GOOD[:, :1],
    "one entry": GOOD[:1, :1],
    "two equal rows": GOOD[[0, 0]],
    "constant column": np.column_stack([GOOD, np.full(4, 3.0)]),
    "all constant": np.ones((4, 2)),
    "all zero": np.zeros((4, 2)),
    "duplicate rows": np.repeat(GOOD, 5, axis=0),
    "duplicate columns": GOOD[:, [0, 1, 0]],
    "more columns than rows": RNG.integers(0, 9, size=(3, 8)).astype(float),
    "1e9 offset": GOOD + 1e9,
    "integers": GOOD.astype(np.int16),
    "booleans": GOOD > 3,
    "object array of numbers": GOOD.astype(object),
    "Fortran order": np.asfortranarray(GOOD),
    "every second row": np.repeat(GOOD, 2, axis=0)[::2],
    "read-only": GOOD.copy(),
}
ODD["read-only"].setflags(write=False)


@pytest.mark.parametrize(
    ("family", "case"),
    [(family, case) for family in FAMILIES for case in ODD if (family, case) != ("Multinomial", "1e9 offset")],
)
def test_odd_but_right(family: str, case: str) -> None:
    X = ODD[case]
    before = X.copy()
    model = Mixture(DP(), FAMILIES[family]())
    labels = np.arange(len(X)) % 2
    value = model.log_joint(X, labels)
    assert np.isfinite(value)
    assert model.log_joint(X[::-1], labels[::-1]) == pytest.approx(value, rel=1e-9)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("family", ["GaussianWishart", "GaussianDiagonal"])
def test_an_offset_changes_nothing(family: str) -> None:
    model, labels = Mixture(DP(), FAMILIES[family]()), [0, 0, 1, 1]
    assert model.log_joint(GOOD + 1e9, labels) == pytest.approx(model.log_joint(GOOD, labels), rel=1e-9)


# Hyper-parameters

BAD_PARAMETERS: list[tuple[Any, dict[str, Any], str]] = [
    (GaussianWishart, {"r": 0}, "r must be a finite number above 0. Got 0"),
    (GaussianWishart, {"r": -1.0}, "r must be a finite number above 0"),
    (GaussianWishart, {"r": NAN}, "r must be a finite number above 0"),
    (GaussianWishart, {"r": INF}, "r must be a finite number above 0"),
    (GaussianWishart, {"r": "a"}, "r must be a finite number above 0"),
    (GaussianWishart, {"r": True}, "r must be a finite number above 0"),
    (GaussianWishart, {"r": [1.0, 2.0]}, "r must be a finite number above 0"),
    (GaussianWishart, {"mean": [0.0, NAN]}, "mean must be a number, or one finite number per column"),
    (GaussianWishart, {"mean": "zero"}, "mean must be a finite number"),
    (GaussianWishart, {"mean": [[0.0]]}, "mean must be a number, or one finite number per column"),
    (GaussianWishart, {"mean": []}, "mean must"),
    (GaussianWishart, {"mean": ["a", "b"]}, "mean must hold real numbers"),
    (GaussianWishart, {"nu": 0.0}, "nu must be a finite number above 0"),
    (GaussianWishart, {"nu": 1.0, "psi": np.eye(2)}, "nu must be above 1, one less than the 2 columns"),
    (GaussianWishart, {"psi": -1.0}, "psi must be a finite number above 0"),
    (GaussianWishart, {"psi": [1.0, 2.0]}, "psi must be a number or a square matrix"),
    (GaussianWishart, {"psi": np.ones((2, 3))}, "psi must be a number or a square matrix"),
    (GaussianWishart, {"psi": np.ones((2, 2))}, "psi must be positive definite"),
    (GaussianWishart, {"psi": -np.eye(2)}, "psi must be positive definite"),
    (GaussianWishart, {"psi": [[1.0, 0.5], [0.0, 1.0]]}, "psi must be symmetric"),
    (GaussianWishart, {"psi": [[1.0, NAN], [NAN, 1.0]]}, "psi must be finite"),
    (GaussianWishart, {"psi": np.eye(3), "mean": [0.0, 0.0]}, "psi must match the 2 entries of mean"),
    (GaussianDiagonal, {"a": 0.0}, "a must be a finite number above 0"),
    (GaussianDiagonal, {"b": [1.0, -1.0]}, "b must be above 0 in every column"),
    (GaussianDiagonal, {"r": [1.0, NAN]}, "r must be a number, or one finite number per column"),
    (GaussianDiagonal, {"r": [1.0, 2.0], "a": [1.0]}, "a must have 2 entries, as the others have"),
    (Multinomial, {"beta": 0.0}, "beta must be a finite number above 0"),
    (Multinomial, {"beta": [0.1, 0.2]}, "beta must be a finite number above 0"),
    (Multinomial, {"columns": 0}, "columns must be a whole number from 1 up"),
    (Multinomial, {"columns": 2.5}, "columns must be a whole number from 1 up"),
    (Bernoulli, {"a": 0.0}, "a must be a finite number above 0"),
    (Bernoulli, {"b": [1.0, -1.0]}, "b must be above 0 in every column"),
    (Bernoulli, {"a": [1.0, 1.0], "b": [1.0]}, "b must have 2 entries, as the others have"),
    (Bernoulli, {"a": "x"}, "a must be a finite number above 0"),
    (Poisson, {"a": NAN}, "a must be a finite number above 0"),
    (Poisson, {"b": INF}, "b must be a finite number above 0"),
    (Poisson, {"a": [1.0, 1.0], "b": [1.0]}, "b must have 2 entries, as the others have"),
    (Categorical, {"beta": 0}, "beta must be a finite number above 0"),
    (Categorical, {"beta": "x"}, "beta must be a finite number above 0"),
    (Categorical, {"beta": []}, "beta must have an entry for every column"),
    (Categorical, {"beta": [1.0, [0.5, -1]]}, "beta[1][1] must be a finite number above 0"),
    (Categorical, {"beta": [[1.0, 2.0]], "levels": [["a"]]}, "beta[0] must have 1 weights, one per level"),
    (Categorical, {"beta": [1.0], "levels": [["a"], ["b"]]}, "beta must have 2 entries, one per column"),
    (Categorical, {"levels": []}, "levels must be a sequence with the levels of every column"),
    (Categorical, {"levels": "ab"}, "levels must be a sequence"),
    (Categorical, {"levels": ["ab"]}, "levels[0] must be a sequence of names or of numbers"),
    (Categorical, {"levels": [["a", 1]]}, "levels[0] must be all names or all numbers"),
    (Categorical, {"levels": [[1, NAN]]}, "levels[0] must be all names or all numbers"),
    (Categorical, {"levels": [["a", "a"]]}, "levels[0] must name no level twice"),
    (Categorical, {"unseen": "ignore"}, "unseen must be one of 'warn', 'missing', 'refuse'"),
]


@pytest.mark.parametrize(("family", "arguments", "words"), BAD_PARAMETERS, ids=lambda x: str(x)[:40])
def test_bad_hyper_parameters(family: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)) as caught:
        family(**arguments)
    assert HOUSE.match(str(caught.value)), str(caught.value)


def test_hyper_parameters_that_do_not_fit_the_data() -> None:
    with pytest.raises(ParameterError, match="X must have 3 columns"):
        GaussianWishart(mean=[0.0, 0.0, 0.0]).resolve(GOOD)
    with pytest.raises(ParameterError, match="nu must be above 1, one less than the 2 columns"):
        GaussianWishart(nu=0.5).resolve(GOOD)
    with pytest.raises(ParameterError, match="X must have 3 columns"):
        Multinomial(columns=3).resolve(GOOD)


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series], ids=lambda form: form.__name__)
@pytest.mark.parametrize("owner", [None, hr.HedgerowClusterer, hr.IncrementalBHC])
def test_texts_are_refused_with_what_to_do(owner: Any, form: Any) -> None:
    fit = hr.propose if owner is None else owner().fit
    gap = pd.NA if form is pd.Series else None
    texts = form(["the cat sat on the mat", "a judge and a jury", gap, "one"])
    with pytest.raises(ParameterError, match=r"X must be counts of words where rows are texts: CountVectorizer"):
        fit(texts)


def test_a_list_of_rows_is_no_list_of_texts() -> None:
    rows = [np.array([1.0, 2.5]), np.array([2.0, 1.5]), np.array([9.0, 8.5]), np.array([8.0, 9.5])]
    assert hr.propose(rows).X is not None
    assert len(hr.HedgerowClusterer(draws=5, warmup=5, chains=1, random_state=0).fit(rows).labels_) == 4
