"""Reading npy data with suspicion: what a header declares is compared with the bytes that are there before memory is taken."""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np
import numpy.typing as npt

__all__ = ["read_npy"]

_KINDS = "biufcUSMm"  # plain numbers, fixed-width texts and times: what an npy file holds without pickling
_LARGEST_HEADER = 10_000
_CHUNK = 1 << 22


def read_npy(file: IO[bytes], size: int) -> tuple[npt.NDArray[Any], tuple[int, int], bool]:
    """An array from a file or an archive's member of `size` bytes, its npy version, and whether it was in Fortran order.

    Raises ValueError for whatever is not exactly one whole array of plain entries.
    """
    prefix = io.BytesIO(file.read(min(size, _LARGEST_HEADER + 12)))
    try:
        version = np.lib.format.read_magic(prefix)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"npy version {version}")
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read_header(prefix, max_header_size=_LARGEST_HEADER)
    except Exception as error:  # NumPy's parser of Python literals stumbles over a stranger's header in many ways
        raise ValueError(f"a broken header ({type(error).__name__})") from error
    length = size - prefix.tell()
    count = 1
    for extent in shape:
        if type(extent) is not int or extent < 0:
            raise ValueError("a shape that is not what it declares")
        count *= extent  # Python's integers: no overflow
    if dtype.kind not in _KINDS or dtype.hasobject or dtype.itemsize == 0 or count * dtype.itemsize != length or len(shape) > 32:
        raise ValueError("contents that are not what it declares")
    buffer = bytearray(length)
    filled = 0
    chunk = prefix.read()
    while chunk:  # the read that meets the end of an archive's member compares its checksum
        buffer[filled : filled + len(chunk)] = chunk
        filled += len(chunk)
        chunk = file.read(_CHUNK)
    if filled != length:
        raise ValueError("an early end")
    array: npt.NDArray[Any] = np.frombuffer(buffer, dtype=dtype) if length else np.empty(0, dtype)
    return array.reshape(shape, order="F" if fortran else "C"), version, bool(fortran)
