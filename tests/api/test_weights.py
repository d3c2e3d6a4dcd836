"""sample_weight: whole numbers are repeated rows to the bit, 0 is a row left out, anything else is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow import data
from hedgerow.errors import ParameterError
from hedgerow.estimators import BayesianHierarchicalClustering, HedgerowClusterer, IncrementalBHC
from hedgerow.estimators.weights import fold_labels, fold_means
from hedgerow.likelihoods import Bernoulli, Categorical, GaussianDiagonal, Multinomial, Poisson, Product
from hedgerow.priors import DP, MixedNRM
from hedgerow.summaries import canonical

QUICK = {"draws": 25, "warmup": 25, "chains": 2, "random_state": 0}
RNG = np.random.default_rng(5)
SIDE = np.repeat([0, 1], 20)
WEIGHTS = RNG.integers(0, 4, 40)
NUMBERS = np.round(RNG.normal(0, 1, (40, 2)) + 4 * SIDE[:, None], 1)
COUNTS = RNG.poisson(2 + 6 * SIDE[:, None], (40, 3))
BITS = (RNG.random((40, 4)) < 0.2 + 0.6 * SIDE[:, None]).astype(float)
FRAME = pd.DataFrame({"colour": np.where(SIDE == 0, "red", "blue"), "size": NUMBERS[:, 0], "visits": COUNTS[:, 0]})
PARTS = Product({("colour",): Categorical(), ("size",): GaussianDiagonal(), ("visits",): Poisson()})

TABLES = [
    (NUMBERS, None),
    (NUMBERS.tolist(), None),
    (pd.DataFrame(NUMBERS, columns=["a", "b"]), None),
    (pl.DataFrame(NUMBERS, schema=["a", "b"]), None),
    (pa.table({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]}), None),
    (sparse.csr_array(COUNTS), None),
    (sparse.coo_matrix(COUNTS), Multinomial()),
    (COUNTS, Poisson()),
    (BITS, Bernoulli()),
    (FRAME[["colour"]], Categorical()),
    (FRAME, PARTS),
]


def estimators(likelihood):
    return [
        HedgerowClusterer(likelihood=likelihood, **QUICK),
        BayesianHierarchicalClustering(likelihood=likelihood, random_state=0),
        IncrementalBHC(likelihood=likelihood, random_state=0),
    ]


def repeated(X):
    if isinstance(X, list):
        return [row for row, w in zip(X, WEIGHTS, strict=True) for _ in range(w)]
    rows = np.repeat(np.arange(40), WEIGHTS)
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    return X.take(rows) if isinstance(X, pa.Table) else X.tocsr()[rows] if sparse.issparse(X) else X[rows]


@pytest.mark.parametrize(("X", "likelihood"), TABLES, ids=[f"{type(X).__name__}-{type(L).__name__}" for X, L in TABLES])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_are_repeated_rows(X, likelihood):
    for estimator in estimators(likelihood):
        weighted = clone(estimator).fit(X, sample_weight=WEIGHTS)
        longer = clone(estimator).fit(repeated(X))
        assert weighted.labels_.shape == (40,)
        np.testing.assert_array_equal(weighted.labels_ == -1, WEIGHTS == 0)
        rows = np.repeat(np.arange(40), WEIGHTS)
        np.testing.assert_array_equal(weighted.labels_, fold_labels(longer.labels_, rows, 40))
        assert weighted.n_clusters_ == longer.n_clusters_
        if hasattr(estimator, "predict_proba"):
            np.testing.assert_array_equal(weighted.predict_proba(X), longer.predict_proba(X))
            np.testing.assert_array_equal(weighted.score_samples(X), longer.score_samples(X))


@pytest.mark.parametrize("shuffle", range(3))
def test_weights_in_another_order_of_rows(shuffle):
    """The posterior does not know the order: clusters up to their numbers, and densities up to the noise of the draws."""
    rng = np.random.default_rng(shuffle)
    order = rng.permutation(40)
    estimator = HedgerowClusterer(draws=400, warmup=200, chains=4, random_state=0)
    weighted = clone(estimator).fit(NUMBERS[order], sample_weight=WEIGHTS[order])
    longer = clone(estimator).fit(NUMBERS.repeat(WEIGHTS, axis=0))
    np.testing.assert_array_equal(canonical(weighted.predict(NUMBERS)), canonical(longer.predict(NUMBERS)))
    np.testing.assert_allclose(weighted.score_samples(NUMBERS), longer.score_samples(NUMBERS), atol=0.15)


def test_weights_of_one_change_nothing():
    for estimator in estimators(None):
        plain, weighted = clone(estimator).fit(NUMBERS), clone(estimator).fit(NUMBERS, sample_weight=np.ones(40))
        np.testing.assert_array_equal(plain.labels_, weighted.labels_)


def test_batches_with_and_without_weights():
    online = IncrementalBHC(random_state=0).partial_fit(NUMBERS[:10])
    online.partial_fit(NUMBERS[10:30], sample_weight=WEIGHTS[10:30]).partial_fit(NUMBERS[30:])
    plain = IncrementalBHC(random_state=0).partial_fit(NUMBERS[:10])
    rows = np.repeat(np.arange(10, 30), WEIGHTS[10:30])
    plain.partial_fit(NUMBERS[rows]).partial_fit(NUMBERS[30:])
    all_rows = np.concatenate([np.arange(10), rows, np.arange(30, 40)])
    assert online.labels_.shape == (40,)
    np.testing.assert_array_equal(online.labels_, fold_labels(plain.labels_, all_rows, 40))
    last = IncrementalBHC(random_state=0, remember=False).partial_fit(NUMBERS, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(last.labels_ == -1, WEIGHTS == 0)


def test_weights_with_times_and_connectivity():
    prior = MixedNRM(DP(1.0), basis=[0, 1], decay=0.5)
    times = np.tile([0, 1], 20)
    weighted = HedgerowClusterer(prior=prior, **QUICK).fit(NUMBERS, times=list(times), sample_weight=WEIGHTS)
    longer = HedgerowClusterer(prior=prior, **QUICK).fit(repeated(NUMBERS), times=np.repeat(times, WEIGHTS))
    np.testing.assert_array_equal(weighted.posterior_.labels, longer.posterior_.labels)
    with pytest.raises(ParameterError, match="times must have one entry for each of the 40 rows"):
        HedgerowClusterer(prior=prior, **QUICK).fit(NUMBERS, times=times[:3], sample_weight=WEIGHTS)
    chain = sparse.diags_array([np.ones(39), np.ones(39)], offsets=[1, -1], shape=(40, 40), format="csr")
    found = BayesianHierarchicalClustering(connectivity=chain, random_state=0).fit(NUMBERS, sample_weight=np.maximum(WEIGHTS, 1))
    assert np.count_nonzero(np.diff(found.labels_)) == found.labels_.max()  # clusters are stretches of the chain


def test_the_most_frequent_cluster_labels_a_row():
    rows = np.array([0, 0, 0, 2, 2, 3])
    labels = np.array([0, 1, 1, 2, 1, 0], dtype=np.int32)
    folded = fold_labels(labels, rows, 5)
    assert folded.tolist() == [1, -1, 1, 0, -1]
    values = np.array([0.1, 0.2, 0.4, 0.5, 0.6, 0.7])
    assert fold_means(values, labels, folded, rows).tolist() == pytest.approx([0.3, 0, 0.6, 0.7, 0])


def test_weights_in_a_pipeline_and_in_the_score():
    pipe = make_pipeline(StandardScaler(), HedgerowClusterer(**QUICK)).fit(NUMBERS, hedgerowclusterer__sample_weight=WEIGHTS)
    assert pipe[-1].posterior_.n == WEIGHTS.sum()
    fitted = HedgerowClusterer(**QUICK).fit(NUMBERS)
    assert fitted.score(NUMBERS, sample_weight=WEIGHTS) == pytest.approx(np.average(fitted.score_samples(NUMBERS), weights=WEIGHTS))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.full(40, 0.5), r"sample_weight\[0\] must be a whole number from 0 up, how many times the row was observed"),
        (np.where(np.arange(40) == 7, -1, 1), r"sample_weight\[7\] must be a whole number.* Got -1"),
        (np.where(np.arange(40) == 7, np.nan, 1), r"sample_weight\[7\] must be .* Got nan"),
        (np.where(np.arange(40) == 7, np.inf, 1), r"sample_weight\[7\] must be"),
        (np.ones(39), "sample_weight must have one entry for each of the 40 rows"),
        (np.ones((40, 2)), "sample_weight must have one entry for each of the 40 rows"),
        (np.zeros(40), "Every entry is zero"),
        (["much"] * 40, "sample_weight must be numbers"),
        (np.full(40, 2**31 - 1), "sample_weight must add up to at most"),
    ],
)
def test_other_weights_are_refused(weights, words):
    for estimator in estimators(None):
        with pytest.raises(ParameterError, match=words):
            estimator.fit(NUMBERS, sample_weight=weights)


def test_rounded_measurements_observed_more_than_once():
    """The use that weights are for: a table of distinct values and how often each was seen."""
    X = data.iris().X[:, 2:]
    distinct, counts = np.unique(X, axis=0, return_counts=True)
    short = HedgerowClusterer(**QUICK).fit(distinct, sample_weight=counts)
    assert 2 <= short.n_clusters_ <= 5
    assert short.posterior_.n == 150
