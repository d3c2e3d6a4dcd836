"""The pictures that a posterior draws of itself: every one on given axes, which come back; densities that integrate to one."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import dataclasses

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from scipy import sparse

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.posterior.pictures import _marginal

SHORT = {"draws": 20, "warmup": 20, "chains": 2, "seed": 0, "progress": False}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def plane() -> hr.Posterior:
    X = hr.data.ring13(seed=0, n=130)[0]
    return hr.sample(hr.Mixture(hr.DP(hr.Gamma(1, 1)), hr.GaussianWishart()), pd.DataFrame(X, columns=["east", "north"]), **SHORT)


@pytest.fixture(scope="module")
def wide() -> hr.Posterior:
    return hr.sample(hr.Mixture(hr.NGG(), hr.GaussianWishart(psi=0.5, nu=8.0)), hr.data.iris().X, **SHORT)


@pytest.fixture(scope="module")
def table() -> hr.Posterior:
    rng = np.random.default_rng(0)
    side = np.repeat([0, 1], 40)
    frame = pd.DataFrame(
        {
            "length": rng.normal(4 * side, 1.0),
            "visits": rng.poisson(1 + 6 * side),
            "width": rng.normal(-3 * side, 1.0),
            "colour": np.where(rng.random(80) < 0.2, "green", np.array(["red", "blue"])[side]),
        }
    )
    frame.loc[3, "width"] = np.nan
    parts = {"length": hr.GaussianWishart(), "visits": hr.Poisson(), "width": hr.GaussianDiagonal(), "colour": hr.Categorical()}
    return hr.sample(hr.Mixture(hr.DP(1.0), hr.Product(parts)), frame, **SHORT)


PICTURES = ["plot_trace", "plot_n_clusters", "plot_similarity", "plot_tree", "plot_scatter", "plot_density"]


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_take_axes_and_return_them(plane: hr.Posterior, name: str) -> None:
    ax = pyplot.figure().add_subplot()
    assert getattr(plane, name)(ax=ax) is ax
    ax.figure.canvas.draw()
    assert getattr(plane, name)() is not ax


def test_pairs_take_axes_and_return_them(wide: hr.Posterior, table: hr.Posterior) -> None:
    axes = pyplot.figure().subplots(3, 3)
    assert wide.plot_pairs([0, 2, 3], axes=axes) is not None
    assert wide.plot_pairs().shape == (4, 4)
    assert table.plot_pairs(["width", "length"]).shape == (2, 2)
    with pytest.raises(ParameterError, match="columns must name two to five columns"):
        wide.plot_pairs([0])
    with pytest.raises(ParameterError, match="columns must be different"):
        wide.plot_pairs([0, 0])


def test_names_of_columns_are_shown(plane: hr.Posterior) -> None:
    assert plane.plot_scatter().get_xlabel() == "east"
    assert plane.plot_density("north").get_xlabel() == "north"
    both = plane.plot_density(["north", "east"])
    assert (both.get_xlabel(), both.get_ylabel()) == ("north", "east")


def test_traces_are_those_of_the_summary(plane: hr.Posterior) -> None:
    for quantity in plane.summary()["quantity"]:
        plane.plot_trace(quantity)
    with pytest.raises(ParameterError, match="quantity must be one of 'log_joint', 'n_clusters', 'alpha'"):
        plane.plot_trace("sigma")


@pytest.mark.parametrize("column", range(4))
def test_density_of_a_column_is_the_marginal(wide: hr.Posterior, column: int) -> None:
    """The line drawn is the density of all four columns with three of them integrated out, here by sampling."""
    line = wide.plot_density(column).lines[-1]
    grid, drawn = line.get_data()
    assert np.trapezoid(drawn, grid) == pytest.approx(1.0, abs=0.05)
    rng = np.random.default_rng(0)
    model, points = wide.model, []
    assert model is not None
    for _ in range(3_000):  # new rows from the model: a draw, a cluster or a new one, its parameter, the row
        labels = wide.labels[rng.integers(2), rng.integers(20)]
        sizes = np.append(np.bincount(labels), 0.0)
        k = rng.choice(len(sizes), p=sizes / sizes.sum())
        rows = wide.X[labels == k]
        theta = model.likelihood.sample_posterior(rows, rng)
        points.append(_one_row(theta, rng))
    heights, edges = np.histogram(np.array(points)[:, column], bins=12, density=True)
    within = np.linspace(edges[:-1], edges[1:], 50)  # a bin shows the mean of the density over it, not its middle
    assert np.abs(np.interp(within, grid, drawn).mean(axis=0) - heights).max() < 0.12 * drawn.max() + 0.03


def _one_row(theta, rng):
    mean, second = theta
    second = np.asarray(second)
    covariance = np.linalg.inv(second)
    return rng.multivariate_normal(np.asarray(mean), covariance)


def test_density_over_columns_of_several_kinds(table: hr.Posterior) -> None:
    for columns in ("length", "width", ["length", "width"], 2):
        assert table.plot_density(columns) is not None
    assert np.trapezoid(*table.plot_density("width").lines[-1].get_data()[::-1]) == pytest.approx(1.0, abs=0.05)
    with pytest.raises(ParameterError, match="columns must be measurements, under a Gaussian likelihood; these are under Poisson"):
        table.plot_density("visits")
    with pytest.raises(ParameterError, match="columns must be given, one or two of length, visits, width, colour"):
        table.plot_density()
    with pytest.raises(ParameterError, match="columns must be columns of X"):
        table.plot_density("height")


def test_marginals_agree_with_missing_entries(table: hr.Posterior) -> None:
    """Where other columns factorise, leaving them out and leaving their entries empty are the same."""
    part = _marginal(table, [2], "test")
    rows = pd.DataFrame({"length": [0.0], "visits": [np.nan], "width": [-1.0], "colour": [None]})
    both = table.log_density(rows)
    assert np.isfinite(both).all()
    pair = _marginal(table, [0, 2], "test")
    assert hr.posterior.prediction.log_density(pair, np.array([[0.0, -1.0]])) == pytest.approx(both)
    assert np.isfinite(hr.posterior.prediction.log_density(part, np.array([[-1.0]])))


def test_density_at_a_time() -> None:
    rng = np.random.default_rng(0)
    times = np.repeat([0, 1], 30)
    X = rng.normal(4 * times, 1.0)[:, None]
    model = hr.Mixture(hr.MixedNRM(hr.NGG(1.0, 0.3, 1.0), basis=[0, 1], decay=1.0), hr.GaussianWishart())
    post = hr.sample(model, X, times=times, **SHORT)
    early, late = (post.plot_density(time=t).lines[-1].get_data() for t in (0, 1))
    assert np.average(early[0], weights=early[1]) < np.average(late[0], weights=late[1]) - 1


def test_counts_and_one_row() -> None:
    counts = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (30, 8)))
    post = hr.sample(hr.Mixture(hr.DP(1.0), hr.Multinomial()), counts, **SHORT)
    for name in ("plot_scatter", "plot_similarity", "plot_tree"):
        getattr(post, name)()
    with pytest.raises(ParameterError, match="under a Gaussian likelihood; these are under Multinomial"):
        post.plot_density(0)
    with pytest.raises(ParameterError, match="be a table of columns; plot_scatter draws counts"):
        post.plot_pairs([0, 1])
    one = hr.sample(hr.Mixture(hr.DP(1.0), hr.GaussianWishart()), [[1.0]], **SHORT)
    one.plot_similarity()
    with pytest.raises(ParameterError, match="two rows or more"):
        one.plot_tree()


def test_without_a_model(plane: hr.Posterior) -> None:
    bare = dataclasses.replace(plane, model=None)
    bare.plot_tree()
    with pytest.raises(ParameterError, match="must have its model"):
        bare.plot_density()
