"""Credible ball round a partition: the draws nearest to it that hold a given share (Wade and Ghahramani 2018).

The bounds show what the ball spans: the horizontal bound is its farthest partition; the vertical upper bound has the
fewest clusters in the ball, the vertical lower bound the most, and each is the farthest of its kind. Ties are
kept, so a bound is an array of one or more partitions (m, n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import real_number
from hedgerow.errors import require
from hedgerow.summaries.distances import Loss, check_loss, distances_from
from hedgerow.summaries.narrow import as_points
from hedgerow.summaries.partitions import Labels, as_partition, count_clusters, unique_draws, wide
from hedgerow.summaries.points import Points

__all__ = ["CredibleBall", "credible_ball"]


@dataclass(frozen=True, eq=False)
class CredibleBall:
    """The ball and its bounds; `distances` and `inside` follow the draws in the order they were given.

    `share` is the part of the draws in the ball: at least `prob`, more when draws tie at the radius.

    Attributes
    ----------
    centre : (n,) int32
    radius, prob, share : float
    loss : str
    distances, inside : (draws,)
    horizontal, upper, lower : (m, n) int32
        Draws in the ball: those farthest from the centre, and among those with fewest and with most clusters the farthest.

    >>> credible_ball([[0, 0, 1], [0, 1, 1], [0, 0, 1]], [0, 0, 1], prob=0.5).radius
    0.0
    """

    centre: Labels
    radius: float
    prob: float
    share: float
    loss: Loss
    distances: npt.NDArray[np.float64]
    inside: npt.NDArray[np.bool_]
    horizontal: Labels
    upper: Labels
    lower: Labels

    def __repr__(self) -> str:
        fewest, most = int(self.upper.max()) + 1, int(self.lower.max()) + 1
        return (
            f"CredibleBall({self.prob:.0%} of the draws within {self.loss} {self.radius:.4g} of "
            f"{int(self.centre.max()) + 1} clusters; {fewest} to {most} clusters inside)"
        )


def credible_ball(labels: npt.ArrayLike | Points, centre: npt.ArrayLike, prob: float = 0.95, loss: Loss = "vi") -> CredibleBall:
    """The smallest ball round `centre` (n,) that holds a share `prob` of the draws (..., n), with its bounds.

    Parameters
    ----------
    labels : (..., n) or Points
        Draws.
    centre : (n,)
    prob : float
    loss : str

    Returns
    -------
    CredibleBall

    >>> credible_ball([[0, 0, 1], [0, 1, 1], [0, 0, 1]], [0, 0, 1], prob=0.5).inside.tolist()
    [True, False, True]
    """
    points = as_points(labels, "credible_ball")
    middle = as_partition(centre, "credible_ball", "centre", points.n)
    check_loss(loss, "credible_ball")
    require(0.0 < real_number(prob) < 1.0, "credible_ball", "prob", prob, "lie in (0, 1)")
    far = distances_from(middle, points, loss)
    needed = int(np.ceil(prob * far.size - 1e-9))
    radius = float(np.partition(far, needed - 1)[needed - 1])
    inside = far <= radius + 1e-12  # equal partitions may differ by rounding
    shape = (-1,) if isinstance(labels, Points) else np.shape(labels)[:-1]
    clusters = count_clusters(points.draws)
    fewest, most = clusters[inside].min(), clusters[inside].max()
    return CredibleBall(
        centre=middle,
        radius=radius,
        prob=prob,
        share=float(inside.mean()),
        loss=loss,
        distances=far.reshape(shape),
        inside=inside.reshape(shape),
        horizontal=_farthest(points, far, inside),
        upper=_farthest(points, far, inside & (clusters == fewest)),
        lower=_farthest(points, far, inside & (clusters == most)),
    )


def _farthest(points: Points, far: npt.NDArray[np.float64], which: npt.NDArray[np.bool_]) -> Labels:
    """Of the draws in question those farthest away, each once."""
    found = unique_draws(points.draws[which & (far >= far[which].max() - 1e-12)])[0]
    return wide(found[:, points.place])
