"""The sections of the page as HTML, one function each; what the payload lacks is left out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hedgerow.report.clusters import clusters_body
from hedgerow.report.headline import headline
from hedgerow.report.levels import levels_body
from hedgerow.report.markup import escape, hint, table
from hedgerow.report.pack import MOST_POINTS
from hedgerow.report.payload import DrawsPart, ReportPayload
from hedgerow.summaries.verdicts import quantity_verdict

__all__ = ["Section", "sections_of"]

AGREEMENT_HINT = (
    "R-hat near 1 means that the chains tell the same story; up to 1.01 is good, or up to what the run was asked for. "
    "Effective draws are what the draws are worth as independent ones; 100 per chain is a sensible least."
)
LONG, BEGINNING = 400, 120  # letters of the run record


@dataclass(frozen=True)
class Section:
    """Anchor, heading and body of a section."""

    key: str
    name: str
    body: str


def sections_of(payload: ReportPayload, tree_frame: str) -> list[Section]:
    """The sections that this payload has; `tree_frame` is the HTML in which the tree is drawn."""
    sections = [Section("found", "What was found", _found(payload))]
    if payload.levels is not None:
        sections.append(Section("levels", "From coarse to fine", levels_body(payload.levels)))
    sections.append(Section("clusters", "Clusters", _clusters(payload)))
    if payload.tree is not None:
        name = "Tree" if payload.points.plane is None else "Tree and points"
        sections.append(Section("explore", name, tree_frame + _scatter_and_panel(payload, "pair")))
    elif payload.points.plane is not None:
        sections.append(Section("explore", "Points", _scatter_and_panel(payload, "pair first")))
    if payload.draws is not None:
        sections.append(Section("number", "How many clusters", _number(payload.draws)))
        if payload.draws.quantities:
            sections.append(Section("chains", "Do the chains agree?", _chains(payload.draws)))
    if payload.similarity is not None:
        sections.append(Section("together", "Who belongs together", _together(payload)))
    if payload.run:
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{_folded(str(text))}</dd>" for name, text in payload.run.items())
        sections.append(Section("run", "Run record", f"<dl>{rows}</dl>"))
    return sections


def _folded(text: str) -> str:
    """A text made harmless, the whole of a very long one behind its beginning."""
    if len(text) <= LONG:
        return escape(text)
    return f"<details><summary>{escape(text[:BEGINNING].rstrip())}…</summary>{escape(text)}</details>"


def _found(payload: ReportPayload) -> str:
    lead, sentences = headline(payload)
    items = "".join(f'<li class="{said.tone}">{escape(said.text)}</li>' for said in sentences)
    return f'<p class="lead">{escape(lead)}</p>' + (f'<ul class="findings">{items}</ul>' if items else "")


def _clusters(payload: ReportPayload) -> str:
    """The clusters of every level, of which the page shows one."""
    shown = 0 if payload.levels is None else payload.levels.shown
    return "".join(
        f'<div class="view" data-view="{at}"{"" if at == shown else " hidden"}>{clusters_body(view)}</div>'
        for at, view in enumerate(payload.views())
    )


def _scatter_and_panel(payload: ReportPayload, style: str) -> str:
    """The scatter, if there is one, beside the panel that shows what is selected."""
    scatter = ""
    if payload.points.plane is not None:
        n = len(np.asarray(payload.points.labels))
        said = ["Colour: cluster."]
        if payload.points.uncertainty is not None:
            said.append("Paler and larger points are less certain.")
        if payload.points.note:
            said.append(payload.points.note)
        if n > MOST_POINTS:
            said.append(f"A sample of {MOST_POINTS:,} of {n:,} points is drawn.")
        readout = f'<p class="hint" id="scatter-readout">{escape(" ".join(said))}</p>'
        scatter = f'<div><div class="plot" id="scatter"></div>{readout}</div>'
    return f'<div class="{style}">{scatter}<div id="panel" aria-live="polite"></div></div>'


def _number(draws: DrawsPart) -> str:
    chains, length = np.asarray(draws.n_clusters).shape
    said = "The bars count all draws" + (", the dots each chain alone." if chains > 1 else ".")
    said += f" {chains} × {length:,} draws."
    return f'{_legend(chains)}<div class="plot" id="counts"></div>{hint(said)}'


def _chains(draws: DrawsPart) -> str:
    chains = np.asarray(draws.n_clusters).shape[0]
    plots = "".join(f'<h3>{escape(name)}</h3><div class="plot" data-trace="{i}"></div>' for i, name in enumerate(draws.quantities))
    return _agreementtable(draws, chains) + _legend(chains) + plots


def _agreementtable(draws: DrawsPart, chains: int) -> str:
    if not draws.rhat:
        return ""
    heads = ("quantity", "R-hat", "effective draws")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    rows = []
    for name, rhat in draws.rhat.items():
        trace, effective = draws.quantities.get(name, draws.n_clusters), float(draws.ess.get(name, math.inf))
        verdict = quantity_verdict(trace, float(rhat), effective, draws.asked)
        words = "one chain only" if chains == 1 else f"chains {verdict.text}"
        rows.append(
            f'<tr><th scope="row">{escape(name)}</th><td>{_figure(rhat, 3)}</td>'
            f"<td>{_figure(draws.ess.get(name), 0)}</td>"
            f'<td class="text">{escape(words)}</td></tr>'
        )
    head += '<th scope="col" class="text">in words</th>'
    return table(head, rows, "Agreement of the chains") + hint(AGREEMENT_HINT)


def _legend(chains: int) -> str:
    if chains == 1:
        return ""
    items = "".join(f'<span class="cluster" data-chain="{c}">chain {c}</span>' for c in range(chains))
    return f'<div class="legend">{items}</div>'


def _together(payload: ReportPayload) -> str:
    order = "in the order of the tree" if payload.tree is not None else "similar ones side by side"
    how = "Probability that two points share a cluster"
    if payload.levels is not None:
        how = "Share of the draws in which two points share a cluster, all levels counted alike"
    key = '<span class="key">never <span class="ramp similar"></span> always together</span>'
    return (
        f'<div class="tools">{key}</div><div class="plot" id="similarity"></div>'
        '<p class="hint" id="similarity-readout">'
        f"{how}; points {order}.</p>"
    )


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None or not np.isfinite(value) else f"{value:,.{digits}f}"
