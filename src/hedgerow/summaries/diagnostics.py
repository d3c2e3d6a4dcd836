"""Convergence of chains: effective sample size, rank-normalised split R-hat, Monte-Carlo error.

Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), "Rank-normalization, folding, and localization: an improved
R-hat for assessing convergence of MCMC"; autocorrelations are summed by Geyer's (1992) initial positive and
monotone sequences. A trace is an array (chain, draw); a single chain may be given as (draw,).

Cases that other software answers with NaN or a warning are defined here:

* a trace that never changes, the same in every chain: R-hat 1, ESS the number of draws, Monte-Carlo error 0;
* chains that never change but stand at different values: R-hat infinite (they will not meet);
* fewer than 4 draws a chain, or a trace with a NaN or an infinity: NaN, because there is nothing to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from hedgerow.arguments import numbers_of, real_number
from hedgerow.docstrings import explained
from hedgerow.errors import require

__all__ = ["ess_bulk", "ess_mean", "ess_tail", "hdi", "mcse_mean", "rhat"]

Array = npt.NDArray[np.float64]

_MIN_DRAWS = 4


def _of_chains(statistic: Callable[[Array], float]) -> Callable[[npt.ArrayLike], float]:
    """The statistic of a trace that is checked; NaN where there is nothing to say."""

    def of(trace: npt.ArrayLike) -> float:
        x = _trace(trace, statistic.__name__)
        return statistic(x) if _usable(x) else math.nan

    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(of, name, getattr(statistic, name))
    return explained("trace : (chain, draw)", "float")(of)


@_of_chains
def rhat(x: Array) -> float:
    """Rank-normalised split R-hat: the larger of the bulk and the folded value (Vehtari et al., section 4).

    >>> draws = np.random.default_rng(0).normal(size=(4, 200))
    >>> rhat(draws) < 1.05, rhat(draws + 3 * np.arange(4)[:, None]) > 1.5
    (True, True)
    """
    halves = _split(x)
    folded = np.abs(halves - np.median(halves))
    return max(_plain_rhat(_normal_scores(halves)), _plain_rhat(_normal_scores(folded)))


@_of_chains
def ess_bulk(x: Array) -> float:
    """Effective sample size of the bulk: that of the rank-normalised split chains.

    >>> 400 < ess_bulk(np.random.default_rng(0).normal(size=(4, 200))) < 1600
    True
    """
    return _ess(_normal_scores(_split(x)))


@_of_chains
def ess_tail(x: Array) -> float:
    """The smaller of the effective sample sizes of the 5% and the 95% quantile.

    >>> 400 < ess_tail(np.random.default_rng(0).normal(size=(4, 200))) < 1600
    True
    """
    return min(_ess(_split((x <= _quantile(x, p)).astype(np.float64))) for p in (0.05, 0.95))


@_of_chains
def ess_mean(x: Array) -> float:
    """Effective sample size of the mean: that of the split chains as they are.

    >>> 400 < ess_mean(np.random.default_rng(0).normal(size=(4, 200))) < 1600
    True
    """
    return _ess(_split(x))


@_of_chains
def mcse_mean(x: Array) -> float:
    """Monte-Carlo standard error of the mean: sd / sqrt(ESS of the mean).

    >>> 0.02 < mcse_mean(np.random.default_rng(0).normal(size=(4, 200))) < 0.06
    True
    """
    return float(np.std(x, ddof=1)) / math.sqrt(ess_mean(x))


def hdi(trace: npt.ArrayLike, prob: float = 0.94) -> tuple[float, float]:
    """Ends of the narrowest interval that holds a share `prob` of the draws of all chains.

    Parameters
    ----------
    trace : (chain, draw)
    prob : float

    Returns
    -------
    (float, float)

    >>> hdi(np.arange(100.0)[None], prob=0.5)
    (0.0, 50.0)
    """
    x = _trace(trace, "hdi")
    require(0.0 < real_number(prob) < 1.0, "hdi", "prob", prob, "lie in (0, 1)")
    ordered = np.sort(x, axis=None)
    if ordered.size == 0 or not np.isfinite(ordered).all():
        return math.nan, math.nan
    inside = math.floor(prob * ordered.size)
    widths = ordered[inside:] - ordered[: ordered.size - inside]
    low = int(np.argmin(widths))
    return float(ordered[low]), float(ordered[low + inside])


def _trace(trace: npt.ArrayLike, owner: str) -> Array:
    x = np.atleast_2d(numbers_of(owner, "trace", trace))
    require(x.ndim == 2, owner, "trace", x, "have the shape (chain, draw)")
    return x


def _usable(x: Array) -> bool:
    return x.shape[0] >= 1 and x.shape[1] >= _MIN_DRAWS and bool(np.isfinite(x).all())


def _split(x: Array) -> Array:
    """First and second halves of every chain as chains of their own; an odd middle draw is left out."""
    half = x.shape[1] // 2
    return np.concatenate((x[:, :half], x[:, -half:]))


def _quantile(x: Array, p: float) -> float:
    """Quantile of type 7, in the order of operations that ArviZ uses.

    Where the quantile falls on a draw, rounding decides whether that draw counts as below it; np.quantile rounds
    the other way now and then, which moves the tail ESS by several per cent.
    """
    ordered = np.sort(x, axis=None)
    position = ordered.size * p + (1.0 - p)
    k = min(max(math.floor(position), 1), ordered.size - 1)
    share = min(max(position - k, 0.0), 1.0)
    return float((1.0 - share) * ordered[k - 1] + share * ordered[k])


def _normal_scores(x: Array) -> Array:
    """Normal quantiles of the ranks over all chains, with Blom's (1958) offset 3/8; ties share their mean rank."""
    rank = rankdata(x, method="average", axis=None).reshape(x.shape)
    scores: Array = ndtri((rank - 0.375) / (x.size + 0.25))
    return scores


