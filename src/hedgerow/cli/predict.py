"""hedgerow predict: put the rows of a file into the clusters of a run."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from hedgerow.cli.labels import SAFE_HELP, write_table
from hedgerow.cli.output import LOSSES, add_command, answers, path_argument, say
from hedgerow.cli.reading import add_data_arguments, read_source
from hedgerow.cli.run_folder import RUN_HELP, RunFolder
from hedgerow.cli.shard_files import load_any
from hedgerow.data.files import Dataset
from hedgerow.data.kinds import Reading
from hedgerow.data.tables import feature_names
from hedgerow.errors import ParameterError
from hedgerow.posterior import DistributedPosterior, Posterior
from hedgerow.writing import check_target, whole_file

__all__ = ["add"]

EXAMPLES = """examples:
  hedgerow predict flowers-run new.csv > labels.csv
  hedgerow predict flowers-run new.csv --proba --out probabilities.csv
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "predict",
        "put new rows into the clusters of a run",
        "For every row of a file: its most probable cluster (-1: none of them), how probable, and its log density.",
        EXAMPLES,
        run,
    )
    parser.add_argument("run_folder", metavar="RUN", type=path_argument, help=RUN_HELP)
    parser.add_argument("data", help="a file with the columns of the fit")
    parser.add_argument("--out", metavar="FILE", type=path_argument, help="where to write (default: standard output, in UTF-8)")
    parser.add_argument("--proba", action="store_true", help="the probability of every cluster instead")
    parser.add_argument("--loss", choices=LOSSES, help="which clusters (default: as in the fit)")
    parser.add_argument("--max-draws", type=int, metavar="N", default=200, help="use at most so many draws (default: %(default)s)")
    parser.add_argument("--safe-csv", action="store_true", help=SAFE_HELP)
    add_data_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """A line for each new row."""
    out = answers("predict") if options.out is None else None
    if out is None:
        check_target(options.out, "predict", "out")
    folder = RunFolder(options.run_folder)
    post = load_any(folder)
    reading = post.run.get("reading")
    source = read_source(options.data, options, like=Reading.from_json(reading) if isinstance(reading, str) else None)
    for note in source.notes:
        if note.startswith("taken for gaps"):
            print(f"hedgerow: {note}", file=sys.stderr)
    head, lines = _table(post, source, options.loss or folder.loss_of(post), options)
    if out is None:
        with whole_file(options.out, "predict") as file:
            write_table(file, head, lines, safe=options.safe_csv)
        say(f"Written: {options.out}, {source.X.shape[0]:,} rows.")
    elif hasattr(out, "buffer"):
        out.flush()
        write_table(out.buffer, head, lines, safe=options.safe_csv)
    else:  # a stream of text that somebody has put there
        made = io.BytesIO()
        write_table(made, head, lines, safe=options.safe_csv)
        out.write(made.getvalue().decode())


def _table(
    post: Posterior | DistributedPosterior, source: Dataset, loss: Any, options: argparse.Namespace
) -> tuple[list[str], Iterable[Any]]:
    """The head and the lines of the answer."""
    X = _columns_of_fit(post, source)
    found = post.point_estimate(loss)
    proba = post.predict_proba(X, partition=found.labels, times=source.times, max_draws=options.max_draws)
    rows = range(len(proba)) if source.rows is None else source.rows
    if options.proba:
        head = ["row", *(f"cluster_{k}" for k in range(found.n_clusters)), "none"]
        return head, ([row, *(f"{p:.6f}" for p in line)] for row, line in zip(rows, proba, strict=True))
    best = np.argmax(proba, axis=1)
    names = np.where(best == found.n_clusters, -1, best)
    density = post.log_density(X, times=source.times, max_draws=options.max_draws)
    lines = ([row, int(k), f"{p.max():.6f}", f"{d:.6f}"] for row, k, p, d in zip(rows, names, proba, density, strict=True))
    return ["row", "cluster", "probability", "log_density"], lines


def _columns_of_fit(post: Posterior | DistributedPosterior, source: Dataset) -> Any:
    """The new table with its columns as at the fit, found by name where both have names."""
    known = post.run.get("columns")
    if known is None or source.names is None or (post.model is not None and post.model.likelihood.picks_columns):
        return source.X
    lacking = [name for name in known if name not in source.names]
    if lacking:
        raise ParameterError(f"predict: the file must have the columns of the fit. It lacks {', '.join(lacking)}.")
    return source.X.select(list(known)) if feature_names(source.X) is not None else source.X
