"""What an argument may be: what people hand over passes, and what would be misread is refused."""

from __future__ import annotations

import math
import tracemalloc
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.arguments import numbers_of, wholes_of
from hedgerow.errors import ParameterError
from hedgerow.summaries import is_canonical


@pytest.mark.parametrize(
    "values", [[1, None], np.array([1.0, None], dtype=object), pd.Series([1, None], dtype="Int64"), [Fraction(1), None]]
)
def test_gaps_among_numbers_are_nan(values: Any) -> None:
    np.testing.assert_array_equal(numbers_of("f", "x", values), [1.0, math.nan])


def test_a_frame_of_pandas_own_types_has_a_table_of_clusters() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, None], "b": [1, 2, 30]}).convert_dtypes()
    assert hr.summaries.cluster_table(frame, [0, 0, 1])["size"].tolist() == [2, 1]


@pytest.mark.parametrize("values", [["1"], [1.0, "a"], [1j], [object()], [[1.0], [2.0, 3.0]], [np.datetime64(0, "D")]])
def test_what_are_no_numbers_is_refused(values: Any) -> None:
    with pytest.raises(ParameterError, match=r"f\(x=.*x must be an array of numbers"):
        numbers_of("f", "x", values)


@pytest.mark.parametrize("values", [[0, 1], [0.0, 1.0], [False, True], np.array([0, 1], np.uint8), np.array([0, 1], object)])
def test_whole_numbers_pass_in_every_type(values: Any) -> None:
    found = wholes_of("f", "x", values)
    assert found.dtype == np.int64
    assert found.tolist() == [0, 1]


@pytest.mark.parametrize("values", [[0.5], [math.nan], [math.inf], [1e300], [10**400], ["1"], [None]])
def test_what_are_no_whole_numbers_is_refused(values: Any) -> None:
    with pytest.raises(ParameterError, match="x must be an array of whole numbers"):
        wholes_of("f", "x", values)


@pytest.mark.parametrize("huge", [10**400, Decimal("1e400")])
def test_numbers_beyond_floats_among_levels_are_refused(huge: Any) -> None:
    with pytest.raises(ParameterError, match="be a name or a whole number"):
        hr.Categorical().resolve([[huge], [1]])


def test_labels_kept_narrow_are_looked_at_without_a_copy() -> None:
    labels = np.zeros((10, 1_000_000), np.uint8)
    tracemalloc.start()
    try:
        assert is_canonical(labels)
        assert tracemalloc.get_traced_memory()[1] < labels.nbytes
    finally:
        tracemalloc.stop()
    labels[3, 0] = 1
    assert not is_canonical(labels)


def test_numpys_own_numbers_and_truths_are_as_good_as_pythons() -> None:
    X = hr.data.ring13(n=26).X
    model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    yes: Any = np.True_
    one: Any = np.int64(1)
    for kernel in (hr.Gibbs(collapse=yes), hr.TreeGuided(anneal=yes, guides=one, sweep_rate=1.0)):
        assert repr(kernel) == repr(eval(repr(kernel), vars(hr)))
        assert hr.sample(model, X, kernel=kernel, draws=2, warmup=2, chains=1, seed=0, progress=False).n == 26
    stream = hr.trees.TreeStream(model, revise=yes, remember=yes)
    stream.add(X)
    assert len(stream.labels) == 26


def test_a_run_of_numpys_truths_can_be_taken_up(tmp_path: Any) -> None:
    X = hr.data.ring13(n=26).X
    yes: Any = np.True_
    until = hr.sampling.Agreement(ess=5, max_draws=10)
    hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), X, until=until, independent=yes, checkpoint=tmp_path, seed=0, progress=False)
    assert hr.resume(tmp_path, progress=False).n == 26
