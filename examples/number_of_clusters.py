"""How many clusters? What three priors believe before the data, and what each says after them."""

from __future__ import annotations

import numpy as np

import hedgerow as hr

X = hr.data.iris().X
likelihood = hr.propose(X).likelihood
priors = {
    "DP(alpha=0.2)": hr.DP(0.2),
    "DP(alpha ~ Gamma(1, 1))": hr.DP(hr.Gamma(1, 1)),
    "PitmanYor(theta=1, sigma=0.5)": hr.PitmanYor(1.0, 0.5),
}
print(f"{'prior':<32}{'expects':>8}   after 150 flowers")
for name, prior in priors.items():
    post = hr.sample(hr.Mixture(prior, likelihood), X, draws=1000, warmup=500, seed=0)
    counts = np.bincount(post.n_clusters.ravel()) / post.n_clusters.size
    shares = "  ".join(f"{k}: {share:.0%}" for k, share in enumerate(counts) if share >= 0.01)
    print(f"{name:<32}{prior.expected_clusters(len(X)):>8.1f}   {shares}   estimate: {post.point_estimate().n_clusters}")
