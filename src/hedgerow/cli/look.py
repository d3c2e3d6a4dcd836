"""hedgerow summary, report and predict: what to do with a run folder once it is there."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.cli.keeping import unfinished
from hedgerow.cli.output import LABELS, LOSSES, REPORT, RUN, add_command, line_width, say, tell_findings
from hedgerow.cli.reading import add_data_arguments, read_source
from hedgerow.data.files import Dataset
from hedgerow.data.tables import feature_names
from hedgerow.errors import ParameterError
from hedgerow.posterior import Posterior, load
from hedgerow.report.sections import mean_and_spread
from hedgerow.summaries.table import Table

__all__ = ["add", "open_run", "row_names"]

SUMMARY = """examples:
  hedgerow summary flowers-run
  hedgerow summary flowers-run --json | jq .n_clusters
"""
REPORTS = """examples:
  hedgerow report flowers-run
  hedgerow report flowers-run --loss binder --out binder.html
"""
PREDICT = """examples:
  hedgerow predict flowers-run new.csv > labels.csv
  hedgerow predict flowers-run new.csv --proba --out probabilities.csv
"""
MOST_CLUSTERS = 30  # told one by one
RUN_HELP = "a run folder, or the file run.hedge in it"


def add(commands: Any) -> None:
    """Add the three commands to the parser."""
    told = add_command(
        commands,
        "summary",
        "say what a run found",
        "Say what was found and how sure it is, with the tables of chains and clusters.",
        SUMMARY,
        summary,
    )
    told.add_argument("run_folder", metavar="RUN", help=RUN_HELP)
    told.add_argument("--loss", choices=LOSSES, default="vi", help="what the clusters minimise (default: %(default)s)")
    told.add_argument("--json", action="store_true", help="numbers for a program instead of words")

    page = add_command(
        commands, "report", "write the HTML report of a run", "Write the report of a run as one offline HTML page.", REPORTS, report
    )
    page.add_argument("run_folder", metavar="RUN", help=RUN_HELP)
    page.add_argument("--out", metavar="FILE", help="the page (default: report.html in the run folder)")
    page.add_argument("--loss", choices=LOSSES, default="vi", help="what the clusters minimise (default: %(default)s)")
    page.add_argument("--title", help="title of the page (default: the name of the run folder, without -run)")

    new = add_command(
        commands,
        "predict",
        "put new rows into the clusters of a run",
        "For every row of a file: its most probable cluster (-1: none of them), how probable, and its log density.",
        PREDICT,
        predict,
    )
    new.add_argument("run_folder", metavar="RUN", help=RUN_HELP)
    new.add_argument("data", help="a file with the columns of the fit")
    new.add_argument("--out", metavar="FILE", help="where to write (default: standard output)")
    new.add_argument("--proba", action="store_true", help="the probability of every cluster instead")
    new.add_argument("--loss", choices=LOSSES, default="vi", help="which clusters (default: %(default)s)")
    new.add_argument("--max-draws", type=int, metavar="N", default=200, help="use at most so many draws (default: %(default)s)")
    add_data_arguments(new)


def open_run(path: str) -> tuple[Posterior, Path]:
    """The posterior of a run folder or file, and the folder."""
    place = Path(path)
    file = place / RUN if place.is_dir() else place
    if not file.is_file():
        begun = unfinished(place)
        if begun is not None:
            raise ParameterError(f"{path}: holds a run that is not done ({begun}). `hedgerow resume {path}` goes on with it.")
        raise ParameterError(f"{path}: must be a run folder with a {RUN} in it, as `hedgerow fit` writes.")
    return load(file), file.parent


def summary(options: argparse.Namespace) -> None:
    """Words and tables, or JSON."""
    post, _ = open_run(options.run_folder)
    found = post.point_estimate(options.loss)
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
    tell_findings(post, options.loss)
    say()
    print(Table(table, title=table.title).text(line_width()))  # without the verdict on the chains: it has been told
    say()
    _tell_clusters(post.cluster_table(found.labels))


def _tell_clusters(table: Table) -> None:
    """A line for each cluster: how large and how stable it is, and the columns or words that it stands out by."""
    names = table.parts.get("mean")
    say(table.title)
    stands_out = "stands out by (mean ± sd)" if names else "telling words"
    room = max(4, len(str(table["size"].max())))
    say(f"cluster  {'size':>{room}}  share  stability  {stands_out}")
    for i in range(min(table.n_rows, MOST_CLUSTERS)):
        told = str(table["top"][i])
        columns = told.split(", ")
        if names and all(name in names for name in columns):
            where = map(names.index, columns)
            told = ", ".join(_described(names[j], table["mean"][i, j], table["spread"][i, j]) for j in where)
        head = f"{table['cluster'][i]:>7}  {table['size'][i]:>{room}}  {table['share'][i]:>5.0%}  {table['stability'][i]:>9.3f}  "
        say(head + (told or "nothing"), len(head))
    if table.n_rows > MOST_CLUSTERS:
        rest = int(table["size"][MOST_CLUSTERS:].sum())
        say(f"and {table.n_rows - MOST_CLUSTERS:,} smaller ones with {rest:,} points together")


def _described(name: str, mean: float, spread: float) -> str:
    """A column of levels as a share, any other by mean and standard deviation."""
    if "=" in name and 0.0 <= mean <= 1.0:
        return f"{name} {mean:.0%}"
    return f"{name} {mean_and_spread(mean, spread)}"


def report(options: argparse.Namespace) -> None:
    """Write the page again."""
    post, folder = open_run(options.run_folder)
    target = Path(options.out) if options.out else folder / REPORT
    title = options.title or folder.resolve().name.removesuffix("-run")
    say(f"Written: {post.report(target, title=title, loss=options.loss, rows=row_names(folder, post.n))}")


def predict(options: argparse.Namespace) -> None:
    """A line for each new row."""
    post, _ = open_run(options.run_folder)
    source = read_source(options.data, options)
    X = _columns_of_fit(post, source)
    found = post.point_estimate(options.loss)
    proba = post.predict_proba(X, partition=found.labels, times=source.times, max_draws=options.max_draws)
    rows = range(len(proba)) if source.rows is None else source.rows
    if options.proba:
        head = ["row", *(f"cluster_{k}" for k in range(found.n_clusters)), "none"]
        lines: Iterable[Any] = ([row, *(f"{p:.6f}" for p in line)] for row, line in zip(rows, proba, strict=True))
    else:
        best = np.argmax(proba, axis=1)
        density = post.log_density(X, times=source.times, max_draws=options.max_draws)
        head = ["row", "cluster", "probability", "log_density"]
        names = np.where(best == found.n_clusters, -1, best)
        lines = ([row, int(k), f"{p.max():.6f}", f"{d:.6f}"] for row, k, p, d in zip(rows, names, proba, density, strict=True))
    if options.out is None:
        _write(sys.stdout, head, lines)
        return
    with open(options.out, "w", newline="", encoding="utf-8") as file:
        _write(file, head, lines)
    say(f"Written: {options.out}, {len(proba):,} rows.")


def _write(file: Any, head: list[str], lines: Iterable[Any]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)


def _columns_of_fit(post: Posterior, source: Dataset) -> Any:
    """The new table with its columns as at the fit, found by name where both have names."""
    known = post.run.get("columns")
    if known is None or source.names is None or (post.model is not None and post.model.likelihood.picks_columns):
        return source.X
    lacking = [name for name in known if name not in source.names]
    if lacking:
        raise ParameterError(f"predict: the file must have the columns of the fit. It lacks {', '.join(lacking)}.")
    return source.X.select(list(known)) if feature_names(source.X) is not None else source.X


def row_names(folder: Path, n: int) -> list[str] | None:
    """Names of rows from the labels beside the run, if they are names and not just numbers."""
    try:
        with open(folder / LABELS, newline="", encoding="utf-8") as file:
            names = [line["row"] for line in csv.DictReader(file)]
    except (OSError, KeyError, UnicodeDecodeError, csv.Error):
        return None
    return names if len(names) == n and names != [str(i) for i in range(n)] else None
