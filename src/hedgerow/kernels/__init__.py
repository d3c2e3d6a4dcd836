"""Kernels: the ways a chain can move."""

from hedgerow.kernels.base import Kernel
from hedgerow.kernels.gibbs import Gibbs

KERNELS: tuple[type[Kernel], ...] = (Gibbs,)

__all__ = ["KERNELS", "Gibbs", "Kernel"]
