"""Kernels: the ways a chain can move, and sequential Monte Carlo."""

from hedgerow.kernels.base import Kernel, Site
from hedgerow.kernels.combine import Cycle, Mix, cycle, mix
from hedgerow.kernels.gibbs import Gibbs
from hedgerow.kernels.published import TreeGuidedPublished
from hedgerow.kernels.slice import Slice
from hedgerow.kernels.smc import SmcResult, WeightedDraws, smc
from hedgerow.kernels.split_merge import SplitMerge
from hedgerow.kernels.tempered import Tempered
from hedgerow.kernels.tree_guided import TreeGuided

KERNELS: tuple[type[Kernel], ...] = (Gibbs, SplitMerge, Slice, TreeGuided, TreeGuidedPublished)
"""Every kernel there is: the command line's words, files of runs, the exam and the property tests are derived from this."""
COMBINATIONS: tuple[type[Kernel], ...] = (Cycle, Mix, Tempered)
"""Kernels made of kernels, which users make by `cycle`, `mix` and `sample(temper=...)`."""

__all__ = [
    "COMBINATIONS",
    "KERNELS",
    "Cycle",
    "Gibbs",
    "Kernel",
    "Mix",
    "Site",
    "Slice",
    "SmcResult",
    "SplitMerge",
    "Tempered",
    "TreeGuided",
    "TreeGuidedPublished",
    "WeightedDraws",
    "cycle",
    "mix",
    "smc",
]
