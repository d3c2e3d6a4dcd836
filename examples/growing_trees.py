"""Batches that come one after the other: clusters that keep their numbers, what happens to them, a state that is saved."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

from hedgerow.estimators import IncrementalBHC

rng = np.random.default_rng(0)
centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])


def batch(known: int, rows: int = 200) -> np.ndarray:
    """Rows round the first few centres."""
    return centres[rng.integers(known, size=rows)] + rng.normal(0, 0.3, (rows, 2))


online = IncrementalBHC(random_state=0)
for day, known in enumerate((2, 2, 3, 4), 1):
    before = len(online.events_) if day > 1 else 0
    online.partial_fit(batch(known))
    print(f"day {day}: {online.n_clusters_} clusters, numbers {sorted(online.cluster_ids_.tolist())}")
    for event in online.events_[before:]:
        if event.at > 200:
            print(f"    after {event.at} rows: cluster {event.cluster} {event.kind}")

print("cluster of each centre:", online.predict(centres).tolist())
print("a point far away:", online.predict([[40.0, 40.0]]).tolist(), "(none of them)")

Path("trees.pickle").write_bytes(pickle.dumps(online))
again = pickle.loads(Path("trees.pickle").read_bytes())
more = batch(4)
print("a saved one goes on alike:", np.array_equal(online.partial_fit(more).labels_, again.partial_fit(more).labels_))
