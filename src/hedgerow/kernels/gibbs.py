"""Gibbs: marginal Gibbs sampling of one row at a time (Lee & Choi 2015, section 2.2).

With x_i taken out, it joins cluster c with probability proportional to κ(|c|+1, u)/κ(|c|, u) · p(x_i | X_c), or opens a
new one with κ(1, u) · p(x_i).
"""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow import _core
from hedgerow.arguments import check_flag
from hedgerow.kernels.base import Kernel, Site, check_subset, plain_numbers

__all__ = ["Gibbs"]


@dataclass(frozen=True)
class Gibbs(Kernel):
    """One sweep an iteration: every row's cluster is drawn from its full conditional.

    Parameters
    ----------
    subset : int, optional
        Resample only this many rows an iteration, drawn uniformly (the papers' Gibbs_sub). By default all rows.
    collapse : bool
        Under a `MixedNRM` prior, sum out which basis measure a cluster came from (the default), or draw it (the baseline of
        Lee & Choi 2014, suppl. 60–61). Other priors have one measure, and this changes nothing.

    >>> Gibbs(subset=100)
    Gibbs(subset=100, collapse=True)
    """

    subset: int | None = None
    collapse: bool = True

    @classmethod
    def examples(cls) -> tuple[Gibbs, ...]:
        """All rows, and a few of them."""
        return cls(), cls(subset=3)

    def __post_init__(self) -> None:
        """Refuse a subset that is not a positive whole number."""
        plain_numbers(self)
        check_subset("Gibbs", self.subset)
        check_flag("Gibbs", "collapse", self.collapse)

    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe."""
        return _core.gibbs(self.subset or 0, not self.collapse)
