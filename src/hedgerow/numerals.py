"""Numbers as people read them."""

from __future__ import annotations

import math

__all__ = ["mean_and_spread", "percent"]


def mean_and_spread(mean: float, sd: float) -> str:
    """Mean ± sd, the mean with as many decimals as the sd deserves, and a true minus sign; no ± where there is no sd."""
    size = max(abs(mean), sd)
    offset = sd * 1e3 < abs(mean) and size < 1e15  # far from zero for its spread: the digits before it say nothing
    if not sd > 0:
        text = f"{mean:.12g}" + (" ± 0" if sd == 0 else "")
    elif size < 1e-3 or (size >= 1e6 and not offset):
        text = f"{mean:.3g} ± {sd:.2g}"
    else:
        # Of the sd as it will be shown: 0.0999... is 0.10.
        decimals = min(max(1 - math.floor(math.log10(float(f"{sd:.1e}"))), 0), 6)
        text = f"{round(mean, decimals) + 0.0:.{decimals}f} ± {sd:.{decimals}f}"  # + 0.0: no minus zero
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share in whole per cent, halves up as in the page's own script; what is nearly all or nearly nothing is not said to be it."""
    if 0.0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1.0 - 1e-12 else f"{math.floor(100 * share + 0.5)}%"
