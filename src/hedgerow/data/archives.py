"""Tables in NumPy archives: an array by name, or a sparse matrix as SciPy writes it, each compared with the bytes that are there."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hedgerow.data.csr import read_csr
from hedgerow.data.guarded import memory_for, too_large
from hedgerow.data.npy import read_npy
from hedgerow.errors import ParameterError

__all__ = ["read_npz"]


def read_npz(place: Path, wanted: str | None) -> Any:
    """An array, or the sparse matrix of an archive; what members declare decides, before memory is taken for them."""
    with open(place, "rb") as raw, zipfile.ZipFile(raw) as archive:
        sizes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
        arrays = _Arrays(archive, sizes, place)
        if {"format", "shape", "data"} <= set(sizes):
            return _read_sparse(arrays, place)
        names = list(sizes)
        name = wanted or ("X" if "X" in names else names[0] if len(names) == 1 else "")
        if name not in names:
            raise ParameterError(
                f"{place}: must have the array {name or 'X'!r}, or only one, or say which (array). It has {', '.join(names)}."
            )
        return arrays[name]


class _Arrays:
    """The arrays of an npz file by name, each read when it is asked for; no more is read than a member declares."""

    def __init__(self, archive: zipfile.ZipFile, sizes: Mapping[str, int], place: Path) -> None:
        self._archive, self._sizes, self._place, self._left = archive, sizes, place, memory_for(place)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        self._left -= self._sizes.get(name, 0)
        if self._left < 0:
            raise too_large(self._place, memory_for(self._place))
        member = name if name in self._archive.namelist() else f"{name}.npy"
        with self._archive.open(member) as file:
            return read_npy(file, self._sizes[name])[0]


def _read_sparse(arrays: _Arrays, place: Path) -> Any:
    """A matrix as `scipy.sparse.save_npz` writes it, its indices checked: SciPy's loops believe them."""
    form = arrays["format"].item()
    form = form.decode("ascii") if isinstance(form, bytes) else str(form)
    shape = tuple(int(length) for length in np.ravel(arrays["shape"]))
    if len(shape) != 2:
        raise ParameterError(f"{place}: must hold a table of rows and columns. Got {len(shape)} axes.")
    if min(shape) < 0 or sum(shape) > place.stat().st_size + 10_000_000:  # rows and columns cost memory even where they are empty
        raise ParameterError(f"{place}: must be of a size that its contents make likely. It declares {shape[0]:,} by {shape[1]:,}.")
    if form in ("csr", "csc"):
        turned = read_csr(arrays["data"], arrays["indices"], arrays["indptr"], shape if form == "csr" else shape[::-1])
        found = turned if form == "csr" else turned.T
    elif form == "coo":
        found = sparse.coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=shape)
    else:
        raise ParameterError(f"{place}: must hold a sparse matrix in csr, csc or coo form. Got {form[:20]!r}.")
    return sparse.csr_array(found)
