"""What the numbers mean, in plain words: the headline, and whether the chains agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hedgerow.report.payload import DrawsPart, ReportPayload

__all__ = ["Sentence", "agreement", "headline", "quantity_verdict"]

GOOD_RHAT = 1.01  # Vehtari, Gelman, Simpson, Carpenter & Bürkner 2021
FAIR_RHAT = 1.05
ESS_PER_CHAIN = 100
DOUBTFUL = 0.25  # a point this uncertain changes company in one draw of four


@dataclass(frozen=True)
class Sentence:
    """A sentence and its tone: "plain", "good", "warn" or "bad"."""

    text: str
    tone: str = "plain"


def headline(payload: ReportPayload) -> tuple[str, list[Sentence]]:
    """The finding in one line, and the sentences under it."""
    labels = np.asarray(payload.points.labels)
    n, k = len(labels), int(labels.max()) + 1
    lead = f"{_count(k, 'cluster')} in {_count(n, 'point')}."
    said: list[Sentence] = []
    if payload.draws is not None:
        said.append(_how_many(payload.draws))
    if payload.points.uncertainty is not None:
        said.append(_how_firm(np.asarray(payload.points.uncertainty, dtype=np.float64)))
    if payload.tree is not None:
        said.append(_tree_sentence(payload, k))
    if payload.draws is not None:
        said.append(agreement(payload.draws))
    if payload.estimate:
        said.append(Sentence(f"The clustering shown is the {payload.estimate}."))
    said += [Sentence(note, "warn") for note in payload.notes]
    said.sort(key=lambda sentence: sentence.tone != "bad")  # what spoils all the rest comes first
    return lead, said


def agreement(draws: DrawsPart) -> Sentence:
    """One verdict over all quantities with an R-hat: the worst decides."""
    chains, _ = np.asarray(draws.n_clusters).shape
    if chains == 1:
        return Sentence("There is only one chain, so nothing can be said about agreement. Run four.", "warn")
    if not draws.rhat:
        return Sentence(f"Agreement of the {chains} chains was not measured.", "warn")
    verdicts = {name: quantity_verdict(draws, name) for name in draws.rhat}
    numbers = _numbers(draws.rhat, draws.ess)
    worst = [name for name, verdict in verdicts.items() if verdict.tone == "bad"]
    if worst:
        return Sentence(f"The chains do not agree yet on {_list(worst)}: run longer{numbers}.", "bad")
    nearly = [name for name in draws.rhat if float(draws.rhat[name]) > GOOD_RHAT]
    if nearly:
        return Sentence(f"The {chains} chains nearly agree ({_list(nearly)}): run longer to be sure{numbers}.", "warn")
    few = [name for name, verdict in verdicts.items() if verdict.tone == "warn"]
    if few:
        told = f"The {chains} chains agree, but on few effective draws ({_list(few)}): run longer to be sure{numbers}."
        return Sentence(told, "warn")
    return Sentence(f"The {chains} chains agree{numbers}.", "good")


def quantity_verdict(draws: DrawsPart, name: str) -> Sentence:
    """Agreement of the chains on one quantity, in two or three words."""
    chains = np.asarray(draws.n_clusters).shape[0]
    rhat = float(draws.rhat[name])
    if math.isnan(rhat):
        values = np.asarray(draws.quantities.get(name, draws.n_clusters), dtype=np.float64)
        if np.ptp(values) == 0:
            return Sentence("never changed", "good")
        return Sentence("do not agree yet, run longer", "bad")
    if rhat > FAIR_RHAT:
        return Sentence("do not agree yet, run longer", "bad")
    few = float(draws.ess.get(name, math.inf)) < ESS_PER_CHAIN * chains
    if rhat > GOOD_RHAT:
        return Sentence("nearly agree, run longer", "warn")
    if few:
        return Sentence("agree, but few effective draws", "warn")
    return Sentence("agree", "good")


def _how_many(draws: DrawsPart) -> Sentence:
    """The posterior of the number of clusters in a sentence."""
    k = np.asarray(draws.n_clusters).astype(np.int64).ravel()
    values, counts = np.unique(k, return_counts=True)
    mode = int(values[np.argmax(counts)])
    share = float(counts.max()) / len(k)
    if len(values) == 1:
        return Sentence(f"All {len(k):,} draws have {_count(mode, 'cluster')}.")
    low, high = (int(v) for v in np.quantile(k, [0.025, 0.975], method="inverted_cdf"))
    span = f"; 95% of the draws have {low} to {high}" if low != high else f"; 95% of the draws have {low} too"
    return Sentence(f"The most probable number of clusters is {mode} ({_percent(share)} of {len(k):,} draws){span}.")


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
        return Sentence(f"Cutting the tree where joining stops paying (d = 1) gives {_count(clusters, 'cluster')}.")
    why = "another summary of the same draws" if payload.draws is not None else "before rows found better places"
    return Sentence(f"The tree, cut where joining stops paying (d = 1), has {clusters:,} branches: {why}.")


def _numbers(rhat: Mapping[str, float], ess: Mapping[str, float]) -> str:
    """The largest R-hat and the least effective sample size, in brackets."""
    largest = max((float(v) for v in rhat.values() if not math.isnan(float(v))), default=math.nan)
    least = min((float(v) for v in ess.values() if not math.isnan(float(v))), default=math.nan)
    parts = [] if math.isnan(largest) else [f"R-hat up to {largest:.3f}"]
    parts += [] if math.isnan(least) else [f"at least {least:,.0f} effective draws"]
    return f" ({', '.join(parts)})" if parts else ""


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _percent(share: float) -> str:
    if 0.0 < share < 0.005:
        return "less than 1%"
    if 0.995 <= share < 1.0:
        return "more than 99%"
    return f"{100 * share:.0f}%"
