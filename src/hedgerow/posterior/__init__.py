"""The result of sampling: draws, their statistics, the record of the run; saved, loaded, summarised, used to predict."""

from __future__ import annotations

from hedgerow.posterior.posterior import Posterior
from hedgerow.posterior.prediction import predictive
from hedgerow.posterior.summarised import MapDraw

__all__ = ["MapDraw", "Posterior", "predictive"]
