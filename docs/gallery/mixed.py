"""A mixed table with gaps: measurements, names, yes-or-no and counts, one entry in ten missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import hedgerow as hr


def main(folder: str) -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=240)  # what the sampler is not told
    usual = np.array(["bus", "bicycle", "car"])[np.where(rng.random(240) < 0.8, kind, rng.integers(3, size=240))]
    people = pd.DataFrame(
        {
            "height": rng.normal(np.array([158, 170, 182])[kind], 4).round(1),
            "travels": usual,
            "smokes": rng.random(240) < np.array([0.1, 0.5, 0.9])[kind],
            "visits": rng.poisson(np.array([1.0, 4.0, 9.0])[kind]),
        }
    ).astype(object)
    people = people.mask(rng.random(people.shape) < 0.1)

    proposal = hr.propose(people)
    print(proposal.explained())
    post = proposal.sample(draws=200, warmup=200, chains=2, seed=0)
    found = post.point_estimate()
    print(f"{found.n_clusters} clusters; adjusted Rand index against the truth {hr.summaries.ari(found.labels, kind):.2f}")
    for name in post.profiles(found.labels).clusters["name"]:
        print("-", name)
    post.plot_scatter().figure.savefig(Path(folder) / "gallery_mixed.png", dpi=100)


if __name__ == "__main__":
    main(".")
