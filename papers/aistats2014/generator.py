"""The time-varying points of AISTATS 2014, section 4.1, and the points of its Figure 3.

The paper prints N(0, 10 I) for centres and N(mu, 1.5 I) for points. Its figure has 10 and 1.5 as standard deviations: the
clusters that stand alone there have covariances of 2.1 to 2.4 (1.5 squared is 2.25), and centres spread over 50 units. That
matters: with variances of 10 and 1.5 the clusters overlap so much that one Gaussian for all points has the higher log joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import hedgerow as hr
from papers.common import stored


class Points(NamedTuple):
    """Rows, times (None if exchangeable), labels to compare with (by name), and what the set is called."""

    X: npt.NDArray[np.float64]
    times: npt.NDArray[np.int64] | None
    labels: dict[str, npt.NDArray[np.int64]]
    name: str


def moving_points(per_centre: int, seed: int, steps: int = 15, centre_sd: float = 10.0, point_sd: float = 1.5) -> Points:
    """Poisson(1) new centres a step, every earlier one taking part with probability 0.7; a step that would be empty gets one."""
    X, labels, times = hr.data.moving_clusters(per_centre, seed=seed, steps=steps, centre_sd=centre_sd, point_sd=point_sd)
    return Points(X, times, {"truth": labels.astype(np.int64)}, "own moving clusters")


def figure_points(every: int = 1) -> Points | None:
    """The 10,100 points of the paper's Figure 3 with the labels drawn there; their times are not known."""
    file = stored("ibhc2014_fig3_points.npz")
    if file is None:
        return None
    labels = {name: file[f"label_{name}"][::every].astype(np.int64) for name in ("ibhc", "gibbs", "smc")}
    return Points(file["X"][::every].astype(float), None, labels, "points of the paper's Figure 3")
