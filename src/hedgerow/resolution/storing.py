"""Levels on disk: every level's draws in one file, the rows once; nothing in it can run code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.data.container import decode, encode, read_container, whole, write_container
from hedgerow.errors import ParameterError
from hedgerow.kernels import COMBINATIONS, KERNELS, Kernel
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.posterior.storage import DATA, pack, unpack
from hedgerow.resolution.ladder import Ladder, Plan
from hedgerow.resolution.level import Level

__all__ = ["KIND", "Stored", "begun_levels", "check_same", "load_levels", "save_levels"]

KIND = "levels"
VERSION = 2
"""2 has the places of rows where some are copies; what has none is written as 1, which is all the same then."""
KERNEL_CLASSES = {cls.__name__: cls for cls in (*KERNELS, *COMBINATIONS)}


@dataclass(frozen=True, eq=False)
class Stored:
    """What a file holds."""

    items: list[Level]
    plan: Plan | None
    kernel: Kernel | None
    notes: list[str]


def save_levels(
    path: str | os.PathLike[str], items: Sequence[Level], plan: Plan | None, kernel: Kernel | None, notes: Sequence[str]
) -> None:
    """Write levels, whole or not at all."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    told = []
    for i, level in enumerate(items):
        content, own = pack(level.posterior)
        arrays |= {name if name in DATA else f"{i}.{name}": array for name, array in own.items()}
        arrays |= {f"{i}.strengths": level.strengths, f"{i}.weakest": level.weakest}
        told.append({"power": level.power, "posterior": content})
    numbers = None if plan is None else asdict(plan)
    content = {"levels": told, "plan": numbers, "kernel": encode(kernel, arrays, "kernel", KERNEL_CLASSES), "notes": list(notes)}
    write_container(path, KIND, VERSION - ("place" not in arrays), content, arrays)


def load_levels(path: str | os.PathLike[str], model: Mixture | None) -> Stored:
    """Read what `save_levels` wrote; `model` takes the place of those stored, at the power of each level."""
    stored = read_container(path, KIND, (1, VERSION))
    arrays, content = stored.arrays, stored.content
    with whole(path, "whole levels"):
        items = []
        for i, told in enumerate(content["levels"]):
            own = {name[len(f"{i}.") :]: array for name, array in arrays.items() if name.startswith(f"{i}.")}
            own |= {name: arrays[name] for name in DATA if name in arrays}
            power = float(told["power"])
            fields = unpack(told["posterior"], own, None)
            if fields["model"] is None and model is not None:
                fields["model"] = replace(model.resolve(fields["X"]), power=power)
            strengths, weakest = (np.asarray(own[name], dtype=np.float64) for name in ("strengths", "weakest"))
            if strengths.ndim != 2 or strengths.shape != weakest.shape:
                raise ValueError("strengths that do not fit")
            items.append(Level(power, Posterior(**fields), strengths, weakest))
        plan = None if content["plan"] is None else Plan(**{name: int(value) for name, value in content["plan"].items()})
        kernel = decode(content["kernel"], arrays, KERNEL_CLASSES)
        if not items or not (kernel is None or isinstance(kernel, Kernel)):
            raise ValueError("no levels, or a kernel that is none")
        return Stored(items, plan, kernel, [str(note) for note in content["notes"]])


def begun_levels(path: Path, model: Mixture | None) -> Stored | None:
    """Those of a run that was stopped; None where there is no file yet."""
    return load_levels(path, model) if path.exists() else None


def check_same(begun: Stored, ladder: Ladder, path: Any) -> None:
    """Refuse to go on with the levels of another run."""
    first = begun.items[0].posterior
    place = None if ladder.copies is None else ladder.copies.place
    same = {
        "numbers (draws, warmup, chains, splits, max_rows, seed)": begun.plan == ladder.plan,
        "model": first.model is not None and repr(replace(first.model, power=1.0)) == repr(replace(ladder.model, power=1.0)),
        "data": _equal(first.seen().X, ladder.data),
        "copies": np.array_equal(first.place, place) if first.place is not None and place is not None else first.place is place,
    }
    for name, fits in same.items():
        if not fits:
            raise ParameterError(
                f"levels(checkpoint={str(path)!r}): checkpoint must be a new file or one of this run. Got other {name}."
            )


def _equal(a: Any, b: Any) -> bool:
    if a.shape != b.shape or sparse.issparse(a) != sparse.issparse(b):
        return False
    if sparse.issparse(a):
        return bool((sparse.csr_array(a) != sparse.csr_array(b)).nnz == 0)
    return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f"))
