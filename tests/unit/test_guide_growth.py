"""Guides grown from data are one tree over all rows, whatever the order, u and the units of the columns."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import _core
from hedgerow.sampling import Chain
from hedgerow.summaries import ari


@pytest.mark.parametrize("u", [0.5, 50.0, 5000.0])
def test_joined_roots_hold_every_row(u):
    X = hr.data.pitman_yor_mixture(1500, 3, seed=2).X
    model = hr.Mixture(hr.NGG(1.0, 0.3, 1.0), hr.GaussianWishart()).resolve(X)
    bound = model.likelihood.bind(X)
    for seed in range(8):
        builder = _core.TreeBuilder(bound, model.prior.to_core(), seed=seed)
        builder.set_state(builder.state() | {"log_u": np.array([np.log(u)])})
        builder.ibhc()
        builder.join_roots()
        assert len(builder.arrays()["left"]) == 2 * len(X) - 1


def test_default_kernel_on_raw_wine():
    wine = hr.data.wine()
    model = hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2)), hr.GaussianWishart())
    for seed in range(5):
        chain = Chain(model, wine.X, hr.TreeGuided(), seed=seed)
        chain.warm_up(20, 0, 20)
        assert np.isfinite(chain.run(5).log_joint).all()


def test_guides_of_your_own_must_fit():
    X = hr.data.ring13(n=130, seed=0).X
    with pytest.raises(hr.ParameterError, match="guides must"):
        hr.TreeGuided(guides=np.zeros((3, 2)))
    from scipy.cluster.hierarchy import linkage

    with pytest.raises(hr.ParameterError, match="join the 130 rows"):
        hr.sample(hr.Mixture(hr.DP(), hr.GaussianWishart()), X, kernel=hr.TreeGuided(guides=linkage(X[:10])), draws=1, chains=1)
    assert hr.TreeGuided(guides=linkage(X)) == hr.TreeGuided(guides=[linkage(X)]) != hr.TreeGuided()
    with pytest.warns(FutureWarning, match="guides"):
        assert hr.TreeGuided(guide=linkage(X)) == hr.TreeGuided(guides=linkage(X))


def documents(seed: int, topics: int = 40, rows: int = 400, words: int = 500, length: int = 300):
    """Counts of documents that mix a few topics: many partitions are nearly as good, with hundreds of nats between them."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(words, 0.05), size=topics)
    return np.array([rng.multinomial(length, mix @ shares) for mix in rng.dirichlet(np.full(topics, 0.1), size=rows)])


def warmed_up(kernel, X, seed):
    """Mean log joint after a warm-up from one cluster."""
    model = hr.Mixture(hr.DP(1.0), hr.Multinomial(0.1))
    chain = Chain(model, X, kernel, labels=np.zeros(len(X), int), seed=seed)
    chain.warm_up(120, 0, 120)
    return chain.run(20).log_joint.mean()


def test_heated_sweeps_find_better_partitions():
    plain, heated = ([warmed_up(hr.TreeGuided(anneal=anneal), documents(seed), seed) for seed in range(4)] for anneal in (False, True))
    assert np.mean(heated) > np.mean(plain) + 5.0, (plain, heated)


def test_the_warm_up_takes_the_partition_of_the_first_pass_if_it_is_better():
    X, y, _ = hr.data.ring13(n=2600, seed=1)
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart())
    still = hr.TreeGuided(sweep_rate=0.0, global_moves=0)
    far, best = (Chain(model, X, still, labels=labels, seed=0) for labels in (np.zeros(len(X), int), y))
    truth = best.log_joint()
    for chain in (far, best):
        chain.warm_up(1, 0, 100)
    assert far.log_joint() > truth - 50
    assert best.log_joint() >= truth


@pytest.mark.parametrize("seed", range(4))
def test_the_first_pass_leaves_one_blob_in_one_piece(seed):
    """Left in pieces, they overlap and stay: any two of them make a worse cluster, and thousands of rows pass between them."""
    X = np.random.default_rng(0).normal(size=(4000, 2))
    model = hr.Mixture(hr.NGG(hr.Gamma(1, 1), hr.Beta(1, 2), 1.0), hr.GaussianWishart()).resolve(X)
    chain = Chain(model, X, hr.TreeGuided(sweep_rate=0.0, global_moves=0), labels=np.arange(len(X)) % 20, seed=seed)
    chain.warm_up(1, 0, 100)
    assert chain.state()["labels"].max() == 0


