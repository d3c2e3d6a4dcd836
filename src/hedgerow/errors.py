"""The house's one form of error: which parameter, what it must be, what it was.

>>> require(False, "NGG", "sigma", 1.2, "lie in [0, 1)")
Traceback (most recent call last):
    ...
hedgerow.errors.ParameterError: NGG(sigma=1.2): sigma must lie in [0, 1). Got 1.2.
"""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

__all__ = ["MissingExtraError", "ParameterError", "in_bytes", "moved", "need_extra", "require"]


class ParameterError(ValueError):
    """A parameter or a data set that the called object cannot accept.

    >>> import hedgerow as hr
    >>> try:
    ...     hr.NGG(sigma=1.2)
    ... except ParameterError as error:
    ...     print(error)
    NGG(sigma=1.2): sigma must lie in [0, 1). Got 1.2.
    """


class MissingExtraError(ImportError):
    """An optional dependency is needed for this call and is not installed.

    >>> try:
    ...     need_extra("no_such_module", "plot")
    ... except MissingExtraError as error:
    ...     print(error)
    This needs no_such_module, which is not installed. Install it with: pip install 'hedgerow[plot]'
    """


def require(condition: bool, owner: str, name: str, value: object, requirement: str) -> None:
    """Raise `ParameterError` in the house's form unless `condition` holds.

    `requirement` completes the sentence "<name> must ...".

    Parameters
    ----------
    condition : bool
    owner, name : str
        The object that asks, and the name of its parameter.
    value : object
        What was given.
    requirement : str

    >>> require(3 > 2, "DP", "alpha", 3, "be greater than 2")
    """
    if condition:
        return
    shown = _show(value)
    raise ParameterError(f"{owner}({name}={shown}): {name} must {requirement}. Got {shown}.")


def in_bytes(size: float) -> str:
    """An amount of memory in the unit that suits it.

    Parameters
    ----------
    size : float
        Bytes.

    Returns
    -------
    str

    >>> in_bytes(300), in_bytes(5_000_000), in_bytes(2**40)
    ('300 bytes', '4.8 MiB', '1,024.0 GiB')
    """
    for unit, length in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if round(1024 * size / length, 1) >= 1024:  # what would be 1,024.0 of the smaller unit is 1.0 of this one
            return f"{size / length:,.1f} {unit}"
    return f"{size:,.0f} bytes"


def need_extra(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    Parameters
    ----------
    module, extra : str

    Returns
    -------
    module

    >>> need_extra("math", "plot").pi > 3
    True
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"This needs {module.partition('.')[0]}, which is not installed. Install it with: pip install 'hedgerow[{extra}]'"
        ) from error


def _show(value: object) -> str:
    """A short text for any value; arrays by shape and type, never their contents."""
    shape = getattr(value, "shape", None)
    if shape is not None and shape != ():
        return f"<{type(value).__name__} of shape {tuple(shape)}, dtype {getattr(value, 'dtype', '?')}>"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def moved(module: str, name: str, place: str) -> object:
    """What a module's `__getattr__` answers for a name that stands in `place` now: the thing, with a warning for one version.

    Parameters
    ----------
    module, name, place : str
        Who was asked for what, and the module that has it.

    Returns
    -------
    object

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = moved("hedgerow.old", "require", "hedgerow.errors")
    >>> str(caught[0].message)
    'hedgerow.old.require is now hedgerow.errors.require.'
    """
    warnings.warn(f"{module}.{name} is now {place}.{name}.", FutureWarning, stacklevel=3)
    return getattr(importlib.import_module(place), name)
