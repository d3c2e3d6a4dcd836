"""hedgerow summary: say what a run found, in words and tables or as JSON."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from hedgerow.cli.output import LOSSES, add_command, answers, line_width, path_argument, say, tell_findings
from hedgerow.cli.run_folder import RUN_HELP, RunFolder
from hedgerow.cli.shard_files import add_whereabouts, load_any, with_rows
from hedgerow.summaries.profiles import Profiles
from hedgerow.summaries.table import Table

__all__ = ["add"]

EXAMPLES = """examples:
  hedgerow summary flowers-run
  hedgerow summary flowers-run --json | jq .n_clusters
  watch hedgerow summary flowers-run        while it is still being drawn
"""
MOST_CLUSTERS = 30  # told one by one


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "summary",
        "say what a run found",
        "Say what was found and how sure it is, with the tables of chains and clusters. Of a run that "
        "is still going, what its draws so far say.",
        EXAMPLES,
        run,
    )
    parser.add_argument("run_folder", metavar="RUN", type=path_argument, help=RUN_HELP)
    parser.add_argument("--loss", choices=LOSSES, help="what the clusters minimise (default: as in the fit)")
    add_whereabouts(parser)
    parser.add_argument("--json", action="store_true", help="numbers for a program instead of words")


def run(options: argparse.Namespace) -> None:
    """Words and tables, or JSON."""
    answers("summary")
    folder = RunFolder(options.run_folder)
    unfinished = folder.unfinished()
    post, lacking = with_rows(folder.load_so_far() if unfinished is not None else load_any(folder), options.shards)
    if unfinished is not None and not options.json:
        stand = f"still warming up, and this is where {post.chains} of its chains stand" if post.run.get("warming") else "not done"
        say(f"The run is {stand}: {unfinished} are there so far.")
    loss = options.loss or folder.loss_of(post)
    found = post.point_estimate(loss)
    table = post.summary()
    if options.json:
        columns = {name: np.asarray(column).tolist() for name, column in table.items()}
        counts = np.unique(post.n_clusters, return_counts=True)
        shares = {str(k): int(count) / post.n_clusters.size for k, count in zip(*counts, strict=True)}
        sizes = np.bincount(found.labels).tolist()
        told = {
            "rows": post.n,
            "n_clusters": found.n_clusters,
            "sizes": sizes,
            "expected_loss": found.expected_loss,
            "posterior_of_n_clusters": shares,
            "quantities": columns,
            "run": dict(post.run),
        }
        print(json.dumps(told, allow_nan=False, default=str))
        return
    tell_findings(post, loss)
    say()
    print(Table(table, title=table.title).text(line_width()))  # without the verdict on the chains: it has been told
    say()
    if lacking is not None:
        say(f"What the clusters stand out by cannot be told. {lacking}")
        return
    _tell_clusters(post.profiles(found.labels))


def _tell_clusters(found: Profiles) -> None:
    """A line for each cluster: how large and how stable it is, and the columns or words that it stands out by."""
    table = found.clusters
    say(table.title)
    stands_out = "stands out by (mean ± sd)" if "mean" in table.parts else "telling words"
    room = max(4, len(str(table["size"].max())))
    say(f"cluster  {'size':>{room}}  share  stability  {stands_out}")
    for i in range(min(table.n_rows, MOST_CLUSTERS)):
        head = f"{table['cluster'][i]:>7}  {table['size'][i]:>{room}}  {_share(table['share'][i]):>5}  {table['stability'][i]:>9.3f}  "
        say(head + (str(table["name"][i]) or "nothing"), len(head))
    if table.n_rows > MOST_CLUSTERS:
        rest = int(table["size"][MOST_CLUSTERS:].sum())
        say(f"and {table.n_rows - MOST_CLUSTERS:,} smaller ones with {rest:,} points together")


def _share(share: float) -> str:
    return "<1%" if share < 0.005 else f"{share:.0%}"
