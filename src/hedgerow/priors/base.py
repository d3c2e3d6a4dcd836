"""What every prior is: a frozen value object that knows the law of a random partition.

A prior's hyper-parameters are its dataclass fields, each a number (fixed) or a law (sampled). The symbols and
formulas are those of `hedgerow.reference.prior`, which does the arithmetic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from hedgerow import _core
from hedgerow.arguments import check_whole, generator, real_number
from hedgerow.data.groups import Levels
from hedgerow.docstrings import explained
from hedgerow.errors import ParameterError, require
from hedgerow.priors.laws import LARGEST, LEAST_FRACTION, Beta, Gamma, Law, positive_number
from hedgerow.priors.state import VALUES

__all__ = ["Grouping", "Prior", "PriorDraw"]

Labels = NDArray[np.int32]
_drawn = partial(explained, "n : int\nseed : int or numpy.random.Generator, optional")


class PriorDraw(NamedTuple):
    """One draw of everything the prior speaks of.

    Attributes
    ----------
    labels : (n,) int32
        The partition.
    u : float
        The auxiliary variable.
    values : dict
        Hyper-parameters and the prior's auxiliaries by name.

    >>> from hedgerow.priors import NGG
    >>> draw = NGG().sample_joint(5, seed=0)
    >>> draw.labels.shape, draw.u > 0, sorted(draw.values)
    ((5,), True, ['alpha', 'sigma', 'tau'])
    """

    labels: Labels
    u: float
    values: dict[str, float]


@dataclass(frozen=True)
class Grouping:
    """Rows in groups under a dependent prior: group of every row, what the groups stand for, q[t, r].

    Attributes
    ----------
    codes : (n,) int32
        The group of every row.
    levels : Levels
        What the groups stand for.
    q : (groups, bases)
        How much of each basis measure a group has.

    >>> from hedgerow.priors import DP, MixedNRM
    >>> MixedNRM(DP(), decay=0.5).group([2001, 2001, 2003], 3).codes
    array([0, 0, 1], dtype=int32)
    """

    codes: Labels
    levels: Levels
    q: NDArray[np.float64]


class Prior(ABC):
    """The law of a random partition, with its hyper-parameters and its auxiliary variable u.

    Those of the house are in `hedgerow.priors.PRIORS`.

    >>> from hedgerow.priors import DP, NGG, Gamma, MixedNRM
    >>> prior = NGG(alpha=Gamma(1, 1), sigma=0.25)
    >>> prior.values(), prior.laws()
    ({'alpha': 1.0, 'sigma': 0.25, 'tau': 1.0}, {'alpha': Gamma(a=1.0, b=1.0)})
    >>> round(float(prior.log_partition([3, 2], u=1.0, alpha=2.0)), 4)
    -6.4403
    >>> prior.sample_partition(4, seed=1).shape, prior.sample_joint(4, seed=1).u > 0
    ((4,), True)
    >>> round(DP().expected_clusters(100), 3), DP().urn(DP().values()), DP().measure(DP().values())
    (5.187, (1.0, 0.0), (1.0, 0.0, 1.0))
    >>> prior.shared() is prior, prior.group(None, 4) is None
    (True, True)
    >>> [type(example).__name__ for example in DP.examples()], type(prior.to_core()).__name__
    (['DP', 'DP'], 'Prior')
    >>> mixed = MixedNRM(DP(), q=[[1.0], [1.0]])
    >>> groups = mixed.group([0, 1], 2)
    >>> round(mixed.log_grouped([[1, 1]], [0.5, 0.5], groups), 4)
    -2.0794
    """

    auxiliaries: ClassVar[tuple[str, ...]] = ()
    """Variables beside u that a chain may carry for this prior and that integrate out with it."""

    grouped: ClassVar[bool] = False
    """Whether rows come in groups, which `group` reads from their times."""

    @classmethod
    def examples(cls) -> tuple[Prior, Prior]:
        """One with all hyper-parameters fixed and one with laws, for the exam and the tests; with groups, over two of them.

        Returns
        -------
        tuple of two priors
        """
        return cls(), cls()

    @property
    @abstractmethod
    def u_integrates(self) -> bool:
        """Whether p(Π) has a closed form and chains integrate u out."""

    @property
    def factorizes(self) -> bool:
        """Whether p(Π), with u integrated out, is a product over clusters, so that trees need no u."""
        return False

    def values(self) -> dict[str, float]:
        """Starting values of all hyper-parameters: the number, or the law's mean.

        Returns
        -------
        dict
        """
        given = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return {name: value.mean if isinstance(value, (Gamma, Beta)) else value for name, value in given}

    def laws(self) -> dict[str, Law]:
        """The hyper-parameters that are sampled, with their laws.

        Returns
        -------
        dict
        """
        given = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return {name: value for name, value in given if isinstance(value, (Gamma, Beta))}

    def carried(self) -> tuple[str, ...]:
        """What of the state of a measure draws of this prior have.

        Returns
        -------
        tuple of str

        >>> from hedgerow import DP
        >>> "alpha" in DP().carried()
        True
        """
        own = self.values()
        return tuple(name for name, value in VALUES.items() if value.common or name in own)

    def log_partition(
        self,
        sizes: ArrayLike,
        u: ArrayLike | None = None,
        *,
        log_u: ArrayLike | None = None,
        **values: ArrayLike,
    ) -> Any:
        """Log p(Π, u | values) of a partition with these cluster sizes; log p(Π | values) when u is None.

        `values` override the starting values by name. Only priors with `u_integrates` have the closed form
        that u=None asks for. u and the values may be arrays that broadcast; the answer is then an array. With
        u given, `PitmanYor` also takes alpha, which it integrates out otherwise. `log_u` can stand in for u
        where u itself would leave the floats; the answer is a density in u all the same.

        Parameters
        ----------
        sizes : sequence of int
            Rows of each cluster.
        u : array-like, optional
        log_u : array-like, optional
            Instead of u.
        **values : array-like
            Hyper-parameters by name.

        Returns
        -------
        float or array
        """
        owner = type(self).__name__
        counts = _checked_sizes(owner, sizes)
        if u is not None:
            require(log_u is None, f"{owner}.log_partition", "log_u", log_u, "be left out when u is given")
            require(bool(np.all(np.asarray(u, float) > 0)), f"{owner}.log_partition", "u", u, "be above 0")
            log_u = np.log(u)
        complete: dict[str, Any] = dict(self.values())
        for name, value in values.items():
            if name not in complete and not (name in self.auxiliaries and log_u is not None):
                raise ParameterError(f"{owner}.log_partition({name}=...): {owner} has no {name}, only {', '.join(complete)}.")
            complete[name] = value
        if log_u is None:
            if not self.u_integrates:
                raise ParameterError(
                    f"{owner}.log_partition(u=None): u must be a number, as {owner} has no closed form with u integrated out. Got None."
                )
            result = self._log_integrated(counts, complete)
        else:
            result = self._log_joint(counts, log_u, complete)
        return float(result) if np.ndim(result) == 0 else result

    def expected_clusters(self, n: int) -> float:
        """The expected number of clusters among n points, over u and the sampled hyper-parameters.

        Parameters
        ----------
        n : int

        Returns
        -------
        float
        """
        return self._expected_clusters(_checked_n(type(self).__name__, "expected_clusters", n))

    @_drawn("(n,) int32")
    def sample_partition(self, n: int, seed: int | Generator | None = None) -> Labels:
        """Canonical labels of a random partition of n points; sampled hyper-parameters are drawn first."""
        return self.sample_joint(n, seed).labels

    @_drawn("PriorDraw")
    def sample_joint(self, n: int, seed: int | Generator | None = None) -> PriorDraw:
        """An exact draw of (partition, u, hyper-parameters) for n points."""
        n = _checked_n(type(self).__name__, "sample_joint", n)
        rng = generator(f"{type(self).__name__}.sample_joint", seed)
        values = self.values() | {name: law.sample(rng) for name, law in self.laws().items()}
        return self._sample(n, values, rng)

    def shared(self) -> Prior:
        """The prior of a single group: itself, or the base that the measures of a grouped prior follow.

        Returns
        -------
        Prior
        """
        return self

    def urn(self, values: Mapping[str, Any]) -> tuple[Any, Any] | None:
        """(θ, σ) of the two-parameter urn that draws the partition without u; None where u must be kept.

        Parameters
        ----------
        values : mapping
            Hyper-parameters by name, as `values()` gives them.

        Returns
        -------
        (θ, σ) or None
        """
        return None

    def log_grouped(self, counts: ArrayLike, xi: ArrayLike, grouping: Grouping, **values: Any) -> float:
        """Log p(Π, ξ) for a table of counts (clusters, groups), under a grouped prior.

        Parameters
        ----------
        counts : (clusters, groups) of int
            Rows of each cluster in each group.
        xi : (groups,)
            u of every group.
        grouping : Grouping
        **values :
            Hyper-parameters by name.

        Returns
        -------
        float
        """
        raise ParameterError(f"{type(self).__name__}.log_grouped(...): the prior must have groups, as MixedNRM has.")

    @abstractmethod
    def measure(self, values: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """(α, σ, τ) of the normalized random measure behind this prior, from its hyper-parameters.

        Parameters
        ----------
        values : mapping
            Hyper-parameters by name.

        Returns
        -------
        (α, σ, τ)
        """

    @abstractmethod
    def to_core(self, grouping: Grouping | None = None) -> _core.Prior:
        """The same prior for the compiled core.

        Parameters
        ----------
        grouping : Grouping, optional
            The groups of the rows, where the prior has any.

        Returns
        -------
        _core.Prior
        """

    def group(self, times: object, n: int | None, owner: str = "Prior") -> Grouping | None:
        """The groups of the rows: None here, for one group; dependent priors read them from `times`.

        Parameters
        ----------
        times : array-like or None
            Time or place of every row.
        n : int or None
            How many rows there must be.
        owner : str
            Who asks, for the error.

        Returns
        -------
        Grouping or None
        """
        require(times is None, owner, "times", times, "be left out: only a MixedNRM prior has groups")
        return None

    @abstractmethod
    def _log_joint(self, sizes: NDArray[np.int64], log_u: ArrayLike, values: dict[str, Any]) -> Any:
        """Log p(Π, u | values) at u = exp(log_u)."""

    def _log_integrated(self, sizes: NDArray[np.int64], values: dict[str, Any]) -> Any:
        """Log p(Π | values), for priors with `u_integrates`."""
        raise TypeError(f"{type(self).__name__} sets u_integrates without a closed form")

    @abstractmethod
    def _expected_clusters(self, n: int) -> float:
        """See `expected_clusters`; n is checked."""

    @abstractmethod
    def _sample(self, n: int, values: dict[str, float], rng: Generator) -> PriorDraw:
        """Draw the rest given the hyper-parameters."""

    def _positive(self, name: str, most: float = LARGEST) -> None:
        """Check a field that is a positive number or a Gamma law."""
        value, owner = getattr(self, name), type(self).__name__
        if isinstance(value, Gamma):
            return
        require(not isinstance(value, Beta), owner, name, value, "be a number above 0 or a Gamma law")
        object.__setattr__(self, name, positive_number(owner, name, value, most=most))

    def _fraction(self, name: str, *, zero: bool) -> None:
        """Check a field that is a number in (0, 1), or in [0, 1) when `zero`, or a Beta law."""
        value, owner = getattr(self, name), type(self).__name__
        if isinstance(value, Beta):
            return
        interval = "[0, 1)" if zero else "(0, 1)"
        require(not isinstance(value, Gamma), owner, name, value, f"be a number in {interval} or a Beta law")
        number = real_number(value)
        inside = 0 < number < 1 or (zero and number == 0)
        require(inside, owner, name, value, f"lie in {interval}")
        edge = number == 0 or LEAST_FRACTION <= number <= 1 - LEAST_FRACTION
        require(edge, owner, name, value, f"{'be 0 or ' if zero else ''}lie at least {LEAST_FRACTION:.0e} from 0 and from 1")
        object.__setattr__(self, name, number)

    def _compiled(self, kind: str, measure: tuple[float, float, float], q: NDArray[np.float64] | None = None) -> _core.Prior:
        """The core's prior: start values of (α, σ, τ) and, by name, of what else some prior has; laws by name."""
        own = self.values()
        values = dict(zip(("alpha", "sigma", "tau"), measure, strict=True))
        values |= {name: own.get(name, 0.0) for name, value in VALUES.items() if not value.common}
        return _core.Prior(kind, values, {name: (law.a, law.b) for name, law in self.laws().items()}, q)


def _checked_n(owner: str, method: str, n: object) -> int:
    check_whole(f"{owner}.{method}", "n", n)
    return int(n)  # type: ignore[call-overload,no-any-return]


def _checked_sizes(owner: str, sizes: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(sizes)
    good = given.ndim == 1 and given.size > 0 and np.issubdtype(given.dtype, np.number)
    good = good and bool(np.all(given >= 1)) and bool(np.all(given == np.floor(given)))
    require(good, f"{owner}.log_partition", "sizes", sizes, "be a list of positive whole numbers")
    return given.astype(np.int64)
