"""IncrementalBHC: trees that grow batch by batch, behind scikit-learn's partial_fit."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from hedgerow.data.container import from_file
from hedgerow.estimators.base import GivenRows, PredictingClusterer
from hedgerow.estimators.files import read_incremental, write_incremental
from hedgerow.estimators.validation import model_for, read_seed
from hedgerow.estimators.weights import fold_labels, repeat_times
from hedgerow.mixture import Mixture
from hedgerow.trees import Event, TreeStream

__all__ = ["IncrementalBHC"]

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]

_guards: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()  # beside the estimators: a lock can be neither copied nor saved
_making = threading.Lock()


def _alone(estimator: Any) -> threading.RLock:
    """The lock under which one thread at a time feeds or asks an estimator."""
    with _making:
        return _guards.setdefault(estimator, threading.RLock())


@dataclass(kw_only=True, eq=False, repr=False)
class IncrementalBHC(PredictingClusterer):
    """Cluster rows as they come, without saying how many clusters there are.

    Every batch goes into the trees of `TreeStream`; older rows are looked at again on the way, and clusters split and
    join as the evidence asks. A cluster keeps its number for life. A batch that is refused leaves everything as it was.
    Threads may share one: they take turns.

    Parameters
    ----------
    prior, likelihood :
        As for `HedgerowClusterer`. What is left open is taken from the first batch, which should look like the rest: a few
        hundred rows are good.
    max_nodes : int, optional
        Bound of memory: nodes held at most, from 1,000 up. None keeps all rows.
    revise : bool, default True
        Look at old rows again as new ones come.
    remember : bool, default True
        Keep 4 bytes for every row ever seen, so that `labels_` covers all of them; otherwise it covers the last batch.
    repeats : int, default 1
        Put every batch in so many times and keep the best, as for `TreeStream`.
    forget : float, str or timedelta, optional
        The half-life of a row, in rows or as a time such as "10min", which asks for `when` with every batch. Clusters are those of the
        rows still alive; one that has lost its last row has died. Goes without `max_nodes`.
    random_state : int, RandomState, Generator or None
        Decides the order within batches, the hyper-parameters and how long rows live.

    Attributes
    ----------
    labels_ : (n_seen,) int32
        Cluster of every row seen, as of now; of the last batch if `remember` is False. -1 for rows of weight 0.
    n_clusters_ : int
    cluster_ids_ : (n_clusters_,) int32
        Numbers of the clusters, in the order of the columns of `predict_proba`.
    events_ : list of Event
        Births, splits, joins and deaths of clusters, each with the number of rows seen by then.
    stream_ : TreeStream
        The trees; its own cluster ids differ from the numbers here, which start at 0 without gaps.
    model_ : Mixture
        The model with everything that was taken from the first batch filled in.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> online = IncrementalBHC(random_state=0)
    >>> for _ in range(3):
    ...     online = online.partial_fit(rng.normal(0, 0.1, (100, 2)) + 4 * rng.integers(0, 2, (100, 1)))
    >>> online.n_clusters_, online.labels_.shape
    (2, (300,))
    >>> new = np.zeros((2, 2))
    >>> online.predict(new).shape, online.predict_proba(new).shape, online.score_samples(new).shape, online.score(new) < 10
    ((2,), (2, 3), (2,), True)
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/online.npz"
    >>> online.save(path)
    >>> IncrementalBHC.load(path).n_clusters_
    2
    >>> online.fit(new).labels_.shape, online.fit_predict(new).shape
    ((2,), (2,))
    """

    max_nodes: int | None = None
    revise: bool = True
    remember: bool = True
    repeats: int = 1
    forget: Any = None

    _numbers: _Numbers = field(init=False)
    _last: IntArray = field(init=False)
    _rows: npt.NDArray[np.int64] | None = field(init=False)  # the row given behind every row in the trees, once some had weights
    _given: int = field(init=False)
    stream_: TreeStream = field(init=False)

    def fit(self, X: Any, y: Any = None, times: Any = None, sample_weight: Any = None, when: Any = None) -> Self:
        """Start anew with X as one batch; parameters as for `HedgerowClusterer.fit`, and `when` as for `partial_fit`.

        Parameters
        ----------
        X, y, times, sample_weight : as for `HedgerowClusterer.fit`
        when : (n,), optional

        Returns
        -------
        self
        """
        with _alone(self), self._unless_refused():
            return self._learn(self._read_rows(X, times, sample_weight, fitting=True), when, fresh=True)

    def partial_fit(self, X: Any, y: Any = None, times: Any = None, sample_weight: Any = None, when: Any = None) -> Self:
        """Add a batch of rows; y is not used, `times` and `sample_weight` as in `fit`.

        Parameters
        ----------
        X, y, times, sample_weight : as for `fit`
        when : (n,), optional
            Where `forget` is a time, when each row came: seconds, or dates with times.

        Returns
        -------
        self
        """
        with _alone(self), self._unless_refused():
            fresh = not hasattr(self, "stream_")
            return self._learn(self._read_rows(X, times, sample_weight, fitting=fresh), when, fresh=fresh)

    def _predict(self, data: Any, times: Any) -> IntArray:
        with _alone(self):
            weights, numbers = self._log_weights(data, times), self.cluster_ids_
        found: IntArray = np.append(numbers, np.int32(-1))[np.argmax(weights, axis=1)]
        return found

    def _predict_proba(self, data: Any, times: Any) -> FloatArray:
        weights = self._log_weights(data, times)
        return np.asarray(np.exp(weights - logsumexp(weights, axis=1, keepdims=True)))

    def _score_samples(self, data: Any, times: Any) -> FloatArray:
        return np.asarray(logsumexp(self._log_weights(data, times), axis=1))

    @property
    def labels_(self) -> IntArray:
        """The cluster of every row seen, as of now."""
        with _alone(self):
            stream = self._started()
            return self._last if not self.remember else fold_labels(self._numbers.of(stream.labels), self._rows, self._given)

    @property
    def n_clusters_(self) -> int:
        """Clusters now."""
        with _alone(self):
            return self._started().n_clusters

    @property
    def cluster_ids_(self) -> IntArray:
        """Numbers of the clusters, in the order of the columns of `predict_proba`."""
        with _alone(self):
            return self._numbers.of(self._started().cluster_ids)

    @property
    def events_(self) -> list[Event]:
        """The lives of the clusters, in order."""
        with _alone(self):
            events, number = self._started().events, self._numbers.of
            return [event._replace(cluster=int(number(event.cluster)), other=int(number(event.other))) for event in events]

    @property
    def model_(self) -> Mixture:
        """The model with everything filled in."""
        return self._started().model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, whole or not at all; a loaded one goes on exactly as this one does.

        Parameters
        ----------
        path : path
        """
        with _alone(self):
            write_incremental(path, self)

    @classmethod
    @from_file("IncrementalBHC")
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """An estimator from a file that `save` wrote; nothing in such a file can run code."""
        estimator = cls()
        parts = read_incremental(path, estimator.get_params(deep=False))
        estimator._numbers = _Numbers(parts.pop("numbers"))
        estimator.__dict__.update(parts)
        return estimator

    @contextmanager
    def _unless_refused(self) -> Iterator[None]:
        """Leave everything as it was, even the number of columns, where a batch is refused."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _fit_rows(self, given: GivenRows) -> Self:
        return self._learn(given, None, fresh=True)

    def _learn(self, given: GivenRows, when: Any, *, fresh: bool) -> Self:
        data, times, n, rows = given
        stream = self._open(data) if fresh else self.stream_
        numbers: _Numbers = _Numbers() if fresh else self._numbers
        seen = stream.n_events
        batch = stream.add(data, times, repeat_times(when, rows, n, type(self).__name__))
        numbers.meet(batch, stream.cluster_ids, stream.events_since(seen))
        if fresh:
            self._rows, self._given = None, 0
        if self.remember and (rows is not None or self._rows is not None):
            known = np.arange(self._given) if self._rows is None else self._rows
            added = np.arange(n) if rows is None else rows
            self._rows = np.concatenate([known, self._given + added])
        self._given += n
        self.stream_ = stream
        self._numbers = numbers
        self._last = fold_labels(numbers.of(batch), rows, n)
        return self

    def _open(self, X: Any) -> TreeStream:
        owner = type(self).__name__
        model = model_for(self, X)
        seed = read_seed(self.random_state, owner)
        names = ("max_nodes", "revise", "remember", "repeats", "forget")
        return TreeStream(model, seed=seed, **{name: getattr(self, name) for name in names})

    def _log_weights(self, data: Any, times: Any) -> FloatArray:
        with _alone(self):
            return self.stream_.predict_log_weights(data, times)

    def _started(self) -> TreeStream:
        if "stream_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no clusters yet: call fit or partial_fit first.")
        return self.stream_

    def __sklearn_is_fitted__(self) -> bool:
        return "stream_" in vars(self)


class _Numbers:
    """Numbers for the ids of a stream: 0, 1, ... for the clusters that a batch leaves, then for those that came and went in it."""

    def __init__(self, table: IntArray | None = None) -> None:
        first = np.full(1, -1, dtype=np.int32)  # by id + 1; the id -1 means no cluster and stays -1
        self._number: IntArray = first if table is None else table.copy()
        self._next = int(self._number.max()) + 1

    @property
    def table(self) -> IntArray:
        """The numbers by id + 1, from which they can be made again."""
        return self._number

    def of(self, ids: Any) -> IntArray:
        """Numbers of ids."""
        numbers: IntArray = self._number[np.asarray(ids) + 1]
        return numbers

    def meet(self, batch: IntArray, alive: IntArray, events: list[Event]) -> None:
        """Number what is new after a batch: clusters by the first of its rows in them, then others alive, then the gone."""
        _, first = np.unique(batch, return_index=True)
        named = [event.cluster for event in events] + [event.other for event in events]
        for one in (*batch[np.sort(first)].tolist(), *np.sort(alive).tolist(), *named):
            if one + 1 >= len(self._number):
                grown = np.full(max(2 * len(self._number), one + 2), -1, dtype=np.int32)
                grown[: len(self._number)] = self._number
                self._number = grown
            if one >= 0 and self._number[one + 1] < 0:
                self._number[one + 1] = self._next
                self._next += 1
