"""Tempered: parallel tempering along powers of the likelihood, so that chains cross between modes that lie far apart.

Beside the chain there are copies of it, rungs, whose target has the likelihood of every row at a lower power: there clusters are
fewer, and come and go with less to pay. Each is moved by a kernel of its own; then neighbours on the ladder trade the whole of
(Π, u, η), the partition and what the prior carries, with probability min(1, r),

    log r = sum_c [log p_a(X_c') - log p_b(X_c')] - sum_c [log p_a(X_c) - log p_b(X_c)]

where a > b are the powers of the two, c the clusters of the upper and c' those of the lower rung. What the prior says cancels. The
product of all targets is left invariant (Geyer 1991), so the draws of the highest rung are those of the posterior.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import real_number
from hedgerow.errors import ParameterError, require
from hedgerow.kernels.base import Kernel, Site
from hedgerow.kernels.gibbs import Gibbs
from hedgerow.kernels.tree_guided import TreeGuided

__all__ = ["Tempered"]


@dataclass(frozen=True)
class Tempered(Kernel):
    """A kernel with copies of its chain at lower powers of the likelihood that trade places with it; leaves the posterior invariant.

    An iteration moves every rung, so it takes about as many times as long as there are rungs, the chain's own among them.

    Parameters
    ----------
    powers : float or sequence of float
        Of the rungs below the chain's own, falling, each above 0 and below 1, as shares of the model's power.
    kernel : Kernel, optional
        How every rung moves; `TreeGuided()` if left out.

    >>> import hedgerow as hr
    >>> model, X = hr.Mixture(hr.DP(), hr.GaussianWishart()), hr.data.ring13(n=65).X
    >>> post = hr.sample(model, X, kernel=Tempered([0.8, 0.6], hr.Gibbs()), draws=10, warmup=10, chains=1, seed=0)
    >>> post.sample_stats["trade_2"].shape
    (1, 10)
    """

    powers: Any
    kernel: Kernel = field(default_factory=TreeGuided)

    def __post_init__(self) -> None:
        """Refuse powers that are none or do not fall, and what is no kernel."""
        given = self.powers if isinstance(self.powers, Iterable) and not isinstance(self.powers, str | bytes) else (self.powers,)
        numbers = tuple(real_number(power) for power in given)
        falling = len(numbers) > 0 and all(0 < low < high for low, high in zip(numbers, (1.0, *numbers), strict=False))
        require(falling, "Tempered", "powers", self.powers, "be falling numbers above 0 and below 1")
        require(isinstance(self.kernel, Kernel), "Tempered", "kernel", self.kernel, "be a kernel such as TreeGuided()")
        require(not isinstance(self.kernel, Tempered), "Tempered", "kernel", self.kernel, "be a kernel without rungs of its own")
        require(self.kernel.exact, "Tempered", "kernel", self.kernel, "be exact")
        object.__setattr__(self, "powers", numbers)

    @property
    def adapts(self) -> bool:
        """Whether the kernel of its rungs does."""
        return self.kernel.adapts

    @classmethod
    def examples(cls) -> tuple[Kernel, ...]:
        """With rungs of one power and of several, and with few moves beside the trades."""
        return (cls((0.6, 0.2)), cls((0.4,), Gibbs(subset=1)))

    def to_core(self, site: Site) -> _core.Kernel:
        """The compiled recipe."""
        wanted = "be left out where X has missing entries that are filled in: a filling belongs to one power"
        require(getattr(site.likelihood, "n_imputed", 0) == 0, "Tempered", "powers", self.powers, wanted)
        if site.at_power is None:
            raise ParameterError("Site(at_power=None): at_power must be there for Tempered, which has rungs at powers. Got None.")
        rungs = [site.at_power(power) for power in self.powers]
        return _core.tempered(self.kernel.to_core(site), rungs, site.prior, site.groups)

    def record(self, stats: Mapping[str, npt.NDArray[np.float64]]) -> dict[str, Any]:
        """Powers, the share of trades between neighbours that were made, and the way up and down the ladder of each chain.

        `round_trips` counts copies that came back to the chain's own rung from the lowest, in 1,000 iterations: none means that
        nothing of the lowest rung has reached the chain yet.
        """
        traded = [round(float(np.mean(stats[f"trade_{k}"])), 3) for k in range(1, len(self.powers) + 1)]
        trips = [round(1000 * float(rate), 1) for rate in np.mean(stats["trips"], axis=1)]
        return {"temper": {"powers": list(self.powers), "traded": traded, "round_trips": trips}}
