"""Plots: pure geometry (`*_geometry`, `palette`) first, then drawing on a given or a new matplotlib axes.

Everything takes plain arrays. Drawing needs the `plot` extra, asked for at call time; geometry does not.
"""

from __future__ import annotations

from hedgerow.plots.dendrogram import dendrogram
from hedgerow.plots.flow import FlowGeometry, flow, flow_geometry
from hedgerow.plots.heatmap import similarity_map
from hedgerow.plots.matrix_geometry import block_means, cluster_runs, seriate
from hedgerow.plots.palette import cluster_colors, probability_colors
from hedgerow.plots.plane_geometry import Plane, plane
from hedgerow.plots.points import density, density_map, pairs, scatter
from hedgerow.plots.series import cluster_posterior, popularity, trace
from hedgerow.plots.series_geometry import ClusterCounts, cluster_counts, stacked_bands, thin_trace
from hedgerow.plots.tree_geometry import (
    Dendrogram,
    TreeScale,
    cut_clusters,
    dendrogram_geometry,
    leaf_order,
    merge_probability,
    tree_heights,
)

__all__ = [
    "ClusterCounts",
    "Dendrogram",
    "FlowGeometry",
    "Plane",
    "TreeScale",
    "block_means",
    "cluster_colors",
    "cluster_counts",
    "cluster_posterior",
    "cluster_runs",
    "cut_clusters",
    "dendrogram",
    "dendrogram_geometry",
    "density",
    "density_map",
    "flow",
    "flow_geometry",
    "leaf_order",
    "merge_probability",
    "pairs",
    "plane",
    "popularity",
    "probability_colors",
    "scatter",
    "seriate",
    "similarity_map",
    "stacked_bands",
    "thin_trace",
    "trace",
    "tree_heights",
]
