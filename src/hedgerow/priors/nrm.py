"""Normalized random measures that keep u: the generalized gamma, inverse Gaussian and stable processes.

All three have the Lévy intensity α/Γ(1-σ) · w^(-1-σ) e^(-τw) dw of Lee & Choi (2014) and differ in which of
(α, σ, τ) are free. p(Π, u) = u^(n-1) e^(-ψ(u))/Γ(n) · Π_c κ(|c|,u).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from hedgerow import _core
from hedgerow.errors import ParameterError, require
from hedgerow.priors.base import Grouping, Prior, PriorDraw
from hedgerow.priors.counting import dp_expected, ngg_expected, stable_expected
from hedgerow.priors.laws import Beta, Gamma, Law
from hedgerow.priors.urns import draw_measure_urn
from hedgerow.reference import prior as reference

__all__ = ["NGG", "NIG", "NormalizedMeasure", "Stable"]


NEARLY_ZERO = 1e-6
"""Below this σ the expected number of clusters is that of the Dirichlet process, to as many digits as the quadrature has."""


class NormalizedMeasure(Prior):
    """What the three share: everything, once the parameters a class leaves out are filled in.

    >>> issubclass(NGG, NormalizedMeasure), NGG(sigma=0.0).u_integrates, NGG(sigma=0.3).u_integrates
    (True, True, False)
    """

    left_out: ClassVar[Mapping[str, float]] = MappingProxyType({})
    """What a class fixes of σ and τ."""

    def measure(self, values: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """(α, σ, τ)."""
        known = {**values, **self.left_out}
        return known["alpha"], known["sigma"], known["tau"]

    def __post_init__(self) -> None:
        """Refuse what is neither a number in range nor the law that fits; σ may be 0 where there is a τ."""
        there = vars(self).keys()
        for name in ("alpha", "sigma", "tau"):
            if name == "sigma" and name in there:
                self._fraction(name, zero="tau" in there)
            elif name in there:
                self._positive(name)

    @property
    def u_integrates(self) -> bool:
        """Whether this is a Dirichlet process by another name: σ fixed at 0."""
        return "sigma" not in self.laws() and bool(self.measure(self.values())[1] == 0)

    @property
    def factorizes(self) -> bool:
        """As the Dirichlet process does."""
        return self.u_integrates

    def urn(self, values: Mapping[str, Any]) -> tuple[Any, Any] | None:
        """That of the Dirichlet process where this is one."""
        return (self.measure(values)[0], 0.0) if self.u_integrates else None

    def to_core(self, grouping: Grouping | None = None) -> _core.Prior:
        """The same prior for the compiled core."""
        return self._compiled("dp" if self.u_integrates else "nrm", self.measure(self.values()))

    def _log_joint(self, sizes: NDArray[np.int64], log_u: ArrayLike, values: dict[str, Any]) -> Any:
        return reference.log_joint_at_log(sizes, log_u, *self.measure(values))

    def _log_integrated(self, sizes: NDArray[np.int64], values: dict[str, Any]) -> Any:
        return reference.log_dp_partition(sizes, self.measure(values)[0])

    def _expected_clusters(self, n: int) -> float:
        laws = self.laws()
        alpha, sigma, tau = self.measure(self.values())
        alphas, alpha_weights = _rule(laws.get("alpha"), alpha, 24)
        sigmas, sigma_weights = _rule(laws.get("sigma"), sigma, 14)
        taus, tau_weights = _rule(laws.get("tau"), tau, 24)
        total = 0.0
        for s, weight in zip(sigmas.tolist(), sigma_weights.tolist(), strict=True):
            table = _expected_table(n, alphas[:, None], s, taus[None, :])
            total += weight * float(alpha_weights @ table @ tau_weights)
        return total

    def _sample(self, n: int, values: dict[str, float], rng: Generator) -> PriorDraw:
        return PriorDraw(*draw_measure_urn(n, *self.measure(values), rng), values)


def _rule(law: Law | None, value: float, points: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights for one hyper-parameter: its law's rule, or the fixed value alone."""
    return (np.array([value]), np.ones(1)) if law is None else law.rule(points)


