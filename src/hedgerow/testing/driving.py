"""Running any kernel the same way: a house kernel through `Chain`, anything else through a one-method
protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hedgerow.docstrings import explained
from hedgerow.errors import ParameterError, require
from hedgerow.kernels import Kernel
from hedgerow.mixture import Mixture
from hedgerow.sampling import Chain

__all__ = ["KernelDraws", "PythonKernel", "drive", "of_simulated", "require_simulable"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]
Values = Mapping[str, float]
"""Hyper-parameters by name."""


#: What a test of a kernel on data that it simulates takes.
of_simulated = explained(
    """
    kernel, seed, level : as for `check_kernel`
    model : Mixture
        Resolved, and its likelihood must be able to `simulate`.
    n : int
        Rows of the simulated data.
    """
)


def require_simulable(model: Any, owner: str) -> None:
    """Refuse a model that data cannot be simulated from."""
    require(isinstance(model, Mixture), owner, "model", model, "be a Mixture")
    require(model.is_resolved, owner, "model", model, "be resolved, as there are no data to resolve it with")
    require(model.power == 1, owner, "model", model, "have power 1: data of a coarsened model cannot be simulated")


class KernelDraws(NamedTuple):
    """Consecutive draws of one chain, one row per iteration.

    Attributes
    ----------
    labels : (iterations, n) int32
    u : (iterations,)
    values : dict
        Hyper-parameters by name, (iterations,) each.
    log_joint : (iterations,), optional

    >>> draws = KernelDraws(np.zeros((2, 3), dtype=np.int32), np.ones(2), {})
    >>> draws.labels.shape
    (2, 3)
    """

    labels: Labels
    """(iterations, n), canonical."""
    u: Floats
    values: dict[str, Floats]
    """The sampled hyper-parameters by name, and the prior's auxiliaries if the kernel carries them."""
    log_joint: Floats | None = None
    """The chain's own account of log p(Π, u, X), if it keeps one."""


@runtime_checkable
class PythonKernel(Protocol):
    """What a kernel written in Python must offer to be examined.

    >>> from hedgerow.testing import ReferenceGibbs
    >>> isinstance(ReferenceGibbs(), PythonKernel), callable(ReferenceGibbs().run)
    (True, True)
    """

    def run(
        self, model: Any, X: Any, labels: Labels, u: float, iterations: int, rng: Generator, *, values: Values, update_u: bool
    ) -> KernelDraws:
        """Advance from (labels, u, values) by `iterations` steps and return every state after a step.

        `model` is a resolved `Mixture` and X is checked data. Hyper-parameters with a law are to be updated;
        u only when `update_u`.

        Parameters
        ----------
        model : Mixture
        X : checked data
        labels : (n,)
        u : float
        iterations : int
        rng : numpy.random.Generator
        values : mapping
            Hyper-parameters by name.
        update_u : bool

        Returns
        -------
        KernelDraws
        """


def drive(
    kernel: Kernel | PythonKernel,
    model: Any,
    X: Any,
    labels: Labels,
    u: float,
    values: Values,
    iterations: int,
    seed: int,
    sequence: int,
    update_u: bool,
    warmup: int = 0,
) -> KernelDraws:
    """Run one chain and keep what follows the first `warmup` steps, in which a kernel may adapt as it does in `sample`.

    The same (seed, sequence) gives the same draws.
    """
    moving = (*model.prior.laws(), *model.prior.auxiliaries)
    if isinstance(kernel, Kernel):
        chain = Chain(
            model,
            X,
            kernel,
            labels=labels,
            seed=seed,
            sequence=sequence,
            # Fixed hyper-parameters are left to the prior's own account of itself in compiled form.
            start={"u": u, **{name: values[name] for name in moving if name in values}},
            update_u=update_u,
            update_hyper=bool(model.prior.laws()),
        )
        chain.warm_up(warmup, 0, warmup)
        block = chain.run(iterations)
        traces = {name: getattr(block, name) for name in ("log_u", *moving)}
        with np.errstate(over="ignore"):
            return KernelDraws(block.labels, np.exp(traces.pop("log_u")), traces, block.log_joint)
    if not isinstance(kernel, PythonKernel):
        raise ParameterError(
            f"check_kernel(kernel={kernel!r}): kernel must be a Kernel, or have a method run as in "
            f"hedgerow.testing.PythonKernel. Got {kernel!r}."
        )
    rng = np.random.default_rng([seed, sequence])
    run = kernel.run(model, X, labels, u, warmup + iterations, rng, values=values, update_u=update_u)
    kept = {name: trace[warmup:] for name, trace in run.values.items()}
    return KernelDraws(run.labels[warmup:], run.u[warmup:], kept, None if run.log_joint is None else run.log_joint[warmup:])
