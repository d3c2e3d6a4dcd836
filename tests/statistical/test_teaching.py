"""Chains that learn where another one stands still draw from the posterior: the first draw kept after a lesson, and those after it.

Every chain of many learns from the heaviest, whatever there is to learn, and of each the first kept draw and one of a later round are
held against the exact posterior. Two errors are planted: that draws right after the lesson are kept, and lessons between kept draws.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

import hedgerow as hr
from hedgerow.sampling import agreement, teaching
from hedgerow.sampling.agreement import FIRST_DRAWS, Course
from hedgerow.testing import exact_posterior

X = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1]])
MODEL = hr.Mixture(hr.DP(1.0), hr.GaussianWishart(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2)))
CHAINS = 600
LEVEL = 1e-4


@pytest.fixture(autouse=True)
def all_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "FAR_APART", 0.0)
    monkeypatch.setattr(teaching, "ERRORS", 0.0)
    monkeypatch.setattr(teaching, "LEAST", 0.0)


def p_values() -> list[float]:
    """Of the partitions in the first kept draw of every chain and in the first of the next round, by Pearson's test."""
    wanted = hr.Agreement(rhat=1.0001, ess=1e9, max_draws=FIRST_DRAWS + 10)
    post = hr.sample(MODEL, X, kernel=hr.Gibbs(subset=2), warmup=40, chains=CHAINS, seed=3, until=wanted, progress=False)
    assert len(post.run["until"]["taught"]["pupils"]) >= CHAINS - 1
    exact = exact_posterior(MODEL, X)
    expected = CHAINS * exact.probabilities
    rare = expected < 10
    found = []
    for draw in (0, FIRST_DRAWS):
        counts = np.bincount(exact.index(post.labels[:, draw]), minlength=len(expected)).astype(float)
        seen, due = (np.append(values[~rare], values[rare].sum()) for values in (counts, expected))
        found.append(float(chi2.sf(((seen - due) ** 2 / due).sum(), len(due) - 1)))
    return found


def test_kept_draws_are_exact_whatever_was_learnt() -> None:
    assert min(p_values()) > LEVEL


def test_keeping_what_follows_a_lesson_at_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Course.after_lesson
    monkeypatch.setattr(Course, "after_lesson", lambda *given: replace(right(*given), easing=False))
    assert p_values()[0] < LEVEL


def test_a_lesson_between_kept_draws_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def go_on(self: Course, until: hr.Agreement, teacher: int | None, pupils: tuple[int, ...], made: bool) -> Course:
        return replace(self, draws=until.max_draws, settled=True, teacher=teacher, pupils=pupils, made=made)

    monkeypatch.setattr(Course, "after_lesson", go_on)
    assert p_values()[1] < LEVEL
