"""Chain: one chain run by hand, block by block.

`sample` is what users call; this is the piece it is made of, and what the exam in `hedgerow.testing` drives.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import core_seed
from hedgerow.data.views import as_labels, canonical
from hedgerow.errors import ParameterError, require
from hedgerow.kernels import Kernel, Site
from hedgerow.mixture import Mixture
from hedgerow.priors.state import LISTS, NAMES, MeasureTraces, fits, packed, with_log_u

__all__ = ["TRACES", "Block", "Chain", "fresh"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]

#: What a block holds of every iteration beside labels and statistics.
TRACES = ("log_joint", "n_clusters", *NAMES)
_CARRIED = ("kernel_counters", "kernel_whole", "kernel_real")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Block(MeasureTraces):
    """Consecutive iterations of one chain; arrays have one row per iteration kept.

    Attributes
    ----------
    labels : (kept, n) int32
    n_clusters, log_joint, log_u, alpha, sigma, tau, theta : (kept,)
    stats : dict
        What the kernel counted, (kept,) each.

    >>> from hedgerow import DP, GaussianWishart, Gibbs
    >>> chain = Chain(Mixture(DP(), GaussianWishart()), [[0.0], [0.1], [9.0]], Gibbs(), seed=0)
    >>> Block.join([chain.run(2), chain.run(3)]).labels.shape
    (5, 3)
    """

    labels: IntArray
    n_clusters: IntArray
    log_joint: FloatArray
    stats: dict[str, FloatArray]

    def __len__(self) -> int:
        """Number of iterations kept."""
        return len(self.n_clusters)

    @property
    def nbytes(self) -> int:
        """Memory of the labels, which is nearly all of it."""
        return int(self.labels.nbytes)

    @classmethod
    def join(cls, blocks: Sequence[Block]) -> Block:
        """Blocks of one chain, one after the other, as one.

        Parameters
        ----------
        blocks : sequence of Block

        Returns
        -------
        Block
        """
        if len(blocks) == 1:
            return blocks[0]
        parts = {name: np.concatenate([getattr(block, name) for block in blocks]) for name in TRACES}
        stats = {name: np.concatenate([block.stats[name] for block in blocks]) for name in blocks[0].stats}
        return cls(labels=np.concatenate([block.labels for block in blocks]), stats=stats, **parts)


class Chain:
    """A chain with its kernel and its own random numbers.

    Parameters
    ----------
    model : Mixture
        One that is open is resolved from X.
    X : array-like
    kernel : Kernel
    labels : array-like of int, optional
        The first partition; drawn row by row from the full conditionals if left out.
    seed, sequence : int
        The random numbers; sequences of one seed are independent.
    start : mapping, optional
        First values of log_u or u, alpha, sigma, tau, theta; those left out start at the prior's values, u at 1.
    update_u, update_hyper : bool
        Whether u and the hyper-parameters that have laws move.
    times : array-like, optional
        Group of every row, for a `MixedNRM` prior.
    bound : _core.Likelihood, optional
        The likelihood already bound to X, so that chains share it.
    stream : int, optional
        The old name of `sequence`.

    >>> from hedgerow import DP, GaussianWishart, Gibbs
    >>> chain = Chain(Mixture(DP(), GaussianWishart()), [[0.0], [0.1], [9.0]], Gibbs(), seed=0)
    >>> chain.warm_up(5, 0, 5)
    >>> chain.end_warm_up()
    >>> state = chain.state()
    >>> first = chain.run(3)
    >>> chain.restore(state)
    >>> bool((chain.run(3).labels == first.labels).all()), chain.log_joint() < 0
    (True, True)
    >>> chain.here().labels.shape
    (1, 3)
    >>> chain.log_mass() >= chain.log_joint()
    True
    """

    def __init__(
        self,
        model: Mixture,
        X: Any,
        kernel: Kernel,
        *,
        labels: npt.ArrayLike | None = None,
        seed: int,
        sequence: int = 0,
        start: Mapping[str, Any] | None = None,
        update_u: bool = True,
        update_hyper: bool = True,
        times: Any = None,
        bound: _core.Likelihood | None = None,
        stream: int | None = None,
    ) -> None:
        if stream is not None:
            warnings.warn("Chain(stream=...) is now Chain(sequence=...).", FutureWarning, stacklevel=2)
            sequence = stream
        if bound is None:
            model = model.resolve(X)
            bound = model.bind(X)
        n = bound.n_rows
        first = np.zeros(n, np.int32) if labels is None else as_labels(labels, n, "Chain")
        grouping = model.prior.group(times, n, "Chain")
        groups = None if grouping is None else grouping.codes
        site = Site(bound, model.prior.to_core(grouping), core_seed(seed), sequence, groups, partial(_at_power, model, X))
        self._plain, self._n = grouping is None, n
        self._core = _core.Chain(bound, site.prior, kernel.to_core(site), first, groups, site.seed, sequence)
        self._core.update_u = update_u
        self._core.update_hyper = update_hyper
        self._set_start(start or {}, first)
        if labels is None:
            self._core.start_sequentially()

    def _set_start(self, start: Mapping[str, Any], labels: IntArray) -> None:
        for name, value in start.items():
            require(name in ("u", *NAMES), "Chain", "start", start, f"name only u, {', '.join(NAMES)}")
            good = bool((np.isfinite(value) & (np.asarray(value) > 0)).all()) if name == "u" else fits(name, value)
            require(good, "Chain", name, value, "be finite and above 0" if name == "u" else "be finite and in its range")
        if not start:
            return
        state = self._core.state()["measure"]
        given = with_log_u(start)
        self._core.set_state(labels, packed({name: np.broadcast_to(given.get(name, x), np.shape(x)) for name, x in state.items()}))

    def spread(self, labels: npt.ArrayLike) -> None:
        """Begin anew from clusters of some rows: those of label -1 are put, one by one, where their full conditionals say.

        The partition counts as one that a chain has settled in: no tree's is tried in its place.

        Parameters
        ----------
        labels : (n,) int
            0 to K - 1, each used, or -1.

        >>> from hedgerow import DP, GaussianWishart, Gibbs
        >>> chain = Chain(Mixture(DP(), GaussianWishart()), [[0.0], [0.1], [9.0]], Gibbs(), seed=0)
        >>> chain.spread([0, -1, 1])
        >>> chain.here().labels[0, [0, 2]].tolist()
        [0, 1]
        """
        given, n = np.asarray(labels), self._n
        good = given.shape == (n,) and given.dtype.kind in "iu"
        if good:
            found = np.unique(given)
            found = found[found != -1]
            good = np.array_equal(found, np.arange(len(found)))
        require(good, "Chain.spread", "labels", labels, f"have {n} whole numbers, 0 to K - 1, each used, or -1")
        self._core.start_sequentially(np.ascontiguousarray(given, np.int32))
        self.settled = True

    @property
    def settled(self) -> bool:
        """Whether the chain set out from where `spread` had put it; states do not tell, and whoever restores one says it again."""
        return self._core.settled

    @settled.setter
    def settled(self, value: bool) -> None:
        self._core.settled = value

    def run(self, iterations: int, thin: int = 1) -> Block:
        """Advance by `iterations` × `thin` steps and keep every `thin`-th; ends the warm-up first if nobody has.

        Parameters
        ----------
        iterations, thin : int

        Returns
        -------
        Block
        """
        raw = self._core.run(iterations, thin)
        stats = {name: raw["stats"][:, i] for i, name in enumerate(self._core.stat_names)}
        return Block(
            labels=raw["labels"],
            n_clusters=raw["n_clusters"],
            log_joint=raw["log_joint"],
            stats=stats,
            **{name: raw[name][:, 0] if self._plain and name in LISTS else raw[name] for name in NAMES},
        )

    def warm_up(self, count: int, done: int, total: int) -> None:
        """Iterations done..done+count-1 of a warm-up of `total`: the kernel may adapt, nothing is kept.

        Parameters
        ----------
        count, done, total : int
        """
        self._core.warm_up(count, done, total)

    @property
    def warming(self) -> bool:
        """Whether the warm-up is still to end."""
        return self._core.warming

    def end_warm_up(self) -> None:
        """Between the last iteration of the warm-up and the first draw: every part of the kernel drops what it remembers."""
        self._core.end_warm_up()

    @property
    def n_clusters(self) -> int:
        """Clusters of the present state."""
        return self._core.n_clusters

    def log_joint(self) -> float:
        """Log joint of the present state.

        Returns
        -------
        float
        """
        return float(self._core.log_joint())

    def log_mass(self) -> float:
        """Estimate of the log mass of the mode that the present partition is a draw of: log p(x, c) − Σᵢ log p(cᵢ | the rest).

        Modes are compared by averages over draws. It counts too little where labels depend on each other.

        Returns
        -------
        float
        """
        return float(self._core.log_mass())

    def here(self) -> Block:
        """The present state as a block of one, without what the kernel counted.

        Returns
        -------
        Block
        """
        state = self._core.state()
        values = {name: np.atleast_1d(np.asarray(value, np.float64)) for name, value in state["measure"].items() if name in NAMES}
        traces = {name: value if name not in LISTS or self._plain else value[None] for name, value in values.items()}
        labels = canonical(np.asarray(state["labels"]))[None]
        count, height = np.array([self.n_clusters], np.int32), np.array([self.log_joint()])
        return Block(labels=labels, n_clusters=count, log_joint=height, stats={}, **traces)

    def state(self) -> dict[str, Any]:
        """Everything the next step needs: labels, u, hyper-parameters, random-number words, the stage, what the kernel carries.

        Returns
        -------
        dict
        """
        return self._core.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up where the chain that `state` came from was put down; what follows is the same to the last bit.

        Parameters
        ----------
        state : mapping
            As `state` gave it.
        """
        begun = not state.get("warming", True) or any(np.size(state.get(name, 0)) for name in _CARRIED)
        try:
            self._core.set_state(**(state if begun else {name: value for name, value in state.items() if name not in _CARRIED}))
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(
                "Chain.restore(state=...): state must be one that a chain of the same model, data and kernel was in. Got one "
                f"that does not fit: {error}."
            ) from error


def fresh(state: Mapping[str, Any]) -> dict[str, Any]:
    """The same state for a kernel that has yet to begin: what the one before it carried is left behind."""
    nothing = {"kernel_counters": np.empty(0, np.int32), "kernel_whole": np.empty(0, np.int32), "kernel_real": np.empty(0)}
    return {**state, **nothing, "warming": True}


def _at_power(model: Mixture, X: Any, share: float) -> _core.Likelihood:
    """The rows of X bound at a share of the model's power."""
    return replace(model, power=model.power * share).bind(X)
