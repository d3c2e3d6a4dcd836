"""Sampling: chains, their seeds and starts, the loop that runs them, and runs that outlive their process."""

from hedgerow.sampling.agreement import Agreement
from hedgerow.sampling.chain import Block, Chain
from hedgerow.sampling.checkpoint import Checkpoint, clear_folder, run_note, run_status
from hedgerow.sampling.climbing import LadderResult, ladder
from hedgerow.sampling.progress import Update
from hedgerow.sampling.runner import resume, sample, so_far

__all__ = [
    "Agreement",
    "Block",
    "Chain",
    "Checkpoint",
    "LadderResult",
    "Update",
    "clear_folder",
    "ladder",
    "resume",
    "run_note",
    "run_status",
    "sample",
    "so_far",
]
