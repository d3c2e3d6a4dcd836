"""Every case of the golden record: a name, and a function that draws and returns named arrays."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from models import FEW_PRIORS, KERNELS, PRIORS, VARIANTS, sits, small, times_for, wide

import hedgerow as hr
from hedgerow.distributed import Conditional
from hedgerow.sampling import Chain
from hedgerow.trees import TreeStream
from hedgerow.trees.build import guide

Found = dict[str, Any]
Case = tuple[str, Callable[[], Found]]


def all_cases() -> Iterator[Case]:
    """Chains, runs, trees, streams, sequential Monte Carlo and shards, in an order that stays."""
    yield from _chains()
    yield from _trees()
    yield from _others()
    yield from _powers()


def _powers() -> Iterator[Case]:
    """Rows worth less than one."""
    for size, data in (("", small()), (", wide", wide())):
        for kernel, likelihood in itertools.product(KERNELS, data):
            family, X = data[likelihood]
            if family.allows_power and sits(KERNELS[kernel], PRIORS["NGG"], family):
                model = hr.Mixture(PRIORS["NGG"], family, power=0.3)
                yield f"power{size} / {kernel} / {likelihood}", lambda m=model, x=X, k=KERNELS[kernel]: _run(m, x, k, 10, 4)


def _chains() -> Iterator[Case]:
    tables = [
        (KERNELS, small(), PRIORS, 10, 8),
        (VARIANTS, small(), FEW_PRIORS, 10, 8),
        (KERNELS | VARIANTS, wide(), FEW_PRIORS[1:2], 12, 3),
    ]
    for (kernels, data, priors, warmup, draws), size in zip(tables, ("", "", ", wide"), strict=True):
        for kernel, likelihood, prior in itertools.product(kernels, data, priors):
            model = hr.Mixture(PRIORS[prior], data[likelihood][0])
            if sits(kernels[kernel], model.prior, model.likelihood):
                name = f"chain{size} / {kernel} / {likelihood} / {prior}"
                yield name, lambda m=model, x=data[likelihood][1], k=kernels[kernel], w=warmup, d=draws: _run(m, x, k, w, d)


def _run(model: hr.Mixture, X: Any, kernel: hr.Kernel, warmup: int, draws: int) -> Found:
    n = len(X)
    chain = Chain(model, X, kernel, seed=7, sequence=2, times=times_for(model.prior, n))
    chain.warm_up(warmup, 0, warmup)
    block = chain.run(draws)
    values = {"u": np.vectorize(math.exp)(block.log_u[-1])}  # by the C library, as the core did when u was what is kept
    values |= {name: getattr(block, name)[-1] for name in (*model.prior.laws(), *model.prior.auxiliaries)}
    return {"labels": block.labels if n < 10 else block.labels[-1], "log_joint": block.log_joint[-1]} | values


def _trees() -> Iterator[Case]:
    for likelihood, prior in itertools.product(wide(), FEW_PRIORS):
        model, X = hr.Mixture(PRIORS[prior], wide()[likelihood][0]), wide()[likelihood][1][:40]
        given = {"times": times_for(model.prior, 40), "seed": 3}
        grown: dict[str, Callable[[], Any]] = {
            "bhc": lambda m=model, x=X, g=given: hr.bhc(m, x, **g),
            "ibhc": lambda m=model, x=X, g=given: hr.ibhc(m, x, passes=3, **g),
            "ibhc, 2014": lambda m=model, x=X, g=given: hr.ibhc(m, x, passes=2, repair="bhc", balance=False, **g),
            "ibhc, rough": lambda m=model, x=X, g=given: hr.ibhc(m, x, insert="top", **g),
            "guide": lambda m=model, x=X, g=given: guide(m, x, passes=2, **g),
        }
        for how, grow in grown.items():
            yield f"tree / {how} / {likelihood} / {prior}", lambda grow=grow: _forest(grow())
        yield f"stream / {likelihood} / {prior}", lambda m=model, x=X: _stream(m, x, repeats=1)
        if likelihood == "GaussianWishart":
            yield f"stream, repeats / {likelihood} / {prior}", lambda m=model, x=X: _stream(m, x, repeats=3)


def _forest(forest: Any) -> Found:
    children = np.sort(np.column_stack([forest.left, forest.right])[forest.left >= 0], axis=1)
    return {
        "labels": forest.labels,
        "children": zlib.crc32(children.tobytes()),
        "log_joint": forest.log_joint,
        "log_bound": forest.log_bound,
    }


def _stream(model: hr.Mixture, X: Any, repeats: int) -> Found:
    stream = TreeStream(model, seed=4, repeats=repeats)
    times = times_for(model.prior, len(X))
    for rows in np.split(np.arange(len(X)), [15, 28]):
        stream.add(np.asarray(X)[rows], None if times is None else times[rows])
    ahead = stream.predict_log_weights(np.asarray(X)[:2], None if times is None else times[:2])
    now = stream.values
    values = {"u": np.exp(now["log_u"])} | {name: now[name] for name in model.prior.laws()}
    return {"labels": stream.labels, "log_joint": stream.log_joint, "ahead": ahead[:, -2:]} | values


def _others() -> Iterator[Case]:
    for likelihood, prior in itertools.product(small(), PRIORS):
        model, X = hr.Mixture(PRIORS[prior], small()[likelihood][0]), small()[likelihood][1]
        yield f"smc / {likelihood} / {prior}", lambda m=model, x=X: _smc(m, x)
    for likelihood, prior in itertools.product(wide(), ("DP, law", "NGG", "NIG, laws", "Stable", "PitmanYor")):
        if likelihood == "Custom":
            continue
        model, X = hr.Mixture(PRIORS[prior], wide()[likelihood][0]), wide()[likelihood][1]
        yield f"shards / {likelihood} / {prior}", lambda m=model, x=X: _shards(m, x)
        yield f"shards, trees / {likelihood} / {prior}", lambda m=model, x=X: _shard_trees(m, x)
    for likelihood, prior in itertools.product(wide(), FEW_PRIORS):
        model, X = hr.Mixture(PRIORS[prior], wide()[likelihood][0]), wide()[likelihood][1]
        yield f"sample / {likelihood} / {prior}", lambda m=model, x=X: _sample(m, x)


def _smc(model: hr.Mixture, X: Any) -> Found:
    found = hr.smc(model, X, particles=6, seed=5, times=times_for(model.prior, len(X)))
    return {"labels": found.labels, "log_evidence": found.log_evidence}


def _shards(model: hr.Mixture, X: Any) -> Found:
    kernel = Conditional(scouts=30, pairs=4, visits=12)
    parts = np.split(np.asarray(X), [25, 40])
    found = hr.distributed.sample(model, parts, kernel=kernel, draws=3, warmup=4, seed=6, init="one")
    return {"labels": found.labels(), "log_joint": found.log_joint[0, -1], "u": np.exp(found.log_u[0, -1]), "alpha": found.alpha[0, -1]}


def _shard_trees(model: hr.Mixture, X: Any) -> Found:
    found = hr.distributed.ibhc(model, np.split(np.asarray(X), [25, 40]), passes=2, seed=6)
    return {"labels": found.labels, "log_joint": found.log_joint, "log_bound": found.log_bound}


def _sample(model: hr.Mixture, X: Any) -> Found:
    """A run of two chains from different starts, and what is made of its draws."""
    times = times_for(model.prior, len(X))
    some = {"times": None if times is None else times[:3]}
    post = hr.sample(model, X, draws=6, warmup=12, chains=2, seed=8, init=["sequential", "ibhc"], times=times, progress=False)
    found = {"labels": post.labels[:, -1], "log_joint": post.log_joint[:, -1], "point": post.point_estimate().labels}
    return found | {"log_density": post.log_density(X[:3], **some), "predicted": post.predict(X[:3], **some)}
