"""hedgerow resume: go on with a run that was stopped or killed, or make a finished one longer."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import Any

from hedgerow.cli.labels import SAFE_HELP
from hedgerow.cli.output import LOSSES, add_command, path_argument, read_title, say
from hedgerow.cli.run_folder import STAGES, RunFolder, read_every
from hedgerow.sampling import Checkpoint, resume
from hedgerow.sampling.progress import whole_job

__all__ = ["add"]

EXAMPLES = """examples:
  hedgerow resume flowers-run
  hedgerow resume flowers-run --draws 5000
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "resume",
        "go on with a run that was stopped, or make one longer",
        "Go on with a run of `hedgerow fit`, however it ended, or with the folder of `sample(checkpoint=...)`. The draws are those "
        "of a run that was never interrupted.",
        EXAMPLES,
        run,
    )
    parser.add_argument("run_folder", metavar="RUN", type=path_argument, help="the run folder")
    parser.add_argument("--draws", type=int, metavar="N", help="more draws of each chain than were asked for before")
    parser.add_argument("--loss", choices=LOSSES, help="what the labels minimise (default: as in the fit)")
    parser.add_argument("--title", help="title of the report (default: as in the fit)")
    parser.add_argument("--checkpoint-every", type=float, metavar="SECONDS", help="how often states are kept (default: as needed)")
    parser.add_argument("--safe-csv", action="store_true", help=SAFE_HELP + "; kept if the fit had it")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def run(options: argparse.Namespace) -> None:
    """Find the checkpoint, draw what is missing, write, tell."""
    folder = RunFolder(options.run_folder)
    drawn, wanted = folder.check_begun()
    with folder.hold("resume"):
        before = folder.notes()
        title, loss = read_title(options.title, before.title), options.loss or before.loss
        notes = replace(before, title=title, loss=loss, safe_csv=before.safe_csv or options.safe_csv)
        say(f"{folder.path}: {drawn:,} of {wanted:,} draws are there.")
        quiet = False if options.quiet else None
        with whole_job(quiet, STAGES, lines=True):
            with folder.drawing(anew=False):
                kept = Checkpoint(
                    folder.checkpoint, every=read_every(options.checkpoint_every), note=asdict(notes) if notes != before else None
                )
                post = resume(kept, draws=options.draws, progress=quiet)
            folder.finish(post, notes, quiet)
