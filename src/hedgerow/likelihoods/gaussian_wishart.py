"""Gaussian clusters with full covariance: normal likelihood, Gaussian-Wishart base measure.

    L(x | mu, Lambda)  = N(x | mu, Lambda^-1)
    H(mu, Lambda)      = N(mu | mean, (r Lambda)^-1) W(Lambda | psi^-1, nu)

so that Lambda has mean nu psi^-1 and the covariance of a cluster has mean psi / (nu - d - 1). This is eq. 13
of Lee & Choi, NIPS 2015 (their m, r, Psi, nu). With n rows of mean xbar and scatter S about it,

    psi_n = psi + S + r n / (r + n) (xbar - mean)(xbar - mean)'
    p(X)  = pi^(-n d / 2) (r / (r + n))^(d / 2) Gamma_d((nu + n) / 2) / Gamma_d(nu / 2)
            |psi|^(nu / 2) / |psi_n|^((nu + n) / 2)

Entries may be missing (NaN), at random given the others. No formula integrates over those of several rows at once, so they
are drawn along with the labels: given the other rows of a cluster a row has a multivariate t, its observed entries
have one too, and its missing ones given those a third. Chains stay exact; the fillings are part of their state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow import _core
from hedgerow.data.views import as_dense, as_labels
from hedgerow.errors import require
from hedgerow.likelihoods.base import FloatArray, Likelihood, has_rows
from hedgerow.likelihoods.fitting import FIRST_R, fit_wishart
from hedgerow.likelihoods.hyperparameters import as_number, as_vector, check_given, spread_out
from hedgerow.likelihoods.moments import column_means, spread
from hedgerow.likelihoods.scale_matrix import as_scale_matrix, full_matrix, lost_by_rounding, lower_factor
from hedgerow.likelihoods.shared import fit_shared
from hedgerow.reference import likelihoods as reference

__all__ = ["GaussianParameters", "GaussianWishart"]

OWNER = "GaussianWishart"
NIPS2015, SHARED = "nips2015", "shared"
#: psi and the scatter of X are added; were they further apart than this, rounding would lose one of them.
LOG_WIDEST = 8 * float(np.log(10.0))
#: Turns of missing entries and parameters in `sample_posterior`.
TURNS = 50


class GaussianParameters(NamedTuple):
    """Mean (d,) and precision matrix (d, d) of one cluster.

    Attributes
    ----------
    mean : (d,)
    precision : (d, d)

    >>> theta = GaussianParameters(np.zeros(2), np.eye(2))
    >>> GaussianWishart().resolve([[0.0, 1.0], [1.0, 0.0]]).log_density(theta, [[0.0, 0.0]]).round(3)
    array([-1.838])
    """

    mean: FloatArray
    precision: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class GaussianWishart(Likelihood):
    """Gaussian clusters, each with its own mean and full covariance.

    Parameters
    ----------
    mean : number or (d,), default the sample mean
        Centre of the base measure.
    r : number above 0, default 0.1, or less where clusters are very many
        How many observations the base measure's mean is worth: small r lets clusters lie far apart.
    nu : number above d - 1, default fitted
        Degrees of freedom of the Wishart law: large nu makes the clusters' covariances alike.
    psi : number or (d, d) positive definite, default fitted
        Shape of the clusters, (nu - d - 1) times their mean covariance; a number stands for that multiple of
        the identity.
    rule : "nips2015" or "shared", default the fitted base measure
        How what is left out is taken from the data; see `nips2015` and `shared`.

    What is left out follows the units of X. A cluster is expected to have a share of the columns' variances; the share and nu are
    those under which a tree built on the rows is most probable, over a small grid (`hedgerow.likelihoods.fitting`); where clusters are
    more than a thousand rows by chance would show, rows of one region are looked at as well, and r is fitted too. nu is
    d + 6 where psi is given. A psi of your own is refused
    where it is so narrow, or mean so far off, that rows lie more than 1e5 of its standard deviations away, or that
    rounding would cost more than 1e-6 nats (in a thousand rows): rows on a line, say, with a psi of the size of the noise about it.

    A default never fails on degenerate data. A constant column is given the geometric mean of the other
    columns' standard deviations (1 if all are constant, or there is one row); a direction without spread
    (copied columns, more columns than rows) is given the geometric mean of the other directions' variances on
    the scale of correlations. See `hedgerow.likelihoods.moments`.

    Entries may be missing (NaN), also all of a row or of a column. Chains draw them along with the labels, exactly; the log joint is
    then that of the fillings too. Trees and streams fill each row in once and are trees given that. Predictions draw the
    fillings anew given each draw of the partition; new rows are judged by the entries they have.
    At a power below 1 missing entries are the cluster's as far as a row counts, and else the base measure's.

    >>> model = GaussianWishart(r=0.5).resolve([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    >>> model
    GaussianWishart(mean=[1., 1.], r=0.5, nu=8.0, psi=[[3.3333, 0. ], [0. , 3.3333]])
    """

    mean: npt.ArrayLike | None = None
    r: float | None = None
    nu: float | None = None
    psi: npt.ArrayLike | None = None
    rule: str | None = None

    @classmethod
    def example(cls) -> tuple[GaussianWishart, Any]:
        """Points in the plane."""
        rows = np.array([[-1.2, 0.3], [-0.9, -0.4], [-0.1, 0.2], [0.2, -0.6], [1.0, 0.5], [1.6, 0.1]])
        return cls(mean=[0, 0], r=0.3, nu=4, psi=0.5 * np.eye(2)), rows

    def __post_init__(self) -> None:
        """Check each hyper-parameter that was given, and that they agree on the number of columns."""
        above_0 = partial(as_number, low=0)
        check_given(self, mean=partial(as_vector, low=-np.inf), r=above_0, nu=above_0, psi=as_scale_matrix)
        if isinstance(self.mean, np.ndarray) and isinstance(self.psi, np.ndarray):
            agree = len(self.mean) == len(self.psi)
            require(agree, OWNER, "psi", self.psi, f"match the {len(self.mean)} entries of mean")
        self._check_nu(self.n_columns)
        good = self.rule is None or (isinstance(self.rule, str) and self.rule in (NIPS2015, SHARED))
        require(good, OWNER, "rule", self.rule, f"be left out, {NIPS2015!r} or {SHARED!r}")

    @classmethod
    def nips2015(cls) -> GaussianWishart:
        """The base measure of Lee & Choi, NIPS 2015, taken from the data: r = 0.1, nu = d + 6, psi = S / (10 det S)^(1/d).

        S is the sample covariance. This psi has its shape but always the determinant 0.1, so it does not follow the units of X: on
        columns far from unit variance, or many of them, it asks for clusters far too small. Only where psi would be more than
        1e8 times S, or so small that rounding would spoil the sums, is it held at the nearest multiple of S that does not.

        Returns
        -------
        GaussianWishart

        >>> GaussianWishart.nips2015().resolve([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]]).psi.round(3).tolist()
        [[0.316, 0.0], [0.0, 0.316]]
        """
        return cls(rule=NIPS2015)

    @classmethod
    def shared(cls) -> GaussianWishart:
        """The base measure of clusters that have nearly one covariance, which is found in the data: nu = d + 100 or more.

        See `hedgerow.likelihoods.shared`. `hedgerow.propose` takes it where rows speak for it.

        Returns
        -------
        GaussianWishart

        >>> rows = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 0.1] + np.repeat([[0.0, 0.0], [0.0, 1.0]], 100, axis=0)
        >>> model = GaussianWishart.shared().resolve(rows)
        >>> model.nu, model.expected_variances().round(2).tolist()
        (1602.0, [0.97, 0.01])
        """
        return cls(rule=SHARED)

    @classmethod
    def from_aistats2014(cls, X: Any) -> GaussianWishart:
        """The base measure of Lee & Choi, AISTATS 2014, section 4.1: r = 1, psi the sample covariance.

        The paper's nu = 6 for its plane is read as d + 4, so that it stays proper in any dimension. This
        choice follows the units of X: scaling, turning or shifting the data changes no posterior.

        Parameters
        ----------
        X : table

        Returns
        -------
        GaussianWishart

        >>> GaussianWishart.from_aistats2014([[0.0], [2.0]])
        GaussianWishart(mean=[1.], r=1.0, nu=5.0, psi=[[2.]])
        """
        data = as_dense(X, OWNER, missing=True)
        d = data.shape[1]
        return cls(mean=column_means(data), r=1.0, nu=d + 4.0, psi=spread(data).covariance())

    @property
    def is_resolved(self) -> bool:
        """Whether every hyper-parameter has its value, mean and psi as arrays."""
        arrays = isinstance(self.mean, np.ndarray) and isinstance(self.psi, np.ndarray)
        return arrays and self.r is not None and self.nu is not None

    @property
    def n_columns(self) -> int | None:
        """The dimension d, if mean or psi tells it."""
        for value in (self.mean, self.psi):
            if isinstance(value, np.ndarray):
                return len(value)
        return None

    def _filled(self, data: FloatArray) -> GaussianWishart:
        d = data.shape[1]
        self._check_nu(d)
        mean = column_means(data) if self.mean is None else spread_out(self.mean, d)
        filled = replace(self, mean=mean, r=FIRST_R if self.r is None else self.r, rule=None)
        if self.psi is not None:
            return replace(filled, nu=d + 6.0 if self.nu is None else self.nu, psi=full_matrix(self.psi, d))
        if self.rule == NIPS2015:
            return filled._with_psi_of_nips2015(data)
        if self.rule == SHARED:
            nu, psi = fit_shared(data, self.nu, lambda rows, nu, psi: replace(filled, nu=nu, psi=psi).bind(rows))
            return replace(filled, nu=nu, psi=psi)
        fitted = fit_wishart(data, self.r, self.nu, lambda rows, r, nu, psi: replace(filled, r=r, nu=nu, psi=psi).bind(rows))
        return replace(filled, r=fitted[0], nu=fitted[1], psi=fitted[2])

    def _with_psi_of_nips2015(self, data: FloatArray) -> GaussianWishart:
        d = data.shape[1]
        S = spread(data)
        wanted = -(np.log(10.0) + S.log_determinant) / d
        for log_factor in np.clip(wanted + np.log(10.0) * np.arange(9), -LOG_WIDEST, LOG_WIDEST):
            filled = replace(self, nu=d + 6.0 if self.nu is None else self.nu, psi=S.covariance(float(log_factor)))
            if lost_by_rounding(data, *filled._values()) is None:
                return filled
        return filled

    def bind(self, X: Any, power: float = 1.0) -> _core.Likelihood:
        """This likelihood on the rows of X, in compiled form."""
        mean, r, nu, psi = self._values()
        data = self.check(X)
        least = len(psi) - power
        if power < 1 and nu <= least:  # whole rows ask for less
            empty = bool(np.isnan(data).all(axis=1).any())
            require(not empty, OWNER, "nu", nu, f"be above {least:g} where a row is all gaps and the power is {power:g}")
        return _core.GaussianWishart(data, mean, r, nu, psi, power)

    def reference(self, X: Any, power: float = 1.0) -> float:
        """See `Likelihood.reference`."""
        return reference.gaussian_wishart_log_marginal(X, *self._values(), power)

    def for_columns(self, columns: Sequence[int]) -> GaussianWishart:
        """The marginal of a normal-Wishart law is one of the same kind, with fewer degrees of freedom."""
        mean, r, nu, psi = self._values()
        where = list(columns)
        return GaussianWishart(mean[where], r, nu - (len(psi) - len(where)), psi[np.ix_(where, where)])

    def expected_variances(self) -> FloatArray:
        """The diagonal of psi / (nu - d - 1)."""
        _, _, nu, psi = self._values()
        return np.asarray(np.diag(psi) / (nu - len(psi) - 1))

    def work(self, data: FloatArray) -> float:
        """Its entries, and a whole row more for each that is missing: clusters are asked about the others without it."""
        return float(data.size + data.shape[1] * np.isnan(data).sum())

    def simulate(self, labels: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Draw (mu, Lambda) for each cluster from the base measure, then its rows."""
        mean, r, nu, psi = self._values()
        labels = as_labels(labels, np.size(labels), OWNER)
        lower = lower_factor(psi)
        X = rng.standard_normal((len(labels), len(mean)))
        for c in range(int(labels.max(initial=-1)) + 1):
            centre, root, _ = _draw(mean, r, nu, lower, rng)
            rows = labels == c
            X[rows] = centre + X[rows] @ root.T
        return X

    def sample_posterior(self, X: Any, rng: np.random.Generator) -> GaussianParameters:
        """A draw of (mu, Lambda) given the rows X of one cluster; from the base measure if it has none.

        Where entries are missing, they and the parameters are drawn in turn, and the parameters of the last turn returned.
        """
        rows = self.check(X) if has_rows(X) else None
        if rows is None or not np.isnan(rows).any():
            return self._sample_given(rows, rng)
        rows, gaps = rows.copy(), np.isnan(rows)
        rows[gaps] = np.broadcast_to(column_means(rows), rows.shape)[gaps]
        for _ in range(TURNS):
            theta = self._sample_given(rows, rng)
            for pattern, where in _patterns(gaps):
                if not pattern.any():
                    continue
                # Given the rest z the missing part has precision Lambda_mm and mean mu_m - Lambda_mm^-1 Lambda_mo z.
                root = lower_factor(theta.precision[np.ix_(pattern, pattern)])
                z = rows[np.ix_(where, ~pattern)] - theta.mean[~pattern]
                pull = np.linalg.solve(root, theta.precision[np.ix_(pattern, ~pattern)] @ z.T)
                drawn = np.linalg.solve(root.T, rng.standard_normal(pull.shape) - pull).T
                rows[np.ix_(where, pattern)] = theta.mean[pattern] + drawn
        return theta

    def _sample_given(self, rows: FloatArray | None, rng: np.random.Generator) -> GaussianParameters:
        mean, r, nu, psi = self._values()
        if rows is not None:
            Z = rows - mean
            n = len(Z)
            centre = Z.mean(axis=0)
            psi = psi + (Z - centre).T @ (Z - centre) + r * n / (r + n) * np.outer(centre, centre)
            mean, r, nu = mean + n / (r + n) * centre, r + n, nu + n
        drawn, _, inverse_root = _draw(mean, r, nu, lower_factor(psi), rng)
        return GaussianParameters(drawn, inverse_root.T @ inverse_root)

    def log_density(self, theta: GaussianParameters, X: Any) -> FloatArray:
        """log N(x | mu, Lambda^-1) of every row of X; of the entries that are there, where some are missing."""
        data = self.check(X)
        out = np.zeros(len(data))
        for gaps, where in _patterns(np.isnan(data)):
            precision = theta.precision
            if gaps.any():
                precision = np.linalg.inv(np.linalg.inv(precision)[np.ix_(~gaps, ~gaps)])
            lower = lower_factor(precision)
            Z = (data[np.ix_(where, ~gaps)] - theta.mean[~gaps]) @ lower
            out[where] = np.log(np.diag(lower)).sum() - len(lower) / 2 * np.log(2 * np.pi) - (Z**2).sum(axis=1) / 2
        return out

    def log_marginal(self, X: Any, power: float = 1.0) -> float:
        """log p(X) with all rows in one cluster; refused where entries are missing, since there is no formula for it."""
        whole = not np.isnan(self.check(X)).any()
        require(whole, OWNER, "X", X, "have no missing entries here: log p(X) has no closed form then")
        return super().log_marginal(X, power)

    def __repr__(self) -> str:
        """The call that makes this likelihood."""
        return super().__repr__().replace(", rule=None)", ")")

    def _values(self) -> tuple[FloatArray, float, float, FloatArray]:
        """All four hyper-parameters, known and of full shape."""
        self._need("mean", "r", "nu", "psi")
        d = self.n_columns
        require(d is not None, OWNER, "mean", self.mean, "be a vector here: call resolve(X) first")
        assert d is not None
        assert self.r is not None
        assert self.nu is not None
        return spread_out(self.mean, d), self.r, self.nu, full_matrix(self.psi, d)

    def _check_reach(self, data: FloatArray) -> None:
        """Refuse a psi that rounding would lose in the squares of the rows."""
        complaint = lost_by_rounding(data, *self._values())
        require(complaint is None, OWNER, "psi", self.psi, complaint or "")

    def _check_nu(self, d: int | None) -> None:
        if self.nu is not None and d is not None:
            require(self.nu > d - 1, OWNER, "nu", self.nu, f"be above {d - 1}, one less than the {d} columns")


def _patterns(gaps: npt.NDArray[np.bool_]) -> Iterator[tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]]:
    """Every pattern of gaps that a row has, with the rows that have it."""
    patterns, which = np.unique(gaps, axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        yield pattern, np.flatnonzero(which.ravel() == i)


def _draw(
    mean: FloatArray, r: float, nu: float, lower: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """mu, a root R of the covariance (R R' = Lambda^-1) and R^-1, for psi = lower lower'.

    Bartlett: Lambda = lower'^-1 A A' lower^-1 with A lower triangular, so R = lower A'^-1.
    """
    d = len(mean)
    A = np.tril(rng.standard_normal((d, d)), -1)
    A[np.diag_indices(d)] = np.sqrt(rng.chisquare(nu - np.arange(d)))
    # NumPy's general solver: at these sizes it beats SciPy's triangular one, which starts threads.
    root = np.asarray(np.linalg.solve(A, lower.T).T, dtype=np.float64)
    inverse_root = A.T @ np.linalg.inv(lower)
    return mean + root @ rng.standard_normal(d) / np.sqrt(r), root, inverse_root
