"""The words that the command line prints, and the streams that they go to."""

from __future__ import annotations

import argparse
import codecs
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hedgerow.errors import ParameterError, need_extra
from hedgerow.posterior import DistributedPosterior, Posterior
from hedgerow.posterior.reporting import findings
from hedgerow.summaries.distances import DEFAULT_LOSS, LOSSES, Loss
from hedgerow.writing import whole_path

__all__ = [
    "DEFAULT_LOSS",
    "LOSSES",
    "PICTURES",
    "Interrupted",
    "add_command",
    "answers",
    "check_picture",
    "from_shell",
    "line_width",
    "open_streams",
    "path_argument",
    "read_title",
    "say",
    "tell_files",
    "tell_findings",
    "text_of",
    "write_picture",
]

WIDEST = 96
PICTURES = (".png", ".svg", ".pdf")
SIGNS = {"±": "+-", "−": "-", "×": "x", "–": "-", "—": "-", "…": "...", "σ": "sigma", "α": "alpha"}
"""Signs of our own words, for streams whose encoding has not got them."""


class Interrupted(Exception):  # noqa: N818  not an error: the user asked for it
    """Ctrl-C, after what there was has been saved; the text says where."""


def add_command(
    commands: Any, name: str, short: str, long: str, examples: str, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    """A parser for one command, with its examples under the options."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=short,
        description=textwrap.fill(long, line_width()),
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def path_argument(text: str) -> str:
    """A path of the command line: an empty one is a variable that was never set, and must not mean something else."""
    if not text:
        raise argparse.ArgumentTypeError("must be a path; got an empty text")
    return text


def from_shell(text: str) -> str:
    """An argument as text in UTF-8, though the locale has other ideas; left as it is where its bytes are none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        with suppress(UnicodeError):
            return os.fsencode(text).decode()
    return text


def text_of(name: str) -> str:
    """The name of a file, which may be any bytes, as text that can be written anywhere."""
    return from_shell(name).encode("utf-8", "replace").decode()


def read_title(title: str | None, other: str) -> str:
    """The title asked for, or another; refused before the work if no file could hold it."""
    if title is None:
        return other
    try:
        title.encode()
    except UnicodeEncodeError as error:
        raise ParameterError(f"--title {title!r}: must be text in UTF-8. Got bytes that are none.") from error
    return title


def open_streams() -> None:
    """Make sure that words can be printed whatever the streams are like: no letter that an encoding lacks ends a command.

    Bytes of a file's name come out as they are, our own signs as others that every encoding has, and the rest as escapes. In
    the place of a stream that is closed there is nothing: a file opened later must not take its number and get its words.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    codecs.register_error("hedgerow", _nearest)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - or what is meant for it would go to standard output
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="hedgerow")


def _nearest(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter, end = error.object[error.start], error.start + 1
    if "\udc80" <= letter <= "\udcff":
        return bytes([ord(letter) - 0xDC00]), end
    return SIGNS.get(letter, letter.encode("ascii", "backslashreplace").decode()), end


def answers(command: str) -> TextIO:
    """Standard output, for a command whose answer goes there; refused where it is closed."""
    if sys.stdout is None:
        raise ParameterError(f"{command}: standard output must be open, for the answer goes there. Got one that is closed.")
    return sys.stdout


def line_width() -> int:
    """Characters of a line: those of the terminal, but no more than are read with ease; that many in a file too."""
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDEST
    return max(40, min(WIDEST, shutil.get_terminal_size().columns - 1))


def say(text: str = "", indent: int = 2) -> None:
    """Print a paragraph, wrapped where it is longer than a line, with so many spaces before what is left of it."""
    if len(text) <= line_width():
        print(text)
        return
    indent = min(indent, line_width() // 2)
    print(textwrap.fill(text, line_width(), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False))


def check_picture(path: str | os.PathLike[str], option: str) -> None:
    """Refuse, before the work, a picture that cannot be drawn."""
    if Path(path).suffix.lower() not in PICTURES:
        raise ParameterError(f"{option} {str(path)!r}: must end in {', '.join(PICTURES)}.")
    need_extra("matplotlib", "plot")


def write_picture(axes: Any, path: str | os.PathLike[str], owner: str) -> None:
    """The picture that axes are on, whole or not at all."""
    with whole_path(path, owner) as place:
        axes.figure.savefig(place, bbox_inches="tight", dpi=150, format=Path(path).suffix.lower()[1:])


def tell_files(files: Mapping[str, str]) -> None:
    """Say where the files are and what is in each, below its name where a line has no room for both."""
    say("Files:")
    width = max(map(len, files), default=0)
    beside = all(width + len(what) + 4 <= line_width() for what in files.values())
    for path, what in files.items():
        print(f"  {path:<{width}}  {what}" if beside else f"  {path}\n    {what}")


def tell_findings(post: Posterior | DistributedPosterior, loss: Loss = DEFAULT_LOSS) -> None:
    """Say what was found and how sure that is."""
    lead, sentences = findings(post, post.point_estimate(loss))
    say(lead)
    for sentence in sentences:
        say(f"- {sentence.text}")
    found = post.point_estimate(loss)
    if found.limits is not None:
        say(f"- The clusters are the {found.words}.")
    elif int(np.bincount(post.n_clusters.ravel()).argmax()) > found.n_clusters:
        say("- Single draws often set a few rows apart; the clusters counted above are what the draws agree on.")
