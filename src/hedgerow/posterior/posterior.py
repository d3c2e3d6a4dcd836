"""Posterior: what `sample` returns, and everything one may ask of it.

The arrays are those of `Draws`, the questions those of `Answers`. Every method hands the arrays to a plain function elsewhere
(summaries, prediction, storage), so that each can be used and tested without this class.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.plots.canvas import drawn
from hedgerow.posterior import popularity, prediction, reporting, storage
from hedgerow.posterior.access import Columns, Files, View
from hedgerow.posterior.answers import Answers
from hedgerow.posterior.columns import shown_columns
from hedgerow.posterior.draws import Draws
from hedgerow.posterior.traced import FloatArray, IntArray, Names
from hedgerow.priors.state import takes_u
from hedgerow.report import ReportPayload
from hedgerow.report.markup import said
from hedgerow.summaries.along_time import Popularity, Trajectories
from hedgerow.summaries.estimate import PointEstimate
from hedgerow.summaries.moments import moments_of
from hedgerow.summaries.profiles import nearest

__all__ = ["Posterior"]


@takes_u
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Posterior(Draws, Answers):
    """Draws of the partition, u and the hyper-parameters, with the data, the model and the record of the run.

    `post.labels[chain, draw]` is a partition, numbered in order of first appearance; `post.n_clusters`, `post.log_joint`,
    `post.log_u`, `post.alpha`, ... are (chain, draw), None where the prior has no such thing. `post.sample_stats` holds what the
    kernel counted.

    Parameters
    ----------
    labels : (chain, draw, n)
    log_joint : (chain, draw)
    X : checked data
    model : Mixture or None
        Resolved.
    n_clusters : (chain, draw), optional
    log_u, alpha, sigma, tau, theta : (chain, draw), optional
        Under a `MixedNRM` prior u has a third axis over groups and alpha one over basis measures.
    times : (n,), optional
    place : (n,) int, optional
        Where some rows are exact copies of others, which count once: the place of every row among those that the model saw. Densities
        of new rows are given these.
    sample_stats : mapping
    run : mapping
        Seed, kernel, versions, time.

    >>> import tempfile
    >>> import hedgerow as hr
    >>> X, _, times = hr.data.moving_clusters(n=8, steps=3, seed=0)
    >>> model = hr.Mixture(hr.MixedNRM(hr.DP(), decay=1.0), hr.GaussianWishart())
    >>> post = hr.sample(model, X, times=times, draws=20, warmup=20, chains=2, seed=0)
    >>> list(post.summary())[:3]
    ['quantity', 'mean', 'sd']
    >>> best, ball = post.point_estimate(loss="vi"), post.credible_ball(0.9)
    >>> best.labels.shape == ball.centre.shape == post.map_draw().labels.shape == (len(X),)
    True
    >>> post.similarity().shape == (len(X), len(X)), post.uncertainty().doubt.shape == (len(X),)
    (True, True)
    >>> len(post.cluster_table()["size"]) == len(post.profiles().clusters["name"]) == best.n_clusters
    True
    >>> new, when = X[:2], times[:2]
    >>> post.predict(new, times=when).shape, post.predict_proba(new, times=when).shape[0], post.log_density(new, times=when).shape
    ((2,), 2, (2,))
    >>> float(post.outlier_scores().max())
    1.0
    >>> post.popularity().mean.shape[0], post.trajectories().mean.shape[0], post.basis().shape[0] == best.n_clusters
    (3, 3, True)
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> post.save(folder / "post.npz")
    >>> Posterior.load(folder / "post.npz").labels.shape == post.labels.shape
    True
    >>> post.report(folder / "report.html", title="Movers").name, type(post.to_arviz()).__name__
    ('report.html', 'InferenceData')
    >>> axes = [post.plot_trace(), post.plot_n_clusters(), post.plot_similarity(), post.plot_tree(), post.plot_scatter()]
    >>> axes += [post.plot_pairs(), post.plot_density(0, time=1), post.plot_popularity()]
    """

    def popularity(self, partition: npt.ArrayLike | None = None, *, times: Any = None, prob: float = 0.95) -> Popularity:
        """The share of every cluster of `partition` (the point estimate) among the rows of each time, and when it lives.

        A cluster of a draw counts for the cluster of `partition` with which it has most rows in common; the shares of a time
        sum to 1 in every draw. The interval is that of the rows at hand, over draws: how sure the clustering is, not how
        large the share among further rows would be. `times` default to those of the fit.

        Parameters
        ----------
        partition, times : (n,), optional
        prob : float

        Returns
        -------
        Popularity
        """
        return popularity.popularity(self, self._partition(partition, "popularity"), times, prob)

    @drawn
    def plot_popularity(
        self, partition: npt.ArrayLike | None = None, *, times: Any = None, prob: float = 0.95, names: Names = None, ax: Any = None
    ) -> Any:
        """Draw `popularity` as stacked areas, each with its interval; returns the axes.

        Parameters
        ----------
        partition, times : (n,), optional
        prob : float
        names : sequence of str, optional
            Of the clusters.
        """
        return popularity.plot(self.popularity(partition, times=times, prob=prob), names, ax)

    def trajectories(self, partition: npt.ArrayLike | None = None, *, times: Any = None) -> Trajectories:
        """The mean of every cluster of `partition` (the point estimate) at each time, with its standard deviation over draws.

        Parameters
        ----------
        partition, times : (n,), optional

        Returns
        -------
        Trajectories
        """
        return popularity.trajectories(self, self._partition(partition, "trajectories"), times)

    def basis(self, partition: npt.ArrayLike | None = None) -> FloatArray:
        """Which basis measure each cluster of `partition` (the point estimate) came from: (K, R) probabilities, `MixedNRM` only.

        Parameters
        ----------
        partition : (n,), optional

        Returns
        -------
        (K, R)
        """
        return popularity.basis_weights(self, self._partition(partition, "basis"))

    # ---- where labels and rows are: here

    _files: ClassVar[Files] = storage

    @property
    def _labelled(self) -> IntArray:
        return self.labels

    def _positions(self) -> npt.NDArray[np.intp]:
        return np.arange(self.chains * self.draws)

    def _draw(self, chain: int, draw: int) -> IntArray:
        return np.array(self.labels[chain, draw])

    def _columns(self, own: IntArray, names: Names, owner: str) -> Columns:
        X, known = shown_columns(self, names)
        moments = moments_of(X, own, int(own.max()) + 1)
        return Columns(moments, known, lambda found: nearest(np.asarray(X, np.float64), own, *found.shown())[0])

    def _view(self, own: IntArray | None) -> View:
        return View(self)

    def _membership(
        self, own: IntArray, X: Any, times: Any, max_draws: int | None, reduce: prediction.Reduce | None = None
    ) -> list[Any]:
        return prediction.membership(self, own, X, times=times, max_draws=max_draws, reduce=reduce)

    def _log_density(self, X: Any, times: Any, max_draws: int | None) -> FloatArray:
        return prediction.log_density(self, X, times=times, max_draws=max_draws)

    def _left_out(self, max_draws: int | None) -> FloatArray:
        return prediction.left_out_density(self, max_draws)

    def _payload(self, found: PointEstimate, title: str, names: Names, rows: Names) -> ReportPayload:
        return reporting.payload_of(self, found, title=title, names=names, rows=rows)

    def _exported(self) -> tuple[Any, Any]:
        return self.labels, None if sparse.issparse(self.X) else np.asarray(self.X)

    def __repr__(self) -> str:
        low, high = int(self.n_clusters.min()), int(self.n_clusters.max())
        span = f"{low}" if low == high else f"{low} to {high}"
        stopped = ", stopped early" if self.run.get("interrupted") else ""
        model = "model not stored"
        if self.model is not None:
            model = f"{type(self.model.prior).__name__} × {type(self.model.likelihood).__name__}"
        return f"Posterior({model}: {self.chains} chains × {self.draws} draws of {self.n} rows, {span} clusters{stopped})"

    def _repr_html_(self) -> str:
        if self.n > reporting.LARGEST_TREE:  # what takes long is not done unasked
            return f"<p><b>{escape(repr(self))}</b></p>{self.summary()._repr_html_()}"
        found = self.point_estimate()
        told = said(*reporting.findings(self, found))
        return f"{told}{self.profiles(found.labels)._repr_html_()}<p>{escape(repr(self))}</p>"
