"""Defaults of the estimators and the command line: how long a chain is at the most where nobody says."""

from __future__ import annotations

from typing import Any

from hedgerow.mixture import Mixture

__all__ = ["default_draws", "default_warmup"]

MOST_DRAWS, MUCH_WORK = 2_000, 7_500
SOME_DRAWS, LARGE_WORK = 250, 700_000
FEWEST_DRAWS = 20
MOST_WARMUP, LONG_WARMUP_WORK = 500, 350_000


def default_draws(model: Mixture, X: Any) -> int:
    """Draws of a chain at the most where nobody says.

    Many where they are cheap, since a chain of 250 may see one mode of a doubtful posterior only: 2,000 up to 7,500 entries (rows ×
    columns), then fewer in proportion, but 250 up to 700,000 entries. From there on an iteration takes a noticeable part of a
    minute's work, and they are fewer in proportion again, but 20. The model is resolved.
    """
    work = _work(model, X)
    return _fewer(work, LARGE_WORK) if work > LARGE_WORK else int(min(MOST_DRAWS, max(SOME_DRAWS, MOST_DRAWS * MUCH_WORK // work)))


def default_warmup(model: Mixture, X: Any) -> int:
    """Iterations of warm-up at the most: as many as draws, but 500, and fewer already from 350,000 entries on.

    Iterations that heat the chain sweep over every row, and what they stir up in many rows takes long to settle.
    """
    work = _work(model, X)
    return _fewer(work, LONG_WARMUP_WORK) if work > LONG_WARMUP_WORK else min(MOST_WARMUP, default_draws(model, X))


def _work(model: Mixture, X: Any) -> float:
    likelihood = model.likelihood
    return max(likelihood.work(likelihood.check(X)), 1)


def _fewer(work: float, large: int) -> int:
    """In proportion from `large` on."""
    return int(max(FEWEST_DRAWS, SOME_DRAWS * large // work))
