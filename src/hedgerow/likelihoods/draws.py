"""Draws on the log scale, where small parameters would otherwise make probabilities and rates underflow to 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["log_gamma_draw"]

FloatArray = npt.NDArray[np.float64]


def log_gamma_draw(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Logs of Gamma(shape, rate 1) draws: Gamma(s) is Gamma(s + 1) U^(1 / s) with U uniform."""
    big = np.log(rng.standard_gamma(shape + 1))
    return np.asarray(big - rng.standard_exponential(np.shape(shape)) / shape, dtype=np.float64)
