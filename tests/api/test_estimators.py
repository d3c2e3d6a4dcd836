"""The scikit-learn face: its own checks, tables of every kind, pipelines, and what a data scientist tries first."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from hedgerow.estimators import BayesianHierarchicalClustering, HedgerowClusterer


@parametrize_with_checks([HedgerowClusterer(draws=15, warmup=15, chains=2), BayesianHierarchicalClustering()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
