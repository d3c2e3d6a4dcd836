"""ibhc(): trees per shard, their roots joined by Bayesian hierarchical clustering on their statistics.

Every shard grows its own forest with the same u and hyper-parameters; `joining` puts them together. The product of φ_t over the roots
still sums over partitions that the trees allow, each once, and is a lower bound whatever the cuts.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import check_choice, check_flag, check_seed, check_whole, core_seed, real_number
from hedgerow.data import Reading
from hedgerow.distributed.joining import Grow, Joiner
from hedgerow.distributed.opening import bind_shards, check_model, open_shards
from hedgerow.distributed.result import DistributedForest
from hedgerow.distributed.sources import read_sources
from hedgerow.distributed.workers import Workers, open_workers
from hedgerow.distributed.working_shard import Command, WorkingShard
from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.trees import Forest

__all__ = ["ibhc"]

OWNER = "distributed.ibhc"
IntArray = npt.NDArray[np.int32]

_SAMPLE = 5000
"""Rows from which open hyper-parameters of the likelihood are taken."""


@dataclass(frozen=True, eq=False)
class TellRoots(Command):
    """Say which root each row is under."""

    changes = False

    def apply(self, shard: WorkingShard) -> dict[str, Any]:
        """Answers with the numbers of the roots."""
        return {"rows": shard.rows}


def ibhc(
    model: Mixture,
    shards: Any,
    *,
    passes: int = 3,
    repair: str = "reinsert",
    u: float | None = None,
    seed: int | None = None,
    reading: Reading | None = None,
    client: Any = None,
    labels: bool = True,
) -> DistributedForest:
    """Incremental Bayesian hierarchical clustering of rows that lie in shards.

    Parameters
    ----------
    model, shards, reading, client :
        As in `distributed.sample`.
    passes : int
        Passes over the rows; u and the sampled hyper-parameters are drawn anew in between, given the clusters of all shards together.
        The forest of highest log joint is kept.
    repair : {"reinsert", "bhc"}
        As in `ibhc`.
    u : float, optional
        Hold u there. The Dirichlet process integrates it out and needs none.
    seed : int, optional
        Decides the order of rows, u and the hyper-parameters.
    labels : bool
        Bring the cluster of every row here: 4 bytes a row.

    Missing entries in correlated columns are filled in, shard by shard, before their row goes into the trees, as `ibhc` does; bound and
    log joint are then estimates given one draw of them.

    Returns
    -------
    DistributedForest

    >>> import hedgerow as hr
    >>> X = hr.data.ring13(n=130).X
    >>> ibhc(hr.Mixture(hr.DP(), hr.GaussianWishart()), [X[:60], X[60:]], passes=1, seed=0).labels.shape
    (130,)
    """
    check_model(OWNER, model)
    check_whole(OWNER, "passes", passes)
    check_choice(OWNER, "repair", repair, ("reinsert", "bhc"))
    require(u is None or 0 < real_number(u) < np.inf, OWNER, "u", u, "be a finite number above 0, or None")
    check_seed(OWNER, seed, bits=64)
    check_flag(OWNER, "labels", labels)
    used_seed = secrets.randbits(63) if seed is None else int(seed)
    workers = open_workers(OWNER, read_sources(OWNER, shards, client, reading), client)
    try:
        return _grow(workers, model, passes, repair, u, used_seed, labels)
    finally:
        workers.close()


def _grow(workers: Workers, model: Mixture, passes: int, repair: str, u: float | None, seed: int, labels: bool) -> DistributedForest:
    sizes = open_shards(OWNER, workers, model)
    resolved, _, data = bind_shards(workers, model, sizes, _SAMPLE, seed)
    joiner = Joiner(resolved, data, int(sizes.sum()), u, seed)
    best: tuple[Forest, tuple[int, ...]] | None = None
    rows: list[IntArray] | None = None
    for number in range(passes):
        grown = workers.ask(Grow(prior=resolved.prior, seed=core_seed(seed), values=joiner.values(), repair=repair))
        forest = joiner.join(grown)
        log_joint = joiner.log_joint(forest)
        if best is None or log_joint > joiner.best:
            joiner.best = log_joint
            best = forest, tuple(workers.spread([len(answer["slack"]) for answer in grown], 0))
            rows = workers.spread([answer["rows"] for answer in workers.ask(TellRoots())], np.zeros(0, np.int32)) if labels else None
        joiner.resample(forest, number + 1)
    assert best is not None
    return DistributedForest(resolved, tuple(workers.sizes), best[0], best[1], rows)
