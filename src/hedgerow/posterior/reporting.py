"""Posterior to report: fills the parts of the page from the draws, the data and the record of the run.

The tree shown is that of the posterior itself: average linkage on the probability of being apart, so that a join stands
where the two branches share a cluster with the mean probability s, and d = (1 - s)/s. The cut at d = 1 joins what is
together in more than half of the draws. Inside branches that are firmly together the probabilities say little more than
noise, and what is near in the data is joined first (Ward). Beyond 5,000 rows, where all pairs are too many, the trees of
incremental hierarchical clustering under the model are shown instead, and beyond 500,000 none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from hedgerow import plots
from hedgerow.posterior.access import Access
from hedgerow.posterior.columns import shown_columns
from hedgerow.posterior.convergence import asked_rhat, quantities
from hedgerow.posterior.draws import Draws, FloatArray
from hedgerow.posterior.traced import Traced
from hedgerow.report.headline import headline
from hedgerow.report.payload import (
    LEFT_OUT,
    ColumnsPart,
    CountsPart,
    DrawsPart,
    PointsPart,
    Profile,
    ProfilesPart,
    ReportPayload,
    SimilarityPart,
    TreePart,
)
from hedgerow.summaries.clusters import uncertainty
from hedgerow.summaries.coclustering import similarity
from hedgerow.summaries.diagnostics import ess_bulk, rhat
from hedgerow.summaries.estimate import PointEstimate
from hedgerow.summaries.narrow import as_stored
from hedgerow.summaries.partitions import count_clusters_of, least_size
from hedgerow.summaries.points import Points
from hedgerow.summaries.profiles import Profiles, profiles
from hedgerow.summaries.verdicts import Sentence, told_of_lesson
from hedgerow.trees import ibhc
from hedgerow.trees.reporting import place_points, tree_part

__all__ = [
    "BLOCKS",
    "LARGEST_TREE",
    "NumberedRows",
    "described",
    "doubt",
    "draws_part",
    "findings",
    "in_words",
    "notes",
    "payload_of",
    "posterior_tree",
    "profiles_part",
    "run_record",
    "tree_of",
]

LARGEST_TREE = 5_000  # rows; linkage holds all pairs
LARGEST_GROWN = 500_000  # rows; a tree of more takes minutes and gigabytes
SAMPLED_ROWS = 3_000  # of the similarity, beyond that
BLOCKS = 300
FIRM = 0.8  # branches whose rows share a cluster this probably are ordered inside by distance in the data
SKETCH = 200  # dimensions in which distances between rows of many counts are taken
LEAST = 1e-6  # of a probability, so that log d stays finite

_WORDS = {"n_clusters": "number of clusters"}  # where underscores made spaces are not enough


class NumberedRows(Sequence[str]):
    """What rows without names are called on the page; no list of all of them is made."""

    def __init__(self, count: int) -> None:
        self._rows = range(count)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        """The name of a row, or of several."""
        found = self._rows[at]
        return f"row {found}" if isinstance(found, int) else [f"row {row}" for row in found]


def payload_of(
    draws: Draws, found: PointEstimate, *, title: str, names: Sequence[str] | None, rows: Sequence[str] | None
) -> ReportPayload:
    """Everything that a report on a posterior shows; `found` is the clustering that it speaks of."""
    labels = found.labels
    X, columns = shown_columns(draws, names)
    whole = similarity(draws.labels).astype(np.float64) if draws.n <= LARGEST_TREE else None
    tree = _grown_tree(draws) if whole is None else tree_of(whole, X)
    order = np.argsort(labels, kind="stable") if tree is None else plots.leaf_order(tree.left, tree.right, tree.roots)
    counted = sparse.issparse(X)
    return ReportPayload(
        title,
        place_points(labels, doubt(draws, labels), X, columns, rows),
        tree=tree,
        draws=draws_part(draws, draws.labels),
        columns=None if counted else ColumnsPart(X, columns),
        counts=CountsPart(X.indptr, X.indices, X.data, columns) if counted else None,
        similarity=_similarity(draws, whole, np.asarray(order)),
        profiles=described(X, draws, labels, columns, rows),
        run=run_record(draws, draws.X.shape),
        notes=[*notes(draws), *_no_tree(draws)],
        estimate=found.words,
    )


def described(X: Any, draws: Draws, labels: npt.NDArray[np.int32], names: Sequence[str], rows: Sequence[str] | None) -> ProfilesPart:
    """What each cluster stands out by, for the page."""
    found = profiles(X, labels, draws.labels, names=names, rows=NumberedRows(draws.n) if rows is None else rows, top=8)
    return profiles_part(found, names, sparse.issparse(X))


def profiles_part(found: Profiles, names: Sequence[str], counted: bool) -> ProfilesPart:
    """Profiles for the page."""
    table = found.clusters
    told = []
    for i, cluster in enumerate(table["cluster"].tolist()):
        facts = [(fact.column, fact.text, fact.direction) for fact in found.facts[i]] if found.facts else []
        words = str(table["name"][i]) if counted else ""
        typical = str(table["typical"][i]) if "typical" in table else ""
        told.append(Profile(cluster, facts, words, typical, str(table["doubtful"][i])))
    importance = [(str(name), float(share)) for name, share in zip(found.columns["column"], found.columns["importance"], strict=True)]
    if counted:
        return ProfilesPart(told, importance)
    return ProfilesPart(told, importance, list(names), table["mean"], table["spread"], found.shares)


def findings(draws: Access, found: PointEstimate) -> tuple[str, list[Sentence]]:
    """The headline of the report without the page: the finding in one line, and the sentences under it."""
    labelled = draws._labelled
    points = PointsPart(found.labels, np.clip(uncertainty(labelled, found.labels).doubt, 0.0, 1.0))
    return headline(ReportPayload("", points, draws=draws_part(draws, labelled), notes=notes(draws)))


def run_record(draws: Traced, shape: tuple[int, int]) -> dict[str, object]:
    """The record of the run as a person reads it: model, kernel, lengths, seed, time."""
    run = draws.run
    record: dict[str, object] = {}
    if draws.model is not None:
        record |= {"prior": repr(draws.model.prior), "likelihood": repr(draws.model.likelihood)}
        if draws.model.power != 1:
            record["power"] = (
                f"{draws.model.power:.3g}: every row's density is raised to it, for a coarser partition than the posterior's"
            )
    record["data"] = " × ".join(f"{length:,}" for length in shape)
    unused = _left_out(draws)
    if unused:
        record[LEFT_OUT] = ", ".join(unused)
    record |= {name: run[name] for name in ("kernel", "seed") if name in run}
    if "warmup" in run:
        thinned = f", every {run['thin']} iterations" if run.get("thin", 1) != 1 else ""
        record["draws"] = f"{draws.draws:,} in each of {draws.chains} chains{thinned}, after {run['warmup']:,} of warm-up"
    until = run.get("until")
    if isinstance(until, dict) and until.get("why"):
        record["ended"] = str(until["why"])
    told = {
        "kernel",
        "seed",
        "warmup",
        "thin",
        "draws",
        "chains",
        "interrupted",
        "warming",
        "columns",
        "sampled",
        "until",
        "reading",
        "title",
        "loss",
    }
    record |= {name.replace("_", " "): value for name, value in run.items() if name not in told}
    return record


def _left_out(draws: Traced) -> list[str]:
    """The columns of the table that the model does not look at, where their names are known."""
    used = None if draws.model is None else draws.model.likelihood.used_columns()
    named = draws.run.get("columns")
    if used is None or named is None or not all(name in named for name in used):
        return []
    return [str(name) for name in named if name not in used]


def in_words(quantity: str) -> str:
    """The name of a traced quantity as a person reads it."""
    return _WORDS.get(quantity, quantity.replace("_", " "))


def doubt(draws: Draws, labels: npt.NDArray[np.int32]) -> FloatArray:
    """How doubtful the place of every row is, in [0, 1]."""
    return np.clip(uncertainty(draws.labels, labels).doubt, 0.0, 1.0)


def draws_part(draws: Traced, labelled: Any) -> DrawsPart:
    """What the chains did, with sizes of clusters where all draws have labels."""
    watched = {in_words(name): trace for name, trace in quantities(draws).items()}
    size, large = least_size(draws.n), None
    if isinstance(labelled, Points):
        every, copies = labelled.draws, labelled.copies
    else:
        every, copies = as_stored(labelled), np.ones(draws.n, np.int64)
    if len(every) == draws.n_clusters.size:
        large = count_clusters_of(every, size, copies).reshape(draws.n_clusters.shape)
    if draws.draws < 4:
        return DrawsPart(draws.n_clusters, watched, large=large, size=size)
    measured = {name: rhat(trace) for name, trace in watched.items()}
    effective = {name: ess_bulk(trace) for name, trace in watched.items()}
    return DrawsPart(draws.n_clusters, watched, measured, effective, asked_rhat(draws.run), large, size, told_of_lesson(draws.run))


def posterior_tree(draws: Draws) -> TreePart | None:
    """The tree that a report shows; none for a single row, or for many rows without a model."""
    if draws.n > LARGEST_TREE:
        return _grown_tree(draws)
    return tree_of(similarity(draws.labels).astype(np.float64), shown_columns(draws)[0])


def tree_of(whole: FloatArray, X: Any) -> TreePart | None:
    """Average linkage on co-clustering probabilities, firm branches ordered by the data; none for a single row."""
    n = len(whole)
    if n < 2:
        return None
    joins = linkage(squareform(np.maximum(1.0 - whole, 0.0), checks=False), "average")
    children, together = _with_inner_trees(joins, whole, X)
    leaf = np.full(n, -1)
    left, right = (np.concatenate([leaf, children[:, side]]) for side in (0, 1))
    size = np.ones(2 * n - 1, dtype=np.int64)
    for node in range(n, 2 * n - 1):
        size[node] = size[left[node]] + size[right[node]]
    together = np.clip(together, LEAST, 1.0 - LEAST)
    log_d = np.concatenate([np.full(n, -np.inf), np.log1p(-together) - np.log(together)])
    return tree_part(left, right, np.array([2 * n - 2]), size, log_d)


def _grown_tree(draws: Draws) -> TreePart | None:
    """For many rows, the trees of one pass of incremental hierarchical clustering under the model."""
    if draws.model is None or draws.n > LARGEST_GROWN:
        return None
    forest = ibhc(draws.model, draws.X, passes=1, times=draws.times, seed=0)
    return tree_part(forest.left, forest.right, forest.roots, forest.size, forest.log_d)


def _with_inner_trees(joins: FloatArray, whole: FloatArray, X: Any) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Children (n - 1, 2) and mean similarity (n - 1,) of all joins, firm branches rebuilt by distance in the data.

    Joins come bottom up: those inside firm branches first, then the upper ones of `joins` in their order.
    """
    n = len(whole)
    places = _places(X)
    firm = fcluster(joins, 1.0 - FIRM, "distance") - 1
    children: list[tuple[int, int]] = []
    together: list[float] = []
    top = np.arange(n)  # of the branch of every row, so far
    for block in np.split(np.argsort(firm, kind="stable"), np.cumsum(np.bincount(firm))[:-1]):
        if len(block) < 2:
            continue
        near = whole[np.ix_(block, block)]
        branches = [np.array([i]) for i in range(len(block))]
        nodes = [int(row) for row in block]
        for a, b in linkage(places[block], "ward")[:, :2].astype(np.int64):
            children.append((nodes[a], nodes[b]))
            together.append(float(near[np.ix_(branches[a], branches[b])].mean()))
            branches.append(np.concatenate([branches[a], branches[b]]))
            nodes.append(n + len(children) - 1)
        top[block] = nodes[-1]
    number = np.arange(2 * n - 1)  # of the nodes of `joins`, in the new tree
    first = np.arange(2 * n - 1)  # a row below each
    for i, (a, b, height, _) in enumerate(joins):
        first[n + i] = first[int(a)]
        if height > 1.0 - FIRM:
            pair = [int(top[first[c]]) if c < n or joins[c - n, 2] <= 1.0 - FIRM else int(number[c]) for c in (int(a), int(b))]
            children.append((pair[0], pair[1]))
            together.append(1.0 - float(height))
            number[n + i] = n + len(children) - 1
    return np.array(children, dtype=np.int64), np.array(together)


