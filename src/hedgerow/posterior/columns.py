"""The data as tables and pictures show them: columns with names, levels as shares.

Checked data hold positions or codes where a column has levels; their mean says nothing. Such a column becomes one column of
zeros and ones for each level (`colour=red`), whose mean is the share of that level; one is enough for two levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.arguments import check_names
from hedgerow.mixture import Mixture
from hedgerow.posterior.draws import Draws
from hedgerow.posterior.traced import Traced

__all__ = ["column_names", "names_of", "shown_columns", "shown_rows"]


def shown_columns(draws: Draws, names: Sequence[str] | None = None) -> tuple[Any, list[str]]:
    """Data to describe, dense (n, columns) or sparse counts, and the names of its columns."""
    return shown_rows(draws.X, draws.model, column_names(draws, names))


def shown_rows(X: Any, model: Mixture | None, columns: list[str]) -> tuple[Any, list[str]]:
    """The same for any rows of the checked data, whose columns have names."""
    likelihood = None if model is None else model.likelihood
    if likelihood is None or sparse.issparse(X):
        return X, columns
    parts = [likelihood.shown_column(X, j, name) for j, name in enumerate(columns)]
    return np.hstack([values for values, _ in parts]), [name for _, named in parts for name in named]


def column_names(draws: Draws, names: Sequence[str] | None = None) -> list[str]:
    """Names of the columns of the data: those given, those of the model or of the record of the run, else x0, x1, ..."""
    return names_of(draws, draws.X.shape[1], names)


def names_of(draws: Traced, width: int, names: Sequence[str] | None = None) -> list[str]:
    """Names of so many columns."""
    if names is not None:
        check_names("Posterior", "names", names, width, "columns of X")
        return [str(name) for name in names]
    used = None if draws.model is None else draws.model.likelihood.used_columns()
    if used is not None:
        return [name if isinstance(name, str) else f"x{name}" for name in used]
    known = draws.run.get("columns")
    if isinstance(known, list) and len(known) == width:
        return [str(name) for name in known]
    return [f"x{j}" for j in range(width)]
