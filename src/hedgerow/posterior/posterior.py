"""Posterior: what `sample` returns, and everything one may ask of it.

The arrays are those of `Draws`; every method hands them to a plain function elsewhere (summaries, prediction, storage), so
that each can be used and tested without this class.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.stats import rankdata

from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.posterior import exchange, prediction, reporting, storage
from hedgerow.posterior.draws import FloatArray, IntArray
from hedgerow.posterior.pictured import Pictured
from hedgerow.priors.state import takes_u
from hedgerow.report import write_report
from hedgerow.report.markup import said
from hedgerow.summaries.distances import Loss

__all__ = ["Posterior"]


@takes_u
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Posterior(Pictured):
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

    def predict(self, X: Any, *, partition: npt.ArrayLike | None = None, times: Any = None, max_draws: int | None = None) -> IntArray:
        """The most probable cluster of `partition` (the point estimate) for every new row; -1 for none of them.

        Parameters
        ----------
        X, partition, times, max_draws : as for `predict_proba`

        Returns
        -------
        (n_new,) int32
        """
        own = self._partition(partition, "predict")

        def best(block: FloatArray) -> IntArray:
            column: IntArray = np.argmax(block, axis=1).astype(np.int32)
            column[column == block.shape[1] - 1] = -1
            return column

        joined: IntArray = np.concatenate(prediction.membership(self, own, X, times=times, max_draws=max_draws, reduce=best))
        return joined

    def predict_proba(
        self,
        X: Any,
        *,
        partition: npt.ArrayLike | None = None,
        times: Any = None,
        max_draws: int | None = None,
        top: int | None = None,
    ) -> Any:
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
        top : int, optional
            Only the so many largest entries of each row, as a sparse matrix: for many rows and clusters, whose table would be large.

        Returns
        -------
        (n_new, K + 1) array, or scipy.sparse.csr_array with `top`
        """
        own = self._partition(partition, "predict_proba")
        if top is None:
            return np.concatenate(prediction.membership(self, own, X, times=times, max_draws=max_draws))
        require(top >= 1, "predict_proba", "top", top, "be at least 1, or None for all")
        kept = prediction.most_probable(top)
        return sparse.vstack(prediction.membership(self, own, X, times=times, max_draws=max_draws, reduce=kept), format="csr")

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

    def outlier_scores(self, *, max_draws: int | None = None) -> FloatArray:
        """How unlikely every row is under the density that the others give it, as a rank: (n,), 0 the most likely row, 1 the least.

        In each draw the row's density is that of the mixture without the row (a cluster that it has alone does not help it), averaged
        over at most `max_draws` draws. A rank and no verdict: some row always has 1.

        Parameters
        ----------
        max_draws : int, optional
            By default 50, or where rows × clusters are more than 20 million as many as a thousand million densities allow, but 10.

        Returns
        -------
        ndarray, (n,)
        """
        ranks: FloatArray = rankdata(-prediction.left_out_density(self, max_draws))
        return (ranks - 1.0) / max(self.n - 1, 1)

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
        path, model : as for `hedgerow.load`

        Returns
        -------
        Posterior
        """
        return cls(**storage.load_fields(path, model))

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
