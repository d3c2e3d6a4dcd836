"""What scikit-learn asks of inputs, said once: names and numbers of columns, seeds, and errors in the house's form."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow.arguments import is_whole
from hedgerow.data.copies import Copies
from hedgerow.data.kinds import understand
from hedgerow.data.tables import feature_names, refuse_texts
from hedgerow.errors import ParameterError, require
from hedgerow.likelihoods import Likelihood
from hedgerow.mixture import Mixture
from hedgerow.proposing import default_prior, propose

__all__ = ["input_tags", "model_and_copies", "model_for", "read_X", "read_seed"]


def read_X(estimator: Any, X: Any, likelihood: Likelihood | None, *, fitting: bool) -> Any:
    """X as the likelihood may read it, its columns noted (fitting) or compared with those at the fit.

    Frames, sparse matrices and tables of names stay what they are: the likelihood checks their entries. Anything else
    goes through scikit-learn's own check first, whose words its users know.
    """
    if not fitting:
        check_is_fitted(estimator)
    owner = type(estimator).__name__
    refuse_texts(X, owner)
    given = likelihood is None or isinstance(likelihood, Likelihood | type)
    require(given, owner, "likelihood", likelihood, "be a likelihood such as GaussianWishart(), or None")
    as_is = feature_names(X) is not None or sparse.issparse(X) or (likelihood is not None and likelihood.reads_tables)
    try:
        if as_is:
            validate_data(estimator, X, reset=fitting, skip_check_array=True)
            return X if likelihood is not None or sparse.issparse(X) else _understood(estimator, X, fitting)
        data = validate_data(estimator, X, reset=fitting, dtype="numeric", ensure_all_finite=False)
        return data if likelihood is not None else _understood(estimator, data, fitting)
    except ValueError as error:
        raise _in_house_form(estimator, X, error, fitting) from error


def _understood(estimator: Any, X: Any, fitting: bool) -> Any:
    """A table as its columns were understood at the fit, which `reading_` tells; as it is where a likelihood can take it so."""
    if fitting:
        vars(estimator).pop("reading_", None)
        reading = understand(X)
        if reading.plain:
            return X
        estimator.reading_ = reading
    return estimator.reading_.table(X) if "reading_" in vars(estimator) else X


def model_for(estimator: Any, X: Any) -> Mixture:
    """The model that the estimator was given, what was left out as `propose` proposes it for X."""
    return model_and_copies(estimator, X)[0]


def model_and_copies(estimator: Any, X: Any) -> tuple[Mixture, Copies | None]:
    """The model, and which rows are exact copies of others where `propose` was asked for it."""
    if estimator.likelihood is None:
        proposal = propose(X, prior=estimator.prior)
        return proposal.mixture, proposal.copies
    return Mixture(default_prior() if estimator.prior is None else estimator.prior, estimator.likelihood), None


def input_tags(tags: Any, likelihood: Likelihood | None) -> Any:
    """What X may hold, by the likelihood: missing entries where columns are independent, sparse counts for a multinomial one."""
    tags.input_tags.sparse = tags.input_tags.positive_only = likelihood is not None and likelihood.takes_sparse
    tags.input_tags.allow_nan = likelihood is None or likelihood.allows_missing
    tags.input_tags.categorical = likelihood is not None and likelihood.reads_names
    return tags


def read_seed(random_state: Any, owner: str) -> int:
    """A seed for the sampler: a whole number is taken as it is, generators are asked for one, None means a fresh one."""
    if random_state is None:
        return secrets.randbits(48)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**48))
    wanted = "be a whole number from 0 up, a NumPy generator, or None"
    require(is_whole(random_state) and random_state >= 0, owner, "random_state", random_state, wanted)
    return int(random_state)


def _in_house_form(estimator: Any, X: Any, error: ValueError, fitting: bool) -> ValueError:
    """The house's sentence in front of scikit-learn's, where the columns are not those of the fit."""
    wanted = getattr(estimator, "n_features_in_", None)
    shape = getattr(X, "shape", None)
    if fitting or shape is None or len(shape) != 2 or shape[1] == wanted:
        return error
    owner = type(estimator).__name__
    return ParameterError(
        f"{owner}(X=<{type(X).__name__} of shape {tuple(shape)}>): X must have the {wanted} columns of the fit. {error}"
    )
