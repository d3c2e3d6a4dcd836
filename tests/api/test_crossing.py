"""Partitions made of the clusters of two chains: what a search among them finds, and that nothing but their number decides it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.sampling import crossing
from hedgerow.sampling.crossing import Member, search
from hedgerow.sampling.offspring import crossed, distance, grafted
from hedgerow.sampling.plan import read_plan
from hedgerow.summaries import canonical

CENTRES = np.array([(0, 0), (0, 3), (3, 0), (3, 3), (6, 0), (6, 3)])
TRUTH = np.repeat(np.arange(6), 40)
X = CENTRES[TRUTH] + np.random.default_rng(0).normal(size=(240, 2)) * 0.05
MODEL = hr.Mixture(hr.DP(0.01), hr.GaussianWishart())
#: Each has one half right, and the clumps of the other in one cluster.
HALVES = [canonical(np.where(TRUTH < 3, TRUTH, 3)), canonical(np.where(TRUTH < 3, 0, TRUTH))]
Partition = st.lists(st.integers(0, 4), min_size=1, max_size=30)


def a_plan(**options):
    given = {"draws": None, "warmup": 50, "chains": 2, "thin": 1, "seed": 0, "until": hr.Agreement(max_draws=400)}
    return read_plan(MODEL, X, options.pop("kernel", hr.Gibbs()), HALVES, None, **{**given, **options})


def members(plan):
    bound = plan.bind()
    found = []
    for index in range(plan.chains):
        chain = plan.open(index, bound)
        chain.warm_up(2, 0, 2)
        chain.end_warm_up()
        found.append(Member(index, chain.state(), (chain.log_mass(),)))
    return bound, found


def run_search(plan, threads=2, stopped=lambda: False):
    bound, found = members(plan)
    with ThreadPoolExecutor(threads) as pool:
        return found, search(plan, bound, found, pool, stopped)


@pytest.mark.parametrize("kernel", [hr.Gibbs(), hr.TreeGuided(), hr.SplitMerge(), hr.Slice(), hr.TreeGuidedPublished()])
def test_the_right_halves_of_two_chains_come_together(kernel):
    before, after = run_search(a_plan(kernel=kernel))
    assert max(one.mass for one in after) >= max(one.mass for one in before)
    best = max(after, key=lambda one: one.mass)
    assert distance(best.labels, TRUTH.astype(np.int32)) == 0
    for one, then in zip(before, after, strict=False):
        assert then.mass >= one.mass


def test_nothing_hangs_on_threads():
    found = [run_search(a_plan(), threads)[1] for threads in (1, 3)]
    for one, other in zip(*found, strict=True):
        assert one.masses == other.masses
        assert np.array_equal(one.labels, other.labels)


def test_a_search_that_is_stopped_gives_what_there_is():
    before, after = run_search(a_plan(), stopped=lambda: True)
    assert after == before


def test_few_draws_pay_for_few_crossings():
    few, some, many = (crossing._affordable(a_plan(until=hr.Agreement(max_draws=draws))) for draws in (30, 300, 3000))
    assert few < 2 * 30 / 20
    assert some == 2 * 300 * 3
    assert many == 10 * some


def test_gaps_are_filled_as_in_the_parents():
    gappy = X.copy()
    gappy[::17, 1] = np.nan
    options = {"draws": None, "warmup": 50, "chains": 2, "thin": 1, "seed": 0, "until": hr.Agreement(max_draws=200)}
    plan = read_plan(MODEL, gappy, hr.TreeGuided(), HALVES, None, **options)
    before, after = run_search(plan)
    assert max(one.mass for one in after) > max(one.mass for one in before)


@given(Partition, st.integers(0, 99), st.randoms())
def test_offspring_are_partitions_of_all_rows_and_of_equal_parents_the_same(labels, seed, shuffler):
    a = canonical(np.array(labels))
    other = labels.copy()
    shuffler.shuffle(other)
    b = canonical(np.array(other))
    rng = np.random.default_rng(seed)
    for made in (crossed(a, b, rng), grafted(a, b, rng)):
        assert np.array_equal(made, canonical(made))
        assert made.dtype == np.int32
        assert len(made) == len(a)
    assert distance(grafted(a, a, rng), a) == 0


@given(Partition, st.integers(0, 99))
def test_rows_that_are_together_in_both_parents_stay_together(labels, seed):
    """A cluster that both have, row for row, is there in the child: no one else can claim its rows."""
    rng = np.random.default_rng(seed)
    a = canonical(np.array(labels))
    b = canonical(np.where(a == 0, 0, 1 + rng.integers(0, 3, len(a))))
    whole = a == 0
    for made in (crossed(a, b, rng), grafted(a, b, rng)):
        assert len(set(made[whole].tolist())) == 1


def test_what_a_graft_leaves_of_a_cluster_goes_where_the_other_parent_has_it():
    a, b = np.array([0, 0, 0, 1, 1, 1], np.int32), np.array([0, 0, 1, 1, 2, 2], np.int32)
    seen = {tuple(grafted(a, b, np.random.default_rng(seed)).tolist()) for seed in range(40)}
    assert seen == {(0, 0, 1, 1, 1, 1), (0, 0, 1, 1, 2, 2), (0, 0, 0, 0, 1, 1)}
