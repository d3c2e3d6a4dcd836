"""What several tests ask: a command run here, a stream fed, the same draws, moments, a refusal in the house's form."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.distributed import DistributedPosterior
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import Likelihood

HOUSE = re.compile(r"^(\w+)\((?P<name>[^=]+)=(?P<value>.+)\): (?P=name) must .+\. Got (?P=value)\.$", re.DOTALL)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """The exit code of a command and what it wrote to both streams."""
    code = main([str(argument) for argument in arguments])
    seen = capsys.readouterr()
    return code, seen.out, seen.err


def assert_same_arrays(a: Any, b: Any, names: Iterable[str]) -> None:
    for name in names:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def assert_same_posterior(a: hr.Posterior, b: hr.Posterior) -> None:
    assert_same_arrays(a, b, ("labels", "n_clusters", "log_joint", "log_u", "alpha", "sigma", "tau"))
    assert list(a.sample_stats) == list(b.sample_stats)
    for name, stat in a.sample_stats.items():
        np.testing.assert_array_equal(stat, b.sample_stats[name], err_msg=name)


def assert_same_rounds(a: DistributedPosterior, b: DistributedPosterior) -> None:
    assert_same_arrays(a, b, ("log_joint", "n_clusters", "log_u", "alpha", "sigma", "tau", "theta"))
    for chain in range(a.chains):
        for draw in range(a.draws):
            np.testing.assert_array_equal(a.labels(draw, chain), b.labels(draw, chain))


def refused(model: Likelihood, X: Any, words: str) -> None:
    """Every door refuses, in the house's form."""
    doors = (model.check, model.resolve, lambda X: hr.Mixture(hr.DP(), model).log_joint(X, [0] * 4))
    for door in doors:
        with pytest.raises(ParameterError, match=words) as caught:
            door(X)
        assert HOUSE.match(str(caught.value)), str(caught.value)


def near(draws: npt.ArrayLike, expected: npt.ArrayLike) -> None:
    """The mean of the draws is within five standard errors, entry by entry."""
    draws = np.asarray(draws)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) <= 5 * error + 1e-12).all()


def feed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lines: Iterable[Any], *arguments: object
) -> tuple[int, list[Any], str]:
    """Exit code, answers and errors of `hedgerow stream` to these lines."""
    raw = b"".join((line if isinstance(line, bytes) else str(line).encode()) + b"\n" for line in lines)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
    code, out, errors = run(capsys, "stream", *arguments)
    return code, [json.loads(line) for line in out.splitlines()], errors


def answers(told: list[Any]) -> list[Any]:
    """What was told but for states that were saved."""
    return [line for line in told if "state" not in line]
