"""Likelihoods of columns that are independent of each other: hyper-parameters for all columns or for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, Likelihood
from hedgerow.likelihoods.hyperparameters import as_vector, spread_out

__all__ = ["IndependentColumns"]


class IndependentColumns(Likelihood):
    """Every field is a hyper-parameter: a number for all columns, a vector with one entry per column, or open."""

    columns_apart: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """What `as_vector` is told of a hyper-parameter that is not simply above 0."""

    _twin: ClassVar[Callable[..., float]]
    """log p(X) in readable form, of X, the hyper-parameters and the power."""

    def reference(self, X: Any, power: float = 1.0) -> float:
        """See `Likelihood.reference`."""
        return type(self)._twin(X, *self._values(), power)

    def __post_init__(self) -> None:
        """Check each hyper-parameter that was given, and that the vectors have one length."""
        owner = type(self).__name__
        for name in self._names():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, as_vector(owner, name, value, **({"low": 0} | dict(self.limits.get(name, {})))))
        d = self.n_columns
        for name in self._names():
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                require(len(value) == d, owner, name, value, f"have {d} entries, as the others have")

    @property
    def is_resolved(self) -> bool:
        """Whether every hyper-parameter has its value for every column."""
        return all(isinstance(getattr(self, name), np.ndarray) for name in self._names())

    @property
    def n_columns(self) -> int | None:
        """The number of columns, if one of the hyper-parameters is a vector."""
        vectors = [value for name in self._names() if isinstance(value := getattr(self, name), np.ndarray)]
        return len(vectors[0]) if vectors else None

    def for_columns(self, columns: Sequence[int]) -> Self:
        """Their own hyper-parameters."""
        return type(self)(*(value[list(columns)] for value in self._values()))

    def _names(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self))  # type: ignore[arg-type]

    def _values(self) -> tuple[FloatArray, ...]:
        """All hyper-parameters, known and one per column."""
        names = self._names()
        self._need(*names)
        d = self.n_columns
        first = getattr(self, names[0])
        require(d is not None, type(self).__name__, names[0], first, "be a vector here: call resolve(X) first")
        assert d is not None
        return tuple(spread_out(getattr(self, name), d) for name in names)
