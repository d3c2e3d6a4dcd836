"""Which of two regions of a posterior has more mass? 10,000 rows of PY(3, 0.8) under NGG, where chains stay at 440 clusters or at 690.

python -m benchmarks regions

The two differ by some two hundred rows far from all others: by 440 they are one wide cluster, by 690 they stand alone. Leave these out
and there is one region. So rows are taken away, a few at a time, while a chain on either side follows, and the ratio of evidences at
every step is estimated twice: by the smaller set (rows put back one after the other, each with a label drawn) and by the larger (the
labels that they have). With Z(A) the sum of p(x, c) over region A,

    log Z(690) - log Z(440) = sum over steps of [log Z(690, n + m) - log Z(690, n)] - the same of 440,

as long as the two have become one. Clusters and log joints of both sides without the rows, some time after, say so. On the way the wide
cluster dissolves, all at once. Were it much the lighter side just then, that would be missing from the sum: the last columns have the
number of rows taken away by then, and what `Chain.log_mass` says of 690 against 440 in the three steps before. After that ten seeds of
the default sampler, and where each of them ends.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

import hedgerow as hr
from hedgerow.sampling import Chain

RUNS, SEEDS = 4, 10
BATCH, SETTLE, DRAWS, THIN = 7, 20, 10, 3
LAST, WEIGHED = 150, 4  # iterations after the last step, and states of every step that are weighed
WIDE = 4.0  # least standard deviation of a column in the wide cluster; all others have less than 3
ENDS = 250  # iterations to where a region is followed from
TRIED, LOOKED_AT = 20, 60  # starts at most, and iterations after which a wide cluster is looked for
STATE = ("alpha", "sigma", "log_u")


def problem() -> tuple[hr.Mixture, np.ndarray, np.ndarray]:
    """The model of NIPS 2015, section 4.2, and its second set."""
    made = hr.data.pitman_yor_mixture(10_000, 6, theta=3.0, sigma=0.8, seed=0)
    model = hr.Mixture(hr.NGG(hr.Gamma(1.0, 1.0), hr.Beta(1.5, 1.5), 1.0), hr.GaussianWishart.nips2015())
    return model.resolve(made.X), made.X, made.labels


@dataclass
class Sums:
    """Numbers, sums and sums of products of the rows of clusters; the last is empty."""

    model: hr.Mixture
    n: np.ndarray
    total: np.ndarray
    products: np.ndarray

    @classmethod
    def of(cls, model: hr.Mixture, X: np.ndarray, labels: np.ndarray) -> Sums:
        k, d = int(labels.max()) + 2, X.shape[1]
        total, products = np.zeros((k, d)), np.zeros((k, d, d))
        np.add.at(total, labels, X)
        np.add.at(products, labels, X[:, :, None] * X[:, None, :])
        return cls(model, np.bincount(labels, minlength=k).astype(float), total, products)

    def log_next(self, x: np.ndarray) -> np.ndarray:
        """log p(x | rows of the cluster), of every cluster and of none: Student's t."""
        base = self.model.likelihood
        d, r, mean = x.size, float(base.r), np.asarray(base.mean, float)
        r_n, nu_n = r + self.n, float(base.nu) + self.n
        centre = (r * mean + self.total) / r_n[:, None]
        psi = np.asarray(base.psi, float) + self.products + r * np.outer(mean, mean)
        psi = psi - r_n[:, None, None] * centre[:, :, None] * centre[:, None, :]
        away = x - centre
        scale = r_n / (r_n + 1)
        distance = scale * np.einsum("ki,ki->k", away, np.linalg.solve(psi, away[:, :, None])[:, :, 0])
        free = nu_n + 1
        constant = gammaln(free / 2) - gammaln((free - d) / 2) - d / 2 * np.log(np.pi) + d / 2 * np.log(scale)
        return constant - np.linalg.slogdet(psi)[1] / 2 - free / 2 * np.log1p(distance)

    def put(self, x: np.ndarray, k: int) -> Sums:
        """With a row more in cluster k."""
        if k == self.n.size - 1:
            self.n, self.total = np.append(self.n, 0.0), np.append(self.total, np.zeros((1, x.size)), axis=0)
            self.products = np.append(self.products, np.zeros((1, x.size, x.size)), axis=0)
        self.n[k] += 1
        self.total[k] += x
        self.products[k] += np.outer(x, x)
        return self