def _places(X: Any) -> FloatArray:
    """Rows as points whose distances mean something: standardised columns, or roots of the shares of counts."""
    if sparse.issparse(X):
        totals = np.maximum(np.asarray(X.sum(axis=1)).ravel(), 1.0)
        roots = sparse.csr_array(sparse.diags_array(1.0 / totals) @ X).sqrt()
        if roots.shape[1] <= SKETCH:
            return np.asarray(roots.todense())
        turn = np.random.default_rng(0).standard_normal((roots.shape[1], SKETCH)) / np.sqrt(SKETCH)
        return np.asarray(roots @ turn)  # distances to within a tenth, without a dense copy
    values = np.asarray(X, dtype=np.float64)
    seen = ~np.isnan(values)
    count = np.maximum(seen.sum(axis=0), 1)
    Z = np.where(seen, values - np.where(seen, values, 0.0).sum(axis=0) / count, 0.0)
    scale = np.sqrt((Z**2).sum(axis=0) / count)
    return np.asarray(Z / np.where(scale > 0, scale, 1.0))


def _similarity(draws: Draws, whole: FloatArray | None, order: npt.NDArray[np.int64]) -> SimilarityPart:
    """Co-clustering probabilities in blocks along `order`; without the whole matrix, from an even sample of rows."""
    n = draws.n
    if whole is not None:
        return SimilarityPart(*plots.block_means(whole, order, BLOCKS), order)
    edges = (np.arange(BLOCKS + 1) * n) // BLOCKS
    places = (np.arange(SAMPLED_ROWS) * n) // SAMPLED_ROWS
    rows = order[places]
    starts = np.searchsorted(places, edges[:-1])
    counts = np.diff(np.append(starts, SAMPLED_ROWS)).astype(np.float64)
    sums = np.add.reduceat(similarity(draws.labels, rows=rows, columns=rows).astype(np.float64), starts, axis=0)
    sums = np.add.reduceat(sums, starts, axis=1)
    return SimilarityPart(sums / np.outer(counts, counts), edges, order)


def _no_tree(draws: Draws) -> list[str]:
    return [f"No tree is drawn: it would be of more than {LARGEST_GROWN:,} rows."] if draws.n > LARGEST_GROWN else []


def notes(draws: Traced) -> list[str]:
    """Warnings for the headline."""
    if draws.run.get("warming"):
        stand = f"the partitions where {draws.chains} of {draws.run.get('chains', draws.chains)} chains stood"
        return [f"The run was looked at in its warm-up: these are {stand}, and no draws of the posterior."]
    if not draws.run.get("interrupted"):
        return []
    length, chains = draws.run.get("draws", draws.draws), draws.run.get("chains", draws.chains)
    kept = f"{draws.draws:,} of {length:,} draws of {draws.chains} of {chains} chains"
    return [f"The run was stopped early: {kept} were kept."]
