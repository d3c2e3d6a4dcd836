"""Verdicts on convergence: whether the chains agree, in a sentence and for every quantity in a few words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Sentence", "agreement", "quantity_verdict", "told_of_lesson"]

GOOD_RHAT = 1.01  # Vehtari, Gelman, Simpson, Carpenter & Bürkner 2021
FAIR_RHAT = 1.05
ESS_PER_CHAIN = 100


@dataclass(frozen=True)
class Sentence:
    """A sentence and its tone: "plain", "good", "warn" or "bad"."""

    text: str
    tone: str = "plain"


def agreement(
    quantities: Mapping[str, npt.ArrayLike],
    n_clusters: npt.ArrayLike,
    rhat: Mapping[str, float],
    ess: Mapping[str, float],
    asked: float | None = None,
) -> Sentence:
    """One verdict over all quantities with an R-hat: the worst decides. `asked` is the R-hat that a run was to go on to."""
    chains = np.shape(n_clusters)[0]
    if chains == 1:
        return Sentence("There is only one chain, so nothing can be said about agreement. Run four.", "warn")
    if not rhat:
        return Sentence(f"Agreement of the {chains} chains was not measured.", "warn")
    verdicts = {name: quantity_verdict(quantities.get(name, n_clusters), rhat[name], ess.get(name, math.inf), asked) for name in rhat}
    numbers = _numbers(rhat, ess)
    worst = [name for name, verdict in verdicts.items() if verdict.tone == "bad"]
    if worst:
        return Sentence(f"The chains do not agree yet on {_list(worst)}: run longer{numbers}.", "bad")
    nearly = [name for name in rhat if float(rhat[name]) > _good(asked)]
    if nearly:
        return Sentence(f"The {chains} chains nearly agree ({_list(nearly)}): run longer to be sure{numbers}.", "warn")
    few = [name for name, verdict in verdicts.items() if verdict.tone == "warn"]
    if few:
        told = f"The {chains} chains agree, but on few effective draws ({_list(few)}): run longer to be sure{numbers}."
        return Sentence(told, "warn")
    within = f" within an R-hat of {asked:g}, as asked" if asked is not None and any(v > GOOD_RHAT for v in rhat.values()) else ""
    return Sentence(f"The {chains} chains agree{within}{numbers}.", "good")


def told_of_lesson(run: Mapping[str, Any]) -> str:
    """What agreement within a run proves less by, in a sentence: that chains set out from one place. Empty where they did not."""
    until = run.get("until")
    taught = until.get("taught") if isinstance(until, Mapping) else None
    if not isinstance(taught, Mapping) or not taught.get("pupils"):
        return ""
    pupils, chains = len(taught["pupils"]), run.get("chains", "the")
    places = (
        "partitions made of the clusters of several, which had more mass about them"
        if taught.get("made")
        else ("where another stood, which had more mass about it")
    )
    return (
        f"Before the first draw {pupils} of the {chains} chains went on from {places}: "
        "agreement within the run proves less than between runs (independent=True, --independent keep chains apart)."
    )


def quantity_verdict(values: npt.ArrayLike, rhat: float, ess: float, asked: float | None = None) -> Sentence:
    """Agreement of the chains on one quantity (chain, draw), in two or three words. `asked` as in `agreement`."""
    if math.isnan(rhat):
        if np.ptp(np.asarray(values, dtype=np.float64)) == 0:
            return Sentence("never changed", "good")
        return Sentence("do not agree yet, run longer", "bad")
    if rhat > max(FAIR_RHAT, _good(asked)):
        return Sentence("do not agree yet, run longer", "bad")
    few = ess < ESS_PER_CHAIN * np.shape(values)[0]
    if rhat > _good(asked):
        return Sentence("nearly agree, run longer", "warn")
    if few:
        return Sentence("agree, but few effective draws", "warn")
    return Sentence("agree", "good")


def _good(asked: float | None) -> float:
    """The R-hat up to which chains agree: what the run was asked for, where it was asked for one."""
    return GOOD_RHAT if asked is None else max(GOOD_RHAT, asked)


def _numbers(rhat: Mapping[str, float], ess: Mapping[str, float]) -> str:
    """The largest R-hat and the least effective sample size, in brackets."""
    largest = max((float(v) for v in rhat.values() if not math.isnan(float(v))), default=math.nan)
    least = min((float(v) for v in ess.values() if not math.isnan(float(v))), default=math.nan)
    parts = [] if math.isnan(largest) else [f"R-hat up to {largest:.3f}"]
    parts += [] if math.isnan(least) else [f"at least {least:,.0f} effective draws"]
    return f" ({', '.join(parts)})" if parts else ""


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
