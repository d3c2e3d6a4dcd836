"""Data-driven defaults: the papers' formulas, indifference to units and offsets, and degenerate data."""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import multigammaln

from hedgerow.data import as_labels, ring13
from hedgerow.errors import ParameterError
from hedgerow.likelihoods import GaussianDiagonal, GaussianWishart, Multinomial
from hedgerow.reference.likelihoods import (
    gaussian_diagonal_log_marginal,
    gaussian_wishart_log_marginal,
    nips2015_gaussian_wishart,
)


def test_the_rule_of_nips_2015() -> None:
    X = ring13(n=130).X * [1, 5] + [3, 0]
    model = GaussianWishart.nips2015().resolve(X)
    assert model == GaussianWishart(model.mean, model.r, model.nu, model.psi)
    mean, r, nu, psi = nips2015_gaussian_wishart(X)
    np.testing.assert_allclose(model.mean, mean, atol=1e-12)
    np.testing.assert_allclose(model.psi, psi, rtol=1e-12)
    assert (model.r, model.nu) == (r, nu) == (0.1, 8.0)
    assert np.linalg.det(model.psi) == pytest.approx(0.1)


def test_what_is_given_stays_and_the_rest_is_resolved() -> None:
    X = ring13(n=130).X
    model = GaussianWishart(mean=1.0, psi=2.0).resolve(X)
    np.testing.assert_array_equal(model.mean, [1.0, 1.0])
    np.testing.assert_array_equal(model.psi, [[2.0, 0.0], [0.0, 2.0]])
    assert (model.r, model.nu) == (0.1, 8.0)
    assert not GaussianWishart(mean=1.0, r=1.0, nu=5.0, psi=2.0).is_resolved
    diagonal = GaussianDiagonal(a=[1.0, 2.0]).resolve(X)
    np.testing.assert_array_equal(diagonal.a, [1.0, 2.0])
    shares = diagonal.b / X.var(axis=0, ddof=1)
    assert any(np.allclose(shares, share * np.array([0.5, 1.0])) for share in (0.1, 0.25, 0.5))
    given = GaussianWishart(nu=7.0).resolve(X)
    assert (given.r, given.nu) == (0.1, 7.0)
    np.testing.assert_allclose(diagonal.mean, X.mean(axis=0), atol=1e-14)
    for resolved in (model, diagonal, Multinomial().resolve(np.eye(3))):
        assert resolved.is_resolved