def _constant(x: Array) -> bool:
    return bool(np.ptp(x) < np.finfo(np.float64).resolution)


def _plain_rhat(x: Array) -> float:
    if _constant(x):
        return 1.0
    draws = x.shape[1]
    within = float(np.mean(np.var(x, axis=1, ddof=1)))
    between = float(np.var(np.mean(x, axis=1), ddof=1))
    if within <= 1e-24 * between:  # chains that stand still: only rounding is left within them
        return math.inf
    return math.sqrt(between / within + (draws - 1) / draws)


def _autocovariance(x: Array) -> Array:
    """Autocovariances at every lag, one row a chain, divided by the number of draws (biased, as Geyer needs)."""
    draws = x.shape[1]
    size = next_fast_len(2 * draws)
    spectrum = rfft(x - x.mean(axis=1, keepdims=True), n=size, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    covariance: Array = irfft(power, n=size, axis=1)[:, :draws] / draws
    return covariance


def _ess(x: Array) -> float:
    """Effective sample size of chains (chain, draw), all chains together."""
    chains, draws = x.shape
    total = chains * draws
    if _constant(x) or draws < 2:
        return float(total)
    covariance = _autocovariance(x).mean(axis=0)
    within = covariance[0] * draws / (draws - 1)
    pooled = covariance[0] + (float(np.var(x.mean(axis=1), ddof=1)) if chains > 1 else 0.0)
    rho = 1.0 - (within - covariance) / pooled
    rho[0] = 1.0
    tau = _geyer_sum(rho)
    # An antithetic chain may beat independent draws, but not by more than log10 of their number.
    return float(total / max(tau, 1.0 / math.log10(total)))


def _geyer_sum(rho: Array) -> float:
    """Integrated autocorrelation time: pairs (rho_2t, rho_2t+1) while their sum is positive, made monotone.

    The pair where the sequence ends is not summed, but its even member enters once when it is positive: that
    steadies the estimate for antithetic chains.
    """
    usable = max(1, (rho.size - 1) // 2)
    pairs = rho[: 2 * usable].reshape(usable, 2).sum(axis=1)
    ended = np.flatnonzero(pairs <= 0.0)
    last = int(ended[0]) if ended.size else usable - 1
    even = float(rho[2 * last])
    if pairs[last] < 0.0:
        even = max(even, 0.0)
    return -1.0 + 2.0 * float(np.minimum.accumulate(pairs[:last]).sum()) + even
