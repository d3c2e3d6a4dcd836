"""Files of runs over shards: where the rows of a run are now, and a table of labels for every file of rows."""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hedgerow.cli.output import path_argument
from hedgerow.cli.run_folder import RunFolder
from hedgerow.data.container import kind_of
from hedgerow.distributed import DistributedPosterior, attach
from hedgerow.distributed.sources import files_of
from hedgerow.errors import ParameterError
from hedgerow.posterior import Posterior
from hedgerow.posterior.sharded_storage import KIND
from hedgerow.summaries.estimate import PointEstimate
from hedgerow.writing import write_text

__all__ = ["add_whereabouts", "load_any", "noted_shards", "with_rows", "write_shard_labels"]

NOTE = "shards"


def load_any(folder: RunFolder) -> Posterior | DistributedPosterior:
    """The posterior of a run that is done, over one file or over shards."""
    over_shards = folder.file.is_file() and kind_of(folder.file) == KIND
    return DistributedPosterior.load(folder.file) if over_shards else folder.load()


def add_whereabouts(parser: argparse.ArgumentParser) -> None:
    """The option that says where rows have gone since."""
    told = "where the files of a run over many files are now (default: where they were)"
    parser.add_argument("--shards", metavar="PATTERN", type=path_argument, help=told)


def noted_shards(pattern: str) -> dict[str, str]:
    """What the record of a run keeps of where its rows are."""
    return {NOTE: os.path.abspath(pattern)}


def with_rows(post: Posterior | DistributedPosterior, pattern: str | None) -> tuple[Posterior | DistributedPosterior, str | None]:
    """The posterior with its rows within reach; or as it is, and in words why not.

    A place that the user names must have the files. One that the run has noted may have lost them, and plain files only are read there:
    a run may come from a stranger.
    """
    if isinstance(post, Posterior):
        if pattern is not None:
            raise ParameterError(f"--shards {pattern}: has no meaning for a run over one file, which holds its rows.")
        return post, None
    if pattern is not None:
        return attach(post, pattern), None
    noted = post.run.get(NOTE)
    files = _plain_files(noted)
    if len(files) != len(post.shard_rows):
        there = f"{len(files)} of {len(post.shard_rows)} files are at {noted}" if isinstance(noted, str) else "it is not noted where"
        return post, f"The rows of this run are not where they were ({there}): --shards PATTERN says where they are now."
    return attach(post, files), None


def write_shard_labels(post: DistributedPosterior, found: PointEstimate, folder: Path, names: Sequence[str]) -> None:
    """For each file of rows a table of the same name: row by row its cluster, and how sure that is."""
    folder.mkdir(exist_ok=True)
    sure = post.uncertainty(found.labels).probability
    ends = np.cumsum(post.shard_rows)[:-1]
    stems = _stems(names)
    for stem, part, chances in zip(stems, np.split(found.labels, ends), np.split(sure, ends), strict=True):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["row", "cluster", "probability"])
        writer.writerows((i, *pair) for i, pair in enumerate(zip(part.tolist(), (f"{c:.4f}" for c in chances.tolist()), strict=True)))
        write_text(folder / f"{stem}.csv", text.getvalue(), "fit")


def _stems(names: Sequence[str]) -> list[str]:
    """Names of tables: those of the files, or numbers where two would be the same."""
    stems = [Path(name).stem for name in names]
    twice = any(count > 1 for count in Counter(stem.casefold() for stem in stems).values())
    return [f"shard-{number:05d}" for number in range(len(names))] if twice else stems


def _plain_files(place: object) -> list[str]:
    """The files that the pattern or folder of a run has, in the order of a fit."""
    try:
        return [path for path in files_of("fit", place) if os.path.isfile(path)] if isinstance(place, str) else []
    except ParameterError:
        return []
