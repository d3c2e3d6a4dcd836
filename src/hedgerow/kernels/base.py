"""What every kernel is: a frozen description of how a chain moves, turned into compiled form by `to_core`.

A kernel holds options and no state; every chain makes its own moving part from it. A new kernel is one file with a
frozen dataclass here, one class in the core, and one row in `KERNELS` (`kernels/__init__.py`), which the exam and the
storage tests run over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from hedgerow import _core

__all__ = ["Kernel"]


class Kernel(ABC):
    """A Markov kernel on partitions."""

    exact: ClassVar[bool] = True
    """Whether the posterior is left invariant (everything but `TreeGuidedPublished`)."""

    @abstractmethod
    def to_core(self) -> _core.Kernel:
        """The compiled recipe."""
