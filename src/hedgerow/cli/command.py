"""From the command line to a command: the parser, and what becomes of errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version

from hedgerow import _core
from hedgerow.cli import completion, demo, fit, levels, predict, report, resume, segment, stream, summary, tree
from hedgerow.cli.output import Interrupted, from_shell, open_streams
from hedgerow.errors import MissingExtraError, ParameterError

__all__ = ["build_parser", "main"]

COMMANDS = (demo, fit, levels, resume, summary, report, predict, tree, stream, segment, completion)
"""Modules with `add(subparsers)`, in the order of the help."""

TEXTS = ("title", "columns", "drop", "id", "times", "array", "prior", "likelihood", "kernel")
"""Options that are text and not the name of a file: what the shell sent is taken for UTF-8, whatever the locale."""

EXAMPLES = """examples:
  hedgerow demo                         cluster a built-in data set
  hedgerow fit flowers.csv              cluster a file; writes flowers-run
  hedgerow resume flowers-run           go on with a run that was stopped
  hedgerow summary flowers-run          say what was found
  hedgerow predict flowers-run new.csv  put new rows into the clusters
  hedgerow levels flowers.csv           cluster a file from coarse to fine
  hedgerow COMMAND --help               what a command does, with examples
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="hedgerow",
        description="Bayesian clustering: how many clusters, which rows in them, how sure that is.",
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
    open_streams()
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if not hasattr(arguments, "run"):
        parser.print_help(sys.stderr)
        return 2
    for name in TEXTS:
        if isinstance(given := getattr(arguments, name, None), str):
            setattr(arguments, name, from_shell(given))
    try:
        _check_environment()
        arguments.run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (ParameterError, MissingExtraError) as error:
        return _fail(str(error), 2)
    except Interrupted as error:
        return _fail(str(error), 130)
    except KeyboardInterrupt:
        return _fail("stopped; nothing was saved", 130)
    except BrokenPipeError:  # whoever read our output has gone (| head): that is no error of theirs
        _drop_output()
        return 0
    except MemoryError:
        return _fail("out of memory: use fewer rows, columns or draws", 1)
    except OSError as error:
        _drop_output()
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error), 1)
    return 0


def _drop_output() -> None:
    """What is still to be written cannot be: the interpreter must not try again when it ends."""
    with suppress(OSError, AttributeError, ValueError):
        sys.stdout.flush()
        return
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_environment() -> None:
    """Refuse an instruction set that there is not before the work rather than amid it."""
    try:
        _core.instruction_set()
    except ValueError as error:
        raise ParameterError(str(error)) from error


def _fail(message: str, code: int) -> int:
    with suppress(OSError):  # a closed pipe: the code must do
        print(f"hedgerow: {message}", file=sys.stderr)
    return code
