"""Every public name says what it takes, what it gives back, and shows one line of use."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hedgerow
from hedgerow.docstrings import explained

ROOT = Path(__file__).resolve().parents[2]


def rooms() -> list[str]:
    """The package, and the modules whose names the reference shows."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md"))
    return ["hedgerow", *re.findall(r"automodule:: ([\w.]+)$", text, re.MULTILINE)]


def public() -> dict[str, Any]:
    """Functions and classes of the house by name; a plain union of types is neither."""
    found: dict[str, Any] = {}
    for room in rooms():
        module = importlib.import_module(room)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__.startswith("hedgerow"):
                found[f"{thing.__module__}.{name}"] = thing
    return found


def methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in vars(cls).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def section(doc: str, *titles: str) -> str:
    """The text under the first of these titles; empty where there is none."""
    found = re.search(rf"^(?:{'|'.join(titles)})\n-+\n(.*?)(?=^\w[\w ]*\n---|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def lacking(doc: str, function: Callable[..., Any], *titles: str) -> list[str]:
    """Parameters that no line of the section begins with, and `Returns` where something is returned."""
    heads = " ".join(re.findall(r"^([*\w, ]+?)(?: :| ?$)", section(doc, *titles), re.MULTILINE))
    named = set(re.findall(r"\w+", heads))
    wanted = [name for name in inspect.signature(function).parameters if not name.startswith("_") and name not in ("self", "cls")]
    missing = [name for name in wanted if name not in named]
    gives = not inspect.isclass(function) and inspect.signature(function).return_annotation not in ("None", None)
    return missing + (["Returns"] if gives and not section(doc, "Returns") else [])


def told(cls: type, name: str) -> list[str]:
    """What the docstring of a method lacks, or that of the method it overrides, whichever lacks less."""
    found = [vars(base)[name] for base in cls.__mro__ if name in vars(base) and base.__module__.startswith("hedgerow")]
    plain = [getattr(value, "__func__", value) for value in found]
    return min((lacking(inspect.getdoc(value) or "", value, "Parameters") for value in plain), key=len)


def shown(cls: type, name: str) -> bool:
    """Whether an example of the method, or of a class that has it, calls or overrides it."""
    docs = [doc for base in cls.__mro__ if base.__module__.startswith("hedgerow") for doc in (vars(base).get("__doc__") or "",)]
    own = [inspect.getdoc(vars(base)[name]) or "" for base in cls.__mro__ if name in vars(base)]
    called = rf"^\s*(?:>>>|\.\.\.) .*(?:\.|def ){name}\b"
    return any(">>> " in doc for doc in own) or any(re.search(called, doc, re.MULTILINE) for doc in docs)


def test_there_is_much_to_look_at() -> None:
    assert len(public()) > 150
    assert set(rooms()) > {"hedgerow.data", "hedgerow.distributed", "hedgerow.plots", "hedgerow.testing"}
    assert hedgerow.Posterior in public().values()


@pytest.mark.parametrize("name", public())
def test_public_names_say_what_they_take_and_give(name: str) -> None:
    thing = public()[name]
    doc = inspect.getdoc(thing) or ""
    assert ">>> " in doc, f"{name} shows no line of use"
    if not inspect.isclass(thing):
        assert lacking(doc, thing, "Parameters") == []
        return
    plain = not issubclass(thing, BaseException) and not getattr(thing, "_is_protocol", False)
    assert not plain or lacking(doc, thing, "Parameters", "Attributes") == []
    without = {method: told(thing, method) for method, _ in methods(thing)}
    assert not any(without.values()), f"{name}: { ({key: value for key, value in without.items() if value}) }"
    unused = [method for method, _ in methods(thing) if not shown(thing, method)]
    assert unused == [], f"no example in {name} or of theirs calls {unused}"


def test_what_is_missing_is_found() -> None:
    def silent(a: int, b: int = 0) -> int:
        """Do it.

        Parameters
        ----------
        a : int
        """
        return a + b

    assert lacking(inspect.getdoc(silent) or "", silent, "Parameters") == ["b", "Returns"]


def test_what_is_explained_once_stands_in_every_docstring() -> None:
    def one(a: int, b: int) -> int:
        """Do it.

        Parameters
        ----------
        a : int

        Returns
        -------
        int

        >>> one(1, 2)
        3
        """
        return a + b

    def two(b: int) -> int:
        """Do the other."""
        return b

    shared = explained("b : int\n    The second.", "float")
    assert lacking(shared(one).__doc__ or "", one, "Parameters") == lacking(shared(two).__doc__ or "", two, "Parameters") == []
    sections = "Do it.\n\nParameters\n----------\na : int\nb : int\n    The second.\n\nReturns\n-------\nint\n\n>>> one(1, 2)\n3"
    assert one.__doc__ == sections
    assert (two.__doc__ or "").endswith("Returns\n-------\nfloat")
