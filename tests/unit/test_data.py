"""The views of X, labels and times read what users have; the toy generators draw what they say."""

from __future__ import annotations

import doctest
import os
import warnings
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import gammaln, poch

import hedgerow.data.tables
import hedgerow.data.views
from hedgerow.data import (
    as_counts,
    as_dense,
    as_labels,
    as_times,
    canonical,
    digits,
    documents,
    feature_names,
    iris,
    moving_clusters,
    pitman_yor_mixture,
    ring13,
    wine,
)
from hedgerow.data.mixed import read_columns
from hedgerow.errors import ParameterError

DATA = Path(os.environ.get("HEDGEROW_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
COLUMNS = {"height": [1.0, 3.0, 5.0], "age": [2, 4, 6]}


@pytest.mark.parametrize(
    "X",
    [
        MATRIX,
        MATRIX.astype(np.float32),
        MATRIX.astype(np.int8),
        MATRIX.astype(object),
        np.asfortranarray(MATRIX),
        MATRIX.tolist(),
        [tuple(row) for row in MATRIX],
        [np.array(row) for row in MATRIX],
        np.ma.masked_array(MATRIX),
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).astype("Float64"),
        pl.DataFrame(COLUMNS),
        pa.table(COLUMNS),
        pa.RecordBatch.from_pydict(COLUMNS),
    ],
    ids=lambda X: f"{type(X).__module__.split('.')[0]}.{type(X).__name__}",
)
def test_as_dense_reads_every_kind_of_table(X: Any) -> None:
    values = as_dense(X, "Test")
    np.testing.assert_array_equal(values, MATRIX)
    assert values.dtype == np.float64
    assert values.flags.c_contiguous


def test_as_dense_shares_memory_when_it_can() -> None:
    assert np.shares_memory(as_dense(MATRIX, "Test"), MATRIX)


def test_booleans_count_as_zero_and_one() -> None:
    np.testing.assert_array_equal(as_dense(np.array([[True, False]]), "Test"), [[1.0, 0.0]])
    np.testing.assert_array_equal(as_dense([[True, 0.5]], "Test"), [[1.0, 0.5]])


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1.0, np.nan], [3.0, 4.0]]),
        np.array([[1.0, None], [3.0, 4.0]], dtype=object),
        [[1.0, None], [3.0, 4.0]],
        np.ma.masked_array([[1.0, 9.0], [3.0, 4.0]], mask=[[False, True], [False, False]]),
        pd.DataFrame({"a": [1.0, 3.0], "b": pd.array([None, 4], dtype="Int64")}),
        pl.DataFrame({"a": [1.0, 3.0], "b": [None, 4]}),
        pa.table({"a": [1.0, 3.0], "b": [None, 4]}),
    ],
    ids=lambda X: type(X).__name__,
)
def test_missing_entries_become_nan_or_are_refused(X: Any) -> None:
    np.testing.assert_array_equal(as_dense(X, "Test", missing=True), [[1.0, np.nan], [3.0, 4.0]])
    with pytest.raises(ParameterError, match=r"X\[0, 1\] must be finite \(row 0, column 1( 'b')?, counted"):
        as_dense(X, "Test")


def test_infinity_is_not_a_missing_entry() -> None:
    with pytest.raises(ParameterError, match=r"X\[1, 0\]=-inf"):
        as_dense([[np.nan, 1.0], [-np.inf, 1.0]], "Test", missing=True)


def test_feature_names() -> None:
    for frame in (pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pa.table(COLUMNS)):
        assert feature_names(frame) == ("height", "age")
    assert feature_names(pd.DataFrame(MATRIX)) == ("0", "1")
    assert feature_names(MATRIX) is None
    assert feature_names(sparse.csr_array(MATRIX)) is None


