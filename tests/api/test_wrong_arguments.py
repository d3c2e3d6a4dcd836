"""Whatever is put in the place of any argument of a public call: an answer, or an error that names the argument and what it was."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import data, kernels, plots, summaries, testing
from hedgerow.errors import MissingExtraError, ParameterError

WRONG: list[Any] = [
    None, "x", b"a", "1", -1, 0, True, 2.5, 1e300, 10**400, float("nan"), float("inf"), 1j, np.float64(3),
    [], [1, "a"], (1, 2, 3), {}, {"a": 1}, np.array([]), np.full(3, np.nan), np.array([[1.0]]), object(), lambda *_: 0,
]  # fmt: skip
X = hr.data.ring13(n=40, seed=0).X
SHORT = {"draws": 3, "warmup": 2, "chains": 1, "particles": 2, "n_levels": 2, "splits": 1, "replicates": 20, "seed": 0}


@cache
def made() -> dict[str, Any]:
    """Objects with methods, and what arguments without a default may be."""
    model = hr.Mixture(hr.DP(), hr.GaussianWishart()).resolve(X)
    post = hr.sample(model, X, draws=5, warmup=2, chains=2, progress=False, seed=0)
    shards = [X[:20], X[20:]]
    levels = hr.levels(model, X, n_levels=2, draws=5, warmup=2, chains=1, splits=0, seed=0, progress=False)
    stream = hr.trees.TreeStream(model, seed=0)
    stream.add(X)
    forest = hr.ibhc(model, X, seed=0)
    known = {name: getattr(forest, name) for name in ("left", "right", "roots", "size", "log_d")}
    known |= {
        "model": model,
        "X": X,
        "X_new": X[:3],
        "labels": post.labels,
        "partition": post.labels[0, 0],
        "centre": post.labels[0, 0],
    }
    known |= {"prior": hr.DP(), "likelihood": hr.GaussianWishart(), "kernel": hr.Gibbs(), "shards": shards, "path": "file", "n": 5}
    known |= {"values": post.log_joint, "trace": post.log_joint, "a": post.labels[0, 0], "b": post.labels[0, 1], "clusters": 3}
    objects = {"posterior": post, "levels": levels, "stream": stream, "forest": forest, "mixture": model, "proposal": hr.propose(X)}
    objects |= {"shards": hr.distributed.sample(model, shards, draws=3, warmup=2, seed=0), "DP": hr.DP(hr.Gamma(1, 1))}
    objects |= {"profiles": post.profiles(), "smc": hr.smc(model, X, particles=5, seed=0)}
    return {"known": known, "objects": objects}


def calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions and classes by name, then methods."""
    for name in hr.__all__:
        thing = getattr(hr, name)
        if callable(thing) and name not in ("Kernel", "Likelihood", "Prior", "Forest", "Posterior", "Level", "Levels", "Proposal"):
            if isinstance(thing, type) and issubclass(thing, Exception):
                continue
            yield name, thing
    for name in ("sample", "ibhc", "propose"):
        yield f"distributed.{name}", getattr(hr.distributed, name)
    for module in (summaries, plots, testing):
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                yield f"{module.__name__}.{name}", getattr(module, name)
    for function in (
        data.ring13,
        data.pitman_yor_mixture,
        data.documents,
        data.moving_clusters,
        data.read,
        data.understand,
        kernels.mix,
    ):
        yield f"{function.__module__}.{function.__name__}", function


METHODS = {
    "posterior": "summary point_estimate credible_ball uncertainty cluster_table profiles similarity predict predict_proba log_density "
    "outlier_scores save load report best_so_far plot_trace plot_tree plot_scatter plot_pairs plot_density plot_similarity "
    "plot_n_clusters",
    "levels": "about finest summary report save plot",
    "stream": "add events predict save predict_proba",
    "forest": "plot report to_newick save cut",
    "mixture": "resolve log_joint",
    "proposal": "sample explained",
    "shards": "point_estimate labels shard_labels sampled_rows summary profiles predict plot_tree save",
    "DP": "sample_partition sample_joint expected_clusters",
    "profiles": "compare to_csv",
    "smc": "draw",
}
"""Of objects."""


def wrong_calls(name: str, call: Callable[..., Any]) -> Iterator[str]:
    """What went wrong, a line for each."""
    known = made()["known"]
    takes = {p.name: p for p in inspect.signature(call).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    given: dict[str, Any] = {key: known[key] for key, p in takes.items() if p.default is p.empty and key in known}
    if any(p.default is p.empty and key not in given for key, p in takes.items()):
        return
    given |= {key: value for key, value in SHORT.items() if key in takes and takes[key].default is not inspect.Parameter.empty}
    given |= {"progress": False} if "progress" in takes else {}
    for key in takes:
        for value in WRONG:
            if key in ("n", "d", "words", "topics", "steps") and hr.arguments.is_whole(value) and value > 10**6:
                continue  # a table of that many rows is what was asked for
            try:
                call(**given | {key: value})
            except (ParameterError, MissingExtraError):
                pass
            except Exception as error:
                yield f"{name}({key}={value!r:.40}): {type(error).__name__}: {error!s:.80}"


def fitting(estimator: type[Any]) -> Callable[..., Any]:
    def fit(**given: Any) -> Any:
        return estimator(**given).fit(X)

    fit.__signature__ = inspect.signature(estimator)  # type: ignore[attr-defined]
    return fit


CALLS = dict(calls())
ESTIMATORS = ("HedgerowClusterer", "BayesianHierarchicalClustering", "IncrementalBHC")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    if "matplotlib.pyplot" in __import__("sys").modules:
        __import__("matplotlib.pyplot").pyplot.close("all")


@pytest.mark.parametrize("name", CALLS)
def test_functions_say_what_is_wrong(name: str) -> None:
    call = fitting(CALLS[name]) if name in ESTIMATORS else CALLS[name]
    assert list(wrong_calls(name, call)) == []


@pytest.mark.parametrize("name", METHODS)
def test_methods_say_what_is_wrong(name: str) -> None:
    thing = made()["objects"][name]
    found = [
        line
        for method in METHODS[name]
        if callable(getattr(thing, method, None))
        for line in wrong_calls(f"{name}.{method}", getattr(thing, method))
    ]
    assert found == []


def test_a_call_that_says_nothing_is_noticed() -> None:
    def careless(n: int = 1) -> int:
        return n + 1

    assert len(list(wrong_calls("careless", careless))) > 5
