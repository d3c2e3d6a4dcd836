"""A Gibbs sweep against the bare loop of predictive densities over the same evaluations, in the same run."""

from __future__ import annotations

import resource
import time

import numpy as np

import hedgerow as hr
from benchmarks import sets
from hedgerow import _core
from hedgerow.data.views import as_labels
from hedgerow.sampling import Chain


def measure(name: str, model: hr.Mixture, X, labels: np.ndarray, sweeps: int) -> None:
    model = model.resolve(X)
    bound = model.likelihood.bind(X)
    chain = Chain(model, X, hr.Gibbs(), labels=labels, seed=0, bound=bound)
    chain.run(1)
    best_sweep = best_loop = np.inf
    for _ in range(sweeps):
        clock = time.process_time()
        block = chain.run(1)
        best_sweep = min(best_sweep, (time.process_time() - clock) / (len(labels) * block.n_clusters[0]))
        clock = time.process_time()
        _core.predictive_loop(bound, block.labels[0], 1)
        best_loop = min(best_loop, (time.process_time() - clock) / (len(labels) * block.n_clusters[0]))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:36s} {block.n_clusters[0]:5d} clusters  sweep {best_sweep * 1e9:8.2f} ns  bare loop {best_loop * 1e9:8.2f} ns "
        f"per evaluation  ratio {best_sweep / best_loop:4.2f}  peak memory {memory:5.0f} MB"
    )


def main() -> None:
    print(f"instruction set: {_core.instruction_set()}")
    X, y, name = sets.tenk()
    ngg = hr.NGG(1.0, 0.3, 1.0)
    measure(f"GaussianWishart, {name}", hr.Mixture(ngg, hr.GaussianWishart.nips2015()), X, as_labels(y, len(y), "bench"), 10)
    measure(f"GaussianDiagonal, {name}", hr.Mixture(ngg, hr.GaussianDiagonal()), X, as_labels(y, len(y), "bench"), 5)
    counts, name = sets.corpus()
    start = np.arange(counts.shape[0]) % 100
    measure(f"Multinomial, {name}", hr.Mixture(ngg, hr.Multinomial(0.1)), counts, start, 2)


if __name__ == "__main__":
    main()
