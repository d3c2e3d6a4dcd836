"""What the estimators do alike: scikit-learn's methods, each explained once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin

from hedgerow.data.tables import row_count, take_rows
from hedgerow.docstrings import explained
from hedgerow.estimators.validation import input_tags, read_X
from hedgerow.estimators.weights import read_repeats, repeat_times
from hedgerow.likelihoods import Likelihood
from hedgerow.priors import Prior

__all__ = ["GivenRows", "PredictingClusterer", "RowClusterer", "asks_new_rows"]


asks_new_rows = partial(explained, "X, times : as for `predict`")


class GivenRows(NamedTuple):
    """Rows to fit to: checked, and each as often as it counts."""

    data: Any
    times: Any
    n: int
    """How many were given."""
    rows: npt.NDArray[np.int64] | None
    """Which of them each is; None where all count once."""


@dataclass(kw_only=True, eq=False, repr=False)
class RowClusterer(ClusterMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Labels the rows of a table. Fields are parameters, as scikit-learn reads them from the constructor."""

    prior: Prior | None = None
    likelihood: Likelihood | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, times: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        With `sample_weight` the fit is that of the repeated rows, in cost too, whatever the likelihood. Where equal rows are no
        accident of rounding, the likelihood that is proposed by default counts them once (`hedgerow.propose`); under one that is given
        they are strong evidence for a cluster of their own. A share of a row has no likelihood and is refused. A row whose copies fall
        into several clusters is labelled by most of them.

        Parameters
        ----------
        X : table
            The rows.
        y : ignored
        times : (n,), optional
            The groups of rows under a `MixedNRM` prior.
        sample_weight : (n,) whole numbers, optional
            How many times each row was observed; 0 leaves a row out.

        Returns
        -------
        self
        """
        return self._fit_rows(self._read_rows(X, times, sample_weight, fitting=True))

    @abstractmethod
    def _fit_rows(self, given: GivenRows) -> Self:
        """Cluster them."""

    def _read_rows(self, X: Any, times: Any, sample_weight: Any, *, fitting: bool) -> GivenRows:
        owner = type(self).__name__
        data = read_X(self, X, self.likelihood, fitting=fitting)
        n = row_count(data)
        rows = read_repeats(sample_weight, n, owner)
        return GivenRows(take_rows(data, rows), repeat_times(times, rows, n, owner), n, rows)

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> npt.NDArray[np.int32]:
        """Fit and return `labels_`.

        Parameters
        ----------
        X : table
        y : ignored
        **kwargs :
            As for `fit`.

        Returns
        -------
        (n,) int32
        """
        labels: npt.NDArray[np.int32] = self.fit(X, **kwargs).labels_
        return labels

    def __sklearn_tags__(self) -> Any:
        return input_tags(super().__sklearn_tags__(), self.likelihood)


class PredictingClusterer(RowClusterer):
    """Labels new rows too."""

    def predict(self, X: Any, times: Any = None) -> npt.NDArray[np.int32]:
        """The most probable cluster of every new row, -1 where a cluster of its own is more probable than any.

        Parameters
        ----------
        X : table
            The new rows.
        times : (n_new,), optional
            Their groups under a `MixedNRM` prior.

        Returns
        -------
        (n_new,) int32
        """
        return self._predict(read_X(self, X, self.likelihood, fitting=False), times)

    @asks_new_rows("(n_new, n_clusters_ + 1)")
    def predict_proba(self, X: Any, times: Any = None) -> npt.NDArray[np.float64]:
        """Probability of every new row to join each cluster, and in the last column none of them.

        The columns are those of `cluster_ids_` where there is such a thing, else of the labels 0, 1, ...
        Draws, where there are any, are averaged over: at most 200 of them.
        """
        return self._predict_proba(read_X(self, X, self.likelihood, fitting=False), times)

    @asks_new_rows("(n_new,)")
    def score_samples(self, X: Any, times: Any = None) -> npt.NDArray[np.float64]:
        """Log predictive density of every new row."""
        return self._score_samples(read_X(self, X, self.likelihood, fitting=False), times)

    def score(self, X: Any, y: Any = None, times: Any = None, sample_weight: Any = None) -> float:
        """Mean log predictive density of new rows, weighted by `sample_weight` if it is given.

        Parameters
        ----------
        X, times : as for `predict`
        y : ignored
        sample_weight : (n_new,), optional

        Returns
        -------
        float
        """
        return float(np.average(self.score_samples(X, times), weights=sample_weight))

    @abstractmethod
    def _predict(self, data: Any, times: Any) -> npt.NDArray[np.int32]:
        """`predict` of rows that are checked."""

    @abstractmethod
    def _predict_proba(self, data: Any, times: Any) -> npt.NDArray[np.float64]:
        """`predict_proba` of rows that are checked."""

    @abstractmethod
    def _score_samples(self, data: Any, times: Any) -> npt.NDArray[np.float64]:
        """`score_samples` of rows that are checked."""
