"""The methods of AISTATS 2014, Table 1, each as one run: IBHC, Gibbs with basis measures drawn, SMC; and TreeGuided beside them.

Every run says its best log joint (eq. 18, as the paper compares), the CPU seconds it took, and its best partition. As that
log joint is a density in the auxiliary variables too, which are drawn and differ from run to run, the mean over draws of them
at the best partition is given as well: that one compares partitions.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import adjusted_rand_score

import hedgerow as hr
from hedgerow.sampling import Chain
from hedgerow.trees import TreeStream, guide
from papers.aistats2014.generator import Points
from papers.common import Record

Labels = npt.NDArray[Any]


def model_of(points: Points) -> hr.Mixture:
    """Section 4.1: alpha ~ Gamma(1, 1), sigma ~ Beta(1, 2), tau = 0.001, basis at even times, decay 0.2, s = 1, nu = 6."""
    base = hr.NGG(hr.Gamma(1.0, 1.0), hr.Beta(1.0, 2.0), 1e-3)
    prior = base if points.times is None else hr.MixedNRM(base, basis=range(2, 16, 2), decay=0.2)
    X = points.X
    return hr.Mixture(prior, hr.GaussianWishart(mean=X.mean(axis=0), r=1.0, nu=6.0, psi=np.cov(X.T))).resolve(X)


def ibhc(points: Points, passes: int, seed: int) -> Record:
    """All rows, `passes` times."""
    model, X, times = model_of(points), points.X, points.times
    seen: list[tuple[float, float]] = []
    start = time.process_time()

    def note(_index: int, _count: int, forest: hr.Forest) -> None:
        seen.append((time.process_time() - start, forest_log_joint(model, X, times, forest)))

    forest = hr.ibhc(model, X, passes=passes, times=times, seed=seed, callbacks=[note])
    spent = time.process_time() - start
    best = max(value for _, value in seen)
    return _record(points, forest.labels, best, spent, seen, seed)


def online(points: Points, repeats: int, revise: bool, seed: int) -> Record:
    """Time step by time step, nothing known of those to come, every batch put in `repeats` times and the best outcome kept.

    Without `revise` the past is fixed, which is the paper's algorithm 3; with it old rows are looked at again.
    """
    model, X, times = model_of(points), points.X, points.times
    assert times is not None
    trees = TreeStream(model, repeats=repeats, revise=revise, seed=seed)
    seen: list[tuple[float, float]] = []
    spent = 0.0
    for step in np.unique(times):
        before = time.process_time()
        trees.add(X[times == step], times=times[times == step])
        spent += time.process_time() - before
        upto = times <= step
        values = trees.values
        given = {"u": np.exp(values["log_u"]), "alpha": values["alpha"], "sigma": float(values["sigma"])}
        seen.append((spent, model.log_joint(X[upto], trees.labels, times=times[upto], **given)))
    return _record(points, trees.labels, seen[-1][1], spent, seen, seed)


def gibbs(points: Points, iterations: int, seed: int) -> Record:
    """The paper's baseline, which draws the basis measure of every cluster, from one cluster."""
    return _chain(points, hr.Gibbs(collapse=False), iterations, 0, seed, np.zeros(len(points.X), np.int32), time.process_time())


def tree_guided(points: Points, iterations: int, warmup: int, seed: int) -> Record:
    """The exact tree-guided sampler from the partition of five passes of IBHC, along guides grown at the values found there.

    Says also where it goes from that partition, which IBHC chose for its log joint: draws of the posterior lie below it.
    """
    before = time.process_time()
    model, X, times = model_of(points), points.X, points.times
    forest = hr.ibhc(model, X, passes=5, times=times, seed=seed)
    u, sigma = np.exp(forest.values["log_u"]), float(forest.values["sigma"])
    base = hr.NGG(float(np.mean(forest.values["alpha"])), sigma, 1e-3)
    fixed = hr.Mixture(base if times is None else hr.MixedNRM(base, basis=range(2, 16, 2), decay=0.2), model.likelihood)
    grown = [guide(fixed, X, times=times, seed=2 * seed + i, u=u if times is not None else float(np.ravel(u)[0])) for i in (0, 1)]
    kernel = hr.TreeGuided(guides=[tree.to_linkage() for tree in grown])
    record = _chain(points, kernel, iterations, warmup, seed, forest.labels, before)
    return record | {"start_log_joint": settled(points, forest.labels, seed)}


