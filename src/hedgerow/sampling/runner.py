"""sample(): runs chains in threads and hands back a Posterior.

Every chain is a compiled object with its own random numbers, so its draws depend on the seed and on its index only,
never on threads, on timing or on the size of the blocks it is run in. Workers run blocks of about a tenth of a second
and put them on a queue; this thread stores them, shows progress and calls callbacks, so it can be interrupted at any time.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hedgerow import _core
from hedgerow.errors import require
from hedgerow.kernels import Kernel, TreeGuided
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.sampling.chain import Block, Chain
from hedgerow.sampling.interrupts import heed_interrupts
from hedgerow.sampling.progress import Update, open_progress
from hedgerow.sampling.recorder import Recorder
from hedgerow.sampling.starts import Start, first_labels, read_starts

__all__ = ["sample"]

_BLOCK_SECONDS = 0.1


def sample(
    model: Mixture,
    X: Any,
    *,
    kernel: Kernel | None = None,
    draws: int = 1000,
    warmup: int = 500,
    chains: int = 4,
    seed: int | None = None,
    init: Any = "sequential",
    thin: int = 1,
    times: Any = None,
    callbacks: Sequence[Callable[[Update], Any]] = (),
    progress: bool | None = None,
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
    draws, warmup : int
        Kept draws per chain, and iterations thrown away before them.
    chains : int
        Independent chains, run in parallel threads.
    seed : int, optional
        Decides every draw. If left out one is chosen and kept in `posterior.run`.
    init : str, array-like or list, optional
        The first partition: "sequential" (allocated row by row), "one", "singletons", labels, or one of these per chain.
    thin : int
        Keep every thin-th iteration.
    times : array-like, optional
        Time or place of every row, for a `MixedNRM` prior.
    callbacks : sequence of callables
        Each is called with an `Update` after every block of a chain; a true answer stops all chains.
    progress : bool, optional
        Bars on the error stream; by default when it is a terminal.

    Ctrl-C stops the chains and returns the draws so far.
    """
    settings = _Settings.read(draws, warmup, chains, thin, seed)
    callbacks = _read_callbacks(callbacks)
    require(progress is None or isinstance(progress, bool), "sample", "progress", progress, "be True, False or None")
    require(isinstance(model, Mixture), "sample", "model", model, "be a Mixture")
    kernel = TreeGuided() if kernel is None else kernel
    require(isinstance(kernel, Kernel), "sample", "kernel", kernel, "be a kernel such as TreeGuided()")
    data = model.likelihood.check(X)
    model = model.resolve(data)
    bound = model.likelihood.bind(data)
    starts = read_starts(init, chains, bound.n_rows)
    model.prior.group(times, bound.n_rows, "sample")  # refuse bad times before anything runs
    run = _Run(model, data, bound, times, kernel, starts, settings, callbacks)
    return run.execute(progress)


@dataclass(frozen=True)
class _Settings:
    draws: int
    warmup: int
    chains: int
    thin: int
    seed: int

    @classmethod
    def read(cls, draws: int, warmup: int, chains: int, thin: int, seed: int | None) -> _Settings:
        for name, value, least in (("draws", draws, 1), ("warmup", warmup, 0), ("chains", chains, 1), ("thin", thin, 1)):
            require(_is_whole(value) and value >= least, "sample", name, value, f"be a whole number from {least} up")
        require(seed is None or (_is_whole(seed) and seed >= 0), "sample", "seed", seed, "be a whole number from 0 up, or None")
        return cls(int(draws), int(warmup), int(chains), int(thin), secrets.randbits(48) if seed is None else int(seed))


