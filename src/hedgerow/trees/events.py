"""Event: something in the life of a cluster of a stream."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KINDS", "Event"]

KINDS = ("born", "split", "joined", "died")


class Event(NamedTuple):
    """Something in the life of a cluster.

    `born`: a new row founded `cluster`. `split`: `size` rows left cluster `other` and are now `cluster`, a new one or one that was
    there. `joined`: `cluster` became part of `other`. `died`: `cluster` is no more: it joined another, or its last row was forgotten.
    `at` counts the rows seen by then; `other` is -1 where there is none. `rows` has the numbers of the rows that moved when a cluster
    was split or joined in the last batch, as far as they are still held one by one; it is empty for events of batches before.

    Attributes
    ----------
    at : int
    kind : {"born", "split", "joined", "died"}
    cluster, other, size : int
    rows : tuple of int

    >>> Event(at=1, kind="born", cluster=0, other=-1, size=1).kind
    'born'
    """

    at: int
    kind: str
    cluster: int
    other: int
    size: int
    rows: tuple[int, ...] = ()
