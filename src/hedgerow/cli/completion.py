"""hedgerow completion: a script for the shell that completes commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from hedgerow.cli.output import add_command, answers
from hedgerow.errors import ParameterError, need_extra

__all__ = ["add"]

SHELLS = ("bash", "zsh", "fish")
FILES = {"data", "out", "state", "words", "run_folder", "video"}
"""Arguments, by name, whose values are files or folders."""

EXAMPLES = """examples:
  hedgerow completion bash > ~/.local/share/bash-completion/completions/hedgerow
  hedgerow completion zsh > ~/.zsh/functions/_hedgerow      (a folder in your fpath)
  hedgerow completion fish > ~/.config/fish/completions/hedgerow.fish
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "completion",
        "print a script that completes commands and options in your shell",
        "Print a script with which a shell completes commands, options and files. Needs the extra `completion`.",
        EXAMPLES,
        run,
    )
    parser.add_argument("shell", choices=SHELLS, help="which shell")


def run(options: argparse.Namespace) -> None:
    """Print the script for the whole command line."""
    answers("completion")
    shtab = need_extra("shtab", "completion")
    if options.shell not in shtab.SUPPORTED_SHELLS:
        raise ParameterError(
            f"completion: shtab {shtab.__version__} knows nothing of {options.shell}. Update it with: pip install -U shtab"
        )
    from hedgerow.cli.command import build_parser  # the parser of all commands, of which this is one

    parser = build_parser()
    for one in _parsers(parser):
        for action in one._actions:
            if action.dest in FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, options.shell))


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _parsers(below)
