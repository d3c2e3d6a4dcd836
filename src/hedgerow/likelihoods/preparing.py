"""The preparations that columns of measurements call for, by rules that look at the columns alone.

* Resolution. A column whose entries are multiples of a unit (whole numbers, two decimals, steps of 25) stands for intervals, unless the
  unit is a thousandth of its spread or less.
* Spikes. A value that at least 5 % of the rows share exactly, ten times as many as share others, in a column that is otherwise
  measured in two hundred steps or more, is no measurement but an answer of its own: none, off, the end of the scale.
* Scale. A column of twenty values or more goes on a log or Yeo-Johnson scale only where a mixture of bell curves, fitted to the
  column alone, then gains at least 0.1 nats a row, the Jacobian counted.
"""

from __future__ import annotations

import math
from hashlib import blake2b

import numpy as np

from hedgerow import _core
from hedgerow.likelihoods.base import FloatArray
from hedgerow.likelihoods.fitting import tree_score
from hedgerow.likelihoods.moments import column_means, column_variances
from hedgerow.likelihoods.preparation import MOST_UNITS, NEAR, Preparation, off_the_grid

__all__ = ["follows_from_others", "preparation_of", "told"]

FINEST = 1e-3  # of a column's spread: a unit below it is too fine to matter
SPIKE_SHARE, SPIKE_TIMES, SPIKE_STEPS, LEAST_DIFFERENT = 0.05, 10, 200, 20
MOST_SPIKES = 8
LEAST_GAIN, LEAST_SKEW = 0.1, 0.5
LEAST_ROWS, MOST_ROWS = 20, 500
SHAPES = np.arange(0.0, 2.01, 0.05)
SHARES, SHAPE = (0.03, 0.12, 0.5), 3.5
EXACT = 1e-8
MOST_KNOWN = 4096
_known: dict[bytes, Preparation] = {}


def preparation_of(x: FloatArray, own: tuple[float, ...] = ()) -> Preparation:
    """The preparation of one column, `own` answers of their own whatever their share.

    One that was looked at before is known, as several models of the same columns are compared.
    """
    word = blake2b(np.append(x, own).tobytes(), digest_size=16).digest()
    found = _known.get(word)
    if found is None:
        found = _prepared(x, own)
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[word] = found
    return found


def _prepared(x: FloatArray, own: tuple[float, ...]) -> Preparation:
    seen = x[~np.isnan(x)]
    values = own or _spikes(seen)
    seen = seen[~np.isin(seen, values)]
    found = Preparation(unit=_unit(seen), spikes=values)
    return _rescaled(seen, found)


def told(column: Preparation) -> str:
    """The preparation in words, as the end of a reason; empty if there is none."""
    words = []
    if column.spikes:
        words.append(f"{', '.join(f'{value:g}' for value in column.spikes)} taken for an answer of its own")
    if column.unit:
        words.append(f"in steps of {column.unit:g}")
    if column.scale != "as is":
        words.append("on a log scale" if column.scale == "log" else f"on a Yeo-Johnson scale ({column.shape:.2g})")
    return "".join(f"; {word}" for word in words)


def follows_from_others(X: FloatArray) -> list[int]:
    """The columns that are exact linear functions of columns before them."""
    rows = X[~np.isnan(X).any(axis=1)]
    if len(rows) <= X.shape[1] + 1:
        return []
    Z = (rows - column_means(rows)) / np.sqrt(column_variances(rows))
    R = np.linalg.qr(Z, mode="r")
    thin = np.flatnonzero(np.abs(np.diag(R)) <= EXACT * np.sqrt(len(rows)))
    found: list[int] = []
    for j in thin:  # diagonal entries after the first small one say little: each is looked at by itself
        before = [k for k in range(j) if k not in found]
        weights = np.linalg.lstsq(Z[:, before], Z[:, j], rcond=None)[0] if before else np.empty(0)
        if np.abs(Z[:, j] - Z[:, before] @ weights).max() <= EXACT * max(1.0, float(np.abs(Z[:, j]).max())):
            found.append(int(j))
    return found


