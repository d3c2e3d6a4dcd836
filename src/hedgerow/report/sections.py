"""The sections of the page as HTML, one function each; what the payload lacks is left out."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.numerals import mean_and_spread
from hedgerow.report.pack import MOST_COLUMNS, MOST_POINTS, shown_columns
from hedgerow.report.payload import DrawsPart, ReportPayload
from hedgerow.report.wording import headline, quantity_verdict
from hedgerow.report.words import top_words

__all__ = ["Section", "escape", "sections_of"]

FIRST_CLUSTERS = 30
TABLE_COLUMNS = 6
AGREEMENT_HINT = (
    "R-hat near 1 means that the chains tell the same story; up to 1.01 is good. Effective draws are what "
    "the draws are worth as independent ones; 100 per chain is a sensible least."
)


@dataclass(frozen=True)
class Section:
    """Anchor, heading and body of a section."""

    key: str
    name: str
    body: str


def escape(text: object) -> str:
    """Any text made harmless inside HTML, in elements and attributes."""
    return html.escape(str(text), quote=True)


def sections_of(payload: ReportPayload, tree_frame: str) -> list[Section]:
    """The sections that this payload has; `tree_frame` is the HTML in which the tree is drawn."""
    sections = [Section("found", "What was found", _found(payload))]
    if payload.tree is not None:
        name = "Tree" if payload.points.plane is None else "Tree and points"
        sections.append(Section("explore", name, tree_frame + _scatter_and_panel(payload, "pair")))
    elif payload.points.plane is not None:
        sections.append(Section("explore", "Points", _scatter_and_panel(payload, "pair first")))
    sections.append(Section("clusters", "Clusters", _clusters(payload)))
    if payload.draws is not None:
        sections.append(Section("number", "How many clusters", _number(payload.draws)))
        if payload.draws.quantities:
            sections.append(Section("chains", "Do the chains agree?", _chains(payload.draws)))
    if payload.similarity is not None:
        sections.append(Section("together", "Who belongs together", _together(payload)))
    if payload.run:
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in payload.run.items())
        sections.append(Section("run", "Run record", f"<dl>{rows}</dl>"))
    return sections


def _found(payload: ReportPayload) -> str:
    lead, sentences = headline(payload)
    items = "".join(f'<li class="{said.tone}">{escape(said.text)}</li>' for said in sentences)
    return f'<p class="lead">{escape(lead)}</p>' + (f'<ul class="findings">{items}</ul>' if items else "")


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


def _clusters(payload: ReportPayload) -> str:
    """The table of clusters, largest first; the tail of many goes behind a fold."""
    labels = np.asarray(payload.points.labels, dtype=np.int64)
    sizes = np.bincount(labels)
    heads = ["cluster", "points", "share"]
    cells = [[f"{size:,}", f"{100 * size / len(labels):.1f}%"] for size in sizes]
    if payload.points.uncertainty is not None:
        heads.append("certainty")
        doubt = np.bincount(labels, weights=np.asarray(payload.points.uncertainty, dtype=np.float64)) / sizes
        for row, value in zip(cells, doubt, strict=True):
            row.append(f"{100 * (1 - value):.0f}%")
    hint = ""
    if payload.columns is not None:
        columns, added, hint = _column_cells(payload, labels)
        heads += columns
        cells = [row + more for row, more in zip(cells, added, strict=True)]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    words = None if payload.counts is None else top_words(payload.counts, labels)
    if words is not None:
        head += '<th scope="col" class="text">telling words</th>'
    rows = [_cluster_row(int(c), cells[c], None if words is None else words[c]) for c in np.argsort(-sizes, kind="stable")]
    table = _table(head, rows[:FIRST_CLUSTERS], "Clusters, largest first")
    if len(rows) > FIRST_CLUSTERS:
        rest = _table(head, rows[FIRST_CLUSTERS:], "Further clusters")
        summary = f"<summary>{len(rows) - FIRST_CLUSTERS:,} smaller clusters</summary>"
        table += f"<details>{summary}{rest}</details>"
    return table + hint


def _column_cells(payload: ReportPayload, labels: NDArray[np.int64]) -> tuple[list[str], list[list[str]], str]:
    """Names, cells (mean ± sd by cluster) and a hint for the columns that the table shows."""
    assert payload.columns is not None
    values = np.asarray(payload.columns.values, dtype=np.float64)
    shown = shown_columns(payload.columns, labels, TABLE_COLUMNS)
    cells = [[_spread(column) for column in values[labels == c][:, shown].T] for c in range(labels.max() + 1)]
    d = values.shape[1]
    said = "Columns: mean ± standard deviation."
    if d > TABLE_COLUMNS:
        said = f"Mean ± standard deviation of the {len(shown)} columns, of {d:,}, in which clusters differ most."
    if d > MOST_COLUMNS:
        said += f" The panel shows {MOST_COLUMNS}."
    return [str(payload.columns.names[j]) for j in shown], cells, _hint(said)


def _cluster_row(cluster: int, cells: Sequence[str], words: Sequence[str] | None) -> str:
    attributes = f'type="button" class="cluster" data-cluster="{cluster}" aria-pressed="false"'
    row = f'<th scope="row"><button {attributes} aria-label="Cluster {cluster}">{cluster}</button></th>'
    row += "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    if words is not None:
        row += f'<td class="text">{escape(", ".join(words))}</td>'
    return f"<tr>{row}</tr>"


def _number(draws: DrawsPart) -> str:
    chains, length = np.asarray(draws.n_clusters).shape
    said = "The bars count all draws" + (", the dots each chain alone." if chains > 1 else ".")
    said += f" {chains} × {length:,} draws."
    return f'{_legend(chains)}<div class="plot" id="counts"></div>{_hint(said)}'


def _chains(draws: DrawsPart) -> str:
    chains = np.asarray(draws.n_clusters).shape[0]
    plots = "".join(f'<h3>{escape(name)}</h3><div class="plot" data-trace="{i}"></div>' for i, name in enumerate(draws.quantities))
    return _agreement_table(draws, chains) + _legend(chains) + plots


def _agreement_table(draws: DrawsPart, chains: int) -> str:
    if not draws.rhat:
        return ""
    heads = ("quantity", "R-hat", "effective draws")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    rows = []
    for name, rhat in draws.rhat.items():
        verdict = quantity_verdict(draws, name)
        words = "one chain only" if chains == 1 else f"chains {verdict.text}"
        rows.append(
            f'<tr><th scope="row">{escape(name)}</th><td>{_figure(rhat, 3)}</td>'
            f"<td>{_figure(draws.ess.get(name), 0)}</td>"
            f'<td class="text">{escape(words)}</td></tr>'
        )
    head += '<th scope="col" class="text">in words</th>'
    return _table(head, rows, "Agreement of the chains") + _hint(AGREEMENT_HINT)


def _legend(chains: int) -> str:
    if chains == 1:
        return ""
    items = "".join(f'<span class="cluster" data-chain="{c}">chain {c}</span>' for c in range(chains))
    return f'<div class="legend">{items}</div>'


def _together(payload: ReportPayload) -> str:
    order = "in the order of the tree" if payload.tree is not None else "similar ones side by side"
    key = '<span class="key">never <span class="ramp similar"></span> always together</span>'
    return (
        f'<div class="tools">{key}</div><div class="plot" id="similarity"></div>'
        '<p class="hint" id="similarity-readout">'
        f"Probability that two points share a cluster; points {order}.</p>"
    )


def _table(head: str, rows: Iterable[str], label: str) -> str:
    """A table that scrolls sideways on narrow screens, reachable by keyboard for that."""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _hint(text: str) -> str:
    return f'<p class="hint">{escape(text)}</p>'


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None or not np.isfinite(value) else f"{value:,.{digits}f}"


def _spread(column: NDArray[np.float64]) -> str:
    """Mean ± sd of what is not missing."""
    seen = column[~np.isnan(column)]
    if not len(seen):
        return "–"
    return mean_and_spread(float(seen.mean()), float(seen.std(ddof=1)) if len(seen) > 1 else math.nan)
