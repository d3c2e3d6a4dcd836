"""Sampling: chains, their seeds and starts, and the loop that runs them."""

from hedgerow.sampling.chain import Block, Chain
from hedgerow.sampling.progress import Update
from hedgerow.sampling.runner import sample

__all__ = ["Block", "Chain", "Update", "sample"]
