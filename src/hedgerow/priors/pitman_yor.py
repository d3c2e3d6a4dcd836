"""The Pitman-Yor prior with positive θ: NGG with a Gamma law on α, and both α and u integrate out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from hedgerow import _core
from hedgerow.priors.base import Grouping, Prior, PriorDraw
from hedgerow.priors.counting import py_expected
from hedgerow.priors.dirichlet import beta_prime
from hedgerow.priors.laws import MOST, Beta, Gamma
from hedgerow.priors.urns import draw_two_parameter_urn
from hedgerow.reference import prior as reference

__all__ = ["PitmanYor"]


@dataclass(frozen=True)
class PitmanYor(Prior):
    """Pitman-Yor process with strength `theta` > 0 and discount `sigma` in (0, 1).

    It is NGG(α, σ, τ = 1) with α ~ Gamma(θ/σ, rate 1/σ) (Pitman & Yor 1997), so p(Π) has a closed form.
    With u given, `log_partition` is p(Π, u) with α integrated out; u is then independent of the partition.

    Parameters
    ----------
    theta : float above 0 or Gamma
        The strength: the larger, the more clusters.
    sigma : float in (0, 1) or Beta
        The discount: clusters grow like n^sigma.

    >>> prior = PitmanYor(theta=1.0, sigma=0.25)
    >>> prior.sample_partition(5, seed=0)
    array([0, 0, 1, 1, 0], dtype=int32)
    >>> round(float(prior.log_partition([3, 2])), 4)
    -4.5801
    """

    theta: float | Gamma = 1.0
    sigma: float | Beta = 0.25

    u_integrates = True
    auxiliaries: ClassVar[tuple[str, ...]] = ("alpha",)

    @classmethod
    def examples(cls) -> tuple[PitmanYor, PitmanYor]:
        """One fixed, one with laws."""
        return cls(0.6, 0.3), cls(Gamma(2, 2), Beta(2, 3))

    def __post_init__(self) -> None:
        """Refuse what is neither a number in range nor the law that fits."""
        self._positive("theta", MOST)
        self._fraction("sigma", zero=False)

    def measure(self, values: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """(α, σ, τ) = (alpha, sigma, 1): α is an auxiliary variable here, so the values must hold it."""
        return values["alpha"], values["sigma"], 1.0

    def urn(self, values: Mapping[str, Any]) -> tuple[Any, Any]:
        """(theta, sigma)."""
        return values["theta"], values["sigma"]

    def to_core(self, grouping: Grouping | None = None) -> _core.Prior:
        """The same prior for the compiled core; alpha starts at its mean, θ."""
        values = self.values()
        return self._compiled("py", (values["theta"], values["sigma"], 1.0))

    def _log_joint(self, sizes: NDArray[np.int64], log_u: ArrayLike, values: dict[str, Any]) -> Any:
        theta, sigma = np.asarray(values["theta"], float), np.asarray(values["sigma"], float)
        if "alpha" not in values:
            return reference.log_py_joint_at_log(sizes, log_u, theta, sigma)
        alpha = np.asarray(values["alpha"], float)
        shape = theta / sigma
        log_law = (shape - 1) * np.log(alpha) - alpha / sigma - shape * np.log(sigma) - gammaln(shape)
        return log_law + reference.log_joint_at_log(sizes, log_u, *self.measure(values))

    def _log_integrated(self, sizes: NDArray[np.int64], values: dict[str, Any]) -> Any:
        return reference.log_py_partition(sizes, values["theta"], values["sigma"])

    def _expected_clusters(self, n: int) -> float:
        values = self.values()
        theta, weight_theta = self.theta.rule(48) if isinstance(self.theta, Gamma) else ([values["theta"]], [1.0])
        sigma, weight_sigma = self.sigma.rule(32) if isinstance(self.sigma, Beta) else ([values["sigma"]], [1.0])
        table = py_expected(n, np.asarray(theta)[:, None], np.asarray(sigma)[None, :])
        return float(np.asarray(weight_theta) @ table @ np.asarray(weight_sigma))

    def _sample(self, n: int, values: dict[str, float], rng: Generator) -> PriorDraw:
        theta, sigma = values["theta"], values["sigma"]
        labels = draw_two_parameter_urn(n, theta, sigma, rng)
        u = beta_prime(n, theta, rng)
        # Given Π and u, α is Gamma(θ/σ + K, rate (1+u)^σ/σ).
        alpha = float(rng.gamma(theta / sigma + labels.max() + 1)) * sigma / (1 + u) ** sigma
        return PriorDraw(labels, u, values | {"alpha": max(alpha, float(np.finfo(float).tiny))})
