"""What may be asked of levels: checks made before anything is sampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.errors import require
from hedgerow.mixture import LEAST_POWER

__all__ = ["checked_powers", "is_number", "is_whole"]


def checked_powers(powers: Sequence[float]) -> list[float]:
    """Powers from fine to coarse, each once."""
    listed = np.ndim(powers) == 1 and not isinstance(powers, str | bytes)
    good = listed and len(powers) > 0 and all(is_number(power) and LEAST_POWER <= power <= 1 for power in powers)
    require(good, "levels", "powers", powers, f"be at least one number in (0, 1], none below {LEAST_POWER:g}")
    return sorted({float(power) for power in powers}, reverse=True)


def is_whole(value: object) -> bool:
    """Whether something is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether something is a number."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