def crowd(clusters: int, rows: int, seed: int = 0) -> npt.NDArray[np.float64]:
    """Clusters of ten rows, say, of spread 0.3 in a cube of side 10."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 10, (clusters, 6))[np.arange(rows) % clusters] + rng.normal(0, 0.3, (rows, 6))


def test_clusters_too_many_for_a_sample_of_rows_are_seen_in_a_region() -> None:
    X = crowd(1000, 10_000)
    model = GaussianWishart().resolve(X)
    assert model.r <= 0.03  # centres are thirty spreads from the middle
    assert (model.expected_variances() < 0.1 * X.var(axis=0)).all()
    again = GaussianWishart().resolve(X * 1e6 + 3e6)
    assert (again.r, again.nu) == (model.r, model.nu)
    np.testing.assert_allclose(again.psi, model.psi * 1e12, rtol=1e-6, atol=1e-3)
    given = GaussianWishart(r=0.2, nu=11.0).resolve(X)
    assert (given.r, given.nu) == (0.2, 11.0)
    with_gaps = X.copy()
    with_gaps[::50, 2] = np.nan
    assert GaussianWishart().resolve(with_gaps).r <= 0.03
    for few in (crowd(20, 4000), np.random.default_rng(0).uniform(size=(4000, 6)), crowd(100, 900)):
        assert GaussianWishart().resolve(few).r == 0.1


def test_from_aistats2014_follows_units() -> None:
    X = ring13(n=130).X
    model = GaussianWishart.from_aistats2014(X)
    assert (model.r, model.nu) == (1.0, 6.0)
    np.testing.assert_allclose(model.psi, np.cov(X.T))
    for factor in (1e-9, 1e9):
        scaled = GaussianWishart.from_aistats2014(X * factor).log_marginal(X * factor)
        assert scaled == pytest.approx(model.log_marginal(X) - X.size * np.log(factor), rel=1e-9)


@pytest.mark.parametrize("family", [GaussianWishart, GaussianDiagonal])
def test_defaults_follow_units(family: type[Any]) -> None:
    X = ring13(n=130).X
    base = family().resolve(X).log_marginal(X)
    factor = np.array([2.0**-30, 2.0**30])
    scaled = family().resolve(X * factor).log_marginal(X * factor)
    assert scaled == pytest.approx(base - len(X) * np.log(factor).sum(), rel=1e-9)


@pytest.mark.parametrize("family", [GaussianWishart, GaussianDiagonal])
def test_offsets_do_not_matter(family: type[Any]) -> None:
    rng = np.random.default_rng(6)
    X = rng.integers(-1024, 1024, size=(40, 3)) / 256  # exact in float64 with and without the offset
    labels = as_labels(rng.integers(5, size=40), 40, "test")
    offset = 2.0**30
    near_zero = family().resolve(X).bind(X).log_marginals(labels)
    far = family().resolve(X + offset).bind(X + offset).log_marginals(labels)
    np.testing.assert_allclose(far, near_zero, rtol=1e-8)


def degenerate() -> dict[str, npt.NDArray[np.float64]]:
    rng = np.random.default_rng(7)
    Z = rng.standard_normal((12, 2))
    return {
        "one row": Z[:1],
        "one row, one column": Z[:1, :1],
        "two equal rows": np.repeat(Z[:1], 2, axis=0),
        "one column": Z[:, :1],
        "constant column": np.column_stack([Z, np.full(12, 0.1)]),
        "constant up to rounding": np.column_stack([Z, 5.0 + 1e-15 * rng.standard_normal(12)]),
        "huge constant column": np.column_stack([Z, np.full(12, 1e99)]),
        "all constant": np.ones((12, 3)),
        "copied column": Z[:, [0, 1, 1]],
        "copied column, other units": Z[:, [0, 1, 1]] * [1e9, 1e-9, 1e9],
        "columns that add up": np.column_stack([Z, Z.sum(axis=1)]),
        "columns that add up far away": np.column_stack([Z, Z.sum(axis=1)]) + 1e9,
        "more columns than rows": rng.standard_normal((4, 10)),
        "small": Z * 1e-9,
        "tiny": Z * 1e-90,
        "large": Z * 1e9,
        "far": Z + 1e9,
    }


@pytest.mark.parametrize("name", degenerate())
@pytest.mark.parametrize("family", [GaussianWishart, GaussianDiagonal])
def test_defaults_survive_degenerate_data(family: type[Any], name: str) -> None:
    X = degenerate()[name]
    model = family().resolve(X)
    twin = gaussian_wishart_log_marginal if family is GaussianWishart else gaussian_diagonal_log_marginal
    for labels in (np.zeros(len(X), dtype=np.int32), np.arange(len(X), dtype=np.int32)):
        found = model.bind(X).log_marginals(labels)
        assert np.isfinite(found).all()
        mean, *others = model._values()
        # Centred first: the twin's own mean of many equal huge numbers is not that number.
        expected = [twin((X - mean)[labels == c], 0 * mean, *others) for c in range(labels.max() + 1)]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    if family is GaussianWishart and name not in ("small", "tiny", "large"):
        paper = GaussianWishart.nips2015().resolve(X)
        assert np.linalg.slogdet(paper.psi)[1] == pytest.approx(np.log(0.1), abs=1e-3)
        assert np.isfinite(paper.log_marginal(X))
    assert np.isfinite(family(mean=model.mean).resolve(X).log_marginal(X))


@pytest.mark.parametrize("factor", [1e-90, 1e-9, 1e-3, 1e3, 1e9, 1e90])
def test_log_marginals_are_exact_at_every_scale(factor: float) -> None:
    """Few points in many dimensions are where rounding bites: the determinant in rational arithmetic."""
    X = np.random.default_rng(9).standard_normal((4, 3)) * factor
    model = GaussianWishart().resolve(X)
    labels = np.array([0, 1, 1, 1], dtype=np.int32)
    for c, found in enumerate(model.bind(X).log_marginals(labels)):
        assert found == pytest.approx(exact_log_marginal(X[labels == c], model), abs=1e-6)


def exact_log_marginal(X: npt.NDArray[np.float64], model: GaussianWishart) -> float:
    """log p(X) with psi_n in rational arithmetic."""
    mean, r, nu, psi = model._values()
    n, d = X.shape
    unit = 2**400  # whole multiples of its inverse, and far quicker than fractions
    Z = [[int((Fraction(v) - Fraction(m)) * unit) for v, m in zip(row, mean, strict=True)] for row in X]
    sums = [sum(column) for column in zip(*Z, strict=True)]
    squares = [[sum(row[i] * row[j] for row in Z) - sums[i] * sums[j] / (n + Fraction(r)) for j in range(d)] for i in range(d)]
    scale = [[Fraction(psi[i, j]) + squares[i][j] / unit**2 for j in range(d)] for i in range(d)]
    total = -n * d / 2 * np.log(np.pi) + multigammaln((nu + n) / 2, d) - multigammaln(nu / 2, d)
    total += nu / 2 * log_determinant([[Fraction(v) for v in row] for row in psi]) - (nu + n) / 2 * log_determinant(scale)
    return float(total + d / 2 * np.log(r / (r + n)))


def log_determinant(matrix: list[list[Fraction]]) -> float:
    """log det, without rounding until the logarithms."""
    total = 0.0
    while matrix:
        (pivot, *first), *others = matrix
        total += log(pivot.numerator) - log(pivot.denominator)
        matrix = [[v - row[0] / pivot * w for v, w in zip(row[1:], first, strict=True)] for row in others]
    return total


def test_what_stands_in_for_no_spread_does_not_tell_partitions_apart() -> None:
    """A copied and a constant column: log p of a split against none, whatever stands in for their spread."""
    Z = degenerate()["copied column"]
    X = np.column_stack([Z, np.full(len(Z), 3.0)])
    model = GaussianWishart().resolve(X)
    labels = np.repeat([0, 1], 6).astype(np.int32)
    psi, ratios, marginals = np.asarray(model.psi), [], []
    for stand_in in (1.0, 7.0):
        for form in ([0.0, 1.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0]):
            # The variance of this linear form of a row is multiplied by stand_in, all else stays.
            image = psi @ form
            psi = psi + (stand_in - 1) * np.outer(image, image) / (image @ form)
        bound = GaussianWishart(model.mean, model.r, model.nu, psi).bind(X)
        marginals.append(bound.log_marginals(np.zeros_like(labels))[0])
        ratios.append(bound.log_marginals(labels).sum() - marginals[-1])
    assert ratios[0] == pytest.approx(ratios[1], abs=1e-8)
    assert marginals[0] - marginals[1] == pytest.approx(len(X) * np.log(7.0))


@pytest.mark.parametrize("family", [GaussianWishart, GaussianDiagonal])
def test_the_mean_of_a_constant_column_is_that_constant(family: type[Any]) -> None:
    for constant in (0.1, 1e9 + 0.1, 1e99):
        X = np.column_stack([np.arange(13.0), np.full(13, constant)])
        assert family().resolve(X).mean[1] == constant


def test_duplicate_rows_are_no_trouble() -> None:
    X = np.repeat(np.array([[0.0, 1.0], [2.0, 5.0]]), 50, axis=0)
    for family in (GaussianWishart, GaussianDiagonal):
        assert np.isfinite(family().resolve(X).log_marginal(X))


@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_a_psi_far_below_the_scatter_costs_no_digits(scale: float) -> None:
    # The first rows of a cluster fill the directions one by one, and rank-one updates lose digits until all are filled.
    X = np.random.default_rng(8).standard_normal((250, 12)) * scale
    model = GaussianWishart.nips2015().resolve(X)
    expected = gaussian_wishart_log_marginal(X, model.mean, model.r, model.nu, model.psi)
    assert model.log_marginal(X) == pytest.approx(expected, abs=1e-6)


def on_lines(n: int, length: float, lines: int) -> npt.NDArray[np.float64]:
    """Rows on lines through the plane, with noise 1 about them."""
    rng = np.random.default_rng(n + lines)
    turn = rng.uniform(0, np.pi, lines)[np.arange(n) % lines]
    along = rng.uniform(-length / 2, length / 2, n)
    return np.column_stack([np.cos(turn) * along, np.sin(turn) * along]) + rng.standard_normal((n, 2))


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("length", [1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("n", [10, 100, 1000])
def test_rows_on_a_line_are_right_to_a_millionth_of_a_nat_or_refused(n: int, length: float, lines: int) -> None:
    """psi at the scale of the noise: its part of psi_n is the difference of squares of the length."""
    X = on_lines(n, length, lines)
    try:
        model = GaussianWishart(psi=1.0).resolve(X)
    except ParameterError:
        assert length >= 1e4
        return
    assert length <= 1e5
    labels = np.zeros(n, dtype=np.int32)
    assert model.bind(X).log_marginals(labels)[0] == pytest.approx(exact_log_marginal(X, model), abs=1e-6)


def test_one_row_far_out_is_exact() -> None:
    model = GaussianWishart(mean=[0.0, 0.0], r=0.5, nu=4.0, psi=1.0)
    row = np.array([[3e6, -4e6]])
    constant = log(0.5 / 1.5) - log(np.pi) + multigammaln(2.5, 2) - multigammaln(2.0, 2)
    assert model.log_marginal(row) == pytest.approx(constant - 2.5 * np.log1p(25e12 / 3), abs=1e-9)


def test_rows_that_psi_cannot_reach_are_refused() -> None:
    X = np.random.default_rng(9).standard_normal((20, 2)) + 1e9
    with pytest.raises(ParameterError, match=r"GaussianWishart\(psi=.*row \d+ lies 1.4e\+09 of its standard deviations"):
        GaussianWishart(mean=0.0, psi=1.0).resolve(X)
    with pytest.raises(ParameterError, match="must reach the rows of X"):
        GaussianWishart(mean=[0.0, 0.0], r=1.0, nu=3.0, psi=np.eye(2)).resolve(X)
    GaussianWishart(psi=1.0).resolve(X)  # the mean of the rows is near them
    with pytest.raises(ParameterError, match="be wider where the rows of X are thin"):
        GaussianWishart(psi=1.0).resolve(on_lines(1000, 2e4, lines=1))
    alone = GaussianWishart(mean=[0.0], r=1.0, nu=1.0, psi=[[1.0]]).resolve(X[:, :1])  # one column loses nothing
    exact = gaussian_wishart_log_marginal(X[:, :1], alone.mean, alone.r, alone.nu, alone.psi)
    assert alone.log_marginal(X[:, :1]) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GaussianWishart(nu=1e300), r"nu must lie between 1e-100 and 1e\+10"),
        (lambda: GaussianWishart(mean=1e300), r"mean must be at most 1e\+100 in magnitude"),
        (lambda: GaussianWishart(psi=1e300), r"psi must be at most 1e\+250"),
        (lambda: GaussianWishart(psi=1e300 * np.eye(2)), r"psi must be finite, and at most 1e\+250"),
        (lambda: GaussianDiagonal(a=[1.0, 1e300]), r"a must lie between 1e-100 and 1e\+10"),
        (lambda: GaussianDiagonal(r=10**400), r"r must be a finite number above 0"),
        (lambda: GaussianDiagonal(b=1e-300).resolve(np.eye(2)), r"b must reach X"),
        (lambda: Multinomial(beta=1e300), r"beta must lie between 1e-100 and 1e\+10"),
    ],
)
def test_hyper_parameters_that_arithmetic_cannot_bear_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()
