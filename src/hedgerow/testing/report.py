"""What a check answers: findings, a verdict, a text, and the arithmetic that turns z scores into a verdict.

Two kinds of finding. An *exact* one compares two numbers that must agree to rounding. A *statistical* one
compares a Monte-Carlo mean over independent replicates with the exact expectation of the same function. The
replicates' means are independent and identically distributed, so mean, standard error and Student's t need
no guess about autocorrelation. All statistical findings of a report are one family: its false-alarm
probability is at most `level` by Bonferroni, whatever their dependence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm as normal
from scipy.stats import t as student

from hedgerow.arguments import real_number
from hedgerow.errors import require

__all__ = ["CheckFailedError", "Finding", "Report"]


class CheckFailedError(AssertionError):
    """A check found something wrong; the message is the report.

    >>> try:
    ...     Report("a check", (Finding("mean", 2.0, 1.0, 9.0, 0.0, False),)).raise_if_failed()
    ... except CheckFailedError as error:
    ...     print("failed" in str(error).lower())
    True
    """


@dataclass(frozen=True)
class Finding:
    """One comparison: what, found, wanted, how far apart, and the p-value (None for exact comparisons).

    Attributes
    ----------
    what : str
    found, wanted, distance : float
    p_value : float or None
    passed : bool

    >>> "mean" in Finding("mean", 1.1, 1.0, 0.5, 0.6, True).line()
    True
    """

    what: str
    found: float
    wanted: float
    distance: float
    p_value: float | None
    passed: bool

    def line(self) -> str:
        """The finding as one line of text.

        Returns
        -------
        str
        """
        mark = "ok  " if self.passed else "FAIL"
        if self.p_value is None:
            return f"{mark} {self.what}: off by {self.distance:.3g}"
        return f"{mark} {self.what}: {self.found:.5g}, exact {self.wanted:.5g}, t = {self.distance:+.2f}, p = {self.p_value:.2g}"


@dataclass(frozen=True)
class Report:
    """The outcome of a check.

    Attributes
    ----------
    name : str
    findings : tuple of Finding
    notes : dict
        Numbers by name that pass no judgement.

    >>> report = Report("a check", (Finding("mean", 1.1, 1.0, 0.5, 0.6, True),))
    >>> report.raise_if_failed().passed
    True
    """

    name: str
    findings: tuple[Finding, ...]
    notes: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every finding passed."""
        return all(f.passed for f in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that did not pass."""
        return tuple(f for f in self.findings if not f.passed)

    @property
    def statistics(self) -> dict[str, float]:
        """Numbers by name: each finding's distance (a t score, or an absolute error), and the notes."""
        return {f.what: f.distance for f in self.findings} | self.notes

    @property
    def text(self) -> str:
        """The verdict, the notes, then all failures and the five closest calls."""
        verdict = "passed" if self.passed else f"FAILED ({len(self.failures)} of {len(self.findings)})"
        lines = [f"{self.name}: {verdict}, {len(self.findings)} findings"]
        lines += [f"  {name}: {value:.4g}" for name, value in self.notes.items()]
        good = sorted((f for f in self.findings if f.passed), key=lambda f: 1.0 if f.p_value is None else f.p_value)
        lines += [f"  {f.line()}" for f in (*self.failures, *good[:5])]
        return "\n".join(lines)

    def __str__(self) -> str:
        """The same text."""
        return self.text

    def raise_if_failed(self) -> Self:
        """Raise `CheckFailedError` with the text unless all passed; returns the report.

        Returns
        -------
        Report
        """
        if not self.passed:
            raise CheckFailedError(self.text)
        return self


@dataclass
class Findings:
    """Collects findings; statistical ones are judged together at the end."""

    level: float
    exact: list[Finding] = field(default_factory=list)
    pending: list[tuple[str, float, float, float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse a level that is no probability."""
        require(0 < real_number(self.level) < 1, "testing", "level", self.level, "lie between 0 and 1")

    def agree(self, what: str, found: ArrayLike, wanted: ArrayLike, tolerance: float) -> None:
        """Two numbers or arrays that must agree to within `tolerance`, relative to 1 + |wanted|."""
        found, wanted = np.asarray(found, float), np.asarray(wanted, float)
        if found.shape != wanted.shape:
            self.exact.append(Finding(what, np.nan, np.nan, np.inf, None, False))
            return
        gaps = np.abs(found - wanted) / (1 + np.abs(wanted))
        gaps = np.where(found == wanted, 0.0, gaps).ravel()
        worst = int(np.argmax(np.where(np.isnan(gaps), np.inf, gaps))) if gaps.size else 0
        gap = float(gaps[worst]) if gaps.size else 0.0
        passed = gap <= tolerance  # False for NaN
        values = (float(found.ravel()[worst]), float(wanted.ravel()[worst])) if gaps.size else (0.0, 0.0)
        self.exact.append(Finding(what, *values, gap, None, passed))

    def hold(self, what: str, condition: bool) -> None:
        """A statement that must be true."""
        self.exact.append(Finding(what, float(condition), 1.0, 0.0 if condition else np.inf, None, bool(condition)))

    def mean(self, what: str, replicates: ArrayLike, wanted: float, least_variance: float = 0.0) -> None:
        """Independent replicates of a quantity whose exact mean is `wanted`.

        `least_variance` is a floor for the variance of one replicate. Without it a quantity that never moved
        would have standard error 0.
        """
        x = np.asarray(replicates, float)
        variance = max(float(x.var(ddof=1)), least_variance, 1e-300)
        self._score(what, float(x.mean()), wanted, variance / x.size, x.size - 1)

    def two_means(self, what: str, first: ArrayLike, second: ArrayLike) -> None:
        """Two independent samples with the same mean (Welch)."""
        x, y = np.asarray(first, float), np.asarray(second, float)
        a, b = x.var(ddof=1) / x.size, y.var(ddof=1) / y.size
        total = max(float(a + b), 1e-300)
        freedom = total**2 / max(a**2 / (x.size - 1) + b**2 / (y.size - 1), 1e-300)
        self._score(what, float(x.mean()), float(y.mean()), total, min(freedom, x.size + y.size - 2.0))

    def tail(self, what: str, found: float, wanted: float, p_value: float) -> None:
        """A statistic with a p-value of its own; `wanted` is its mean where all is well."""
        score = float(normal.isf(max(p_value, 1e-300) / 2))
        self.pending.append((what, found, wanted, score, np.inf))

    def _score(self, what: str, found: float, wanted: float, variance: float, freedom: float) -> None:
        gap = found - wanted
        score = 0.0 if abs(gap) <= 1e-12 * (1 + abs(wanted)) else gap / np.sqrt(variance)
        self.pending.append((what, found, wanted, float(score), float(freedom)))

    def report(self, name: str, **notes: float) -> Report:
        """Judge the statistical findings as one family and close the report."""
        bound = self.level / max(len(self.pending), 1)
        judged = []
        for what, found, wanted, score, freedom in self.pending:
            p = float(2 * student.sf(abs(score), freedom))
            judged.append(Finding(what, found, wanted, score, p, bool(p > bound)))
        return Report(name, (*self.exact, *judged), dict(notes))
