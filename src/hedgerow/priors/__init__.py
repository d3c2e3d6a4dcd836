"""Priors on partitions: DP, NGG, NIG, Stable, PitmanYor, and the laws Gamma and Beta for their hyper-
parameters."""

from hedgerow.priors.base import Grouping, Prior, PriorDraw
from hedgerow.priors.dirichlet import DP
from hedgerow.priors.laws import Beta, Gamma, Law
from hedgerow.priors.mixed import MixedNRM
from hedgerow.priors.nrm import NGG, NIG, NormalizedMeasure, Stable
from hedgerow.priors.pitman_yor import PitmanYor

__all__ = [
    "DP",
    "NGG",
    "NIG",
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
