"""Posteriors over shards on disk: traces, model, record, clusters and labels in one file; the rows stay where they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hedgerow.data.container import read_container, whole, write_container
from hedgerow.errors import require
from hedgerow.mixture import Mixture
from hedgerow.posterior.sharded_labels import KnownClusters, PackedLabels, join, narrow
from hedgerow.posterior.storage import check_traces, decode_model, encode_model
from hedgerow.posterior.traced import TRACES

if TYPE_CHECKING:
    from hedgerow.posterior.sharded_draws import ShardedDraws

__all__ = ["KIND", "load_fields", "save"]

KIND = "distributed posterior"
VERSION = 1


def save(draws: ShardedDraws, path: str | os.PathLike[str]) -> None:
    """Write everything but the rows to `path`, whole or not at all."""
    arrays: dict[str, npt.NDArray[Any]] = {"log_joint": draws.log_joint, "n_clusters": draws.n_clusters}
    arrays |= draws.traces()
    stats = list(draws.sample_stats)
    arrays |= {f"stats.{i}": draws.sample_stats[name] for i, name in enumerate(stats)}
    arrays["shard_rows"] = np.array(draws.shard_rows, np.int64)
    positions = list(draws.kept.positions)
    if positions:
        joined = join(draws.kept, positions, draws.shard_rows)
        arrays |= {"labels": narrow(joined.raw), "place": narrow(joined.points.place)}
    arrays["kept"] = np.array(positions, np.int64)
    known = sorted(draws.clusters)
    arrays["known"] = np.array(known, np.int64)
    if known:
        arrays["known.numbers"] = np.concatenate([draws.clusters[at].numbers for at in known])
        arrays["known.lengths"] = np.concatenate([np.diff(draws.clusters[at].start) for at in known])
        arrays["known.sizes"] = np.concatenate([draws.clusters[at].sizes for at in known])
    content = {"model": encode_model(draws.model, arrays), "stats": stats, "run": dict(draws.run)}
    write_container(path, KIND, VERSION, content, arrays)


def load_fields(path: str | os.PathLike[str], model: Mixture | None) -> dict[str, Any]:
    """The constructor arguments of a posterior, from a file that `save` wrote."""
    require(model is None or isinstance(model, Mixture), "load", "model", model, "be a Mixture, or left out")
    stored = read_container(path, KIND, (VERSION,))
    with whole(path, "a whole posterior over shards"):
        arrays, content = stored.arrays, stored.content
        used = decode_model(content["model"], arrays) if model is None else model
        rows = tuple(int(count) for count in arrays["shard_rows"])
        shape = arrays["log_joint"].shape
        n_clusters = arrays["n_clusters"].astype(np.int32)
        good = len(shape) == 2 and n_clusters.shape == shape and bool((n_clusters >= 1).all()) and min(rows, default=-1) >= 0
        require(good, "load", "log_joint", arrays["log_joint"], "be (chain, draw), with shards of rows")
        if used is not None:
            check_traces(used, (*shape, sum(rows)), arrays)
        return {
            "log_joint": arrays["log_joint"],
            "n_clusters": n_clusters,
            **{name: arrays[name] for name in TRACES if name in arrays},
            "sample_stats": {str(name): arrays[f"stats.{i}"] for i, name in enumerate(content["stats"])},
            "model": used,
            "run": dict(content["run"]),
            "shard_rows": rows,
            "kept": _labels(arrays, rows, n_clusters.ravel()),
            "clusters": _clusters(arrays, sum(rows), n_clusters.ravel()),
        }


def _labels(arrays: Any, rows: tuple[int, ...], clusters: npt.NDArray[np.int32]) -> PackedLabels:
    """Labels below the number of clusters of their draw, and points that are there."""
    kept = _positions(arrays["kept"], len(clusters))
    if not kept:
        return PackedLabels(np.zeros((0, 0), np.uint8), np.zeros(0, np.intp), (), list(np.cumsum(rows)))
    labels, place = arrays["labels"], arrays["place"].astype(np.intp)
    good = labels.dtype.kind == "u" and labels.ndim == 2 and len(labels) == len(kept) and place.shape == (sum(rows),)
    good = good and bool((place >= 0).all() and (place < labels.shape[1]).all())
    require(good, "load", "labels", labels, "be whole numbers by draw and point, and every row one of the points")
    same = np.array_equal(labels.max(axis=1).astype(np.int64) + 1, clusters[kept])
    require(same, "load", "labels", labels, "have as many clusters as the draws have")
    return PackedLabels(labels, place, kept, list(np.cumsum(rows)))


def _clusters(arrays: Any, n: int, counts: npt.NDArray[np.int32]) -> dict[int, KnownClusters]:
    """Statistics of draws, cut where their lengths say."""
    known = _positions(arrays["known"], len(counts))
    if not known:
        return {}
    numbers, lengths, sizes = (arrays[f"known.{name}"] for name in ("numbers", "lengths", "sizes"))
    total = int(counts[known].sum())
    good = lengths.shape == sizes.shape == (total,) and bool((lengths >= 0).all()) and int(lengths.sum()) == len(numbers)
    good = good and bool((sizes >= 1).all()) and bool(np.isfinite(numbers).all())
    require(good, "load", "clusters", numbers, "be statistics of every cluster of every draw")
    found, cluster, number = {}, 0, 0
    for at in known:
        part = slice(cluster, cluster + int(counts[at]))
        start = np.concatenate([[0], np.cumsum(lengths[part])]).astype(np.int64)
        require(int(sizes[part].sum()) == n, "load", "clusters", sizes[part], f"have the {n} rows of the data")
        found[at] = KnownClusters(numbers[number : number + int(start[-1])], start, sizes[part].astype(np.int64))
        cluster, number = part.stop, number + int(start[-1])
    return found


def _positions(stored: npt.NDArray[Any], draws: int) -> list[int]:
    good = stored.ndim == 1 and bool((np.diff(stored) > 0).all()) and (stored.size == 0 or (stored[0] >= 0 and stored[-1] < draws))
    require(good, "load", "draws", stored, "be draws in order")
    return [int(at) for at in stored]
