"""The scikit-learn face: estimators with fit, predict and labels_, made of the public parts below them."""

from __future__ import annotations

from hedgerow.estimators.clusterer import HedgerowClusterer
from hedgerow.estimators.hierarchical import BayesianHierarchicalClustering
from hedgerow.estimators.incremental import IncrementalBHC

__all__ = ["BayesianHierarchicalClustering", "HedgerowClusterer", "IncrementalBHC"]
