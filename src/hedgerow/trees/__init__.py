"""Trees: forests over the rows, the algorithms that grow them, and streams that never end."""

from hedgerow.trees.build import bhc, guide, ibhc
from hedgerow.trees.forest import Forest
from hedgerow.trees.stream import Event, TreeStream

__all__ = ["Event", "Forest", "TreeStream", "bhc", "guide", "ibhc"]
