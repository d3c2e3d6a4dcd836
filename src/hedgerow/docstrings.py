"""Parameters and results that a family of functions shares, explained once and put into the docstring of each."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import TypeVar

__all__ = ["explained"]

F = TypeVar("F", bound=Callable[..., object])
PARAMETERS, RETURNS = "Parameters\n----------\n", "Returns\n-------\n"


def explained(parameters: str = "", returns: str = "") -> Callable[[F], F]:
    """Adds these to the parameters of a function, and the section on what it returns; its example stays last."""

    def put(function: F) -> F:
        text, sign, example = cleandoc(function.__doc__ or "").partition(">>> ")
        text = text.rstrip()
        if parameters:
            text += ("\n" if PARAMETERS in text else f"\n\n{PARAMETERS}") + cleandoc(parameters)
        if returns:
            text += f"\n\n{RETURNS}{cleandoc(returns)}"
        function.__doc__ = f"{text}\n\n{sign}{example}" if sign else text
        return function

    return put
