"""TreeGuided: exact split–merge sampling along fixed guide trees, with Gibbs sweeps. The default kernel.

A guide is a full binary tree over all rows. For any cluster m the guide induces a tree on m, so every proposal
probability is a function of the partition and the guide alone, and the correction is exact whatever the guide: a good guide
only makes good proposals likely. A global move picks a cluster c and merges it with c' with probability proportional to
a(c,c') = φ(c∪c')/(φ(c)φ(c')), or splits it with probability proportional to 1. A split picks a node of the induced tree, one
seed below each of its children, and hands the remaining blocks of the tree to the two seeds one after the other by their
evidence; a merge replays the split that would undo it. Births and deaths of clusters of one row go by weights that
the warm-up has seen.

Where many rows are in doubt, a few neighbouring clusters are recast as one more or one fewer with their labels summed out: a
mixture is fitted to their rows by soft clustering from random seeds, and parameters drawn about that fit stand against those of the
present clusters, among others drawn about a fit of as many. Splits and merges hand rows out one by one and must get past the
partitions in between; this need not.

Guides grown here come from one pass of incremental Bayesian hierarchical clustering each, decided by the rows, the prior and the
seed alone; chains that follow one another have them in common. The warm-up begins at the partition of the first such pass where that
is better than the start, and a part of it, if it has 100 iterations or more, sweeps at a falling temperature, which finds partitions
that no exact move would reach in time.
"""

from __future__ import annotations

import warnings
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import LONGEST, check_flag, check_whole, is_whole, real_number
from hedgerow.errors import ParameterError, require
from hedgerow.kernels.base import Kernel, Site, plain_numbers

__all__ = ["TreeGuided"]

TUNED = -1
"""The core's word for a number that the warm-up decides."""
GUIDES = "be a whole number from 1 up, or linkage matrices of shape (n - 1, 4), such as SciPy makes"