def _is_whole(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _read_callbacks(callbacks: Sequence[Callable[[Update], Any]]) -> tuple[Callable[[Update], Any], ...]:
    given = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    good = isinstance(callbacks, Iterable) and all(map(callable, given))
    require(good, "sample", "callbacks", callbacks, "be a list of functions of an Update")
    return given


class _Run:
    """One call of `sample`, from the first chain to the Posterior."""

    def __init__(
        self,
        model: Mixture,
        data: Any,
        bound: _core.Likelihood,
        times: Any,
        kernel: Kernel,
        starts: list[Start],
        settings: _Settings,
        callbacks: Sequence[Callable[[Update], Any]],
    ) -> None:
        self.model, self.data, self.bound, self.times, self.kernel = model, data, bound, times, kernel
        self.starts, self.settings, self.callbacks = starts, settings, callbacks
        self.stop, self.interrupted = threading.Event(), threading.Event()
        self.news: queue.Queue[tuple[Update, Block | None]] = queue.Queue()
        self.recorder = Recorder(settings.chains, settings.draws, bound.n_rows)

    def execute(self, progress: bool | None) -> Posterior:
        settings = self.settings
        started, clock = datetime.now(UTC), time.perf_counter()
        threads = 1 if self.bound.serial else min(settings.chains, os.cpu_count() or 1)
        total = settings.warmup + settings.draws * settings.thin
        with (
            heed_interrupts(self.interrupted),
            open_progress(progress, settings.chains, total) as bars,
            ThreadPoolExecutor(threads) as pool,
        ):
            futures = [pool.submit(self.run_chain, chain) for chain in range(settings.chains)]
            try:
                self.collect(futures, bars.show)
            except KeyboardInterrupt:
                self.interrupted.set()
                self.finish(futures)
            except BaseException as error:
                self.finish(futures)
                if self.recorder.kept()[1] > 0:
                    error.add_note("The draws so far are in this exception's attribute `posterior`.")
                    error.posterior = self.posterior(started, clock, True)  # type: ignore[attr-defined]
                raise
        if self.recorder.kept()[1] == 0:  # stopped before the first draw
            raise KeyboardInterrupt if self.interrupted.is_set() else RuntimeError("A callback stopped sample() before a draw.")
        return self.posterior(started, clock, not self.recorder.complete)

    def run_chain(self, index: int) -> None:
        """A worker: warm up, then draw, a block at a time."""
        settings = self.settings
        if self.stop.is_set():
            return
        n = self.bound.n_rows
        chain = Chain(
            self.model,
            self.data,
            self.kernel,
            labels=first_labels(self.starts[index], n),
            seed=settings.seed,
            stream=index,
            times=self.times,
            bound=self.bound,
        )
        total = settings.warmup + settings.draws * settings.thin
        done, size = 0, 1
        while done < total and not self.stop.is_set():
            clock = time.perf_counter()
            warming_up = done < settings.warmup
            block = None
            if warming_up:
                size = min(size, settings.warmup - done)
                chain.warm_up(size, done, settings.warmup)
                done += size
            else:
                size = min(size, (total - done) // settings.thin)
                block = chain.run(size, settings.thin)
                done += size * settings.thin
            self.news.put((Update(index, done, total, warming_up, chain.n_clusters, chain.log_joint()), block))
            seconds = max(time.perf_counter() - clock, 1e-6)
            size = max(1, min(4 * size, int(size * _BLOCK_SECONDS / seconds)))

    def collect(self, futures: list[Future[None]], show: Callable[[Update], None]) -> None:
        """Store blocks until every worker is done; the first error of a worker stops all."""
        while not all(future.done() for future in futures) or not self.news.empty():
            if self.interrupted.is_set():
                return self.finish(futures)
            try:
                update, block = self.news.get(timeout=0.05)
            except queue.Empty:
                for future in futures:
                    if future.done():
                        future.result()
                continue
            if block is not None:
                self.recorder.add(update.chain, block)
            show(update)
            for callback in self.callbacks:
                if callback(update):
                    self.stop.set()
        for future in futures:
            future.result()

    def finish(self, futures: list[Future[None]]) -> None:
        """Stop the workers after their present block and store what they had."""
        self.stop.set()
        for future in futures:
            future.cancel()
        for future in futures:
            if not future.cancelled():
                future.exception()
        while not self.news.empty():
            update, block = self.news.get()
            if block is not None:
                self.recorder.add(update.chain, block)

    def posterior(self, started: datetime, clock: float, interrupted: bool) -> Posterior:
        """What was drawn, with the record of the run."""
        settings = self.settings
        labels, traces, stats = self.recorder.arrays()
        laws = self.model.prior.laws()
        values = self.model.prior.values()
        record = {
            "seed": settings.seed,
            "kernel": repr(self.kernel),
            "draws": settings.draws,
            "warmup": settings.warmup,
            "chains": settings.chains,
            "thin": settings.thin,
            "seconds": round(time.perf_counter() - clock, 3),
            "started": started.isoformat(timespec="seconds"),
            "interrupted": interrupted,
            "instruction_set": _core.instruction_set(),
            "sampled": sorted(laws),
        }
        return Posterior(
            labels=labels,
            log_joint=traces["log_joint"],
            u=traces["u"],
            alpha=traces["alpha"],
            sigma=traces["sigma"],
            tau=traces["tau"],
            theta=traces["theta"] if "theta" in values else None,
            sample_stats=stats,
            X=self.data,
            model=self.model,
            times=self.times,
            run=record,
        )
