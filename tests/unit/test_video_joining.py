"""Joining by colours, surroundings and edges: against brute force, on made-up borders, and where histograms alone go wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from hedgerow.apps.video.joining import Borders, JoinSettings, join_at_borders
from hedgerow.apps.video.run import default_prior, segment
from hedgerow.apps.video.segmenter import Segmenter
from hedgerow.apps.video.supervoxels import Supervoxels, SupervoxelSettings
from hedgerow.likelihoods import Multinomial
from hedgerow.mixture import Mixture

BINS = 60


def borders(pairs) -> Borders:
    """From (a, b, faces, contrast)."""
    found = Borders()
    a, b, faces, contrast = (np.array(column) for column in zip(*pairs, strict=True))
    found.add(a, b, faces, contrast.astype(float))
    return found


def marginal(counts, beta):
    return gammaln(BINS * beta) - gammaln(BINS * beta + counts.sum()) + (gammaln(beta + counts) - gammaln(beta)).sum()


def random_case(n, seed):
    rng = np.random.default_rng(seed)
    counts = np.array([rng.multinomial(rng.integers(20, 400), rng.dirichlet(np.full(BINS, 0.2))) for _ in range(n)])
    pairs = [(i, i + 1, 5, 5 * rng.uniform(1, 20)) for i in range(n - 1)]
    pairs += [(i, j, 3, 3 * rng.uniform(1, 20)) for i in range(n) for j in range(i + 2, n) if rng.random() < 0.3]
    return counts, pairs


@pytest.mark.parametrize("edges", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_every_join_costs_what_the_formula_says_and_was_mutually_the_cheapest(seed, edges):
    n, beta = 9, 0.5
    counts, pairs = random_case(n, seed)
    tree = join_at_borders([counts], beta, borders(pairs), edges)
    assert len(tree.left) == n - 1
    members = {k: [k] for k in range(n)}

    def cost(p, q):
        shared = [(f, c) for i, j, f, c in pairs if (i in p and j in q) or (i in q and j in p)]
        if not shared:
            return np.inf
        s, t = counts[p].sum(axis=0), counts[q].sum(axis=0)
        evidence = marginal(s, beta) + marginal(t, beta) - marginal(s + t, beta)
        contrast = sum(c for _, c in shared) / sum(f for f, _ in shared)
        return evidence * contrast**edges if evidence > 0 else evidence

    below = np.full(2 * n - 1, -np.inf)
    for k in range(n - 1):
        p, q = members[tree.left[k]], members[tree.right[k]]
        below[n + k] = max(cost(p, q), below[tree.left[k]], below[tree.right[k]])
        assert tree.height[k] == pytest.approx(below[n + k], rel=1e-9, abs=1e-9)
        members[n + k] = p + q
    assert (np.diff(tree.height) >= 0).all()


def test_alike_and_without_an_edge_first_and_only_what_touches():
    counts = np.zeros((4, BINS), np.int64)
    counts[:, 5] = [9000, 5000, 9000, 9000]
    counts[:, 6] = [0, 4000, 3000, 0]
    blurred = borders([(0, 1, 10, 10.0), (1, 2, 10, 200.0), (2, 3, 10, 200.0)])
    assert join_at_borders([counts], 0.5, blurred, 1.0).cut(3).tolist() == [0, 0, 1, 2]
    assert join_at_borders([counts], 0.5, blurred, 0.0).cut(3).tolist() != [0, 0, 1, 2]
    assert join_at_borders([counts], 0.5, borders([(0, 1, 1, 1.0), (2, 3, 1, 1.0)]), 0.5).fewest == 2


def test_ties_end():
    n = 40
    counts = np.full((n, BINS), 3)
    chain = borders([(k, (k + 1) % n, 2, 0.0) for k in range(n)])
    tree = join_at_borders([counts], 0.5, chain, 0.5)
    assert (tree.fewest, len(tree.left)) == (1, n - 1)


def test_one_segment_and_none_that_touch():
    assert join_at_borders([np.full((1, BINS), 4)], 0.5, Borders(), 0.5).cut(1).tolist() == [0]
    assert join_at_borders([np.full((3, BINS), 4)], 0.5, Borders(), 0.5).fewest == 3


def test_borders_sum_like_pairs_and_stay_short():
    found = Borders()
    for _ in range(50):
        a, b = np.arange(3000), np.arange(3000)[::-1].copy()
        found.add(a, b, np.ones(3000, np.int64), np.full(3000, 2.0))
        assert len(found.low) <= 30_000
    assert found.touching(3000).nnz == 3000
    assert len(found.low) == 1500
    assert set(found.faces.tolist()) == {100.0}
    assert set(found.contrast.tolist()) == {200.0}


def test_a_shaded_wall_stays_whole_where_edges_count():
    rng = np.random.default_rng(0)
    clip = np.broadcast_to(np.linspace(100, 124, 64)[None, None, :, None], (12, 48, 64, 3)).copy()
    clip[:, 20:32, 10:20] += 30  # a lighter patch, its edge sharp
    clip = np.clip(clip + rng.normal(0, 2, clip.shape), 0, 255).astype(np.uint8)

    def share_of_the_wall(joins):
        labels = segment(clip, supervoxels=SupervoxelSettings(80), joins=joins, progress=False).labels(2)
        patch = np.bincount(labels[:, 22:30, 12:18].ravel(), minlength=2)
        wall = np.bincount(np.concatenate([labels[:, :, :8].ravel(), labels[:, :, 24:].ravel()]), minlength=2)
        return wall.max() / wall.sum(), patch.argmax() != wall.argmax()

    whole, apart = share_of_the_wall(JoinSettings(edges=1.0, surroundings=0.0))
    assert whole > 0.99
    assert apart
    assert share_of_the_wall(None)[0] < 0.9  # the cut goes through the wall, and the patch lies on either side


def test_surroundings_join_what_colours_would_not():
    """A dark tile, a light tile, a wall lighter still: tiles lie among tiles, walls among walls."""
    counts, around = np.zeros((3, BINS), np.int64), np.zeros((3, BINS))
    counts[0, 5], counts[1, 30], counts[1, 31], counts[2, 31] = 3000, 2000, 1000, 3000
    around[:2, 5] = around[:2, 30] = 1500.0
    around[2, 31] = 3000.0
    chain = borders([(0, 1, 10, 10.0), (1, 2, 10, 10.0)]).touching(3)
    pieces = Supervoxels(
        labels=np.array([[[0, 1, 2]]], np.int32),
        counts=counts,
        contacts=chain.astype(np.int64),
        contrasts=chain.astype(np.float64),
        surroundings=around,
        colour_sums=np.zeros((3, 3)),
        place_sums=np.zeros((3, 2)),
        ends=np.zeros((2, 1, 3, 3), np.float32),
    )
    segmenter = Segmenter(Mixture(default_prior(), Multinomial(0.5)))
    assert segmenter.push(pieces).tolist() == [[[0, 1, 2]]]
    assert segmenter.hierarchy().cut(2).tolist() == [0, 1, 1]
    assert segmenter.hierarchy(JoinSettings(surroundings=0.0)).cut(2).tolist() == [0, 1, 1]
    assert segmenter.hierarchy(JoinSettings(surroundings=3.0)).cut(2).tolist() == [0, 0, 1]
