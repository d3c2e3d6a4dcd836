"""What a posterior says of new rows, and how it is handed on: predictions, the report, files, ArviZ."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.stats import rankdata

from hedgerow.arguments import check_whole
from hedgerow.mixture import Mixture
from hedgerow.posterior import exchange, prediction
from hedgerow.posterior.pictured import Pictured
from hedgerow.posterior.traced import FloatArray, IntArray, Names
from hedgerow.report import write_report
from hedgerow.summaries.distances import Loss

__all__ = ["Answers"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Answers(Pictured):
    """Draws with all that is asked of them."""

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

        joined: IntArray = np.concatenate(self._membership(own, X, times, max_draws, best))
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
            return np.concatenate(self._membership(own, X, times, max_draws))
        check_whole("predict_proba", "top", top, none=True)
        kept = prediction.most_probable(top)
        return sparse.vstack(self._membership(own, X, times, max_draws, kept), format="csr")

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
        return self._log_density(X, times, max_draws)

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
        ranks: FloatArray = rankdata(-self._left_out(max_draws))
        return (ranks - 1.0) / max(self.n - 1, 1)

    def to_arviz(self) -> Any:
        """An `arviz.InferenceData` of the draws (needs the extra `arviz`).

        Returns
        -------
        arviz.InferenceData
        """
        return exchange.inference_data(self, *self._exported())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write draws, data, model and record to one file, whole or not at all; `load` reads it back.

        The file is an npz with a JSON header and no pickles. A model that holds functions is left out; give it to
        `load` again.

        Parameters
        ----------
        path : path
        """
        self._files.save(self, path)

    def report(
        self, path: str | os.PathLike[str], *, title: str = "Clusters", loss: Loss = "vi", names: Names = None, rows: Names = None
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
        return write_report(path, self._payload(self.point_estimate(loss), title, names, rows))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, model: Mixture | None = None) -> Self:
        """A posterior from a file that `save` wrote; `model` takes the place of the stored one.

        Parameters
        ----------
        path, model : as for `hedgerow.load`

        Returns
        -------
        a posterior of this class
        """
        return cls(**cls._files.load_fields(path, model))
