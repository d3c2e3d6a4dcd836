"""Agreement: how long to sample, said as what is wanted rather than as a number of draws.

A run of open length goes in rounds. It begins with a short warm-up and a few draws of every chain. What chains far apart drew is thrown
away. If they were near each other in the second half of it, they were only on their way, and go on drawing; else they warm up again,
longer, from where they are. Where a longer warm-up finds nothing more they may learn from each other, once (`teaching`), and throw away
what follows at once. Then, or once they are near each other, draws are kept and rounds go on until the chains agree or the budget is
spent. What comes next depends on draws alone, never on
the clock (but for `max_seconds`), on threads or on where a run was stopped and resumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow.arguments import LONGEST, check_whole, real_number
from hedgerow.errors import require
from hedgerow.summaries import ess_bulk, rhat

FloatArray = npt.NDArray[np.float64]

__all__ = ["ENDLESS", "Agreement", "Course", "Verdict", "judge", "verdict_words"]

FIRST_WARMUP, TIMES = 40, 3  # iterations of the first warm-up, and by how much each further one is longer
FIRST_DRAWS = 50
FAR_APART = 1.2  # R-hat of the first draws from which another warm-up is worth a trial
ENDLESS = 1e300  # effective draws of a run that is to make all of its draws


@dataclass(frozen=True)
class Agreement:
    """Sample until independent chains agree, or a budget is spent: `sample(..., until=Agreement())`.

    Parameters
    ----------
    rhat : float, default 1.05
        Chains agree when the R-hat of the log joint and of the number of clusters is at most this.
    ess : float, default 400
        And when both have at least so many effective draws, over all chains.
    max_draws : int, default 2000
        Kept draws of each chain at the most.
    max_seconds : float, optional
        Time at the most, warm-up included; draws then depend on the machine. Chains still in their warm-up when it is over give a few
        draws from where they are.

    >>> from hedgerow import DP, GaussianWishart, Mixture, sample
    >>> from hedgerow.data import ring13
    >>> post = sample(Mixture(DP(1.0), GaussianWishart()), ring13(n=130).X, until=Agreement(ess=100), seed=0)
    >>> post.run["until"]["agreed"]
    True
    """

    rhat: float = 1.05
    ess: float = 400.0
    max_draws: int = 2000
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no run can reach or be held to."""
        _need_number(self.rhat, "rhat", 1.0)
        _need_number(self.ess, "ess", 0.0)
        check_whole("Agreement", "max_draws", self.max_draws)
        if self.max_seconds is not None:
            _need_number(self.max_seconds, "max_seconds", 0.0)


def _need_number(value: object, name: str, low: float) -> None:
    require(low < real_number(value) < math.inf, "Agreement", name, value, f"be a finite number above {low:g}")


class Verdict(NamedTuple):
    """How well chains agree: the worse R-hat and the smaller number of effective draws of log joint and number of clusters."""

    rhat: float
    ess: float

    def meets(self, wanted: Agreement) -> bool:
        """Whether that is enough."""
        return self.rhat <= wanted.rhat and self.ess >= wanted.ess


def judge(log_joint: npt.ArrayLike, n_clusters: npt.ArrayLike) -> Verdict:
    """The verdict on draws of shape (chain, draw); too few draws to tell are as far apart as can be.

    >>> judge([[0.0, 0.1, 0.0, 0.1]] * 2, [[3, 3, 3, 3]] * 2).rhat < 1.2
    True
    """
    apart = [rhat(trace) for trace in (log_joint, n_clusters)]
    count = [ess_bulk(trace) for trace in (log_joint, n_clusters)]
    if not all(map(math.isfinite, (*apart, *count))):
        return Verdict(math.inf, 0.0)
    return Verdict(max(apart), min(count))


