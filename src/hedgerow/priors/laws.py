"""Laws for sampled hyper-parameters: Gamma(a, b) on the positive line and Beta(a, b) on the unit interval.

A hyper-parameter given as a number is fixed; given as one of these laws it is sampled with the partition.
Both laws also know a quadrature rule, so that an expectation over a prior need not be a Monte-Carlo
average.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.special import betaln, expit, gammaln, xlog1py, xlogy

from hedgerow.arguments import real_number
from hedgerow.docstrings import explained
from hedgerow.errors import require

__all__ = ["Beta", "Gamma", "Law"]

Floats = NDArray[np.float64]

SMALLEST, LARGEST = 1e-100, 1e100
"""Hyper-parameters beyond these are nobody's belief, and their products and powers leave the floats."""
LEAST_FRACTION = 1e-12
"""Nearer to 0 or 1 than this, 1/σ and Γ(1-σ) cost all digits, and the partition's law has reached its limit: σ is held here."""
MOST = 1e10
"""Where lnΓ is taken: differences of it keep five digits after the point up to here."""


def positive_number(owner: str, name: str, value: object, least: float = SMALLEST, most: float = LARGEST) -> float:
    """The value as a float, or the house's error when it is not a finite number above zero, or one whose powers are not floats."""
    number = real_number(value)
    require(math.isfinite(number) and number > 0, owner, name, value, "be a finite number above 0")
    require(least <= number <= most, owner, name, value, f"lie between {least:.0e} and {most:.0e}")
    return number


_with_nodes = explained("points : int\n    How many nodes.", "(x, w) : two arrays")


@dataclass(frozen=True)
class _AnyLaw(ABC):
    """What both laws answer."""

    a: float
    b: float

    unit: ClassVar[bool] = False
    """Whether it is a law on (0, 1)."""
    _ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"a": (SMALLEST, MOST), "b": (SMALLEST, LARGEST)}

    def __post_init__(self) -> None:
        """Refuse parameters that are not finite and positive."""
        for name, (least, most) in self._ranges.items():
            object.__setattr__(self, name, positive_number(type(self).__name__, name, getattr(self, name), least, most))

    @abstractmethod
    def log_density(self, x: ArrayLike) -> Any:
        """Log density at x inside the law's range, for a number or an array.

        Parameters
        ----------
        x : array-like

        Returns
        -------
        float or array
        """

    @abstractmethod
    def sample(self, rng: Generator) -> float:
        """One draw, kept off the ends of the range that rounding can reach.

        Parameters
        ----------
        rng : numpy.random.Generator

        Returns
        -------
        float
        """

    @_with_nodes
    @abstractmethod
    def rule(self, points: int) -> tuple[Floats, Floats]:
        """Nodes x and weights w, Σw = 1, with Σ w f(x) ≈ E f(x) for smooth f."""

    @_with_nodes
    @abstractmethod
    def wide_rule(self, points: int) -> tuple[Floats, Floats]:
        """The same for f that changes anywhere in the range, however near an end."""


def _trapezoids(t: Floats, log_weight: Callable[[Floats], Floats], points: int) -> tuple[Floats, Floats]:
    """So many nodes where the weight, looked for on the grid t, is above about 1e-12 of its height; and their weights."""
    height = log_weight(t)
    kept = t[height > height.max() - 28]
    t = np.linspace(kept[0], kept[-1], points)
    height = log_weight(t)
    weights = np.exp(height - height.max())
    return t, weights / weights.sum()


@dataclass(frozen=True)
class Gamma(_AnyLaw):
    """The Gamma law with shape `a` and rate `b`: mean a/b.

    Parameters
    ----------
    a, b : float above 0
        Shape and rate.

    >>> law = Gamma(2.0, 4.0)
    >>> law.mean, round(float(law.log_density(0.5)), 4), law.sample(np.random.default_rng(0)) > 0
    (0.5, 0.0794, True)
    >>> (x, w), (y, v) = law.rule(40), law.wide_rule(40)
    >>> round(float(w @ x), 6), round(float(v @ y), 6)
    (0.5, 0.5)
    """

    @property
    def mean(self) -> float:
        """a/b."""
        return self.a / self.b

    def log_density(self, x: ArrayLike) -> Any:
        """Log density at x > 0."""
        x = np.asarray(x, float)
        return (self.a * math.log(self.b) - gammaln(self.a) + xlogy(self.a - 1, x) - self.b * x)[()]

    def sample(self, rng: Generator) -> float:
        """One draw. Tiny shapes underflow to 0 now and then; the smallest normal number stands in."""
        return max(float(rng.gamma(self.a)) / self.b, float(np.finfo(float).tiny))

    def wide_rule(self, points: int) -> tuple[Floats, Floats]:
        """`rule`, which is one for f that changes anywhere on the log scale."""
        return self.rule(points)

    def rule(self, points: int) -> tuple[Floats, Floats]:
        """Nodes x and weights w, Σw = 1, with Σ w f(x) ≈ E f(x) for f smooth in log x.

        The trapezoidal rule in t where log x = log(a/b) + s·(t - e^(-t) + 1), s = min(1, 1/√a): the density
        then decays doubly exponentially on both sides, so the rule's error falls exponentially with
        `points`. Mass below about 1e-12 on either side is left out; nodes that no float holds are put at e^-690.
        """
        spread = min(1.0, 1 / math.sqrt(self.a))

        def log_x(t: Floats) -> Floats:
            return np.asarray(math.log(self.a / self.b) + spread * (t - np.exp(-t) + 1))

        def log_weight(t: Floats) -> Floats:
            v = log_x(t)
            return np.asarray(self.a * v - self.b * np.exp(v) + np.log1p(np.exp(-t)))

        t, weights = _trapezoids(np.linspace(-6 - math.log1p(1 / self.a), 8 + 3 / spread, 4001), log_weight, points)
        return np.exp(np.maximum(log_x(t), -690.0)), weights


