"""The report on a posterior over shards: points and trees of a sample of the rows, clusters, chains and the run of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hedgerow.arguments import check_names
from hedgerow.posterior import reporting
from hedgerow.posterior.access import View
from hedgerow.posterior.columns import shown_columns
from hedgerow.posterior.summarised import Summarised
from hedgerow.report import ReportPayload
from hedgerow.summaries.estimate import PointEstimate
from hedgerow.trees.reporting import place_points

__all__ = ["payload_of"]


def payload_of(
    whole: Summarised,
    found: PointEstimate,
    view: View,
    *,
    title: str,
    names: Sequence[str] | None,
    rows: Sequence[str] | None,
) -> ReportPayload:
    """Everything that the report shows; `view` holds the rows of which points and trees are."""
    check_names("report", "rows", rows, whole.n, "rows")
    sample, own = view.draws, view.of(found.labels)
    chosen = np.arange(whole.n) if view.rows is None else view.rows
    all_names = reporting.NumberedRows(whole.n) if rows is None else rows
    called = rows if len(chosen) == whole.n else [all_names[row] for row in chosen.tolist()]
    page = reporting.payload_of(sample, replace(found, labels=own), title=title, names=names, rows=called)
    X, columns = shown_columns(sample, names)
    doubt = np.clip(whole.uncertainty(found.labels).doubt, 0.0, 1.0)[chosen]
    notes = list(reporting.notes(whole))
    if len(chosen) < whole.n:
        notes.append(
            f"Points and trees are those of {len(chosen):,} of the {whole.n:,} rows, drawn at random within clusters; "
            f"clusters, their profiles and the chains are those of all rows."
        )
    profiles = whole.profiles(found.labels, names=names, rows=all_names, top=8)
    return replace(
        page,
        points=place_points(own, doubt, X, columns, called),
        draws=reporting.draws_part(whole, whole._labelled),
        profiles=reporting.profiles_part(profiles, columns, page.counts is not None),
        run=reporting.run_record(whole, (whole.n, sample.X.shape[1])),
        notes=notes,
        estimate=found.words,
    )
