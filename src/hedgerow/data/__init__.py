"""Data in: validated views of X, labels and times; toy generators and three classic sets."""

from __future__ import annotations

from hedgerow.data.classics import Classic, digits, iris, wine
from hedgerow.data.copies import Copies
from hedgerow.data.files import Dataset, read
from hedgerow.data.frame import Frame, Series
from hedgerow.data.kinds import ColumnKind, Reading, understand
from hedgerow.data.tables import feature_names
from hedgerow.data.toys import Toy, documents, moving_clusters, pitman_yor_mixture, ring13
from hedgerow.data.views import as_counts, as_dense, as_labels, as_times, canonical

__all__ = [
    "Classic",
    "ColumnKind",
    "Copies",
    "Dataset",
    "Frame",
    "Reading",
    "Series",
    "Toy",
    "as_counts",
    "as_dense",
    "as_labels",
    "as_times",
    "canonical",
    "digits",
    "documents",
    "feature_names",
    "iris",
    "moving_clusters",
    "pitman_yor_mixture",
    "read",
    "ring13",
    "understand",
    "wine",
]
