"""The result of sampling: draws, their statistics, the record of the run; saved, loaded, summarised, used to predict."""

from __future__ import annotations

from hedgerow.posterior.posterior import MapDraw, Posterior, load
from hedgerow.posterior.prediction import predictive
from hedgerow.posterior.storage import MODEL_CLASSES

__all__ = ["MODEL_CLASSES", "MapDraw", "Posterior", "load", "predictive"]
