"""Sections of docstrings that a family of functions shares, written once."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import TypeVar

__all__ = ["with_sections"]

F = TypeVar("F", bound=Callable[..., object])


def with_sections(sections: str) -> Callable[[F], F]:
    """Puts the sections between the text of a function's docstring and its example."""

    def put(function: F) -> F:
        text, sign, example = cleandoc(function.__doc__ or "").partition(">>> ")
        function.__doc__ = f"{text.rstrip()}\n\n{cleandoc(sections)}\n\n{sign}{example}"
        return function

    return put
