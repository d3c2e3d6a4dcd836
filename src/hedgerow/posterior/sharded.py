"""DistributedPosterior: draws of rows that lie in shards, asked the same things as a `Posterior`.

Pictures and the report show a sample of the rows; what they say of clusters counts all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import check_seed, check_whole
from hedgerow.data.tables import stack_rows
from hedgerow.posterior import sharded_report, sharded_storage
from hedgerow.posterior.access import Files, View
from hedgerow.posterior.answers import Answers
from hedgerow.posterior.posterior import Posterior
from hedgerow.posterior.shard_work import TakeRows
from hedgerow.posterior.sharded_rows import ShardedRows
from hedgerow.posterior.traced import IntArray, Names
from hedgerow.report import ReportPayload
from hedgerow.summaries.estimate import PointEstimate

__all__ = ["DistributedPosterior"]

_SAMPLE = 5_000
"""Rows that pictures and the report show."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DistributedPosterior(ShardedRows, Answers):
    """Draws of chains over rows that lie in shards; every trace is (chain, draw).

    It answers what `Posterior` answers, with the same numbers. `labels()` reads the labels of one draw. Summaries of labels hold in
    memory one number for every row, and the labels of one row for all that no draw takes apart. `cluster_table`, `profiles`,
    `outlier_scores`, pictures and the report need the rows: those of the run, as long as its cluster is there, or others that
    `hedgerow.distributed.attach` brings back to a posterior from a file. Pictures, the report's points and its trees show 5,000 of
    the rows, drawn at random within clusters; its table of clusters counts all. What is made from labels speaks of the draws whose
    labels were kept, `log_density` of all. There are no `outlier_scores` where gaps are filled in: the fillings are not kept.

    Attributes
    ----------
    model : Mixture
        Resolved.
    shard_rows : tuple of int
        Rows of each shard.
    log_joint, n_clusters, log_u, alpha, sigma, tau, theta : (chain, draw)
    sample_stats : mapping
        What the chains counted, (chain, draw) each.
    run : mapping
        The record of the run.
    kept : KeptLabels
        The labels that were kept, wherever they are.
    clusters : mapping
        From draws, counted over all chains, to the sizes and statistics of their clusters.
    rows : Rows or None
        Whoever has the rows.

    >>> import hedgerow as hr
    >>> X = hr.data.ring13(n=130).X
    >>> post = hr.distributed.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), [X[:60], X[60:]], draws=3, warmup=3, seed=0)
    >>> post.n, post.draws, post.labels().shape, [len(labels) for labels in post.shard_labels()]
    (130, 3, (130,), [60, 70])
    >>> best = post.point_estimate()
    >>> best.labels.shape, post.uncertainty().doubt.shape, post.predict(X[:2]).shape, post.log_density(X[:2]).shape
    ((130,), (130,), (2,), (2,))
    >>> len(post.cluster_table()["size"]) == len(post.profiles().clusters["name"]) == best.n_clusters
    True
    >>> sample, rows = post.sampled_rows(60)
    >>> sample.n == len(rows)
    True
    >>> axes = [post.plot_trace(), post.plot_n_clusters(), post.plot_similarity(), post.plot_tree(), post.plot_scatter()]
    >>> axes += [post.plot_pairs(), post.plot_density(0)]
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> post.save(folder / "post.hedge")
    >>> DistributedPosterior.load(folder / "post.hedge").labels().shape
    (130,)
    >>> post.report(folder / "report.html").name, type(post.to_arviz()).__name__
    ('report.html', 'InferenceData')
    """

    def sampled_rows(self, rows: int = _SAMPLE, *, partition: npt.ArrayLike | None = None, seed: int = 0) -> tuple[Posterior, Any]:
        """An ordinary `Posterior` of some of the rows under the same draws, and which rows they are, in order.

        They are drawn at random within each cluster of `partition` (the point estimate), in proportion to its size but at least one.
        Its traces are those of all rows; its numbers of clusters are those that the rows at hand are in.

        Parameters
        ----------
        rows : int
        partition : (n,), optional
        seed : int

        Returns
        -------
        (Posterior, (rows,) int)
        """
        owner = "sampled_rows"
        own = self._partition(partition, owner)
        check_whole(owner, "rows", rows)
        check_seed(owner, seed, none=False)
        chosen = _within(own, rows, seed)
        places = np.split(chosen, np.searchsorted(chosen, self._ends[:-1]))
        starts = self._ends - np.asarray(self.shard_rows)
        taken = self._ask([TakeRows(part - start) for part, start in zip(places, starts, strict=True)], owner)
        parts = [part for part in taken if part.shape[0] > 0]
        X = stack_rows(parts)
        positions = np.asarray(self._joined.positions, np.intp)
        whole = len(positions) == self.chains * self.draws
        shape = (self.chains, self.draws) if whole else (1, len(positions))
        labels = self._joined.points.of_rows(chosen).reshape(*shape, -1)
        traces: dict[str, Any] = {name: trace.ravel()[positions].reshape(shape) for name, trace in self.traces().items()}
        log_joint = self.log_joint.ravel()[positions].reshape(shape)
        return Posterior(labels=labels, log_joint=log_joint, X=X, model=self.model, run=self.run, **traces), chosen

    _files: ClassVar[Files] = sharded_storage

    def _view(self, own: IntArray | None) -> View:
        return View(*self.sampled_rows(partition=own))

    def _payload(self, found: PointEstimate, title: str, names: Names, rows: Names) -> ReportPayload:
        return sharded_report.payload_of(self, found, self._view(found.labels), title=title, names=names, rows=rows)

    def _exported(self) -> tuple[Any, Any]:
        """Labels only where those of all draws were kept, and no data: both are copied whole."""
        points, whole = self._labelled, len(self.kept.positions) == self.chains * self.draws
        return points.draws[:, points.place].reshape(self.chains, self.draws, -1) if whole else None, None

    def __repr__(self) -> str:
        """One line."""
        chains = "" if self.chains == 1 else f"{self.chains} chains × "
        return (
            f"<DistributedPosterior: {chains}{self.draws} draws of {self.n:,} rows in {len(self.shard_rows)} shards, "
            f"{self.n_clusters.min()} to {self.n_clusters.max()} clusters>"
        )


def _within(own: IntArray, rows: int, seed: int) -> npt.NDArray[np.intp]:
    """Rows in order, drawn within each cluster in proportion to its size, at least one of each."""
    rng = np.random.default_rng(seed)
    if rows >= len(own):
        return np.arange(len(own))
    sizes = np.bincount(own)
    wanted = np.maximum(np.floor(sizes * (rows / len(own)) + rng.random(len(sizes))).astype(int), 1)
    order, ends = np.argsort(own, kind="stable"), np.cumsum(sizes)
    parts = [rng.choice(order[end - size : end], count, replace=False) for end, size, count in zip(ends, sizes, wanted, strict=True)]
    return np.sort(np.concatenate(parts))
