"""hedgerow fit --shards: cluster the rows of many files, on the workers of a Dask cluster or in this process."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hedgerow.cli.model import read_likelihood, read_prior, tell_proposal
from hedgerow.cli.output import say, tell_files, tell_findings
from hedgerow.cli.reading import read_kinds
from hedgerow.cli.run_folder import FILES as RUN_FILES
from hedgerow.cli.run_folder import PROFILES, REPORT, RUN, RunFolder, make_folder, read_every, refuse_links
from hedgerow.cli.shard_files import noted_shards, write_shard_labels
from hedgerow.distributed import DistributedPosterior, propose, resume, sample
from hedgerow.distributed.sources import files_of
from hedgerow.errors import ParameterError, need_extra
from hedgerow.mixture import Mixture
from hedgerow.sampling import Checkpoint, Update

__all__ = ["add_shard_arguments", "fit_shards"]

DRAWS, WARMUP = 200, 100
SETTLED = ("column", "drop", "prior", "likelihood", "warmup", "chains", "thin", "seed")
"""What a run that goes on has been told already."""
KNOWN = (
    *("run", "defaults", "command", "shards", "scheduler", "workers", "go_on", "out", "title", "draws", "loss"),
    *("checkpoint_every", "quiet", *SETTLED),
)
LABELS, CHECKPOINT = "labels", "checkpoint"
FILES = {name: RUN_FILES[name] for name in (REPORT, PROFILES, RUN)} | {LABELS: "the cluster of every row, a table for each file"}


def add_shard_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of runs over many files."""
    group = parser.add_argument_group("many files")
    group.add_argument("--shards", metavar="PATTERN", help="cluster the rows of all these files together, e.g. 'part-*.parquet'")
    group.add_argument("--scheduler", metavar="ADDRESS", help="on the workers of this Dask cluster, e.g. tcp://10.0.0.1:8786")
    group.add_argument("--workers", type=int, metavar="N", help="on so many worker processes of this machine")
    group.add_argument("--go-on", action="store_true", help="go on with the run in the folder, to the draws that it would have given")


def fit_shards(options: argparse.Namespace, defaults: argparse.Namespace) -> None:
    """Propose, sample, write, tell."""
    _check(options, defaults)
    stem = Path(options.shards).name.partition("*")[0].strip("-_. ") or "shards"
    folder = make_folder(options.out or f"{stem}-run")
    refuse_links(folder, (RUN, REPORT, PROFILES, LABELS, CHECKPOINT))
    begun = RunFolder(folder).over_shards()
    if not begun and ((folder / RUN).exists() or RunFolder(folder).status() is not None):
        raise ParameterError(f"--out {folder}: must not hold another run already. Name another folder.")
    if begun and not options.go_on:
        raise ParameterError(f"{folder}: holds a run over shards already. --go-on goes on with it; --out names another folder.")
    if options.go_on and not begun:
        raise ParameterError(f"{folder}: must hold a run over shards that has begun, for --go-on.")
    checkpoint = Checkpoint(str(folder / CHECKPOINT), every=read_every(options.checkpoint_every))
    with _client(options) as client:
        callbacks = [] if options.quiet else [_Told()]
        if begun:
            post = resume(checkpoint, options.shards, draws=options.draws, client=client, callbacks=callbacks)
        else:
            post = _begin(options, client, checkpoint, callbacks)
        _write(post, folder, options, stem)


class _Told:
    """A line on the error stream now and then; called with an `Update`."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, update: Update) -> None:
        now = time.monotonic()
        if now >= self._next or update.done == update.total:
            self._next = now + 10.0
            told = f"chain {update.chain}: iteration {update.done:,} of {update.total:,}, {update.n_clusters:,} clusters"
            print(f"{told}, log joint {update.log_joint:,.1f}", file=sys.stderr, flush=True)


def _begin(options: argparse.Namespace, client: Any, checkpoint: Checkpoint, callbacks: list[Any]) -> DistributedPosterior:
    dropped = dict.fromkeys(filter(None, (options.drop or "").split(",")), "drop")
    law = None if options.prior is None else read_prior(options.prior)
    proposal = propose(options.shards, read_kinds(options.column) | dropped, prior=law, client=client)
    say(f"{options.shards}: {proposal.rows:,} rows. Looked at: {proposal.X.shape[0]:,} of them, and what tells of each column.")
    say(f"Prior: {proposal.mixture.prior}.")
    model = proposal.mixture
    if options.likelihood is not None:
        model = Mixture(model.prior, read_likelihood(options.likelihood)).resolve(proposal.X)
        say(f"Likelihood: {options.likelihood.strip()}, what it leaves open taken from the rows looked at.")
    else:
        say("Likelihood (--likelihood changes it):")
        tell_proposal(proposal.explained())
    return sample(
        model,
        options.shards,
        reading=proposal.reading,
        client=client,
        draws=options.draws or DRAWS,
        warmup=WARMUP if options.warmup is None else options.warmup,
        chains=options.chains,
        thin=options.thin,
        seed=options.seed,
        checkpoint=checkpoint,
        callbacks=callbacks,
    )


def _check(options: argparse.Namespace, defaults: argparse.Namespace) -> None:
    """Refuse what has no meaning here rather than pass over it."""
    for name, value in vars(options).items():
        if options.go_on and name in SETTLED and value != getattr(defaults, name):
            raise ParameterError(f"--{name}: must be left out with --go-on: the run has it.")
        if name not in KNOWN and value != getattr(defaults, name, value):
            raise ParameterError(f"--{name.replace('_', '-')}: has no meaning with --shards.")
    if options.data is not None:
        raise ParameterError(f"{options.data}: must be left out with --shards, which names the files.")
    if options.scheduler is not None and options.workers is not None:
        raise ParameterError("--workers: must be left out with --scheduler, whose workers there are already.")
    if options.workers is not None and options.workers < 1:
        raise ParameterError(f"--workers {options.workers}: must be at least 1.")


@contextmanager
def _client(options: argparse.Namespace) -> Iterator[Any]:
    """The cluster asked for; None for this process."""
    if options.scheduler is None and options.workers is None:
        yield None
        return
    distributed = need_extra("distributed", "dask")
    if options.scheduler is not None:
        with distributed.Client(options.scheduler, timeout=30) as client:
            yield client
        return
    made = {"n_workers": options.workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**made) as cluster, distributed.Client(cluster) as client:
        yield client


def _write(post: DistributedPosterior, folder: Path, options: argparse.Namespace, stem: str) -> None:
    """The draws, the page, the clusters, and a table of labels for each shard that has rows."""
    noted = noted_shards(options.shards) | {"title": options.title or stem, "loss": options.loss}
    post = replace(post, run={**post.run, **noted})
    found = post.point_estimate(options.loss)
    post.save(folder / RUN)
    post.report(folder / REPORT, title=noted["title"], loss=options.loss)
    post.profiles(found.labels).to_csv(folder / PROFILES)
    write_shard_labels(post, found, folder / LABELS, files_of("fit", options.shards))
    say()
    tell_findings(post, options.loss)
    say(f"- Sampling took {post.run['seconds']:.1f} seconds; seed {post.run['seed']}.")
    say()
    tell_files({str(folder / name): what for name, what in FILES.items()})
    if post.run["interrupted"]:
        say(f"The run was stopped early: the same command with --go-on goes on with it ({folder}).")