@dataclass(frozen=True)
class Course:
    """Where a run of open length stands: the warm-up that its chains have had, and the draws asked of each in this round.

    `before` are the iterations of earlier warm-ups and of draws that were thrown away, `most` those of all together; `height` and
    `apart` are the mean log joint and the R-hat after the warm-up before. `settled`: no other warm-up will follow. `pupils` have gone
    on from where the chain `teacher` stood, or, if places were `made`, from partitions made of the clusters of several, and the teacher
    is the heaviest chain that stayed; `easing`: they have just done so, and this round's draws will be thrown away.
    """

    most: int
    warmup: int
    draws: int
    before: int = 0
    settled: bool = False
    height: float | None = None
    apart: float | None = None
    teacher: int | None = None
    pupils: tuple[int, ...] = ()
    easing: bool = False
    made: bool = False

    @classmethod
    def begin(cls, until: Agreement, most: int, ahead: bool = False) -> Course:
        """The first round. `ahead`: chains have settled over samples of the rows before, and need half the warm-up."""
        first = FIRST_WARMUP // 2 if ahead else FIRST_WARMUP
        return cls(most, min(first, most), min(FIRST_DRAWS, until.max_draws))

    def follow(self, until: Agreement, log_joint: FloatArray, n_clusters: FloatArray) -> Course | None:
        """The next round after these draws, or None when there is nothing left to do. Nothing drawn counts if `before` differs."""
        if self.easing:
            return replace(self, before=self.before + self.draws, easing=False)
        verdict = judge(log_joint, n_clusters)
        if verdict.meets(until):
            return None
        left = self.most - self.before - self.warmup
        if not self.settled and verdict.rhat > FAR_APART and left > 0:
            late = slice(log_joint.shape[1] // 2, None)
            if self.warmup > 0 and self.draws < left and judge(log_joint[:, late], n_clusters[:, late]).rhat <= FAR_APART:
                return replace(self, before=self.before + self.warmup + self.draws, warmup=0)
            height, spread = float(log_joint.mean()), float(np.sqrt(log_joint.var(axis=1).mean()))
            rose = self.height is None or height > self.height + spread
            nearer = self.apart is None or verdict.rhat < 0.9 * self.apart
            if rose or nearer:
                longer = replace(self, warmup=min(max(TIMES * self.warmup, self.before), left), draws=min(FIRST_DRAWS, until.max_draws))
                return replace(longer, before=self.before + (self.warmup or self.draws), height=height, apart=min(verdict.rhat, 1e9))
        if self.draws >= until.max_draws:
            return None
        more = 2.0 if verdict.rhat > until.rhat else min(max(1.1 * until.ess / max(verdict.ess, 1.0), 1.25), 2.0)
        return replace(self, draws=min(math.ceil(more * self.draws), until.max_draws), settled=True)

    def may_learn(self, log_joint: FloatArray, n_clusters: FloatArray) -> bool:
        """Whether these draws, of the last round before any is kept for good, leave chains so far apart that they may learn."""
        return len(log_joint) > 1 and not self.settled and judge(log_joint, n_clusters).rhat > FAR_APART

    def after_lesson(self, until: Agreement, teacher: int | None, pupils: tuple[int, ...], made: bool = False) -> Course:
        """The round after a lesson: what was drawn before it counts no more, and no other lesson or warm-up will follow."""
        drawn = replace(self, before=self.before + self.warmup + self.draws, warmup=0, draws=min(FIRST_DRAWS, until.max_draws))
        return replace(drawn, settled=True, teacher=teacher, pupils=pupils, easing=True, made=made)

    def stored(self) -> dict[str, Any]:
        """As plain numbers."""
        return asdict(self) | {"pupils": list(self.pupils)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Course:
        """Back from plain numbers, which come from a file."""
        counts = [stored[name] for name in ("most", "warmup", "draws", "before")]
        if any(type(value) is not int or not 0 <= value <= LONGEST for value in counts) or counts[2] < 1:
            raise ValueError("rounds that no run has")
        height, apart = (None if stored[name] is None else float(stored[name]) for name in ("height", "apart"))
        teacher, pupils = stored.get("teacher"), tuple(stored.get("pupils", ()))  # runs of older versions have none
        if any(type(index) is not int or index < 0 for index in (*pupils, *(() if teacher is None else (teacher,)))):
            raise ValueError("chains that no run has")
        most, warmup, draws, before = counts
        course = cls(most, warmup, draws, before, bool(stored["settled"]), height, apart)
        return replace(course, teacher=teacher, pupils=pupils, easing=bool(stored.get("easing")), made=bool(stored.get("made")))


def verdict_words(until: Agreement, course: Course, verdict: Verdict, out_of_time: bool, interrupted: bool) -> dict[str, Any]:
    """What the record of a run says about its end, and about what its chains have in common."""
    asked_for = until.ess >= ENDLESS
    agreed = verdict.rhat <= until.rhat if asked_for else verdict.meets(until)
    told = f"R-hat {verdict.rhat:.2f}, {verdict.ess:.0f} effective draws" if math.isfinite(verdict.rhat) else "too few draws to tell"
    told += f"; not independent, some set out from {_whence(course)}" if course.pupils else ""
    if agreed:
        why = f"the chains agree ({told})"
    elif interrupted:
        why = f"stopped before the chains agreed ({told})"
    elif asked_for:
        why = f"{until.max_draws:,} draws of each chain, as asked for ({told})"
    elif out_of_time:
        why = f"{until.max_seconds:g} seconds were over before the chains agreed ({told})"
    else:
        why = f"{until.max_draws:,} draws of each chain, the most allowed (max_draws), were spent before the chains agreed ({told})"
    taught = {"teacher": course.teacher, "pupils": list(course.pupils), "made": course.made} if course.pupils else None
    return {"agreed": agreed, "why": why, "taught": taught}


def _whence(course: Course) -> str:
    return "partitions made of the clusters of several" if course.made else "where another stood"
