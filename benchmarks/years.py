"""Papers of seventeen NIPS years: does knowing the year foretell held-out papers better than taking all as exchangeable?

python -m benchmarks years            five splits (some minutes)
python -m benchmarks.years SPLITS

Rows are papers, columns the WORDS most frequent words, entries whether the word occurs (counts of words come in bursts that no one
topic explains: under `Multinomial` half of the papers are clusters of their own). From the years since 1995, 250 papers drawn at
random are held out. The exchangeable model is an NGG prior with sampled alpha and sigma; the others are MixedNRM over the same
NGG, a basis measure at every year, with several decays. Told is the mean log predictive density of a held-out paper given its
year, and its paired difference to the exchangeable model with standard error.

The decay is chosen inside each split, by 250 papers held out of the rest in the same way; the test papers play no part.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy import sparse

import hedgerow as hr
from benchmarks import sets

WORDS, HELD, SINCE = 300, 250, 1995
DECAYS = (0.2, 0.5, 1.0)
CHAINS, WARMUP, DRAWS = 2, 75, 75


def corpus() -> tuple[np.ndarray, np.ndarray]:
    """Word occurrences (papers, WORDS) and years."""
    stored = np.load(sets.FOLDER / "nips_1987_2003_bow_years.npz", allow_pickle=False)
    parts = (stored["data"].astype(float), stored["indices"].astype(np.int32), stored["indptr"].astype(np.int64))
    counts = sparse.csr_array(parts, shape=tuple(stored["shape"]))
    totals = np.asarray(counts.sum(axis=0)).ravel()
    frequent = np.sort(np.argsort(-totals, kind="stable")[:WORDS])
    return (counts[:, frequent].toarray() > 0).astype(float), stored["year"].astype(int)


def held_out_density(X: np.ndarray, years: np.ndarray, held: np.ndarray, decay: float | None, seed: int) -> np.ndarray:
    """Log predictive density of the held rows given all others; without decay the rows are exchangeable."""
    base = hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2))
    prior = base if decay is None else hr.MixedNRM(base, decay=decay)
    rest = np.setdiff1d(np.arange(len(X)), held)
    old, new = ({}, {}) if decay is None else ({"times": years[rest]}, {"times": years[held]})
    model = hr.Mixture(prior, hr.Bernoulli())
    run = {"kernel": hr.Gibbs(), "chains": CHAINS, "warmup": WARMUP, "draws": DRAWS, "seed": seed, "init": "ibhc", "progress": False}
    return hr.sample(model, X[rest], **run, **old).log_density(X[held], max_draws=100, **new)


def choose_decay(X: np.ndarray, years: np.ndarray, rng: np.random.Generator, seed: int) -> float:
    """The decay under which papers held out of these are foretold best."""
    held = draw_held(years, rng)
    return max(DECAYS, key=lambda decay: held_out_density(X, years, held, decay, seed).mean())


def draw_held(years: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """HELD papers of the later years."""
    return np.sort(rng.choice(np.flatnonzero(years >= SINCE), HELD, replace=False))


def split(X: np.ndarray, years: np.ndarray, seed: int) -> dict[str, float]:
    """One split: densities, paired differences with their standard errors, and the decay that was chosen."""
    rng = np.random.default_rng(seed)
    held = draw_held(years, rng)
    rest = np.setdiff1d(np.arange(len(X)), held)
    chosen = choose_decay(X[rest], years[rest], rng, seed)
    plain = held_out_density(X, years, held, None, seed)
    out = {"exchangeable": float(plain.mean()), "chosen": chosen}
    for decay in DECAYS:
        gain = held_out_density(X, years, held, decay, seed) - plain
        out |= {f"gain {decay}": float(gain.mean()), f"error {decay}": float(gain.std(ddof=1) / np.sqrt(HELD))}
    return out


def main(splits: int = 5) -> None:
    if not (sets.FOLDER / "nips_1987_2003_bow_years.npz").exists():
        print("nips_1987_2003_bow_years.npz is not there: set HEDGEROW_DATA to the folder that has it")
        return
    X, years = corpus()
    print(f"{len(X):,d} papers of {years.min()} to {years.max()}, {X.shape[1]} words; {HELD} papers since {SINCE} held out")
    print("split  exchangeable   gain in nats a paper with years, by decay" + " " * 20 + "chosen  its gain")
    gains = []
    for seed in range(splits):
        clock = time.process_time()
        found = split(X, years, seed)
        chosen = found["chosen"]
        gains.append(found[f"gain {chosen}"])
        by_decay = "   ".join(f"{decay}: {found[f'gain {decay}']:+.3f} ± {found[f'error {decay}']:.3f}" for decay in DECAYS)
        spent = time.process_time() - clock
        print(f"{seed:5d}  {found['exchangeable']:12.3f}   {by_decay}   {chosen:6.1f}  {gains[-1]:+.3f}   ({spent:.0f} s)", flush=True)
    spread = np.std(gains, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
    better = sum(gain > 0 for gain in gains)
    print(f"with years, decay chosen: {np.mean(gains):+.3f} ± {spread:.3f} nats a paper over {splits} splits, better in {better}")


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:]))
