"""From the command line to a command: the parser, and what becomes of errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from hedgerow.cli import completion, demo, fit, look, resume, segment, stream, tree
from hedgerow.cli.output import Interrupted
from hedgerow.errors import MissingExtraError, ParameterError

__all__ = ["build_parser", "main"]

COMMANDS = (demo, fit, resume, look, tree, stream, segment, completion)
"""Modules with `add(subparsers)`, in the order of the help."""

EXAMPLES = """examples:
  hedgerow demo                                cluster a built-in data set
  hedgerow fit flowers.csv                     cluster a file; writes the folder flowers-run
  hedgerow resume flowers-run                  go on with a run that was stopped
  hedgerow summary flowers-run                 say what was found
  hedgerow predict flowers-run new.csv         put new rows into the clusters
  hedgerow COMMAND --help                      what a command does, with examples
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="hedgerow",
        description="Bayesian clustering: how many clusters, which rows are in them, and how sure that is.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hedgerow {version('hedgerow')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors of the house become one line on the error stream."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if not hasattr(arguments, "run"):
        parser.print_help(sys.stderr)
        return 2
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except (ParameterError, MissingExtraError) as error:
        return _fail(str(error), 2)
    except Interrupted as error:
        return _fail(str(error), 130)
    except KeyboardInterrupt:
        return _fail("stopped; nothing was saved", 130)
    except BrokenPipeError:  # whoever read our output has gone (| head): that is no error of theirs
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _fail("out of memory: use fewer rows, columns or draws", 1)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    return 0


def _fail(message: str, code: int) -> int:
    print(f"hedgerow: {message}", file=sys.stderr)
    return code
