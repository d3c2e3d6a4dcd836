"""smc(): sequential Monte Carlo over rows, and its unbiased estimate of the evidence p(X).

Particles (partition, u, sampled hyper-parameters) take in one row at a time; the row's cluster is drawn from its full
conditional and the weight grows by the row's predictive density. When few particles carry the weight they are resampled,
and u and the hyper-parameters move by steps that keep the present posterior (after Griffin 2011).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import check_flag, check_seed, check_whole, core_seed, real_number
from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.priors.state import LISTS, NAMES, MeasureTraces

__all__ = ["SmcResult", "WeightedDraws", "descent_error", "smc"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WeightedDraws(MeasureTraces):
    """Draws that count by weights which sum to 1, and the normaliser of what they are drawn from.

    Attributes
    ----------
    log_evidence, log_evidence_se : float
        Log of the normaliser, which is p(X) at power 1, and its standard error.
    labels : (particles, n) int32
    weights, log_joint, log_u, alpha, sigma, tau, theta : (particles,)
        Weight, log joint and state of every particle; NaN where the prior has no such thing.
    model : Mixture

    >>> import hedgerow as hr
    >>> found = hr.smc(hr.Mixture(hr.DP(), hr.GaussianWishart()), hr.data.ring13(n=26).X, particles=20, seed=0)
    >>> isinstance(found, WeightedDraws), found.draw(3, seed=0).shape, found.n_clusters.shape
    (True, (3, 26), (20,))
    """

    log_evidence: float
    log_evidence_se: float
    labels: npt.NDArray[np.int32]
    weights: FloatArray
    log_joint: FloatArray
    model: Mixture = field(repr=False)

    def __repr__(self) -> str:
        """The evidence and how many particles stand behind it."""
        return (
            f"{type(self).__name__}(log_evidence={self.log_evidence:.4f}, log_evidence_se={self.log_evidence_se:.4f}, "
            f"{len(self.weights)} particles of {self.labels.shape[1]} rows)"
        )

    @property
    def n_clusters(self) -> npt.NDArray[np.int32]:
        """Clusters of every particle."""
        return np.asarray(self.labels.max(axis=1) + 1, np.int32)

    def draw(self, size: int, seed: int | None = None) -> npt.NDArray[np.int32]:
        """Equally weighted draws of the partition, (size, n), by resampling the particles.

        Parameters
        ----------
        size : int
        seed : int, optional

        Returns
        -------
        (size, n) int32
        """
        check_whole(f"{type(self).__name__}.draw", "size", size)
        check_seed(f"{type(self).__name__}.draw", seed)
        rng = np.random.default_rng(seed)
        return self.labels[rng.choice(len(self.weights), size=size, p=self.weights)]


@dataclass(frozen=True, repr=False)
class SmcResult(WeightedDraws):
    """Weighted draws of the posterior and the evidence, from `smc`.

    `weights` sum to 1 over all particles of all runs. `log_evidence_se` comes from the spread of the runs if there are several,
    otherwise from the particles' lines of descent (Lee & Whiteley 2018), where 1 means that all particles descend from one and
    it is not known.

    Attributes
    ----------
    log_evidence, log_evidence_se : float
        log p(X) and its standard error.
    labels : (particles, n) int32
    weights, log_joint, log_u, alpha, sigma, tau, theta : (particles,)
        Weight, log joint and state of every particle; NaN where the prior has no such thing.
    model : Mixture
    effective : (runs, n)
        Effective number of particles after each row.
    run_log_evidence : (runs,)

    >>> import hedgerow as hr
    >>> found = hr.smc(hr.Mixture(hr.DP(), hr.GaussianWishart()), hr.data.ring13(n=26).X, particles=20, seed=0)
    >>> found.draw(3, seed=0).shape, found.n_clusters.shape
    ((3, 26), (20,))
    """

    effective: FloatArray
    run_log_evidence: FloatArray


def smc(
    model: Mixture,
    X: Any,
    *,
    particles: int = 100,
    runs: int = 1,
    seed: int | None = None,
    threshold: float = 0.5,
    shuffle: bool = True,
    times: Any = None,
) -> SmcResult:
    """Run sequential Monte Carlo.

    Parameters
    ----------
    model : Mixture
    X : table
    particles : int
        Particles per run.
    runs : int
        Independent runs, in parallel threads; their evidence estimates are averaged.
    seed : int, optional
        Decides every draw.
    threshold : float
        Resample when the effective number of particles falls below this share.
    shuffle : bool
        Take the rows in a random order (one per run) instead of as they come; groups stay in order.
    times : array-like, optional
        Group of every row, for a `MixedNRM` prior.

    Returns
    -------
    SmcResult

    >>> import hedgerow as hr
    >>> found = smc(hr.Mixture(hr.DP(), hr.GaussianWishart()), hr.data.ring13(n=26).X, particles=20, runs=2, seed=0)
    >>> found.labels.shape, found.run_log_evidence.shape
    ((40, 26), (2,))
    """
    require(isinstance(model, Mixture), "smc", "model", model, "be a Mixture")
    check_whole("smc", "particles", particles, 2)
    check_whole("smc", "runs", runs)
    check_seed("smc", seed)
    require(0 <= real_number(threshold) <= 1, "smc", "threshold", threshold, "lie in [0, 1]")
    check_flag("smc", "shuffle", shuffle)
    model = model.resolve(X)  # before checking: names of columns and levels are read from X itself
    data = model.likelihood.check(X)
    bound = model.bind(data)
    grouping = model.prior.group(times, bound.n_rows, "smc")
    groups = None if grouping is None else grouping.codes
    prior = model.prior.to_core(grouping)
    particles, runs, threshold, shuffle = int(particles), int(runs), float(threshold), bool(shuffle)
    word = core_seed(seed)
    halt = _core.Halt()
    with ThreadPoolExecutor(1 if bound.serial else None) as pool:
        try:
            done = list(
                pool.map(lambda run: _core.smc(bound, prior, groups, particles, threshold, word, run, shuffle, halt), range(runs))
            )
        except KeyboardInterrupt:
            halt.ask()
            raise
    log_evidence = np.array([run["log_evidence"] for run in done])
    total = float(np.logaddexp.reduce(log_evidence))
    share = np.exp(log_evidence - total)
    weights = np.concatenate([s * np.exp(run["log_weights"]) for s, run in zip(share, done, strict=True)])
    stacked = {name: np.concatenate([run[name] for run in done]) for name in ("labels", "log_joint", *NAMES)}
    if grouping is None:
        stacked |= {name: stacked[name][:, 0] for name in LISTS}
    return SmcResult(
        log_evidence=total - float(np.log(runs)),
        log_evidence_se=_standard_error(done, share),
        weights=weights / weights.sum(),
        effective=np.stack([run["effective"] for run in done]),
        run_log_evidence=log_evidence,
        model=model,
        **stacked,
    )


def _standard_error(runs: list[dict[str, Any]], share: FloatArray) -> float:
    """Standard error of the log evidence, by the delta method: that of evidence / its estimate."""
    if len(runs) > 1:
        relative = share * len(runs)
        return float(relative.std(ddof=1) / np.sqrt(len(runs)))
    return descent_error(np.exp(runs[0]["log_weights"]), runs[0]["first_ancestors"], runs[0]["resamplings"])


def descent_error(weights: FloatArray, first_ancestors: npt.NDArray[Any], resamplings: int) -> float:
    """Standard error of the log evidence of one run, from weights and lines of descent (Lee & Whiteley 2018).

    Parameters
    ----------
    weights : (particles,)
        Which sum to 1.
    first_ancestors : (particles,) int
        Which particle of the beginning each descends from.
    resamplings : int

    Returns
    -------
    float
    """
    n = len(weights)
    families = np.bincount(first_ancestors, weights=weights, minlength=n)
    between = (n / (n - 1)) ** (resamplings + 1) * (1.0 - float((families**2).sum()))
    return float(np.sqrt(min(1.0, max(0.0, 1.0 - between))))
