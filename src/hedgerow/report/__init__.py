"""The report: one offline HTML file about a clustering, from plain arrays (`payload`) to page (`page`)."""

from __future__ import annotations

from hedgerow.errors import moved
from hedgerow.report import payload
from hedgerow.report.page import report_html, write_report
from hedgerow.report.payload import ReportPayload

__all__ = ["ReportPayload", "report_html", "write_report"]


def __getattr__(name: str) -> object:
    """The parts of a page, which were here in 0.1."""
    if name in payload.__all__:
        return moved(__name__, name, payload.__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
