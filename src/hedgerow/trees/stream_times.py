"""The times of a stream: groups in order of appearance, under a prior that has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.data.groups import read_levels
from hedgerow.errors import ParameterError, require
from hedgerow.priors import Prior
from hedgerow.priors.base import Grouping

__all__ = ["StreamTimes"]

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]


class StreamTimes:
    """The groups met so far, in order of appearance, with their rows of the mixing matrix."""

    def __init__(self, names: npt.NDArray[Any] | None = None, q: FloatArray | None = None) -> None:
        self.names, self.q = names, q

    def check(self, prior: Prior) -> None:
        """Refuse times that this prior cannot have met: the core trusts their mixing matrix."""
        if self.names is None and self.q is None:
            return
        good = prior.grouped and self.names is not None and self.q is not None and self.names.ndim in (1, 2)
        require(good, "TreeStream", "times", self.names, "be those of a prior with groups")
        _, grouping = StreamTimes().read(prior, self.names, len(self.names))  # type: ignore[arg-type]
        same = grouping is not None and np.array_equal(grouping.codes, np.arange(len(grouping.codes)))
        same = same and grouping is not None and np.array_equal(grouping.q, self.q)  # type: ignore[arg-type]
        require(same, "TreeStream", "times", self.names, "be distinct, and mixed as the prior says")

    def grouping(self, codes: IntArray) -> Grouping | None:
        """Rows in these groups; None under a prior without groups."""
        if self.names is None or self.q is None:
            return None
        levels, _ = read_levels(self.names, None, "TreeStream")
        return Grouping(codes, levels, self.q)

    def read(self, prior: Prior, times: Any, n: int) -> tuple[StreamTimes, Grouping | None]:
        """The groups of a batch, and the times with what is new in it; the same object when nothing is."""
        owner = "TreeStream"
        if not prior.grouped:
            prior.group(times, n, owner)
            return self, None
        if times is None:
            raise ParameterError(f"{owner}(times=None): times must be given, one per row of X: the prior is a {type(prior).__name__}.")
        levels, codes = read_levels(times, n, owner)
        names = levels.names
        known = [] if self.names is None else [_key(name) for name in self.names]
        fresh = [i for i, name in enumerate(names) if _key(name) not in set(known)]
        after = self
        if fresh:
            together = names[fresh] if self.names is None else np.concatenate([self.names, names[fresh]])
            whole = prior.group(together, None, owner)
            assert whole is not None
            q = np.ascontiguousarray(whole.q[whole.codes])  # rows in order of appearance
            if self.q is not None:
                same = q.shape[1] == self.q.shape[1] and np.array_equal(q[: len(self.q)], self.q)
                wanted = "leave the groups before it where they are: give MixedNRM a basis of its own, and labels or dates in order"
                require(same, owner, "times", times, wanted)
            after = StreamTimes(together, q)
        assert after.names is not None
        number = {_key(name): i for i, name in enumerate(after.names)}
        stable = np.array([number[_key(name)] for name in names], np.int32)
        return after, after.grouping(np.ascontiguousarray(stable[codes]))


def _key(name: Any) -> Any:
    return tuple(name.tolist()) if np.ndim(name) else name.item()
