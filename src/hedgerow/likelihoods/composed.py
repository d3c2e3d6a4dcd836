"""Likelihoods made of other likelihoods, which can do what all of these can."""

from __future__ import annotations

from abc import abstractmethod

from hedgerow.likelihoods.base import Likelihood

__all__ = ["Composed"]


class Composed(Likelihood):
    """What is asked of every likelihood within."""

    @abstractmethod
    def _within(self) -> tuple[Likelihood, ...]:
        """The likelihoods it is made of."""

    @property
    def has_atoms(self) -> bool:  # type: ignore[override]
        """Where all within have."""
        return all(part.has_atoms for part in self._within())

    @property
    def allows_power(self) -> bool:  # type: ignore[override]
        """Where all within do."""
        return all(part.allows_power for part in self._within())

    @property
    def travels(self) -> bool:  # type: ignore[override]
        """Where all within do."""
        return all(part.travels for part in self._within())
