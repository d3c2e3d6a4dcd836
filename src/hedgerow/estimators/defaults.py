"""Defaults of the estimators and the command line: how many draws a chain has at the most where nobody says."""

from __future__ import annotations

from typing import Any

from hedgerow.mixture import Mixture

__all__ = ["default_draws"]

MOST_DRAWS, MUCH_WORK = 2_000, 7_500
SOME_DRAWS, LARGE_WORK = 250, 350_000
FEWEST_DRAWS = 20


def default_draws(model: Mixture, X: Any) -> int:
    """Draws of a chain, and iterations before them, at the most where nobody says.

    Many where they are cheap, since a chain of 250 may see one mode of a doubtful posterior only: 2,000 up to 7,500 entries (rows ×
    columns), then fewer in proportion, but 250 up to 350,000 entries. From there on an iteration takes a noticeable part of a
    minute's work, and they are fewer in proportion again, but 20. The model is resolved.
    """
    likelihood = model.likelihood
    work = max(likelihood.work(likelihood.check(X)), 1)
    if work > LARGE_WORK:
        return int(max(FEWEST_DRAWS, SOME_DRAWS * LARGE_WORK // work))
    return int(min(MOST_DRAWS, max(SOME_DRAWS, MOST_DRAWS * MUCH_WORK // work)))
