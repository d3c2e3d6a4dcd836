"""A user's Python function held by the core is part of Python's cycles: nothing is left at exit, nothing is freed too early."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import weakref
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.sampling import Chain
from hedgerow.trees import TreeStream

SCRIPT = textwrap.dedent("""
    import numpy as np, hedgerow as hr
    from hedgerow.sampling import Chain
    from hedgerow.trees import TreeStream

    def statistics(X): return np.column_stack([np.ones(len(X)), X[:, 0]])
    def marginal(s): return -(2 + s[:, 0]) * np.log(1 + s[:, 1])

    X = np.random.default_rng(0).gamma(1, 1, (20, 2))
    own = hr.Custom(statistics, marginal)
    model = hr.Mixture(hr.DP(1.0), own)
    mixed = hr.Mixture(hr.DP(1.0), hr.Product({(0,): own, (1,): hr.GaussianDiagonal()}))
    # All of these are globals, as the functions are: cycles through the core, each of another kind.
    bound = own.resolve(X).bind(X)
    product = mixed.resolve(X).likelihood.bind(X)
    chain = Chain(mixed, X, hr.Gibbs(), seed=0)
    chain.run(2)
    stream = TreeStream(model, seed=0)
    stream.add(X), stream.add(X)
    forest = hr.ibhc(model, X, seed=0)
    post = hr.sample(model, X, draws=2, warmup=2, chains=2, seed=0)
""")


def test_exit_prints_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


class Family:
    """Functions with an owner, to see when they go; `held` makes the cycle."""

    held: Any = None

    def statistics(self, X: Any) -> Any:
        return np.column_stack([np.ones(len(X)), X[:, 0]])

    def marginal(self, s: Any) -> Any:
        return -(2 + s[:, 0]) * np.log(1 + s[:, 1])


X = np.random.default_rng(0).gamma(1, 1, (20, 1))


def bound(family: Family) -> Any:
    return hr.Custom(family.statistics, family.marginal, columns=1).bind(X)


def chain(family: Family) -> Any:
    return Chain(hr.Mixture(hr.DP(1.0), hr.Custom(family.statistics, family.marginal)), X, hr.Gibbs(), seed=0)


def stream(family: Family) -> Any:
    made = TreeStream(hr.Mixture(hr.DP(1.0), hr.Custom(family.statistics, family.marginal)), seed=0)
    made.add(X)
    return made


@pytest.mark.parametrize("make", [bound, chain, stream])
def test_a_cycle_is_collected_when_nobody_holds_it(make) -> None:
    family = Family()
    family.held = make(family)
    gone = weakref.ref(family)
    gc.collect()
    assert gone() is not None
    del family
    gc.collect()
    assert gone() is None


def test_what_is_in_use_is_not_collected() -> None:
    family = Family()
    family.held = own = chain(family)
    gone = weakref.ref(family)
    del family
    gc.collect()
    assert gone() is not None
    assert np.isfinite(own.run(3).log_joint).all()
