"""hedgerow fit: cluster the rows of a file and write a run folder."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hedgerow.cli.fit_shards import add_shard_arguments, fit_shards
from hedgerow.cli.labels import SAFE_HELP, columns_of
from hedgerow.cli.model import add_model_arguments, choose_with_copies, read_kernel
from hedgerow.cli.output import DEFAULT_LOSS, LOSSES, add_command, path_argument, read_title, say, text_of
from hedgerow.cli.reading import add_data_arguments, read_source
from hedgerow.cli.run_folder import STAGES, Notes, RunFolder, read_every
from hedgerow.data.copies import Copies
from hedgerow.data.files import Dataset
from hedgerow.data.tables import take_rows
from hedgerow.errors import ParameterError, need_extra
from hedgerow.estimators.defaults import SOME_DRAWS, default_draws, default_warmup
from hedgerow.kernels import Kernel
from hedgerow.mixture import Mixture
from hedgerow.resolution import levels
from hedgerow.sampling import Agreement, Checkpoint, sample
from hedgerow.sampling.progress import whole_job

__all__ = ["add"]

MANY = 60  # clusters, more than anybody reads
EXAMPLES = """examples:
  hedgerow fit flowers.csv
  hedgerow fit flowers.csv --id plant --drop species --out flowers-run --seed 1
  hedgerow fit flowers.csv --about 5
  hedgerow fit articles/
  hedgerow fit posts.csv --text body --id title
  hedgerow fit words.mtx --words words.txt --likelihood 'Multinomial(beta=0.1)'
  hedgerow fit --shards 'part-*.parquet' --workers 4
  hedgerow fit people.parquet --prior 'NGG(alpha=Gamma(1, 1), sigma=Beta(1, 3))'
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "fit",
        "cluster the rows of a file and write a run folder",
        "Cluster the rows of a csv, tsv, parquet, npy, npz or mtx file. Prior and likelihood are guessed from the columns, "
        "the guesses and their reasons are printed, and every one of them can be overridden. Draws go to the disk as they are "
        "made: after a crash, a kill or Ctrl-C `hedgerow resume` goes on with the run.",
        EXAMPLES,
        run,
    )
    parser.add_argument(
        "data", nargs="?", help="the file, or a folder of texts; in npz files the array X or the only one, or a SciPy sparse matrix"
    )
    parser.add_argument("--out", metavar="DIR", type=path_argument, help="the run folder (default: the name of the file with -run)")
    parser.add_argument("--force", action="store_true", help="replace a run that is already in the folder")
    parser.add_argument("--title", help="title of the report (default: the name of the file)")
    add_shard_arguments(parser)
    add_data_arguments(parser)
    add_model_arguments(parser)
    coarse = parser.add_argument_group("resolution")
    choice = coarse.add_mutually_exclusive_group()
    choice.add_argument(
        "--power", type=float, metavar="P", help="raise the density of every row to it, for coarser clusters (default: 1)"
    )
    choice.add_argument("--about", type=int, metavar="K", help="look for the power that gives about so many clusters")
    coarse.add_argument("--levels", action="store_true", help="cluster from coarse to fine too, for a page with a slider (levels.html)")
    group = parser.add_argument_group("sampling")
    group.add_argument("--draws", type=int, metavar="N", help="kept draws of each chain (default: as many as it takes to agree)")
    group.add_argument("--warmup", type=int, metavar="N", help="iterations before them at most (default: 500, fewer for large tables)")
    group.add_argument("--rhat", type=float, metavar="R", default=1.05, help="agreed is an R-hat of at most (default: %(default)s)")
    group.add_argument("--ess", type=float, metavar="N", default=400, help="and so many effective draws (default: %(default)s)")
    group.add_argument(
        "--max-draws", type=int, metavar="N", help="but no more of each chain (default: 2000 for few rows to 20 for millions)"
    )
    group.add_argument("--max-seconds", type=float, metavar="S", help="and no longer than that")
    group.add_argument("--chains", type=int, metavar="N", default=4, help="chains (default: %(default)s)")
    group.add_argument("--independent", action="store_true", help="chains share nothing, not even where they set out")
    group.add_argument("--thin", type=int, metavar="N", default=1, help="keep every thin-th iteration (default: %(default)s)")
    group.add_argument("--seed", type=int, metavar="N", help="decides every draw (default: a new one, kept in the run record)")
    group.add_argument("--init", default="sequential", help="sequential, ibhc, rough, one or singletons (default: %(default)s)")
    group.add_argument("--kernel", metavar="CALL", help="how chains move, e.g. 'cycle(Gibbs(), SplitMerge())'")
    group.add_argument("--loss", choices=LOSSES, default=DEFAULT_LOSS, help="what the labels minimise (default: %(default)s)")
    group.add_argument(
        "--checkpoint-every", type=float, metavar="SECONDS", help="how often states are kept (default: 10, less often in long runs)"
    )
    group.add_argument("--with-columns", action="store_true", help="the columns of the data beside the labels")
    group.add_argument("--parquet", action="store_true", help="the labels as labels.parquet too")
    group.add_argument("--safe-csv", action="store_true", help=SAFE_HELP)
    group.add_argument("--quiet", action="store_true", help="no progress bars")
    parser.set_defaults(defaults=lambda: parser.parse_args([]))


