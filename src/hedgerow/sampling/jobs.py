"""Chains as joblib tasks, under whatever backend joblib is set to: processes here (loky), Dask, Ray.

A task is a segment: one chain from a state, for a few seconds, back as draws and the state after them. States travel, so the next
segment may run anywhere, and a worker that is lost costs the segments it held, which are drawn again, the same. `with
joblib.parallel_config(backend="loky"):` round the call chooses the workers; `backend="dask"` takes the Dask client that is there.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import joblib
from joblib.parallel import get_active_backend

from hedgerow.errors import need_extra, require
from hedgerow.sampling.blocks import Begin, News, Round, run_blocks
from hedgerow.sampling.chain import Block
from hedgerow.sampling.plan import Plan

__all__ = ["check_travels", "run_in_jobs", "run_on_dask"]

_SEGMENT_SECONDS = 5.0
_TIMES_SETUP = 20.0  # and at least so many times what it took to set up
_MOST_BYTES = 64 << 20
_MOST_LOSSES = 5  # rounds in a row in which workers are lost and nothing comes back


@dataclass(frozen=True, eq=False)
class Failure:
    """An error of a chain itself, as opposed to one of the workers: trying again would not help."""

    error: Exception


def check_travels(plan: Plan, backend: str = "joblib") -> None:
    """Refuse a likelihood that means nothing in another process: the address of a function of this one."""
    wanted = "be 'threads' for a Custom likelihood given by an address, which is good in this process only"
    require(plan.model.likelihood.travels, "sample", "backend", backend, wanted)


def run_in_jobs(given: Round) -> None:
    """Run every chain, a segment at a time; everything drawn is stored."""
    plan, stop = given.plan, given.stop
    places = list(given.begins)
    losses = 0
    while not stop.asked and (waiting := [index for index in range(plan.chains) if places[index].done < plan.total]):
        waiting.sort(key=lambda index: places[index].done)  # those behind go first when there are more chains than workers
        backend, asked = get_active_backend()
        jobs = joblib.effective_n_jobs(-1 if asked is None else asked)
        form = "generator_unordered" if backend.supports_return_generator else "list"
        parallel = joblib.Parallel(n_jobs=min(jobs, len(waiting)), return_as=form)
        tasks = (joblib.delayed(run_segment)(plan, index, places[index], os.getpid()) for index in waiting[:jobs])
        results = _results(parallel, tasks)
        trouble: BaseException | None = None
        for result in results:
            if isinstance(result, WorkersLost):
                losses += 1
                if losses >= _MOST_LOSSES:
                    result.error.add_note(f"Workers were lost {losses} times in a row with nothing to show for it.")
                    trouble = trouble or result.error
                break
            losses = 0
            if isinstance(result, Failure):
                trouble = trouble or result.error
                continue
            places[result.update.chain] = Begin(result.update.done, result.state)
            try:
                keep = given.pace.wanted or (given.stop.interrupted and result.update.warming_up)
                given.store(result if keep else News(result.update, result.block, None))
                if trouble is None:
                    given.tell(result)
            except BaseException as error:  # the other segments of this round are stored first
                trouble = trouble or error
        if trouble is not None:
            stop.asked = True
            raise trouble


def run_on_dask(given: Round) -> None:
    """The same as tasks of the Dask client that is connected, or of one with threads of this process, for the length of the run."""
    dask = need_extra("distributed", "dask")
    with ExitStack() as stack:
        try:
            dask.default_client()
        except ValueError:  # none is connected
            stack.enter_context(dask.Client(processes=False, dashboard_address=None))
        stack.enter_context(joblib.parallel_config(backend="dask"))
        run_in_jobs(given)


def run_segment(plan: Plan, index: int, begin: Begin, home: int) -> News | Failure:
    """A worker's task: one chain for a few seconds."""
    try:
        with _deaf_to_interrupts(home):
            clock = time.monotonic()
            chain = plan.open(index, plan.bind(), begin.state)
            seconds = max(_SEGMENT_SECONDS, _TIMES_SETUP * (time.monotonic() - clock))
            pieces = []
            for piece in run_blocks(plan, index, chain, begin.done):
                pieces.append(piece)
                full = sum(block.nbytes for _, block in pieces if block is not None) >= _MOST_BYTES
                if full or time.monotonic() - clock >= seconds:
                    break
            blocks = [block for _, block in pieces if block is not None]
            return News(pieces[-1][0], Block.join(blocks) if blocks else None, chain.state())
    except Exception as error:
        error.add_note(f"In a worker:\n{traceback.format_exc()}")
        return Failure(error)


@dataclass(frozen=True, eq=False)
class WorkersLost:
    """The end of a round whose workers are gone; joblib or its backend says why."""

    error: Exception


def _results(parallel: joblib.Parallel, tasks: Iterator[object]) -> Iterator[News | Failure | WorkersLost]:
    """What comes back, in any order, and last what went wrong on the way, if anything."""
    try:
        yield from parallel(tasks)
    except Exception as error:
        yield WorkersLost(error)


@contextmanager
def _deaf_to_interrupts(home: int) -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal; the one that called `sample` answers it, workers finish their segment."""
    if os.getpid() == home or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
