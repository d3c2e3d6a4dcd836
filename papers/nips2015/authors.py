"""What the authors' own files say of the toy set: their logged runs, and a chain under exactly their NGG prior.

Their intensity is alpha * sigma / Gamma(1 - sigma) w^(-1 - sigma) e^(-w) with alpha ~ Gamma(1, 1), sigma ~ Beta(1.5, 1.5). Here
alpha and sigma have independent laws, so the two posteriors differ a little. `run_under_their_prior` samples theirs, by
Metropolis steps for (alpha, sigma) between the iterations of a kernel: slow, but it shows what the difference does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

import hedgerow as hr
from hedgerow.sampling import Chain
from papers.chains import BURN_IN, effective
from papers.common import Record, over_runs, stored

LOGGED = {"Gibbs": "gibbs", "SM": "sm", "tgMCMC": "tgmcmc"}
PREFIX = {"DP": "dp", "NGG": "nggp"}


def logged_runs() -> Record | None:
    """Every cell of the authors' logs summarized over its five runs, with the traces; None without the data folder."""
    file = stored("nrmm_author_toy_runs.npz")
    if file is None:
        return None
    return {prior: {method: _cell(file, f"{PREFIX[prior]}_{word}") for method, word in LOGGED.items()} for prior in PREFIX}


def _cell(file: dict[str, npt.NDArray[Any]], stem: str) -> Record:
    runs = []
    for i in range(5):
        at, log_joint, clusters = (file[f"{stem}_{i}_{name}"].astype(float) for name in ("time", "logjoint", "K"))
        kept = at > BURN_IN * at[-1]
        log_r = file.get(f"{stem}_{i}_logr")
        every = np.unique(np.linspace(0, len(at) - 1, 60).astype(int))
        runs.append(
            {
                "iterations": len(at),
                "milliseconds_per_iteration": 1000 * at[-1] / (len(at) - 1),
                "max_log_joint": log_joint.max(),
                "mean_log_joint": log_joint[kept].mean(),
                "mean_clusters": clusters[kept].mean(),
                "ess_clusters": effective(clusters[kept]),
                "ess_clusters_per_second": (effective(clusters[kept]) or np.nan) / ((1 - BURN_IN) * at[-1]),
                "ess_log_joint_per_second": (effective(log_joint[kept]) or np.nan) / ((1 - BURN_IN) * at[-1]),
                "log_r": None if log_r is None else float(log_r.mean()),
                "proposals_per_iteration": None if log_r is None else len(log_r) / (len(at) - 1),
                "second_half_clusters": clusters[len(clusters) // 2 :].mean(),
                "trace": {"seconds": np.round(at[every], 3), "log_joint": np.round(log_joint[every], 2)},
            }
        )
    row: Record = {name: over_runs(runs, name) for name in runs[0] if name != "trace"}
    row["traces"] = [run["trace"] for run in runs]
    return row


def run_under_their_prior(X: npt.NDArray[np.float64], labels: npt.ArrayLike, kernel: hr.Kernel, iterations: int, seed: int) -> Record:
    """A chain under exactly the authors' NGG prior: best log joint and mean number of clusters."""
    prior = hr.NGG(0.5, 0.5, 1.0)
    chain = Chain(
        hr.Mixture(prior, hr.GaussianWishart.nips2015()), X, kernel, labels=labels, seed=seed, start={"alpha": 0.5, "sigma": 0.5}
    )
    rng = np.random.default_rng(seed)
    at = np.zeros(2)
    log_joint, clusters = np.empty(iterations), np.empty(iterations)
    for i in range(iterations):
        block = chain.run(1)
        at = _metropolis(at, _their_posterior(prior, np.bincount(block.labels[-1]), float(np.exp(block.log_u[-1]))), rng)
        state = chain.state()
        alpha, sigma = float(np.exp(at[0])), float(expit(at[1]))
        measure = state["measure"]
        measure["alpha"], measure["sigma"] = np.full_like(measure["alpha"], alpha * sigma), sigma
        chain.restore(state)
        log_joint[i], clusters[i] = chain.log_joint(), chain.n_clusters
    kept = slice(iterations // 5, None)
    return {"max_log_joint": log_joint.max(), "mean_log_joint": log_joint[kept].mean(), "mean_clusters": clusters[kept].mean()}


def _their_posterior(prior: hr.NGG, sizes: npt.NDArray[Any], u: float) -> Callable[[npt.NDArray[np.float64]], float]:
    """Log density of (log alpha, logit sigma) given sizes and u."""

    def log_density(at: npt.NDArray[np.float64]) -> float:
        alpha, sigma = float(np.exp(at[0])), float(expit(at[1]))
        if not 1e-12 < sigma < 1 - 1e-12:
            return -np.inf
        laws = at[0] - alpha + 1.5 * np.log(sigma) + 1.5 * np.log1p(-sigma)
        return float(laws + prior.log_partition(sizes, u, alpha=alpha * sigma, sigma=sigma))

    return log_density


def _metropolis(
    at: npt.NDArray[np.float64], log_density: Callable[[npt.NDArray[np.float64]], float], rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Five random-walk steps."""
    here = log_density(at)
    for _ in range(5):
        there = at + rng.normal(size=2)
        value = log_density(there)
        if np.log(rng.random()) < value - here:
            at, here = there, value
    return at
