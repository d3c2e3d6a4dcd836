"""Posterior: what `sample` returns, and everything one may ask of it.

The arrays are those of `Draws`; every method hands them to a plain function elsewhere (summaries, prediction, storage), so
that each can be used and tested without this class.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.plots import cluster_posterior
from hedgerow.posterior import convergence, exchange, pictures, popularity, prediction, reporting, storage
from hedgerow.posterior.columns import shown_columns
from hedgerow.posterior.draws import Draws, FloatArray, IntArray
from hedgerow.priors.state import takes_u
from hedgerow.report import write_report
from hedgerow.summaries import ball, clusters, coclustering, estimate
from hedgerow.summaries.along_time import Popularity, Trajectories
from hedgerow.summaries.distances import Loss
from hedgerow.summaries.partitions import as_partition
from hedgerow.summaries.profiles import Profiles
from hedgerow.summaries.profiles import profiles as describe
from hedgerow.summaries.table import Table

__all__ = ["MapDraw", "Posterior", "load"]


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


@takes_u
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Posterior(Draws):
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
    >>> folder = Path(tempfile.mkdtemp())
    >>> post.save(folder / "post.npz")
    >>> Posterior.load(folder / "post.npz").labels.shape == post.labels.shape
    True
    >>> post.report(folder / "report.html", title="Movers").name, type(post.to_arviz()).__name__
    ('report.html', 'InferenceData')
    >>> axes = [post.plot_trace(), post.plot_n_clusters(), post.plot_similarity(), post.plot_tree(), post.plot_scatter()]
    >>> axes += [post.plot_pairs(), post.plot_density(0, time=1), post.plot_popularity()]
    """

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
        """Probability that two rows share a cluster: (n, n), or the block (rows, columns) of it.

        Beyond 20,000 rows of data the whole matrix must be asked for with `dense=True`.

        Parameters
        ----------
        rows, columns : sequences of int, optional
        dense : bool

        Returns
        -------
        (rows, columns) float32
        """
        return coclustering.similarity(self.labels, rows=rows, columns=columns, dense=dense)

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

        Its number of clusters is one that 95% of the draws have (`within`), and they are numbered by size, the largest 0. See
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
        key = (loss, weight, max_clusters, min_size, within, restarts, seed, max_draws)
        if key not in self._found:
            self._found[key] = estimate.point_estimate(
                self.labels,
                loss,
                weight=weight,
                max_clusters=max_clusters,
                min_size=min_size,
                within=within,
                restarts=restarts,
                seed=seed,
                max_draws=max_draws,
            )
        return self._found[key]

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
        return ball.credible_ball(self.labels, middle, prob, loss)

    def uncertainty(self, partition: npt.ArrayLike | None = None) -> clusters.Uncertainty:
        """How sure each row's place in `partition` (the point estimate) is.

        Parameters
        ----------
        partition : (n,), optional

        Returns
        -------
        Uncertainty
        """
        return clusters.uncertainty(self.labels, self._partition(partition, "uncertainty"))

    def cluster_table(self, partition: npt.ArrayLike | None = None, *, names: Sequence[str] | None = None, top: int = 5) -> Table:
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
        data, known = shown_columns(self, names)
        return clusters.cluster_table(data, own, self.labels, names=known, top=top)

    def profiles(
        self,
        partition: npt.ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
        top: int = 3,
    ) -> Profiles:
        """What each cluster of `partition` (the point estimate) stands out by, in words and in the columns' own units.

        Parameters
        ----------
        partition : (n,) labels, optional
        names, rows : sequences of str, optional
            Names of the columns and of the rows.
        top : int, default 3
            How many columns or words make the name of a cluster.

        Returns
        -------
        Profiles
            `.clusters` and `.columns` are tables, `.compare(a, b)` puts two clusters side by side, `.to_pandas()` and `.to_csv(path)`
            give all of it to others.
        """
        own = self._partition(partition, "profiles")
        data, known = shown_columns(self, names)
        return describe(data, own, self.labels, names=known, rows=rows, top=top)

    def map_draw(self) -> MapDraw:
        """The draw of highest log joint. With hyper-parameters sampled this is a joint mode over them too.

        Returns
        -------
        MapDraw
        """
        best = int(np.argmax(self.log_joint))
        chain, draw = divmod(best, self.draws)
        return MapDraw(self.labels[chain, draw].copy(), float(self.log_joint[chain, draw]), chain, draw)

    def predict(self, X: Any, *, partition: npt.ArrayLike | None = None, times: Any = None, max_draws: int | None = None) -> IntArray:
        """The most probable cluster of `partition` (the point estimate) for every new row; -1 for none of them.

        Parameters
        ----------
        X : table
        partition : (n,), optional
        times : (n_new,), optional
        max_draws : int, optional
            As for `predict_proba`.

        Returns
        -------
        (n_new,) int32
        """
        proba = self.predict_proba(X, partition=partition, times=times, max_draws=max_draws)
        best: IntArray = np.argmax(proba, axis=1).astype(np.int32)
        best[best == proba.shape[1] - 1] = -1
        return best

    def predict_proba(
        self, X: Any, *, partition: npt.ArrayLike | None = None, times: Any = None, max_draws: int | None = None
    ) -> FloatArray:
        """Probability that each new row joins each cluster of `partition` (the point estimate): (n_new, K + 1), rows sum to 1.

        The last column is the probability of standing alone, in a new cluster. The rest is shared among the clusters in
        proportion to the mean probability of being with their rows. Each new row is taken by itself. `max_draws` thins
        the draws evenly; `times` are the new rows' groups under a `MixedNRM` prior.

        Parameters
        ----------
        X : table
        partition : (n,), optional
        times : (n_new,), optional
        max_draws : int, optional

        Returns
        -------
        (n_new, K + 1)
        """
        own = self._partition(partition, "predict_proba")
        return prediction.membership(self, own, X, times=times, max_draws=max_draws)

    def log_density(self, X: Any, *, times: Any = None, max_draws: int | None = None) -> FloatArray:
        """log p(x | data) of every new row, each by itself, averaged over the draws: (n_new,).

        `max_draws` thins the draws evenly; without it all count. `HedgerowClusterer.score_samples` takes 200, and so differs
        from this by Monte-Carlo error, about a tenth of a nat for rows far out, where few draws count.

        Parameters
        ----------
        X : table
        times : (n_new,), optional
        max_draws : int, optional

        Returns
        -------
        (n_new,)
        """
        return prediction.log_density(self, X, times=times, max_draws=max_draws)

    def outlier_scores(self, *, max_draws: int | None = 50) -> FloatArray:
        """How unlikely every row is under the density that the others give it, as a rank: (n,), 0 the most likely row, 1 the least.

        In each draw the row's density is that of the mixture without the row (a cluster that it has alone does not help it), averaged
        over at most `max_draws` draws. A rank and no verdict: some row always has 1.

        Parameters
        ----------
        max_draws : int or None

        Returns
        -------
        ndarray, (n,)
        """
        ranks: FloatArray = rankdata(-prediction.left_out_density(self, max_draws))
        return (ranks - 1.0) / max(self.n - 1, 1)

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

    def plot_popularity(
        self,
        partition: npt.ArrayLike | None = None,
        *,
        times: Any = None,
        prob: float = 0.95,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Any:
        """Draw `popularity` as stacked areas, each with its interval; returns the axes.

        Parameters
        ----------
        partition, times : (n,), optional
        prob : float
        names : sequence of str, optional
            Of the clusters.
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
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

    def plot_trace(self, quantity: str = "log_joint", *, ax: Any = None) -> Any:
        """Draw a quantity of `summary` along the draws of every chain; returns the axes. Plots need the extra `plot`.

        Parameters
        ----------
        quantity : str
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        return pictures.draw_trace(self, quantity, ax)

    def plot_n_clusters(self, *, ax: Any = None) -> Any:
        """Draw the posterior of the number of clusters, bars for all draws and dots for single chains; returns the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        return cluster_posterior(self.n_clusters, ax=ax)

    def plot_similarity(self, partition: npt.ArrayLike | None = None, *, ax: Any = None) -> Any:
        """Draw `similarity` as a heat map in the order of `plot_tree`; of more than 2,000 rows an even sample. Returns the axes.

        Parameters
        ----------
        partition : (n,), optional
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        return pictures.draw_similarity(self, self._partition(partition, "plot_similarity"), ax)

    def plot_tree(self, *, names: Sequence[str] | None = None, max_leaves: int = 60, ax: Any = None) -> Any:
        """Draw the report's dendrogram: rows that share a cluster in more than half of the draws join below the cut.

        Parameters
        ----------
        names : sequence of str, optional
            Of the rows.
        max_leaves : int
            Leaves and closed branches drawn at most.
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        return pictures.draw_tree(self, names, max_leaves, ax)

    def plot_scatter(self, partition: npt.ArrayLike | None = None, *, names: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw the rows in their clusters' colours, doubtful ones paler and larger; returns the axes.

        One or two columns are drawn as they are; of more, the first two principal components.

        Parameters
        ----------
        partition : (n,), optional
        names : sequence of str, optional
            Of the columns.
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        return pictures.draw_scatter(self, self._partition(partition, "plot_scatter"), names, ax)

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
        return pictures.draw_pairs(self, self._partition(partition, "plot_pairs"), columns, axes)

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
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        own = self._partition(None, "plot_density")
        return pictures.draw_density(self, own, columns, prob, time, max_draws, ax)

    def to_arviz(self) -> Any:
        """An `arviz.InferenceData` of the draws (needs the extra `arviz`).

        Returns
        -------
        arviz.InferenceData
        """
        return exchange.to_arviz(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write draws, data, model and record to one file, whole or not at all; `load` reads it back.

        The file is an npz with a JSON header and no pickles. A model that holds functions is left out; give it to
        `load` again.

        Parameters
        ----------
        path : path
        """
        storage.save_posterior(self, path)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Clusters",
        loss: Loss = "vi",
        names: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
    ) -> Path:
        """Write one offline HTML page: what was found, the tree with the points, the chains, the run; returns its path.

        It speaks of the point estimate for `loss`. `names` are those of the columns, `rows` those of the rows.

        Parameters
        ----------
        path : path
        title : str
        loss : str
        names, rows : sequences of str, optional

        Returns
        -------
        pathlib.Path
        """
        found = self.point_estimate(loss)
        return write_report(path, reporting.payload_of(self, found, title=title, names=names, rows=rows))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, model: Mixture | None = None) -> Posterior:
        """A posterior from a file that `save` wrote; `model` takes the place of the stored one.

        Parameters
        ----------
        path : path
        model : Mixture, optional

        Returns
        -------
        Posterior
        """
        return cls(**storage.load_fields(path, model))

    def _partition(self, partition: npt.ArrayLike | None, owner: str) -> IntArray:
        if partition is None:
            return self.point_estimate().labels
        require(not isinstance(partition, str), owner, "partition", partition, "be labels, one for each row")
        return as_partition(partition, owner, "partition", self.n)

    def __repr__(self) -> str:
        low, high = int(self.n_clusters.min()), int(self.n_clusters.max())
        span = f"{low}" if low == high else f"{low} to {high}"
        stopped = ", stopped early" if self.run.get("interrupted") else ""
        model = "model not stored"
        if self.model is not None:
            model = f"{type(self.model.prior).__name__} × {type(self.model.likelihood).__name__}"
        return f"Posterior({model}: {self.chains} chains × {self.draws} draws of {self.n} rows, {span} clusters{stopped})"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(repr(self))}</b></p>{self.summary()._repr_html_()}"


def load(path: str | os.PathLike[str], *, model: Mixture | None = None) -> Posterior:
    """Read a posterior that `Posterior.save` wrote.

    Nothing in the file can run code, and sizes are checked before memory is taken. A file of an unknown version, damaged
    or foreign, is refused with a `FormatError` that says why. `model` takes the place of the stored one, and is
    needed to predict where the model could not be stored (`Custom`).

    Parameters
    ----------
    path : path
    model : Mixture, optional

    Returns
    -------
    Posterior

    >>> import tempfile
    >>> import hedgerow as hr
    >>> path = tempfile.mkdtemp() + "/post.npz"
    >>> hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [9.0]], draws=5, warmup=5, chains=2, seed=0).save(path)
    >>> load(path).labels.shape
    (2, 5, 2)
    """
    return Posterior.load(path, model=model)
