"""Plots: geometry on hand-made trees, the palette under simulated colour blindness, drawing on Agg."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import linkage

from hedgerow import plots
from hedgerow.errors import ParameterError
from hedgerow.plots import palette
from hedgerow.plots.points import mass_levels, point_styles

matplotlib = pytest.importorskip("matplotlib", reason="drawing needs the plot extra")
matplotlib.use("Agg")

# Two roots: ((0 1) (2 3)) with the cut between the pairs, and (4 5) below the cut; leaf 6 alone.
#   7 = (0 1)  8 = (2 3)  9 = (7 8), d > 1  10 = (4 5)
HAND = {
    "left": [-1, -1, -1, -1, -1, -1, -1, 0, 2, 7, 4],
    "right": [-1, -1, -1, -1, -1, -1, -1, 1, 3, 8, 5],
    "roots": [9, 10, 6],
    "size": [1, 1, 1, 1, 1, 1, 1, 2, 2, 4, 2],
    "log_d": [-np.inf] * 7 + [-1.0, -2.0, 3.0, 0.0],
}


def forest_of(n: int, seed: int = 0, clusters: int = 6) -> dict[str, Any]:
    """A linkage of Gaussian blobs as a one-root forest; d grows with distance, so the cut is inside."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * 0.1 + rng.normal(size=(clusters, 2))[rng.integers(clusters, size=n)] * 3
    Z = linkage(X, "average")
    leaf = np.full(n, -1)
    return {
        "left": np.concatenate([leaf, Z[:, 0].astype(int)]),
        "right": np.concatenate([leaf, Z[:, 1].astype(int)]),
        "roots": np.array([2 * n - 2]),
        "size": np.concatenate([np.ones(n, dtype=int), Z[:, 3].astype(int)]),
        "log_d": np.concatenate([np.full(n, -np.inf), 20 * (Z[:, 2] - 0.8)]),
    }


def caterpillar(n: int) -> dict[str, Any]:
    leaf = np.full(n, -1)
    joins = np.arange(n, 2 * n - 1)
    return {
        "left": np.concatenate([leaf, [0], joins[:-1]]),
        "right": np.concatenate([leaf, np.arange(1, n)]),
        "roots": np.array([2 * n - 2]),
        "size": np.concatenate([np.ones(n, dtype=int), np.arange(2, n + 1)]),
        "log_d": np.concatenate([np.full(n, -np.inf), np.full(n - 1, -3.0)]),
    }


