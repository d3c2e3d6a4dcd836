"""hedgerow fit: cluster the rows of a file and write a run folder."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hedgerow.cli.model import add_model_arguments, choose_model, read_kernel
from hedgerow.cli.output import (
    LOSSES,
    RUN,
    Interrupted,
    add_command,
    make_folder,
    say,
    tell_files,
    tell_findings,
    write_pages,
)
from hedgerow.cli.reading import add_data_arguments, read_source
from hedgerow.errors import ParameterError
from hedgerow.posterior import Posterior
from hedgerow.sampling import sample

__all__ = ["add"]

EXAMPLES = """examples:
  hedgerow fit flowers.csv
  hedgerow fit flowers.csv --id plant --drop species --out flowers-run --seed 1
  hedgerow fit words.mtx --words vocabulary.txt --likelihood 'Multinomial(beta=0.1)'
  hedgerow fit people.parquet --prior 'PitmanYor(theta=Gamma(1, 1), sigma=Beta(1, 3))' --draws 2000
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "fit",
        "cluster the rows of a file and write a run folder",
        "Cluster the rows of a csv, tsv, parquet, npy, npz or mtx file. Prior and likelihood are guessed from the columns, "
        "the guesses and their reasons are printed, and every one of them can be overridden.",
        EXAMPLES,
        run,
    )
    parser.add_argument("data", help="the file; in npz files the array X or the only one, or a SciPy sparse matrix")
    parser.add_argument("--out", metavar="DIR", help="the run folder (default: the name of the file with -run)")
    parser.add_argument("--force", action="store_true", help="replace a run that is already in the folder")
    parser.add_argument("--title", help="title of the report (default: the name of the file)")
    add_data_arguments(parser)
    add_model_arguments(parser)
    group = parser.add_argument_group("sampling")
    group.add_argument("--draws", type=int, metavar="N", default=1000, help="kept draws of each chain (default: %(default)s)")
    group.add_argument("--warmup", type=int, metavar="N", default=500, help="iterations before them (default: %(default)s)")
    group.add_argument("--chains", type=int, metavar="N", default=4, help="independent chains (default: %(default)s)")
    group.add_argument("--thin", type=int, metavar="N", default=1, help="keep every thin-th iteration (default: %(default)s)")
    group.add_argument("--seed", type=int, metavar="N", help="decides every draw (default: a new one, kept in the run record)")
    group.add_argument("--init", default="sequential", help="first partition: sequential, one or singletons (default: %(default)s)")
    group.add_argument("--kernel", metavar="CALL", help="how chains move, e.g. 'cycle(Gibbs(), SplitMerge())'")
    group.add_argument("--loss", choices=LOSSES, default="vi", help="what the labels minimise (default: %(default)s)")
    group.add_argument("--quiet", action="store_true", help="no progress bars")


def run(options: argparse.Namespace) -> None:
    """Read, guess, sample, write, tell."""
    source = read_source(options.data, options)
    stem = Path(options.data).name.partition(".")[0]
    folder = make_folder(options.out or f"{stem}-run")
    if (folder / RUN).exists() and not options.force:
        raise ParameterError(f"--out {folder}: must not hold a run already (--force replaces it).")
    n, width = source.X.shape
    say(f"{options.data}: {n:,} rows, {width:,} columns.")
    model = choose_model(source, options.prior, options.likelihood)
    post = sample(
        model,
        source.X,
        kernel=read_kernel(options.kernel),
        draws=options.draws,
        warmup=options.warmup,
        chains=options.chains,
        seed=options.seed,
        init=options.init,
        thin=options.thin,
        times=source.times,
        progress=False if options.quiet else None,
    )
    if source.names is not None:
        post = replace(post, run={**post.run, "columns": source.names})
    if post.run["interrupted"]:
        print(f"Stopping: {post.draws:,} draws of {post.chains} chains are there and are being saved.", file=sys.stderr)
    finish(post, folder, options, source.rows, options.title or stem)


def finish(post: Posterior, folder: Path, options: argparse.Namespace, rows: list[str] | None, title: str) -> None:
    """Write the run folder and tell; whatever stops this after the run is saved, says so."""
    post.save(folder / RUN)
    try:
        write_pages(post, folder, title=title, loss=options.loss, rows=rows)
        say()
        tell_findings(post, options.loss)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped; the draws are saved in {folder / RUN}, labels and report may be missing") from None
    say(f"- Sampling took {post.run['seconds']:.1f} seconds; seed {post.run['seed']}.")
    say()
    tell_files(folder)
    if post.run["interrupted"]:
        raise Interrupted(f"stopped early; {post.draws:,} draws of {post.chains} chains are saved in {folder}")
