"""hedgerow levels: cluster the rows of a file from coarse to fine, and say how much of it is real."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hedgerow.cli.labels import SAFE_HELP, write_table
from hedgerow.cli.model import add_model_arguments, choose_with_copies, read_kernel
from hedgerow.cli.output import (
    PICTURES,
    Interrupted,
    add_command,
    check_picture,
    path_argument,
    read_title,
    say,
    text_of,
    write_picture,
)
from hedgerow.cli.reading import add_data_arguments, read_source
from hedgerow.errors import ParameterError
from hedgerow.report.levels import AGREED
from hedgerow.report.markup import counted
from hedgerow.resolution import Level, Levels, levels
from hedgerow.writing import check_target, whole_file

__all__ = ["add", "write_page"]

EXAMPLES = """examples:
  hedgerow levels flowers.csv
  hedgerow levels words.mtx --words vocabulary.txt --labels levels.csv
  hedgerow levels flowers.csv --about 5   and the level nearest to five clusters
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "levels",
        "cluster the rows of a file from coarse to fine",
        "Cluster the rows at a ladder of powers of the likelihood, from the posterior down to one cluster, and measure for each "
        "level how far two halves of the rows agree on its clusters. Finished levels go to one file as they are made; the same "
        "command with the same seed goes on with it after Ctrl-C, and hedgerow.load reads it.",
        EXAMPLES,
        run,
    )
    parser.add_argument("data", help="the file, or a folder of texts")
    parser.add_argument(
        "--out", metavar="FILE", type=path_argument, help="the file of levels (default: the name of the data with .levels)"
    )
    parser.add_argument("--report", metavar="FILE", type=path_argument, help="the page (default: the file of levels with .html)")
    parser.add_argument("--title", help="title of the page (default: the name of the data)")
    parser.add_argument("--force", action="store_true", help="replace a file of levels that is already there")
    parser.add_argument("--picture", metavar="FILE", type=path_argument, help=f"the flow from level to level ({', '.join(PICTURES)})")
    parser.add_argument("--labels", metavar="FILE", type=path_argument, help="the cluster of every row at every level, as csv")
    parser.add_argument("--safe-csv", action="store_true", help=SAFE_HELP)
    add_data_arguments(parser)
    add_model_arguments(parser)
    group = parser.add_argument_group("levels")
    group.add_argument("--powers", metavar="P,P,...", help="powers in (0, 1] (default: down by halves to one cluster, then between)")
    group.add_argument(
        "--levels", type=int, metavar="N", default=8, help="at most so many where powers are left out (default: %(default)s)"
    )
    group.add_argument("--about", type=int, metavar="K", help="look for a level with about so many clusters")
    group.add_argument("--draws", type=int, metavar="N", default=80, help="kept draws of each chain (default: %(default)s)")
    group.add_argument("--warmup", type=int, metavar="N", default=40, help="iterations before them (default: %(default)s)")
    group.add_argument("--chains", type=int, metavar="N", default=2, help="independent chains (default: %(default)s)")
    group.add_argument("--splits", type=int, metavar="N", default=3, help="ways of halving the rows, 0 for none (default: %(default)s)")
    group.add_argument("--seed", type=int, metavar="N", help="decides every draw (default: a new one, kept in the file)")
    group.add_argument("--kernel", metavar="CALL", help="how chains move, e.g. 'cycle(Gibbs(), SplitMerge())'")
    group.add_argument("--quiet", action="store_true", help="no progress bars")


def run(options: argparse.Namespace) -> None:
    """Read, guess, sample level by level, tell."""
    target = Path(options.out or f"{Path(options.data).name.partition('.')[0]}.levels")
    check_target(target, "levels", "out")
    page = Path(options.report or f"{target}.html")
    check_target(page, "report", "report")
    title = read_title(options.title, text_of(Path(options.data).name.partition(".")[0]))
    if options.picture is not None:
        check_picture(options.picture, "--picture")
    if options.force:
        target.unlink(missing_ok=True)
    source = read_source(options.data, options)
    n, width = source.X.shape
    say(f"{options.data}: {n:,} rows, {width:,} columns.")
    model, same = choose_with_copies(source, options.prior, options.likelihood)
    found = levels(
        model,
        source.X,
        _powers(options.powers),
        n_levels=options.levels,
        kernel=read_kernel(options.kernel),
        times=source.times,
        copies=same,
        **{name: getattr(options, name) for name in ("draws", "warmup", "chains", "splits", "seed")},
        checkpoint=target,
        progress=False if options.quiet else None,
    )
    say()
    if options.about is not None and not found.stopped:
        level = found.about(options.about, progress=False if options.quiet else None)
        found.save(target)
        say(f"Nearest to {options.about} clusters: {_told(level)}.")
    _tell(found)
    say(f"Written: {target}")
    say(f"Written: {write_page(found, page, title, source.names, source.rows)}")
    if options.picture is not None:
        write_picture(found.plot(), options.picture, "levels")
        say(f"Written: {options.picture}")
    if options.labels is not None:
        _write_labels(Path(options.labels), found, source.rows, options.safe_csv)
        say(f"Written: {options.labels}")
    if found.stopped:
        raise Interrupted(f"stopped; {counted(len(found), 'level')} finished; the same command goes on with {target}")


def _tell(found: Levels) -> None:
    agreed = [level for level in found if level.strength >= AGREED]
    if agreed:
        say(f"The finest level that halves of the rows agree on (strength {AGREED} or more): {_told(agreed[-1])}.")
    table = found.summary()
    note, table.note = table.note, ""  # wrapped rather than in one line
    print(table.text())
    say(note)


def _told(level: Level) -> str:
    clusters = f"{level.n_clusters} cluster{'' if level.n_clusters == 1 else 's'}"
    strength = "" if level.strength != level.strength else f", strength {level.strength:.2f}"
    return f"{clusters} at power {level.power:.3g}{strength}"


def _powers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ParameterError(f"--powers {text!r}: must be numbers with commas between them.") from error


def write_page(found: Levels, page: Path, title: str, names: Sequence[str] | None, rows: Sequence[str] | None) -> Path:
    """The page of all levels; `names` are those of the columns, where the model does not know them itself."""
    model = found[0].posterior.model
    known = model is None or model.likelihood.used_columns() is not None
    return found.report(page, title=title, names=None if known else names, rows=rows)


def _write_labels(path: Path, found: Levels, rows: Sequence[str] | None, safe: bool) -> None:
    """A column for each level, named by its power, from coarse to fine."""
    columns = [range(found[0].labels.size) if rows is None else rows, *(level.labels for level in found)]
    with whole_file(path) as file:
        names = ["row", *(f"power {level.power:.4g}" for level in found)]
        write_table(file, names, zip(*columns, strict=True), safe=safe, end="\r\n")
