"""check_kernel: does a kernel sample the exact posterior of a small data set, and does it keep its promises?

The test. `replicates` independent chains start from scattered states, each with its own order of the rows,
and run `iterations` steps after `warmup`. Frequencies of partitions, numbers of clusters, pairs of rows
together and bounded functions of u and of the hyper-parameters are averaged within each chain and compared
with their exact expectations.

Why the verdict can be trusted. The chains are independent and identically distributed, so the mean over
chains of a chain average has standard error s/√replicates, s the standard deviation between chains, with
Student's t law for the score: autocorrelation is inside s and needs no estimate. s is not allowed below the
value it would have for independent draws, so that a state that is never visited counts as the deviation it
is. Rare partitions are pooled until every bin is expected at least `LEAST_COUNT` times per chain, which
keeps the averages near normal. The start is not drawn from the posterior; its trace dies geometrically in
the warm-up, and a kernel for which it does not is one that does not mix. Bonferroni over all comparisons
bounds the false alarms by `level` for a whole report.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hedgerow.errors import require
from hedgerow.kernels import Kernel
from hedgerow.mixture import Mixture
from hedgerow.priors import Prior
from hedgerow.summaries.partitions import canonical, is_canonical
from hedgerow.testing.driving import KernelDraws, PythonKernel, drive
from hedgerow.testing.exact import ExactPosterior, exact_posterior
from hedgerow.testing.report import Findings, Report

__all__ = ["check_kernel"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]

LEAST_COUNT = 5.0


def check_kernel(
    kernel: Kernel | PythonKernel,
    model: Any,
    X: Any,
    *,
    u: float | None = None,
    replicates: int = 48,
    iterations: int = 300,
    warmup: int = 40,
    seed: int = 0,
    level: float = 1e-4,
) -> Report:
    """Compare a kernel with the enumerated posterior of `model` on the few rows of X.

    Parameters
    ----------
    kernel : Kernel or PythonKernel
    model : Mixture
        Hyper-parameters with a law are sampled and checked too.
    X : array-like
        At most 8 rows or so.
    u : float, optional
        Hold u there and compare with the posterior given u. For `PitmanYor` the auxiliary alpha is then held
        at theta. By default u is sampled, or integrated out.
    replicates, iterations, warmup : int
        Independent chains, steps kept and steps dropped of each; kernels adapt in the latter as they do in `sample`.
    seed : int
    level : float
        Probability of a false alarm of the whole report.

    Returns
    -------
    Report

    >>> import hedgerow as hr
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    >>> check_kernel(hr.Gibbs(), model, [[0.0], [0.1], [1.0], [3.0]], replicates=16, iterations=100).passed
    True
    """
    require(isinstance(model, Mixture), "check_kernel", "model", model, "be a Mixture")
    model = model.resolve(X)
    X = model.likelihood.check(X)
    held = {name: model.prior.values()["theta"] for name in model.prior.auxiliaries} if u is not None else {}
    exact = exact_posterior(model, X, u, **held)
    runs = [_replicate(kernel, model, X, exact, u, held, warmup, iterations, seed, sequence) for sequence in range(replicates)]
    findings = Findings(level)
    _promises(findings, kernel, model, X, runs[0], u, held, seed)
    index = np.stack([exact.index(run.labels) for run in runs])
    _compare_partitions(findings, exact, index)
    _compare_moments(findings, exact, runs)
    found = np.bincount(index.ravel(), minlength=len(exact.partitions)) / index.size
    probabilities = exact.probabilities
    noise = np.sqrt(2 / np.pi * probabilities * (1 - probabilities) / index.size).sum() / 2
    return findings.report(
        f"check_kernel({kernel!r}, {type(model.prior).__name__}, {type(model.likelihood).__name__})",
        total_variation=float(np.abs(found - probabilities).sum() / 2),
        total_variation_of_independent_draws=float(noise),
        draws=float(index.size),
        quadrature_error=exact.quadrature_error,
    )


def _replicate(
    kernel: Kernel | PythonKernel,
    model: Any,
    X: Any,
    exact: ExactPosterior,
    u: float | None,
    held: dict[str, float],
    warmup: int,
    iterations: int,
    seed: int,
    sequence: int,
) -> KernelDraws:
    """One chain on shuffled rows, its labels put back in the order of X."""
    rng = np.random.default_rng([seed, sequence, 7])
    order = rng.permutation(exact.partitions.shape[1])
    labels, start_u, values = _scattered_start(model.prior, exact.partitions, sequence, rng)
    here = start_u if u is None else u
    run = drive(kernel, model, X[order], labels, here, values | held, iterations, seed, sequence, u is None, warmup)
    back = np.empty_like(run.labels)
    back[:, order] = run.labels
    return KernelDraws(canonical(back), run.u, run.values, run.log_joint)


def _scattered_start(prior: Prior, partitions: Labels, sequence: int, rng: Generator) -> tuple[Labels, float, dict[str, float]]:
    """One cluster, singletons or any partition, in turn; u far and wide, hyper-parameters from their laws."""
    row = (0, len(partitions) - 1, int(rng.integers(len(partitions))))[sequence % 3]
    values = prior.values() | {name: law.sample(rng) for name, law in prior.laws().items()}
    return partitions[row], float(np.exp(rng.normal())), values


def _compare_partitions(findings: Findings, exact: ExactPosterior, index: NDArray[np.intp]) -> None:
    """Frequencies of partitions and of numbers of clusters, pairs together, mean number of clusters."""
    steps = index.shape[1]
    p = exact.probabilities
    order = np.argsort(-p, kind="stable")
    single = order[p[order] * steps >= LEAST_COUNT]
    for row in single:
        _compare(findings, f"partition {exact.partitions[row].tolist()}", exact, index, _indicator(p, [row]))
    rest = np.setdiff1d(order, single)
    if p[rest].sum() * steps >= LEAST_COUNT:
        _compare(findings, f"the other {rest.size} partitions", exact, index, _indicator(p, rest))
    K = exact.n_clusters
    for k in range(1, int(K.max()) + 1):
        if p[np.equal(K, k)].sum() * steps >= LEAST_COUNT:
            _compare(findings, f"P({k} clusters)", exact, index, np.equal(K, k).astype(float))
    _compare(findings, "E[clusters]", exact, index, K.astype(float))
    n = exact.partitions.shape[1]
    for i in range(n):
        for j in range(i):
            together = (exact.partitions[:, i] == exact.partitions[:, j]).astype(float)
            _compare(findings, f"rows {j} and {i} together", exact, index, together)


def _indicator(p: Floats, rows: Any) -> Floats:
    inside = np.zeros(p.size)
    inside[rows] = 1
    return inside


def _compare(findings: Findings, what: str, exact: ExactPosterior, index: NDArray[np.intp], values: Floats) -> None:
    """Chain averages of a function of the partition against its exact expectation."""
    wanted = exact.expect(values)
    variance = max(exact.expect(values**2) - wanted**2, 0.0)
    findings.mean(what, values[index].mean(axis=1), wanted, variance / index.shape[1])


def _compare_moments(findings: Findings, exact: ExactPosterior, runs: list[KernelDraws]) -> None:
    """The same for u and the hyper-parameters."""
    for moment in exact.moments:
        traces = np.stack([run.u if moment.name == "u" else run.values[moment.name] for run in runs])
        name = f"E[f({moment.name})^{moment.power}]"
        averages = moment.evaluate(traces).mean(axis=1)
        findings.mean(name, averages, moment.mean, moment.variance / traces.shape[1])


def _promises(
    findings: Findings,
    kernel: Kernel | PythonKernel,
    model: Any,
    X: Any,
    run: KernelDraws,
    u: float | None,
    held: dict[str, float],
    seed: int,
) -> None:
    """What must hold exactly: canonical labels, one seed one chain, names of clusters do not matter, own
    log joint."""
    rng = np.random.default_rng([seed, 11])
    n = run.labels.shape[1]
    labels = canonical(rng.integers(0, 3, n))
    values = model.prior.values() | held
    steps = 25
    here = 1.3 if u is None else u

    def again(first: Labels) -> KernelDraws:
        return drive(kernel, model, X, first, here, values, steps, seed, 999, update_u=u is None)

    first, second = again(labels), again(labels)
    findings.hold("labels are canonical", is_canonical(first.labels))
    same = np.array_equal(first.labels, second.labels) and np.array_equal(first.u, second.u)
    findings.hold("same seed, same draws", same)
    if isinstance(kernel, Kernel):
        renamed = again(np.asarray(5 + 3 * (labels.max() - labels), dtype=np.int32))
        findings.hold("names of the first clusters do not matter", np.array_equal(first.labels, renamed.labels))
    filled_in = getattr(model.likelihood.bind(X), "n_imputed", 0) > 0  # the chain's log joint is then that of the fillings too
    if first.log_joint is not None and not filled_in:
        wanted = [_log_joint(model, X, first, step, values) for step in range(steps)]
        findings.agree("the chain's own log joint", first.log_joint, wanted, 1e-9)


def _log_joint(model: Any, X: Any, run: KernelDraws, step: int, values: dict[str, float]) -> float:
    """log p(Π, u, X) at one draw, from the model; with u integrated out where the prior does that."""
    u = None if model.prior.u_integrates else float(run.u[step])
    now = {name: values[name] for name in model.prior.values()}
    now |= {name: float(trace[step]) for name, trace in run.values.items() if name in now}
    return float(model.log_joint(X, run.labels[step], u=u, **now))
