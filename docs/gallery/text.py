"""Text: short articles as counts of words, from coarse topics to fine ones, with no embedding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import hedgerow as hr

TOPICS = {
    "sport": ("match goal team season coach injury league win", ("tennis court serve set racket", "rugby scrum try pitch tackle")),
    "money": ("market price profit bank share growth rate tax", ("oil barrel crude supply pump", "loan mortgage house buyer lender")),
}


def articles(n: int = 160) -> tuple[list[str], np.ndarray]:
    """Texts of two topics in two kinds each: words of the topic, of the kind, and of neither."""
    rng = np.random.default_rng(0)
    common = ["year", "people", "time", "week", "today", "report", "long"]
    texts, kinds = [], np.arange(n) % 4
    for kind in kinds:
        shared, own = list(TOPICS.values())[kind // 2]
        words = [rng.choice(pool, size) for pool, size in ((shared.split(), 18), (own[kind % 2].split(), 14), (common, 12))]
        texts.append(" ".join(np.concatenate(words)))
    return texts, kinds


def main(folder: str) -> None:
    texts, kinds = articles()
    counter = CountVectorizer()
    counts = counter.fit_transform(texts)
    model = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.Multinomial(beta=0.1))
    levels = hr.levels(model, counts, n_levels=6, draws=40, warmup=40, seed=0)
    fine = levels.about(4)
    print(f"{fine.n_clusters} clusters, strength {fine.strength:.2f}")
    print(f"adjusted Rand index against the truth: {hr.summaries.ari(fine.labels, kinds):.2f}")
    for name in fine.posterior.profiles(fine.labels, names=counter.get_feature_names_out()).clusters["name"]:
        print("-", name)
    coarse = levels.about(2)
    print(f"coarser: {coarse.n_clusters} clusters, strength {coarse.strength:.2f}")
    levels.plot().figure.savefig(Path(folder) / "gallery_text.png", dpi=100)


if __name__ == "__main__":
    main(".")
