"""The house's colours: clusters, probabilities, similarity; computed here, used by every drawing.

The eight cluster colours were searched for: under full colour vision and under simulated protanopia,
deuteranopia and tritanopia (Machado, Oliveira & Fernandes 2009) any two differ by at least 0.09 in OKLab.
Clusters past the eighth take hues a golden angle apart, in three bands of lightness, so that neighbours in
rank never look alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.arguments import wholes_of
from hedgerow.errors import require

__all__ = [
    "CLUSTER_COLORS",
    "INK",
    "MUTED",
    "cluster_colors",
    "mix_colors",
    "probability_colors",
]

CLUSTER_COLORS = ("#388bc8", "#e19c57", "#674491", "#54cdb1", "#8e4127", "#c16887", "#757f30", "#b6a0ed")
INK = "#2b3036"  # text and axes
MUTED = "#8b939c"  # what should stay behind the data
GRID = "#e6e4df"
PROBABILITY_STOPS = ("#c2622d", "#c9c4ba", "#1f5f8b")  # P(h) = 0, 1/2, 1: the cut lies on the grey
SIMILARITY_STOPS = ("#ffffff", "#9cc7de", "#1f5f8b", "#12314c")  # never together ... always together

GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


def cluster_colors(labels: ArrayLike) -> NDArray[np.float64]:
    """RGB colours (K, 3) of the clusters 0..K-1 of a canonical labelling; larger clusters choose first.

    Ranking by size keeps the eight best colours for what fills the picture, whatever the numbering.

    Parameters
    ----------
    labels : (n,)

    Returns
    -------
    (K, 3)

    >>> cluster_colors([0, 0, 1]).shape
    (2, 3)
    """
    labels = wholes_of("cluster_colors", "labels", labels)
    require(labels.ndim == 1, "cluster_colors", "labels", labels, "be a vector of cluster numbers")
    require(labels.size == 0 or int(labels.min()) >= 0, "cluster_colors", "labels", labels, "be 0, 1, 2, ...")
    sizes = np.bincount(labels)
    colors = np.empty((len(sizes), 3))
    colors[np.argsort(-sizes, kind="stable")] = ranked_colors(len(sizes))
    return colors


def ranked_colors(k: int) -> NDArray[np.float64]:
    """The first `k` cluster colours (k, 3) in order of preference; chains have them too."""
    fixed = [hex_to_rgb(color) for color in CLUSTER_COLORS[:k]]
    extra = np.arange(max(0, k - len(CLUSTER_COLORS)))
    lightness = np.array([0.82, 0.66, 0.42])[extra % 3]
    generated = oklch_to_rgb(lightness, np.full(len(extra), 0.13), 4.56 + GOLDEN_ANGLE * extra)
    return np.vstack([*fixed, generated]) if k else np.empty((0, 3))


def probability_colors(probability: ArrayLike) -> NDArray[np.float64]:
    """RGB colours of P(h), rust at 0, grey at 1/2 (the cut), deep blue at 1.

    Parameters
    ----------
    probability : (m,)
        What lies outside [0, 1] gets the colour of the nearer end.

    Returns
    -------
    (m, 3)

    >>> probability_colors([0.0, 0.5, 1.0]).shape
    (3, 3)
    """
    return mix_colors(probability, PROBABILITY_STOPS)


def mix_colors(amount: ArrayLike, stops: tuple[str, ...]) -> NDArray[np.float64]:
    """Colours (..., 3) at `amount` in [0, 1] along evenly spaced `stops`."""
    amount = np.clip(np.asarray(amount, dtype=np.float64), 0.0, 1.0)
    table = np.array([hex_to_rgb(stop) for stop in stops])
    at = np.linspace(0.0, 1.0, len(stops))
    return np.stack([np.interp(amount, at, channel) for channel in table.T], axis=-1)


def hex_to_rgb(color: str) -> NDArray[np.float64]:
    """The three channels of "#rrggbb" in [0, 1]."""
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0


def oklch_to_rgb(lightness: NDArray[np.float64], chroma: NDArray[np.float64], hue: NDArray[np.float64]) -> NDArray[np.float64]:
    """OKLCH (Ottosson 2020) to sRGB, clipped to what a screen can show."""
    a, b = chroma * np.cos(hue), chroma * np.sin(hue)
    cone = np.stack(
        [
            lightness + 0.3963377774 * a + 0.2158037573 * b,
            lightness - 0.1055613458 * a - 0.0638541728 * b,
            lightness - 0.0894841775 * a - 1.2914855480 * b,
        ],
        axis=-1,
    )
    to_linear = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = np.clip(cone**3 @ to_linear.T, 0.0, 1.0)
    srgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.asarray(srgb, dtype=np.float64)
