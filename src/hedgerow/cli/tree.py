"""hedgerow tree: a dendrogram of a file or a run as a picture, Newick text or a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hedgerow.cli.model import add_model_arguments, choose_model
from hedgerow.cli.output import PICTURES, add_command, check_picture, path_argument, say, text_of, write_picture
from hedgerow.cli.reading import add_data_arguments, read_source
from hedgerow.cli.run_folder import RUN, RunFolder
from hedgerow.cli.shard_files import load_any
from hedgerow.errors import ParameterError
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.trees import Forest, bhc, ibhc
from hedgerow.writing import check_target, write_text

__all__ = ["add"]

TEXTS = (".nwk", ".newick", ".tree")

EXAMPLES = """examples:
  hedgerow tree flowers.csv --id plant --drop species --out flowers.svg
  hedgerow tree flowers-run --out flowers.nwk
  hedgerow tree flowers-run --greedy --leaves 100 --out flowers.png
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "tree",
        "draw the dendrogram of a file or a run",
        "Build a tree by Bayesian hierarchical clustering, cut where joining stops paying, and write it as a picture (png, svg, "
        "pdf), as Newick text (nwk) or as a page to click through (html).",
        EXAMPLES,
        run,
    )
    parser.add_argument("data", help="a data file, or a run folder, whose data and model are then used")
    where = "png, svg, pdf, nwk or html (default: %(default)s)"
    parser.add_argument("--out", metavar="FILE", type=path_argument, default="tree.svg", help=where)
    parser.add_argument("--greedy", action="store_true", help="join the best pair first; the time grows with the rows squared")
    parser.add_argument("--passes", type=int, metavar="N", default=5, help="passes over the rows if not greedy (default: %(default)s)")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="decides the order of rows (default: %(default)s)")
    parser.add_argument("--leaves", type=int, metavar="N", default=60, help="most leaves and closed branches (default: %(default)s)")
    add_data_arguments(parser)
    add_model_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Read, build, write, tell."""
    target = Path(options.out)
    kind = target.suffix.lower()
    if kind not in (*PICTURES, *TEXTS, ".html"):
        raise ParameterError(f"--out {options.out}: must end in png, svg, pdf, nwk or html. Got {kind or 'no ending'!r}.")
    if kind in PICTURES:
        check_picture(target, "--out")
    check_target(target, "tree", "out")
    model, X, times, rows, names = _what(options)
    if options.greedy:
        forest = bhc(model, X, times=times, seed=options.seed)
    else:
        forest = ibhc(model, X, passes=options.passes, times=times, seed=options.seed)
    _write(forest, target, kind, options, X, rows, names)
    trees = "1 tree" if forest.n_clusters == 1 else f"{forest.n_clusters:,} trees"
    say(f"{forest.n:,} rows in {trees}, one for each cluster; log joint {forest.log_joint:,.1f}.")
    say(f"Written: {target}")


def _what(options: argparse.Namespace) -> tuple[Mixture, Any, Any, list[str] | None, list[str] | None]:
    """Model, data, times, and names of rows and columns: of a run, or of a file with a model for it."""
    if Path(options.data).is_dir() or options.data.endswith(RUN):
        if options.prior or options.likelihood:
            raise ParameterError(f"{options.data}: a run has its model already; give a data file with --prior or --likelihood.")
        folder = RunFolder(options.data)
        post = load_any(folder)
        if not isinstance(post, Posterior):
            raise ParameterError(f"{options.data}: must be a run over one file; `hedgerow.distributed.ibhc` grows trees over many.")
        if post.model is None:
            raise ParameterError(f"{options.data}: must be a run with a stored model. This one has functions in it.")
        return post.model, post.X, post.times, folder.row_names(post.n), None
    source = read_source(options.data, options)
    model = choose_model(source, options.prior, options.likelihood).resolve(source.X)
    return model, model.likelihood.check(source.X), source.times, source.rows, source.names


def _write(
    forest: Forest,
    target: Path,
    kind: str,
    options: argparse.Namespace,
    X: Any,
    rows: list[str] | None,
    names: list[str] | None,
) -> None:
    if kind in TEXTS:
        write_text(target, forest.to_newick(rows), "tree")
        return
    if kind == ".html":
        width = X.shape[1]
        forest.report(target, X, title=text_of(target.stem), rows=rows, names=names if names and len(names) == width else None)
        return
    write_picture(forest.plot(names=rows, max_leaves=options.leaves), target, "tree")
