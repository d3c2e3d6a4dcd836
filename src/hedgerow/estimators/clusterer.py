"""HedgerowClusterer: sampling and its point estimate behind scikit-learn's methods."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from hedgerow.arguments import check_whole, real_number
from hedgerow.data.copies import Copies
from hedgerow.data.tables import take_rows
from hedgerow.errors import require
from hedgerow.estimators.base import GivenRows, PredictingClusterer, asks_new_rows
from hedgerow.estimators.defaults import default_draws, default_warmup
from hedgerow.estimators.showing import Showing
from hedgerow.estimators.validation import model_and_copies, read_seed, read_X
from hedgerow.estimators.weights import fold_labels, fold_means
from hedgerow.kernels import Kernel
from hedgerow.mixture import Mixture
from hedgerow.posterior import Posterior
from hedgerow.resolution import Levels
from hedgerow.resolution import levels as run_levels
from hedgerow.sampling import Agreement, sample
from hedgerow.sampling.progress import stage, whole_job
from hedgerow.summaries import ari, point_estimate, rhat
from hedgerow.summaries.clusters import Uncertainty
from hedgerow.summaries.distances import Loss, check_loss
from hedgerow.summaries.verdicts import told_of_lesson

__all__ = ["HedgerowClusterer"]

FAR_APART = 1.1  # R-hat of the log joint from which chains are told to disagree
COMPARED = 10_000  # rows, at even distances, on which the labels of single chains are compared then
PREDICTION_DRAWS = 200
LEVELS, SPLITS = 8, 3
STAGES = ("one partition for all draws", "how sure each row is")


@dataclass(kw_only=True, eq=False, repr=False)
class HedgerowClusterer(Showing, ClassNamePrefixFeaturesOutMixin, TransformerMixin, PredictingClusterer):  # type: ignore[misc]
    """Cluster rows without saying how many clusters there are.

    Draws partitions from the posterior of a mixture and takes the one of least expected loss from them as labels. What the
    draws know beyond that (how sure each row's place is, how many clusters there may be) is kept as `posterior_`.

    Parameters
    ----------
    prior : Prior, default DP(alpha=Gamma(1, 1))
        The law of the partition, such as `NGG()` or `PitmanYor()`.
    likelihood : Likelihood, default by the columns of X
        What a cluster looks like. By default what `propose` proposes for X, by stated rules: measurements are Gaussian with full
        covariances, the base measure fitted to X so that units of columns do not matter and no scaling beforehand is needed;
        counts, codes and yes or no have likelihoods of their own, sparse counts `Multinomial()`. A likelihood given is used as
        it is, what it leaves open taken from X.
    kernel : Kernel, default TreeGuided()
        How chains move.
    loss : "vi", "binder" or "omari", default "vi"
        What the labels minimise in expectation.
    draws, warmup : int, default as many as it takes
        As for `sample`. Left out, chains are run until they agree: at most 2,000 draws after 500 up to 7,500 entries (rows x
        columns), then fewer in proportion, but 250 and 250 up to 350,000 entries, 250 draws up to 700,000, and 20 and 20 always.
        Memory: chains x draws x rows x 4 bytes, or a byte or two where that is over 134 MB.
    until : Agreement, default Agreement() within those limits
        When chains agree well enough, and what may be spent on it.
    chains : int, default 4
        Chains, run in parallel.
    independent : bool, default False
        Whether chains share nothing, as for `sample`; otherwise those stuck where there is clearly less mass may take over, before the
        first draw, where another stands.
    power : float in (0, 1], default 1
        What the density of every row is raised to: less than 1 for coarser clusters (`Mixture`).
    about : int, optional
        Look for the power that gives about so many clusters, by `hedgerow.levels`, and fit at that one.
    levels : int or sequence of powers, optional
        Run so many levels, or these, with the strength that halves of the rows give each, and fit at the power of the finest one that
        they agree on (strength of 0.8 or more), or at the one nearest to `about`.
    random_state : int, RandomState, Generator or None
        A whole number makes fits repeatable to the bit.
    verbose : bool, default False
        Show a bar of progress on the error stream, with the time left. Ctrl-C ends a fit with the best partition so far.

    Attributes
    ----------
    labels_ : (n,) int32
        Cluster of every row, numbered by size, the largest 0; -1 for rows of weight 0.
    n_clusters_ : int
    probabilities_ : (n,)
        Probability of each row to be in its cluster rather than in another.
    outlier_scores_ : (n,)
        How unlikely each row is under the density that the others give it, as a rank: 0 the most likely, 1 the least
        (`Posterior.outlier_scores`). Worked out when first asked for; 0 for rows of weight 0.
    posterior_ : Posterior
        All draws: `posterior_.summary()`, `.similarity()`, `.credible_ball()`, `.report("report.html")`. After a fit with
        weights its rows are the repeated ones.
    levels_ : Levels
        What was sampled to find the power; only with `about` or `levels`.
    model_ : Mixture
        The model with everything that was taken from the data filled in.
    n_features_in_, feature_names_in_
        Number of columns of X, and their names if it has any.

    >>> from hedgerow.data import iris
    >>> X = iris().X
    >>> found = HedgerowClusterer(draws=100, warmup=100, chains=2, random_state=0).fit(X)
    >>> found.labels_.shape, found.predict(X[:2]).shape
    ((150,), (2,))
    >>> found.fit_predict(X).shape, len(found.predict_proba(X[:2])), len(found.transform(X[:2]))
    ((150,), 2, 2)
    >>> found.score_samples(X[:2]).shape, found.score(X) < 0
    ((2,), True)
    """

    kernel: Kernel | None = None
    loss: Loss = "vi"
    draws: int | None = None
    warmup: int | None = None
    until: Agreement | None = None
    chains: int = 4
    independent: bool = False
    power: float = 1.0
    about: int | None = None
    levels: int | Sequence[float] | None = None
    verbose: bool = False

    _found = "posterior_"

    def _fit_rows(self, given: GivenRows) -> Self:
        check_loss(self.loss, type(self).__name__)
        require(isinstance(self.verbose, bool | int | np.integer), type(self).__name__, "verbose", self.verbose, "be True or False")
        data, groups, n, rows = given
        (model, same), seed = model_and_copies(self, data), read_seed(self.random_state, type(self).__name__)
        model, init = self._at_resolution(model, data, groups, seed, same)
        counted = data if same is None else take_rows(data, same.kept)
        model = model.resolve(counted)
        with whole_job(bool(self.verbose), STAGES):
            post = sample(
                model,
                data,
                kernel=self.kernel,
                draws=self.draws,
                until=self._until(model, counted),
                independent=self.independent,
                warmup=default_warmup(model, counted) if self.warmup is None else self.warmup,
                chains=self.chains,
                seed=seed,
                init=init,
                times=groups,
                progress=bool(self.verbose),
                copies=same,
            )
            own = self._labels_of(post)
            stage(STAGES[1])
            sure = _how_sure(post, own).probability
            stage("")
        self.posterior_: Posterior = post
        self.model_: Mixture = model if post.model is None else post.model
        self.labels_ = fold_labels(own, rows, n)
        self.n_clusters_ = int(own.max()) + 1
        self.probabilities_ = fold_means(sure, own, self.labels_, rows)
        self._partition, self._rows = own, rows
        self._outlier_scores: npt.NDArray[np.float64] | None = None
        self._n_features_out = self.n_clusters_ + 1
        _warn_if_apart(post, self.loss)
        return self

    def _labels_of(self, post: Posterior) -> npt.NDArray[np.int32]:
        """The point estimate; where Ctrl-C leaves no time for one, the best there is, with a warning."""
        stage(STAGES[0])
        try:
            found = post.point_estimate(self.loss)
            if not found.stopped:
                return found.labels
        except KeyboardInterrupt:
            pass
        warnings.warn("Stopped while looking for one partition: labels_ are the best that was found so far.", UserWarning, stacklevel=3)
        return post.best_so_far(self.loss)

    def _at_resolution(self, model: Mixture, data: Any, times: Any, seed: int, same: Copies | None) -> tuple[Mixture, Any]:
        """The model at the power asked for or looked for, and where its chains begin."""
        owner = type(self).__name__
        self.__dict__.pop("levels_", None)
        if self.about is None and self.levels is None:
            return replace(model, power=self.power), "sequential"
        require(real_number(self.power) == 1, owner, "power", self.power, "be left out where about or levels looks for it")
        check_whole(owner, "about", self.about, none=True)
        asked = LEVELS if self.levels is None else self.levels
        require(not isinstance(asked, bool), owner, "levels", asked, "be a whole number, powers, or None")
        number, powers = (int(asked), None) if isinstance(asked, int | np.integer) else (LEVELS, asked)
        model = model.resolve(data)
        self.levels_: Levels = run_levels(
            model,
            data,
            powers,
            n_levels=number,
            splits=0 if self.levels is None else SPLITS,
            kernel=self.kernel,
            times=times,
            seed=seed,
            progress=bool(self.verbose),
            copies=same,
        )
        if not self.levels_.stopped:
            level = self.levels_.finest() if self.about is None else self.levels_.about(self.about, progress=bool(self.verbose))
        if self.levels_.stopped:
            raise KeyboardInterrupt
        return replace(model, power=level.power), level.labels

    @property
    def outlier_scores_(self) -> npt.NDArray[np.float64]:
        """How unlikely each row is, as a rank from 0 to 1."""
        if self._outlier_scores is None:
            scores = self.posterior_.outlier_scores()
            self._outlier_scores = fold_means(scores, self._partition, self.labels_, self._rows)
        return self._outlier_scores

    def _until(self, model: Mixture, data: Any) -> Agreement | None:
        if self.draws is not None:
            require(self.until is None, type(self).__name__, "until", self.until, "be left out where draws is given")
            return None
        return Agreement(max_draws=default_draws(model, data)) if self.until is None else self.until

    def _predict(self, data: Any, times: Any) -> npt.NDArray[np.int32]:
        return self.posterior_.predict(data, partition=self._partition, times=times, max_draws=PREDICTION_DRAWS)

    def _predict_proba(self, data: Any, times: Any, top: int | None = None) -> Any:
        return self.posterior_.predict_proba(data, partition=self._partition, times=times, max_draws=PREDICTION_DRAWS, top=top)

    def predict_proba(self, X: Any, times: Any = None, top: int | None = None) -> Any:
        """Probability of every new row to join each cluster, and in the last column none of them; averaged over at most 200 draws.

        Parameters
        ----------
        X, times : as for `predict`
        top : int, optional
            Only the so many largest entries of each row, as a sparse matrix: for many rows and clusters.

        Returns
        -------
        (n_new, n_clusters_ + 1) array, or scipy.sparse.csr_array with `top`
        """
        return self._predict_proba(read_X(self, X, self.likelihood, fitting=False), times, top)

    def _score_samples(self, data: Any, times: Any) -> npt.NDArray[np.float64]:
        return self.posterior_.log_density(data, times=times, max_draws=PREDICTION_DRAWS)

    @asks_new_rows("(n_new, n_clusters_ + 1)")
    def transform(self, X: Any, times: Any = None) -> npt.NDArray[np.float64]:
        """The probabilities of `predict_proba`, as features for what comes next in a pipeline."""
        proba: npt.NDArray[np.float64] = self.predict_proba(X, times)
        return proba


def _how_sure(post: Posterior, own: npt.NDArray[np.int32]) -> Uncertainty:
    """`uncertainty`, through the first Ctrl-C: it takes moments, and all that was drawn would be lost with it."""
    try:
        return post.uncertainty(own)
    except KeyboardInterrupt:
        return post.uncertainty(own)


def _warn_if_apart(post: Posterior, loss: Loss) -> None:
    """Say so where chains ended in different places, and whether the labels that each of them gives alone differ."""
    if post.chains < 2 or post.draws < 50:
        return
    apart = rhat(post.log_joint)
    if apart <= FAR_APART:
        if lesson := told_of_lesson(post.run):
            warnings.warn(f"{lesson} Labels may depend on random_state.", ConvergenceWarning, stacklevel=3)
        return
    told = _same_alone(post, loss)
    warnings.warn(
        f"The chains do not agree yet on the log joint (R-hat {apart:.2f}). {told} "
        "Raise warmup and draws, or look at posterior_.summary().",
        ConvergenceWarning,
        stacklevel=3,
    )


def _same_alone(post: Posterior, loss: Loss) -> str:
    """Whether chains give the same labels each alone, by some of the rows where there are many."""
    step = -(-post.n // COMPARED)
    some = "" if step == 1 else f", as far as {-(-post.n // step):,} rows show"
    alone = []
    for chain in range(post.chains):
        found = point_estimate(post.labels[chain, :, ::step], loss)
        if found.stopped:
            return "Stopped before the labels that each chain alone gives were compared."
        alone.append(found.labels)
    alike = min(ari(one, other) for i, one in enumerate(alone) for other in alone[:i])
    if alike == 1.0:
        return f"Each of the {post.chains} chains alone gives the same labels{some}; probabilities may still depend on random_state."
    told = f"Labels that one chain alone gives differ from another's (adjusted Rand index {alike:.2f} at worst{some}): "
    return told + "they may depend on random_state."