def test_a_frame_may_repeat_a_name_and_use_any() -> None:
    frame = pd.DataFrame(MATRIX, columns=["tocsr", "tocsr"])
    np.testing.assert_array_equal(as_dense(frame, "Test"), MATRIX)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_as_counts_reads_every_sparse_format(kind: str, dtype: type) -> None:
    dense = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]])
    for container in (sparse.csr_array, sparse.csr_matrix):
        counts = as_counts(container(dense.astype(dtype)).asformat(kind), "Test")
        assert (counts.dtype, counts.indptr.dtype, counts.indices.dtype) == (np.float64, np.int64, np.int32)
        np.testing.assert_array_equal(counts.toarray(), dense)
        assert counts.nnz == 5


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_as_counts_sums_duplicates_drops_zeros_and_leaves_its_input_alone(dtype: type, kind: str) -> None:
    data, rows, columns = np.array([200, 100, 0, 3], dtype=dtype), [0, 0, 0, 1], [2, 2, 0, 1]  # type: ignore[var-annotated]
    X: Any = {
        "csr": lambda: sparse.csr_array((data, columns, [0, 3, 4]), shape=(2, 3)),
        "csc": lambda: sparse.csc_array((data[[2, 3, 0, 1]], [0, 1, 0, 0], [0, 1, 2, 4]), shape=(2, 3)),
        "coo": lambda: sparse.coo_array((data, (rows, columns)), shape=(2, 3)),
    }[kind]()
    before = X.data.copy()
    counts = as_counts(X, "Test")
    np.testing.assert_array_equal(counts.toarray(), [[0, 0, 300], [0, 3, 0]])
    assert counts.nnz == 2
    assert X.nnz == 4
    np.testing.assert_array_equal(X.data, before)


def test_as_counts_never_makes_a_dense_copy() -> None:
    n, words = 1000, 2_000_000_000  # 16 TB if dense
    X = sparse.coo_array((np.ones(n), (np.arange(n), np.full(n, words - 1))), shape=(n, words))
    assert as_counts(X, "Test").shape == (n, words)


@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_as_counts_refuses_a_broken_matrix(kind: str, part: str) -> None:
    for value in (-5, 99):
        broken = getattr(sparse, f"{kind}_array")(np.arange(12).reshape(4, 3))
        getattr(broken, part)[1] = value
        with pytest.raises(ParameterError, match="X must be whole: its indices point outside of it"):
            as_counts(broken, "Multinomial")


def test_a_lazy_frame_is_to_be_collected() -> None:
    lazy = pl.LazyFrame({"a": [1.0, 2.0]})
    for read in (lambda: as_dense(lazy, "GaussianWishart"), lambda: read_columns(lazy, "Categorical")):
        with pytest.raises(ParameterError, match=r"X must be a table, not the plan of one: X\.collect\(\) makes it"):
            read()


def test_a_numpy_matrix_is_a_table() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        X = np.asmatrix([[1.0, 0.0], [2.0, 1.0]])
    np.testing.assert_array_equal(as_dense(X, "GaussianWishart"), [[1, 0], [2, 1]])
    np.testing.assert_array_equal(read_columns(X, "Categorical")[0][0].values, [1, 2])


