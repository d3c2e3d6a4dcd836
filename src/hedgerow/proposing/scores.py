"""What else might have been proposed: candidates beside the one chosen, with the log density of rows left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Likelihood, Prepared, Principal, Product
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.fitting import some_rows
from hedgerow.mixture import Mixture
from hedgerow.priors import DP
from hedgerow.priors.state import packed
from hedgerow.summaries.table import Table
from hedgerow.trees import ibhc

__all__ = ["left_out", "of_one_law", "scores"]

LEAST_ROWS = 8  # to leave half of them out
FULL, APART, LEADING = "full covariances", "columns apart", "leading directions"
SHARED = "one covariance"
LEAST_COLUMNS = 3  # of which there is something to lead
AS_IS = ", scales as they are"


def scores(X: Any, open_likelihood: Likelihood, chosen: Likelihood) -> Table:
    """The table of scores of the likelihood chosen, before and after it was resolved, and of others."""
    heads = ("candidate", "log density", "clusters", "chosen")
    title = "log density of a left-out row, clusters of a tree over the others"
    data = chosen.check(X)
    n, d = data.shape
    rows = data[some_rows(n, d)]
    if rows.shape[0] < LEAST_ROWS:
        return Table({head: [] for head in heads}, title=f"{title}: {n} rows are too few")
    named = {"as proposed" if not _measured(chosen) else _name(open_likelihood): chosen}
    families = (FULL, APART, LEADING) if _has_leading(chosen, data) else (FULL, APART)
    for name, other in _others(open_likelihood, families).items():
        if name not in named:
            named[name] = other.resolve(X)
    found = [left_out(likelihood, rows) for likelihood in named.values()]
    columns = list(named), [float(logs.mean()) for logs, _ in found], [count for _, count in found], ["yes", *[""] * (len(named) - 1)]
    return Table(dict(zip(heads, columns, strict=True)), title=title, note="Chosen by the rules above, not by the score.")


def left_out(likelihood: Likelihood, rows: FloatArray) -> tuple[FloatArray, int]:
    """Log density of every other row under a resolved likelihood, given a tree over the rest, and its number of clusters."""
    kept, left = rows[::2], rows[1::2]
    prior = DP(1.0)
    forest = ibhc(Mixture(prior, likelihood), kept, passes=2, seed=0)
    logs = _weights(likelihood, rows, np.ascontiguousarray(forest.labels, dtype=np.int32))
    assert logs.shape[0] == left.shape[0]
    return np.asarray(np.logaddexp.reduce(logs, axis=1)), int(forest.n_clusters)


def of_one_law(likelihood: Likelihood, rows: FloatArray) -> FloatArray:
    """Log density of every other row given the rest in one cluster."""
    return np.asarray(_weights(likelihood, rows, np.zeros(rows[::2].shape[0], dtype=np.int32))[:, 0])


def _weights(likelihood: Likelihood, rows: FloatArray, labels: npt.NDArray[np.int32]) -> FloatArray:
    """Log weight of every other row in each cluster of the rest, and in one of its own."""
    prior = DP(1.0)
    together = np.concatenate([np.arange(0, rows.shape[0], 2), np.arange(1, rows.shape[0], 2)])
    bound = likelihood.bind(rows[together])
    state = packed({"alpha": 1.0, "sigma": 0.0, "tau": 1.0, "log_u": 0.0})
    return _core.Foresight(bound, rows[::2].shape[0], labels, prior.to_core(), state).weights()


def _measured(likelihood: Likelihood) -> list[Likelihood]:
    """The parts that are Gaussian, prepared or not."""
    inner = [part.likelihood if isinstance(part, Prepared) else part for part in likelihood.factors()]
    return [part for part in inner if isinstance(part, GaussianDiagonal | GaussianWishart | Principal)]


def _name(likelihood: Likelihood) -> str:
    names = {GaussianWishart: FULL, GaussianDiagonal: APART, Principal: LEADING}
    first = _measured(likelihood)[0]
    return SHARED if isinstance(first, GaussianWishart) and first.rule == "shared" else names[type(first)]


def _has_leading(likelihood: Likelihood, data: Any) -> bool:
    """Whether the measurements are whole, and more than two."""
    for places, part in likelihood.groups():
        if _measured(part):
            whole = not np.isnan(data[:, places]).any() and not (isinstance(part, Prepared) and part.whether is not None)
            return whole and len(places) >= LEAST_COLUMNS
    return False


def _others(likelihood: Likelihood, families: Sequence[str]) -> dict[str, Likelihood]:
    """Candidates beside the one chosen: the other covariances, and the columns on the scales they came on."""
    if not _measured(likelihood):
        return {}
    scaled = any(column.scale != "as is" for part in likelihood.factors() if isinstance(part, Prepared) for column in part.columns)
    out = {name: _changed(likelihood, name, scaled=True) for name in families}
    return out | ({name + AS_IS: _changed(likelihood, name, scaled=False) for name in families} if scaled else {})


def _changed(likelihood: Likelihood, family: str, scaled: bool) -> Likelihood:
    """The same likelihood with its Gaussian part of another family, or on the scales that columns came on."""
    if isinstance(likelihood, Product):
        return Product(tuple((columns, _changed(part, family, scaled)) for columns, part in likelihood.parts))
    if not _measured(likelihood):
        return likelihood
    gaussian: Likelihood = {FULL: GaussianWishart, APART: GaussianDiagonal, LEADING: Principal}[family]()
    if not isinstance(likelihood, Prepared):
        return gaussian
    if scaled:
        return replace(likelihood, likelihood=gaussian)
    return replace(
        likelihood, likelihood=gaussian, columns=tuple(replace(c, scale="as is", shape=1.0, size=1.0) for c in likelihood.columns)
    )
