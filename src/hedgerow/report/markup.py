"""Small pieces of HTML that the sections share."""

from __future__ import annotations

import html
from collections.abc import Iterable

__all__ = ["breakable", "counted", "escape", "hint", "said", "table"]


def escape(text: object) -> str:
    """Any text made harmless inside HTML, in elements and attributes."""
    return html.escape(str(text), quote=True)


def breakable(name: object) -> str:
    """A name made harmless, that a narrow column may break after an underscore, a dot or an equals sign."""
    text = escape(name)
    for mark in "_.=":
        text = text.replace(mark, f"{mark}<wbr>")
    return text


def counted(n: int, noun: str) -> str:
    """A number with its noun."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def table(head: str, rows: Iterable[str], label: str) -> str:
    """A table that scrolls sideways on narrow screens, reachable by keyboard for that."""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def said(lead: str, sentences: Iterable[object]) -> str:
    """A headline with its sentences, for notebooks."""
    items = "".join(f"<li>{escape(getattr(sentence, 'text', sentence))}</li>" for sentence in sentences)
    return f"<p><b>{escape(lead)}</b></p>" + (f"<ul>{items}</ul>" if items else "")


def hint(text: str) -> str:
    """A line in small print."""
    return f'<p class="hint">{escape(text)}</p>'
