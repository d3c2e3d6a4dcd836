"""Numbers as programs write them go a short way; what they are taken for is what the long way takes them for."""

from __future__ import annotations

import itertools
import re

import pytest

from hedgerow.data.kinds.dates import read_clock, read_moment
from hedgerow.data.kinds.numbers import Manner, find_manner


def test_plain_numbers_are_read_at_once_and_as_any_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """All short texts of such characters, and some longer ones, with and without the short way."""
    short = ["".join(some) for length in (1, 2, 3, 4) for some in itertools.product("1-+.e, ", repeat=length)]
    texts = [*short, "20240131", "2024.0131", "20240131.5", "19000101", "12.31.2024", "2024-05", "1e999", "-1e999", "1e-400", "-0.0"]
    texts += ["007", "1" * 60, "1" * 61, "1_000", "٣", "1.5\n", "12:30", "1:2", "3 m", "2k"]
    manners = [Manner(), Manner(decimal=","), Manner(thousands=","), Manner(unit="m"), Manner(scaled=True)]

    def read() -> list[str]:
        """As text, which tells -0.0 from 0.0."""
        numbers = [[manner.read(text) for manner in manners] for text in texts]
        moments = [(read_moment(text), read_moment(text, True), read_clock(text)) for text in texts]
        return [repr(found) for found in (*numbers, *moments, *(find_manner([text, "2.5"], [1, 1]) for text in texts))]

    quick = read()
    for module in ("numbers", "dates"):
        monkeypatch.setattr(f"hedgerow.data.kinds.{module}.PLAIN", re.compile("(?!)"))
    assert quick == read()
