"""High-dimensional data: handwritten digits, 64 columns, by full covariances of their first principal components."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot
from sklearn.decomposition import PCA

import hedgerow as hr


def main(folder: str) -> None:
    images = hr.data.digits()
    rows = np.arange(0, len(images.X), 3)  # a third of them, for the clock
    X, digit = images.X[rows], images.labels[rows]
    Z = PCA(16, random_state=0).fit_transform(X)
    post = hr.sample(hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianWishart()), Z, draws=100, warmup=100, chains=2, seed=0)
    found = post.point_estimate()
    sizes = np.bincount(found.labels)
    large = np.flatnonzero(sizes >= 10)
    print(f"{len(X)} images, {found.n_clusters} clusters, {len(large)} of ten images or more")
    print(f"adjusted Rand index against the digits: {hr.summaries.ari(found.labels, digit):.2f}")
    figure, axes = pyplot.subplots(2, -(-len(large) // 2), figsize=(9, 3.2))
    for ax in axes.flat:
        ax.axis("off")
    for ax, cluster in zip(axes.flat, large, strict=False):
        ax.imshow(X[found.labels == cluster].mean(axis=0).reshape(8, 8), cmap="gray_r")
        ax.set_title(f"{sizes[cluster]}", fontsize=9)
    figure.savefig(Path(folder) / "gallery_high_dimensional.png", dpi=100)


if __name__ == "__main__":
    main(".")
