"""Parameters and results that a family of functions shares, explained once and put into the docstring of each."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from textwrap import dedent
from typing import TypeVar

__all__ = ["explained"]

F = TypeVar("F", bound=Callable[..., object])
PARAMETERS, RETURNS = "Parameters\n----------\n", "Returns\n-------\n"


def explained(parameters: str = "", returns: str = "") -> Callable[[F], F]:
    """Adds these to the parameters of a function, and the section on what it returns; its example stays last.

    >>> def double(x):
    ...     "Twice a number."
    >>> print(explained("x : float", "float")(double).__doc__.splitlines()[0])
    Twice a number.
    """

    def put(function: F) -> F:
        text, sign, example = cleandoc(function.__doc__ or "").partition(">>> ")
        told, has_returns, result = text.rstrip().partition(f"\n\n{RETURNS}")
        if parameters:
            told += ("\n" if PARAMETERS in told else f"\n\n{PARAMETERS}") + dedent(parameters).strip()
        if has_returns or returns:
            told += f"\n\n{RETURNS}{result or dedent(returns).strip()}"
        function.__doc__ = f"{told}\n\n{sign}{example}" if sign else told
        return function

    return put
