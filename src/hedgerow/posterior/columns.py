"""The data as tables and pictures show them: columns with names, levels as shares.

Checked data hold positions or codes where a column has levels; their mean says nothing. Such a column becomes one column of
zeros and ones for each level (`colour=red`), whose mean is the share of that level; one is enough for two levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.errors import require
from hedgerow.likelihoods import Categorical, Likelihood, Product
from hedgerow.posterior.draws import Draws, FloatArray

__all__ = ["column_names", "shown_columns"]


def shown_columns(draws: Draws, names: Sequence[str] | None = None) -> tuple[Any, list[str]]:
    """Data to describe, dense (n, columns) or sparse counts, and the names of its columns."""
    X = draws.X
    columns = column_names(draws, names)
    likelihood = None if draws.model is None else draws.model.likelihood
    if sparse.issparse(X) or not isinstance(likelihood, (Categorical, Product)):
        return X, columns
    groups: list[tuple[list[int], Likelihood]] = [(list(range(X.shape[1])), likelihood)]
    if isinstance(likelihood, Product):
        groups = likelihood.groups()
    parts: dict[int, tuple[FloatArray, list[str]]] = {}
    for places, part in groups:
        for position, j in enumerate(places):
            parts[j] = X[:, [j]], [columns[j]]
            if isinstance(part, Categorical) and part.levels is not None and len(part.levels[position]) > 1:
                codes = part.codes(X[:, places])[:, position]
                parts[j] = _shares(codes, columns[j], part.levels[position])
    ordered = [parts[j] for j in sorted(parts)]
    return np.hstack([values for values, _ in ordered]), [name for _, named in ordered for name in named]


def column_names(draws: Draws, names: Sequence[str] | None = None) -> list[str]:
    """Names of the columns of the data: those given, those of the model or of the record of the run, else x0, x1, ..."""
    width = draws.X.shape[1]
    if names is not None:
        require(len(names) == width, "Posterior", "names", names, f"name the {width} columns of X")
        return [str(name) for name in names]
    if draws.model is not None and isinstance(draws.model.likelihood, Product) and draws.model.likelihood.columns is not None:
        used = draws.model.likelihood.columns
        return [name if isinstance(name, str) else f"x{name}" for name in used]
    known = draws.run.get("columns")
    if isinstance(known, list) and len(known) == width:
        return [str(name) for name in known]
    return [f"x{j}" for j in range(width)]


def _shares(codes: Any, name: str, levels: Sequence[Any]) -> tuple[FloatArray, list[str]]:
    """Zeros and ones for each level, NaN where the entry is missing; for two levels, those of the second."""
    shown = range(len(levels)) if len(levels) > 2 else [1]
    values = np.column_stack([np.where(codes < 0, np.nan, codes == level) for level in shown])
    return values.astype(np.float64), [f"{name}={levels[level]}" for level in shown]
