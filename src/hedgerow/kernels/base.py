"""What every kernel is: a frozen description of how a chain moves, turned into compiled form by `to_core`.

A kernel holds options and no state; every chain makes its own moving part from it. A new kernel is one file with a
frozen dataclass here, one class in the core, and one row in `KERNELS` (`kernels/__init__.py`), which the exam and the
storage tests run over.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import LONGEST, is_whole
from hedgerow.errors import require

__all__ = ["Kernel", "Site", "check_subset", "plain_numbers"]


@dataclass(frozen=True)
class Site:
    """Where a kernel will work: the bound likelihood, the prior, and the random numbers of its chain.

    Attributes
    ----------
    likelihood : _core.Likelihood
        Bound to the rows.
    prior : _core.Prior
    seed, sequence : int
        The random numbers of the chain.
    groups : (n,) int32, optional
        Group of every row under a grouped prior.
    at_power : callable, optional
        The same rows bound at a share of the model's power, for kernels with copies of the chain there.

    >>> import hedgerow as hr
    >>> bound = hr.GaussianWishart().resolve([[0.0], [1.0]]).bind([[0.0], [1.0]])
    >>> site = Site(bound, hr.DP().to_core(), seed=0, sequence=0)
    >>> type(hr.Gibbs().to_core(site)).__name__
    'Kernel'
    """

    likelihood: _core.Likelihood
    prior: _core.Prior
    seed: int
    sequence: int
    groups: npt.NDArray[np.int32] | None = None
    at_power: Callable[[float], _core.Likelihood] | None = None

    @property
    def stream(self) -> int:
        """The sequence, by its name of 0.1."""
        warnings.warn("Site.stream is now Site.sequence.", FutureWarning, stacklevel=2)
        return self.sequence


class Kernel(ABC):
    """A Markov kernel on partitions.

    Those of the house are in `hedgerow.kernels.KERNELS`.

    >>> import hedgerow as hr
    >>> X = hr.data.ring13(n=26).X
    >>> post = hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), X, kernel=hr.Gibbs(), draws=5, warmup=5, chains=1, seed=0)
    >>> post.labels.shape, hr.Gibbs.exact, hr.Gibbs.examples()
    ((1, 5, 26), True, (Gibbs(subset=None, collapse=True), Gibbs(subset=3, collapse=True)))
    """

    exact: ClassVar[bool] = True
    """Whether the posterior is left invariant (everything but `TreeGuidedPublished`)."""

    @property
    def adapts(self) -> bool:
        """Whether a warm-up, or the state in which a chain begins without one, decides how it moves; those that have parts ask them."""
        return False

    def record(self, stats: Mapping[str, npt.NDArray[np.float64]]) -> dict[str, Any]:
        """What the record of a run is to say of a kernel beside its name.

        Parameters
        ----------
        stats : mapping
            `sample_stats` of the run, (chains, draws) each.

        Returns
        -------
        dict

        >>> import hedgerow as hr
        >>> hr.Gibbs().record({})
        {}
        """
        return {}

    @classmethod
    def examples(cls) -> tuple[Kernel, ...]:
        """As it is by default, and with the options that change what is proposed, for the exam and the tests.

        Returns
        -------
        tuple of kernels
        """
        return (cls(),)

    @abstractmethod
    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe for one chain at this site.

        Parameters
        ----------
        site : Site

        Returns
        -------
        _core.Kernel

        >>> import hedgerow as hr
        >>> bound = hr.GaussianWishart().resolve([[0.0], [1.0]]).bind([[0.0], [1.0]])
        >>> type(hr.Gibbs().to_core(Site(bound, hr.DP().to_core(), seed=0, sequence=0))).__name__
        'Kernel'
        """


def plain_numbers(kernel: Kernel) -> None:
    """Make Python's own numbers of NumPy's among a kernel's fields, so that kernels compare, print and are stored alike."""
    for field in fields(kernel):  # type: ignore[arg-type]
        value = getattr(kernel, field.name)
        if isinstance(value, np.generic):
            object.__setattr__(kernel, field.name, value.item())


def check_subset(owner: str, subset: int | None) -> None:
    """Refuse a subset that is not a positive number of rows."""
    good = subset is None or (is_whole(subset) and 1 <= subset <= LONGEST)
    require(good, owner, "subset", subset, "be a whole number of rows from 1 up, or None for all rows")
