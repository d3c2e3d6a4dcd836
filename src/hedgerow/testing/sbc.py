"""sbc: simulation-based calibration of a kernel's partitions and hyper-parameters (Cook, Gelman and Rubin 2006; Talts et al. 2018)

Draw (hyper-parameters, partition, u) from the prior and X from the likelihood: that draw is also one from the posterior
given X. So among draws of a kernel given the same X its rank is uniform, for every quantity: each hyper-parameter with a law, u,
the number of clusters, the log joint. Ties are broken by chance.

Three tests for each quantity. The mean rank sees a shift, the mean squared distance from the middle sees posteriors that are too
narrow or too wide (each a t test over the replicates, which are independent), and a chi-square test over up to 16 bins sees
the rest. All of them together raise a false alarm with probability `level` at most, by Bonferroni.

Ranks are uniform for independent draws. So few are kept and far apart: `thin` steps of the kernel between two of them, `warmup`
before the first, from a start that knows nothing of the truth.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hedgerow.arguments import check_seed, check_whole
from hedgerow.errors import require
from hedgerow.kernels import Kernel
from hedgerow.testing.driving import PythonKernel, drive, of_simulated, require_simulable
from hedgerow.testing.report import Findings, Report

__all__ = ["SbcReport", "sbc"]

Ints = NDArray[np.int64]
_BINS = 16


@dataclass(frozen=True)
class SbcReport(Report):
    """The verdict, and the ranks it rests on: for every quantity one of 0 to `draws` a replicate.

    Attributes
    ----------
    name, findings, notes :
        As of every `Report`.
    ranks : dict
        By quantity, (replicates,) each.
    draws : int

    >>> import hedgerow as hr
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart()).resolve([[0.0], [1.0]])
    >>> found = sbc(hr.Gibbs(), model, n=4, replicates=20, draws=5, thin=2, warmup=5)
    >>> found.raise_if_failed().draws
    5
    """

    ranks: dict[str, Ints] = field(default_factory=dict)
    draws: int = 0

    @property
    def report(self) -> SbcReport:
        """Itself: the verdict stood here in 0.1, and this name will go in 0.3."""
        warnings.warn("SbcReport.report is now SbcReport itself.", FutureWarning, stacklevel=2)
        return self


@of_simulated
def sbc(
    kernel: Kernel | PythonKernel,
    model: Any,
    n: int,
    *,
    replicates: int = 200,
    draws: int = 15,
    thin: int = 10,
    warmup: int = 100,
    seed: int = 0,
    level: float = 1e-4,
) -> SbcReport:
    """Ranks of the truth among a kernel's draws, on data sets of n rows made from the model itself.

    Parameters
    ----------
    replicates : int
        Independent data sets, each with its own chain.
    draws, thin, warmup : int
        Draws kept of each chain, steps from one to the next, and steps before the first.

    Returns
    -------
    SbcReport

    >>> import hedgerow as hr
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart()).resolve([[0.0], [1.0]])
    >>> sbc(hr.Gibbs(), model, n=4, replicates=20, draws=5, thin=2, warmup=5).passed
    True
    """
    require_simulable(model, "sbc")
    require(not model.prior.grouped, "sbc", "model", model, "have a prior without groups")
    numbers = (("n", n, 1), ("replicates", replicates, 20), ("draws", draws, 1), ("thin", thin, 1), ("warmup", warmup, 0))
    for name, value, least in numbers:
        check_whole("sbc", name, value, least)
    check_seed("sbc", seed, none=False)
    rows = [_ranks(kernel, model, n, draws, thin, warmup, seed, r) for r in range(replicates)]
    ranks = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    findings = Findings(level)
    for name, found in ranks.items():
        _judge(findings, name, found, draws)
    title = f"sbc({kernel!r}, {type(model.prior).__name__}, {type(model.likelihood).__name__}, n={n})"
    report = findings.report(title, replicates=float(replicates), draws=float(draws))
    return SbcReport(report.name, report.findings, report.notes, ranks, draws)


def _ranks(
    kernel: Kernel | PythonKernel, model: Any, n: int, draws: int, thin: int, warmup: int, seed: int, replicate: int
) -> dict[str, int]:
    """One data set: how many draws lie below the truth, for every quantity."""
    rng = np.random.default_rng([seed, 3, replicate])
    truth = model.prior.sample_joint(n, rng)
    X = model.likelihood.simulate(truth.labels, rng)
    start = model.prior.sample_joint(n, rng)
    run = drive(kernel, model, X, start.labels, start.u, start.values, draws * thin, seed, 1 + replicate, update_u=True, warmup=warmup)
    wanted = _quantities(model, X, truth.labels, truth.u, truth.values)
    kept = [
        _quantities(model, X, run.labels[i], float(run.u[i]), truth.values | {name: float(v[i]) for name, v in run.values.items()})
        for i in range(thin - 1, draws * thin, thin)
    ]
    found = {}
    for name, value in wanted.items():
        others = np.array([draw[name] for draw in kept])
        near = np.abs(others - value) <= 1e-9 * (1.0 + abs(value))
        ties = int(near.sum())
        found[name] = int(((others < value) & ~near).sum()) + int(rng.integers(ties + 1))
    return found


def _quantities(model: Any, X: Any, labels: Any, u: float, values: Any) -> dict[str, float]:
    prior = model.prior
    known = {name: values[name] for name in prior.values()}
    found = {name: float(values[name]) for name in prior.laws()}
    found["clusters"] = float(np.max(labels) + 1)
    found["log joint"] = model.log_joint(X, labels, None if prior.u_integrates else u, **known)
    if not prior.u_integrates:
        found["log u"] = float(np.log(u))
    return found


def _judge(findings: Findings, name: str, ranks: Ints, draws: int) -> None:
    """Are these ranks uniform over 0 .. draws?"""
    share = ranks / draws
    findings.mean(f"mean rank of {name}", share, 0.5, 1e-6)
    spread = (draws + 2.0) / (12.0 * draws)  # the variance of a uniform rank, as a share
    findings.mean(f"spread of the ranks of {name}", (share - 0.5) ** 2, spread, 1e-6)
    bins = min(_BINS, draws + 1, max(2, len(ranks) // 8))
    counts = np.bincount(ranks * bins // (draws + 1), minlength=bins)
    sizes = np.bincount(np.arange(draws + 1) * bins // (draws + 1), minlength=bins)
    expected = len(ranks) * sizes / (draws + 1)
    distance = float(((counts - expected) ** 2 / expected).sum())
    findings.tail(f"ranks of {name} in {bins} bins", distance, bins - 1.0, float(stats.chi2.sf(distance, bins - 1)))
