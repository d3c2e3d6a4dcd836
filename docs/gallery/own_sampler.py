"""Checking your own sampler: a Gibbs sampler with one small error, held against the exact posterior of five rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot

import hedgerow as hr
from hedgerow.reference import gibbs
from hedgerow.testing import ReferenceGibbs, check_kernel, exact_posterior


class ForgetsSigma(ReferenceGibbs):
    """A row joins a cluster with weight |c| where |c| - sigma is right."""

    def weights(self, prior: Any, u: float, values: Any, update_u: bool) -> tuple[Callable[[int], float], float]:
        alpha, sigma, tau = prior.measure(values)
        _, log_new = gibbs.nrm_weights(u, alpha, sigma, tau)
        return lambda m: math.log(m) - math.log(u + tau), log_new


def main(folder: str) -> None:
    X = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.8, -0.6], [1.4, 0.5]])
    model = hr.Mixture(hr.NGG(alpha=0.8, sigma=0.4), hr.GaussianDiagonal(mean=0.0, r=0.3, a=1.5, b=0.25))
    exact = exact_posterior(model, X)
    print(f"{len(exact.partitions)} partitions of {len(X)} rows, all of their probabilities known")
    _, ax = pyplot.subplots(figsize=(6, 3))
    for kernel, words in ((ReferenceGibbs(), "correct"), (ForgetsSigma(), "with the error")):
        report = check_kernel(kernel, model, X, u=1.7, replicates=24, iterations=160, warmup=15)
        print(f"{words}: {'passed' if report.passed else 'failed'}")
        ax.plot(np.sort(np.abs([finding.distance for finding in report.findings if finding.p_value is not None]))[::-1], label=words)
    ax.set_xlabel("comparisons, worst first")
    ax.set_ylabel("standard errors")
    ax.legend(frameon=False)
    ax.figure.savefig(Path(folder) / "gallery_own_sampler.png", dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(".")
