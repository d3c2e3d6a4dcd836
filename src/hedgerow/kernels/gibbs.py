"""Gibbs: marginal Gibbs sampling of one row at a time (Lee & Choi 2015, section 2.2).

With x_i taken out, it joins cluster c with probability proportional to κ(|c|+1, u)/κ(|c|, u) · p(x_i | X_c), or opens a
new one with κ(1, u) · p(x_i).
"""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow import _core
from hedgerow.errors import require
from hedgerow.kernels.base import Kernel

__all__ = ["Gibbs"]


@dataclass(frozen=True)
class Gibbs(Kernel):
    """One sweep an iteration: every row's cluster is drawn from its full conditional.

    Parameters
    ----------
    subset : int, optional
        Resample only this many rows an iteration, drawn uniformly (the papers' Gibbs_sub). By default all rows.
    """

    subset: int | None = None

    def __post_init__(self) -> None:
        """Refuse a subset that is not a positive whole number."""
        is_whole = isinstance(self.subset, int) and not isinstance(self.subset, bool)
        require(
            self.subset is None or (is_whole and self.subset >= 1),
            "Gibbs",
            "subset",
            self.subset,
            "be a whole number of rows from 1 up, or None for all rows",
        )

    def to_core(self) -> _core.Kernel:
        """The compiled recipe."""
        return _core.gibbs(self.subset or 0)
