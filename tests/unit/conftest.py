"""What several unit tests begin with: data that are stored outside the repository, and posteriors over given partitions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.likelihoods import GaussianWishart
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.priors import NGG, Beta, Gamma
from hedgerow.summaries import canonical

DATA = Path(os.environ.get("HEDGEROW_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))


@pytest.fixture
def stored() -> Callable[[str], dict[str, Any]]:
    """The arrays of an archive among the data; without it the test is skipped."""

    def read(name: str) -> dict[str, Any]:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"{name} is not in {DATA}; set HEDGEROW_DATA to the folder that holds it")
        with np.load(path) as file:
            return dict(file)

    return read


@pytest.fixture
def make() -> Callable[..., Posterior]:
    """A posterior over given partitions, hyper-parameters at the prior's values."""

    def posterior(model: Mixture, X: Any, labels: Any, **changes: Any) -> Posterior:
        data = model.likelihood.check(X)
        model = model.resolve(data)
        stack = canonical(labels)
        alpha, sigma, tau = model.prior.measure({"alpha": 1.0, **model.prior.values()})
        fill = {"log_u": np.log(1.3), "alpha": alpha, "sigma": sigma, "tau": tau}
        if "theta" in model.prior.values():
            fill["theta"] = model.prior.values()["theta"]
        traces = {name: np.full(stack.shape[:2], float(value)) for name, value in fill.items()}
        joints = np.random.default_rng(0).normal(size=stack.shape[:2])
        given = {"labels": stack, "log_joint": joints, "X": data, "model": model, **traces, **changes}
        return Posterior(**given)

    return posterior


@pytest.fixture
def post(make: Callable[..., Posterior]) -> Posterior:
    """Two chains that differ, of two blobs and now and then a third."""
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(-3, 1, (12, 2)), rng.normal(3, 1, (8, 2))])
    labels = np.tile(np.repeat([0, 1], [12, 8]), (2, 30, 1))
    labels[:, ::3, 5] = 1
    labels[1, ::4, 19] = 2
    model = Mixture(NGG(Gamma(1, 1), Beta(1.5, 1.5), 1.0), GaussianWishart())
    shape = labels.shape[:2]
    return make(
        model,
        X,
        labels,
        log_u=np.log(rng.gamma(2, 1, shape)),
        alpha=rng.gamma(2, 1, shape),
        sigma=rng.beta(2, 2, shape),
        sample_stats={"accepted": rng.random(shape)},
        run={"seed": 3, "kernel": "Gibbs()", "interrupted": False, "chains": 2},
    )
