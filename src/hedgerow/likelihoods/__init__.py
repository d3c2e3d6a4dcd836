"""Likelihoods: what the observations of one cluster look like, its parameter integrated out."""

from __future__ import annotations

from hedgerow.likelihoods.base import Likelihood
from hedgerow.likelihoods.bernoulli import Bernoulli, BernoulliParameters
from hedgerow.likelihoods.categorical import Categorical
from hedgerow.likelihoods.custom import Custom
from hedgerow.likelihoods.gaussian_diagonal import DiagonalParameters, GaussianDiagonal
from hedgerow.likelihoods.gaussian_wishart import GaussianParameters, GaussianWishart
from hedgerow.likelihoods.multinomial import Multinomial
from hedgerow.likelihoods.poisson import Poisson
from hedgerow.likelihoods.preparation import Preparation
from hedgerow.likelihoods.prepared import Prepared
from hedgerow.likelihoods.principal import Principal
from hedgerow.likelihoods.product import Product
from hedgerow.likelihoods.proposal import Proposal, Reason, likelihood_for

LIKELIHOODS: tuple[type[Likelihood], ...] = (
    GaussianWishart,
    GaussianDiagonal,
    Multinomial,
    Bernoulli,
    Categorical,
    Poisson,
    Product,
    Prepared,
    Principal,
    Custom,
)
"""Every likelihood there is: the command line's words, files, the exam and the property tests are derived from this."""

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "BernoulliParameters",
    "Categorical",
    "Custom",
    "DiagonalParameters",
    "GaussianDiagonal",
    "GaussianParameters",
    "GaussianWishart",
    "Likelihood",
    "Multinomial",
    "Poisson",
    "Preparation",
    "Prepared",
    "Principal",
    "Product",
    "Proposal",
    "Reason",
    "likelihood_for",
]
