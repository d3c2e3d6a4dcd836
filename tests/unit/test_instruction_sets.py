"""The loops for other processors than this one: the same run on each set of instructions, alike to within rounding.

Sums are taken in another order, so that numbers differ in their last digits; a label would differ only where a random number falls
between two sums, which happens once in some 10^12 moves.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from hedgerow import _core

SETS = ("baseline", "avx2", "avx512")  # a processor that has one has those before it
BEST = _core.instruction_set()

SCRIPT = """
import json, sys
import numpy as np
import hedgerow as hr

rng = np.random.default_rng(0)
z = rng.integers(0, 3, 60)
numbers = rng.normal(2.0 * z[:, None], 1.0, (60, 11))
holed = np.where(rng.random(numbers.shape) < 0.1, np.nan, numbers)
counts = rng.poisson(1.0 + 2.0 * z[:, None], (60, 11))
times = 1 + np.arange(60) // 20
families = {
    "wide": (hr.GaussianWishart(), numbers),
    "narrow": (hr.GaussianWishart(), numbers[:, :3]),
    "even": (hr.GaussianDiagonal(a=1.5), numbers),
    "holed": (hr.GaussianDiagonal(), holed),
    "words": (hr.Multinomial(0.5), counts),
    "counts": (hr.Poisson(), np.where(np.isnan(holed), np.nan, counts * 5.0)),
    "codes": (hr.Categorical(), np.minimum(counts, 4)),
}
found = {"set": hr._core.instruction_set()}
for name, (family, X) in families.items():
    for prior in (hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2), 1.0), hr.MixedNRM(hr.NGG(1.0, 0.3, 0.5), decay=0.3)):
        when = {"times": times} if isinstance(prior, hr.MixedNRM) else {}
        kernel = hr.cycle(hr.Gibbs(), hr.SplitMerge())
        post = hr.sample(hr.Mixture(prior, family), X, kernel=kernel, draws=12, warmup=8, chains=2, seed=1, progress=False, **when)
        key = name + " " + type(prior).__name__
        found[key + " labels"] = post.labels.ravel().tolist()
        found[key + " log joint"] = post.log_joint.ravel().tolist()
        found[key + " density"] = post.log_density(X[:9], **({"times": times[:9]} if when else {})).tolist()
    found[name + " forest"] = hr.bhc(hr.Mixture(hr.DP(1.0), family), X).log_joint
json.dump(found, sys.stdout)
"""


@functools.cache
def run_with(name: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, "HEDGEROW_ISA": name}, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.pop("set") == name
    return found


@pytest.mark.parametrize("name", SETS[: SETS.index(BEST)])
def test_a_run_is_the_same_to_within_rounding(name: str) -> None:
    found, best = run_with(name), run_with(BEST)
    assert found.keys() == best.keys()
    for key, value in best.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-9, atol=1e-9, err_msg=key)
