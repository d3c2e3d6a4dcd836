"""Trees: forests over the rows, and the algorithms that grow them."""

from hedgerow.trees.build import bhc, ibhc
from hedgerow.trees.forest import Forest

__all__ = ["Forest", "bhc", "ibhc"]