def test_a_warm_up_sees_the_top_of_the_mode_it_started_in():
    """At T = 1 most rows of overlapping clusters lie elsewhere than at the top, so a chain that only draws leaves a good start."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2)) + np.repeat(rng.normal(size=(12, 2), scale=3.0), 100, axis=0)
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart())
    start = max((hr.ibhc(model, X, passes=5, seed=seed) for seed in range(5)), key=lambda forest: model.log_joint(X, forest.labels))

    def highest(anneal: bool) -> float:
        chain = Chain(model, X, hr.TreeGuided(anneal=anneal), labels=start.labels, seed=1)
        seen = []
        for i in range(200):
            chain.warm_up(1, i, 200)
            seen.append(chain.log_joint())
        return max(seen)

    reached = model.log_joint(X, start.labels)
    assert highest(False) < reached - 20.0
    assert highest(True) > reached - 1e-6


def test_a_warm_up_that_ends_while_hot_goes_back():
    X = hr.data.ring13(n=260, seed=0).X
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart())
    chain = Chain(model, X, hr.TreeGuided(), seed=0)
    chain.warm_up(20, 0, 100)
    hot = chain.log_joint()
    assert chain.run(1).log_joint[0] > hot + 100


def test_anneal_is_a_yes_or_no():
    with pytest.raises(hr.ParameterError, match=r"anneal must be True or False\. Got 3"):
        hr.TreeGuided(anneal=3)


def test_what_rows_do_while_hot_is_not_what_they_are_taken_to_do():
    """Sweeps of draws visit the rows that the end of the warm-up saw moving: few, where clusters lie apart."""
    centres = 12.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    X = np.repeat(centres, 100, axis=0) + np.random.default_rng(0).normal(size=(400, 2))
    chain = Chain(hr.Mixture(hr.DP(1.0), hr.GaussianWishart()), X, hr.TreeGuided(), seed=0)
    chain.warm_up(120, 0, 120)
    chain.end_warm_up()
    moving = chain.state()["kernel_real"][len(X) : 2 * len(X)]
    seen = chain.run(200).stats["moved"].mean()
    assert moving.sum() < seen + 10.0  # one sweep of the heated part moves a hundred rows and more


def bound_blobs(n: int, seed: int = 0):
    """Rows of a few clusters, and a model bound to them."""
    X = np.random.default_rng(seed).normal(size=(n, 2)) + 8.0 * np.random.default_rng(1).integers(0, 3, (n, 2))
    model = hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianWishart()).resolve(X)
    return model, X, model.bind(X)


def climbed(model, X, bound, sequence=0, iterations=12, **options):
    chain = Chain(model, X, hr.TreeGuided(**options), labels=np.zeros(len(X), int), seed=5, sequence=sequence, bound=bound)
    chain.warm_up(iterations, 0, iterations)
    return chain


def test_guides_do_not_depend_on_what_was_grown_before_them():
    """Chains have guides in common, whoever grows them: alone, and after others that were made along with its own."""
    model, X, bound = bound_blobs(700)
    together = [climbed(model, X, bound, sequence).run(5) for sequence in range(4)]
    for sequence in (3, 1):
        alone = climbed(model, X, model.bind(X), sequence).run(5)
        assert np.array_equal(alone.labels, together[sequence].labels)
        assert np.array_equal(alone.log_joint, together[sequence].log_joint)


def test_a_state_need_not_hold_the_guides():
    model, X, bound = bound_blobs(700)
    chain = climbed(model, X, bound)
    state = chain.state()
    assert len(state["kernel_whole"]) < 20
    again = Chain(model, X, hr.TreeGuided(), labels=np.zeros(len(X), int), seed=5, bound=model.bind(X))
    again.restore(state)
    assert np.array_equal(chain.run(5).labels, again.run(5).labels)


def test_growth_in_little_memory_finds_the_same_clusters():
    """Beyond some thousand nodes what is certainly one cluster is folded; every row is still in the one tree."""
    X, y, _ = hr.data.ring13(n=13_000, seed=1)
    model = hr.Mixture(hr.DP(1.0), hr.GaussianWishart()).resolve(X)
    bound = model.bind(X)
    truth = Chain(model, X, hr.Gibbs(), labels=y, seed=0, bound=bound).log_joint()
    chain = climbed(model, X, bound, iterations=1, sweep_rate=0.0, global_moves=0)
    assert chain.log_joint() > truth - 100.0
    assert ari(chain.state()["labels"], y) > 0.99