class TestTreeGeometry:
    def test_leaf_order_follows_the_roots(self) -> None:
        assert plots.leaf_order(HAND["left"], HAND["right"], HAND["roots"]).tolist() == [0, 1, 2, 3, 4, 5, 6]
        assert plots.leaf_order(HAND["left"], HAND["right"], [6, 10]).tolist() == [6, 4, 5]

    def test_cut_opens_only_joins_with_d_above_one(self) -> None:
        tops = plots.cut_clusters(HAND["left"], HAND["right"], HAND["roots"], HAND["log_d"])
        assert tops.tolist() == [7, 8, 10, 6]  # by first row; d = 1 exactly is not cut

    def test_cut_ignores_doubtful_joins_inside_a_cluster(self) -> None:
        log_d = [*HAND["log_d"][:7], 5.0, -2.0, -1.0, 0.0]  # 7 has d > 1 but its parent does not
        tops = plots.cut_clusters(HAND["left"], HAND["right"], HAND["roots"], log_d)
        assert tops.tolist() == [9, 10, 6]

    @pytest.mark.parametrize("forest", [HAND, forest_of(200), caterpillar(50)], ids=["hand", "blobs", "caterpillar"])
    def test_heights_grow_upwards_and_the_cut_separates(self, forest: dict[str, Any]) -> None:
        scale = plots.tree_heights(**forest)
        left, right = np.asarray(forest["left"]), np.asarray(forest["right"])
        joins = np.flatnonzero(left >= 0)
        for side in (left, right):
            assert np.all(scale.height[joins] > scale.height[side[joins]])
        assert np.all(scale.height[left < 0] == 0)
        assert np.all((scale.height > scale.cut) == scale.above)
        positions = [position for position, _ in scale.ticks]
        assert positions == sorted(positions)

    def test_heights_grow_even_where_log_d_falls_past_the_cut(self) -> None:
        forest = caterpillar(40)
        forest["log_d"] = np.concatenate([np.full(40, -np.inf), [-1.0], np.linspace(500, 1, 38)])
        scale = plots.tree_heights(**forest)
        assert np.all(np.diff(scale.height[40:]) > 0)
        assert scale.above.sum() == 38

    def test_infinite_d_is_drawn_at_a_finite_height(self) -> None:
        forest = {**HAND, "log_d": [*HAND["log_d"][:9], np.inf, 0.0]}
        assert np.all(np.isfinite(plots.tree_heights(**forest).height))

    def test_probability_is_half_at_the_cut_and_does_not_overflow(self) -> None:
        p = plots.merge_probability([-np.inf, -1e4, 0.0, 1e4, np.inf])
        assert p.tolist() == [1.0, 1.0, 0.5, 0.0, 0.0]

    def test_hand_made_dendrogram(self) -> None:
        g = plots.dendrogram_geometry(**HAND)
        assert g.terminal.tolist() == [0, 1, 2, 3, 4, 5, 6]
        assert g.terminal_x.tolist() == [0.5, 1.5, 2.5, 3.5, 5.5, 6.5, 8.5]  # a gap between roots
        assert g.width == 9.0
        assert g.cluster.tolist() == [0, 0, 1, 1, 2, 2, 3]
        assert sorted(g.node.tolist()) == [7, 8, 9, 10]
        top = g.path[g.node.tolist().index(9)]
        assert top[:, 0].tolist() == [1.0, 1.0, 3.0, 3.0]
        assert top[0, 1] == g.scale.height[7]
        assert top[1, 1] == top[2, 1] == g.scale.height[9]

    @pytest.mark.parametrize("max_leaves", [2, 7, 60, 5000])
    def test_truncation_loses_no_point(self, max_leaves: int) -> None:
        forest = forest_of(1200)
        g = plots.dendrogram_geometry(**forest, max_leaves=max_leaves)
        assert len(g.terminal) == min(max_leaves, 1200)
        assert g.terminal_size.sum() == 1200
        assert len(g.node) == len(g.terminal) - 1
        assert np.all(np.diff(g.terminal_x) > 0)
        edges = g.terminal_x[:, None] + g.terminal_span[:, None] * np.array([-0.5, 0.5])
        assert np.all(edges[1:, 0] >= edges[:-1, 1] - 1e-9)  # terminals never overlap

    def test_joins_past_the_cut_open_first(self) -> None:
        forest = forest_of(600)
        clusters = plots.cut_clusters(forest["left"], forest["right"], forest["roots"], forest["log_d"])
        g = plots.dendrogram_geometry(**forest, max_leaves=len(clusters))
        assert sorted(g.terminal) == sorted(clusters)

    def test_too_many_roots_leave_the_smallest_out_and_say_so(self) -> None:
        g = plots.dendrogram_geometry(**HAND, max_leaves=2)
        assert (g.hidden_roots, g.hidden_points) == (1, 1)
        assert g.terminal.tolist() == [9, 10]

    def test_a_deep_tree_needs_no_recursion(self) -> None:
        g = plots.dendrogram_geometry(**caterpillar(20_000))
        assert len(g.terminal) == 60

    def test_broken_trees_are_refused(self) -> None:
        with pytest.raises(ParameterError, match="met twice"):
            plots.leaf_order([-1, -1, 0, 0], [-1, -1, 1, 1], [2, 3])
        with pytest.raises(ParameterError, match="exactly where left is -1"):
            plots.leaf_order([-1, 0], [-1, -1], [1])
        with pytest.raises(ParameterError, match=r"roots must name at least one node"):
            plots.leaf_order([-1], [-1], [3])


