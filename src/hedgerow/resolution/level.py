"""Level: one power of the ladder with its draws, its clusters, and how real they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.posterior import Posterior
from hedgerow.summaries.diagnostics import rhat
from hedgerow.summaries.estimate import PointEstimate

__all__ = ["Level", "flow_counts"]

SMALL = 0.01  # of the rows


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """The rows clustered at one power.

    Attributes
    ----------
    power : float
        What the density of every row was raised to; 1 is the posterior.
    posterior : Posterior
        The draws at this power.
    strengths : (splits, 2)
        How far the clusters of either half foretell those of the level on the rows of the other, for each way of halving the rows: 1
        entirely, 0 no better than chance.
    weakest : (splits, 2)
        The share of its pairs of rows that the weakest cluster with at least 2% of the rows keeps together.

    >>> import hedgerow as hr
    >>> found = hr.levels(hr.Mixture(hr.DP(), hr.GaussianDiagonal()), hr.data.iris().X, [0.1], draws=10, warmup=10, splits=2, seed=0)
    >>> level = found[0]
    >>> level.labels.shape, level.n_clusters >= 1, 0 <= level.strength <= 1, level.spread >= 0, level.n_small >= 0
    ((150,), True, True, True, True)
    >>> level.estimate.n_clusters == level.n_clusters, level.rhat > 0
    (True, True)
    """

    power: float
    posterior: Posterior
    strengths: npt.NDArray[np.float64]
    weakest: npt.NDArray[np.float64]

    @property
    def estimate(self) -> PointEstimate:
        """The point estimate of the draws."""
        return self.posterior.point_estimate()

    @property
    def labels(self) -> npt.NDArray[np.int32]:
        """The cluster of every row, the largest 0."""
        return self.estimate.labels

    @property
    def n_clusters(self) -> int:
        """Clusters of the point estimate."""
        return self.estimate.n_clusters

    @property
    def n_small(self) -> int:
        """Those with less than 1% of the rows."""
        return int((np.bincount(self.labels) < SMALL * self.labels.size).sum())

    @property
    def rhat(self) -> float:
        """R-hat of the log joint; NaN for a single chain or fewer than four draws."""
        trace = self.posterior.log_joint
        return float(rhat(trace)) if trace.shape[0] > 1 and trace.shape[1] >= 4 else float("nan")

    @property
    def strength(self) -> float:
        """How far clusters of one half of the rows foretell those of the other, beyond chance; NaN where it was not measured."""
        return float(self.strengths.mean()) if self.strengths.size else float("nan")

    @property
    def spread(self) -> float:
        """Standard deviation of the strength over the ways of halving the rows."""
        return float(self.strengths.mean(axis=1).std(ddof=1)) if len(self.strengths) > 1 else float("nan")

    def __repr__(self) -> str:
        return f"Level(power {self.power:.3g}: {self.n_clusters} clusters, strength {self.strength:.2f})"


def flow_counts(coarse: npt.NDArray[np.int32], fine: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Rows that a cluster of one partition shares with one of another: (K coarse, K fine)."""
    width = int(fine.max()) + 1
    return np.bincount(coarse.astype(np.int64) * width + fine, minlength=(int(coarse.max()) + 1) * width).reshape(-1, width)
