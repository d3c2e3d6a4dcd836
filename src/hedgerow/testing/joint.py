"""geweke: does a kernel leave the joint law of data, partition, u and hyper-parameters invariant? (Geweke
2004)

Draw (hyper-parameters, partition, u) from the prior and X from the likelihood. Then alternate one step of
the kernel given X with new data given the partition. If the kernel is right the joint law never changes, so
the average of any function over such a walk has the prior's expectation. Walks start in that law, hence no
warm-up; they are independent of each other, hence honest standard errors. The prior's side is estimated
from its own independent draws.

Unlike enumeration this works for any number of rows, and it sees an error in `simulate` or in the marginal
likelihood too. It does not see a kernel that hardly moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hedgerow.errors import require
from hedgerow.kernels import Kernel
from hedgerow.testing.driving import PythonKernel, drive
from hedgerow.testing.report import Findings, Report

__all__ = ["geweke"]

Floats = NDArray[np.float64]


def geweke(
    kernel: Kernel | PythonKernel,
    model: Any,
    n: int,
    *,
    replicates: int = 100,
    steps: int = 20,
    prior_draws: int = 4000,
    seed: int = 0,
    level: float = 1e-4,
) -> Report:
    """Joint-distribution test of a kernel on data sets of n rows.

    Parameters
    ----------
    model : Mixture
        Resolved, and its likelihood must be able to `simulate`.
    n : int
        Rows of the simulated data.
    replicates, steps : int
        Independent walks, and steps of each.
    prior_draws : int
        Draws for the prior's side of the comparison.
    kernel, seed, level : as for `check_kernel`

    Returns
    -------
    Report

    >>> import hedgerow as hr
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart()).resolve([[0.0], [1.0]])
    >>> geweke(hr.Gibbs(), model, n=4, replicates=10, steps=5, prior_draws=100).passed
    True
    """
    require(model.power == 1, "geweke", "model", model, "have power 1: data of a coarsened model cannot be simulated")
    require(model.is_resolved, "geweke", "model", model, "be resolved, as there are no data to resolve it with")
    rng = np.random.default_rng([seed, 1])
    rows = []
    for _ in range(prior_draws):
        draw = model.prior.sample_joint(n, rng)
        rows.append(_features(model, draw.labels, draw.u, draw.values, model.likelihood.simulate(draw.labels, rng)))
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows])
    centre, width = (
        np.median(table, axis=0),
        np.maximum(np.subtract(*np.percentile(table, (75, 25), axis=0)), 1e-12),
    )
    walks = [_walk(kernel, model, n, steps, seed, r, names, centre, width) for r in range(replicates)]
    findings = Findings(level)
    expected = _squash(table, centre, width)
    found = np.array(walks)
    for i, name in enumerate(names):
        findings.two_means(f"E[{name}]", found[:, i, 0], expected[:, i])
        findings.two_means(f"E[{name}²]", found[:, i, 1], expected[:, i] ** 2)
    return findings.report(
        f"geweke({kernel!r}, {type(model.prior).__name__}, {type(model.likelihood).__name__}, n={n})",
        walks=float(replicates),
        steps=float(steps),
    )


def _squash(x: Floats, centre: Floats, width: Floats) -> Floats:
    """A bounded increasing function, so that heavy tails cannot spoil a mean."""
    return np.asarray(expit((x - centre) / width))


def _walk(
    kernel: Kernel | PythonKernel,
    model: Any,
    n: int,
    steps: int,
    seed: int,
    replicate: int,
    names: list[str],
    centre: Floats,
    width: Floats,
) -> Floats:
    """Averages of the squashed features and of their squares over one walk: shape (features, 2)."""
    rng = np.random.default_rng([seed, 2, replicate])
    draw = model.prior.sample_joint(n, rng)
    labels, u, values = draw.labels, draw.u, draw.values
    total = np.zeros((len(names), 2))
    for step in range(steps):
        X = model.likelihood.simulate(labels, rng)
        sequence = 1 + replicate * steps + step
        run = drive(kernel, model, X, labels, u, values, 1, seed, sequence, update_u=True)
        labels, u = run.labels[-1], float(run.u[-1])
        values = values | {name: float(trace[-1]) for name, trace in run.values.items()}
        features = _features(model, labels, u, values, X)
        x = _squash(np.array([features[name] for name in names]), centre, width)
        total += np.column_stack([x, x**2])
    return total / steps


def _features(model: Any, labels: NDArray[np.int32], u: float, values: Mapping[str, float], X: Any) -> dict[str, float]:
    """What is compared: the partition, u, the hyper-parameters, and how the data fit the partition."""
    n = len(labels)
    bound = model.bind(X)
    features = {
        "clusters": float(labels.max() + 1),
        "pairs together": float((np.bincount(labels).astype(float) ** 2).sum()) / n**2,
        "log p(X|Π)": float(bound.log_marginals(labels).sum()),
        "log p(X) as one": float(bound.log_marginals(np.zeros(n, dtype=np.int32))[0]),
    }
    if not model.prior.u_integrates:
        features["log u"] = float(np.log(u))
    for name in model.prior.laws():
        features[name] = values[name] if name == "sigma" else float(np.log(values[name]))
    return features
