"""The report: one offline HTML file about a clustering, from plain arrays (`payload`) to page (`page`)."""

from __future__ import annotations

from hedgerow.report.page import report_html, write_report
from hedgerow.report.payload import (
    ColumnsPart,
    CountsPart,
    DrawsPart,
    LevelPart,
    LevelsPart,
    PointsPart,
    Profile,
    ProfilesPart,
    ReportPayload,
    SimilarityPart,
    TreePart,
)

__all__ = [
    "ColumnsPart",
    "CountsPart",
    "DrawsPart",
    "LevelPart",
    "LevelsPart",
    "PointsPart",
    "Profile",
    "ProfilesPart",
    "ReportPayload",
    "SimilarityPart",
    "TreePart",
    "report_html",
    "write_report",
]
