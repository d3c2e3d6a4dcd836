"""sample() and resume(): run chains and hand back a Posterior.

Every chain is a compiled object with its own random numbers, so its draws depend on the seed and on its index only, never on
where it runs, on timing or on the size of the blocks it is run in. A backend runs the chains, a recorder keeps what they
draw, and the code here stands between them, shows progress and calls callbacks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from hedgerow import _core
from hedgerow.data.copies import Copies
from hedgerow.errors import require
from hedgerow.kernels import Kernel
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.sampling.agreement import Agreement, Course, judge, verdict_words
from hedgerow.sampling.blocks import Begin, News, Round
from hedgerow.sampling.chain import fresh
from hedgerow.sampling.checkpoint import Checkpoint, continue_folder, look_into, start_folder
from hedgerow.sampling.interrupts import Stop, heed_interrupts
from hedgerow.sampling.jobs import check_travels, run_in_jobs, run_on_dask
from hedgerow.sampling.plan import Plan, read_plan
from hedgerow.sampling.progress import Update, open_progress
from hedgerow.sampling.recorder import MemoryRecorder, Recorder
from hedgerow.sampling.teaching import learn
from hedgerow.sampling.threads import run_in_threads

__all__ = ["resume", "sample", "so_far"]

Callback = Callable[[Update], Any]
LAST_DRAWS = 10  # of a chain whose time is over before its first
RunChains = Callable[[Round], None]


def sample(
    model: Mixture,
    X: Any,
    *,
    kernel: Kernel | None = None,
    draws: int | None = None,
    warmup: int | None = None,
    chains: int = 4,
    seed: int | None = None,
    init: Any = "sequential",
    thin: int = 1,
    times: Any = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    backend: str = "threads",
    until: Agreement | None = None,
    temper: Sequence[float] | float | None = None,
    independent: bool = False,
    copies: Copies | None = None,
) -> Posterior:
    """Draw partitions from the posterior.

    Parameters
    ----------
    model : Mixture
        Hyper-parameters of the likelihood left open are taken from X and stay visible as `posterior.model`.
    X : array-like
        The rows to cluster, in a form the likelihood reads.
    kernel : Kernel, optional
        How chains move; `TreeGuided()` if left out.
    draws, warmup : int, default 1000 and 500
        Kept draws per chain, and iterations thrown away before them; with `until` the most iterations of all its warm-ups.
    chains : int
        Independent chains, run in parallel.
    seed : int, optional
        Decides every draw. If left out one is chosen and kept in `posterior.run`.
    init : str, array-like or list, optional
        The first partition: "sequential" (allocated row by row; through a stream of trees where clusters are very many; from 160,000
        rows on after chains over samples of them), "ibhc" (a pass of incremental hierarchical clustering), "rough" (the papers' rough
        start), "one", "singletons", labels, or one of these per chain.
    thin : int
        Keep every thin-th iteration.
    times : array-like, optional
        Time or place of every row, for a `MixedNRM` prior.
    callbacks : sequence of callables
        Each is called with an `Update` after every block of a chain; a true answer stops all chains.
    progress : bool, optional
        Bars on the error stream; by default when it is a terminal.
    checkpoint : path or Checkpoint, optional
        A new folder to stream draws to, so that memory stays flat, with the states of the chains, so that `resume` can go on
        after a crash, a kill or Ctrl-C as if nothing had happened. `Checkpoint(path, every=...)` says how often.
    backend : {"threads", "joblib", "dask"}
        Where chains run: in threads of this process, as joblib tasks under the backend that `joblib.parallel_config(backend=...)`
        has set, such as "loky" or "ray", or on the Dask client that is connected. The draws are the same.
    until : Agreement, optional
        Sample until the chains agree instead of so many draws: `until=Agreement(rhat=1.05, ess=400)`. Warm-up and draws are then as
        long as they need to be; `posterior.run["until"]` says whether the chains agreed or which budget was spent.

    temper : sequence of float, optional
        Parallel tempering: falling powers below 1, such as `temper=[0.97, 0.94, 0.91]`. Beside each chain run copies of it whose
        likelihood is raised to these powers, where modes are nearer to each other, and trade places with it
        (`hedgerow.kernels.Tempered`). Draws stay exact; each copy costs as much as the chain. `posterior.run["temper"]` has the
        share of trades made.
    independent : bool
        With `until`, chains that the warm-up leaves far apart compare where they stand, partitions are made of the clusters of several,
        and those that clearly have less mass about them go on from the heaviest. Kept draws begin after that and are exact; that chains
        agree then proves less, which `posterior.run["until"]["taught"]` and the summary say. True: chains share nothing.
    copies : Copies, optional
        Rows of X that are exact copies of others, as `propose(X).copies` has them: one of each counts, and copies are put with their
        rows. With `times` only rows of one time are copies.

    Ctrl-C stops the chains and returns the draws so far; in the warm-up where each chain stands, `run["warming"]` saying so. With
    `until` and no checkpoint that is a draw from there.

    Returns
    -------
    Posterior

    >>> import hedgerow as hr
    >>> X = hr.data.ring13(n=65).X
    >>> post = sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), X, draws=10, warmup=10, chains=2, seed=0)
    >>> post.labels.shape
    (2, 10, 65)
    """
    callbacks = _read_callbacks(callbacks, progress, "sample")
    plan = read_plan(
        model, X, kernel, init, times, draws=draws, warmup=warmup, chains=chains, thin=thin, seed=seed, until=until, temper=temper,
        independent=independent, copies=copies,
    )  # fmt: skip
    run_chains = _read_backend(backend, plan, "sample")
    recorder: Recorder
    if checkpoint is None:
        recorder = MemoryRecorder(plan.chains, plan.draws, plan.n, states=until is not None)
    else:
        recorder = start_folder(Checkpoint.read(checkpoint, "sample"), plan)
    return _Run(plan, [Begin()] * plan.chains, recorder, callbacks).execute(run_chains, progress)


def resume(
    checkpoint: str | os.PathLike[str] | Checkpoint,
    *,
    draws: int | None = None,
    until: Agreement | None = None,
    model: Mixture | None = None,
    kernel: Kernel | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    backend: str = "threads",
) -> Posterior:
    """Go on with a run that `sample(..., checkpoint=...)` began; the draws are those of an uninterrupted run, bit by bit.

    Parameters
    ----------
    checkpoint : path or Checkpoint
        The folder of the run.
    draws : int, optional
        More draws per chain than were asked for at first; a finished run is made longer.
    until : Agreement, optional
        For a run that was begun with one: another, such as with a larger budget. Time counts from the beginning of the run. With
        `draws` instead such a run makes all of them.
    model, kernel : optional
        Only for a run whose model or kernel could not be stored, as it holds functions: the same again.
    callbacks, progress, backend
        As in `sample`; the backend need not be the one before.

    A finished run comes back as it is. What is damaged is refused, but for the newest state of a chain, which is then drawn
    again from the one before.

    Returns
    -------
    Posterior

    >>> import tempfile
    >>> import hedgerow as hr
    >>> X, folder = hr.data.ring13(n=65).X, tempfile.mkdtemp() + "/run"
    >>> model = hr.Mixture(hr.DP(), hr.GaussianWishart())
    >>> _ = sample(model, X, draws=5, warmup=5, chains=2, seed=0, checkpoint=folder)
    >>> resume(folder, draws=8).labels.shape
    (2, 8, 65)
    """
    callbacks = _read_callbacks(callbacks, progress, "resume")
    require(until is None or isinstance(until, Agreement), "resume", "until", until, "be an Agreement, or None")
    plan, begins, recorder = continue_folder(Checkpoint.read(checkpoint, "resume"), model, kernel, draws, until)
    with recorder:  # the lock goes even if the backend is refused
        run_chains = _read_backend(backend, plan, "resume")
        return _Run(plan, begins, recorder, callbacks).execute(run_chains, progress)


def so_far(checkpoint: str | os.PathLike[str]) -> Posterior:
    """The draws that the folder of a run holds now, whether it is done, was stopped, or goes on meanwhile.

    Before the first draw the partitions where its chains stand; `run["warming"]` is then True.

    Parameters
    ----------
    checkpoint : path
        The folder that `sample(..., checkpoint=...)` streams to. Nothing in it is changed.

    Returns
    -------
    Posterior

    >>> import tempfile
    >>> import hedgerow as hr
    >>> folder, model = tempfile.mkdtemp() + "/run", hr.Mixture(hr.DP(), hr.Poisson())
    >>> drawn = sample(model, [[0], [2], [9]], draws=5, warmup=5, chains=1, seed=0, checkpoint=folder)
    >>> bool((so_far(folder).labels == drawn.labels).all())
    True
    """
    plan, recorder, begins = look_into(checkpoint, "so_far")
    run = _Run(plan, begins, recorder, ())
    return run.posterior() if recorder.filled().max() > 0 else run.standing()


def _read_callbacks(callbacks: Sequence[Callback], progress: bool | None, owner: str) -> tuple[Callback, ...]:
    require(progress is None or isinstance(progress, bool), owner, "progress", progress, "be True, False or None")
    listed = isinstance(callbacks, Iterable) and getattr(callbacks, "ndim", 1) != 0
    given: tuple[Any, ...] = tuple(callbacks) if listed else (callbacks,)
    good = listed and all(map(callable, given))
    require(good, owner, "callbacks", callbacks, "be a list of functions of an Update")
    return given


def _read_backend(backend: str, plan: Plan, owner: str) -> RunChains:
    """The function that runs chains there."""
    known = isinstance(backend, str) and backend in ("threads", "joblib", "dask")
    require(known, owner, "backend", backend, "be 'threads', 'joblib' or 'dask'")
    if backend == "threads":
        return partial(run_in_threads, plan.bind())
    check_travels(plan, backend)
    return run_in_jobs if backend == "joblib" else run_on_dask


class _Run:
    """One call of `sample` or `resume`, from where the chains begin to the Posterior."""

    def __init__(self, plan: Plan, begins: list[Begin], recorder: Recorder, callbacks: tuple[Callback, ...]) -> None:
        self.plan, self.begins, self.recorder, self.callbacks = plan, list(begins), recorder, callbacks
        self.stop = Stop()
        self.broken = False
        self.out_of_time = False
        self.cut_short = False  # by a person, in the warm-up or between two rounds
        self.started, self.clock = datetime.now(UTC), time.perf_counter()

    def execute(self, run_chains: RunChains, progress: bool | None) -> Posterior:
        plan = self.plan
        with self.recorder, heed_interrupts(self.stop), open_progress(progress, plan.chains, plan.total) as bars:

            def tell(news: News) -> None:
                bars.show(news.update)
                for callback in self.callbacks:
                    if callback(news.update):
                        self.stop.asked = True
                self.watch_time()

            try:
                self.run_rounds(run_chains, tell, bars.say)
            except KeyboardInterrupt:
                self.stop.interrupted = True
            except BaseException as error:
                self.keep_draws(error)
                raise
            if self.recorder.filled().max() == 0:  # stopped before the first draw
                if self.stop.interrupted and any(begin.state is not None for begin in self.begins):
                    return self.standing()
                raise KeyboardInterrupt if self.stop.interrupted else RuntimeError("A callback stopped the run before a draw.")
            return self.posterior()

    def run_rounds(self, run_chains: RunChains, tell: Callable[[News], None], say: Callable[[str], None]) -> None:
        """One round, or as many as the chains need to agree."""
        while True:
            lasting = not isinstance(self.recorder, MemoryRecorder)
            run_chains(Round(self.plan, self.begins, self.recorder.pace, self.store, tell, self.stop, lasting))
            until, course = self.plan.until, self.plan.course
            if until is None or course is None:
                return
            self.watch_time()
            if self.recorder.filled().max() == 0 and self.ends_early():
                # No draw yet: a few from where the chains are, as if their warm-up had been meant to be that short.
                self.stop.asked, self.cut_short = False, self.stop.interrupted
                few = min(1 if self.stop.interrupted else LAST_DRAWS, until.max_draws)
                begun = [begin.state is not None or self.out_of_time for begin in self.begins]
                done = [self.plan.warmup + (0 if one else few * self.plan.thin) for one in begun]
                self.begins = [replace(begin, done=at) for begin, at in zip(self.begins, done, strict=True)]
                self.turn(replace(course, draws=few))
                continue
            if self.stopped() and self.recorder.filled().min() < self.plan.draws:
                return
            traces = self.recorder.traces()
            following: Course | None = course.follow(until, **traces)
            if following is None:
                return
            if not self.stopped() and following.settled and not self.plan.independent and course.may_learn(**traces):
                say("chains compare where they stand")
                self.begins, following = learn(self.plan, self.begins, following, self.stopped)
            if following is None or self.stopped():
                self.cut_short = not self.out_of_time
                return
            self.turn(following)

    def ends_early(self) -> bool:
        """Whether a warm-up is cut short for an answer: its time is over, or a person stops a run that nobody could resume."""
        if self.stop.interrupted:
            return isinstance(self.recorder, MemoryRecorder) and any(begin.state is not None for begin in self.begins)
        return self.out_of_time

    def turn(self, course: Course) -> None:
        """Enter another round; where nothing drawn so far counts, chains set out from where they are, with a warm-up or without."""
        assert self.plan.course is not None
        again = course.before != self.plan.course.before
        if again and course.warmup == 0:
            self.begins = [replace(begin, done=0) for begin in self.begins]
        elif again:
            self.begins = [Begin(0, None if begin.state is None else fresh(begin.state)) for begin in self.begins]
        self.plan = self.plan.at(course)
        self.recorder.turn(course, self.begins if again else None)

    def stopped(self) -> bool:
        """Whether a person, a callback or the clock has stopped the run."""
        self.watch_time()
        return self.stop.asked or self.stop.interrupted

    def watch_time(self) -> None:
        """Stop chains whose time is over; once they draw their last few nothing stops those."""
        until = self.plan.until
        if until is None or until.max_seconds is None or self.out_of_time:
            return
        if self.recorder.seconds_before + time.perf_counter() - self.clock >= until.max_seconds:
            self.out_of_time = self.stop.asked = True

    def store(self, news: News) -> None:
        """Keep a block; once that has failed nothing more is kept, as it would leave a gap."""
        if self.broken:
            return
        if news.state is not None:
            self.begins[news.update.chain] = Begin(news.update.done, news.state)
        try:
            self.recorder.add(news)
        except BaseException:
            self.broken = True
            raise

    def keep_draws(self, error: BaseException) -> None:
        """Give the draws so far to an exception."""
        if self.recorder.filled().max() == 0:
            return
        try:
            error.posterior = self.posterior()  # type: ignore[attr-defined]
        except OSError as second:  # such as a disk that is full
            error.add_note(f"The draws so far are in the checkpoint; they could not be read back now: {second}.")
            return
        error.add_note("The draws so far are in this exception's attribute `posterior`.")

    def standing(self) -> Posterior:
        """Where the chains stand in their warm-up, as one partition of each: no draws of the posterior, but an answer."""
        bound = self.plan.bind()
        memory = MemoryRecorder(sum(begin.state is not None for begin in self.begins), 1, self.plan.n)
        for index, begin in enumerate(self.begins):
            if begin.state is not None:
                memory.put(int(memory.filled().sum()), self.plan.open(index, bound, begin.state).here())
        return self.posterior(memory)

    def posterior(self, other: Recorder | None = None) -> Posterior:
        """What was drawn, with the record of the run; with another recorder what that holds, from the warm-up."""
        plan, recorder = self.plan, self.recorder
        labels, traces, stats = (recorder if other is None else other).arrays()
        record = {
            "seed": plan.seed,
            "kernel": repr(plan.kernel),
            "draws": plan.draws,
            "warmup": plan.warmup,
            "chains": plan.chains,
            "thin": plan.thin,
            "seconds": round(recorder.seconds_before + time.perf_counter() - self.clock, 3),
            "started": recorder.started or self.started.isoformat(timespec="seconds"),
            "sessions": recorder.sessions,
            "interrupted": self.cut_short or (bool((recorder.filled() < plan.draws).any()) and not self.out_of_time),
            "instruction_set": _core.instruction_set(),
            "sampled": sorted(plan.model.prior.laws()),
        }
        record |= plan.kernel.record(stats)
        if other is not None:
            record |= {"warming": True, "interrupted": True}
        if plan.columns is not None:
            record["columns"] = list(plan.columns)
        if plan.until is not None and plan.course is not None:
            verdict = judge(traces["log_joint"], traces["n_clusters"])
            record["draws"], record["warmup"] = int(labels.shape[1]), plan.course.before + plan.warmup
            record["until"] = asdict(plan.until) | verdict_words(
                plan.until, plan.course, verdict, self.out_of_time, bool(record["interrupted"])
            )
        carried: dict[str, Any] = {name: traces[name] for name in plan.model.prior.carried()}
        return Posterior(
            **plan.whole(labels), log_joint=traces["log_joint"], **carried, sample_stats=stats, model=plan.model, run=record
        )
