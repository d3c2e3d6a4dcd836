"""From coarse to fine: the line on every level, the slider, and the section with the flow and the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.report.markup import counted, escape, hint, table
from hedgerow.report.payload import LevelPart, LevelsPart
from hedgerow.summaries.verdicts import Sentence

__all__ = ["AGREED", "levels_body", "levels_headline", "slider", "told"]

SMALL = 0.01  # of the points
DOUBTFUL_RHAT = 1.1
AGREED = 0.8  # strength from which a level counts as one that stays
HINT = (
    "Each column is a level: bars are its clusters, as tall as they have points, and bands show which cluster parts into which. "
    "Strength: how far clusters found in one half of the points foretell those of the other, 100% where halves agree entirely, 0% for "
    "chance. Power: how much a point counts; 1 is the posterior itself, and a level below it a coarser view. "
    "Large: clusters with at least 1% of the points."
)


def told(level: LevelPart) -> str:
    """A level in a few words."""
    words = counted(clusters_of(level), "cluster")
    return words if math.isnan(level.strength) else f"{words}, strength {100 * level.strength:.0f}%"


def clusters_of(level: Any) -> int:
    """How many clusters a level has."""
    return int(np.asarray(level.labels).max()) + 1


def slider(levels: LevelsPart) -> str:
    """The slider that stays in sight."""
    last = len(levels.items) - 1
    words = escape(told(levels.items[levels.shown]))
    return (
        '<div class="resolution" role="group" aria-label="Resolution"><label for="level">Coarse</label>'
        f'<input type="range" id="level" min="0" max="{last}" step="1" value="{levels.shown}" aria-label="Resolution, coarse to fine" '
        f'aria-valuetext="{words}"><span aria-hidden="true">Fine</span><output id="level-told" for="level">{words}</output></div>'
    )


def levels_body(levels: LevelsPart) -> str:
    """The flow from level to level, and the table of levels."""
    heads = ("clusters", "large", "strength", "spread", "R-hat", "power")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    rows = []
    for at, level in enumerate(levels.items):
        sizes = _sizes(level)
        cells = (f"{int((sizes >= SMALL * sizes.sum()).sum()):,}", _share(level.strength), _share(level.spread), _rhat(level.rhat))
        spoken = f'aria-pressed="false" aria-label="Show {escape(told(level))}"'
        button = f'<button type="button" data-level-button="{at}" {spoken}>{len(sizes):,}</button>'
        body = "".join(f"<td>{cell}</td>" for cell in (*cells, f"{level.power:.3g}"))
        rows.append(f'<tr><th scope="row">{button}</th>{body}</tr>')
    shown = table(head, rows, "Levels from coarse to fine")
    return f'<div class="plot" id="flow"></div>{hint(HINT)}{shown}'


def levels_headline(items: Sequence[Any], at: int) -> tuple[str, list[Sentence]]:
    """What a person may repeat: how many clusters stay, and what lies beyond; `items` are as `LevelPart`, and `at` is shown."""
    n = len(np.asarray(items[at].labels))
    measured = [level for level in items if not math.isnan(level.strength)]
    held = [level for level in measured if level.strength >= AGREED]
    shown = items[at]
    if not held:
        lead = f"{counted(clusters_of(shown), 'cluster')} in {counted(n, 'point')}, at one of {len(items)} resolutions."
        if not measured:
            return lead, [Sentence("How far halves of the points agree was not measured (splits = 0).", "warn")]
        best = max(measured, key=lambda level: level.strength)
        reached = f"the best reaches {_share(best.strength)} with {counted(clusters_of(best), 'cluster')}"
        return lead, [Sentence(f"Halves of the points agree on no level: {reached}.", "warn")]
    best = held[-1]
    k = clusters_of(best)
    stay = f"halves of the points agree on them to {_share(best.strength)}"
    lead = f"{counted(k, 'cluster')} in {counted(n, 'point')}; {stay}."
    if k == 1:
        lead = f"One group of {counted(n, 'point')}: halves of the points agree on no finer division."
    said = [Sentence("This is the finest level that was looked at.")]
    finer = [level for level in measured if level.power > best.power]
    if finer:
        most = f"Looked at more closely there are up to {counted(clusters_of(finer[-1]), 'cluster')}"
        said = [Sentence(f"{most}, on which halves agree to {_share(finer[-1].strength)}.")]
    small = int((_sizes(best) < SMALL * n).sum())
    if small:
        said.append(Sentence(f"{counted(small, 'cluster')} of the {k:,} {'has' if small == 1 else 'have'} less than 1% of the points."))
    if shown.rhat > DOUBTFUL_RHAT:
        whose = f"The chains of the level with {counted(clusters_of(shown), 'cluster')}"
        said.append(Sentence(f"{whose} do not agree yet (R-hat {shown.rhat:.2f}): more draws may change it.", "warn"))
    return lead, said


def _sizes(level: Any) -> NDArray[np.intp]:
    return np.bincount(np.asarray(level.labels))


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.0f}%"


def _rhat(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "–"