class TestOtherGeometry:
    def test_seriation_puts_blocks_together(self) -> None:
        labels = np.array([0, 1, 2, 0, 1, 2, 0, 1])
        along = labels[plots.seriate(np.equal.outer(labels, labels).astype(float))]
        assert np.count_nonzero(np.diff(along)) == 2

    def test_block_means_keep_the_total(self) -> None:
        S = np.random.default_rng(0).random((10, 10))
        order = np.random.default_rng(1).permutation(10)
        whole, edges = plots.block_means(S, order, 10)
        np.testing.assert_allclose(whole, S[np.ix_(order, order)])
        coarse, edges = plots.block_means(S, order, 3)
        area = np.outer(np.diff(edges), np.diff(edges))
        assert coarse.shape == (3, 3)
        np.testing.assert_allclose((coarse * area).sum(), S.sum())

    def test_block_means_refuse_what_is_no_order(self) -> None:
        with pytest.raises(ParameterError, match=r"order must list 0\.\.2 once each"):
            plots.block_means(np.eye(3), [0, 0, 1], 3)

    def test_cluster_runs(self) -> None:
        assert plots.cluster_runs([0, 1, 0, 1], [0, 2, 3, 1]) == [(0, 2, 0), (2, 4, 1)]

    def test_cluster_counts(self) -> None:
        g = plots.cluster_counts([[3, 3, 5, 5], [3, 3, 3, 3]])
        assert g.k.tolist() == [3, 4, 5]
        assert g.probability.tolist() == [0.75, 0.0, 0.25]
        assert g.by_chain.tolist() == [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]

    def test_thinned_trace_keeps_the_spike(self) -> None:
        values = np.zeros(10_000)
        values[6_789] = 5.0
        at, kept = plots.thin_trace(values, 200)
        assert len(at) <= 200
        assert kept.max() == 5.0
        assert at[np.argmax(kept)] == 6_789
        assert np.all(np.diff(at) > 0)

    def test_stacked_bands(self) -> None:
        bands = plots.stacked_bands([[0.2, 0.8]], [[0.1, 0.7]], [[0.3, 0.9]])
        np.testing.assert_allclose(bands["lower"], [[0.0, 0.2]])
        np.testing.assert_allclose(bands["upper"], [[0.2, 1.0]])
        np.testing.assert_allclose(bands["band_low"], [[0.1, 0.9]])
        np.testing.assert_allclose(bands["band_high"], [[0.3, 1.1]])

    def test_plane_of_two_columns_is_the_data(self) -> None:
        X = np.random.default_rng(0).normal(size=(5, 2))
        place = plots.plane(X, ["a", "b"])
        np.testing.assert_array_equal(place.points, X)
        assert place.axes == ("a", "b")
        assert place.note == ""

    def test_plane_of_many_columns_says_it_is_a_projection(self) -> None:
        X = np.random.default_rng(0).normal(size=(50, 8))
        X[3, 4] = np.nan
        place = plots.plane(X)
        assert place.axes[0].startswith("principal component 1 (")
        assert "8 columns" in place.note
        assert place.note.endswith("Missing entries stand at their column's mean.")
        assert "Missing" not in plots.plane(np.delete(X, 3, axis=0)).note
        assert np.all(np.isfinite(place.points))
        assert abs(np.corrcoef(place.points.T)[0, 1]) < 1e-10

    @pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
    def test_sparse_counts_project_as_their_dense_selves(self, shape: tuple[int, int]) -> None:
        rng = np.random.default_rng(0)
        counts = rng.poisson(rng.gamma(0.5, 2.0, size=shape))
        place = plots.plane(sparse.csr_array(counts))
        roots = np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
        values = np.linalg.svd(roots - roots.mean(axis=0), compute_uv=False)
        np.testing.assert_allclose(np.linalg.norm(place.points, axis=0), values[:2], rtol=1e-8)
        assert f"({100 * values[0] ** 2 / (values**2).sum():.0f}%)" in place.axes[0]

    def test_mass_levels_enclose_the_asked_share(self) -> None:
        grid = np.linspace(-5, 5, 201)
        value = np.exp(-0.5 * (grid[:, None] ** 2 + grid**2))
        (level,) = mass_levels(value, [0.5])
        assert abs(value[value >= level].sum() / value.sum() - 0.5) < 0.01
        np.testing.assert_allclose(level, 0.5, rtol=0.02)  # exp(-r²/2) encloses 1 - its own height

    def test_uncertain_points_are_paler_and_larger(self) -> None:
        rgba, area = point_styles([0, 0], [0.0, 0.9], 10.0)
        assert rgba[0, 3] > rgba[1, 3]
        assert area[0] < area[1]


def _oklab(rgb: Any) -> Any:
    rgb = np.clip(rgb, 0, 1)
    cone = np.cbrt(
        np.array(
            [
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ]
        )
        @ rgb
    )
    return (
        np.array(
            [
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ]
        )
        @ cone
    )


COLOR_VISION = {  # Machado et al. 2009, severity 1
    "full": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}


class TestPalette:
    @pytest.mark.parametrize("vision", COLOR_VISION)
    def test_house_colours_stay_apart(self, vision: str) -> None:
        srgb = palette.ranked_colors(len(palette.CLUSTER_COLORS))
        linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
        seen = [_oklab(np.asarray(COLOR_VISION[vision]) @ color) for color in linear]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 0.09

    def test_many_clusters_all_differ(self) -> None:
        colors = palette.ranked_colors(40)
        assert np.all((colors >= 0) & (colors <= 1))
        assert min(np.abs(a - b).max() for a, b in itertools.combinations(colors, 2)) > 0.015

    def test_large_clusters_choose_first(self) -> None:
        colors = plots.cluster_colors([0, 1, 1, 2, 1, 2])
        np.testing.assert_array_equal(colors[[1, 2, 0]], palette.ranked_colors(3))

    def test_probability_is_grey_at_the_cut(self) -> None:
        np.testing.assert_allclose(plots.probability_colors(0.5), palette.hex_to_rgb("#c9c4ba"))


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


