"""Guides, incremental builds to the letter, connectivity, and streams: what they keep, refuse and write down."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

import hedgerow as hr
from hedgerow import _core
from hedgerow.reference import trees as reference
from hedgerow.trees import Event, TreeStream, guide

DP = hr.DP(1.0)
GAUSS = hr.GaussianWishart(mean=[0, 0], r=0.1, nu=5, psi=0.5 * np.eye(2))
MODEL = hr.Mixture(DP, GAUSS)


def blobs(n: int, seed: int, clusters: int = 4, gap: float = 8.0) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    z = rng.integers(0, clusters, n)
    return np.c_[gap * z, np.zeros(n)] + rng.normal(0, 0.7, (n, 2)), z


def members(forest: hr.Forest) -> set[frozenset[int]]:
    return {frozenset(forest.rows(v).tolist()) for v in range(len(forest.left))}


# ---- guides


def test_guide_is_one_tree_with_the_forest_of_ibhc_in_it() -> None:
    X, _ = blobs(120, 0)
    tree = guide(MODEL, X, seed=3)
    tree.validate()
    assert tree.n_clusters == 1
    assert members(hr.ibhc(MODEL, X, passes=1, seed=3)) <= members(tree)
    post = hr.sample(MODEL, X, kernel=hr.TreeGuided(guides=tree.to_linkage()), draws=3, warmup=2, chains=1, seed=0)
    assert post.labels.shape == (1, 3, 120)


def test_guide_arrays_speak_of_the_same_tree() -> None:
    X, _ = blobs(60, 1)
    tree = guide(MODEL, X, seed=0)
    g = _core.Guide(tree.left, tree.right)
    assert g.n_rows == 60
    assert np.array_equal(g.order[g.rank], np.arange(60))
    whole = g.induced(np.arange(60, dtype=np.int32))
    assert np.array_equal(whole["rows"], g.order)
    below = {frozenset(g.order[begin:end].tolist()) for begin, end in zip(whole["begin"], whole["end"], strict=True)}
    assert below == {frozenset(tree.rows(v).tolist()) for v in range(60, 119)}


@pytest.mark.parametrize(
    ("left", "right"),
    [([-1, -1, 0], [-1, -1, 0]), ([-1, -1, 0], [-1, -1, 7]), ([-1, -1], [-1, -1]), ([-1, 0, 0], [-1, 1, 1])],
)
def test_what_is_no_guide_is_refused(left: list[int], right: list[int]) -> None:
    with pytest.raises(ValueError, match="guide"):
        _core.Guide(np.array(left, np.int32), np.array(right, np.int32))


# ---- incremental builds


@pytest.mark.parametrize("repair", ["reinsert", "bhc"])
@pytest.mark.parametrize("seed", range(4))
def test_ibhc_to_the_letter_is_the_reference(repair: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(18, 2)) + 2.0 * rng.integers(0, 3, (18, 1))
    family = GAUSS.resolve(X)

    def log_phi_h(rows: frozenset[int]) -> float:
        from math import lgamma

        return lgamma(len(rows)) + family.log_marginal(X[sorted(rows)])

    order = rng.permutation(18).astype(np.int32)
    builder = _core.TreeBuilder(family.bind(X), DP.to_core())
    builder.ibhc(repair, "seq", False, order)
    ours = members(hr.Forest(**builder.arrays()))
    theirs, stack = set(), reference.ibhc(order.tolist(), log_phi_h, repair)
    while stack:
        node = stack.pop()
        theirs.add(node.members)
        stack += [child for child in (node.left, node.right) if child is not None]
    assert ours == theirs


def test_balanced_trees_are_shallow_and_lose_nothing() -> None:
    X, _ = blobs(2000, 2)
    builder = _core.TreeBuilder(GAUSS.bind(X), DP.to_core())
    builder.ibhc(balance=False)
    deep, letter = builder.mean_depth(), builder.log_joint()
    builder.ibhc()
    assert builder.mean_depth() < 2.0 * np.log2(500) < deep
    assert builder.log_joint() >= letter - 1e-6


def test_top_stacks_rows_and_never_cuts() -> None:
    X, _ = blobs(200, 3)
    forest = hr.ibhc(MODEL, X, insert="top", seed=0)
    forest.validate()
    inner = np.arange(forest.n, len(forest.left))
    assert (np.minimum(forest.size[forest.left[inner]], forest.size[forest.right[inner]]) == 1).all()


def test_callbacks_hear_of_every_pass() -> None:
    X, _ = blobs(80, 4)
    heard: list[tuple[int, int, float]] = []
    forest = hr.ibhc(MODEL, X, passes=3, seed=0, callbacks=[lambda i, n, f: heard.append((i, n, f.log_joint))])
    assert [h[:2] for h in heard] == [(1, 3), (2, 3), (3, 3)]
    assert forest.log_joint == max(h[2] for h in heard)
    with pytest.raises(hr.ParameterError, match="callbacks"):
        hr.ibhc(MODEL, X, callbacks=[3])  # type: ignore[list-item]
    with pytest.warns(FutureWarning, match="callbacks"):
        hr.ibhc(MODEL, X, passes=1, seed=0, progress=lambda i, n, f: heard.append((i, n, f.log_joint)))
    assert len(heard) == 4


@pytest.mark.parametrize("grow", [hr.bhc, hr.ibhc])
def test_only_touching_sets_are_joined(grow: Callable[..., hr.Forest]) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(0, 0.5, (60, 2))  # one cluster by its looks, a chain with gaps by its neighbours
    links = [(i, i + 1) for i in range(59) if i not in (19, 39)]
    pattern = sparse.coo_array((np.ones(len(links)), tuple(np.array(links).T)), shape=(60, 60))
    forest = grow(MODEL, X, connectivity=pattern, seed=0)
    forest.validate()
    neighbours = {frozenset(link) for link in links}
    for v in range(forest.n, len(forest.left)):
        rows = sorted(forest.rows(v).tolist())
        assert all(frozenset(pair) in neighbours for pair in pairwise(rows)), rows
    assert forest.n_clusters >= 3


def test_groups_weigh_in() -> None:
    X, _ = blobs(60, 6, clusters=2, gap=2.0)
    times = np.repeat([1, 2, 3], 20)
    model = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 0.1), basis=[1, 3], decay=0.5), GAUSS)
    for grow in (hr.bhc, hr.ibhc):
        forest = grow(model, X, times=times, u=[1.0, 1.5, 2.0], seed=0)
        forest.validate()
        grouping = model.prior.group(times, 60)
        assert grouping is not None
        rows = forest.rows(int(forest.roots[0]))
        counts = np.bincount(grouping.codes[rows], minlength=3)
        xi = np.array([1.0, 1.5, 2.0]) @ grouping.q
        from scipy.special import gammaln, logsumexp

        kappa = gammaln(len(rows) - 0.3) - gammaln(0.7) - (len(rows) - 0.3) * np.log(xi + 0.1)
        weight = logsumexp(counts @ np.log(grouping.q) + kappa)
        assert forest.log_phi_h[forest.roots[0]] == pytest.approx(weight + GAUSS.log_marginal(X[rows]), abs=1e-8)


# ---- streams


def fed(batches: int = 6, size: int = 300, **options: object) -> TreeStream:
    stream = TreeStream(MODEL, seed=0, **options)  # type: ignore[arg-type]
    for i in range(batches):
        stream.add(blobs(size, i)[0])
    return stream


def snapshot(stream: TreeStream) -> tuple[object, ...]:
    forest, points = stream.to_forest()
    return stream.labels.tolist(), stream.events, forest.log_phi_t.tolist(), points.tolist(), str(stream.values)


def test_stream_finds_the_clusters_and_keeps_their_ids() -> None:
    stream = TreeStream(MODEL, seed=0)
    X, z = blobs(400, 0)
    first = stream.add(X)
    name = {int(c): int(first[z == c][0]) for c in range(4)}
    for i in range(1, 5):
        X, z = blobs(300, i)
        assert (stream.add(X) == [name[int(c)] for c in z]).all()
    assert stream.n_clusters == 4
    assert sorted(stream.cluster_sizes) == sorted(np.bincount(stream.labels)[stream.cluster_ids])


def test_events_tell_the_whole_story() -> None:
    stream = fed()
    alive: set[int] = set()
    for event in stream.events:
        assert isinstance(event, Event)
        if event.kind == "born":
            assert event.cluster not in alive
            alive.add(event.cluster)
        elif event.kind == "split":
            alive.add(event.cluster)
        elif event.kind == "died":
            alive.remove(event.cluster)
    assert alive == set(stream.cluster_ids.tolist())
    assert [e.at for e in stream.events] == sorted(e.at for e in stream.events)


@pytest.mark.parametrize(
    ("bad", "times", "why"),
    [
        (np.full((3, 2), np.inf), None, "finite"),
        (np.zeros((3, 5)), None, "2 columns"),
        (np.zeros((0, 2)), None, "row"),
        (np.zeros((3, 2)), [1, 2, 3], "times"),
        ([["a", "b"]], None, "X"),
    ],
)
def test_a_bad_batch_changes_nothing(bad: object, times: object, why: str) -> None:
    stream, twin = fed(3), fed(3)
    with pytest.raises(hr.ParameterError, match=why):
        stream.add(bad, times)
    assert snapshot(stream) == snapshot(twin)
    X = blobs(100, 9)[0]
    assert (stream.add(X) == twin.add(X)).all()


def test_a_bad_first_batch_leaves_a_fresh_stream() -> None:
    stream = TreeStream(hr.Mixture(DP, hr.GaussianWishart()), seed=0)
    with pytest.raises(hr.ParameterError):
        stream.add([[np.inf, 1.0]])
    assert stream.n_seen == stream.n_clusters == 0
    assert stream.events == []
    with pytest.raises(hr.ParameterError, match="batch"):
        _ = stream.labels
    stream.add(blobs(50, 0)[0])
    assert stream.model.is_resolved


@pytest.mark.parametrize("options", [{}, {"max_nodes": 1000}, {"remember": False}, {"revise": False}])
def test_a_stored_stream_goes_on_exactly(options: dict[str, object], tmp_path: Path) -> None:
    stream = fed(8, 400, **options)
    path = tmp_path / "stream.hedge"
    stream.save(path)
    for twin in (TreeStream.load(path), pickle.loads(pickle.dumps(stream))):
        assert twin.model.likelihood == stream.model.likelihood
        assert twin.n_seen == stream.n_seen
        clone = pickle.loads(pickle.dumps(stream))
        for i in range(20, 23):
            X = blobs(200, i)[0]
            assert (clone.add(X) == twin.add(X)).all()
        assert clone.events == twin.events
        assert np.array_equal(clone.predict_log_weights(X), twin.predict_log_weights(X))


@pytest.mark.parametrize("family", ["counts", "mixed", "diagonal"])
def test_streams_of_other_data(family: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    if family == "counts":
        topics = rng.dirichlet(np.full(30, 0.1), 4)
        model = hr.Mixture(DP, hr.Multinomial(0.2))

        def batch() -> tuple[object, None]:
            return np.array([rng.multinomial(50, topics[k]) for k in rng.integers(0, 4, 150)]), None

    elif family == "diagonal":
        model = hr.Mixture(hr.PitmanYor(1.0, 0.25), hr.GaussianDiagonal())

        def batch() -> tuple[object, None]:
            X = blobs(150, int(rng.integers(1 << 30)))[0]
            X[rng.random(X.shape) < 0.05] = np.nan
            return X, None

    else:
        prior = hr.MixedNRM(hr.NGG(0.3, 0.2, 0.1), basis=[1, 4, 7], decay=0.3)
        model = hr.Mixture(prior, GAUSS)
        clock = iter(range(1, 100))

        def batch() -> tuple[object, object]:
            return blobs(150, int(rng.integers(1 << 30)))[0], np.full(150, next(clock))

    stream = TreeStream(model, seed=0, max_nodes=1000)
    for _ in range(10):
        stream.add(*batch())
    assert 3 <= stream.n_clusters <= 8
    forest, points = stream.to_forest()
    forest.validate()
    assert forest.size[forest.roots].sum() == stream.n_seen == 1500
    assert (points < 0).any() == bool((forest.size[: forest.n] > 1).any())
    stream.save(tmp_path / "s")
    twin, new = TreeStream.load(tmp_path / "s"), batch()
    assert (stream.add(*new) == twin.add(*new)).all()


def test_times_may_grow_but_not_shift() -> None:
    X = blobs(40, 0)[0]
    loose = TreeStream(hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 0.1), decay=0.3), GAUSS))
    loose.add(X, times=np.full(40, 1))
    with pytest.raises(hr.ParameterError, match="basis"):
        loose.add(X, times=np.full(40, 2))
    named = TreeStream(hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 0.1), basis=[1, 2], decay=0.3), GAUSS))
    named.add(X, times=["b"] * 40)
    named.add(X, times=["c"] * 40)
    with pytest.raises(hr.ParameterError, match="order"):
        named.add(X, times=["a"] * 40)
    with pytest.raises(hr.ParameterError, match="among those"):
        named.predict_log_weights(X, times=["d"] * 40)
    assert named.predict_log_weights(X, times=["b"] * 40).shape == (40, named.n_clusters + 1)
    assert named.n_seen == 80


def test_max_nodes_bounds_the_forest_and_keeps_its_statistics() -> None:
    bounded, free = fed(12, 500, max_nodes=1000), fed(12, 500)
    assert bounded.n_nodes <= 1000 < free.n_nodes
    assert bounded.n_clusters == free.n_clusters == 4
    assert sorted(bounded.cluster_sizes) == sorted(free.cluster_sizes)
    X = blobs(50, 99)[0]
    for stream in (bounded, free):
        order = np.argsort(stream.cluster_sizes)
        weights = stream.predict_log_weights(X)[:, [*order, 4]]
        assert np.allclose(weights, free.predict_log_weights(X)[:, [*np.argsort(free.cluster_sizes), 4]], atol=1e-6)


def test_predictive_weights_are_those_of_the_partition() -> None:
    stream = fed(3, 100)
    data = np.vstack([blobs(100, i)[0] for i in range(3)])
    X = blobs(20, 50)[0]
    weights = stream.predict_log_weights(X)
    for column, cluster in enumerate(stream.cluster_ids):
        rows = data[stream.labels == cluster]
        for i in range(20):
            density = GAUSS.log_marginal(np.vstack([rows, X[i : i + 1]])) - GAUSS.log_marginal(rows)
            assert weights[i, column] == pytest.approx(density + np.log(len(rows) / 301), abs=1e-8)
        assert weights[0, -1] == pytest.approx(GAUSS.log_marginal(X[:1]) + np.log(1 / 301), abs=1e-8)


def test_what_is_not_remembered_cannot_be_asked_for() -> None:
    stream = fed(2, remember=False)
    with pytest.raises(hr.ParameterError, match="remember"):
        _ = stream.labels
    assert len(stream.add(blobs(30, 7)[0])) == 30


@pytest.mark.parametrize(
    ("options", "why"),
    [({"max_nodes": 10}, "max_nodes"), ({"revise": 2}, "revise"), ({"remember": None}, "remember"), ({"seed": -1}, "seed")],
)
def test_bad_options(options: dict[str, object], why: str) -> None:
    with pytest.raises(hr.ParameterError, match=why):
        TreeStream(MODEL, **options)  # type: ignore[arg-type]
    with pytest.raises(hr.ParameterError, match="model"):
        TreeStream(DP)  # type: ignore[arg-type]


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    stream = fed(2, 60, max_nodes=1000)
    state = stream.__getstate__()
    rng = np.random.default_rng(0)
    names = [name for name, array in state["state"].items() if name != "measure" and len(array) and array.dtype != np.uint64]
    refused = 0
    for _ in range(200):
        broken = dict(state["state"])
        name = names[rng.integers(len(names))]
        array = broken[name].copy()
        if rng.random() < 0.3:
            array = array[:-1]
        else:
            array[rng.integers(len(array))] = rng.choice([-7, -1, 3, 10**6, array[0]])
        broken[name] = array
        twin = TreeStream.__new__(TreeStream)
        try:
            twin.__setstate__({**state, "state": broken})
            twin.add(blobs(20, 3)[0])
        except (ValueError, hr.ParameterError):
            refused += 1
    assert refused > 80
    with pytest.raises(hr.ParameterError, match="stored"):
        hr.Forest.load(_saved(stream, tmp_path))


def _saved(stream: TreeStream, folder: Path) -> Path:
    stream.save(folder / "s.hedge")
    return folder / "s.hedge"


@pytest.mark.parametrize("u", [0.0, -1.0, float("nan"), float("inf"), "1", True, [], [1.0, 2.0]], ids=repr)
def test_u_must_be_one_that_a_measure_can_have(u: object) -> None:
    for grow in (hr.bhc, hr.ibhc):
        with pytest.raises(hr.ParameterError, match="u must be a finite number above 0"):
            grow(hr.Mixture(hr.NGG(), GAUSS), blobs(5, 0)[0], u=u)  # type: ignore[operator]
