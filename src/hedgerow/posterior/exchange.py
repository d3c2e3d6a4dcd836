"""Posterior to ArviZ: an InferenceData with the partition, the traces, the kernel's statistics and the data."""

from __future__ import annotations

import warnings
from typing import Any

from hedgerow.errors import need_extra
from hedgerow.posterior.traced import Traced

__all__ = ["inference_data"]


def inference_data(draws: Traced, labels: Any, X: Any) -> Any:
    """An `arviz.InferenceData`: n_clusters and traces; lp and the kernel's statistics; labels (chain, draw, n) and dense data, if any.

    Sparse data are left out: a dense copy could be larger than memory.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # ArviZ announces its next major version at import
        arviz = need_extra("arviz", "arviz")
    traces = draws.traces()
    observed = None if X is None else {"X": X}
    named = {} if labels is None else {"labels": labels}
    dims = {"labels": ["point"], "X": ["point", "column"]}
    dims |= {name: [f"{name}_component"] for name, trace in traces.items() if trace.ndim == 3}
    return arviz.from_dict(
        posterior={**named, "n_clusters": draws.n_clusters, **traces},
        sample_stats={"lp": draws.log_joint, **draws.sample_stats},
        observed_data=observed,
        dims=dims,
        attrs={"model": repr(draws.model), **{f"run_{key}": _plain(value) for key, value in draws.run.items()}},
    )


def _plain(value: Any) -> Any:
    """What a netCDF attribute can hold."""
    return value if isinstance(value, (int, float, str)) and not isinstance(value, bool) else str(value)
