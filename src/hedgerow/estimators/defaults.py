"""Defaults of the estimators: how many draws a chain has where nobody says."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["default_draws"]

LEAST_DRAWS, MOST_DRAWS, MANY_ENTRIES = 250, 2_000, 7_500


def default_draws(X: Any) -> int:
    """Draws of a chain: many where they are cheap, since a chain of 250 may see one mode of a doubtful posterior only."""
    entries = X.nnz if sparse.issparse(X) else int(np.prod(X.shape if hasattr(X, "shape") else np.shape(X)))
    return int(min(MOST_DRAWS, max(LEAST_DRAWS, MOST_DRAWS * MANY_ENTRIES // max(entries, 1))))
