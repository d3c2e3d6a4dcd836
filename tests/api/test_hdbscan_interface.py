"""Where an hdbscan object is expected, ours fits: the attributes and calls that programs make of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from hedgerow import HedgerowClusterer
from hedgerow.data import iris

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # short runs


@pytest.fixture(scope="module")
def found() -> Any:
    return clone(HedgerowClusterer(draws=60, warmup=60, chains=2, random_state=0)).fit(iris().X)


def test_labels_are_what_hdbscan_labels_are(found: Any) -> None:
    labels = found.labels_
    assert labels.shape == (150,)
    assert np.issubdtype(labels.dtype, np.integer)
    assert set(labels.tolist()) == set(range(labels.max() + 1))  # 0, 1, ... with none left out, so np.bincount works
    assert np.array_equal(found.fit_predict(iris().X), labels)


@pytest.mark.parametrize("name", ["probabilities_", "outlier_scores_"])
def test_strengths_lie_between_nothing_and_one(found: Any, name: str) -> None:
    values = getattr(found, name)
    assert values.shape == (150,)
    assert values.min() >= 0
    assert values.max() <= 1


def test_the_same_question_to_new_rows(found: Any) -> None:
    new = found.predict(iris().X[:5])
    assert np.array_equal(new, found.labels_[:5])
    far = found.predict(iris().X[:1] + 1e6)
    assert far.tolist() == [-1]  # as hdbscan has it: no cluster of the fit


def test_noise_only_where_it_is_asked_for(found: Any) -> None:
    assert found.labels_.min() >= 0
    labels = found.posterior_.point_estimate(min_size=60).labels
    assert -1 in labels


def test_topics_by_membership_as_bertopic_takes_them(found: Any) -> None:
    best = [
        np.flatnonzero(found.labels_ == topic)[found.probabilities_[found.labels_ == topic].argmax()]
        for topic in range(found.n_clusters_)
    ]
    assert found.labels_[best].tolist() == list(range(found.n_clusters_))
