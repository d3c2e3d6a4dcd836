"""Ctrl-C in the middle of work that is one call into the core: it is heard, and what is finished is kept."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import _core

MODEL = hr.Mixture(hr.DP(1.0), hr.GaussianDiagonal())
LONG = {
    "bhc": lambda X: hr.bhc(MODEL, X),
    "ibhc": lambda X: hr.ibhc(MODEL, np.repeat(X, 20, axis=0) + np.arange(20 * len(X))[:, None] * 1e-3, insert="seq", balance=False),
    "smc": lambda X: hr.smc(MODEL, X, particles=500, seed=0),
}


def interrupt_after(seconds: float) -> threading.Thread:
    """A Ctrl-C for this process from another thread; the signal is handled in the main one."""

    def strike() -> None:
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=strike)
    thread.start()
    return thread


@pytest.mark.parametrize("work", LONG)
def test_heard_at_once(work):
    X = np.random.default_rng(0).normal(size=(30_000, 2))
    thread = interrupt_after(1.0)
    began = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        LONG[work](X)
    thread.join()
    assert time.process_time() - began < 20.0  # each would take minutes; processor time, so that other work does not matter


def test_finished_passes_are_kept():
    X = np.random.default_rng(0).normal(size=(3_000, 2))
    told = []

    def stop_in_the_third(index: int, _count: int, forest: hr.Forest) -> None:
        told.append(forest.log_joint)
        if index == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="interrupted after 2 of 500 passes"):
        forest = hr.ibhc(MODEL, X, passes=500, seed=0, callbacks=[stop_in_the_third])
    assert forest.log_joint == max(told)
    assert sorted(np.unique(forest.labels)) == list(range(forest.n_clusters))


def test_a_builder_goes_back_after_a_pass_that_was_cut_short():
    X = np.random.default_rng(1).normal(size=(60_000, 2))
    builder = _core.TreeBuilder(MODEL.resolve(X).likelihood.bind(X), MODEL.prior.to_core())
    builder.ibhc()
    before = builder.log_joint()
    builder.keep()
    thread = interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        deque((builder.revise() for _ in range(1000)), maxlen=0)  # type: ignore[func-returns-value]
    thread.join()
    builder.go_back()
    assert builder.log_joint() == pytest.approx(before)
