"""The section on clusters: each in words with small pictures, what separates them, any two side by side, all in a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.numerals import mean_and_spread, percent
from hedgerow.report.markup import breakable, escape, hint, table
from hedgerow.report.pack import FIRST_CARDS, MOST_COLUMNS, is_share, scatter_between
from hedgerow.report.payload import Profile, ProfilesPart, ReportPayload
from hedgerow.report.telling_words import top_words

__all__ = ["clusters_body"]

FIRST_CLUSTERS = 30
TABLE_COLUMNS = 6
MOST_TOLD = 12  # columns whose importance is shown
SMALL = 5  # points; clusters below are counted in one line rather than given a card each
ALL_THERE_IS = "It has all the points."
LIKE_THE_REST = "Nothing stands out: its rows are like the rest, column by column."
IMPORTANCE = (
    "Which columns tell the clusters apart: the share of each column's variance that lies between clusters. "
    "100% means that the cluster decides the value, 0% that clusters do not differ in it."
)


def clusters_body(payload: ReportPayload) -> str:
    """Profiles first, if there are any, then the table of all clusters."""
    part = payload.profiles
    if part is None:
        return _side_by_side(payload)
    body = _cards(payload, part)
    if part.importance and len(part.profiles) > 1:
        body += f"<h3>What separates them</h3>{_importance(part)}"
    if part.mean is not None and len(part.profiles) > 1:
        body += _comparison(part)
    return f"{body}<h3>All clusters</h3>{_side_by_side(payload)}"


def _cards(payload: ReportPayload, part: ProfilesPart) -> str:
    """A card for each of the largest clusters; the others stand in the table."""
    labels = np.asarray(payload.points.labels, dtype=np.int64)
    sizes = np.bincount(labels)
    doubt = payload.points.uncertainty
    sure = None if doubt is None else 1.0 - np.bincount(labels, weights=np.asarray(doubt, dtype=np.float64)) / sizes
    large = [profile for profile in part.profiles if sizes[profile.cluster] >= SMALL] or list(part.profiles)
    chosen = large[:FIRST_CARDS]
    cards = []
    shares = _Shares(payload, labels)
    for profile in chosen:
        size = int(sizes[profile.cluster])
        told = f"{size:,} {'point' if size == 1 else 'points'}, {100 * size / len(labels):.1f}%"
        if sure is not None:
            told += f"; mean certainty {percent(sure[profile.cluster])}"
        cards.append(_card(profile, told, shares))
    more = len(part.profiles) - len(chosen)
    rest = hint(f"{more:,} smaller {'cluster stands' if more == 1 else 'clusters stand'} in the table below.") if more else ""
    return f'<div class="cards">{"".join(cards)}</div>{rest}'


class _Shares:
    """The shares of rows that have a level, in a cluster and in all."""

    def __init__(self, payload: ReportPayload, labels: NDArray[np.int64]) -> None:
        self.labels = labels
        part = payload.columns
        self.values = None if part is None else np.asarray(part.values, dtype=np.float64)
        self.places = {} if part is None else {str(name): j for j, name in enumerate(part.names)}

    def of(self, column: str, cluster: int) -> tuple[float, float] | None:
        """Of a column such as "sex=male"; None of others."""
        if self.values is None or column not in self.places:
            return None
        values = self.values[:, self.places[column]]
        seen = ~np.isnan(values)
        here = values[seen & (self.labels == cluster)]
        return (float(here.mean()), float(values[seen].mean())) if len(here) and is_share(values) else None


def _card(profile: Profile, told: str, shares: _Shares) -> str:
    rows = [_fact_row(profile.cluster, *fact, shares.of(fact[0], profile.cluster)) for fact in profile.facts]
    body = f'<ul class="facts">{"".join(rows)}</ul>' if rows else ""
    if profile.words:
        body = f'<p class="words">{escape(profile.words)}</p>'
    elif not rows:
        body = f"<p>{ALL_THERE_IS if (shares.labels == profile.cluster).all() else LIKE_THE_REST}</p>"
    doubtful = "" if profile.doubtful == profile.typical else profile.doubtful
    looked = [f"{word} {escape(row)}" for word, row in (("typical", profile.typical), ("most doubtful", doubtful)) if row]
    foot = f'<p class="hint words">Rows to look at: {"; ".join(looked)}.</p>' if looked else ""
    head = _button(profile.cluster, f"Cluster {profile.cluster}")
    return f'<article class="card"><h3>{head}</h3><p class="hint">{told}</p>{body}{foot}</article>'


def _fact_row(cluster: int, column: str, text: str, direction: str, shares: tuple[float, float] | None) -> str:
    """A column, what it holds here, where that lies, and a place for its strip, with what the script draws of a level."""
    told = f"{breakable(column)} <b>{escape(text.removeprefix(column).strip())}</b>" + (f" <em>{direction}</em>" if direction else "")
    level = "" if shares is None else f' data-here="{shares[0]:.4g}" data-all="{shares[1]:.4g}"'
    return f'<li><span>{told}</span><span class="strip" data-cluster="{cluster}" data-column="{escape(column)}"{level}></span></li>'


def _importance(part: ProfilesPart) -> str:
    rows = "".join(
        f'<li><span>{breakable(name)}</span><meter min="0" max="1" value="{share:.3f}" aria-label="{escape(name)}"></meter>'
        f"<span>{percent(share)}</span></li>"
        for name, share in part.importance[:MOST_TOLD]
    )
    left = len(part.importance) - MOST_TOLD
    said = IMPORTANCE + (f" {left:,} further columns tell less." if left > 0 else "")
    return f'<ul class="importance">{rows}</ul>{hint(said)}'


def _comparison(part: ProfilesPart) -> str:
    """Two choices and a place for the table, which the script fills."""

    def choice(name: str, label: str, at: int) -> str:
        options = "".join(
            f'<option value="{i}"{" selected" if i == at else ""}>cluster {profile.cluster}</option>'
            for i, profile in enumerate(part.profiles[:FIRST_CLUSTERS])
        )
        return f'<label>{label} <select class="{name}">{options}</select></label>'

    choices = choice("compare-a", "Compare", 0) + choice("compare-b", "with", 1)
    return f'<h3>Any two side by side</h3><div class="tools">{choices}</div><div class="comparison" aria-live="polite"></div>'


def _side_by_side(payload: ReportPayload) -> str:
    """The table of clusters, largest first; the tail of many goes behind a fold."""
    labels = np.asarray(payload.points.labels, dtype=np.int64)
    sizes = np.bincount(labels)
    heads = ["cluster", "points", "share"]
    cells = [[f"{size:,}", f"{100 * size / len(labels):.1f}%"] for size in sizes]
    if payload.points.uncertainty is not None:
        heads.append("certainty")
        doubt = np.bincount(labels, weights=np.asarray(payload.points.uncertainty, dtype=np.float64)) / sizes
        for row, value in zip(cells, doubt, strict=True):
            row.append(percent(1 - value))
    said = ""
    if payload.columns is not None:
        columns, added, said = _column_cells(payload, labels)
        heads += columns
        cells = [row + more for row, more in zip(cells, added, strict=True)]
    head = "".join(f'<th scope="col">{breakable(name)}</th>' for name in heads)
    words = None if payload.counts is None else top_words(payload.counts, labels)
    if words is not None:
        head += '<th scope="col" class="text">telling words</th>'
    rows = [_cluster_row(int(c), cells[c], None if words is None else words[c]) for c in np.argsort(-sizes, kind="stable")]
    shown = table(head, rows[:FIRST_CLUSTERS], "Clusters, largest first")
    if len(rows) > FIRST_CLUSTERS:
        rest = table(head, rows[FIRST_CLUSTERS:], "Further clusters")
        summary = f"<summary>{len(rows) - FIRST_CLUSTERS:,} smaller clusters</summary>"
        shown += f"<details>{summary}{rest}</details>"
    return shown + said


def _column_cells(payload: ReportPayload, labels: NDArray[np.int64]) -> tuple[list[str], list[list[str]], str]:
    """Names, cells by cluster and a hint for the columns that the table shows: those in which clusters differ most.

    Levels of one column ("sea=Baltic", "sea=Black") are one column here, with the level that most rows have.
    """
    assert payload.columns is not None
    values = np.asarray(payload.columns.values, dtype=np.float64)
    groups = _grouped([str(name) for name in payload.columns.names], values)
    chosen = groups
    if len(groups) > TABLE_COLUMNS:
        between, whole = scatter_between(payload.columns, labels)
        differ = [_ratio(between[group.places].sum(), whole[group.places].sum()) for group in groups]
        chosen = [groups[g] for g in sorted(np.argsort(-np.array(differ), kind="stable")[:TABLE_COLUMNS])]
    cells = []
    for c in range(labels.max() + 1):
        here = values[labels == c]
        cells.append([_cell(here[:, group.places], group) for group in chosen])
    said = "Columns: mean ± standard deviation"
    if len(groups) > TABLE_COLUMNS:
        said = f"Mean ± standard deviation of the {len(chosen)} columns, of {len(groups):,}, in which clusters differ most"
    if any(group.share and group.levels == [""] for group in chosen):
        said += ", of zeros and ones the share of ones"
    said += "; of names the one that most rows have." if any(len(group.places) > 1 for group in chosen) else "."
    if values.shape[1] > MOST_COLUMNS:
        said += f" The panel shows {MOST_COLUMNS}."
    return [group.name for group in chosen], cells, hint(said)


class _Group(NamedTuple):
    """A column of the table: one of the data, or all the levels of one."""

    name: str
    places: list[int]
    levels: list[str]
    share: bool


def _grouped(names: Sequence[str], values: NDArray[np.float64]) -> list[_Group]:
    """Columns with their places; the levels of one column go together under its name, a single one keeps its own."""
    found: dict[str, list[int]] = {}
    shares = [is_share(column) for column in values.T]
    for j, name in enumerate(names):
        found.setdefault(name.partition("=")[0] + "=" if shares[j] and "=" in name else f"{j} {name}", []).append(j)
    groups = []
    for places in found.values():
        name, _, _ = names[places[0]].partition("=") if len(places) > 1 else (names[places[0]], "", "")
        groups.append(_Group(name, places, [names[j].partition("=")[2] for j in places], shares[places[0]]))
    return groups


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _cluster_row(cluster: int, cells: Sequence[str], words: Sequence[str] | None) -> str:
    row = f'<th scope="row">{_button(cluster, str(cluster))}</th>'
    row += "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    if words is not None:
        row += f'<td class="text">{escape(", ".join(words))}</td>'
    return f"<tr>{row}</tr>"


def _button(cluster: int, text: str) -> str:
    """The button that chooses a cluster everywhere on the page."""
    attributes = f'type="button" class="cluster" data-cluster="{cluster}" aria-pressed="false"'
    return f'<button {attributes} aria-label="Cluster {cluster}">{escape(text)}</button>'


def _cell(values: NDArray[np.float64], group: _Group) -> str:
    """Mean ± sd of what is not missing; of yes and no its share; of several levels the one that most rows have."""
    seen = values[~np.isnan(values).any(axis=1)]
    if not len(seen):
        return "–"
    if len(group.places) > 1:
        shares = seen.mean(axis=0)
        most = int(shares.argmax())
        return f"{group.levels[most]} {percent(float(shares[most]))}" if shares[most] > 0 else "–"
    if group.share:
        return percent(float(seen.mean()))
    return mean_and_spread(float(seen.mean()), float(seen.std()) if len(seen) > 1 else math.nan)
