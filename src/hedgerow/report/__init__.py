"""The report: one offline HTML file about a clustering, from plain arrays (`payload`) to page (`page`)."""

from __future__ import annotations

from hedgerow.report.page import report_html, write_report
from hedgerow.report.payload import ReportPayload

__all__ = ["ReportPayload", "report_html", "write_report"]
