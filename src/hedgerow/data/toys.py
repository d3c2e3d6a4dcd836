"""Generated data sets with known labels: the papers' experiments and small demonstrations.

ring13               the 13-cluster ring of Lee & Choi, NIPS 2015, section 4.1
pitman_yor_mixture   Gaussian mixtures with Pitman-Yor cluster sizes, as in NIPS 2015, section 4.2
moving_clusters      clusters that come, stay and go: Lee & Choi, AISTATS 2014, section 4.1
documents            sparse word counts, one topic per document

Every generator is a function of its arguments and its seed only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.arguments import check_whole, generator, real_number
from hedgerow.data.views import canonical
from hedgerow.docstrings import explained
from hedgerow.errors import require

__all__ = ["Toy", "documents", "moving_clusters", "pitman_yor_mixture", "ring13"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
MOST = 1_000_000
"""Words of a text and clusters born a step."""
Seed = int | np.random.Generator | None


class Toy(NamedTuple):
    """A data set with its true labels: X, labels (canonical), times (None if there are none).

    Attributes
    ----------
    X : (n, d) array or sparse matrix
    labels : (n,) int32
    times : (n,) int64 or None

    >>> X, labels, times = ring13(n=26)
    >>> X.shape, times is None
    ((26, 2), True)
    """

    X: Any
    labels: IntArray
    times: npt.NDArray[np.int64] | None = None


_toy = explained("seed : int or numpy.random.Generator", "Toy")


@_toy
def ring13(n: int = 1300, seed: Seed = 0) -> Toy:
    """One round cluster at the origin and twelve on a ring round it, elongated along the radius.

    The n points are shared out equally; rows come cluster by cluster, the centre first. Every third cluster
    of the ring lies at radius 1.30, the others at 1.17; standard deviations are 0.14 along and 0.07 (at 1.30)
    or 0.09 (at 1.17) across the radius, and 0.12 for the centre.

    Parameters
    ----------
    n : int
        Rows.

    >>> len(set(ring13(n=130).labels))
    13
    """
    check_whole("ring13", "n", n)
    rng = generator("ring13", seed)
    labels = np.sort(np.arange(n, dtype=np.int32) % 13)
    angle = np.radians(90.0 - 30.0 * np.arange(12))
    far = np.arange(12) % 3 == 0
    radius = np.concatenate([[0.0], np.where(far, 1.30, 1.17)])
    along = np.concatenate([[0.12], np.full(12, 0.14)])
    across = np.concatenate([[0.12], np.where(far, 0.07, 0.09)])
    radial = np.concatenate([[[1.0, 0.0]], np.column_stack([np.cos(angle), np.sin(angle)])])
    tangent = np.column_stack([-radial[:, 1], radial[:, 0]])
    z = rng.standard_normal((n, 2))
    X = (radius[labels] + along[labels] * z[:, 0])[:, None] * radial[labels]
    X += (across[labels] * z[:, 1])[:, None] * tangent[labels]
    return Toy(X, labels)


@_toy
def pitman_yor_mixture(
    n: int = 10_000, d: int = 6, theta: float = 3.0, sigma: float = 0.3, separation: float = 4.0, seed: Seed = 0
) -> Toy:
    """A d-dimensional Gaussian mixture whose labels are a draw from the Pitman-Yor process PY(theta, sigma).

    Each cluster has its own full covariance S ~ inverse Wishart(0.6 I, d + 2) and a mean from
    N(0, separation**2 S). NIPS 2015 prints PY(3, 0.8) for its 10,000 points in six dimensions, but that law
    expects some 2,500 clusters where the authors' set has 119; sigma = 0.3 expects 108, hence the default.

    Parameters
    ----------
    n, d : int
        Rows and columns.
    theta, sigma : float
        Of the Pitman-Yor process.
    separation : float
        How far apart clusters lie, in their own standard deviations.

    >>> pitman_yor_mixture(n=100, d=2).X.shape
    (100, 2)
    """
    owner = "pitman_yor_mixture"
    check_whole(owner, "n", n)
    check_whole(owner, "d", d)
    require(0 <= real_number(sigma) < 1, owner, "sigma", sigma, "lie in [0, 1)")
    require(0 < real_number(theta) < np.inf, owner, "theta", theta, "be positive")
    require(0 <= real_number(separation) < np.inf, owner, "separation", separation, "be 0 or more")
    rng = generator(owner, seed)
    labels = _pitman_yor_labels(n, theta, sigma, rng)
    X = np.empty((n, d))
    order = np.argsort(labels, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
        # S = 0.6 (A A')^-1 with A A' ~ Wishart(I, d + 2); A'^-1 z has covariance (A A')^-1.
        A = rng.standard_normal((d, d + 2))
        root = np.sqrt(0.6) * np.linalg.inv(np.linalg.cholesky(A @ A.T)).T
        mean = separation * (root @ rng.standard_normal(d))
        X[rows] = mean + rng.standard_normal((len(rows), d)) @ root.T
    return Toy(X, labels)


def moving_clusters(
    n: int = 100,
    steps: int = 15,
    births: float = 1.0,
    survival: float = 0.7,
    seed: Seed = 0,
    *,
    centre_sd: float = 10.0**0.5,
    point_sd: float = 1.5**0.5,
) -> Toy:
    """Time-varying clusters in the plane: n points per living centre at each of the steps 1, 2, ...

    At each step Poisson(births) new centres are drawn from N(0, centre_sd**2 I) and every earlier centre takes
    part with probability `survival`, whether or not it did at the step before; each centre that takes part emits
    n points from N(centre, point_sd**2 I). The paper prints 10 and 1.5 as variances, the defaults here; its figure
    has them as standard deviations, which sets the clusters apart: centre_sd=10, point_sd=1.5. A step that would
    stay empty gets one new centre, so that every step has data (the paper's recipe allows an empty first step).

    Parameters
    ----------
    n : int
        Rows of each centre at a step.
    steps : int
    births, survival : float
        New centres a step, and the probability that an old one takes part.
    seed : int or numpy.random.Generator
    centre_sd, point_sd : float
        Standard deviations of centres and of rows round them.

    Returns
    -------
    Toy

    >>> sorted(set(moving_clusters(n=5, steps=3).times.tolist()))
    [1, 2, 3]
    """
    owner = "moving_clusters"
    check_whole(owner, "n", n)
    check_whole(owner, "steps", steps)
    require(0 <= real_number(births) <= MOST, owner, "births", births, f"lie between 0 and {MOST:,}")
    require(0 <= real_number(survival) <= 1, owner, "survival", survival, "lie in [0, 1]")
    for name, value in (("centre_sd", centre_sd), ("point_sd", point_sd)):
        require(0 <= real_number(value) < np.inf, owner, name, value, "be 0 or more")
    rng = generator(owner, seed)
    centres = np.empty((0, 2))
    X, labels, times = [], [], []
    for step in range(1, steps + 1):
        alive = np.flatnonzero(rng.random(len(centres)) < survival)
        born = int(rng.poisson(births))
        if len(alive) + born == 0:
            born = 1
        alive = np.concatenate([alive, len(centres) + np.arange(born)])
        centres = np.concatenate([centres, centre_sd * rng.standard_normal((born, 2))])
        here = np.repeat(alive, n)
        X.append(centres[here] + point_sd * rng.standard_normal((len(here), 2)))
        labels.append(here)
        times.append(np.full(len(here), step, dtype=np.int64))
    return Toy(np.concatenate(X), np.concatenate(labels).astype(np.int32), np.concatenate(times))


@_toy
def documents(n: int = 200, words: int = 1000, topics: int = 5, length: float = 80.0, seed: Seed = 0) -> Toy:
    """Word counts of n documents as a SciPy CSR array: one topic each, about `length` words a document.

    A topic is a draw from a Dirichlet law centred on Zipf's, so that topics share their frequent words and
    differ in the rest. Every document has at least one word.

    Parameters
    ----------
    n, words, topics : int
        Documents, columns and clusters.
    length : float
        Words of a document, on average.

    >>> documents(n=20, words=50).X.shape
    (20, 50)
    """
    owner = "documents"
    check_whole(owner, "n", n)
    for name, value in (("words", words), ("topics", topics)):
        check_whole(owner, name, value)
    require(0 < real_number(length) <= MOST, owner, "length", length, f"be positive, at most {MOST:,}")
    rng = generator(owner, seed)
    zipf = 1.0 / np.arange(1.0, words + 1.0)
    concentration = 0.2 * words * zipf / zipf.sum()
    # 1e-300 keeps a topic a distribution when every one of a few small gammas underflows.
    topic = rng.standard_gamma(np.broadcast_to(concentration, (topics, words))) + 1e-300
    topic /= topic.sum(axis=1, keepdims=True)
    labels = canonical(rng.integers(topics, size=n))
    totals = np.maximum(rng.poisson(length, size=n), 1)
    # Row by row and straight to (column, count) pairs: n x words is never held.
    columns, counts, ends = [], [], [0]
    for label, total in zip(labels, totals, strict=True):
        found, times_seen = np.unique(rng.choice(words, size=total, p=topic[label]), return_counts=True)
        columns.append(found)
        counts.append(times_seen)
        ends.append(ends[-1] + len(found))
    data = np.concatenate(counts).astype(np.float64)
    X = sparse.csr_array((data, np.concatenate(columns).astype(np.int32), np.array(ends)), shape=(n, words))
    return Toy(X, labels)


def _pitman_yor_labels(n: int, theta: float, sigma: float, rng: np.random.Generator) -> IntArray:
    """A partition from PY(theta, sigma), one point at a time, in O(1) each.

    An old cluster c is drawn with weight |c| - sigma by drawing an earlier point and keeping its cluster with
    probability (|c| - sigma) / |c|.
    """
    labels = np.zeros(n, dtype=np.int32)
    sizes = [1]
    for i in range(1, n):
        if rng.random() * (theta + i) < theta + sigma * len(sizes):
            labels[i] = len(sizes)
            sizes.append(1)
            continue
        while True:
            c = int(labels[rng.integers(i)])
            if rng.random() * sizes[c] < sizes[c] - sigma:
                break
        labels[i] = c
        sizes[c] += 1
    return labels
