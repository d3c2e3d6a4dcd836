"""Posteriors on disk: one file with draws, data, model and run record; nothing in it can run code.

The model is stored by class name and fields (`encode`); `MODEL_CLASSES` is the whole list of what may come back. A model
that holds functions (`Custom`, a `MixedNRM` with a kernel) or a class of somebody's own cannot be stored: the rest is, with a
warning, and `load` takes the model as an argument.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.data.container import (
    NotStorableError,
    decode,
    encode,
    read_container,
    whole,
    write_container,
)
from hedgerow.data.csr import read_csr
from hedgerow.errors import require
from hedgerow.mixture import MODEL_CLASSES, Mixture
from hedgerow.posterior.draws import TRACES, Draws
from hedgerow.priors.state import VALUES, fits, with_log_u
from hedgerow.summaries.narrow import label_type, narrowed

__all__ = ["DATA", "KIND", "load_fields", "pack", "save", "unpack"]

KIND = "posterior"
VERSION = 3
"""1 had u in the place of log_u; what has no rows that are copies is written as 2, which is all the same then."""
DATA = ("X", "X.data", "X.indices", "X.indptr", "times", "place")  # arrays of the rows, not of the draws


def save(draws: Draws, path: str | os.PathLike[str]) -> None:
    """Write everything to `path`, whole or not at all."""
    write_container(path, KIND, VERSION - (draws.place is None), *pack(draws))


def pack(draws: Draws) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """A posterior as plain JSON and arrays."""
    arrays: dict[str, npt.NDArray[Any]] = {"labels": narrowed(draws.labels), "log_joint": draws.log_joint}
    arrays |= draws.traces()
    stats = list(draws.sample_stats)
    arrays |= {f"stats.{i}": draws.sample_stats[name] for i, name in enumerate(stats)}
    if draws.times is not None:
        arrays["times"] = draws.times
    if draws.place is not None:
        arrays["place"] = draws.place
    content = {
        "data": _encode_data(draws.X, arrays),
        "model": encode_model(draws.model, arrays),
        "stats": stats,
        "run": dict(draws.run),
    }
    return content, arrays


def load_fields(path: str | os.PathLike[str], model: Mixture | None) -> dict[str, Any]:
    """The constructor arguments of a posterior, from a file that `save` wrote."""
    require(model is None or isinstance(model, Mixture), "load", "model", model, "be a Mixture, or left out")
    stored = read_container(path, KIND, tuple(range(1, VERSION + 1)))
    with whole(path, "a whole posterior"):
        return unpack(stored.content, stored.arrays, model)


def unpack(content: Mapping[str, Any], given: Mapping[str, npt.NDArray[Any]], model: Mixture | None) -> dict[str, Any]:
    """The constructor arguments of a posterior from what `pack` made; what does not fit together raises."""
    arrays = with_log_u(given)
    labels = arrays["labels"]
    require(labels.dtype.kind == "u" and labels.ndim == 3, "load", "labels", labels, "be (chain, draw, row) whole numbers")
    if labels.size:
        require(int(labels.max()) < labels.shape[2], "load", "labels", labels, "be below the number of rows")
    X = _decode_data(content["data"], arrays)
    if model is None:
        model = decode_model(content["model"], arrays)
    if model is not None:
        X = model.likelihood.check(X)  # the core trusts its data: what a file says is checked like what a user gives
        check_traces(model, labels.shape, arrays)
    return {
        "labels": labels.astype(label_type(labels.size, int(labels.max(initial=0))), copy=False),
        "log_joint": arrays["log_joint"],
        **{name: arrays[name] for name in TRACES if name in arrays},
        "sample_stats": {str(name): arrays[f"stats.{i}"] for i, name in enumerate(content["stats"])},
        "times": arrays.get("times"),
        "place": arrays.get("place"),
        "X": X,
        "model": model,
        "run": dict(content["run"]),
    }


def check_traces(model: Mixture, shape: tuple[int, ...], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """u and hyper-parameters of this model, one for each draw: the core trusts them when new rows are predicted."""
    grouping = model.prior.group(arrays.get("times"), shape[2], "load")
    several = {} if grouping is None else {"group": grouping.q.shape[:1], "basis": grouping.q.shape[1:]}
    usual = {"alpha": 1.0} | model.prior.values()
    for name in TRACES:
        if name not in arrays:
            continue
        trace = np.asarray(arrays[name], dtype=np.float64)
        good = trace.shape == (*shape[:2], *several.get(VALUES[name].per or "", ())) and fits(name, trace)
        good = good and (usual.get(name, 0.0) <= 0.0 or bool((trace > 0.0).all()))  # what moves above 0 never gets there
        require(good, "load", name, arrays[name], "be one value for each draw, in the range of the model")


def _encode_data(X: Any, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    if sparse.issparse(X):
        rows = sparse.csr_array(X)
        arrays |= {"X.data": rows.data, "X.indices": rows.indices, "X.indptr": rows.indptr}
        return {"form": "csr", "shape": [int(length) for length in rows.shape]}
    arrays["X"] = np.asarray(X)
    return {"form": "dense"}


def _decode_data(stored: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    if stored["form"] == "dense":
        return arrays["X"]
    if stored["form"] != "csr":
        raise ValueError(f"data of form {str(stored['form'])[:60]!r}")
    return read_csr(arrays["X.data"], arrays["X.indices"], arrays["X.indptr"], stored["shape"])


def encode_model(model: Mixture | None, arrays: dict[str, npt.NDArray[Any]]) -> Any:
    inside: dict[str, npt.NDArray[Any]] = {}
    try:
        stored = encode(model, inside, "model", MODEL_CLASSES)
    except NotStorableError as error:
        why = f"{error} The draws are saved without the model: load them with load(path, model=...)."
        warnings.warn(why, stacklevel=4)
        return {"left out": str(error)}
    arrays |= inside
    return stored


def decode_model(stored: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Mixture | None:
    if isinstance(stored, dict) and set(stored) == {"left out"}:
        return None
    model = decode(stored, arrays, MODEL_CLASSES)
    if model is not None and not isinstance(model, Mixture):
        raise ValueError("the model is not a Mixture")
    return model
