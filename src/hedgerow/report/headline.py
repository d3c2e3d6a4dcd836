"""The headline of the page: what was found, in plain words."""

from __future__ import annotations

import numpy as np

from hedgerow.report.levels import levels_headline
from hedgerow.report.markup import counted
from hedgerow.report.payload import LEFT_OUT, DrawsPart, ReportPayload
from hedgerow.summaries.verdicts import Sentence, agreement

__all__ = ["headline"]

FEW_POINTS = 20
DOUBTFUL = 0.25  # a point this uncertain changes company in one draw of four


def headline(payload: ReportPayload) -> tuple[str, list[Sentence]]:
    """The finding in one line, and the sentences under it."""
    labels = np.asarray(payload.points.labels)
    n, k = len(labels), int(labels.max()) + 1
    lead = f"{counted(k, 'cluster')} in {counted(n, 'point')}{_alone(labels)}."
    said: list[Sentence] = []
    if payload.levels is not None:
        lead, said = levels_headline(payload.levels.items, payload.levels.shown)
    if payload.draws is not None:
        said.append(_how_many(payload.draws, k))
    if payload.points.uncertainty is not None:
        said.append(_how_firm(np.asarray(payload.points.uncertainty, dtype=np.float64)))
    if payload.tree is not None and payload.levels is None:
        said.append(_tree_sentence(payload, k))
    if payload.draws is not None:
        drawn = payload.draws
        told = agreement(drawn.quantities, drawn.n_clusters, drawn.rhat, drawn.ess, drawn.asked)
        said.append(Sentence(f"{told.text} {drawn.lesson}".rstrip(), "warn" if drawn.lesson and told.tone == "good" else told.tone))
    if LEFT_OUT in payload.run:
        said.append(Sentence(f"Columns that the clustering does not use: {payload.run[LEFT_OUT]}."))
    if payload.estimate:
        said.append(Sentence(f"The clustering shown is the {payload.estimate}."))
    said += [Sentence(note, "warn") for note in payload.notes]
    said.sort(key=lambda sentence: sentence.tone != "bad")  # what spoils all the rest comes first
    return lead, said


def _alone(labels: np.ndarray) -> str:
    """How many of the clusters are a point by itself; nothing of tables so small that any cluster may be."""
    sizes = np.bincount(labels)
    alone = int((sizes == 1).sum())
    if len(labels) < FEW_POINTS or alone in (0, len(sizes)):
        return ""
    return ", one of them a single point" if alone == 1 else f", {alone:,} of them single points"


def _how_many(draws: DrawsPart, shown: int) -> Sentence:
    """The posterior of the number of clusters in a sentence; where the clusters shown are fewer, what the others are."""
    k = np.asarray(draws.n_clusters).astype(np.int64).ravel()
    values, counts = np.unique(k, return_counts=True)
    mode = int(values[np.argmax(counts)])
    share = float(counts.max()) / len(k)
    if len(values) == 1:
        return Sentence(f"All {len(k):,} draws have {counted(mode, 'cluster')}{_of_a_size(draws, shown < mode)}.")
    low, high = _middle(k)
    span = f"; 95% of the draws have {low} to {high}" if low != high else f"; 95% of the draws have {low} too"
    told = f"The most probable number of clusters is {mode} ({_percent(share)} of {len(k):,} draws){span}"
    return Sentence(f"{told}{_of_a_size(draws, shown < low)}.")


def _of_a_size(draws: DrawsPart, wanted: bool) -> str:
    """How many of the clusters of the draws are of a size, where that is to be told."""
    if draws.large is None or not wanted:
        return ""
    low, high = _middle(np.asarray(draws.large))
    return f", of which {low if low == high else f'{low} to {high}'} with at least {counted(draws.size, 'point')}"


def _middle(counts: np.ndarray) -> tuple[int, int]:
    """Where 95% of the draws lie."""
    low, high = np.quantile(counts, [0.025, 0.975], method="inverted_cdf")
    return int(low), int(high)


def _how_firm(uncertainty: np.ndarray) -> Sentence:
    """How many points sit firmly in their cluster."""
    doubtful = float(np.mean(uncertainty > DOUBTFUL))
    if doubtful == 0.0:
        return Sentence("Every point sits firmly in its cluster.")
    firm = _percent(1.0 - doubtful)
    return Sentence(
        f"{firm[0].upper()}{firm[1:]} of the points sit firmly in their cluster, {_percent(doubtful)} could well be elsewhere."
    )


def _tree_sentence(payload: ReportPayload, k: int) -> Sentence:
    """How many clusters the tree alone would give."""
    assert payload.tree is not None
    left, right = (np.asarray(side, dtype=np.int64) for side in (payload.tree.left, payload.tree.right))
    log_d = np.asarray(payload.tree.log_d, dtype=np.float64)
    waiting = [int(root) for root in np.atleast_1d(np.asarray(payload.tree.roots))]
    clusters = 0
    while waiting:
        node = waiting.pop()
        if left[node] >= 0 and log_d[node] > 0:
            waiting += [int(left[node]), int(right[node])]
        else:
            clusters += 1
    if clusters == k:
        return Sentence(f"Cutting the tree where joining stops paying (d = 1) gives {counted(clusters, 'cluster')}.")
    why = "another summary of the same draws" if payload.draws is not None else "before rows found better places"
    return Sentence(f"The tree, cut where joining stops paying (d = 1), has {clusters:,} branches: {why}.")


def _percent(share: float) -> str:
    if 0.0 < share < 0.005:
        return "less than 1%"
    if 0.995 <= share < 1.0:
        return "more than 99%"
    return f"{100 * share:.0f}%"