def log_weight(sums: Sums, x: np.ndarray, state: dict[str, float], given: list[int] | None, rng: np.random.Generator) -> float:
    """Log of p(Π', u, x')/p(Π, u, x), rows x put in one after the other, summed over the clusters that each might join.

    p(Π, u) = u^(n-1) exp(-ψ(u))/Γ(n) · Π_c α Γ(|c| - σ)/Γ(1 - σ) (u + τ)^(σ - |c|), τ = 1.
    """
    found, u = 0.0, float(np.exp(state["log_u"]))
    for j, row in enumerate(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            seat = np.log(np.maximum(sums.n - state["sigma"], 0.0)) - np.log1p(u)
        seat[-1] = np.log(state["alpha"]) + (state["sigma"] - 1) * np.log1p(u)
        terms = seat + sums.log_next(row)
        found += state["log_u"] - np.log(sums.n.sum()) + float(logsumexp(terms))
        k = int((terms + rng.gumbel(size=terms.size)).argmax()) if given is None else given[j]
        sums = sums.put(row, k)
    return found


def regions(model: hr.Mixture, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, tuple[np.ndarray, dict[str, float]]]:
    """A state of each region: where Gibbs goes from the first start row after row that has a wide cluster, and from the true labels."""
    starts = (Chain(model, X, hr.Gibbs(), seed=seed, sequence=1 + i) for i in range(TRIED))
    wide = next(chain for chain in starts if len(wide_rows(X, chain.run(LOOKED_AT).labels[-1])))
    found = {}
    for name, chain in (("440", wide), ("690", Chain(model, X, hr.Gibbs(), labels=y, seed=seed))):
        block = chain.run(ENDS)
        found[name] = block.labels[-1], {key: float(getattr(block, key)[-1]) for key in STATE}
    return found


def wide_rows(X: np.ndarray, labels: np.ndarray, least: int = 50) -> np.ndarray:
    """Rows of clusters of more than so many rows that are wide in every column."""
    large = np.flatnonzero(np.bincount(labels) > least)
    return np.flatnonzero(np.isin(labels, [k for k in large if X[labels == k].std(axis=0).min() > WIDE]))


@dataclass
class Way:
    """What a chain saw on the way down: estimates, masses and wide clusters step by step, and where it is at the end."""

    smaller: np.ndarray
    larger: np.ndarray
    masses: np.ndarray
    wide: np.ndarray
    clusters: float
    log_joint: float


def go_down(model: hr.Mixture, X: np.ndarray, start: Any, away: np.ndarray, seed: int) -> Way:
    """Take the rows `away` from the table, a few at a time, with a chain that follows."""
    rng = np.random.default_rng(seed)
    full, state = start[0].copy(), start[1]
    kept, smaller, larger, masses, wide = np.ones(len(X), bool), [], [], [], []
    for first in range(0, len(away) + BATCH, BATCH):
        rows, gone = np.flatnonzero(kept), away[first : first + BATCH]
        labels = np.unique(full[rows], return_inverse=True)[1]
        chain = Chain(model, X[rows], hr.Gibbs(), labels=labels, seed=seed, sequence=first, start=state)
        chain.run(SETTLE)
        block = chain.run(DRAWS, THIN)
        states = [{key: float(getattr(block, key)[i]) for key in STATE} for i in range(DRAWS)]
        if first > 0:  # rows of the step before, put back
            before = X[away[first - BATCH : first]]
            up = [log_weight(Sums.of(model, X[rows], block.labels[i]), before, states[i], None, rng) for i in range(DRAWS)]
            smaller.append(logsumexp(up) - np.log(DRAWS))
        if first < len(away):
            place, down = np.searchsorted(rows, gone), []
            for labels, one in zip(block.labels, states, strict=True):
                rest = np.ones(len(rows), bool)
                rest[place] = False
                names, own = np.unique(labels[rest], return_inverse=True)
                given = list(names)
                for k in labels[place]:
                    given += [] if k in given else [k]
                seats = [given.index(k) for k in labels[place]]
                down.append(-log_weight(Sums.of(model, X[rows][rest], own), X[gone], one, seats, rng))
            larger.append(np.log(DRAWS) - logsumexp(down))
        full[rows], state = block.labels[-1], states[-1]
        kept[gone] = False
        wide.append(len(wide_rows(X[rows], block.labels[-1], 10)))
        masses.append(np.mean([chain.log_mass() for _ in range(WEIGHED) if len(chain.run(1))]))
    block = chain.run(LAST)
    ends = float(block.n_clusters[LAST // 2 :].mean()), float(block.log_joint[LAST // 2 :].mean())
    return Way(np.array(smaller), np.array(larger), np.array(masses), np.array(wide), *ends)


def compare(model: hr.Mixture, X: np.ndarray, y: np.ndarray, seed: int) -> float:
    """One run: log Z(690) - log Z(440), and a line about it."""
    clock = time.process_time()
    ends = regions(model, X, y, seed)
    away = np.random.default_rng(seed).permutation(wide_rows(X, ends["440"][0]))
    ways = {name: go_down(model, X, start, away, seed) for name, start in ends.items()}
    by = [float(getattr(ways["690"], side).sum() - getattr(ways["440"], side).sum()) for side in ("smaller", "larger")]
    at = int(np.flatnonzero(ways["440"].wide)[-1]) + 1
    then = float((ways["690"].masses - ways["440"].masses)[max(at - 3, 0) : at].mean())
    left = "".join(f"{way.clusters:>10.0f}{way.log_joint:>12,.1f}" for way in ways.values())
    print(
        f"{seed:>4}{len(away):>6}{by[0]:>10.1f}{by[1]:>10.1f}{left}{BATCH * at:>8}{then:>8.1f}{time.process_time() - clock:>7.0f}",
        flush=True,
    )
    return float(np.mean(by))


def main(runs: int = RUNS, seeds: int = SEEDS) -> None:
    model, X, y = problem()
    print("log Z(690) - log Z(440) by the smaller and by the larger sets")
    print(
        f"{'seed':>4}{'rows':>6}{'smaller':>10}{'larger':>10}{'440 without':>22}{'690 without':>22}{'rows':>8}{'mass':>8}{'CPU s':>7}"
    )
    found = [compare(model, X, y, seed) for seed in range(runs)]
    if runs > 1:
        print(f"log Z(690) - log Z(440) = {np.mean(found):.1f}, standard error {np.std(found, ddof=1) / np.sqrt(runs):.1f}")
    for seed in range(seeds):
        post = hr.sample(model, X, draws=DRAWS, warmup=500, chains=1, seed=seed, progress=False)
        print(f"seed {seed}: {post.n_clusters.mean():.0f} clusters, log joint {post.log_joint.mean():,.1f}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
