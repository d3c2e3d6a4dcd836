"""hedgerow resume: go on with a run that was stopped or killed, or make a finished one longer."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from hedgerow.cli.keeping import finish, hold, kept_whatever_happens, read_every, read_record, read_title
from hedgerow.cli.output import LOSSES, add_command, say
from hedgerow.cli.replacing import ASIDE, CHECKPOINT
from hedgerow.errors import ParameterError
from hedgerow.sampling import Checkpoint, resume, run_status

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
    parser.add_argument("run_folder", metavar="RUN", help="the run folder")
    parser.add_argument("--draws", type=int, metavar="N", help="more draws of each chain than were asked for before")
    parser.add_argument("--loss", choices=LOSSES, help="what the labels minimise (default: as in the fit)")
    parser.add_argument("--title", help="title of the report (default: as in the fit)")
    parser.add_argument("--checkpoint-every", type=float, metavar="SECONDS", help="how often states are kept (default: as needed)")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def run(options: argparse.Namespace) -> None:
    """Find the checkpoint, draw what is missing, write, tell."""
    folder = Path(options.run_folder)
    if (folder / ASIDE).is_dir():  # killed while it replaced another run: which of the two it is must be settled first
        with hold(folder, "resume"):
            pass
    place = folder / CHECKPOINT if run_status(folder) is None else folder
    status = run_status(place)
    if status is None:
        raise ParameterError(f"{folder}: must be the folder of a run that has begun, as `hedgerow fit` makes.")
    with hold(folder, "resume"):
        record = read_record(folder)
        record = replace(record, title=read_title(options.title, record.title), loss=options.loss or record.loss)
        say(f"{folder}: {status[0]:,} of {status[1]:,} draws are there.")
        with kept_whatever_happens(folder):
            post = resume(
                Checkpoint(place, every=read_every(options.checkpoint_every)),
                draws=options.draws,
                progress=False if options.quiet else None,
            )
        finish(post, folder, record)