def _unit(seen: FloatArray) -> float:
    """The unit of which all entries are multiples; 0 if there is none, or it is too fine to matter."""
    different = np.unique(seen)
    if len(different) < 2:
        return 0.0
    low, high = np.quantile(seen, [0.25, 0.75])
    wide = min((high - low) / 1.35, float(seen.std())) if high > low else float(seen.std())
    largest, nearest = float(np.abs(different).max()), float(np.diff(different).min())
    for power in range(-6, 13):
        fine = 10.0**-power
        if fine < FINEST * wide:
            return 0.0
        steps = different / fine
        if largest / fine <= MOST_UNITS and fine <= (1 + NEAR) * nearest and bool((np.abs(steps - np.round(steps)) <= NEAR).all()):
            common = math.gcd(*(int(step) for step in np.round(np.abs(steps)))) if len(different) >= 5 else 1
            return fine * max(common, 1)
    return 0.0


def _spikes(seen: FloatArray) -> tuple[float, ...]:
    """Values that many rows share, where the others are measured finely."""
    if len(seen) < LEAST_ROWS:
        return ()
    values, counts = np.unique(seen, return_counts=True)
    often = counts >= max(SPIKE_SHARE * len(seen), 3)
    rest = seen[~np.isin(seen, values[often])]
    if not often.any() or often.sum() > MOST_SPIKES or len(values) - often.sum() < LEAST_DIFFERENT:
        return ()
    often &= counts >= SPIKE_TIMES * counts[~often].mean()
    low, high = np.quantile(rest, [0.05, 0.95])
    unit = _unit(rest)
    return tuple(values[often].tolist()) if unit == 0 or high - low >= SPIKE_STEPS * unit else ()


def _rescaled(seen: FloatArray, column: Preparation) -> Preparation:
    """The same with the scale on which the column is best described, where that gains enough."""
    if len(np.unique(seen)) < LEAST_DIFFERENT or abs(_skew(seen)) < LEAST_SKEW:
        return column
    if len(seen) > MOST_ROWS:
        seen = seen[np.sort(np.random.default_rng(0).choice(len(seen), MOST_ROWS, replace=False))]
    x = off_the_grid(seen[:, None], (column,))[:, 0]
    tried = [_yeo_johnson(x, column)]
    if seen.min() > 0 and x.min() > 0:
        tried.append(Preparation(column.unit, "log", spikes=column.spikes))
    plain = _score(x, column)
    gains = [(_score(x, one) - plain) / len(x) for one in tried]
    best = int(np.argmax(gains))
    return tried[best] if gains[best] >= LEAST_GAIN else column


def _yeo_johnson(x: FloatArray, column: Preparation) -> Preparation:
    """The Yeo-Johnson scale on which the column is nearest to one bell curve."""
    size = float(np.median(np.abs(x[x != 0])))
    made = [Preparation(column.unit, "yeo-johnson", float(shape), size, column.spikes) for shape in SHAPES]
    logs = [one.log_slope(x).sum() - len(x) / 2 * np.log(max(one.forward(x).var(), 1e-300)) for one in made]
    return made[int(np.argmax(logs))]


def _score(x: FloatArray, column: Preparation) -> float:
    """Log joint of the best tree of bell curves on the scale, in the unit of the column."""
    y = np.ascontiguousarray(column.forward(x)[:, None])
    mean, variance = column_means(y), column_variances(y)
    r, a = np.array([0.1]), np.array([SHAPE])
    trees = [tree_score(_core.GaussianDiagonal(y, mean, r, a, share * (SHAPE - 1) * variance, 1.0)) for share in SHARES]
    return max(trees) + float(column.log_slope(x).sum())


def _skew(x: FloatArray) -> float:
    spread = float(x.std())
    return float((((x - x.mean()) / spread) ** 3).mean()) if spread > 0 else 0.0
