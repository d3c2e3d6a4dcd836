"""What may be asked of levels: checks made before anything is sampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.arguments import real_number
from hedgerow.errors import require
from hedgerow.mixture import LEAST_POWER

__all__ = ["checked_powers"]


def checked_powers(powers: Sequence[float]) -> list[float]:
    """Powers from fine to coarse, each once."""
    listed = np.ndim(powers) == 1 and not isinstance(powers, str | bytes)
    good = listed and len(powers) > 0 and all(LEAST_POWER <= real_number(power) <= 1 for power in powers)
    require(good, "levels", "powers", powers, f"be at least one number in (0, 1], none below {LEAST_POWER:g}")
    return sorted({float(power) for power in powers}, reverse=True)
