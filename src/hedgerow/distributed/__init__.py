"""Data larger than one machine: an exact sampler and trees over shards, in this process or on a Dask cluster."""

from hedgerow.distributed.options import Conditional
from hedgerow.distributed.proposing import DistributedProposal, propose
from hedgerow.distributed.reach import attach
from hedgerow.distributed.result import DistributedForest
from hedgerow.distributed.sampler import resume, sample
from hedgerow.distributed.trees import ibhc
from hedgerow.posterior import DistributedPosterior

__all__ = [
    "Conditional",
    "DistributedForest",
    "DistributedPosterior",
    "DistributedProposal",
    "attach",
    "ibhc",
    "propose",
    "resume",
    "sample",
]
