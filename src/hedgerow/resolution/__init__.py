"""Resolution: the same rows clustered from coarse to fine, and how much of it two halves of them agree on."""

from __future__ import annotations

from hedgerow.resolution.files import load
from hedgerow.resolution.level import Level
from hedgerow.resolution.levels import Levels, levels

__all__ = ["Level", "Levels", "levels", "load"]
