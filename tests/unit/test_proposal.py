"""likelihood_for: what each kind of column is taken for, the words, and that what is proposed can be used."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from hedgerow.data import digits, documents, iris, ring13
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import (
    Bernoulli,
    Categorical,
    GaussianDiagonal,
    GaussianWishart,
    Multinomial,
    Poisson,
    Prepared,
    Product,
    likelihood_for,
)
from hedgerow.likelihoods import proposal as proposal_module

NAN = float("nan")
N = 60
RNG = np.random.default_rng(0)

# what stands in a column: what it is taken for, and a word of the reason
COLUMNS: dict[str, tuple[Any, str, str]] = {
    "booleans": ([True, False] * 30, "Bernoulli", "yes or no"),
    "booleans with gaps": ([True, None, False] * 20, "Bernoulli", "yes or no"),
    "zeros and ones": ([0, 1, 1] * 20, "Bernoulli", "only 0 and 1"),
    "zeros, ones, gaps": ([0, 1, None] * 20, "Bernoulli", "only 0 and 1"),
    "names": (["a", "b", None] * 20, "Categorical", "names, 2 different ones"),
    "identifiers": (
        [f"id{i}" for i in range(N)],
        "left out",
        "60 different names in 60 rows, like identifiers",
    ),
    "few rows of names": ([f"n{i}" for i in range(15)] * 4, "Categorical", "names, 15 different ones"),
    "categories of numbers": (pd.Categorical([3, 1, 9] * 20), "Categorical", "declared as categories"),
    "ratings": ([1, 2, 3, 4, 5] * 12, "Categorical", "taken for codes or ratings"),
    "two codes": ([10, 20] * 30, "Categorical", "2 different whole numbers"),
    "counts": ([0, 3, 1, 8] * 15, "Poisson", "whole numbers from 0 to 8, mean 3.0: taken for counts"),
    "counts without 0": ([1, 3, 4, 8, 2, 1, 1, 2, 12, 3] * 6, "Poisson", "taken for counts"),
    "large whole numbers": (RNG.integers(100, 900, N), "GaussianWishart", "mean"),
    "negative whole numbers": ([-3, 0, 4] * 20, "GaussianWishart", "some negative"),
    "measurements": (RNG.normal(size=N), "GaussianWishart", "measurements"),
    "measurements with gaps": ([0.5, NAN, 1.25] * 20, "GaussianWishart", "measurements"),
    "row numbers": (range(N), "left out", "like a row number"),
    "constant": ([7] * N, "left out", "the same in every row"),
    "constant name": (["x"] * N, "left out", "the same in every row"),
    "empty": ([None] * N, "left out", "no entry at all"),
    "dates": (pd.date_range("2020-01-01", periods=N), "left out", "in equal steps, like a row number"),
    "dates as text": (
        [f"2020-{i % 12 + 1:02d}-{i % 28 + 1:02d} 10:00" for i in range(N)],
        "GaussianWishart",
        "dates: days since the first",
    ),
    "codes like dates": (["20-1", "20-2", "21-1"] * 20, "Categorical", "names, 3 different ones"),
    "lists": ([[1], [2]] * 30, "left out", "neither numbers nor names"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_a_column_is_taken_for(name: str) -> None:
    values, choice, why = COLUMNS[name]
    frame = pd.DataFrame({"other": ["u", "v", "v"] * 20, "x": values})
    proposal = likelihood_for(frame)
    reason = next(reason for reason in proposal.reasons if "x" in reason.columns)
    assert reason.choice == choice
    assert why in reason.why
    assert proposal.likelihood.resolve(proposal.X).bind(proposal.X).n_rows == N


def test_a_mixed_frame() -> None:
    frame = pd.DataFrame({name: values for name, (values, _, _) in COLUMNS.items() if name != "measurements with gaps"})
    for table in (frame, pl.from_pandas(frame.drop(columns=["lists", "categories of numbers"]))):
        proposal = likelihood_for(table)
        product = proposal.likelihood
        assert isinstance(product, Product)
        assert not product.is_resolved
        groups = {type(part): columns for columns, part in product.parts}
        assert set(groups) == {Bernoulli, Categorical, Poisson, Prepared}
        assert groups[Prepared] == ("large whole numbers", "negative whole numbers", "measurements", "dates as text")
        assert groups[Poisson] == ("counts", "counts without 0")
        assert np.isfinite(product.resolve(proposal.X).log_marginal(proposal.X))
        text = str(proposal)
        assert text == repr(proposal)
        assert text.startswith("Product({('booleans', ")
        for line in ("constant, constant name", "correlated within a cluster", "only 0 and 1"):
            assert line in text


def test_one_kind_of_column_needs_no_product() -> None:
    cases: list[tuple[Any, type]] = [
        (ring13(n=130).X, GaussianWishart),
        (pd.DataFrame(iris().X), Prepared),
        (RNG.normal(size=(8, 3)), GaussianDiagonal),
        (RNG.normal(size=(500, 30)), GaussianWishart),
        (np.ones((3, 2)), GaussianWishart),
        (np.array([[0, 1], [1, 1], [1, 0]]), Bernoulli),
        ([["a", "x"], ["b", "y"], ["a", "x"]], Categorical),
        (RNG.poisson(3, (40, 3)), Poisson),
        (documents(n=20, words=50).X, Multinomial),
        (RNG.poisson(0.2, (40, 100)), Multinomial),
        (sparse.csr_array(RNG.poisson(3, (5, 3))), Multinomial),
    ]
    for X, family in cases:
        proposal = likelihood_for(X)
        assert type(proposal.likelihood) is family, str(proposal)
        assert np.isfinite(proposal.likelihood.resolve(X).log_marginal(X))
        assert type(proposal.likelihood).__name__ in str(proposal)


def test_columns_of_an_array_by_position() -> None:
    X = np.column_stack([RNG.normal(size=N), np.full(N, 2.0), RNG.integers(0, 2, N)])
    proposal = likelihood_for(X)
    assert [(columns, type(part)) for columns, part in proposal.likelihood.parts] == [  # type: ignore[attr-defined]
        ((0,), GaussianWishart),
        ((2,), Bernoulli),
    ]
    assert proposal.likelihood.resolve(X).check(X).shape == (N, 2)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (pd.DataFrame({"a": ["x", "x"]}), "have a column to cluster by .the same in every row."),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "have a different name for every column"),
        (pd.DataFrame({"a": []}), "have at least one row"),
        (pd.DataFrame(), "have at least one column"),
        (np.empty((2, 0)), "have at least one column"),
        (np.ones(3), "be two-dimensional"),
        ("X", "be a table, not text"),
        ([[1.0], [float("inf")]], r"X\[:, 0\] must be finite"),
        (sparse.csr_array([[0.5]]), r"X\[0, 0\] must be a whole number"),
    ],
)
def test_bad_input(X: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        likelihood_for(X)


def test_docstring_examples() -> None:
    result = doctest.testmod(proposal_module)
    assert result.attempted > 0
    assert result.failed == 0


def test_pixels_are_on_a_scale_and_not_counted() -> None:
    proposal = likelihood_for(digits().X)
    assert isinstance(proposal.likelihood, Product)
    assert {reason.choice for reason in proposal.reasons} <= {"GaussianWishart", "left out", "Bernoulli", "Categorical"}
    assert "whole numbers on a scale up to 16 that columns share, like pixels or scores" in str(proposal)


def test_answers_on_a_scale_are_levels() -> None:
    answers = np.random.default_rng(0).integers(0, 5, (60, 6))
    assert isinstance(likelihood_for(answers).likelihood, Categorical)
    assert "on a scale up to 4 that columns share: taken for codes or ratings" in str(likelihood_for(answers))


@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("n", [40, 300])
def test_counts_stay_counts(rate: float, n: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        X = rng.poisson(rate * rng.gamma(2, 0.5, (n, 1)), (n, 8))
        assert "on a scale" not in str(likelihood_for(X))