class TestDrawing:
    def render(self, ax: Any) -> None:
        np.ravel(ax)[0].figure.canvas.draw()

    @pytest.mark.parametrize("forest", [HAND, forest_of(1500), caterpillar(3)], ids=["hand", "blobs", "small"])
    def test_dendrogram(self, forest: dict[str, Any]) -> None:
        import matplotlib.pyplot as plt

        given = plt.figure().add_subplot()
        names = [f"leaf {i}" for i in range(np.sum(np.asarray(forest["left"]) < 0))]  # type: ignore[call-overload]
        ax = plots.dendrogram(**forest, names=names, ax=given)
        assert ax is given
        self.render(ax)
        self.render(plots.dendrogram(**forest, max_leaves=2))

    def test_labels_of_a_narrow_dendrogram_do_not_touch(self) -> None:
        import matplotlib.pyplot as plt

        forest = forest_of(1500)
        for width, some in ((9.0, True), (2.0, False)):
            ax = plots.dendrogram(**forest, ax=plt.figure(figsize=(width, 4)).add_subplot())
            self.render(ax)
            boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
            assert bool(boxes) == some
            assert all(a.x1 <= b.x0 + 1 for a, b in itertools.pairwise(boxes))

    def test_numbers_of_clusters_are_whole_on_the_axes(self) -> None:
        for ax, axis in ((plots.trace(np.full((2, 5), 7.0)), "yaxis"), (plots.cluster_posterior(np.full((2, 5), 7)), "xaxis")):
            self.render(ax)
            low, high = sorted(getattr(ax, axis).get_view_interval())
            assert [tick for tick in getattr(ax, axis).get_ticklocs() if low <= tick <= high] == [7]

    def test_single_leaf_forest(self) -> None:
        self.render(plots.dendrogram([-1], [-1], [0], [1], [-np.inf]))

    def test_similarity_map(self) -> None:
        labels = np.arange(30) % 3
        S = np.equal.outer(labels, labels).astype(float)
        self.render(plots.similarity_map(S, labels=labels, cells=10))
        self.render(plots.similarity_map(S, order=np.argsort(labels)))

    def test_series(self) -> None:
        rng = np.random.default_rng(0)
        self.render(plots.trace(rng.normal(size=(4, 100))))
        self.render(plots.trace(np.full((2, 5), 7.0), name="K"))
        self.render(plots.trace([[0.0, np.nan, -np.inf, 1.5]]))
        self.render(plots.cluster_posterior(rng.integers(3, 9, size=(4, 100))))
        self.render(plots.cluster_posterior([4, 4, 5]))
        mean = rng.dirichlet(np.ones(14), size=6)
        self.render(plots.popularity(np.arange(6), mean, low=0.9 * mean, high=1.1 * mean))
        self.render(plots.popularity(np.arange(6), mean, names=[f"topic {c}" for c in range(14)]))

    def test_points(self) -> None:
        rng = np.random.default_rng(0)
        labels = rng.integers(12, size=80)
        for d in (1, 2, 7):
            self.render(plots.scatter(rng.normal(size=(80, d)), labels, uncertainty=rng.random(80)))
        self.render(plots.pairs(rng.normal(size=(80, 3)), labels, uncertainty=rng.random(80)))
        grid = np.linspace(-4, 4, 50)
        curve = np.exp(-0.5 * grid**2)
        self.render(plots.density(grid, curve, low=0.8 * curve, high=1.2 * curve, data=rng.normal(size=80)))
        field = curve[:, None] * curve
        self.render(plots.density_map(grid, grid, field, points=rng.normal(size=(80, 2)), labels=labels))

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(ParameterError, match=r"pairs\(X=.*2 to 5 columns"):
            plots.pairs(np.zeros((4, 9)), np.zeros(4, dtype=int))
        with pytest.raises(ParameterError, match="high must be given together with low"):
            plots.density([0.0, 1.0], [1.0, 1.0], low=[0.5, 0.5])
        with pytest.raises(ParameterError, match=r"scatter\(labels=.*have 4 entries"):
            plots.scatter(np.zeros((4, 2)), [0, 1])
