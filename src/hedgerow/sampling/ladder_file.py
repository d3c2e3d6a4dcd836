"""The file of a ladder: the present population and the rungs behind it, so that a run can go on as if nothing had happened."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.data.container import FormatError, read_container, write_container
from hedgerow.errors import ParameterError
from hedgerow.priors.state import NAMES, fits
from hedgerow.sampling.population import Climb, Population, Rungs

__all__ = ["StoredLadder", "read_ladder", "write_ladder"]

KIND, VERSION = "ladder", 1


@dataclass(frozen=True, eq=False)
class StoredLadder:
    """What a file holds: the run it belongs to in words and numbers, and how far it had come."""

    path: str
    seed: int
    about: dict[str, Any]
    population: Population
    rungs: Rungs

    def check(self, climb: Climb, plan: dict[str, Any]) -> None:
        """Refuse to go on with the population of another run."""
        about = _about(climb, plan)
        other = [name for name, value in about.items() if self.about.get(name) != value]
        fits_rows = self.population.labels.shape == (climb.particles, climb.n) and tuple(self.population.measure) == climb.names
        if other or not fits_rows:
            raise ParameterError(
                f"ladder(checkpoint={self.path!r}): checkpoint must be a new file or one of this run. "
                f"Got other {' and '.join(other) or 'particles'}."
            )


def write_ladder(path: str | os.PathLike[str], climb: Climb, plan: dict[str, Any], population: Population, rungs: Rungs) -> None:
    """Write a population, whole or not at all."""
    arrays: dict[str, Any] = {name: getattr(population, name) for name in ("labels", "log_weights", "log_likelihood", "first")}
    arrays |= {f"measure.{name}": values for name, values in population.measure.items()}
    arrays |= {f"rungs.{name}": np.array(values) for name, values in asdict(rungs).items()}
    write_container(path, KIND, VERSION, {"about": _about(climb, plan), "seed": climb.seed}, arrays)


def read_ladder(path: str | os.PathLike[str]) -> StoredLadder:
    """Read what `write_ladder` wrote; what cannot have been a population is refused."""
    stored = read_container(path, KIND, (VERSION,))
    arrays = stored.arrays
    try:
        measure = {name: arrays[f"measure.{name}"] for name in NAMES if f"measure.{name}" in arrays}
        rungs = Rungs(*(tuple(arrays[f"rungs.{name}"].tolist()) for name in asdict(Rungs())))
        population = Population(
            arrays["labels"], measure, arrays["log_weights"], arrays["log_likelihood"], arrays["first"].astype(np.int64)
        )
        seed, about = stored.content["seed"], dict(stored.content["about"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _refusal(path, f"parts that do not fit together: {error}") from error
    wrong = _wrong(population, rungs)
    if type(seed) is not int or seed < 0:
        wrong = "a seed that is none"
    if wrong:
        raise _refusal(path, wrong)
    return StoredLadder(str(path), seed, about, population, rungs)


def _wrong(population: Population, rungs: Rungs) -> str:
    """What of a population cannot be; nothing where all can."""
    labels, count = population.labels, len(population.labels)
    if labels.ndim != 2 or labels.dtype != np.int32 or labels.size == 0 or labels.min() < 0 or labels.max() >= labels.shape[1]:
        return "labels that are none"
    numbers = (population.log_weights, population.log_likelihood)
    if any(array.shape != (count,) or array.dtype != np.float64 or not np.isfinite(array).all() for array in numbers):
        return "weights that are none"
    if abs(float(np.logaddexp.reduce(population.log_weights))) > 1e-6:
        return "weights that do not sum to 1"
    if any(array.shape != (count,) or not fits(name, array) for name, array in population.measure.items()):
        return "hyper-parameters out of range"
    if population.first.shape != (count,) or population.first.min() < 0 or population.first.max() >= count:
        return "lines of descent that are none"
    powers = np.array(rungs.powers, dtype=float)
    lengths = {len(values) for values in asdict(rungs).values()}
    if lengths != {len(powers)} or len(powers) == 0 or not (np.diff(powers, prepend=0.0) > 0).all() or powers[-1] > 1:
        return "rungs that do not rise"
    return ""


def _about(climb: Climb, plan: dict[str, Any]) -> dict[str, Any]:
    """What must be the same when a run goes on."""
    numbers = {"particles": climb.particles, "moves": climb.moves, **plan}
    return {
        "numbers": numbers,
        "seed": climb.seed,
        "model": repr(climb.model),
        "kernel": repr(climb.kernel),
        "data": _digest(climb.data),
    }


def _digest(data: Any) -> str:
    """A checksum of the rows."""
    parts = (data.data, data.indices, data.indptr) if sparse.issparse(data) else (np.asarray(data),)
    digest = hashlib.sha256(repr(data.shape).encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _refusal(path: Any, what: str) -> FormatError:
    return FormatError(f"ladder(checkpoint={str(path)!r}): checkpoint must be a new file or one of a ladder. Got {what}.")
