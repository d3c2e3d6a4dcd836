"""Mixture(prior, likelihood): the only place where the two meet, and the density that every sampler targets.

    p(X, partition, u) = p(partition, u) prod_c p(X_c)          Lee & Choi, NIPS 2015, eq. 4 and 7

The prior gives the first factor, with u integrated out where that has a closed form; the likelihood gives the
others. A power below 1 raises the density of every row to it (coarsening: Miller & Dunson, JASA 2019):

    target(partition, u) ∝ p(partition, u) prod_c ∫ H(dθ) prod_(i in c) L(x_i | θ)^power

which is no longer a posterior of the model, but says how the rows would cluster if each were worth that share of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.arguments import real_number
from hedgerow.data.views import as_labels
from hedgerow.errors import require
from hedgerow.likelihoods import LIKELIHOODS, Likelihood, Preparation
from hedgerow.likelihoods.base import bind_at
from hedgerow.priors import LAWS, PRIORS, Prior
from hedgerow.priors.laws import positive_number

__all__ = ["MODEL_CLASSES", "Mixture"]


LEAST_POWER = 1e-9
"""A billion rows are then worth one."""


@dataclass(frozen=True, repr=False)
class Mixture:
    """A prior over partitions and a likelihood for the rows of each cluster.

    Parameters
    ----------
    prior : Prior
        Such as `DP()`, `NGG()` or `PitmanYor()`.
    likelihood : Likelihood
        Such as `GaussianWishart()`, `GaussianDiagonal()` or `Multinomial()`.
    power : float in (0, 1]
        What the density of every row is raised to. 1 is the posterior; less asks for a coarser partition, for data whose clusters
        have another shape than the likelihood's. The prior counts whole rows. Log joints, bounds and evidences at
        different powers cannot be compared; predictions and densities of new rows use the likelihood itself.
    worth : float above 0, optional
        Instead of a power: a table of n rows is worth about so many of them, power = worth / (worth + n), which `resolve` fills in.

    >>> from hedgerow.data import ring13
    >>> from hedgerow.likelihoods import GaussianWishart
    >>> from hedgerow.priors import DP
    >>> model = Mixture(DP(alpha=1.0), GaussianWishart())
    >>> X, labels, _ = ring13(n=130)
    >>> model.log_joint(X, labels) > model.log_joint(X, labels // 2)
    True
    >>> model = model.resolve(X)
    >>> model.is_resolved, type(model.bind(X)).__name__
    (True, 'Likelihood')
    """

    prior: Prior
    likelihood: Likelihood
    power: float = 1.0
    worth: float | None = None

    def __post_init__(self) -> None:
        """Refuse anything but an instance of each kind, in the right order, and a power that is none."""
        _check_part("prior", self.prior, Prior, Likelihood, "such as DP() or NGG()")
        _check_part("likelihood", self.likelihood, Likelihood, Prior, "such as GaussianWishart() or Multinomial()")
        power = real_number(self.power)
        require(LEAST_POWER <= power <= 1, "Mixture", "power", self.power, f"lie in (0, 1], at least {LEAST_POWER:.0e}")
        object.__setattr__(self, "power", power)
        if self.worth is not None:
            object.__setattr__(self, "worth", positive_number("Mixture", "worth", self.worth))
            require(power == 1, "Mixture", "power", self.power, "be left out when worth is given, which decides it")
        able = self.likelihood.allows_power or (power == 1 and self.worth is None)
        wanted = f"be left out: {type(self.likelihood).__name__} cannot be raised to a power"
        require(able, "Mixture", "power" if self.worth is None else "worth", power if self.worth is None else self.worth, wanted)

    def __repr__(self) -> str:
        """The call that makes this model; power and worth only where they were given."""
        rest = f", power={self.power!r}" if self.power != 1 else "" if self.worth is None else f", worth={self.worth!r}"
        return f"Mixture(prior={self.prior!r}, likelihood={self.likelihood!r}{rest})"

    @property
    def is_resolved(self) -> bool:
        """Whether the likelihood has all its hyper-parameters, and the power is known."""
        return self.likelihood.is_resolved and self.worth is None

    def resolve(self, X: Any, rows: int | None = None) -> Mixture:
        """The same model with the likelihood's open hyper-parameters taken from X, and the power from its number of rows.

        `rows` is that number where X is only a part of them.

        Parameters
        ----------
        X : table
        rows : int, optional

        Returns
        -------
        Mixture
        """
        likelihood = self.likelihood.resolve(X)
        if self.worth is None:
            return replace(self, likelihood=likelihood)
        n = likelihood.check(X).shape[0] if rows is None else rows
        return Mixture(self.prior, likelihood, max(self.worth / (self.worth + n), LEAST_POWER))

    def bind(self, data: Any) -> _core.Likelihood:
        """The likelihood on the rows of checked data, at the power of the model, in compiled form; the model must be resolved.

        Parameters
        ----------
        data : array or sparse matrix
            As `likelihood.check` gives it.

        Returns
        -------
        _core.Likelihood
        """
        require(self.worth is None, "Mixture", "worth", self.worth, "be a power here: call resolve(X) first")
        return bind_at(self.likelihood, data, self.power)

    def log_joint(self, X: Any, labels: npt.ArrayLike, u: Any = None, *, times: Any = None, **values: Any) -> float:
        """log p(X, partition, u) of the rows of X under the given labels.

        Leave u out to integrate over it, which `DP` and `PitmanYor` can do. `values` are hyper-parameters of
        the prior by name; those not given are at their fixed value, or at the mean of their law. A likelihood
        with open hyper-parameters is resolved with X first. Under a `MixedNRM` prior `times` gives the group of
        every row, u holds one value per group, and alpha may hold one per basis measure.

        Parameters
        ----------
        X : table
        labels : (n,)
        u : float or array-like, optional
        times : (n,), optional
        **values :
            Hyper-parameters by name.

        Returns
        -------
        float
        """
        known = self.prior.values()
        for name, value in values.items():
            wanted = f"be a hyper-parameter of {type(self.prior).__name__} ({', '.join(known)})"
            require(name in known, "Mixture", name, value, wanted)
            _check_value(name, value, self.prior.grouped)
        bound = self.resolve(X).bind(X)
        whole = getattr(bound, "n_imputed", 0) == 0
        require(
            whole, "Mixture", "X", X, "have no missing entries here, where they would have to be filled in: log p(X) has no formula"
        )
        partition = as_labels(labels, bound.n_rows, "Mixture")
        log_likelihood = float(bound.log_marginals(partition).sum())
        grouping = self.prior.group(times, bound.n_rows, "Mixture")
        if grouping is None:
            require(u is None or _is_positive(u), "Mixture", "u", u, "be a finite number above 0, or None")
            return float(self.prior.log_partition(np.bincount(partition), u, **values)) + log_likelihood
        xi = np.array(u, dtype=float, ndmin=1)
        good = u is not None and xi.shape == (len(grouping.levels),) and bool((np.isfinite(xi) & (xi > 0)).all())
        require(good, "Mixture", "u", u, f"hold one finite number above 0 for each of the {len(grouping.levels)} groups")
        counts = np.zeros((int(partition.max()) + 1, len(grouping.levels)))
        np.add.at(counts, (partition, grouping.codes), 1.0)
        return self.prior.log_grouped(counts, xi, grouping, **values) + log_likelihood


MODEL_CLASSES: Mapping[str, type] = {
    cls.__name__: cls for cls in (Mixture, *PRIORS, *LAWS, Preparation, *(family for family in LIKELIHOODS if family.from_values))
}
"""Classes that a stored model may consist of, by name."""


def _check_value(name: str, value: Any, grouped: bool) -> None:
    """A hyper-parameter that some measure can have; under a dependent prior alpha may be one for each basis measure."""
    several = grouped and name == "alpha" and np.ndim(value) == 1
    numbers = [real_number(one) for one in (np.asarray(value).tolist() if several else [value])]
    if name == "sigma":
        require(all(0 <= number < 1 for number in numbers), "Mixture", name, value, "be a number in [0, 1)")
    else:
        good = len(numbers) > 0 and all(1e-300 <= number <= 1e300 for number in numbers)
        require(good, "Mixture", name, value, "be a finite number above 0, between 1e-300 and 1e+300")


def _check_part(name: str, part: object, wanted: type, other: type, examples: str) -> None:
    """An instance of `wanted`, or words for the usual slips: the class itself, or the two swapped."""
    if isinstance(part, type) and issubclass(part, wanted | other):
        require(False, "Mixture", name, part, f"be an instance, not the class: write {part.__name__}()")
    swapped = isinstance(part, other)
    require(not swapped, "Mixture", name, part, f"be a {name}: the prior comes first, the likelihood second")
    require(isinstance(part, wanted), "Mixture", name, part, f"be a {name}, {examples}")


def _is_positive(u: object) -> bool:
    return 0 < real_number(u) < np.inf
