"""Chains in threads of this process: the compiled core releases the interpreter, so they run side by side.

Workers run blocks and put them on a queue; the calling thread stores them, shows progress and calls callbacks, so it can be
interrupted at any time. The queue is short: draws that come faster than they can be stored wait in their chain.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from hedgerow import _core
from hedgerow.sampling.blocks import News, Round, run_blocks
from hedgerow.sampling.plan import Plan

__all__ = ["run_in_threads", "threads_for"]


def threads_for(plan: Plan, bound: _core.Likelihood) -> int:
    """One a chain, as many as there are processors; one in all where rows are asked about through the interpreter."""
    return 1 if bound.serial else min(plan.chains, os.cpu_count() or 1)


def run_in_threads(bound: _core.Likelihood, given: Round) -> None:
    """Run every chain; everything drawn is stored.

    Draws are stored and told of in this thread. An error of either, or of a worker, stops all chains and comes out after
    what they had is stored.
    """
    plan, pace, stop = given.plan, given.pace, given.stop
    threads = threads_for(plan, bound)
    news: queue.Queue[News] = queue.Queue(maxsize=4 * threads)

    abandoned = threading.Event()  # nobody takes from the queue any more

    def hand_over(item: News) -> bool:
        while not abandoned.is_set():
            try:
                news.put(item, timeout=0.2)
                return True
            except queue.Full:
                continue
        return False

    def stopped() -> bool:
        return stop.asked

    def work(index: int) -> None:
        begin = given.begins[index]
        if stop.asked or begin.done >= plan.total:
            return
        chain = plan.open(index, bound, begin.state, stopped)
        if stopped() and given.lasting and begin.state is None and plan.samples(index):
            return  # its start was cut short, and is another one than the run would have had
        started = last = time.monotonic()
        waiting = 0
        for update, block in run_blocks(plan, index, chain, begin.done):
            now = time.monotonic()
            waiting += 0 if block is None else block.nbytes
            at_rest = stop.asked or update.done == plan.total
            due = pace.wanted and (at_rest or pace.due(now - last, now - started, waiting))
            due = due or (stop.interrupted and update.warming_up)  # a person wants to see where it stands
            if not hand_over(News(update, block, chain.state() if due else None)):
                return
            if due:
                last, waiting = now, 0
            if at_rest:
                return

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, index) for index in range(plan.chains)]
        try:
            try:
                _collect(futures, news, given.store, given.tell)
            except BaseException:
                stop.asked = True
                for future in futures:
                    future.cancel()
                _collect(futures, news, given.store, None)
                raise
            for future in futures:
                future.result()
        except BaseException:
            stop.asked = True
            raise
        finally:
            abandoned.set()


def _collect(
    futures: Sequence[Future[None]],
    news: queue.Queue[News],
    store: Callable[[News], None],
    tell: Callable[[News], None] | None,
) -> None:
    """Store what comes until every worker is done; with `tell`, a worker's error ends it at once."""
    while not all(future.done() for future in futures) or not news.empty():
        try:
            item = news.get(timeout=0.05)
        except queue.Empty:
            if tell is not None:
                for future in futures:
                    if future.done():
                        future.result()
            continue
        store(item)
        if tell is not None:
            tell(item)
