"""Chains that learn from one another before their first draw: who does, that it changes nothing else, and that it is told."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

import hedgerow as hr
from hedgerow.estimators.clusterer import _warn_if_apart
from hedgerow.sampling import Chain, teaching
from hedgerow.sampling.agreement import FIRST_DRAWS, Course
from hedgerow.sampling.blocks import Begin
from hedgerow.sampling.crossing import Member
from hedgerow.sampling.plan import read_plan
from hedgerow.sampling.teaching import Lesson, lesson_of, taught
from hedgerow.summaries import canonical
from hedgerow.summaries.verdicts import told_of_lesson

CENTRES = np.array([(0, 0), (0, 3), (3, 0), (3, 3), (6, 0), (6, 3)])
RNG = np.random.default_rng(0)
#: Six clumps, and rows between them that are now in one and now alone, so that draws differ.
CLUMPS = np.repeat(CENTRES, 60, axis=0) + RNG.normal(size=(360, 2)) * 0.05
CLUMPS = np.concatenate([CLUMPS, RNG.uniform((-1, -1), (7, 4), size=(40, 2))])
MODEL = hr.Mixture(hr.DP(0.01), hr.GaussianWishart())


def run(**options):
    """Six clumps that Gibbs sampling finds from single rows, and from one cluster does not."""
    given = {"kernel": hr.Gibbs(), "init": ["one", "singletons", "one"], "chains": 3, "seed": 1, "until": hr.Agreement(max_draws=60)}
    return hr.sample(MODEL, CLUMPS, progress=False, **{**given, **options})


def same(one, other):
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.log_joint, other.log_joint)


@pytest.fixture(scope="module")
def whole():
    return run()


def test_chains_that_are_stuck_take_over_where_there_is_more_mass_and_it_is_told(whole):
    alone = run(independent=True)
    assert whole.run["until"]["taught"] == {"teacher": 1, "pupils": [0, 2], "made": False}
    assert alone.run["until"]["taught"] is None
    assert whole.n_clusters.min() > alone.n_clusters.min()
    assert whole.run["warmup"] == alone.run["warmup"] + 2 * FIRST_DRAWS  # what was drawn before the lesson, and what followed at once
    assert "not independent" in whole.run["until"]["why"]
    assert "2 of the 3 chains went on from where another stood" in str(whole.summary())
    assert "proves less" not in str(alone.summary())


def test_the_report_says_what_chains_shared(whole, tmp_path):
    whole.report(tmp_path / "page.html")
    assert "2 of the 3 chains went on from where another stood" in (tmp_path / "page.html").read_text()


def test_the_estimator_warns_that_labels_may_be_those_of_one_place(whole):
    with pytest.warns(ConvergenceWarning, match="went on from where another stood"):
        _warn_if_apart(whole, "vi")


def test_chains_that_agree_learn_nothing():
    X = hr.data.ring13(n=260, seed=3).X
    here, alone = (hr.sample(MODEL, X, until=hr.Agreement(ess=200), seed=5, progress=False, independent=one) for one in (False, True))
    assert here.run["until"]["taught"] is None
    assert same(here, alone)


def test_pupils_do_not_draw_what_their_teacher_draws():
    post = run(kernel=hr.Gibbs(subset=30))
    assert post.run["until"]["taught"] == {"teacher": 1, "pupils": [0, 2], "made": False}
    assert len({chain.tobytes() for chain in post.log_joint}) == 3


@pytest.mark.parametrize("backend", ["joblib"])
def test_lessons_do_not_depend_on_where_chains_run(whole, backend):
    assert same(whole, run(backend=backend))


def test_a_checkpoint_gives_the_same_draws(whole, tmp_path):
    post = run(checkpoint=tmp_path / "run")
    assert same(whole, post)
    assert same(whole, hr.resume(tmp_path / "run", progress=False))
    assert hr.resume(tmp_path / "run", progress=False).run["until"] == whole.run["until"]


def test_a_run_stopped_anywhere_is_resumed_to_the_same_draws(whole, tmp_path):
    updates = []  # type: ignore[var-annotated]
    run(callbacks=[updates.append], checkpoint=hr.Checkpoint(tmp_path / "first", every=0.0))
    for when in np.linspace(1, len(updates) - 1, 8).astype(int):
        seen, folder = iter(range(when - 1)), tmp_path / str(when)
        with suppress(RuntimeError):
            run(checkpoint=hr.Checkpoint(folder, every=0.0), callbacks=[lambda _, seen=seen: next(seen, None) is None])
        post = hr.resume(folder, progress=False)
        assert same(whole, post)
        assert post.run["until"] == whole.run["until"]


def test_a_run_stopped_right_after_a_lesson_is_resumed_to_the_same_draws(whole, tmp_path, monkeypatch):
    """Between the manifest that holds the lesson and the draws after it."""
    right = Course.after_lesson
    courses = []

    def remember(*given):
        courses.append(right(*given))
        return courses[-1]

    def stop(update):
        return bool(courses)

    with monkeypatch.context() as patch:
        patch.setattr(Course, "after_lesson", remember)
        with suppress(RuntimeError):
            run(checkpoint=hr.Checkpoint(tmp_path / "run", every=0.0), callbacks=[stop])
    assert courses[0].easing
    assert same(whole, hr.resume(tmp_path / "run", progress=False))


@pytest.mark.parametrize("stopped_in", ["a round's last block", "a lesson"])
def test_a_run_stopped_between_rounds_says_so(monkeypatch, stopped_in):
    """Every draw of the round is there, and no budget is spent."""
    ready = {"yes": stopped_in != "a lesson"}
    right = teaching.compare
    chains_done = set()

    def compare(plan, begins, stopped):
        ready["yes"] = True
        monkeypatch.setattr("hedgerow.sampling.runner._Run.stopped", lambda self: True)
        return right(plan, begins, stopped)

    def last_block(update):
        if update.done == update.total:
            chains_done.add(update.chain)
        return ready["yes"] and len(chains_done) == 3

    monkeypatch.setattr(teaching, "compare", compare)
    post = run(callbacks=[last_block])
    assert post.run["interrupted"]
    assert post.draws == FIRST_DRAWS
    assert "stopped before the chains agreed" in post.run["until"]["why"]


def test_who_is_not_clearly_lighter_learns_nothing():
    noise = np.random.default_rng(0).normal(size=(4, 12))
    assert lesson_of(noise) is None
    assert lesson_of(noise[:1]) is None
    assert lesson_of(noise + 50.0 * np.array([[0], [1], [0], [1]])) in (Lesson(1, (0, 2)), Lesson(3, (0, 2)))


@pytest.mark.parametrize(
    ("ahead", "weighed", "lesson"), [((0, 904, 0, 899), [4, 12, 4, 12], Lesson(1, (0, 2))), ((0, 1, 0, 1), [12] * 4, None)]
)
def test_few_draws_of_chains_far_behind_are_weighed_and_all_of_the_others(monkeypatch, ahead, weighed, lesson):
    noise = np.random.default_rng(0).normal(scale=5.0, size=(4, 12))

    def weigh(plan, bound, stopped, count, index, state):
        return list(noise[index, state : state + count] + ahead[index]), state + count  # each goes on where it was

    monkeypatch.setattr(teaching, "_weigh", weigh)
    monkeypatch.setattr(teaching, "threads_for", lambda plan, bound: 1)
    monkeypatch.setattr(teaching, "search", lambda plan, bound, members, pool, stopped: members)
    found = []

    def judge(masses):
        found.append(masses)
        return lesson_of(masses)

    monkeypatch.setattr(teaching, "lesson_of", judge)
    plan = SimpleNamespace(bind=lambda: None, chains=4)
    assert teaching.compare(plan, [Begin(0, 0)] * 4, lambda: False) == lesson
    assert [len(masses) for masses in found[0]] == weighed
    for index, masses in enumerate(found[0]):
        assert list(masses) == list(noise[index, : weighed[index]] + ahead[index])


def test_chains_that_are_weighed_in_two_goes_are_weighed_alike(monkeypatch):
    """The same masses as in one go, so a lesson does not hang on how they were taken."""
    plan = read_plan(MODEL, CLUMPS, hr.Gibbs(), "singletons", None, draws=5, warmup=5, chains=1, thin=1, seed=0)
    bound = plan.bind()
    whole, _ = teaching._weigh(plan, bound, lambda: False, 8, 0, None)
    first, state = teaching._weigh(plan, bound, lambda: False, 3, 0, None)
    then, _ = teaching._weigh(plan, bound, lambda: False, 5, 0, state)
    assert first + then == whole


def test_the_log_mass_is_what_it_says_it_is_even_of_a_row_that_is_nowhere_near_its_cluster():
    X = np.concatenate([CLUMPS[:30], [[80.0, 80.0], [-80.0, 80.0]]])
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart(mean=[0, 0], r=0.1, nu=4000, psi=0.1 * np.eye(2)))
    for labels in (np.arange(32) % 3, np.append(np.zeros(30, int), [1, 2]), np.zeros(32, int)):
        wanted = model.log_joint(X, labels)
        for row in range(32):
            others = [np.where(np.arange(32) == row, other, labels) for other in range(labels.max() + 2)]
            every = {tuple(canonical(one)) for one in others}  # a row alone comes as its old cluster and as a new one
            joints = [model.log_joint(X, np.array(one)) for one in every]
            wanted += logsumexp(joints) - model.log_joint(X, labels)
        assert Chain(model, X, hr.Gibbs(), labels=labels, seed=0).log_mass() == pytest.approx(wanted, rel=1e-9)


def test_pupils_get_the_state_and_memory_of_their_place_but_not_its_random_numbers():
    begins = [Begin(9, {"labels": index, "kernel_whole": index, "rng": index}) for index in range(3)]
    lesson = Lesson(2, (0,), places=(Member(2, begins[2].state, (0.0,)),))
    assert [begin.state for begin in taught(begins, lesson)] == [
        {"labels": 2, "kernel_whole": 2, "rng": 0},
        {"labels": 1, "kernel_whole": 1, "rng": 1},
        {"labels": 2, "kernel_whole": 2, "rng": 2},
    ]


def test_a_course_with_a_lesson_is_stored_and_read():
    course = Course.begin(hr.Agreement(), 500).after_lesson(hr.Agreement(), 2, (0, 1))
    assert Course.read(course.stored()) == course
    first = Course.begin(hr.Agreement(), 500)
    old = {name: value for name, value in first.stored().items() if name not in ("teacher", "pupils", "easing")}
    assert Course.read(old) == first
    for bad in ({"pupils": [-1]}, {"teacher": "one"}):
        with pytest.raises(ValueError, match="chains"):
            Course.read(course.stored() | bad)


def test_runs_without_a_lesson_have_nothing_to_tell():
    assert told_of_lesson({}) == ""
    assert told_of_lesson({"until": None}) == ""
    assert told_of_lesson({"until": {"taught": None}}) == ""


def test_independence_is_yes_or_no():
    with pytest.raises(hr.ParameterError, match="independent"):
        run(independent="no")


def test_the_estimator_keeps_chains_apart_where_asked_to():
    options = {"likelihood": hr.GaussianWishart(), "kernel": hr.Gibbs(), "random_state": 0}
    for independent in (False, True):
        found = hr.HedgerowClusterer(**options, until=hr.Agreement(ess=20, max_draws=60), independent=independent).fit(CLUMPS)
        assert "taught" in found.posterior_.run["until"]
        assert not (independent and found.posterior_.run["until"]["taught"])


def test_a_place_with_a_share_of_the_mass_is_not_given_up():
    """As of iris, where two clusters have a tenth of the mass that three have."""
    noise = np.tile([-0.1, 0.1], 6)
    assert lesson_of(np.stack([noise, noise - 2.3])) is None
    assert lesson_of(np.stack([noise, noise - 3.5])) == Lesson(0, (1,))