def run(options: argparse.Namespace) -> None:
    """Read, guess, sample, write, tell."""
    if options.shards is not None:
        fit_shards(options, options.defaults())
        return
    _check(options)
    source = read_source(options.data, options)
    stem = Path(options.data).name.partition(".")[0]
    every = read_every(options.checkpoint_every)
    title = read_title(options.title, text_of(stem))
    most = Agreement.max_draws if options.max_draws is None else options.max_draws
    until = None if options.draws is not None else Agreement(options.rhat, options.ess, most, options.max_seconds)
    folder = RunFolder.make(options.out or f"{stem}-run")
    with folder.hold("fit"):
        folder.check_free(force=options.force)
        n, width = source.X.shape
        say(f"{options.data}: {n:,} rows, {width:,} columns.")
        for note in source.notes:
            say(f"- {note[:1].upper()}{note[1:]}.")
        model, same = choose_with_copies(source, options.prior, options.likelihood)
        rows = source.X if same is None else take_rows(source.X, same.kept)
        kernel = read_kernel(options.kernel)
        model, init = _at_resolution(model, source, kernel, options, same)
        length = default_draws(model, rows)
        if until is not None and options.max_draws is None:
            until = replace(until, max_draws=length)
        if length < SOME_DRAWS and options.draws is None:
            meanwhile = f"`hedgerow summary {folder.path}` says meanwhile what there is; Ctrl-C ends the run with that."
            say(f"Many rows: {length} draws of a chain at the most (--max-draws, --warmup and --draws for more). {meanwhile}")
        beside = columns_of(source) if options.with_columns else None
        reading = None if source.reading is None else source.reading.to_json()
        notes = Notes(
            title, options.loss, source.names, source.rows, options.safe_csv, beside, options.parquet, reading, options.levels
        )
        quiet = False if options.quiet else None
        with whole_job(quiet, STAGES, lines=True):
            with folder.drawing(anew=True) as begun:
                post = sample(
                    model,
                    source.X,
                    kernel=kernel,
                    init=init,
                    times=source.times,
                    copies=same,
                    warmup=default_warmup(model, rows) if options.warmup is None else options.warmup,
                    **{name: getattr(options, name) for name in ("draws", "chains", "thin", "seed", "independent")},
                    until=until,
                    callbacks=[begun],
                    progress=quiet,
                    checkpoint=Checkpoint(folder.checkpoint, every=every, replace=True, note=asdict(notes)),
                )
            folder.finish(post, notes, quiet)
        coarse = options.power is not None or options.about is not None or options.levels
        if not coarse and post.point_estimate(options.loss).n_clusters > MANY:
            say()
            say(f"Too many to read? `hedgerow levels {options.data}` goes from coarse to fine; `--about 10` fits about so many.")


def _check(options: argparse.Namespace) -> None:
    """Refuse before the work what has no meaning here, or cannot be written after it."""
    if options.data is None:
        raise ParameterError("fit: must be given a file, or --shards with a pattern of files.")
    for name in ("scheduler", "workers", "go_on"):
        if getattr(options, name):
            raise ParameterError(f"--{name.replace('_', '-')}: has no meaning without --shards.")
    if options.parquet:
        need_extra("pyarrow.parquet", "parquet")


def _at_resolution(
    model: Mixture, source: Dataset, kernel: Kernel | None, options: argparse.Namespace, same: Copies | None
) -> tuple[Mixture, Any]:
    """The model at the power asked for, or at the one that gives about so many clusters, and where its chains begin."""
    if options.power is not None:
        return replace(model, power=options.power), options.init
    if options.about is None:
        return model, options.init
    if options.about < 1:
        raise ParameterError(f"--about {options.about}: must be at least 1.")
    quiet = False if options.quiet else None
    found = levels(model, source.X, splits=0, kernel=kernel, times=source.times, seed=options.seed, progress=quiet, copies=same)
    level = found[0] if found.stopped else found.about(options.about, progress=quiet)
    if found.stopped:
        raise KeyboardInterrupt
    told = f"power {level.power:.3g} gives {level.n_clusters} (hedgerow levels says more)"
    say(f"Resolution: {options.about} clusters asked for; {told}.")
    return replace(model, power=level.power), level.labels
