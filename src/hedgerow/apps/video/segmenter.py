"""The online segmenter: chunk by chunk, supervoxels are clustered together with the segments that were there before.

Segments are clusters of a mixture over chunks (Lee & Choi, AISTATS 2014, section 4.2): chunk t is group t of a
`MixedNRM`, a row is the colour histogram of a supervoxel, x ~ Multinomial(theta), theta ~ Dirichlet(beta), and only
sets that touch may be joined (eq. 37). Incremental BHC runs on the supervoxels of the new chunk and on the earlier
segments that reach its first frame, each as one row that pools its histograms.

What has been said stays said: a cluster with one earlier segment extends it, a cluster without one is a new
segment, and a cluster with several is divided among them along its tree, since earlier segments never merge
afterwards (the hierarchy over segments will join them at once). So labels of a chunk are final when the chunk is done.

Over the segments stands a hierarchy, in one of two ways: by the model of colours alone (`hedgerow.apps.video.hierarchy`), or
by surroundings and edges as well (`hedgerow.apps.video.joining`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.apps.video.hierarchy import LARGEST_TOTAL, Hierarchy, join_segments
from hedgerow.apps.video.joining import Borders, JoinSettings, join_at_borders
from hedgerow.apps.video.supervoxels import BINS, Supervoxels, seam_contacts
from hedgerow.errors import require
from hedgerow.likelihoods import Multinomial
from hedgerow.mixture import Mixture
from hedgerow.trees import Forest, ibhc

__all__ = ["SegmentSums", "Segmenter"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class SegmentSums:
    """Sums over the voxels of every segment, one row each."""

    counts: Ints
    """(n, 60) colour histograms"""
    voxels: Ints
    colours: Floats
    """(n, 3) of R, G, B"""
    places: Floats
    """(n, 2) of row and column"""

    @classmethod
    def empty(cls) -> SegmentSums:
        """No segments yet."""
        return cls(np.zeros((0, BINS), np.int64), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 2)))

    def add(self, labels: Ints, pieces: Supervoxels, n: int) -> None:
        """Add supervoxels to the segments that `labels` says, of which there are n now."""
        for name, part in (
            ("counts", pieces.counts),
            ("voxels", pieces.sizes),
            ("colours", pieces.colour_sums),
            ("places", pieces.place_sums),
        ):
            setattr(self, name, grown(getattr(self, name), labels, part, n))


def grown(sums: npt.NDArray[Any], rows: Ints, values: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """Sums with room for n rows, and these values added to theirs."""
    larger = np.concatenate([sums, np.zeros((n - len(sums), *sums.shape[1:]), sums.dtype)])
    np.add.at(larger, rows, values)
    return larger


@dataclass(frozen=True)
class _Pairs:
    """Rows that touch, each pair once, with the faces they share and the colour differences across them."""

    one: npt.NDArray[np.integer]
    other: npt.NDArray[np.integer]
    faces: Ints
    contrast: Floats

    def connectivity(self, n: int) -> sparse.csr_array:
        """The faces as a symmetric matrix."""
        pairs = (np.concatenate([self.one, self.other]), np.concatenate([self.other, self.one]))
        return sparse.coo_array((np.concatenate([self.faces, self.faces]), pairs), shape=(n, n)).tocsr()


class Segmenter:
    """Takes the supervoxels of one chunk after the other and names their segments.

    Parameters
    ----------
    model : Mixture
        A prior (a `MixedNRM` sees each chunk as a group) and a `Multinomial` of histograms.
    seed : int
        Decides the order in which rows are inserted, and the auxiliary variables of the prior.
    passes : int
        Passes of incremental BHC over a chunk; after the first, every row is taken out and put in again.
    """

    def __init__(self, model: Mixture, seed: int = 0, passes: int = 3) -> None:
        colours = model.likelihood
        require(isinstance(colours, Multinomial), "Segmenter", "model", model, "have a Multinomial likelihood")
        self.model = model
        self.beta = cast(Multinomial, colours).beta
        self.seed = seed
        self.passes = passes
        self.n_segments = 0
        self.sums = SegmentSums.empty()
        self._chunk = 0
        self._last_frame: tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]] | None = None
        self._borders = Borders()
        self._surroundings: npt.NDArray[np.float32] = np.zeros((0, BINS), np.float32)

    def push(self, pieces: Supervoxels) -> npt.NDArray[np.int32]:
        """Labels (frames, rows, columns) of the next chunk, numbered on from the segments so far."""
        earlier, rows = self._connect(pieces)
        k, n = len(earlier), len(earlier) + pieces.n
        histograms = np.concatenate([self._remembered(earlier), pieces.counts])
        times = np.full(n, self._chunk)
        times[:k] -= 1
        connectivity = rows.connectivity(n)
        forest = ibhc(
            self.model,
            sparse.csr_array(histograms),
            passes=self.passes,
            repair="bhc",
            connectivity=connectivity,
            times=times if self.model.prior.grouped else None,
            seed=int(np.random.SeedSequence((self.seed, self._chunk)).generate_state(1)[0]),
        )
        clusters = divide(forest, k, connectivity)
        names = self._name(clusters, earlier)
        self._borders.add(names[rows.one], names[rows.other], rows.faces, rows.contrast)
        self.sums.add(names[k:], pieces, self.n_segments)
        self._surroundings = grown(self._surroundings, names[k:], pieces.surroundings, self.n_segments)
        labels = names[k:].astype(np.int32)[pieces.labels]
        self._last_frame = labels[-1], pieces.ends[1]
        self._chunk += 1
        return labels

    def hierarchy(self, joins: JoinSettings | None = None) -> Hierarchy:
        """The tree over all segments so far: by the model alone, or by surroundings and edges too, which count as `joins` says."""
        if joins is None:
            return join_segments(self.model, self.sums.counts, self._borders.touching(self.n_segments))
        around = self._surroundings * np.float32(joins.surroundings)
        return join_at_borders([self.sums.counts, around], self.beta, self._borders, joins.edges)

    def _connect(self, pieces: Supervoxels) -> tuple[Ints, _Pairs]:
        """The earlier segments that reach the chunk, and which rows touch: those segments first, then supervoxels."""
        inside = sparse.triu(pieces.contacts, format="coo")
        contrast = sparse.triu(pieces.contrasts, format="coo").data
        if self._last_frame is None:
            return np.zeros(0, np.int64), _Pairs(inside.row, inside.col, inside.data, contrast)
        before, colours = self._last_frame
        segment, piece, faces, across = seam_contacts(before, pieces.labels[0], colours, pieces.ends[0])
        earlier, row = np.unique(segment, return_inverse=True)
        k = len(earlier)
        return earlier, _Pairs(
            np.concatenate([inside.row + k, row]),
            np.concatenate([inside.col + k, piece + k]),
            np.concatenate([inside.data, faces]),
            np.concatenate([contrast, across]),
        )

    def _remembered(self, earlier: Ints) -> Ints:
        """Their histograms; scaled down where a long clip has brought more counts than the core can hold."""
        counts = self.sums.counts[earlier]
        total = float(counts.sum())
        return counts if total <= LARGEST_TOTAL else np.ceil(counts * (LARGEST_TOTAL / total)).astype(np.int64)

    def _name(self, clusters: Ints, earlier: Ints) -> Ints:
        """The segment of every row: that of the earlier one in its cluster, or the next free number."""
        numbers, cluster = np.unique(clusters, return_inverse=True)
        names = np.full(len(numbers), -1, dtype=np.int64)
        names[cluster[: len(earlier)]] = earlier
        new = np.flatnonzero(names < 0)
        first_row = np.full(len(numbers), len(clusters))
        np.minimum.at(first_row, cluster, np.arange(len(clusters)))
        names[new[np.argsort(first_row[new])]] = self.n_segments + np.arange(len(new))
        self.n_segments += len(new)
        return names[cluster]


def divide(forest: Forest, k: int, contacts: sparse.csr_array) -> Ints:
    """A cluster for every row such that no cluster holds two of the first k rows.

    Trees with at most one of them stay whole. Others are cut at every node above two of them; a subtree that this
    leaves with none goes to the part of the same tree with which it shares the most faces.
    """
    n = forest.n
    top, root, held = _cut_between(forest, k)
    part = top[:n].copy()
    loose = (held[part] == 0) & (held[root[:n]] > 1)
    pairs = contacts.tocoo()
    same_tree = root[pairs.row] == root[pairs.col]
    row, column, faces = pairs.row[same_tree], pairs.col[same_tree], pairs.data[same_tree]
    while loose.any():
        edge = loose[row] & ~loose[column]
        if not edge.any():  # the rest touches nothing that has a name: it stays apart as new clusters
            break
        size = len(forest.left)
        keys, which = np.unique(part[row[edge]] * size + part[column[edge]], return_inverse=True)
        shared = np.bincount(which, faces[edge])
        piece, target = keys // size, keys % size
        order = np.lexsort((-shared, piece))
        best = order[np.unique(piece[order], return_index=True)[1]]
        goes_to = np.full(size, -1, dtype=np.int64)
        goes_to[piece[best]] = target[best]
        moved = loose & (goes_to[part] >= 0)
        part[moved] = goes_to[part[moved]]
        loose &= ~moved
    return part


def _cut_between(forest: Forest, k: int) -> tuple[Ints, Ints, Ints]:
    """For every node: the top of its part after cutting, its root, and how many of the first k rows it holds."""
    left, right, parent = forest.left.tolist(), forest.right.tolist(), forest.parent.tolist()
    size, n = len(left), forest.n
    held = [1 if node < k else 0 for node in range(size)]
    for node in range(n, size):
        held[node] = held[left[node]] + held[right[node]]
    top, root = list(range(size)), list(range(size))
    for node in range(size - 1, -1, -1):
        above = parent[node]
        if above >= 0:
            root[node] = root[above]
            if held[above] <= 1:
                top[node] = top[above]
    return np.array(top), np.array(root), np.array(held)
