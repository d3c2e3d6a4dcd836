"""A stream that drifts: batches come one after the other, clusters move, part and keep their numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot

import hedgerow as hr
from hedgerow.plots.palette import ranked_colors


def main(folder: str) -> None:
    rng = np.random.default_rng(0)
    stream = hr.IncrementalBHC(likelihood=hr.GaussianWishart(mean=[0, 0], r=0.1, nu=5, psi=0.5 * np.eye(2)), random_state=0)
    seen = []
    for batch in range(12):
        centres = [(0.0, 0.0), (4.0 + 0.15 * batch, 0.0)]  # one stays, one drifts
        if batch >= 6:
            centres.append((0.0, 5.0))  # one comes late
        X = np.concatenate([rng.normal(centre, 0.4, (30, 2)) for centre in centres])
        stream.partial_fit(X)
        numbers = stream.predict(X)
        print(f"batch {batch + 1:2}: {len(X)} rows, clusters {' '.join(str(number) for number in np.unique(numbers))}")
        seen.append((X, numbers))
    figure, axes = pyplot.subplots(1, 3, figsize=(9, 3), sharex=True, sharey=True)
    colors = ranked_colors(1 + max(int(numbers.max()) for _, numbers in seen))
    for ax, batch in zip(axes, (0, 5, 11), strict=True):
        X, numbers = seen[batch]
        ax.scatter(*X.T, c=colors[numbers], s=8)
        ax.set_title(f"batch {batch + 1}", fontsize=10)
    figure.savefig(Path(folder) / "gallery_drifting_stream.png", dpi=100)


if __name__ == "__main__":
    main(".")
