"""ReferenceGibbs: the reference sampler as a kernel that can sit the exam, slow and meant to be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import expit

from hedgerow.priors import Law, Prior
from hedgerow.reference import gibbs
from hedgerow.reference import prior as law_of
from hedgerow.testing.driving import KernelDraws, Labels, Values
from hedgerow.testing.partitions import subset_log_marginals

__all__ = ["ReferenceGibbs"]


class ReferenceGibbs:
    """One sweep, then u, then the sampled hyper-parameters (`hedgerow.reference.gibbs`); a few rows only.

    The methods are the places where a planted error fits: `log_marginal`, `weights`, `move_u`, `move_values`.

    >>> import hedgerow as hr
    >>> class TooFewClusters(ReferenceGibbs):
    ...     def log_marginal(self, value):
    ...         return value - 1.0
    >>> model, X = hr.Mixture(hr.DP(), hr.GaussianWishart()), [[0.0], [0.5], [3.0]]
    >>> hr.testing.check_kernel(TooFewClusters(), model, X, replicates=16, iterations=100).passed
    False
    """

    def run(
        self, model: Any, X: Any, labels: Labels, u: float, iterations: int, rng: Generator, *, values: Values, update_u: bool
    ) -> KernelDraws:
        """The steps of a chain.

        Parameters
        ----------
        model, X, labels, u, iterations, rng, values, update_u :
            As for `PythonKernel.run`.

        Returns
        -------
        KernelDraws

        >>> import hedgerow as hr
        >>> X = np.array([[0.0], [0.1], [9.0]])
        >>> model, start = hr.Mixture(hr.DP(), hr.GaussianWishart()).resolve(X), np.zeros(3, dtype=np.int32)
        >>> rng = np.random.default_rng(0)
        >>> ReferenceGibbs().run(model, X, start, 1.0, 4, rng, values={"alpha": 1.0}, update_u=False).labels.shape
        (4, 3)
        """
        prior, n, state = model.prior, len(labels), dict(values)
        table = subset_log_marginals(model, X).tolist()
        bits = [1 << i for i in range(n)]
        cache: dict[frozenset[int], float] = {}

        def log_marginal(cluster: frozenset[int]) -> float:
            if cluster not in cache:
                cache[cluster] = self.log_marginal(table[sum(bits[i] for i in cluster)])
            return cache[cluster]

        clusters = gibbs.clusters_of(labels)
        kept = np.empty((iterations, n), dtype=np.int32)
        trace_u = np.empty(iterations)
        traces = {name: np.empty(iterations) for name in prior.laws()}
        for step in range(iterations):
            log_old, log_new = self.weights(prior, u, state, update_u)
            clusters = gibbs.sweep(clusters, log_marginal, log_old, log_new, rng)
            sizes = [len(c) for c in clusters]
            if update_u and not prior.u_integrates:
                u = self.move_u(u, n, len(sizes), prior.measure(state), rng)
            state = self.move_values(prior, state, sizes, u, rng)
            kept[step], trace_u[step] = gibbs.labels_of(clusters, n), u
            for name, trace in traces.items():
                trace[step] = state[name]
        return KernelDraws(kept, trace_u, traces)

    def log_marginal(self, value: float) -> float:
        """log p(X_c) of a cluster, given its true value.

        Parameters
        ----------
        value : float

        Returns
        -------
        float
        """
        return value

    def weights(self, prior: Prior, u: float, values: Values, update_u: bool) -> gibbs.Weights:
        """The weights of joining and of opening a cluster; with u integrated out where that has a closed
        form.

        Parameters
        ----------
        prior : Prior
        u : float
        values : mapping
            Hyper-parameters by name.
        update_u : bool
            Whether u moves.

        Returns
        -------
        Weights

        >>> from hedgerow import DP
        >>> weights = ReferenceGibbs().weights(DP(), 1.0, {"alpha": 1.0}, True)
        """
        urn = prior.urn(values) if update_u else None
        if urn is not None:
            return gibbs.py_weights(*urn)
        return gibbs.nrm_weights(u, *prior.measure(values))

    def move_u(self, u: float, n: int, K: int, measure: tuple[float, float, float], rng: Generator) -> float:
        """u given the partition.

        Parameters
        ----------
        u : float
        n, K : int
            Rows and clusters.
        measure : (α, σ, τ)
        rng : numpy.random.Generator

        Returns
        -------
        float

        >>> ReferenceGibbs().move_u(1.0, 10, 2, (1.0, 0.3, 1.0), np.random.default_rng(0)) > 0
        True
        """
        return gibbs.update_u(u, n, K, *measure, rng)

    def move_values(self, prior: Prior, values: Values, sizes: Sequence[int], u: float, rng: Generator) -> dict[str, float]:
        """Every hyper-parameter with a law, one after the other.

        Parameters
        ----------
        prior : Prior
        values : mapping
            Hyper-parameters by name.
        sizes : sequence of int
            Rows of each cluster.
        u : float
        rng : numpy.random.Generator

        Returns
        -------
        dict

        >>> from hedgerow import NGG, Gamma
        >>> prior = NGG(alpha=Gamma(1, 1))
        >>> sorted(ReferenceGibbs().move_values(prior, prior.values(), [3, 2], 1.0, np.random.default_rng(0)))
        ['alpha', 'sigma', 'tau']
        """
        values = dict(values)
        for name, law in prior.laws().items():
            if prior.u_integrates:
                values[name] = self.move_integrated(name, law, prior, values, sizes, rng)
            else:
                values[name] = self.move_measure(name, (law.a, law.b), prior.measure(values), sizes, u, rng)
        return values

    def move_integrated(self, name: str, law: Law, prior: Prior, values: Values, sizes: Sequence[int], rng: Generator) -> float:
        """A hyper-parameter given the partition alone, on the log or the logit scale, whose Jacobian belongs to the density.

        Parameters
        ----------
        name : str
            Of the hyper-parameter.
        law : Gamma or Beta
        prior : Prior
        values : mapping
            Hyper-parameters by name.
        sizes : sequence of int
            Rows of each cluster.
        rng : numpy.random.Generator

        Returns
        -------
        float

        >>> from hedgerow import DP, Gamma
        >>> prior = DP(Gamma(1, 1))
        >>> ReferenceGibbs().move_integrated("alpha", Gamma(1, 1), prior, prior.values(), [3, 2], np.random.default_rng(0)) > 0
        True
        """

        def log_density(x: float) -> float:
            return float(law.log_density(x) + prior.log_partition(sizes, **{**values, name: x}))

        if law.unit:
            return gibbs.update_fraction(values[name], lambda v: log_density(float(expit(v))) - 2 * float(np.logaddexp(0, v)) + v, rng)
        return gibbs.update_positive(values[name], lambda v: log_density(float(np.exp(v))) + v, rng)

    def move_measure(
        self,
        name: str,
        law: tuple[float, float],
        measure: tuple[float, float, float],
        sizes: Sequence[int],
        u: float,
        rng: Generator,
    ) -> float:
        """α, σ or τ of a normalized random measure given the partition and u.

        Parameters
        ----------
        name : {"alpha", "sigma", "tau"}
        law : (a, b)
            Of the Gamma or Beta law.
        measure : (α, σ, τ)
        sizes, u, rng : as for `move_values`

        Returns
        -------
        float

        >>> ReferenceGibbs().move_measure("alpha", (1.0, 1.0), (1.0, 0.3, 1.0), [3, 2], 1.0, np.random.default_rng(0)) > 0
        True
        """
        alpha, sigma, tau = measure
        if name == "alpha":
            return gibbs.update_alpha(len(sizes), u, sigma, tau, law, rng)
        if name == "sigma":
            return gibbs.update_fraction(sigma, lambda x: law_of.sigma_log_density(x, sizes, u, alpha, tau, *law), rng)
        return gibbs.update_positive(tau, lambda x: law_of.tau_log_density(x, sizes, u, alpha, sigma, *law), rng)