def _expected_table(n: int, alpha: NDArray[np.float64], sigma: float, tau: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected clusters for every pair of alpha (rows) and tau (columns) at one sigma."""
    shape = np.broadcast_shapes(alpha.shape, tau.shape)
    if sigma == 0:
        return np.broadcast_to(dp_expected(n, alpha), shape)
    if sigma < NEARLY_ZERO and tau.all():
        return np.broadcast_to(dp_expected(n, alpha * tau**sigma), shape)
    if not tau.any():
        return np.full(shape, stable_expected(n, sigma))
    return ngg_expected(n, sigma, np.log(alpha) + sigma * np.log(tau) - np.log(sigma))


@dataclass(frozen=True)
class NGG(NormalizedMeasure):
    """Normalized generalized gamma process, each hyper-parameter a number or a law.

    `alpha` > 0 (Gamma law), `sigma` in [0, 1) (Beta law), `tau` > 0 (Gamma law). sigma = 0 is the Dirichlet
    process; larger sigma gives more and smaller clusters, of order n^sigma. Only α·τ^σ matters
    for the partition, so leaving tau at 1 loses nothing.

    Parameters
    ----------
    alpha : float above 0 or Gamma
        The mass: the larger, the more clusters.
    sigma : float in [0, 1) or Beta
        0 for the Dirichlet process; the larger, the more clusters of few rows.
    tau : float above 0 or Gamma
        The scale of the measure.

    >>> round(NGG(alpha=1.0, sigma=0.5).expected_clusters(100), 1)
    21.4
    >>> NGG.from_nips2015(alpha=2.0, sigma=0.5)
    NGG(alpha=1.0, sigma=0.5, tau=1.0)
    """

    alpha: float | Gamma = 1.0
    sigma: float | Beta = 0.3
    tau: float | Gamma = 1.0

    @classmethod
    def examples(cls) -> tuple[NGG, NGG]:
        """One fixed, one with laws."""
        return cls(0.7, 0.3, 1.5), cls(Gamma(2, 2), Beta(2, 2))

    @classmethod
    def from_nips2015(cls, alpha: float | Gamma, sigma: float) -> NGG:
        """The prior that Lee & Choi (2015) write as (α, σ): their intensity has ασ where ours has α, and τ
        = 1.

        A Gamma(a, b) law on their α becomes Gamma(a, b/σ). A law on their σ is refused: ασ would then be a
        hyper-parameter that depends on another one, which no pair of independent laws expresses.

        Parameters
        ----------
        alpha : float or Gamma
            Their α.
        sigma : float
            Their σ, above 0 and below 1.

        Returns
        -------
        NGG
        """
        owner = "NGG.from_nips2015"
        if isinstance(sigma, (Beta, Gamma)):
            raise ParameterError(
                f"{owner}(sigma={sigma!r}): sigma must be a number in (0, 1). Under a law on it the product "
                f"alpha*sigma, which is this package's alpha, depends on sigma, and independent laws cannot "
                f"say that. Got {sigma!r}."
            )
        checked = cls(alpha=alpha, sigma=sigma)
        require(checked.values()["sigma"] > 0, owner, "sigma", sigma, "lie in (0, 1)")
        s = checked.values()["sigma"]
        if isinstance(alpha, Gamma):
            return cls(alpha=Gamma(alpha.a, alpha.b / s), sigma=s)
        return cls(alpha=checked.values()["alpha"] * s, sigma=s)


@dataclass(frozen=True)
class NIG(NormalizedMeasure):
    """Normalized inverse Gaussian process (Lijoi, Mena & Prünster 2005): NGG with sigma = 1/2.

    Parameters
    ----------
    alpha, tau : float above 0 or Gamma
        As for `NGG`.

    >>> round(NIG(alpha=1.0).expected_clusters(100), 1)
    21.4
    """

    alpha: float | Gamma = 1.0
    tau: float | Gamma = 1.0
    left_out: ClassVar[Mapping[str, float]] = MappingProxyType({"sigma": 0.5})

    @classmethod
    def examples(cls) -> tuple[NIG, NIG]:
        """One fixed, one with laws."""
        return cls(0.5, 0.8), cls(Gamma(2, 3), Gamma(2, 2))


@dataclass(frozen=True)
class Stable(NormalizedMeasure):
    """Normalized stable process (Kingman 1975): NGG with tau = 0.

    Its partition law depends on `sigma` alone; `alpha` only sets the scale of u.

    Parameters
    ----------
    alpha : float above 0 or Gamma
        The scale of u.
    sigma : float in (0, 1) or Beta
        The larger, the more clusters.

    >>> round(Stable(sigma=0.5).expected_clusters(100), 1)
    11.3
    """

    alpha: float | Gamma = 1.0
    sigma: float | Beta = 0.5
    left_out: ClassVar[Mapping[str, float]] = MappingProxyType({"tau": 0.0})

    @classmethod
    def examples(cls) -> tuple[Stable, Stable]:
        """One fixed, one with laws."""
        return cls(1.3, 0.45), cls(Gamma(2, 2), Beta(3, 3))
