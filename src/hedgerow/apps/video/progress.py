"""Progress of a run over frames: how far, how fast, how long to go."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ChunkUpdate"]


@dataclass(frozen=True)
class ChunkUpdate:
    """News after a chunk."""

    frames: int
    """Frames done."""
    expected: int | None
    """Frames in all, where the source says."""
    n_segments: int
    """Segments so far."""
    seconds: float
    """Since the start."""

    @property
    def rate(self) -> float:
        """Frames per second so far."""
        return self.frames / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """At the rate so far; None where the length is not known."""
        return None if self.expected is None else max(0, self.expected - self.frames) / self.rate

    @property
    def total(self) -> int | None:
        """Frames in all; a container may promise fewer than it has."""
        return None if self.expected is None else max(self.expected, self.frames)

    @property
    def news(self) -> str:
        """In words."""
        return f"{self.n_segments:,} segments  {self.rate:.1f} frames/s"
