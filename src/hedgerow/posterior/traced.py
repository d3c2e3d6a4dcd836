"""Traced: what every posterior has, wherever its rows and labels are: traces, the model, the record of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ParameterError
from hedgerow.mixture import Mixture
from hedgerow.priors.state import NAMES, MeasureTraces

__all__ = ["TRACES", "FloatArray", "IntArray", "Names", "Traced", "need_model"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
Names = Sequence[str] | None
"""Of columns, rows or clusters, for who has some."""

#: Traces that a prior may or may not have; absent ones are None.
TRACES = NAMES


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Traced(MeasureTraces):
    """What chains have told of themselves; `log_joint`, `n_clusters` and the traces that the prior has are (chain, draw)."""

    log_joint: FloatArray
    model: Mixture | None
    n_clusters: IntArray = None  # type: ignore[assignment]  # of every draw, set when the posterior is made
    sample_stats: Mapping[str, FloatArray] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)

    @property
    def chains(self) -> int:
        """Number of chains."""
        return int(self.log_joint.shape[0])

    @property
    def draws(self) -> int:
        """Draws of each chain."""
        return int(self.log_joint.shape[1])

    @property
    def n(self) -> int:
        """Rows of the data."""
        raise NotImplementedError

    def sampled(self) -> list[str]:
        """Names of the hyper-parameters that moved, by the model's laws or, without a model, by the record."""
        names = self.run.get("sampled", []) if self.model is None else self.model.prior.laws()
        return [name for name in TRACES if name in names]


def need_model(draws: Traced, owner: str) -> Mixture:
    """The model, for who cannot do without."""
    if draws.model is None:
        raise ParameterError(
            f"{owner}(...): the posterior must have its model. This one was loaded from a file that could not hold it: "
            "load it with load(path, model=...)."
        )
    return draws.model
