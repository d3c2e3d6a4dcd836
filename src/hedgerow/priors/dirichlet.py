"""The Dirichlet process prior (Ferguson 1973): σ = 0, τ = 1, and u integrates out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from hedgerow import _core
from hedgerow.priors.base import Grouping, Prior, PriorDraw
from hedgerow.priors.counting import dp_expected
from hedgerow.priors.laws import MOST, Gamma
from hedgerow.priors.urns import draw_two_parameter_urn
from hedgerow.reference import prior as reference

__all__ = ["DP"]


@dataclass(frozen=True)
class DP(Prior):
    """Dirichlet process with mass `alpha`, a number or a Gamma law.

    p(Π) = Γ(α)/Γ(α+n) · Π_c α Γ(|c|); about α log(1 + n/α) clusters among n points.

    Parameters
    ----------
    alpha : float above 0 or Gamma
        The mass: the larger, the more clusters. A law is sampled along with the partition.

    >>> prior = DP(alpha=2.0)
    >>> round(prior.expected_clusters(100), 2)
    8.39
    >>> DP(alpha=Gamma(1, 1)).laws()
    {'alpha': Gamma(a=1.0, b=1.0)}
    """

    alpha: float | Gamma = 1.0

    u_integrates = True
    factorizes = True

    @classmethod
    def examples(cls) -> tuple[DP, DP]:
        """One fixed, one with a law."""
        return cls(0.8), cls(Gamma(2, 2))

    def __post_init__(self) -> None:
        """Refuse an alpha that is neither a positive number nor a Gamma law."""
        self._positive("alpha", MOST)

    def measure(self, values: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """(α, σ, τ) = (alpha, 0, 1)."""
        return values["alpha"], 0.0, 1.0

    def urn(self, values: Mapping[str, Any]) -> tuple[Any, Any]:
        """(alpha, 0): Blackwell and MacQueen's."""
        return values["alpha"], 0.0

    def to_core(self, grouping: Grouping | None = None) -> _core.Prior:
        """The same prior for the compiled core."""
        return self._compiled("dp", self.measure(self.values()))

    def _log_joint(self, sizes: NDArray[np.int64], log_u: ArrayLike, values: dict[str, Any]) -> Any:
        return reference.log_joint_at_log(sizes, log_u, *self.measure(values))

    def _log_integrated(self, sizes: NDArray[np.int64], values: dict[str, Any]) -> Any:
        return reference.log_dp_partition(sizes, values["alpha"])

    def _expected_clusters(self, n: int) -> float:
        if isinstance(self.alpha, Gamma):
            nodes, weights = self.alpha.rule(48)
            return float(weights @ dp_expected(n, nodes))
        return float(dp_expected(n, self.alpha))

    def _sample(self, n: int, values: dict[str, float], rng: Generator) -> PriorDraw:
        labels = draw_two_parameter_urn(n, values["alpha"], 0.0, rng)
        return PriorDraw(labels, beta_prime(n, values["alpha"], rng), values)


def beta_prime(n: int, theta: float, rng: Generator) -> float:
    """A draw of u when it is Gamma(n)/Gamma(θ) whatever the partition, kept inside the floats."""
    ratio = rng.gamma(n) / max(rng.gamma(theta), float(np.finfo(float).tiny))
    return float(min(max(ratio, 1e-300), 1e300))
