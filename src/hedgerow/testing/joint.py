"""geweke: does a kernel leave the joint law of data, partition, u and hyper-parameters invariant? (Geweke
2004)

Draw (hyper-parameters, partition, u) from the prior and X from the likelihood. Then alternate one step of
the kernel given X with new data given the partition. If the kernel is right the joint law never changes, so
the average of any function over such a walk has the prior's expectation. Walks start in that law, hence no
warm-up; they are independent of each other, hence honest standard errors. The prior's side is estimated
from its own independent draws.

Unlike enumeration this works for any number of rows, and it sees an error in `simulate` or in the marginal
likelihood too. It does not see a kernel that hardly moves.

With `gaps` some entries of X are hidden from the kernel, the same in every data set. What a chain fills them in with is not handed
on from one data set to the next: each step begins with a few iterations that are thrown away, from the partition that already has the
right law, so that only the fillings have to settle. What is compared then are the partition and the entries that are there: log p of
the whole rows, and the squares within clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from hedgerow.arguments import check_seed, check_whole
from hedgerow.data.views import canonical
from hedgerow.errors import require
from hedgerow.kernels import Kernel
from hedgerow.testing.driving import PythonKernel, Values, drive, of_simulated, require_simulable
from hedgerow.testing.report import Findings, Report

__all__ = ["geweke"]

SETTLE = 6  # iterations after which fillings follow the law that the partition gives them

Floats = NDArray[np.float64]


@of_simulated
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
    gaps: ArrayLike | None = None,
) -> Report:
    """Joint-distribution test of a kernel on data sets of n rows.

    Parameters
    ----------
    replicates, steps : int
        Independent walks, and steps of each.
    prior_draws : int
        Draws for the prior's side of the comparison.
    gaps : (n, d) bool, optional
        Entries that are missing.

    Returns
    -------
    Report

    >>> import hedgerow as hr
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart()).resolve([[0.0], [1.0]])
    >>> geweke(hr.Gibbs(), model, n=4, replicates=10, steps=5, prior_draws=100).passed
    True
    """
    require_simulable(model, "geweke")
    for name, value, low in (("n", n, 1), ("replicates", replicates, 2), ("steps", steps, 1), ("prior_draws", prior_draws, 2)):
        check_whole("geweke", name, value, low)
    check_seed("geweke", seed, none=False)
    hidden = None if gaps is None else np.asarray(gaps, dtype=bool)
    if hidden is not None:
        require(hidden.shape == (n, model.likelihood.n_columns), "geweke", "gaps", gaps, "have a row for each of n and all columns")
    rng = np.random.default_rng([seed, 1])
    rows = []
    for _ in range(prior_draws):
        draw = model.prior.sample_joint(n, rng)
        X = _hide(model.likelihood.simulate(draw.labels, rng), hidden)
        rows.append(_features(model, draw.labels, draw.u, draw.values, X))
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows])
    centre, width = (
        np.median(table, axis=0),
        np.maximum(np.subtract(*np.percentile(table, (75, 25), axis=0)), 1e-12),
    )
    walks = [_walk(kernel, model, n, steps, seed, r, names, centre, width, hidden) for r in range(replicates)]
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


def _hide(X: Any, hidden: NDArray[np.bool_] | None) -> Any:
    return X if hidden is None else np.where(hidden, np.nan, np.asarray(X, dtype=np.float64))


def _squares(X: Floats) -> float:
    """Sum of squares about the means of the entries that are there."""
    seen = ~np.isnan(X)
    mean = np.where(seen, X, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return float((np.where(seen, X - mean, 0.0) ** 2).sum())


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
    hidden: NDArray[np.bool_] | None,
) -> Floats:
    """Averages of the squashed features and of their squares over one walk: shape (features, 2)."""
    rng = np.random.default_rng([seed, 2, replicate])
    draw = model.prior.sample_joint(n, rng)
    labels, u, values = draw.labels, draw.u, draw.values
    total = np.zeros((len(names), 2))
    for step in range(steps):
        X = _hide(model.likelihood.simulate(labels, rng), hidden)
        sequence = 1 + replicate * steps + step
        settle = 0 if hidden is None else SETTLE
        run = drive(kernel, model, X, labels, u, values, 1, seed, sequence, update_u=True, warmup=settle)
        labels, u = run.labels[-1], float(run.u[-1])
        values = values | {name: float(trace[-1]) for name, trace in run.values.items()}
        features = _features(model, labels, u, values, X)
        x = _squash(np.array([features[name] for name in names]), centre, width)
        total += np.column_stack([x, x**2])
    return total / steps


def _features(model: Any, labels: NDArray[np.int32], u: float, values: Values, X: Any) -> dict[str, float]:
    """What is compared: the partition, u, the hyper-parameters, and how the data fit the partition."""
    n = len(labels)
    features = {
        "clusters": float(labels.max() + 1),
        "pairs together": float((np.bincount(labels).astype(float) ** 2).sum()) / n**2,
    }
    gaps = np.isnan(X).any(axis=1) if isinstance(X, np.ndarray) and X.dtype.kind == "f" else np.zeros(n, dtype=bool)
    if gaps.any():
        features["squares within clusters"] = float(sum(_squares(X[labels == c]) for c in range(int(labels.max()) + 1)))
        X, labels = X[~gaps], canonical(labels[~gaps])
    if len(labels) > 0:
        bound = model.bind(X)
        features["log p(X|Π)"] = float(bound.log_marginals(labels).sum())
        features["log p(X) as one"] = float(bound.log_marginals(np.zeros_like(labels))[0])
    if not model.prior.u_integrates:
        features["log u"] = float(np.log(u))
    for name in model.prior.laws():
        features[name] = values[name] if name == "sigma" else float(np.log(values[name]))
    return features
