"""Three classic real data sets, loaded from scikit-learn and read into the same shape as the toys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow.data.views import canonical
from hedgerow.docstrings import explained

__all__ = ["Classic", "digits", "iris", "wine"]


class Classic(NamedTuple):
    """A real data set with its classes: X, labels (canonical), the names of columns and of classes.

    Attributes
    ----------
    X : (n, d)
    labels : (n,) int32
    feature_names, class_names : tuple of str

    >>> iris().class_names
    ('setosa', 'versicolor', 'virginica')
    """

    X: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int32]
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]


_classic = explained(returns="Classic")


@_classic
def iris() -> Classic:
    """Fisher's iris flowers: 150 rows, 4 measurements, 3 species.

    >>> iris().X.shape
    (150, 4)
    """
    return _load("load_iris")


@_classic
def wine() -> Classic:
    """Italian wines: 178 rows, 13 chemical measurements in very different units, 3 cultivars.

    >>> wine().feature_names[:2]
    ('alcohol', 'malic_acid')
    """
    return _load("load_wine")


@_classic
def digits() -> Classic:
    """Handwritten digits: 1,797 images of 8 x 8 pixels, 0 to 16 each, 10 classes.

    >>> digits().X.shape
    (1797, 64)
    """
    return _load("load_digits")


def _load(loader: str) -> Classic:
    # Imported here: scikit-learn takes a second, which `import hedgerow.data` should not.
    from sklearn import datasets

    bunch = getattr(datasets, loader)()
    target = np.asarray(bunch.target)
    _, first = np.unique(target, return_index=True)
    names = [str(bunch.target_names[target[row]]) for row in np.sort(first)]
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    return Classic(X, canonical(target), tuple(map(str, bunch.feature_names)), tuple(names))
