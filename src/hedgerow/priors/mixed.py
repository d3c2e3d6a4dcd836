"""MixedNRM: dependent partitions for data in groups (times, places), as a mixture of shared basis measures.

Group t draws its points from the normalised μ_t = Σ_r q[t,r] ν_r, where ν_1..ν_R are independent measures with the
base's intensity. Near groups share q and hence clusters (Lee & Choi 2014, section 2.3). One auxiliary ξ_t per group takes
the place of u; which ν_r a cluster came from is summed out.

    p(Π, ξ) = Π_t ξ_t^(n_t−1)/Γ(n_t) · Π_r e^(−ψ_r(ξ̄_r)) · Π_c Σ_r q̄[c,r] κ_r(|c|, ξ̄_r),   ξ̄_r = Σ_t q[t,r] ξ_t
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from hedgerow import _core
from hedgerow.arguments import real_number
from hedgerow.data.groups import Levels, read_levels
from hedgerow.errors import ParameterError, require
from hedgerow.priors.base import Grouping, Prior, PriorDraw
from hedgerow.priors.dirichlet import DP
from hedgerow.priors.laws import LARGEST, Gamma, Law
from hedgerow.priors.nrm import NGG, NormalizedMeasure
from hedgerow.reference import mixed as reference

__all__ = ["MixedNRM"]

FloatArray = npt.NDArray[np.float64]

LEAST_SHAPE = 0.02
"""Of Gamma(a, b) about 1e-300^a lies below 1e-300: a millionth here. Several alphas cannot be held there as one can."""


@dataclass(frozen=True, eq=False)
class MixedNRM(Prior):
    """Partitions of rows in groups, dependent through shared basis measures.

    Parameters
    ----------
    base : DP, NGG, NIG or Stable
        The measure every basis measure follows, each with its own alpha when that has a law, which must then, but for DP, have a
        shape of 0.02 or more.
    basis : iterable, optional
        Where the basis measures stand: numbers on the scale of the times, labels among them, or coordinates. By default one at
        every group.
    decay : float, optional
        q[t, r] = exp(−decay · distance between group t and basis r).
    kernel : callable, optional
        q[t, r] = kernel(t, r) for a group and a basis as they were given.
    q : array-like (groups, bases), optional
        The matrix itself; groups in sorted order.

    Exactly one of `decay`, `kernel` and `q` is given. Times that are numbers or coordinates are measured as they are;
    dates and labels stand at 1, 2, ... in sorted order.

    >>> from hedgerow.priors import NGG
    >>> prior = MixedNRM(NGG(1.0, 0.3, 1e-3), basis=range(2, 16, 2), decay=0.2)
    >>> prior.group([1, 1, 2, 3], 4).q.shape
    (3, 7)
    """

    base: Prior
    basis: Any = None
    decay: float | None = None
    kernel: Callable[[Any, Any], float] | None = None
    q: Any = None

    u_integrates = False
    grouped: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> tuple[MixedNRM, MixedNRM]:
        """Two groups over two basis measures, of each kind that a base can be."""
        q = [[1.0, 0.3], [0.2, 1.0]]
        return cls(NGG(0.9, 0.3, 0.5), q=q), cls(DP(Gamma(2, 2)), q=q)

    def __post_init__(self) -> None:
        """Check the base and that one way to q is given."""
        good = isinstance(self.base, (NormalizedMeasure, DP))
        require(good, "MixedNRM", "base", self.base, "be a DP, NGG, NIG or Stable prior")
        alpha = self.base.laws().get("alpha")
        good = isinstance(self.base, DP) or not isinstance(alpha, Gamma) or alpha.a >= LEAST_SHAPE
        words = f"have a law of alpha with a shape of {LEAST_SHAPE} or more; with less, too much of it lies below every float"
        require(good, "MixedNRM", "base", self.base, words)
        ways = [name for name in ("decay", "kernel", "q") if getattr(self, name) is not None]
        if len(ways) != 1:
            raise ParameterError(
                f"MixedNRM(...): exactly one of decay, kernel and q must be given. Got {', '.join(ways) or 'none of them'}."
            )
        if self.decay is not None:
            good = 0 <= real_number(self.decay) <= LARGEST
            require(good, "MixedNRM", "decay", self.decay, f"be a number from 0 to {LARGEST:.0e}")
        if self.kernel is not None:
            require(callable(self.kernel), "MixedNRM", "kernel", self.kernel, "be callable")
        if self.basis is not None:
            given = list(self.basis) if isinstance(self.basis, Iterable) and getattr(self.basis, "ndim", 1) != 0 else []
            require(len(given) > 0, "MixedNRM", "basis", self.basis, "be a sequence of at least one place")
            require(self.q is None, "MixedNRM", "basis", self.basis, "be left out when q is given")
            object.__setattr__(self, "basis", np.asarray(given))
        if self.q is not None:
            matrix = _as_matrix(self.q)
            _check_q(matrix)
            matrix.setflags(write=False)
            object.__setattr__(self, "q", matrix)

    def __eq__(self, other: object) -> bool:
        """Equal by value."""
        if not isinstance(other, MixedNRM):
            return NotImplemented
        same = self.base == other.base and self.decay == other.decay and self.kernel is other.kernel
        return same and _same(self.basis, other.basis) and _same(self.q, other.q)

    def __hash__(self) -> int:
        """By what is cheap and hashable."""
        return hash((self.base, self.decay))

    def values(self) -> dict[str, float]:
        """Those of the base."""
        return self.base.values()

    def laws(self) -> dict[str, Law]:
        """Those of the base."""
        return self.base.laws()

    def shared(self) -> Prior:
        """The base."""
        return self.base

    def measure(self, values: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """(α, σ, τ) of every basis measure."""
        return self.base.measure(values)

    def group(self, times: object, n: int | None, owner: str = "MixedNRM") -> Grouping:
        """The groups of rows with these times, and the mixing matrix between them and the basis measures."""
        if times is None:
            raise ParameterError(f"{owner}(times=None): times must be given, one per row of X: the prior is a MixedNRM.")
        levels, codes = read_levels(times, n, owner)
        return Grouping(codes, levels, self._mixing(levels))

    def _mixing(self, levels: Levels) -> FloatArray:
        if self.q is not None:
            wanted = f"have one row for each of the {len(levels)} groups in times"
            require(len(self.q) == len(levels), "MixedNRM", "q", self.q, wanted)
            return np.array(self.q)
        bases = levels.names if self.basis is None else self.basis
        if self.kernel is not None:
            matrix = np.array([[float(self.kernel(t, r)) for r in bases] for t in levels.names], ndmin=2)
        else:
            matrix = np.exp(-float(self.decay or 0.0) * _distances(levels, bases))
        _check_q(matrix)
        return matrix

    def to_core(self, grouping: Grouping | None = None) -> _core.Prior:
        """The same prior for the compiled core, over these groups."""
        if grouping is None:
            raise ParameterError("MixedNRM.to_core(grouping=None): the groups must be given; pass times= where the data go.")
        return self._compiled("nrm", self.base.measure(self.values()), np.ascontiguousarray(grouping.q))

    def log_grouped(self, counts: ArrayLike, xi: ArrayLike, grouping: Grouping, **values: Any) -> float:
        """Log p(Π, ξ) for a table of counts (clusters, groups); alpha may be one number per basis measure."""
        alpha, sigma, tau = self.base.measure(self.values() | values)
        return reference.log_mixed_joint(counts, xi, grouping.q, alpha, sigma, tau)

    def _log_joint(self, sizes: NDArray[np.int64], log_u: ArrayLike, values: dict[str, Any]) -> Any:
        raise ParameterError("MixedNRM.log_partition(...): sizes do not suffice; use log_grouped with counts per group.")

    def _expected_clusters(self, n: int) -> float:
        raise ParameterError("MixedNRM.expected_clusters(...): this prior has no closed form for it; ask its base instead.")

    def _sample(self, n: int, values: dict[str, float], rng: Generator) -> PriorDraw:
        raise ParameterError("MixedNRM.sample_partition(...): this prior cannot be drawn from exactly; ask its base instead.")


def _distances(levels: Levels, bases: npt.NDArray[Any]) -> FloatArray:
    """Distances between groups and basis measures, on the scale of the times."""
    places = levels.places
    if bases.dtype.kind in "iuf" and bases.ndim == places.ndim:
        where = bases.astype(float)
    else:
        position = dict(zip(levels.names.tolist(), places.tolist(), strict=True))
        known = [name in position for name in bases.tolist()]
        missing = [name for name, found in zip(bases.tolist(), known, strict=True) if not found]
        require(not missing, "MixedNRM", "basis", missing, "be places on the scale of the times, or labels among them")
        where = np.array([position[name] for name in bases.tolist()])
    if places.ndim == 1:
        return np.asarray(np.abs(places[:, None] - where[None, :]))
    return np.asarray(np.sqrt(((places[:, None, :] - where[None, :, :]) ** 2).sum(axis=2)))


def _as_matrix(q: Any) -> FloatArray:
    try:
        return np.array(q, dtype=float, ndmin=2)
    except (TypeError, ValueError, OverflowError):
        require(False, "MixedNRM", "q", q, "be a matrix (groups, bases) of finite numbers from 0 up")
        raise


def _check_q(matrix: FloatArray) -> None:
    good = matrix.ndim == 2 and matrix.size > 0 and bool(np.isfinite(matrix).all()) and bool((matrix >= 0).all())
    require(good, "MixedNRM", "q", matrix, "be a matrix (groups, bases) of finite numbers from 0 up")
    require(bool((matrix > 0).any(axis=1).all()), "MixedNRM", "q", matrix, "reach at least one basis measure from every group")


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)
