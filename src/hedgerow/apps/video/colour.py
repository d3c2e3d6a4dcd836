"""CIELAB colours of 8-bit sRGB frames, in single precision: the space in which supervoxels are found and compared.

sRGB (IEC 61966-2-1) to XYZ under D65, then L* in [0, 100] and a*, b* about [-87, 99] and [-108, 95]. The 256
possible values of a channel are made linear by a table, so a chunk of video costs little more than its three
cube roots.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["to_lab"]

_RGB_TO_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
_WHITE = np.array([0.95047, 1.0, 1.08883])
_LINEAR_PART = 0.008856


def _linear_table() -> npt.NDArray[np.float32]:
    value = np.arange(256) / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return linear.astype(np.float32)


_LINEAR = _linear_table()
_TO_WHITE = (_RGB_TO_XYZ / _WHITE[:, None]).T.astype(np.float32)


def to_lab(frames: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """L*, a*, b* of RGB values 0..255 on the last axis.

    >>> import numpy as np
    >>> to_lab(np.array([255, 255, 255], np.uint8)).round().tolist()
    [100.0, -0.0, 0.0]
    """
    xyz = _LINEAR[frames] @ _TO_WHITE
    root = np.where(xyz > _LINEAR_PART, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    lab = np.empty(frames.shape, dtype=np.float32)
    lab[..., 0] = 116.0 * root[..., 1] - 16.0
    lab[..., 1] = 500.0 * (root[..., 0] - root[..., 1])
    lab[..., 2] = 200.0 * (root[..., 1] - root[..., 2])
    return lab
