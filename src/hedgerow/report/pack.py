"""From payload to the page's data: arrays as base64, never more of them than a page can draw."""

from __future__ import annotations

import base64
import heapq
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.report.levels import told as level_told
from hedgerow.report.payload import ColumnsPart, DrawsPart, LevelsPart, ProfilesPart, ReportPayload, SimilarityPart, TreePart
from hedgerow.report.telling_words import node_words, top_words

__all__ = ["FIRST_CARDS", "MOST_COLUMNS", "MOST_POINTS", "is_share", "pack", "scatter_between", "shown_columns"]

MOST_POINTS = 4_000  # a browser draws these without stutter
MOST_TERMINALS = 3_000
MOST_DRAWS = 1_000  # per chain and quantity
MOST_COLUMNS = 12  # told of in the panel, and drawn of very many points
MOST_DRAWN = 40  # of fewer
MOST_NAME = 60
FIRST_CARDS = 12  # clusters with a card of their own
MOST_SHORT = 1 << 16  # labels that two bytes hold
MOST_BANDS = 600  # between two levels
MOST_COMPARED = 30  # clusters, and columns, that can be put beside each other
SEEN = 1e-5  # of a column's range

LongArray = NDArray[np.int64]


def pack(payload: ReportPayload) -> dict[str, Any]:
    """Everything the page's script needs, ready for JSON."""
    labels = np.asarray(payload.points.labels, dtype=np.int64)
    n = len(labels)
    tree = None if payload.tree is None else flatten_tree(payload.tree)
    rows = kept_rows(n, labels if tree is None else None, None if tree is None else tree["order"])
    place = np.full(n, -1, dtype=np.int64)  # row of the data -> kept point
    place[rows] = np.arange(len(rows))
    data: dict[str, Any] = {
        "points": _points(payload, rows, n),
        "views": [_view(view, rows) for view in payload.views()],
        "shown": 0,
    }
    if payload.levels is not None:
        data["shown"] = payload.levels.shown
        data["levels"] = _levels(payload.levels)
        for view, colors in zip(data["views"], payload.levels.colors, strict=True):
            view["colors"] = np.asarray(colors).tolist()
    if tree is not None and payload.tree is not None:
        data["tree"] = _tree(payload.tree, tree, place)
    if payload.points.plane is not None:
        plane = np.asarray(payload.points.plane, dtype=np.float64)[rows]
        data["scatter"] = {"points": encode_numbers(plane), "axes": list(payload.points.axes)}
    if payload.columns is not None:
        room = min(MOST_DRAWN, MOST_COLUMNS * MOST_POINTS // len(rows))
        shown = shown_columns(payload.columns, labels, room, first=_drawn_columns(payload))
        told = set(shown_columns(payload.columns, labels).tolist()) if len(shown) > MOST_COLUMNS else set(shown.tolist())
        values = np.asarray(payload.columns.values, dtype=np.float64)[np.ix_(rows, shown)]
        data["columns"] = {
            "names": [str(payload.columns.names[j]) for j in shown],
            "values": encode_numbers(values),
            "told": [i for i, j in enumerate(shown.tolist()) if j in told],
        }
    if payload.counts is not None:
        spans = None if tree is None else (tree["order"], tree["start"], tree["stop"], tree["right"])
        vocabulary, table = node_words(payload.counts, spans)
        data["words"] = {
            "list": vocabulary,
            "nodes": None if table is None else encode(table, "i4"),
            "width": 0 if table is None else table.shape[1],
        }
    if payload.draws is not None:
        data["draws"] = _draws(payload.draws)
    if payload.similarity is not None:
        data["similarity"] = _similarity(payload.similarity, place)
    return data


def encode(values: ArrayLike, kind: str) -> dict[str, str]:
    """An array as little-endian bytes of `kind` ("f4", "f8", "i4", "u2", "u1") in base64."""
    raw = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return {"type": kind, "data": base64.b64encode(raw.tobytes()).decode("ascii")}


def encode_numbers(values: NDArray[np.float64]) -> dict[str, str]:
    """Numbers in columns, in half the bytes where none of them moves by what could be seen: far from zero they need all."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(values.astype(np.float32).astype(np.float64) - values)
        seen = np.isfinite(values)
        high, low = np.max(values, axis=0, where=seen, initial=-np.inf), np.min(values, axis=0, where=seen, initial=np.inf)
        fine = np.max(error, axis=0, where=seen, initial=0.0) <= SEEN * np.maximum(high - low, 0.0)
    return encode(values, "f4" if bool(np.all(fine)) else "f8")


def kept_rows(n: int, labels: LongArray | None, order: LongArray | None) -> LongArray:
    """Rows to draw: all, or an even sample along the tree's leaves (else the clusters), so none is missed."""
    if n <= MOST_POINTS:
        return np.arange(n)
    along = order if order is not None else np.argsort(np.asarray(labels), kind="stable")
    return np.sort(along[(np.arange(MOST_POINTS) * n) // MOST_POINTS])


def shown_columns(columns: ColumnsPart, labels: LongArray, most: int = MOST_COLUMNS, first: Collection[str] = ()) -> LongArray:
    """The columns to tell about, in order: all, or those of `first` and the ones in which clusters differ most, `most` in all."""
    d = np.asarray(columns.values).shape[1]
    if d <= most:
        return np.arange(d)
    between, whole = scatter_between(columns, labels)
    share = np.where(whole > 0, between / np.where(whole > 0, whole, 1.0), 0.0)
    rank = share + np.array([2.0 * (str(name) in first) for name in columns.names])
    return np.sort(np.argsort(-rank, kind="stable")[:most])


def _drawn_columns(payload: ReportPayload) -> set[str]:
    """The columns of which the facts about clusters have a picture of the values."""
    if payload.profiles is None or payload.columns is None:
        return set()
    values = np.asarray(payload.columns.values, dtype=np.float64)
    levels = {name for j, name in enumerate(map(str, payload.columns.names)) if is_share(values[:, j])}
    return {fact[0] for profile in payload.profiles.profiles[:FIRST_CARDS] for fact in profile.facts} - levels


def is_share(column: NDArray[np.float64]) -> bool:
    """Whether a column says yes or no of each row, as "sex=male" does: then its mean is a share."""
    return bool(np.isin(column[~np.isnan(column)], (0.0, 1.0)).all())


def scatter_between(columns: ColumnsPart, labels: LongArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every column the sum of squares between clusters, and the whole one; missing entries left out."""
    values = np.asarray(columns.values, dtype=np.float64)
    d = values.shape[1]
    seen = ~np.isnan(values)
    filled = np.where(seen, values, 0.0)
    k = int(labels.max()) + 1
    count = np.zeros((k, d))
    sums = np.zeros((k, d))
    np.add.at(count, labels, seen)
    np.add.at(sums, labels, filled)
    total = np.maximum(seen.sum(axis=0), 1)
    mean = filled.sum(axis=0) / total
    between = (count * (sums / np.maximum(count, 1) - mean) ** 2).sum(axis=0)
    whole = np.where(seen, (values - mean) ** 2, 0.0).sum(axis=0)
    return between, whole


def flatten_tree(tree: TreePart) -> dict[str, Any]:
    """The forest in preorder, its smallest branches closed if there are more than `MOST_TERMINALS` leaves.

    `node` are the old numbers; `right` the new number of the right child, 0 at a terminal (the left child is
    always the next node); each node stands over `order[start:stop]`, rows of the data from left to right.
    """
    left, right = np.asarray(tree.left, dtype=np.int64), np.asarray(tree.right, dtype=np.int64)
    roots = np.atleast_1d(np.asarray(tree.roots, dtype=np.int64))
    size = np.asarray(tree.size, dtype=np.int64)
    opened = _opened(left, right, roots, size)
    node: list[int] = []
    new_right: list[int] = []
    start: list[int] = []
    order: list[int] = []
    new_roots: list[int] = []
    parent_of_right: list[tuple[int, int]] = [(int(root), -1) for root in roots[::-1]]
    while parent_of_right:
        old, parent = parent_of_right.pop()
        if parent == -1:
            new_roots.append(len(node))
        elif parent >= 0:
            new_right[parent] = len(node)
        me = len(node)
        node.append(old)
        new_right.append(0)
        start.append(len(order))
        if old in opened:
            parent_of_right += [(int(right[old]), me), (int(left[old]), -2)]
        else:
            order += _leaves(left, right, old)
    begin = np.array(start, dtype=np.int64)
    return {
        "node": np.array(node, dtype=np.int64),
        "right": np.array(new_right, dtype=np.int64),
        "start": begin,
        "stop": begin + size[node],
        "order": np.array(order, dtype=np.int64),
        "roots": new_roots,
    }


def _opened(left: LongArray, right: LongArray, roots: LongArray, size: LongArray) -> set[int]:
    """Joins to keep, largest first, up to the number of terminals that the page takes."""
    queue = [(-int(size[root]), int(root)) for root in roots if left[root] >= 0]
    heapq.heapify(queue)
    opened: set[int] = set()
    while queue and len(roots) + len(opened) < MOST_TERMINALS:
        _, node = heapq.heappop(queue)
        opened.add(node)
        for child in (int(left[node]), int(right[node])):
            if left[child] >= 0:
                heapq.heappush(queue, (-int(size[child]), child))
    return opened


def _leaves(left: LongArray, right: LongArray, top: int) -> list[int]:
    found: list[int] = []
    stack = [top]
    while stack:
        node = stack.pop()
        if left[node] < 0:
            found.append(node)
        else:
            stack += [int(right[node]), int(left[node])]
    return found


def _points(payload: ReportPayload, rows: LongArray, n: int) -> dict[str, Any]:
    points: dict[str, Any] = {"total": n, "row": encode(rows, "i4")}
    if payload.points.names is not None:
        names = [str(payload.points.names[row]) for row in rows]
        points["names"] = [name if len(name) <= MOST_NAME else name[: MOST_NAME - 1] + "…" for name in names]
    return points


def _view(payload: ReportPayload, rows: LongArray) -> dict[str, Any]:
    """One clustering: labels, doubt in 255ths, sizes, colours by size, and what its clusters are compared by."""
    labels = np.asarray(payload.points.labels, dtype=np.int64)
    sizes = np.bincount(labels)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    view: dict[str, Any] = {
        "label": encode(labels[rows], "u2" if len(sizes) <= MOST_SHORT else "i4"),
        "sizes": sizes.tolist(),
        "colors": rank.tolist(),
    }
    if payload.points.uncertainty is not None:
        doubt = np.clip(np.asarray(payload.points.uncertainty, dtype=np.float64)[rows], 0, 1)
        view["doubt"] = encode(np.rint(255 * doubt), "u1")
    if payload.profiles is not None and payload.profiles.mean is not None:
        view["profiles"] = _profiles(payload.profiles)
    if payload.counts is not None:
        view["words"] = top_words(payload.counts, labels)
    return view


def _levels(part: LevelsPart) -> dict[str, Any]:
    """The picture of the flow, thin bands left out where there are too many, and a line about every level."""
    bands = []
    for given in part.bands:
        band = np.asarray(given, dtype=np.float64)
        bands.append(encode(band[np.argsort(band[:, 2] - band[:, 3], kind="stable")[:MOST_BANDS]], "f4"))
    return {
        "bars": [encode(bars, "f4") for bars in part.bars],
        "bands": bands,
        "told": [level_told(level) for level in part.items],
        "powers": [f"{level.power:.3g}" for level in part.items],
    }


def _profiles(part: ProfilesPart) -> dict[str, Any]:
    """Means and spreads of the largest clusters, in the columns that tell most."""
    order = {str(name): j for j, name in enumerate(part.names)}
    chosen = [order[name] for name, _ in part.importance[:MOST_COMPARED] if name in order]
    clusters = [profile.cluster for profile in part.profiles[:MOST_COMPARED]]
    mean, spread = (np.asarray(values, dtype=np.float64)[: len(clusters)][:, chosen] for values in (part.mean, part.spread))
    names = [str(part.names[j]) for j in chosen]
    shares = [name in part.shares for name in names]
    return {"clusters": clusters, "names": names, "shares": shares, "mean": encode(mean, "f8"), "spread": encode(spread, "f8")}


def _tree(part: TreePart, tree: dict[str, Any], place: LongArray) -> dict[str, Any]:
    along = place[tree["order"]]
    before = np.concatenate([[0], np.cumsum(along >= 0)])  # kept points left of each position
    node = tree["node"]
    log_d = np.asarray(part.log_d, dtype=np.float64)[node]
    return {
        "right": encode(tree["right"], "i4"),
        "size": encode(np.asarray(part.size)[node], "i4"),
        "log_d": encode(np.where(np.isnan(log_d), -np.inf, log_d), "f4"),
        "height": encode(np.asarray(part.height, dtype=np.float64)[node], "f4"),
        "start": encode(before[tree["start"]], "i4"),
        "stop": encode(before[tree["stop"]], "i4"),
        "order": encode(along[along >= 0], "i4"),
        "roots": tree["roots"],
        "cut": float(part.cut),
        "ticks": [[float(position), str(text)] for position, text in part.ticks],
        "join": part.join,
    }


def _draws(draws: DrawsPart) -> dict[str, Any]:
    k = np.asarray(draws.n_clusters).astype(np.int64)
    low = int(k.min())
    by_chain = np.stack([np.bincount(chain - low, minlength=int(k.max()) - low + 1) for chain in k]) / k.shape[1]
    traces = [
        {
            "name": str(name),
            "draws": k.shape[1],
            "chains": [_thin(chain) for chain in np.asarray(values, dtype=np.float64)],
        }
        for name, values in draws.quantities.items()
    ]
    return {
        "counts": {
            "k": list(range(low, int(k.max()) + 1)),
            "probability": [round(float(p), 5) for p in by_chain.mean(axis=0)],
            "by_chain": [[round(float(p), 5) for p in chain] for chain in by_chain],
        },
        "traces": traces,
    }


def _thin(chain: NDArray[np.float64]) -> dict[str, Any]:
    """At most `MOST_DRAWS` values: the least and the greatest of every stretch, so that no spike is lost."""
    at = np.arange(len(chain))
    if len(chain) > MOST_DRAWS:
        stretches = np.array_split(at, MOST_DRAWS // 2)
        at = np.unique([s[pick(chain[s])] for s in stretches for pick in (np.argmin, np.argmax)])
    return {"at": encode(at, "i4"), "value": encode_numbers(chain[at])}


def _similarity(part: SimilarityPart, place: LongArray) -> dict[str, Any]:
    blocks = np.asarray(part.blocks, dtype=np.float64)
    edges = np.asarray(part.edges, dtype=np.int64)
    along = place[np.asarray(part.order, dtype=np.int64)]
    seen = along >= 0
    cell = np.searchsorted(edges, np.arange(len(along)), side="right") - 1
    half = np.rint(255 * np.clip(blocks, 0.0, 1.0))[np.tril_indices(len(blocks))]
    return {
        "cells": len(blocks),
        "half": encode(half, "u1"),
        "edges": encode(edges, "i4"),
        "order": encode(along[seen], "i4"),
        "at": encode(cell[seen], "i4"),
    }