def _chain(points: Points, kernel: hr.Kernel, iterations: int, warmup: int, seed: int, labels: Labels, before: float) -> Record:
    """A sampler for so many iterations; `before` is when its clock began."""
    model, X = model_of(points), points.X
    bound = model.likelihood.bind(X)
    mover = Chain(model, X, kernel, labels=labels, seed=seed, times=points.times, bound=bound)
    best, best_labels = mover.log_joint(), labels
    seen: list[tuple[float, float]] = []
    late: list[float] = []
    done = 0
    while done < iterations:
        count = 1 if done < warmup else min(10, iterations - done)
        if done < warmup:
            mover.warm_up(count, done, warmup)
            value, found = mover.log_joint(), mover.state()["labels"]
        else:
            block = mover.run(count)
            at = int(np.argmax(block.log_joint))
            value, found = float(block.log_joint[at]), block.labels[at]
        done += count
        seen.append((time.process_time() - before, value))
        if 2 * done > iterations:
            late.append(value)
        if value > best:
            best, best_labels = value, found
    spent = time.process_time() - before
    more = {"iterations": iterations, "late_log_joint": float(np.mean(late))}
    return _record(points, best_labels, best, spent, seen, seed) | more


def particles(points: Points, count: int, seed: int) -> Record:
    """Sequential Monte Carlo over the rows in the order of time."""
    model = model_of(points)
    before = time.process_time()
    result = hr.smc(model, points.X, particles=count, seed=seed, shuffle=points.times is None, times=points.times)
    spent = time.process_time() - before
    top = int(np.argmax(result.log_joint))
    return _record(points, result.labels[top], float(result.log_joint[top]), spent, [], seed) | {"log_evidence": result.log_evidence}


def forest_log_joint(model: hr.Mixture, X: npt.NDArray[np.float64], times: Any, forest: hr.Forest) -> float:
    """Log joint of a forest's partition at the auxiliary variables it was made with."""
    values = forest.values
    if times is None:
        given = {name: float(np.ravel(values[name])[0]) for name in ("alpha", "sigma")}
        given["u"] = float(np.exp(np.ravel(values["log_u"])[0]))
        return model.log_joint(X, forest.labels, **given)
    return model.log_joint(X, forest.labels, np.exp(values["log_u"]), times=times, alpha=values["alpha"], sigma=float(values["sigma"]))


def settled(points: Points, labels: npt.ArrayLike, seed: int = 0, draws: int = 60) -> float:
    """Mean log joint of a partition over draws of the auxiliary variables and hyper-parameters given it."""
    model = model_of(points)
    bound = model.likelihood.bind(points.X)
    mover = Chain(model, points.X, hr.Gibbs(subset=1), labels=labels, seed=seed, times=points.times, bound=bound)
    here = mover.state()["labels"]
    values = []
    for _ in range(draws):
        mover.run(3)
        mover.restore(mover.state() | {"labels": here})  # one row may have moved: back to the partition asked about
        values.append(mover.log_joint())
    return float(np.mean(values[draws // 4 :]))


def _record(points: Points, labels: Labels, best: float, spent: float, seen: list[tuple[float, float]], seed: int) -> Record:
    index = np.unique(np.linspace(0, len(seen) - 1, min(len(seen), 100)).astype(int)) if seen else np.empty(0, int)
    return {
        "max_log_joint": best,
        "settled_log_joint": settled(points, labels, seed),
        "seconds": spent,
        "clusters": len(np.unique(labels)),
        "agreement": {name: float(adjusted_rand_score(other, labels)) for name, other in points.labels.items()},
        "trace": {"seconds": [round(seen[i][0], 4) for i in index], "log_joint": [round(seen[i][1], 2) for i in index]},
        "labels": labels,
    }
