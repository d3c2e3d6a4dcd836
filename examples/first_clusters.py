"""Wines by their chemistry: labels, how sure they are, prediction and a report, without scaling anything first."""

from __future__ import annotations

import hedgerow as hr
from hedgerow.estimators import HedgerowClusterer
from hedgerow.summaries import ari

wine = hr.data.wine()
train, new = wine.X[::2], wine.X[1::2]

found = HedgerowClusterer(random_state=0).fit(train)
print(f"{found.n_clusters_} clusters in {len(train)} wines")
print(f"adjusted Rand index against the three cultivars: {ari(found.labels_, wine.labels[::2]):.2f}")
print(f"wines with less than even odds for their own cluster: {(found.probabilities_ < 0.5).sum()}")
print()
print(found.posterior_.summary())

labels = found.predict(new)
print()
print(f"new wines: {(labels >= 0).sum()} of {len(new)} join a cluster, the others (-1) would found their own")
print(f"adjusted Rand index of the new wines: {ari(labels + 1, wine.labels[1::2]):.2f}")

page = found.posterior_.report("wines.html", title="Wines", names=wine.feature_names)
print(f"report: {page}")
