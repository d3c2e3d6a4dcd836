"""Reach: the rows of a posterior over shards, wherever they are, and work that is done on them there.

Nothing is kept on the workers: every piece of work reads its shard, is done, and leaves. `attach` gives a posterior that was read from
a file its rows back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.data import Reading
from hedgerow.distributed.sources import Source, at_sources, read_sources
from hedgerow.distributed.workers import open_workers
from hedgerow.errors import require
from hedgerow.likelihoods import Likelihood
from hedgerow.posterior import DistributedPosterior
from hedgerow.posterior.sharded_labels import Work
from hedgerow.posterior.traced import need_model

__all__ = ["ShardRows", "attach"]


@dataclass(frozen=True, eq=False)
class ShardRows:
    """Rows in shards, in threads of this process or on a cluster."""

    sources: Sequence[Source]
    client: Any
    likelihood: Likelihood
    sizes: tuple[int, ...]

    def each(self, works: Sequence[Work]) -> list[Any]:
        """Have every shard that has rows do its work; their answers in the order of the shards."""
        each = [OnRows(work, self.likelihood, rows) for work, rows in zip(works, self.sizes, strict=True) if rows]
        sources = [source for source, rows in zip(self.sources, self.sizes, strict=True) if rows]
        return at_sources(do, sources, each, self.client)


@dataclass(frozen=True, eq=False)
class OnRows:
    """Work on the checked rows of a shard, of which there must be as many as there were."""

    work: Work
    likelihood: Likelihood
    rows: int

    def __call__(self, X: Any) -> Any:
        """The answer."""
        checked = self.likelihood.check(X)
        wanted = f"be the shards of the posterior: {self.rows} rows here"
        require(checked.shape[0] == self.rows, "distributed.attach", "shards", checked, wanted)
        return self.work(checked)


def do(source: Source, work: OnRows, data: Any = None) -> Any:
    """Load a shard and work on it."""
    with source.named():
        return work(source.load(data)[0])


def attach(posterior: DistributedPosterior, shards: Any, *, client: Any = None) -> DistributedPosterior:
    """The same posterior with its rows within reach, for tables of clusters, outlier scores, pictures and the report.

    Parameters
    ----------
    posterior : DistributedPosterior
        Such as `hedgerow.load` gives.
    shards : list or Dask array
        The rows that it is about, cut as they were; where they are may differ.
    client : distributed.Client, optional

    Returns
    -------
    DistributedPosterior

    >>> import tempfile
    >>> import hedgerow as hr
    >>> X, path = hr.data.ring13(n=130).X, tempfile.mkdtemp() + "/post.hedge"
    >>> shards = [X[:60], X[60:]]
    >>> hr.distributed.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), shards, draws=3, warmup=3, seed=0).save(path)
    >>> post = attach(hr.load(path), shards)
    >>> len(post.cluster_table()["size"]) == post.point_estimate().n_clusters
    True
    """
    owner = "distributed.attach"
    require(isinstance(posterior, DistributedPosterior), owner, "posterior", posterior, "be a DistributedPosterior")
    model = need_model(posterior, owner)
    told = posterior.run.get("reading")
    sources = read_sources(owner, shards, client, Reading.from_json(told) if isinstance(told, str) else None)
    open_workers(owner, sources, client).close()  # refuses what is no client
    wanted = f"be the {len(posterior.shard_rows)} shards of the posterior"
    require(len(sources) == len(posterior.shard_rows), owner, "shards", f"{len(sources)} shards", wanted)
    return replace(posterior, rows=ShardRows(sources, client, model.likelihood, posterior.shard_rows))
