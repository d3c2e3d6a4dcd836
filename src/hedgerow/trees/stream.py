"""TreeStream: a forest that rows keep coming to, with clusters whose ids last.

Rows go into the trees as in `ibhc`. Old rows are looked at again: all of them whenever a young stream has doubled, later one for
every new row. u and the hyper-parameters are drawn anew after every batch. A cluster keeps its id for life: when it is cut, the largest
piece goes on under the old id; when two join, the larger one's id stays. `max_nodes` bounds memory: subtrees that are certainly
one cluster are folded into summary leaves, which keep their sufficient statistics and forget their rows. `forget` lets rows go as they
age, and with its last row a cluster dies (`forgetting` has the model); clusters may move then, so more old rows are looked at.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import check_flag, check_seed, check_whole
from hedgerow.data.container import from_file
from hedgerow.errors import ParameterError, require
from hedgerow.mixture import Mixture
from hedgerow.priors.state import Values
from hedgerow.trees import files
from hedgerow.trees.events import KINDS, Event
from hedgerow.trees.forest import Forest
from hedgerow.trees.forgetting import read_half_life, read_when
from hedgerow.trees.rows import RowStore
from hedgerow.trees.stream_times import StreamTimes

__all__ = ["Event", "TreeStream"]

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]

P = ParamSpec("P")
R = TypeVar("R")


def _alone(method: Callable[Concatenate[TreeStream, P], R]) -> Callable[Concatenate[TreeStream, P], R]:
    """One thread at a time: the core lets others run while it works, and they may call the same stream."""

    @functools.wraps(method)
    def guarded(self: TreeStream, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return guarded


def _count(name: str, told: str) -> Any:
    """A property: a number that the core keeps, 0 before there is one."""

    @_alone
    def read(stream: TreeStream) -> int:
        return 0 if stream._core is None else int(getattr(stream._core, name))

    return property(read, doc=told)


class TreeStream:
    """Incremental clustering of an endless stream. Threads may share one: their calls take turns.

    Parameters
    ----------
    model : Mixture
        Hyper-parameters that are open are taken from the first batch.
    max_nodes : int, optional
        Inner nodes and summary leaves held at most (a cluster's top always stays); None for no bound.
    revise : bool
        Look at old rows again as new ones come.
    remember : bool
        Keep track of every row ever seen (4 bytes each), so that `labels` can be asked for.
    repeats : int
        Put every batch in so many times, in random orders, from the same trees as they were before it, with u and the
        hyper-parameters drawn anew in between; the outcome of highest log joint stays (Lee & Choi 2014, algorithm 3, whose past
        is fixed: `revise=False`). Costs so many times as much, and a copy of the nodes held each.
    forget : float, str or timedelta, optional
        The half-life of a row: a number of rows, or a time such as "10min", which asks for `when` in `add`. Every row lives for an
        exponential time of that half-life after it came, and what is clustered are the rows alive. Goes without `max_nodes`:
        some 1.44 half-lives of rows are held.
    seed : int, optional
        Decides the order within batches, u, the hyper-parameters and how long rows live.

    >>> import numpy as np
    >>> from hedgerow.likelihoods import GaussianWishart
    >>> from hedgerow.priors import DP
    >>> rng = np.random.default_rng(0)
    >>> stream = TreeStream(Mixture(DP(1.0), GaussianWishart()), seed=0)
    >>> for _ in range(3):
    ...     ids = stream.add(rng.normal(0, 0.1, (50, 2)) + rng.integers(0, 2, (50, 1)) * 4)
    >>> stream.n_clusters, stream.n_seen
    (2, 150)
    >>> stream.events_since(0)[0].kind, stream.predict_log_weights([[0.0, 0.0]]).shape, len(stream.to_forest())
    ('born', (1, 3), 2)
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/stream.npz"
    >>> stream.save(path, note={"line": 150})
    >>> TreeStream.load(path).note
    {'line': 150}
    """

    def __init__(
        self,
        model: Mixture,
        *,
        max_nodes: int | None = None,
        revise: bool = True,
        remember: bool = True,
        repeats: int = 1,
        forget: Any = None,
        seed: int | None = None,
    ) -> None:
        """Check the options; the first batch starts the trees."""
        owner = "TreeStream"
        require(isinstance(model, Mixture), owner, "model", model, "be a Mixture")
        require(model.worth is None, owner, "model", model, "have a power, not a worth: how many rows will come is not known")
        check_whole(owner, "max_nodes", max_nodes, 1000, none=True)
        for name, flag in (("revise", revise), ("remember", remember)):
            check_flag(owner, name, flag)
        check_whole(owner, "repeats", repeats, 1, 1000)
        check_seed(owner, seed)
        half_life = read_half_life(forget, owner)
        if forget is not None and max_nodes is not None:
            raise ParameterError(f"{owner}(max_nodes={max_nodes}): max_nodes must be None with forget, which bounds memory by itself.")
        self._model = model
        self._options = (int(max_nodes or 0), bool(revise), bool(remember), int(repeats), *half_life)
        self._seed = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        self._lock = threading.RLock()
        self._core: _core.TreeStream | None = None
        self._rows = RowStore()
        self._times = StreamTimes()
        self.note: dict[str, Any] = {}

    # ---- rows in

    @_alone
    def add(self, X: Any, times: Any = None, when: Any = None) -> IntArray:
        """Put a batch of rows in; returns the ids of their clusters.

        A batch that is refused leaves the stream as it was.

        Parameters
        ----------
        X : table
        times : (rows,), optional
            Groups of a `MixedNRM` prior.
        when : (rows,), optional
            Where `forget` is a time, when each row came: seconds, dates with times, or texts of these.

        Returns
        -------
        (rows,) int32
        """
        model = self._model.resolve(X)
        data = model.likelihood.check_new(X, self.n_seen)
        bound = model.bind(data)
        times_after, grouping = self._times.read(model.prior, times, bound.n_rows)
        codes = None if grouping is None else grouping.codes
        moments = read_when(when, bound.n_rows, "TreeStream.add", self._options[5])
        if self._core is None:
            core = _core.TreeStream(bound, model.prior.to_core(grouping), codes, *self._options, self._seed, moments)
            self._core, self._model = core, model
        else:
            core = self._core
            if times_after is not self._times:
                core.extend_groups(model.prior.to_core(grouping))
                self._times = times_after
            try:
                core.add(bound, codes, moments)
            except ValueError as error:
                raise ParameterError(f"TreeStream.add(X=...): X must fit the stream: {error}.") from error
        self._times = times_after
        self._rows.put(core.batch_rows(), data)
        return core.labels(core.n_seen - bound.n_rows, bound.n_rows)

    # ---- what is known

    @property
    def model(self) -> Mixture:
        """The model, with what the first batch decided filled in."""
        return self._model

    @property
    def remembers(self) -> bool:
        """Whether `labels` can be asked for."""
        return self._options[2]

    @property
    def half_life(self) -> tuple[float, bool]:
        """The half-life of rows, 0 where none is forgotten, and whether it is in seconds."""
        return self._options[4], self._options[5]

    n_seen: int = _count("n_seen", "Rows so far.")
    n_clusters: int = _count("n_clusters", "Clusters now.")
    n_nodes: int = _count("n_nodes", "Inner nodes and summary leaves held.")
    evaluations: int = _count("evaluations", "Marginal likelihoods evaluated so far.")

    @property
    @_alone
    def n_held(self) -> int:
        """Rows that are not forgotten."""
        return 0 if self._core is None else int(self._core.sizes().sum())

    @property
    @_alone
    def cluster_ids(self) -> IntArray:
        """Ids of the clusters, in the order of the columns of `predict_log_weights`."""
        return self._started().ids()

    @property
    @_alone
    def cluster_sizes(self) -> IntArray:
        """Rows in each cluster, in the order of `cluster_ids`."""
        return self._started().sizes()

    @property
    @_alone
    def labels(self) -> IntArray:
        """The cluster id of every row seen, as of now; of rows that are forgotten, as of then."""
        core = self._started()
        if not self._options[2]:
            raise ParameterError("TreeStream.labels: remember must be True for the stream to know its old rows. Got False.")
        return core.labels(0, core.n_seen)

    @property
    def events(self) -> list[Event]:
        """The lives of the clusters, in order."""
        return self.events_since(0)

    n_events: int = _count("n_events", "Events so far.")

    @_alone
    def events_since(self, first: int) -> list[Event]:
        """The events from number `first` on; `n_events` before a batch gives those of the batch after it.

        Parameters
        ----------
        first : int

        Returns
        -------
        list of Event
        """
        check_whole("TreeStream", "first", first, 0)
        if self._core is None:
            return []
        columns = [column.tolist() for column in self._core.events(int(first))]
        moved = {number - int(first): tuple(points.tolist()) for number, points in self._core.moved_last()}
        return [
            Event(at, KINDS[kind], cluster, other, size, moved.get(i, ()))
            for i, (at, kind, cluster, other, size) in enumerate(zip(*columns, strict=True))
        ]

    @property
    @_alone
    def log_joint(self) -> float:
        """Log joint of the clusters now, at u and the hyper-parameters as they are, on the scale of `Mixture.log_joint`."""
        return float(self._started().log_joint())

    @property
    @_alone
    def values(self) -> dict[str, Any]:
        """log u and the hyper-parameters now."""
        return Values(self._started().measure())

    @_alone
    def predict_log_weights(self, X: Any, times: Any = None) -> FloatArray:
        """log[weight x density] of new rows, (n, K + 1): a column for each of `cluster_ids`, the last for a new cluster.

        The exponentials of a row sum to its predictive density under the likelihood itself, whatever the model's power.
        With a `MixedNRM` prior, times must be among those seen.

        Parameters
        ----------
        X, times : as for `add`

        Returns
        -------
        (rows, K + 1)
        """
        core = self._started()
        likelihood = self._model.likelihood
        bound = likelihood.bind(likelihood.check_new(X))
        times_after, grouping = self._times.read(self._model.prior, times, bound.n_rows)
        if times_after is not self._times:
            raise ParameterError("TreeStream.predict_log_weights(times=...): times must be among those of the rows seen.")
        return core.predictive(bound, None if grouping is None else grouping.codes)

    @_alone
    def to_forest(self) -> tuple[Forest, npt.NDArray[np.int64]]:
        """The forest, and the row that each of its leaves stands for: its number in the stream, or -1 for a summary leaf.

        Returns
        -------
        Forest and (leaves,) int64
        """
        core = self._started()
        arrays = core.arrays()
        points = arrays.pop("points")
        return Forest(**arrays, log_front=float(core.log_front()), values=self.values), points

    # ---- files and pickles

    def save(self, path: str | os.PathLike[str], note: Mapping[str, Any] | None = None) -> None:
        """Write the stream to one file, whole or not at all; a loaded one goes on exactly as this one does.

        `note` is plain JSON of the caller's own, such as how far it had read; `load` gives it back as the attribute `note`.

        Parameters
        ----------
        path : path
        note : mapping, optional
        """
        require(note is None or isinstance(note, Mapping), "TreeStream.save", "note", note, "be a mapping, or None")
        self.note = dict(self.note if note is None else note)
        files.save_stream(path, self.__getstate__(), extra=self.note)

    @classmethod
    @from_file("TreeStream")
    def load(cls, path: str | os.PathLike[str]) -> TreeStream:
        """A stream from a file that `save` wrote."""
        stream = cls.__new__(cls)
        stream.note, _ = files.load_stream(path, stream.__setstate__)
        return stream

    @_alone
    def __getstate__(self) -> dict[str, Any]:
        """Everything as plain values and arrays."""
        state = None if self._core is None else self._core.state()
        rows = None if self._core is None else self._rows.take(len(state["row_point"]))  # type: ignore[index]
        return {
            "model": self._model,
            "options": self._options,
            "seed": self._seed,
            "times": (self._times.names, self._times.q),
            "rows": rows,
            "state": state,
            "note": self.note,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Rebuild the stream; the core checks that the parts fit."""
        self._lock = threading.RLock()
        self._model, self._options, self._seed = state["model"], all_options(state["options"]), state["seed"]
        self._times = StreamTimes(*state["times"])
        self._times.check(self._model.prior)
        self._rows = RowStore()
        self.note = state.get("note", {})
        self._core = None
        if state["state"] is None:
            return
        data = self._model.likelihood.check(state["rows"])
        self._rows.put(np.arange(data.shape[0], dtype=np.int32), data)
        bound = self._model.bind(data)
        prior = self._model.prior.to_core(self._times.grouping(np.zeros(0, np.int32)))
        self._core = _core.TreeStream.from_state(bound, prior, *self._options, state["state"])

    def _started(self) -> _core.TreeStream:
        if self._core is None:
            raise ParameterError("TreeStream: a batch must have been added first.")
        return self._core

    def __repr__(self) -> str:
        return f"TreeStream({self.n_seen} rows in {self.n_clusters} clusters)"


def all_options(stored: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those of a stream, from a state that may be older than some of them."""
    return (*stored, *(0, True, True, 1, 0.0, False)[len(stored) :])
