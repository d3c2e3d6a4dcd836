"""Record: what a chain of a distributed run has drawn so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.data.container import read_container, write_container
from hedgerow.distributed.coordinator import Coordinator
from hedgerow.posterior.sharded_labels import KnownClusters, draw_folder

__all__ = ["Record", "read_clusters"]

_CLUSTERS, _VERSION = "clusters of a draw", 1


class Record:
    """Traces, clusters, and labels where they are wanted.

    Clusters of every draw stay here, and are written to the folder of a run that lasts.
    """

    def __init__(
        self, chain: Coordinator, labels: str, folder: Path | None, before: Mapping[str, Any] | None, writes_clusters: bool
    ) -> None:
        self._chain, self._labels, self._folder, self._writes_clusters = chain, labels, folder, writes_clusters
        self._rows: list[dict[str, float]] = _rows(before or {})
        self._stats: list[dict[str, float]] = _rows((before or {}).get("sample_stats", {}))
        self.labelled = list(range(self.draws)) if labels == "all" else []
        self.kept: dict[int, Sequence[npt.NDArray[Any]]] = {}
        self.clusters: dict[int, KnownClusters] = {}
        if writes_clusters and folder is not None:
            self.clusters = {draw: read_clusters(folder, draw) for draw in range(self.draws)}

    @property
    def draws(self) -> int:
        """Kept draws."""
        return len(self._rows)

    def add(self, seconds: float) -> None:
        """Keep the present state as a draw."""
        chain = self._chain
        clock = chain.workers.clock
        times = {"seconds": seconds, "shard_seconds": clock.shards, "rounds": float(clock.rounds)}
        known = chain.clusters()
        if self._writes_clusters and self._folder is not None:
            folder = draw_folder(self._folder, self.draws)
            folder.mkdir(parents=True, exist_ok=True)
            write_container(folder / "clusters.hedge", _CLUSTERS, _VERSION, {}, known._asdict())
        self.clusters[self.draws] = known
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
        self.labelled.append(index)
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


def read_clusters(folder: Path, draw: int) -> KnownClusters:
    """Clusters of a draw as `Record` wrote them."""
    arrays = read_container(draw_folder(folder, draw) / "clusters.hedge", _CLUSTERS, (_VERSION,)).arrays
    return KnownClusters(arrays["numbers"], arrays["start"], arrays["sizes"])


def _rows(columns: Mapping[str, Any]) -> list[dict[str, float]]:
    """Traces as one mapping a draw."""
    plain = {name: values for name, values in columns.items() if name != "sample_stats"}
    return [dict(zip(plain, row, strict=True)) for row in zip(*(values.tolist() for values in plain.values()), strict=True)]
