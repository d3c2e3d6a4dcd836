"""Forest to report: the trees with the rows below them, and the data if they are given."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from hedgerow import plots
from hedgerow.arguments import check_names
from hedgerow.data.tables import read_matrix
from hedgerow.data.views import as_counts
from hedgerow.errors import require
from hedgerow.report.payload import ColumnsPart, CountsPart, PointsPart, ReportPayload, TreePart
from hedgerow.summaries.partitions import by_size

if TYPE_CHECKING:
    from hedgerow.trees.forest import Forest

__all__ = ["payload_of", "place_points", "tree_part"]


def tree_part(left: ArrayLike, right: ArrayLike, roots: ArrayLike, size: ArrayLike, log_d: ArrayLike) -> TreePart:
    """A forest for the page, with the heights at which it is drawn."""
    scale = plots.tree_heights(left, right, roots, size, log_d)
    return TreePart(left, right, roots, size, log_d, scale.height, scale.cut, scale.ticks)


def place_points(labels: ArrayLike, doubt: ArrayLike | None, X: Any, columns: Sequence[str], rows: Sequence[str] | None) -> PointsPart:
    """The points in the plane: two columns or two components; nowhere if sparse counts have no two components."""
    counted = sparse.issparse(X)
    if counted and min(X.shape) < 3:
        return PointsPart(labels, doubt, rows)
    with warnings.catch_warnings():  # a column without a single entry has no mean; it is drawn as if at 0
        warnings.simplefilter("ignore", RuntimeWarning)
        place = plots.plane(X, None if counted else columns)
    return PointsPart(labels, doubt, rows, place.points, place.axes, place.note)


def payload_of(forest: Forest, X: Any, *, title: str, names: Sequence[str] | None, rows: Sequence[str] | None) -> ReportPayload:
    """Everything that a report on a forest shows; without X neither points nor columns."""
    check_names("Forest.report", "rows", rows, forest.n, "rows")
    tree = tree_part(forest.left, forest.right, forest.roots, forest.size, forest.log_d)
    labels = by_size(forest.labels)
    record: dict[str, object] = {"log joint": f"{forest.log_joint:,.2f}", "log bound": f"{forest.log_bound:,.2f}"}
    record |= {name: _shown(value) for name, value in forest.values.items()}
    if X is None:
        return ReportPayload(title, PointsPart(labels, None, rows), tree=tree, run=record)
    data: Any
    data, known = (as_counts(X, "Forest.report"), None) if sparse.issparse(X) else read_matrix(X, "Forest.report")
    require(data.shape[0] == forest.n, "Forest.report", "X", X, f"have the {forest.n} rows of the forest")
    width = data.shape[1]
    check_names("Forest.report", "names", names, width, "columns of X")
    columns = [str(name) for name in names or known or (f"x{j}" for j in range(width))]
    counted = sparse.issparse(data)
    return ReportPayload(
        title,
        place_points(labels, None, data, columns, rows),
        tree=tree,
        columns=None if counted else ColumnsPart(data, columns),
        counts=CountsPart(data.indptr, data.indices, data.data, columns) if counted else None,
        run=record,
    )


def _shown(value: Any) -> str:
    numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
    text = ", ".join(f"{number:.4g}" for number in numbers[:8])
    return text + (", ..." if len(numbers) > 8 else "")
