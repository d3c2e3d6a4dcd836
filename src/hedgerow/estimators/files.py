"""IncrementalBHC on disk: its stream with the parameters, the numbers of its clusters and the columns of its batches."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import is_whole
from hedgerow.data.container import decode, encode, whole
from hedgerow.data.kinds import Reading
from hedgerow.errors import require
from hedgerow.likelihoods import Likelihood
from hedgerow.mixture import MODEL_CLASSES
from hedgerow.priors import Prior
from hedgerow.trees import TreeStream
from hedgerow.trees.files import load_stream, save_stream
from hedgerow.trees.forgetting import as_text, read_half_life

if TYPE_CHECKING:
    from hedgerow.estimators.incremental import IncrementalBHC

__all__ = ["read_incremental", "write_incremental"]

_KIND = "incremental"

Arrays = dict[str, npt.NDArray[Any]]


def write_incremental(path: str | os.PathLike[str], estimator: IncrementalBHC) -> None:
    """Write a fitted estimator, whole or not at all; a generator given as random_state is left out, being used up."""
    owner = type(estimator).__name__
    require("stream_" in vars(estimator), owner, "path", str(path), "be given after fit or partial_fit: there is nothing to save yet")
    arrays: Arrays = {}
    seed = estimator.random_state
    whole = is_whole(seed)
    given = estimator.get_params(deep=False)
    given.pop("random_state")
    given["forget"] = as_text(given["forget"])
    content: dict[str, Any] = {"parameters": {name: encode(value, arrays, name, MODEL_CLASSES) for name, value in given.items()}}
    columns = getattr(estimator, "feature_names_in_", None)
    content |= {
        "random_state": int(seed) if whole else None,
        "n_features_in_": getattr(estimator, "n_features_in_", None),
        "feature_names_in_": None if columns is None else [str(name) for name in columns],
        "given": estimator._given,
        "reading": estimator.reading_.to_json() if "reading_" in vars(estimator) else None,
    }
    arrays |= {"numbers": estimator._numbers.table, "last": estimator._last}
    if estimator._rows is not None:
        arrays["rows"] = estimator._rows
    save_stream(path, estimator.stream_.__getstate__(), _KIND, content, arrays)


def read_incremental(path: str | os.PathLike[str], names: Iterable[str]) -> dict[str, Any]:
    """Everything that is in a file of `write_incremental`, as attributes of a new estimator with parameters of these names."""
    stream = TreeStream.__new__(TreeStream)
    content, arrays = load_stream(path, stream.__setstate__, _KIND)
    with whole(path, "a whole IncrementalBHC"):
        stored = content["parameters"]
        stored = {"forget": None} | stored  # files of before had no forgetting
        _need(set(stored) == set(names) - {"random_state"}, "parameters that it does not have")
        parts: dict[str, Any] = {name: decode(stored[name], arrays, MODEL_CLASSES) for name in stored}
        _need(isinstance(parts["prior"], Prior | None) and isinstance(parts["likelihood"], Likelihood | None), "a model that is none")
        parts |= {"random_state": content["random_state"], "stream_": stream, "_given": _whole(content["given"])}
        if content["n_features_in_"] is not None:
            parts["n_features_in_"] = _whole(content["n_features_in_"])
        if content["feature_names_in_"] is not None:
            parts["feature_names_in_"] = np.array([_text(name) for name in content["feature_names_in_"]], dtype=object)
            _need(len(parts["feature_names_in_"]) == parts.get("n_features_in_"), "names for other columns")
        if content.get("reading") is not None:
            parts["reading_"] = Reading.from_json(_text(content["reading"]))
        parts |= {"numbers": arrays["numbers"], "_last": arrays["last"], "_rows": arrays.get("rows")}
        _check(stream, parts)
    return parts


def _check(stream: TreeStream, parts: dict[str, Any]) -> None:
    """Numbers for all ids there are, one each; as many labels as rows."""
    seen = stream.n_seen
    _need(seen > 0 and parts["_given"] > 0, "no rows")
    _need(parts["remember"] is stream.remembers, "a stream that remembers other things")
    _need(read_half_life(parts["forget"], "forget") == stream.half_life, "a stream that forgets other things")
    numbers, last, rows = parts["numbers"], parts["_last"], parts["_rows"]
    _need(numbers.dtype == np.int32 and numbers.ndim == 1 and last.dtype == np.int32 and last.ndim == 1, "numbers of another type")
    _need(len(numbers) > 0 and numbers[0] == -1 and int(numbers.min()) >= -1, "numbers that are none")
    used = np.sort(numbers[numbers >= 0])
    _need(np.array_equal(used, np.arange(len(used))), "numbers twice or left out")
    events = stream.events
    ids = [*stream.cluster_ids.tolist(), *(e.cluster for e in events), *(e.other for e in events)]
    _need(max(ids) + 1 < len(numbers) and bool((numbers[np.array(ids)[np.array(ids) >= 0] + 1] >= 0).all()), "clusters without numbers")
    if rows is not None:
        _need(rows.dtype == np.int64 and rows.shape == (seen,), "rows of another number")
        _need(int(rows.min()) >= 0 and int(rows.max()) < parts["_given"], "rows that were not given")
    elif parts["remember"]:
        _need(parts["_given"] == seen, "rows of another number")


def _need(condition: bool, words: str) -> None:
    if not condition:
        raise ValueError(words)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError(f"a count of {str(value)[:60]}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a name that is no text")
    return value