@dataclass(frozen=True)
class Beta(_AnyLaw):
    """The Beta law with parameters `a` and `b`: mean a/(a+b).

    Parameters
    ----------
    a, b : float above 0

    >>> law = Beta(1.0, 3.0)
    >>> law.mean, round(float(law.log_density(0.5)), 4), 0 < law.sample(np.random.default_rng(0)) < 1
    (0.25, -0.2877, True)
    >>> (x, w), (y, v) = law.rule(40), law.wide_rule(40)
    >>> round(float(w @ x), 6), round(float(v @ y), 6)
    (0.25, 0.25)
    """

    unit: ClassVar[bool] = True
    _ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"a": (1 / MOST, MOST), "b": (1 / MOST, MOST)}

    @property
    def mean(self) -> float:
        """a/(a+b)."""
        return self.a / (self.a + self.b)

    def log_density(self, x: ArrayLike) -> Any:
        """Log density at 0 < x < 1."""
        x = np.asarray(x, float)
        return (xlogy(self.a - 1, x) + xlog1py(self.b - 1, -x) - betaln(self.a, self.b))[()]

    def sample(self, rng: Generator) -> float:
        """One draw, kept off the two ends that rounding can reach."""
        return min(max(float(rng.beta(self.a, self.b)), LEAST_FRACTION), 1 - LEAST_FRACTION)

    def rule(self, points: int) -> tuple[Floats, Floats]:
        """Gauss-Jacobi nodes x and weights w, Σw = 1: exact for polynomials of degree below 2·`points`.

        Golub & Welsch (1969): the nodes are the eigenvalues of the law's Jacobi matrix, the weights the
        squared first components of its eigenvectors.
        """
        p, q = self.b - 1, self.a - 1
        k = np.arange(points, dtype=float)
        s = 2 * k + p + q
        with np.errstate(invalid="ignore", divide="ignore"):
            diagonal = (q * q - p * p) / (s * (s + 2))
        diagonal[0] = (q - p) / (p + q + 2)
        k = k[1:]
        s = s[1:]
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = 4 * k * (k + p) * (k + q) * (k + p + q) / (s * s * (s + 1) * (s - 1))
        if points > 1:
            squares[0] = 4 * (1 + p) * (1 + q) / ((2 + p + q) ** 2 * (3 + p + q))
        nodes, vectors = eigh_tridiagonal(diagonal, np.sqrt(squares))
        return 0.5 * (1 + nodes), vectors[0] ** 2

    def wide_rule(self, points: int) -> tuple[Floats, Floats]:
        """Nodes x and weights w, Σw = 1, with Σ w f(x) ≈ E f(x) for f smooth in logit x, however near 0 or 1 it changes.

        The trapezoidal rule in t where logit x = logit of the mean + s·sinh(t), s the standard deviation of logit x for large
        a and b and 1 otherwise: the density then decays doubly exponentially. Nodes keep off the two ends by 1e-12, where f
        is taken to have reached its limits.
        """
        spread = min(1.0, math.sqrt(1 / self.a + 1 / self.b))

        def logit(t: Floats) -> Floats:
            return math.log(self.a / self.b) + spread * np.sinh(t)

        def log_weight(t: Floats) -> Floats:
            v = logit(t)
            return np.asarray(-self.a * np.logaddexp(0, -v) - self.b * np.logaddexp(0, v) + np.log(np.cosh(t)))

        t, weights = _trapezoids(np.linspace(-1, 1, 4001) * math.asinh(60 * (1 + 1 / min(self.a, self.b)) / spread), log_weight, points)
        return np.clip(expit(logit(t)), LEAST_FRACTION, 1 - LEAST_FRACTION), weights


Law = Gamma | Beta
