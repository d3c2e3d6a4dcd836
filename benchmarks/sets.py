"""Data of the benchmarks: the authors' own sets where the data folder is there, sets of the same kind otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import make_circles, make_moons

import hedgerow as hr

FOLDER = Path(os.environ.get("HEDGEROW_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def toy() -> tuple[np.ndarray, np.ndarray, str]:
    """1,300 x 2, 13 clusters."""
    path = FOLDER / "nrmm_author_data.npz"
    if path.exists():
        stored = np.load(path, allow_pickle=False)
        return stored["toy_X"], stored["toy_y"].astype(int), "authors' toy set"
    made = hr.data.ring13(seed=0)
    return made.X, made.labels, "own ring of 13"


def tenk() -> tuple[np.ndarray, np.ndarray, str]:
    """10,000 x 6, about 120 clusters."""
    path = FOLDER / "nrmm_author_data.npz"
    if path.exists():
        stored = np.load(path, allow_pickle=False)
        return stored["10k_X"], stored["10k_y"].astype(int), "authors' 10K set"
    made = hr.data.pitman_yor_mixture(10_000, 6, seed=0)
    return made.X, made.labels, "own Pitman-Yor mixture"


def corpus() -> tuple[sparse.csr_matrix, str]:
    """1,500 documents x 12,419 words."""
    path = FOLDER / "nips_uci_bow.npz"
    if path.exists():
        z = np.load(path, allow_pickle=False)
        parts = (z["data"].astype(float), z["indices"].astype(np.int32), z["indptr"].astype(np.int64))
        return sparse.csr_matrix(parts, shape=tuple(z["shape"])), "NIPS corpus"
    made = hr.data.documents(1500, 12_419, 40, seed=0)
    return made.X, "own documents"


def shapes() -> dict[str, np.ndarray]:
    """Six sets of rows whose clusters have no Gaussian's shape, or which have none."""
    rng = np.random.default_rng(1)
    return {
        "moons": make_moons(3000, noise=0.1, random_state=0)[0],
        "rings": make_circles(3000, noise=0.08, factor=0.5, random_state=0)[0],
        "uniform": rng.uniform(size=(4000, 2)),
        "student": rng.standard_t(3, size=(5000, 3)),
        "exponential": rng.exponential(size=(4000, 2)),
        "blob": rng.normal(size=(20_000, 3)),
    }


def apart(count: int, gap: float, rng: np.random.Generator) -> np.ndarray:
    """Points in a square of the plane, no two nearer than `gap`."""
    side = 1.65 * gap * np.sqrt(count)
    found: list[np.ndarray] = []
    while len(found) < count:
        point = rng.uniform(0, side, 2)
        if all(np.hypot(*(point - other)) >= gap for other in found):
            found.append(point)
    return np.array(found)


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Agreement of two labellings, 1 when they are the same."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(a, b))