def test_as_counts_accepts_dense_counts_and_frames() -> None:
    np.testing.assert_array_equal(as_counts(pd.DataFrame(COLUMNS), "Test").toarray(), MATRIX)
    with pytest.raises(ParameterError, match=r"X\[1, 1\]=-4.0\): .* \(row 1, column 1 'age', counted from 0\)"):
        as_counts(pl.DataFrame({"height": [1.0, 3.0], "age": [2, -4]}), "Test")


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_as_labels_is_canonical(labels: list[int]) -> None:
    found = as_labels(labels, len(labels), "Test")
    assert found.dtype == np.int32
    first = [int(np.flatnonzero(found == c)[0]) for c in range(found.max() + 1)]
    assert first == sorted(first)
    same = np.equal.outer(labels, labels)
    np.testing.assert_array_equal(np.equal.outer(found, found), same)
    np.testing.assert_array_equal(canonical(found), found)


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "b", "a"],
        np.array(["b", "b", "a"], dtype=object),
        pd.Series(["b", "b", "a"]),
        pd.Series(["b", "b", "a"], dtype="category"),
        pl.Series(["b", "b", "a"]),
        [3.0, 3.0, 1.0],
        [True, True, False],
        np.array([2, 2, -1], dtype=np.int8),
        pd.array([5, 5, 1], dtype="Int64"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_as_labels_reads_names_and_numbers(labels: Any) -> None:
    np.testing.assert_array_equal(as_labels(labels, 3, "Test"), [0, 0, 1])


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 1], "labels must have one entry for each of the 3 rows of X"),
        ([[0, 1, 2]], "labels must be one-dimensional"),
        (0, "labels must be one-dimensional"),
        ([0, [1, 2], 3], "labels must be all numbers or all names"),
        ([0.0, 1.5, 2.0], r"labels\[1\]=1.5\): labels\[1\] must be a whole number"),
        ([0.0, np.nan, 2.0], r"labels\[1\] must be a whole number"),
        ([0.0, np.inf, 2.0], r"labels\[1\] must be a whole number"),
        ([0, None, 1], "with none missing"),
        (np.ma.masked_array([0, 1, 2], mask=[0, 1, 0]), "labels must have no masked entry"),
        ([1j, 2j, 3j], "labels must be whole numbers or names"),
        ([], "labels must have one entry for each"),
    ],
)
def test_as_labels_refuses(labels: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        as_labels(labels, 3, "Test")


def test_as_times() -> None:
    np.testing.assert_array_equal(as_times(pd.Series([1, 2, 2]), 3, "Test"), [1.0, 2.0, 2.0])
    with pytest.raises(ParameterError, match="turn dates into numbers"):
        as_times(np.array(["2020-01-01"], dtype="M8[D]"), 1, "Test")
    with pytest.raises(ParameterError, match=r"times\[1\]=nan"):
        as_times([0.0, np.nan], 2, "Test")
    with pytest.raises(ParameterError, match="for each of the 3 rows"):
        as_times([0.0], 3, "Test")


def test_ring13_layout() -> None:
    X, labels, times = ring13()
    assert X.shape == (1300, 2)
    assert times is None
    np.testing.assert_array_equal(np.bincount(labels), np.full(13, 100))
    centres = np.array([X[labels == c].mean(axis=0) for c in range(13)])
    radius = np.hypot(*centres.T)
    assert radius[0] < 0.05
    assert ((radius[1:] > 1.1) & (radius[1:] < 1.35)).all()
    assert ring13(n=20).X.shape == (20, 2)


def test_ring13_looks_like_the_authors_set() -> None:
    path = DATA / "nrmm_author_data.npz"
    if not path.exists():
        pytest.skip(f"the authors' data are not at {path}; set HEDGEROW_DATA")
    with np.load(path) as file:
        theirs, their_labels = file["toy_X"], file["toy_y"].astype(int) - 1
    ours = ring13(seed=3)
    for c in range(13):
        a, b = theirs[their_labels == c], ours.X[ours.labels == c]
        assert np.linalg.norm(a.mean(axis=0) - b.mean(axis=0)) < 0.08
        # 100 points each: a standard deviation is known to 7 %, so axes agree to about 3 x 10 %.
        sd = [np.sqrt(np.linalg.eigvalsh(np.cov(Z.T))) for Z in (a, b)]
        np.testing.assert_allclose(sd[0], sd[1], rtol=0.35)


def test_pitman_yor_mixture_has_the_expected_number_of_clusters() -> None:
    n, theta, sigma = 200, 3.0, 0.3
    counts = [pitman_yor_mixture(n, 1, theta, sigma, seed=s).labels.max() + 1 for s in range(400)]
    log_ratio = gammaln(theta + sigma + n) + gammaln(theta) - gammaln(theta + sigma) - gammaln(theta + n)
    expected = theta / sigma * np.expm1(log_ratio)
    error = np.std(counts) / np.sqrt(len(counts))
    assert abs(np.mean(counts) - expected) < 4 * error


def test_pitman_yor_mixture_partition_law() -> None:
    """Four points: the fifteen partitions against the law in closed form."""
    theta, sigma, draws = 1.5, 0.6, 10_000
    rng = np.random.default_rng(0)
    seen = Counter(tuple(pitman_yor_mixture(4, 1, theta, sigma, seed=rng).labels) for _ in range(draws))
    total = 0.0
    for code in product(range(4), repeat=4):
        if not np.array_equal(canonical(np.array(code)), code):
            continue
        sizes = np.bincount(code)
        p = np.prod(theta + sigma * np.arange(1, len(sizes))) / poch(theta + 1, 3)
        p *= np.prod(poch(1 - sigma, sizes - 1))
        total += p
        assert abs(seen[code] / draws - p) < 4 * np.sqrt(p * (1 - p) / draws)
    assert total == pytest.approx(1)


def test_pitman_yor_mixture_shapes_and_order() -> None:
    X, labels, _ = pitman_yor_mixture(500, 4, seed=1)
    assert X.shape == (500, 4)
    np.testing.assert_array_equal(canonical(labels), labels)
    assert np.isfinite(X).all()


def test_moving_clusters() -> None:
    X, labels, times = moving_clusters(seed=5)
    assert times is not None
    assert X.shape == (len(labels), 2)
    np.testing.assert_array_equal(np.unique(times), np.arange(1, 16))
    np.testing.assert_array_equal(canonical(labels), labels)
    assert (np.diff(times) >= 0).all()
    blocks = np.unique(np.column_stack([times, labels]), axis=0, return_counts=True)[1]
    assert (blocks == 100).all()
    within = np.concatenate([X[labels == c] - X[labels == c].mean(axis=0) for c in np.unique(labels)])
    np.testing.assert_allclose(np.cov(within.T), 1.5 * np.eye(2), atol=0.1)
    births = [moving_clusters(1, seed=s).labels.max() + 1 for s in range(200)]
    assert abs(np.mean(births) - 15.4) < 1.2  # 15 steps of one each, and the forced first ones


def test_moving_clusters_never_has_an_empty_step() -> None:
    times = moving_clusters(2, births=0.0, survival=0.1, seed=0).times
    assert times is not None
    np.testing.assert_array_equal(np.unique(times), np.arange(1, 16))


def test_documents() -> None:
    X, labels, _ = documents(n=300, words=500, topics=4, seed=2)
    assert sparse.issparse(X)
    assert X.shape == (300, 500)
    assert X.sum(axis=1).min() >= 1
    assert 70 < X.sum(axis=1).mean() < 90
    assert labels.max() == 3
    np.testing.assert_array_equal(as_counts(X, "Test").toarray(), X.toarray())
    assert documents(n=3, words=1, topics=1, length=0.01).X.sum() == 3


@pytest.mark.parametrize("generator", [ring13, pitman_yor_mixture, moving_clusters, documents])
def test_generators_depend_on_the_seed_only(generator: Any) -> None:
    def dense(X: Any) -> Any:
        return X.toarray() if sparse.issparse(X) else X

    first, again, other = generator(n=40, seed=7), generator(n=40, seed=7), generator(n=40, seed=8)
    np.testing.assert_array_equal(dense(first.X), dense(again.X))
    np.testing.assert_array_equal(first.labels, again.labels)
    assert first.labels.dtype == np.int32
    assert dense(first.X).shape != dense(other.X).shape or (dense(first.X) != dense(other.X)).any()
    for n in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="n must be a whole number from 1 up"):
            generator(n=n)


def test_classics() -> None:
    for loader, shape, classes in ((iris, (150, 4), 3), (wine, (178, 13), 3), (digits, (1797, 64), 10)):
        data = loader()
        assert data.X.shape == shape
        assert data.labels.max() + 1 == len(data.class_names) == classes
        assert len(data.feature_names) == shape[1]


@pytest.mark.parametrize("module", [hedgerow.data.tables, hedgerow.data.views])
def test_docstring_examples(module: Any) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
