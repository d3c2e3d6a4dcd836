"""Record: what a distributed run has drawn so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.distributed.coordinator import Coordinator
from hedgerow.distributed.result import draw_folder

__all__ = ["Record"]


class Record:
    """Traces, and labels where they are wanted."""

    def __init__(self, chain: Coordinator, labels: str, folder: Path | None, before: Mapping[str, Any] | None = None) -> None:
        self._chain, self._labels, self._folder = chain, labels, folder
        self._rows: list[dict[str, float]] = _rows(before or {})
        self._stats: list[dict[str, float]] = _rows((before or {}).get("sample_stats", {}))
        self.kept: dict[int, Sequence[npt.NDArray[Any]]] = {}
        self.workers = chain.workers.size

    @property
    def draws(self) -> int:
        """Kept draws."""
        return len(self._rows)

    def add(self, seconds: float) -> None:
        """Keep the present state as a draw."""
        chain = self._chain
        clock = chain.workers.clock
        times = {"seconds": seconds, "shard_seconds": clock.shards, "rounds": float(clock.rounds)}
        self._rows.append({"log_joint": chain.log_joint(), "n_clusters": chain.n_clusters} | chain.values())
        self._stats.append(chain.stats | times)
        if self._labels == "all":
            self._keep()

    def finish(self) -> None:
        """Keep the labels of the last draw, if those are wanted."""
        if self._labels == "last":
            self._keep()

    def _keep(self) -> None:
        index = self.draws - 1
        if self._folder is None:
            self.kept[index] = self._chain.labels()
        else:
            self._chain.write_labels(draw_folder(self._folder, index))

    def traces(self) -> dict[str, Any]:
        """Traces by name, and `sample_stats`."""
        if not self._rows:
            return {}
        found: dict[str, Any] = {name: np.array([row[name] for row in self._rows]) for name in self._rows[0]}
        found["n_clusters"] = found["n_clusters"].astype(np.int32)
        found["sample_stats"] = {name: np.array([row[name] for row in self._stats]) for name in self._stats[0]}
        return found


def _rows(columns: Mapping[str, Any]) -> list[dict[str, float]]:
    """Traces as one mapping a draw."""
    plain = {name: values for name, values in columns.items() if name != "sample_stats"}
    return [dict(zip(plain, row, strict=True)) for row in zip(*(values.tolist() for values in plain.values()), strict=True)]
