"""What draws say, asked of a posterior: its summary, one partition for all, how sure that is, what its clusters are like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import check_names, check_whole
from hedgerow.errors import require
from hedgerow.posterior import convergence
from hedgerow.posterior.access import Access
from hedgerow.posterior.traced import IntArray, Names
from hedgerow.summaries import ball, clusters, coclustering, estimate
from hedgerow.summaries.distances import Loss, check_loss
from hedgerow.summaries.moments import Moments
from hedgerow.summaries.partitions import as_partition, by_size
from hedgerow.summaries.profiles import Profiles, least_sure, profiles_of
from hedgerow.summaries.table import Table

__all__ = ["MapDraw", "Summarised"]


@dataclass(frozen=True, eq=False)
class MapDraw:
    """The draw of highest log joint, and where it stands.

    Attributes
    ----------
    labels : (n,) int32
    log_joint : float
    chain, draw : int

    >>> MapDraw(np.array([0, 0, 1], dtype=np.int32), -7.5, chain=0, draw=12).n_clusters
    2
    """

    labels: IntArray
    log_joint: float
    chain: int
    draw: int

    @property
    def n_clusters(self) -> int:
        """Clusters of the draw."""
        return int(self.labels.max()) + 1

    def __repr__(self) -> str:
        return f"MapDraw({self.n_clusters} clusters, log joint {self.log_joint:.4f}, chain {self.chain}, draw {self.draw})"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Summarised(Access):
    """Draws with their summaries; the point estimate is kept once it was asked for."""

    _found: dict[Any, estimate.PointEstimate] = field(default_factory=dict, init=False)

    def summary(self, prob: float = 0.94) -> Table:
        """Mean, sd, highest-density interval, ESS and R-hat of what was sampled, and whether the chains agree.

        Parameters
        ----------
        prob : float
            Share of the draws in the interval.

        Returns
        -------
        Table
        """
        return convergence.summary(self, prob)

    def similarity(
        self, rows: npt.ArrayLike | None = None, columns: npt.ArrayLike | None = None, *, dense: bool = False
    ) -> npt.NDArray[np.float32]:
        """Probability that two rows share a cluster: (n, n), or the block (rows, columns) of it; a side left out is all rows.

        Beyond 20,000 rows of data the whole matrix must be asked for with `dense=True`.

        Parameters
        ----------
        rows, columns : sequences of int, optional
        dense : bool

        Returns
        -------
        (rows, columns) float32
        """
        return coclustering.similarity(self._labelled, rows=rows, columns=columns, dense=dense)

    def point_estimate(
        self,
        loss: Loss = "vi",
        *,
        weight: float = 1.0,
        max_clusters: int | None = None,
        min_size: int | None = None,
        within: float | None = 0.95,
        restarts: int = 8,
        seed: int = 0,
        max_draws: int | None = 1000,
    ) -> estimate.PointEstimate:
        """The partition of least expected loss ("vi", "binder" or "omari"); kept, so that asking again is free.

        There are no more clusters than 95% of the draws have, and no fewer of a size (`within`). They are numbered by size, the largest
        0. See
        `hedgerow.summaries.point_estimate` for the arguments; `.words` says what was done.

        Parameters
        ----------
        loss : str
        weight : float
        max_clusters, min_size : int, optional
        within : float or None
        restarts, seed : int
        max_draws : int or None

        Returns
        -------
        PointEstimate
        """
        limits = {"max_clusters": max_clusters, "min_size": min_size, "within": within, "max_draws": max_draws}
        options: dict[str, Any] = {"weight": weight, "restarts": restarts, "seed": seed} | limits
        estimate.check_options(loss, **options)
        key = (loss, *options.values())
        if key not in self._found or self._found[key].stopped:
            self._found[key] = estimate.point_estimate(self._labelled, loss, **options)
        return self._found[key]

    def best_so_far(self, loss: Loss = "vi") -> IntArray:
        """Labels (n,) for who will not wait: the point estimate for this loss if it was asked for, else the draw of highest log joint.

        Parameters
        ----------
        loss : str

        Returns
        -------
        (n,) int32
        """
        check_loss(loss, "best_so_far")
        known = [found for key, found in self._found.items() if key[0] == loss]
        return known[0].labels if known else by_size(self.map_draw().labels)

    def credible_ball(self, prob: float = 0.95, loss: Loss = "vi", *, centre: npt.ArrayLike | None = None) -> ball.CredibleBall:
        """The ball round `centre` (the point estimate for this loss) that holds a share `prob` of the draws.

        Parameters
        ----------
        prob : float
        loss : str
        centre : (n,), optional

        Returns
        -------
        CredibleBall
        """
        middle = self.point_estimate(loss).labels if centre is None else centre
        return ball.credible_ball(self._labelled, middle, prob, loss)

    def uncertainty(self, partition: npt.ArrayLike | None = None) -> clusters.Uncertainty:
        """How sure each row's place in `partition` (the point estimate) is.

        Parameters
        ----------
        partition : (n,), optional

        Returns
        -------
        Uncertainty
        """
        return clusters.uncertainty(self._labelled, self._partition(partition, "uncertainty"))

    def cluster_table(self, partition: npt.ArrayLike | None = None, *, names: Names = None, top: int = 5) -> Table:
        """Size, mean, spread, outstanding columns or words, stability of every cluster of `partition` (the point estimate).

        A column of levels counts as one column of shares a level.

        Parameters
        ----------
        partition : (n,), optional
        names : sequence of str, optional
            Of the columns.
        top : int
            How many outstanding columns to name.

        Returns
        -------
        Table
        """
        own = self._partition(partition, "cluster_table")
        known = self._columns(own, names, "cluster_table")
        return clusters.table_of(known.moments, clusters.stability(self._labelled, own), names=known.names, top=top)

    def profiles(self, partition: npt.ArrayLike | None = None, *, names: Names = None, rows: Names = None, top: int = 3) -> Profiles:
        """What each cluster of `partition` (the point estimate) stands out by, in words and in the columns' own units.

        Parameters
        ----------
        partition : (n,), optional
        names, rows, top : as for `hedgerow.summaries.profiles`

        Returns
        -------
        Profiles
            `.clusters` and `.columns` are tables, `.compare(a, b)` puts two clusters side by side, `.to_pandas()` and `.to_csv(path)`
            give all of it to others.
        """
        own = self._partition(partition, "profiles")
        check_whole("profiles", "top", top, 0)
        check_names("profiles", "rows", rows, self.n, "rows")
        known = self._columns(own, names, "profiles")
        typical = known.nearest(known.moments) if isinstance(known.moments, Moments) else None
        doubtful = least_sure(own, clusters.uncertainty(self._labelled, own).probability)
        firm = clusters.stability(self._labelled, own)
        return profiles_of(known.moments, firm, typical, doubtful, names=known.names, rows=rows, top=top)

    def map_draw(self) -> MapDraw:
        """The draw of highest log joint. With hyper-parameters sampled this is a joint mode over them too.

        Returns
        -------
        MapDraw
        """
        at = np.asarray(self._positions(), np.intp)
        chain, draw = divmod(int(at[np.argmax(self.log_joint.ravel()[at])]), self.draws)
        return MapDraw(self._draw(chain, draw), float(self.log_joint[chain, draw]), chain, draw)

    def _partition(self, partition: npt.ArrayLike | None, owner: str) -> IntArray:
        if partition is None:
            return self.point_estimate().labels
        require(not isinstance(partition, str), owner, "partition", partition, "be labels, one for each row")
        return as_partition(partition, owner, "partition", self.n)
