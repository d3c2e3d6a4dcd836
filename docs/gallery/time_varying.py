"""Time-varying clusters: who was there when, with the uncertainty of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import hedgerow as hr


def main(folder: str) -> None:
    rng = np.random.default_rng(1)
    lives = [((-5, 0), range(1, 9), 12), ((5, 0), range(1, 5), 15), ((0, 6), range(4, 9), 9)]
    X = np.concatenate([rng.normal(centre, 0.9, (size, 2)) for centre, span, size in lives for _ in span])
    times = np.concatenate([np.full(size, t) for _, span, size in lives for t in span])
    prior = hr.MixedNRM(hr.NGG(alpha=1.0, sigma=0.2), basis=[1, 3, 5, 7], decay=0.5)
    post = hr.sample(hr.Mixture(prior, hr.GaussianWishart.nips2015()), X, times=times, draws=150, warmup=150, chains=2, seed=1)
    print(f"{post.point_estimate().n_clusters} clusters of {len(X)} rows at {len(np.unique(times))} times")
    print(post.popularity().lives())
    post.plot_popularity().figure.savefig(Path(folder) / "gallery_time_varying.png", dpi=100)


if __name__ == "__main__":
    main(".")
