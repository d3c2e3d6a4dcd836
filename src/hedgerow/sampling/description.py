"""A plan on disk: model and kernel by class name and fields, data, starts and numbers, in one file that runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.data.container import NotStorableError, decode, encode, fitting, read_container, write_container
from hedgerow.data.copies import copies_at
from hedgerow.data.csr import read_csr
from hedgerow.errors import ParameterError
from hedgerow.kernels import COMBINATIONS, KERNELS, Kernel
from hedgerow.mixture import MODEL_CLASSES, Mixture
from hedgerow.sampling.agreement import Agreement
from hedgerow.sampling.plan import Plan
from hedgerow.sampling.starts import read_starts

__all__ = ["read_description", "write_description"]

_KIND = "plan"
_VERSION = 2
"""2 has the places of rows where some are copies; what has none is written as 1, which is all the same then."""
_NUMBERS = ("draws", "warmup", "chains", "thin", "seed")
KERNEL_CLASSES: Mapping[str, type] = {cls.__name__: cls for cls in (*KERNELS, *COMBINATIONS)}

Arrays = dict[str, npt.NDArray[Any]]


def write_description(path: Path, plan: Plan) -> None:
    """Write a plan; a model or a kernel that holds functions is left out, with the reason."""
    arrays: Arrays = {}
    content = {
        "model": _encode_or_leave_out(plan.model, arrays, "model", MODEL_CLASSES),
        "kernel": _encode_or_leave_out(plan.kernel, arrays, "kernel", KERNEL_CLASSES),
        "data": encode(_pack_data(plan.data), arrays, "data", {}),
        "times": encode(plan.times, arrays, "times", {}),
        "starts": encode(list(plan.starts), arrays, "starts", {}),
        "numbers": {name: getattr(plan, name) for name in _NUMBERS},
        "columns": None if plan.columns is None else list(plan.columns),
        "until": None if plan.until is None else asdict(plan.until),
        "independent": plan.independent,
        "place": encode(plan.place, arrays, "place", {}),
    }
    write_container(path, _KIND, _VERSION - (plan.place is None), content, arrays)


def read_description(path: Path, model: Mixture | None, kernel: Kernel | None) -> Plan:
    """Read a plan; `model` and `kernel` are those that could not be stored, and only those."""
    stored = read_container(path, _KIND, (1, _VERSION))
    content, arrays = stored.content, stored.arrays
    with fitting(f"resume(...): {path.name} must hold a whole plan", ParameterError):
        used_model = _decode_or_take(content["model"], arrays, MODEL_CLASSES, "model", model, Mixture)
        used_kernel = _decode_or_take(content["kernel"], arrays, KERNEL_CLASSES, "kernel", kernel, Kernel)
        numbers = {name: _whole(content["numbers"][name]) for name in _NUMBERS}
        data = _unpack_data(decode(content["data"], arrays, {}))
        times = decode(content["times"], arrays, {})
        starts = decode(content["starts"], arrays, {})
        used_model = used_model.resolve(data)
        data = used_model.likelihood.check(data)  # the core trusts its data: a file's is checked like a user's
        used_model.prior.group(times, data.shape[0], "resume")
        plan = Plan(
            model=used_model,
            data=data,
            kernel=used_kernel,
            starts=tuple(start for item in starts for start in read_starts([item], 1, data.shape[0])),
            times=times,
            columns=_names(content.get("columns")),  # files of older runs have none
            until=None if content.get("until") is None else Agreement(**content["until"]),
            independent=content.get("independent", True) is not False,  # as chains of older runs were
            place=_places(decode(content.get("place"), arrays, {}), data.shape[0]),
            draws=numbers["draws"],
            warmup=numbers["warmup"],
            chains=numbers["chains"],
            thin=numbers["thin"],
            seed=numbers["seed"],
        )
        if len(plan.starts) != plan.chains or min(plan.draws, plan.chains, plan.thin) < 1 or plan.warmup < 0:
            raise ValueError("the numbers do not fit together")
    return plan


def _encode_or_leave_out(value: Any, arrays: Arrays, name: str, classes: Mapping[str, type]) -> Any:
    inside: Arrays = {}
    try:
        stored = encode(value, inside, name, classes)
    except NotStorableError as error:
        return {"left out": str(error)}
    arrays |= inside
    return stored


def _decode_or_take(stored: Any, arrays: Arrays, classes: Mapping[str, type], name: str, given: Any, wanted: type) -> Any:
    left_out = isinstance(stored, dict) and set(stored) == {"left out"}
    if given is None and left_out:
        raise ParameterError(f"resume({name}=None): {name} must be given again, as it could not be stored. Got None.")
    if given is not None and not left_out:
        raise ParameterError(f"resume({name}=...): {name} must be left out, as the run's own is stored. Got another.")
    value = given if left_out else decode(stored, arrays, classes)
    if not isinstance(value, wanted):
        raise ParameterError(f"resume({name}=...): {name} must be a {wanted.__name__}. Got a {type(value).__name__}.")
    return value


def _pack_data(data: Any) -> Any:
    """A dense array as it is, a sparse one as its three arrays and its shape."""
    if not sparse.issparse(data):
        return np.asarray(data)
    rows = sparse.csr_array(data)
    return [rows.data, rows.indices, rows.indptr, *(int(length) for length in rows.shape)]


def _unpack_data(packed: Any) -> Any:
    if isinstance(packed, np.ndarray):
        return packed
    values, indices, indptr, rows, columns = packed
    return read_csr(values, indices, indptr, (rows, columns))


def _names(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        raise ValueError("names of columns must be texts")
    return tuple(value)


def _places(value: Any, rows: int) -> npt.NDArray[np.int64] | None:
    if value is None:
        return None
    found = copies_at(value, len(value))
    if found is None or len(found.kept) != rows:
        raise ValueError("places must number the rows that count as they come")
    return found.place


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"a count must be a whole number, not {str(value)[:60]}")
    return value
