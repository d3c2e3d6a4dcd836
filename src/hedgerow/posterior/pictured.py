"""What draws look like, asked of a posterior: every picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from hedgerow.arguments import check_names
from hedgerow.plots import cluster_posterior
from hedgerow.plots.canvas import drawn
from hedgerow.posterior import pictures
from hedgerow.posterior.draws import Draws
from hedgerow.posterior.summarised import Summarised
from hedgerow.posterior.traced import IntArray, Names

__all__ = ["Pictured"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Pictured(Summarised):
    """Draws with their pictures, which need the extra `plot`."""

    @drawn
    def plot_trace(self, quantity: str = "log_joint", *, ax: Any = None) -> Any:
        """Draw a quantity of `summary` along the draws of every chain; returns the axes. Plots need the extra `plot`.

        Parameters
        ----------
        quantity : str
        """
        return pictures.draw_trace(self, quantity, ax)

    @drawn
    def plot_n_clusters(self, *, ax: Any = None) -> Any:
        """Draw the posterior of the number of clusters, bars for all draws and dots for single chains; returns the axes."""
        return cluster_posterior(self.n_clusters, ax=ax)

    @drawn
    def plot_similarity(self, partition: npt.ArrayLike | None = None, *, ax: Any = None) -> Any:
        """Draw `similarity` as a heat map in the order of `plot_tree`; of more than 2,000 rows an even sample. Returns the axes.

        Parameters
        ----------
        partition : (n,), optional
        """
        return pictures.draw_similarity(*self._seen(partition, "plot_similarity"), ax)

    @drawn
    def plot_tree(self, *, names: Names = None, max_leaves: int = 60, ax: Any = None) -> Any:
        """Draw the report's dendrogram: rows that share a cluster in more than half of the draws join below the cut.

        Parameters
        ----------
        names, max_leaves : as for `Forest.plot`
        """
        check_names("plot_tree", "names", names, self.n, "rows")
        view = self._view(None)
        return pictures.draw_tree(view.draws, view.names_of(names), max_leaves, ax)

    @drawn
    def plot_scatter(self, partition: npt.ArrayLike | None = None, *, names: Names = None, ax: Any = None) -> Any:
        """Draw the rows in their clusters' colours, doubtful ones paler and larger; returns the axes.

        One or two columns are drawn as they are; of more, the first two principal components.

        Parameters
        ----------
        partition : (n,), optional
        names : sequence of str, optional
            Of the columns.
        """
        return pictures.draw_scatter(*self._seen(partition, "plot_scatter"), names, ax)

    def plot_pairs(
        self, columns: Sequence[str | int] | None = None, *, partition: npt.ArrayLike | None = None, axes: Any = None
    ) -> Any:
        """Draw two to five columns (names or positions) against each other; takes and returns a (d, d) array of axes.

        Parameters
        ----------
        columns : sequence of names or positions, optional
        partition : (n,), optional
        axes : (d, d) of matplotlib axes, optional

        Returns
        -------
        (d, d) of matplotlib axes
        """
        return pictures.draw_pairs(*self._seen(partition, "plot_pairs"), columns, axes)

    @drawn
    def plot_density(
        self,
        columns: str | int | Sequence[str | int] | None = None,
        *,
        prob: float = 0.9,
        time: Any = None,
        max_draws: int | None = 200,
        ax: Any = None,
    ) -> Any:
        """Draw the predictive density of one column, with a band that holds `prob` of the draws, or of two as contours.

        `columns` are names or positions, to be left out where X has one or two; all others are integrated out. Only
        measurements have a density: the likelihood must be Gaussian there. `time` is the one to show under a `MixedNRM`
        prior. Returns the axes.

        Parameters
        ----------
        columns : one or two names or positions, optional
        prob : float
        time : optional
        max_draws : int or None
        """
        return pictures.draw_density(*self._seen(None, "plot_density"), columns, prob, time, max_draws, ax)

    def _seen(self, partition: npt.ArrayLike | None, owner: str) -> tuple[Draws, IntArray]:
        """Draws of the rows to show, and their clusters in a partition."""
        own = self._partition(partition, owner)
        view = self._view(own)
        return view.draws, view.of(own)
