"""Options of kernels and samplers: NumPy's numbers are numbers, and what is none is refused in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hedgerow as hr

MODEL = hr.Mixture(hr.DP(), hr.GaussianWishart())


def draw(X: Any, **settings: Any) -> hr.Posterior:
    return hr.sample(MODEL, X, **({"draws": 4, "warmup": 3, "chains": 1, "seed": 3} | settings))


def test_numbers_of_numpy_are_numbers(tmp_path) -> None:
    X, whole = hr.data.ring13(seed=0, n=130)[0], np.int64
    kernels = [
        (hr.Gibbs(whole(5)), hr.Gibbs(5)),
        (hr.SplitMerge(whole(2), whole(5)), hr.SplitMerge(2, 5)),
        (hr.TreeGuidedPublished(whole(2), whole(1)), hr.TreeGuidedPublished(2, 1)),
        (hr.TreeGuided(whole(3), whole(2), whole(1)), hr.TreeGuided(3, 2, 1)),
    ]
    for i, (given, plain) in enumerate(kernels):
        assert (given, repr(given)) == (plain, repr(plain))
        settings = {"kernel": given, "draws": whole(4), "warmup": whole(3), "chains": whole(1), "seed": whole(3)}
        stored = draw(X, **settings, checkpoint=tmp_path / str(i))
        np.testing.assert_array_equal(stored.labels, draw(X, kernel=plain).labels)
    found = hr.smc(MODEL, X, particles=whole(10), runs=whole(2), seed=whole(1))
    assert found.log_evidence == hr.smc(MODEL, X, particles=10, runs=2, seed=1).log_evidence
    assert found.draw(whole(3), seed=0).shape == (3, len(X))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hr.Gibbs(subset=2**40), "subset must be a whole number of rows"),
        (lambda: hr.Gibbs(collapse="no"), "collapse must be True or False"),
        (lambda: hr.TreeGuided(guides=[]), "guides must be a whole number from 1 up, or linkage"),
        (lambda: hr.TreeGuided(guides={"a": 1}), "guides must be a whole number from 1 up, or linkage"),
        (lambda: hr.MixedNRM(hr.NGG(), decay="fast"), "decay must be a number from 0"),
        (lambda: hr.MixedNRM(hr.NGG(), q="all"), r"q must be a matrix \(groups, bases\)"),
        (lambda: hr.MixedNRM(hr.NGG(), basis=np.array(1.5), decay=1.0), "basis must be a sequence"),
        (lambda: hr.smc(MODEL, np.eye(3), threshold="half"), r"threshold must lie in \[0, 1\]"),
        (lambda: hr.smc(MODEL, np.eye(3), shuffle="no"), "shuffle must be True or False"),
        (lambda: hr.sample(MODEL, np.eye(3), draws=np.array([1, 2])), "draws must be a whole number"),
        (lambda: hr.sample(MODEL, np.eye(3), backend=np.array(["threads", "dask"])), "backend must be"),
        (lambda: hr.sample(MODEL, np.eye(3), callbacks=np.array(1.0)), "callbacks must be a list of functions"),
    ],
)
def test_odd_options_are_refused_in_words(call, words) -> None:
    with pytest.raises(hr.ParameterError, match=words):
        call()
