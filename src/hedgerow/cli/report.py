"""hedgerow report: write the page of a run again, in its own words or in others."""

from __future__ import annotations

import argparse
from typing import Any

from hedgerow.cli.output import LOSSES, add_command, path_argument, read_title, say
from hedgerow.cli.run_folder import RUN_HELP, RunFolder
from hedgerow.cli.shard_files import add_whereabouts, load_any, with_rows
from hedgerow.errors import ParameterError

__all__ = ["add"]

EXAMPLES = """examples:
  hedgerow report flowers-run
  hedgerow report flowers-run --loss binder --out binder.html
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, "report", "write the HTML report of a run", "Write the report of a run as one offline HTML page.", EXAMPLES, run
    )
    parser.add_argument("run_folder", metavar="RUN", type=path_argument, help=RUN_HELP)
    parser.add_argument("--out", metavar="FILE", type=path_argument, help="the page (default: report.html in the run folder)")
    parser.add_argument("--loss", choices=LOSSES, help="what the clusters minimise (default: as in the fit)")
    add_whereabouts(parser)
    parser.add_argument("--title", help="title of the page (default: as in the fit)")


def run(options: argparse.Namespace) -> None:
    """Write the page again."""
    folder = RunFolder(options.run_folder)
    target = folder.report_target(options.out)
    post, lacking = with_rows(load_any(folder), options.shards)
    if lacking is not None:
        raise ParameterError(f"{folder.path}: {lacking}")
    title = read_title(options.title, folder.title_of(post))
    loss: Any = options.loss or folder.loss_of(post)
    say(f"Written: {post.report(target, title=title, loss=loss, rows=folder.row_names(post.n))}")
