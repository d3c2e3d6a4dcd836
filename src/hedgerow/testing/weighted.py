"""check_weighted: are weighted draws and their estimate of the normaliser those of the enumerated target?

With a fixed course a run of sequential Monte Carlo is unbiased without its normalisation: for any function f the mean over runs of

    (Z of the run / Z) · Σ_i W_i f(particle i)

is the expectation of f, and of f = 1 it is 1. So independent runs, few particles in each, are compared with enumeration by
Student's t as chains are in `check_kernel`: what is left out of a weight shows, however small the runs are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow.kernels import WeightedDraws
from hedgerow.summaries.partitions import canonical
from hedgerow.testing.exact import Moment, exact_posterior
from hedgerow.testing.report import Findings, Report

__all__ = ["check_weighted"]

LEAST_PROBABILITY = 0.02  # of a partition that is looked at by itself


def check_weighted(
    run: Callable[[int], WeightedDraws], model: Any, X: Any, *, runs: int = 200, seed: int = 0, level: float = 1e-4
) -> Report:
    """Compare weighted draws with the enumerated target of `model` on the few rows of X.

    Parameters
    ----------
    run : callable
        Weighted draws from a seed, such as ``lambda seed: hr.ladder(model, X, particles=8, powers=[0.3], seed=seed)``.
    model : Mixture
    X : array-like
        At most 8 rows or so.
    runs : int
        Independent ones.
    seed, level : as for `check_kernel`

    Returns
    -------
    Report

    >>> import hedgerow as hr
    >>> model, X = hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [0.1], [1.0], [3.0]]
    >>> check_weighted(lambda seed: hr.smc(model, X, particles=20, seed=seed), model, X, runs=50).passed
    True
    """
    model = model.resolve(X)
    exact = exact_posterior(model, model.likelihood.check(X))
    done = [run(int(word)) for word in np.random.SeedSequence(seed).generate_state(runs, np.uint32)]
    relative = np.exp(np.array([draws.log_evidence for draws in done]) - exact.log_evidence)
    findings = Findings(level)
    findings.mean("the normaliser, by the exact one", relative, 1.0)
    findings.hold("weights sum to 1", all(abs(float(draws.weights.sum()) - 1) < 1e-9 for draws in done))
    index = [exact.index(canonical(draws.labels)) for draws in done]

    def compare(what: str, values: Any, wanted: float) -> None:
        """Values of every particle of every run."""
        means = [float(draws.weights @ own) for draws, own in zip(done, values, strict=True)]
        findings.mean(what, relative * np.array(means), wanted)

    p = exact.probabilities
    for row in np.flatnonzero(p >= LEAST_PROBABILITY):
        compare(f"partition {exact.partitions[row].tolist()}", [(own == row).astype(float) for own in index], float(p[row]))
    compare("E[clusters]", [exact.n_clusters[own] for own in index], exact.expect(exact.n_clusters))
    for moment in exact.moments:
        compare(f"E[f({moment.name})^{moment.power}]", [_values(moment, draws) for draws in done], moment.mean)
    heights = [_log_joints(model, X, draws) for draws in done[:3]]
    findings.agree("log joints", np.concatenate([draws.log_joint for draws in done[:3]]), np.concatenate(heights), 1e-9)
    return findings.report(f"check_weighted({type(model.prior).__name__}, {type(model.likelihood).__name__})", runs=float(runs))


def _values(moment: Moment, draws: WeightedDraws) -> Any:
    traces = draws.traces()
    return moment.evaluate_log(traces["log_u"]) if moment.name == "u" else moment.evaluate(traces[moment.name])


def _log_joints(model: Any, X: Any, draws: WeightedDraws) -> Any:
    """From the model, at every particle."""
    found, traces = [], draws.traces()
    for i, labels in enumerate(draws.labels):
        values = {name: float(traces[name][i]) for name in model.prior.laws()}
        u = None if model.prior.u_integrates else float(np.exp(traces["log_u"][i]))
        found.append(float(model.log_joint(X, labels, u=u, **values)))
    return np.array(found)
