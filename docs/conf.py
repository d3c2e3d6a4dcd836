"""Sphinx settings: Markdown pages, the reference from docstrings, warnings as errors (see `make docs`)."""

from __future__ import annotations

import re
from typing import Any

import hedgerow

project = "Hedgerow"
author = "The Hedgerow developers"
copyright = author  # noqa: A001  Sphinx asks for this name
version = release = hedgerow.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Hedgerow {release}"
html_show_copyright = False
html_copy_source = False

default_role = "code"  # `name` in a docstring is a name
autodoc_typehints = "none"  # the docstrings say it shorter
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True
maximum_signature_line_length = 90
suppress_warnings = ["ref.python"]  # a type such as (n,) is no link to something called n
napoleon_google_docstring = False
napoleon_use_param = False  # types are words here, not names to link
napoleon_custom_sections = [("Attributes", "params_style")]  # keeps the underscore of labels_


def prepare(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape bars, which are absolute values here, and close a list of parameters or results where prose or an example follows it.

    Napoleon takes what stands before a colon in the first line of a property for its type; a dash it leaves alone.
    """
    if what in ("property", "attribute") and lines:
        lines[0] = lines[0].replace(": ", " – ")
    out: list[str] = []
    in_parameters = False
    for i, line in enumerate(lines):
        underlined = i + 1 < len(lines) and set(lines[i + 1]) == {"-"}
        if underlined:
            in_parameters = line in ("Parameters", "Attributes", "Returns")
        elif in_parameters and i > 0 and not lines[i - 1] and line[:1].strip() and " " in line and " : " not in line:
            out += ["Examples", "--------"] if line.startswith(">>>") else ["Notes", "-----"]
            in_parameters = False
        out.append(_escape(line.replace("|", r"\|")))
    lines[:] = out


def _escape(line: str) -> str:
    """A word that ends in an underscore is a name of scikit-learn's kind, not a link; code stays as it is."""
    if line.lstrip().startswith((">>>", "...")) or " : " in line:
        return line
    parts = line.split("`")
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\_", part) for part in parts[::2]]
    return "`".join(parts)


def skip(app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator; None leaves the choice to Sphinx."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> None:
    """Tell Sphinx; before napoleon reads the docstrings."""
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", prepare, priority=400)
