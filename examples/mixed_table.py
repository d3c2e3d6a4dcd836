"""A table of numbers, names, yes-or-no and counts, some entries missing: propose a model, read why, sample."""

from __future__ import annotations

import numpy as np

import hedgerow as hr

rng = np.random.default_rng(0)
n = 240
kind = rng.integers(3, size=n)  # what the sampler is not told
table = np.empty((n, 4), dtype=object)
table[:, 0] = rng.normal([158, 170, 182], 4, size=(n, 3))[np.arange(n), kind]
table[:, 1] = np.array(["bus", "bicycle", "car"])[np.where(rng.random(n) < 0.8, kind, rng.integers(3, size=n))]
table[:, 2] = [bool(rng.random() < share) for share in np.array([0.1, 0.5, 0.9])[kind]]
table[:, 3] = rng.poisson(np.array([1.0, 4.0, 9.0])[kind])
table[rng.random((n, 4)) < 0.05] = None

proposal = hr.propose(table)
print(proposal)

post = proposal.sample(draws=500, warmup=250, seed=0)
found = post.point_estimate()
print()
print(f"{found.n_clusters} clusters; adjusted Rand index against the truth: {hr.summaries.ari(found.labels, kind):.2f}")
print(post.cluster_table(names=["height", "travels by", "smokes", "visits"]))
