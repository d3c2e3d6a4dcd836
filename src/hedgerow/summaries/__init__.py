"""What draws of partitions say: similarity, one estimate, a credible ball, distances, convergence.

Everything here takes and gives plain arrays; `Posterior` calls it with its own draws.
"""

from __future__ import annotations

from hedgerow.summaries.along_time import Popularity, Trajectories, popularity, trajectories
from hedgerow.summaries.ball import CredibleBall, credible_ball
from hedgerow.summaries.clusters import Uncertainty, cluster_table, uncertainty
from hedgerow.summaries.coclustering import cluster_affinity, similarity
from hedgerow.summaries.diagnostics import ess_bulk, ess_mean, ess_tail, hdi, mcse_mean, rhat
from hedgerow.summaries.distances import LOSSES, Loss, ari, binder, distance, omari, vi
from hedgerow.summaries.estimate import PointEstimate, point_estimate
from hedgerow.summaries.partitions import by_size, canonical, is_canonical
from hedgerow.summaries.profiles import Profiles, profiles
from hedgerow.summaries.table import Table

__all__ = [
    "LOSSES",
    "CredibleBall",
    "Loss",
    "PointEstimate",
    "Popularity",
    "Profiles",
    "Table",
    "Trajectories",
    "Uncertainty",
    "ari",
    "binder",
    "by_size",
    "canonical",
    "cluster_affinity",
    "cluster_table",
    "credible_ball",
    "distance",
    "ess_bulk",
    "ess_mean",
    "ess_tail",
    "hdi",
    "is_canonical",
    "mcse_mean",
    "omari",
    "point_estimate",
    "popularity",
    "profiles",
    "rhat",
    "similarity",
    "trajectories",
    "uncertainty",
    "vi",
]
