"""A draw brought nearer to the other draws, as far as its clusters of a size last.

A free descent from the draw would end with too few of them. Those that it loses are held as the draw has them, all else is free again;
so no cluster is whittled down to the least size that counts, and where nothing can change the draw itself is left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.summaries.partitions import Labels, canonical, count_clusters_of

__all__ = ["improve", "lasting"]


def lasting(draw: Labels, found: Labels, copies: npt.NDArray[np.int64], these: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Which of `these` clusters of a draw are in `found`, where one has most of the rows, and most of its rows are these.

    >>> import numpy as np
    >>> lasting(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 0, 0, 1]), np.ones(5, np.int64), np.array([0, 1])).tolist()
    [True, False]
    """
    sizes, there = np.bincount(draw, copies), np.bincount(found, copies)
    number = np.full(sizes.size, -1)
    number[these] = np.arange(these.size)
    seen = number[draw] >= 0
    cells = number[draw[seen]] * there.size + found[seen]
    both = np.bincount(cells, copies[seen], these.size * there.size).reshape(these.size, there.size)
    return np.asarray((2 * both > np.maximum(sizes[these][:, None], there)).any(axis=1))


def improve(
    own: _core.PartitionSearch,
    draw: Labels,
    copies: npt.NDArray[np.int64],
    least: int,
    size: int,
    descend: Callable[[], None],
) -> Labels:
    """Where descents from the draw lead that keep at least so many clusters of that many rows.

    `own` is the search that `descend` moves.
    """
    large = np.flatnonzero(np.bincount(draw, copies) >= size)
    held = np.zeros(int(draw.max()) + 1, np.bool_)
    while not held[large].all():
        own.start_at(draw)
        own.hold(np.flatnonzero(held[draw]).astype(np.int32))
        descend()
        found = canonical(own.labels)
        if count_clusters_of(found[None], size, copies)[0] >= least:
            return found
        lost = large[~held[large] & ~lasting(draw, found, copies, large)]
        held[lost if lost.size else large] = True
    return draw
