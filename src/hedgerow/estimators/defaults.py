"""Defaults of the estimators and the command line: how many draws a chain has at the most where nobody says."""

from __future__ import annotations

from typing import Any

from hedgerow.mixture import Mixture

__all__ = ["default_draws"]

LEAST_DRAWS, MOST_DRAWS, MUCH_WORK = 250, 2_000, 7_500


def default_draws(model: Mixture, X: Any) -> int:
    """Draws of a chain: many where they are cheap, since a chain of 250 may see one mode of a doubtful posterior only.

    The model is resolved.
    """
    likelihood = model.likelihood
    work = likelihood.work(likelihood.check(X))
    return int(min(MOST_DRAWS, max(LEAST_DRAWS, MOST_DRAWS * MUCH_WORK // max(work, 1))))
