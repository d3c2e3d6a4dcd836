"""Which reference function is the twin of which likelihood class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.likelihoods import Bernoulli, Categorical, GaussianDiagonal, GaussianWishart, Multinomial, Poisson, Product
from hedgerow.reference import likelihoods as reference

__all__ = ["TWINS", "twin_log_marginals"]

TWINS: dict[type, Callable[[Any, Any], float]] = {
    GaussianWishart: lambda m, X: reference.gaussian_wishart_log_marginal(X, m.mean, m.r, m.nu, m.psi),
    GaussianDiagonal: lambda m, X: reference.gaussian_diagonal_log_marginal(X, m.mean, m.r, m.a, m.b),
    Multinomial: lambda m, X: reference.multinomial_log_marginal(X, m.beta),
    Bernoulli: lambda m, X: reference.bernoulli_log_marginal(X, m.a, m.b),
    Poisson: lambda m, X: reference.poisson_log_marginal(X, m.a, m.b),
    Categorical: lambda m, X: reference.categorical_log_marginal(m.codes(X), m.beta),
    Product: lambda m, X: sum(TWINS[type(part)](part, X[:, places]) for places, part in m.groups()),
}
"""From a resolved likelihood and the checked rows of one cluster to log p(X_c)."""


def twin_log_marginals(likelihood: Any, X: Any, labels: NDArray[np.int32]) -> NDArray[np.float64] | None:
    """log p(X_c) of every cluster by the reference; None when this class has no twin there."""
    twin = TWINS.get(type(likelihood))
    if twin is None:
        return None
    return np.array([twin(likelihood, X[np.flatnonzero(labels == c)]) for c in range(labels.max() + 1)])