@dataclass(frozen=True, eq=False)
class TreeGuided(Kernel):
    """Split or merge proposals along guide trees and a Gibbs sweep an iteration; leaves the posterior invariant.

    Parameters
    ----------
    global_moves : int, optional
        Proposals an iteration. By default 20 to 100 in the warm-up, where they do the climbing, and after it so many
        that they cost about a sixth of a sweep (2 to 20, on small sets 10 or more). 0 for none.
    single_moves : int, optional
        Births and deaths of clusters of one row proposed an iteration, once the warm-up is over. By default enough to renew
        such clusters in every iteration. 0 for none.
    recasts : float, optional
        Windows of one to five neighbouring clusters recast an iteration, a fraction as a probability. By default so many that they
        cost up to one and a half sweeps, fewer the rarer they succeed and the fewer rows move in a sweep, and none for tables of
        levels alone or full covariances in more than eight columns. 0 for none. There are none under a `MixedNRM` prior, nor for
        likelihoods whose rows cannot count in part, such as `Multinomial` and `Custom`.
    guides : int, linkage matrix, or list of them
        How many guide trees each chain follows; every proposal follows one of them, drawn at random. So many chains grow that many
        between them. Or your own, as SciPy linkage matrices of shape (n - 1, 4).
    sweep_rate : float
        Probability that an iteration ends with a Gibbs sweep. After the warm-up a sweep visits the rows that are likely to move,
        as seen then, and a quarter of the others, in turn; without a warm-up it visits all.
    anneal : bool
        Let sweeps from a tenth to half of a warm-up of 100 iterations or more run at a falling temperature, and go on from what they
        find if its mode has more mass.
    guide : optional
        The old name of guides of your own, for one more version.

    >>> import hedgerow as hr
    >>> model, X = hr.Mixture(hr.DP(), hr.GaussianWishart()), hr.data.ring13(n=65).X
    >>> post = hr.sample(model, X, kernel=TreeGuided(guides=1), draws=10, warmup=10, chains=1, seed=0)
    >>> post.labels.shape
    (1, 10, 65)
    """

    global_moves: int | None = None
    single_moves: int | None = None
    guides: Any = 2
    recasts: float | None = None
    sweep_rate: float = 1.0
    anneal: bool = True
    guide: InitVar[Any] = None

    def __post_init__(self, guide: Any) -> None:
        """Refuse counts and rates that are none, and read the guides given."""
        if guide is not None:
            warnings.warn("TreeGuided(guide=...) is now TreeGuided(guides=...).", FutureWarning, stacklevel=3)
            object.__setattr__(self, "guides", guide)
        plain_numbers(self)
        for name in ("global_moves", "single_moves"):
            check_whole("TreeGuided", name, getattr(self, name), 0, none=True)
        if self.recasts is not None:
            require(0 <= real_number(self.recasts) <= LONGEST, "TreeGuided", "recasts", self.recasts, "be a number from 0 up, or None")
        idle = self.global_moves == 0 and self.single_moves == 0 and self.sweep_rate == 0
        require(not idle, "TreeGuided", "sweep_rate", self.sweep_rate, "be positive where there are no other moves")
        require(0 <= real_number(self.sweep_rate) <= 1, "TreeGuided", "sweep_rate", self.sweep_rate, "lie in [0, 1]")
        check_flag("TreeGuided", "anneal", self.anneal)
        if np.ndim(self.guides) == 0 and is_whole(self.guides):
            require(1 <= self.guides <= LONGEST, "TreeGuided", "guides", self.guides, GUIDES)
        else:
            several = isinstance(self.guides, (list, tuple)) and len(self.guides) > 0 and np.ndim(self.guides[0]) == 2
            given = self.guides if several else [self.guides]
            object.__setattr__(self, "guides", tuple(_read_linkage(linkage) for linkage in given))

    @property
    def own(self) -> tuple[npt.NDArray[np.float64], ...]:
        """The linkage matrices that were given; none where guides are grown."""
        return self.guides if isinstance(self.guides, tuple) else ()

    @property
    def adapts(self) -> bool:
        """Unless guides and numbers of moves are given."""
        return not self.own or None in (self.global_moves, self.single_moves, self.recasts)

    @classmethod
    def examples(cls) -> tuple[Kernel, ...]:
        """As it is by default, and with recasts and a sweep now and then alone."""
        return (cls(), cls(global_moves=0, single_moves=0, recasts=3.0, sweep_rate=0.2))

    def __repr__(self) -> str:
        guides = f"<{len(self.own)} of your own>" if self.own else self.guides
        moves = f"global_moves={self.global_moves}, single_moves={self.single_moves}, recasts={self.recasts}"
        return f"TreeGuided({moves}, guides={guides}, sweep_rate={self.sweep_rate}, anneal={self.anneal})"

    def __eq__(self, other: object) -> bool:
        """Equal by value."""
        if not isinstance(other, TreeGuided):
            return NotImplemented
        return repr(self) == repr(other) and all(np.array_equal(a, b) for a, b in zip(self.own, other.own, strict=True))

    def __hash__(self) -> int:
        return hash(repr(self))

    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe."""
        given = []
        for linkage in self.own:
            wanted = f"join the {site.likelihood.n_rows} rows of X"
            require(len(linkage) + 1 == site.likelihood.n_rows, "TreeGuided", "guides", linkage, wanted)
            given.append(_as_guide(linkage))
        large, small = (TUNED if moves is None else moves for moves in (self.global_moves, self.single_moves))
        windows = float(TUNED if self.recasts is None else self.recasts)
        grown = 0 if given else self.guides
        rate = float(self.sweep_rate)
        return _core.tree_guided(given, grown, site.seed, site.sequence, large, small, windows, self.anneal, rate)


def _read_linkage(linkage: Any) -> npt.NDArray[np.float64]:
    try:
        array = np.array(linkage, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0)
    good = array.ndim == 2 and array.shape[1:] == (4,) and bool(np.isfinite(array[:, :2]).all())
    require(good, "TreeGuided", "guides", linkage, GUIDES)
    array.setflags(write=False)
    return array


def _as_guide(linkage: npt.NDArray[np.float64]) -> _core.WeightedGuide:
    n = len(linkage) + 1
    left, right = np.full(2 * n - 1, -1, np.int32), np.full(2 * n - 1, -1, np.int32)
    left[n:], right[n:] = linkage[:, 0], linkage[:, 1]
    try:
        return _core.WeightedGuide(left, right)
    except ValueError as error:
        raise ParameterError(f"TreeGuided(guides=...): guides must each be one binary tree over all rows: {error}.") from error
