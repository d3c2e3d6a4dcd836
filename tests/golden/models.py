"""The priors, likelihoods and kernels of the golden record, on six rows and on sixty."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

import hedgerow as hr
from hedgerow.kernels import Kernel
from hedgerow.likelihoods import Likelihood
from hedgerow.likelihoods.moments import column_variances
from hedgerow.priors import Prior

NAN = float("nan")
Q = np.array([[1.0, 0.3], [0.2, 1.0]])

PRIORS: dict[str, Prior] = {
    "DP": hr.DP(0.8),
    "DP, law": hr.DP(hr.Gamma(2, 2)),
    "NGG": hr.NGG(0.7, 0.3, 1.5),
    "NGG, laws": hr.NGG(hr.Gamma(2, 2), hr.Beta(2, 2), hr.Gamma(2, 2)),
    "NGG, sigma 0": hr.NGG(0.7, 0.0, 1.5),
    "NIG": hr.NIG(0.5, 0.8),
    "NIG, laws": hr.NIG(hr.Gamma(2, 3), hr.Gamma(2, 2)),
    "Stable": hr.Stable(1.3, 0.45),
    "Stable, laws": hr.Stable(hr.Gamma(2, 2), hr.Beta(3, 3)),
    "PitmanYor": hr.PitmanYor(0.6, 0.3),
    "PitmanYor, laws": hr.PitmanYor(hr.Gamma(2, 2), hr.Beta(2, 3)),
    "MixedNRM": hr.MixedNRM(hr.NGG(0.9, 0.3, 0.5), q=Q),
    "MixedNRM, laws": hr.MixedNRM(hr.DP(hr.Gamma(2, 2)), q=Q),
}
FEW_PRIORS = ("DP, law", "NGG, laws", "PitmanYor", "MixedNRM")

KERNELS: dict[str, Kernel] = {
    "Gibbs": hr.Gibbs(),
    "SplitMerge": hr.SplitMerge(scans=2),
    "Slice": hr.Slice(),
    "TreeGuided": hr.TreeGuided(),
    "TreeGuidedPublished": hr.TreeGuidedPublished(G=3),
}
VARIANTS: dict[str, Kernel] = {
    "Gibbs, subset": hr.Gibbs(subset=3),
    "Gibbs, bases": hr.Gibbs(collapse=False),
    "cycle": hr.cycle(hr.SplitMerge(scans=1), hr.Gibbs(subset=2)),
    "mix": hr.mix(hr.TreeGuided(global_moves=2), hr.Gibbs()),
}


def sits(kernel: Kernel, prior: Prior, likelihood: Likelihood) -> bool:
    """Whether there is such a chain: `Slice` draws atoms, of one measure."""
    if not isinstance(kernel, hr.Slice):
        return True
    return not (isinstance(prior, hr.MixedNRM) or isinstance(likelihood, hr.Custom))


def _sums(X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.column_stack([np.ones(len(X)), np.abs(X).sum(axis=1)])


def _gamma_marginal(s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Exponential rows with a Gamma(2, 1) law on their rate."""
    n, t = s[:, 0], s[:, 1]
    return np.asarray(gammaln(2 + n) - (2 + n) * np.log(1 + t))


def small() -> dict[str, tuple[Likelihood, Any]]:
    """Six rows for each likelihood."""
    plane = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1]])
    gaps = plane.copy()
    gaps[1, 0] = gaps[4, 1] = NAN
    counts = np.array([[3, 1, 0, 0], [2, 0, 1, 0], [0, 2, 1, 1], [1, 1, 1, 1], [0, 0, 2, 3], [0, 1, 0, 2]])
    coins = np.array([[1, 0, 1], [1, 1, NAN], [0, 0, 0], [0, NAN, 1], [0, 1, 0], [1, 0, 1]])
    names = [["a", 1], ["a", None], ["b", 3], ["c", 3], ["b", 1], [None, 2]]
    few = np.array([[0, 2], [1, 0], [0, NAN], [4, 3], [3, 5], [NAN, 1]])
    mixed = np.column_stack([gaps, coins[:, :1], few[:, :1]])
    parts = {(0, 1): hr.GaussianDiagonal(mean=[0, 0], r=0.3, a=1.5, b=0.25), 2: hr.Bernoulli([0.8], [0.7]), 3: hr.Poisson([0.9], [0.5])}
    return {
        "GaussianWishart": (hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2)), plane),
        "GaussianDiagonal": (hr.GaussianDiagonal(mean=[0, 0], r=0.3, a=1.5, b=0.25), gaps),
        "Multinomial": (hr.Multinomial(0.6), counts),
        "Bernoulli": (hr.Bernoulli([0.6, 1.5, 0.4], [0.9, 0.5, 0.4]), coins),
        "Categorical": (hr.Categorical(((0.4, 0.9, 0.3), 0.5)), names),
        "Poisson": (hr.Poisson([0.8, 1.6], [0.5, 0.7]), few),
        "Product": (hr.Product(parts), mixed),
        "Custom": (hr.Custom(_sums, _gamma_marginal), plane),
    }


def wide() -> dict[str, tuple[Likelihood, Any]]:
    """Sixty rows of many columns for each likelihood: more clusters and columns than a panel of the core holds."""
    rng = np.random.default_rng(17)
    which = np.arange(60) % 6
    points = rng.normal(0, 1, (60, 11)) + 2.5 * rng.normal(0, 1, (6, 11))[which]
    gaps = np.where(rng.random(points.shape) < 0.1, NAN, points)
    rates = rng.gamma(0.5, 4.0, (6, 11))[which]
    counts = rng.poisson(rates).astype(float)
    coins = (rng.random((60, 11)) < rng.beta(0.5, 0.5, (6, 11))[which]).astype(float)
    levels = (rng.random((60, 11)) * 4 * rng.beta(1, 1, (6, 11))[which]).astype(int).astype(float)
    mixed = np.column_stack([gaps[:, :3], coins[:, :4], counts[:, :4]])
    quarter = column_variances(gaps) / 4
    parts = {(0, 1, 2): hr.GaussianDiagonal(b=quarter[:3]), (3, 4, 5, 6): hr.Bernoulli(), (7, 8, 9, 10): hr.Poisson()}
    families: dict[str, tuple[Likelihood, Any]] = {
        "GaussianWishart": (hr.GaussianWishart.nips2015(), points[:, :4]),
        "GaussianDiagonal": (hr.GaussianDiagonal(b=quarter), gaps),
        "Multinomial": (hr.Multinomial(0.3), counts + 1),
        "Bernoulli": (hr.Bernoulli(), coins),
        "Categorical": (hr.Categorical(), levels),
        "Poisson": (hr.Poisson(), counts),
        "Product": (hr.Product(parts), mixed),
        "Custom": (hr.Custom(_sums, _gamma_marginal), points),
    }
    return {name: (family.resolve(X), X) for name, (family, X) in families.items()}


def times_for(prior: Prior, n: int) -> Any:
    """Groups of n rows where the prior has groups."""
    return np.array([1, 1, 2, 2, 2, 1])[np.arange(n) % 6] if isinstance(prior, hr.MixedNRM) else None
