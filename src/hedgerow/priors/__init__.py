"""Priors on partitions: DP, NGG, NIG, Stable, PitmanYor, and the laws Gamma and Beta for their hyper-
parameters."""

from hedgerow.priors.base import Grouping, Prior, PriorDraw
from hedgerow.priors.dirichlet import DP
from hedgerow.priors.laws import Beta, Gamma, Law
from hedgerow.priors.mixed import MixedNRM
from hedgerow.priors.nrm import NGG, NIG, NormalizedMeasure, Stable
from hedgerow.priors.pitman_yor import PitmanYor

PRIORS: tuple[type[Prior], ...] = (DP, NGG, NIG, Stable, PitmanYor, MixedNRM)
"""Every prior there is: the command line's words, files, the exam and the property tests are derived from this."""
LAWS: tuple[type[Law], ...] = (Gamma, Beta)

__all__ = [
    "DP",
    "LAWS",
    "NGG",
    "NIG",
    "PRIORS",
    "Beta",
    "Gamma",
    "Grouping",
    "Law",
    "MixedNRM",
    "NormalizedMeasure",
    "PitmanYor",
    "Prior",
    "PriorDraw",
    "Stable",
]
