"""hedgerow demo: the main job on a built-in data set, told in plain words."""

from __future__ import annotations

import argparse
from typing import Any

from hedgerow.cli.output import Interrupted, add_command, path_argument, say
from hedgerow.cli.run_folder import Notes, RunFolder
from hedgerow.data import ring13
from hedgerow.likelihoods import GaussianWishart
from hedgerow.mixture import Mixture
from hedgerow.priors import NGG, Beta, Gamma
from hedgerow.sampling import sample
from hedgerow.summaries import ari

__all__ = ["add"]

EXAMPLES = """examples:
  hedgerow demo
  hedgerow demo --out /tmp/demo --seed 7
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "demo",
        "cluster a built-in data set and write a report",
        "Cluster 1,300 points in the plane that were made with 13 clusters, and say what was found.",
        EXAMPLES,
        run,
    )
    where = "folder for the files (default: %(default)s)"
    parser.add_argument("--out", type=path_argument, default="hedgerow-demo", metavar="DIR", help=where)
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="decides every draw (default: %(default)s)")


def run(arguments: argparse.Namespace) -> None:
    """Cluster the 13-cluster ring and tell about it."""
    folder = RunFolder.make(arguments.out)
    with folder.hold("demo"):
        folder.check_free(force=folder.status() is None)  # a demo is replaced, the run of somebody is not
        X, truth, _ = ring13(seed=0)
        say("1,300 points in the plane: twelve long clusters on a ring, one in the middle. Nobody tells the sampler that.")
        model = Mixture(NGG(alpha=Gamma(1, 1), sigma=Beta(1, 3)), GaussianWishart.nips2015())  # the data of that paper
        post = sample(model, X, draws=800, warmup=200, chains=4, seed=arguments.seed)
        folder.write(post, Notes("Thirteen clusters on a ring", "vi"))
    score = ari(post.point_estimate().labels, truth)
    same = "the same grouping" if score == 1 else "1 would be the same grouping, 0 chance"
    say(f"- Against the truth (13 clusters): adjusted Rand index {score:.3f}, {same}.")
    say(f"- That took {post.run['seconds']:.1f} seconds for {post.chains} chains of {post.draws} draws.")
    say()
    folder.tell_files()
    if post.run["interrupted"]:
        raise Interrupted("stopped; the draws made until then are in the files above")
