"""The result of sampling: draws, their statistics, the record of the run; saved, loaded, summarised, used to predict."""

from __future__ import annotations

import warnings

from hedgerow.posterior.posterior import Posterior
from hedgerow.posterior.prediction import placement, predictive
from hedgerow.posterior.sharded import DistributedPosterior
from hedgerow.posterior.summarised import MapDraw

__all__ = ["DistributedPosterior", "MapDraw", "Posterior", "placement", "predictive"]


def __getattr__(name: str) -> object:
    """`load`, which was here in 0.1."""
    if name == "load":
        warnings.warn("hedgerow.posterior.load is now hedgerow.load, or Posterior.load.", FutureWarning, stacklevel=2)
        return Posterior.load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
