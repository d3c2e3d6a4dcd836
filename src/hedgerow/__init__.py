"""Hedgerow: Bayesian nonparametric clustering guided by trees.

>>> import hedgerow as hr
>>> X, labels, _ = hr.data.ring13(seed=0)
>>> model = hr.Mixture(hr.DP(alpha=1.0), hr.GaussianWishart())
>>> post = hr.sample(model, X, draws=200, warmup=200, chains=4, seed=0)
>>> int(post.point_estimate().n_clusters)
13
"""

from importlib.metadata import version as _version

from hedgerow import data, distributed, testing
from hedgerow.errors import MissingExtraError, ParameterError
from hedgerow.estimators import BayesianHierarchicalClustering, HedgerowClusterer, IncrementalBHC
from hedgerow.kernels import (
    Gibbs,
    Kernel,
    Slice,
    SmcResult,
    SplitMerge,
    TreeGuided,
    TreeGuidedPublished,
    cycle,
    mix,
    smc,
)
from hedgerow.likelihoods import (
    Bernoulli,
    Categorical,
    Custom,
    GaussianDiagonal,
    GaussianWishart,
    Likelihood,
    Multinomial,
    Poisson,
    Preparation,
    Prepared,
    Principal,
    Product,
    likelihood_for,
)
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.priors import DP, NGG, NIG, Beta, Gamma, MixedNRM, PitmanYor, Prior, Stable
from hedgerow.proposing import Proposal, propose
from hedgerow.resolution import Level, Levels, levels, load
from hedgerow.sampling import Agreement, Checkpoint, LadderResult, ladder, resume, sample
from hedgerow.trees import Forest, bhc, ibhc

__version__ = _version("hedgerow")

__all__ = [
    "DP",
    "NGG",
    "NIG",
    "Agreement",
    "BayesianHierarchicalClustering",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Checkpoint",
    "Custom",
    "Forest",
    "Gamma",
    "GaussianDiagonal",
    "GaussianWishart",
    "Gibbs",
    "HedgerowClusterer",
    "IncrementalBHC",
    "Kernel",
    "LadderResult",
    "Level",
    "Levels",
    "Likelihood",
    "MissingExtraError",
    "MixedNRM",
    "Mixture",
    "Multinomial",
    "ParameterError",
    "PitmanYor",
    "Poisson",
    "Posterior",
    "Preparation",
    "Prepared",
    "Principal",
    "Prior",
    "Product",
    "Proposal",
    "Slice",
    "SmcResult",
    "SplitMerge",
    "Stable",
    "TreeGuided",
    "TreeGuidedPublished",
    "__version__",
    "bhc",
    "cycle",
    "data",
    "distributed",
    "ibhc",
    "ladder",
    "levels",
    "likelihood_for",
    "load",
    "mix",
    "propose",
    "resume",
    "sample",
    "smc",
    "testing",
]
