"""Streams on disk: one file with the model, the rows and the forest; nothing in it can run code."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.data.container import decode, encode, read_container, whole, write_container
from hedgerow.data.csr import read_csr
from hedgerow.mixture import MODEL_CLASSES
from hedgerow.priors.state import packed

__all__ = ["KIND", "load_stream", "save_stream"]

KIND = "stream"
_VERSION = 2
"""1 had no names for sigma, tau and theta."""


def save_stream(
    path: str | os.PathLike[str],
    parts: Mapping[str, Any],
    kind: str = KIND,
    extra: Mapping[str, Any] | None = None,
    extra_arrays: Mapping[str, npt.NDArray[Any]] | None = None,
) -> None:
    """Write the parts of a stream's `__getstate__`, and what else its owner wants back, which must be plain JSON and arrays."""
    arrays: dict[str, npt.NDArray[Any]] = {f"extra.{name}": array for name, array in (extra_arrays or {}).items()}
    content: dict[str, Any] = {
        "extra": dict(extra or {}),
        "model": encode(parts["model"], arrays, "model", MODEL_CLASSES),
        "options": list(parts["options"]),
        "seed": int(parts["seed"]),
        "rows": None,
    }
    names, q = parts["times"]
    if names is not None:
        arrays |= {"times.names": names, "times.q": q}
    if parts["state"] is not None:
        state = dict(parts["state"])
        arrays |= {f"measure.{name}": np.asarray(value) for name, value in state.pop("measure").items()}
        arrays |= {f"state.{name}": array for name, array in state.items()}
        rows = parts["rows"]
        if sparse.issparse(rows):
            arrays |= {"rows.data": rows.data, "rows.indices": rows.indices, "rows.indptr": rows.indptr}
            content["rows"] = [int(length) for length in rows.shape]
        else:
            arrays["rows"] = rows
            content["rows"] = "dense"
    write_container(path, kind, _VERSION, content, arrays)


def load_stream(
    path: str | os.PathLike[str], rebuild: Callable[[dict[str, Any]], None], kind: str = KIND
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read a file of `save_stream` and hand its parts to `rebuild`, which refuses what does not fit together; returns the rest."""
    stored = read_container(path, kind, (1, _VERSION))
    arrays, content = stored.arrays, stored.content
    with whole(path, "a whole stream"):
        state = _named(arrays, "state.")
        if state:
            measure = _named(arrays, "measure.") or {name: state.pop(name) for name in ("log_u", "alpha")}
            state["measure"] = packed(measure | dict(zip(("sigma", "tau", "theta"), state.pop("hyper", ()), strict=False)))
        options: list[Any] = list(content["options"])
        options += [0, True, True, 1, 0.0, False][len(options) :]  # files of before had three, then four
        max_nodes, revise, remember, repeats, half_life, clock = options
        good = type(half_life) is float and 0 <= half_life <= 1e15 and type(clock) is bool and not (max_nodes and half_life)
        good = good and type(max_nodes) is int and (max_nodes == 0 or 1000 <= max_nodes < 1 << 31) and type(content["seed"]) is int
        good = good and type(repeats) is int and 1 <= repeats <= 1000
        if not (good and 0 <= content["seed"] < 1 << 64 and type(revise) is type(remember) is bool):
            raise ValueError("options that no stream has")
        rebuild(
            {
                "model": decode(content["model"], arrays, MODEL_CLASSES),
                "options": (max_nodes, revise, remember, repeats, half_life, clock),
                "seed": content["seed"],
                "times": (arrays.get("times.names"), arrays.get("times.q")),
                "rows": _rows(content["rows"], arrays),
                "state": state or None,
            }
        )
        extra = dict(content.get("extra", {}))
    return extra, _named(arrays, "extra.")


def _named(arrays: Mapping[str, npt.NDArray[Any]], kind: str) -> dict[str, Any]:
    return {name.removeprefix(kind): array for name, array in arrays.items() if name.startswith(kind)}


def _rows(form: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    if form is None:
        return None
    if form == "dense":
        return np.asarray(arrays["rows"], float)
    return read_csr(arrays["rows.data"], arrays["rows.indices"], arrays["rows.indptr"], form)
