"""Likelihoods: what the observations of one cluster look like, its parameter integrated out."""

from __future__ import annotations

from hedgerow.likelihoods.base import Likelihood
from hedgerow.likelihoods.custom import Custom
from hedgerow.likelihoods.gaussian_diagonal import DiagonalParameters, GaussianDiagonal
from hedgerow.likelihoods.gaussian_wishart import GaussianParameters, GaussianWishart
from hedgerow.likelihoods.multinomial import Multinomial

__all__ = [
    "Custom",
    "DiagonalParameters",
    "GaussianDiagonal",
    "GaussianParameters",
    "GaussianWishart",
    "Likelihood",
    "Multinomial",
]
